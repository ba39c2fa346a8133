"""The judges `rubric`, `memory`, `pairwise` and `paper`, which ask a model."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any

from pytest_recall.cases.case import Case
from pytest_recall.cases.settings import Settings
from pytest_recall.cases.settings_fields import Criterion, JudgeKind, Strictness
from pytest_recall.files.errors import ArgumentError, RecallError, nearest
from pytest_recall.judges import fence, judge_call, memory_judge, paper, preflight
from pytest_recall.judges.fence import FencedPart
from pytest_recall.judges.judge_call import Inquiry, Prompt, Seat, reply_schema, score_schema, version_of
from pytest_recall.judges.panel import Panel
from pytest_recall.replay.fenced_texts import CRITERIA, criterion_line
from pytest_recall.trials.trial import Answer, Preflight, Verdict, Vote

DEFAULT_THRESHOLD = 0.5
OWN = "requirement"
"""What a text of the case itself is called among the criteria, with a number from the second on."""

RUBRIC_SYSTEM = f"""\
You grade one answer of an assistant, on each of the criteria listed below, and on nothing else.

{fence.DATA}

Where there is a REFERENCE, it says what is true; wording may differ from it. PASSAGES are what the assistant had
looked up. Judge what the ANSWER says, not how long or how confident it is. A criterion gets a low score if the
answer gives no ground for a higher one.

Reply with one JSON object: first "reasoning", in at most four sentences that point to the words of the answer which
decide; then "scores", with a whole number for each criterion.

{CRITERIA}"""


@dataclass(frozen=True, kw_only=True)
class RubricInquiry:
    """The question how well one answer does on some criteria."""

    criteria: Mapping[str, Criterion]
    parts: tuple[FencedPart, ...]
    threshold: float
    version: str

    def hear(self, seat: Seat) -> Vote:
        """Return the vote: the weighted mean, which passes with all that criteria demand by themselves."""
        ranges = {name: criterion.range for name, criterion in self.criteria.items()}
        system = RUBRIC_SYSTEM + "\n".join(_told(name, criterion) for name, criterion in self.criteria.items())
        prompt = Prompt(system, fence.fenced(self.parts), score_schema(ranges))
        reasoning, scores = seat.put(prompt, lambda reply: judge_call.scored(reply, ranges))
        score = weighted(self.criteria, scores)
        short = [
            f"{name} {scores[name]} of {c.range[1]}, {c.threshold} needed"
            for name, c in self.criteria.items()
            if c.threshold is not None and scores[name] < c.threshold
        ]
        below = [] if score >= self.threshold else [f"score {score:.2f}, below {self.threshold:g}"]
        problems = ", ".join(short or below)
        return Vote(
            passed=not problems,
            score=score,
            scores=scores,
            reason=f"{problems}: {reasoning}" if problems else reasoning,
        )


def rubric_inquiry(
    answer: Answer,
    case: Case,
    known: Mapping[str, Criterion],
    *,
    criteria: Any = None,
    expected: Any = None,
    threshold: float | None = None,
    reads: int = 24_000,
) -> RubricInquiry:
    """Let a model score the answer on criteria; the weighted mean and each criterion's own threshold decide.

    criteria: names from `criteria` in rubric.yaml, all of them without an argument. expected:
    requirements in words, a text or a list, each of which has to be met; not the case's `expected`,
    which the model is shown as the reference. threshold: the lowest mean, 0 to 1.

    `known` are the criteria of the rubric, `reads` bounds the passages, in characters. Raises
    ValueError for unknown names and for requirements that are not text.
    """
    names = _names(criteria, known, everything=expected is None)
    own = _requirements(expected)
    if both := own.keys() & set(names):
        raise ArgumentError(f"`{min(both)}` is what a text of the case is called; name the criterion otherwise")
    chosen = {**{name: known[name] for name in names}, **own}
    parts = [FencedPart("QUESTION", fence.question(case))]
    if case.expected is not None:
        parts.append(FencedPart("REFERENCE", fence.plain(case.expected)))
    parts += fence.excerpts("PASSAGE", [passage.text for passage in answer.passages], reads)
    parts.append(FencedPart("ANSWER", answer.text))
    template = {name: criterion.model_dump() for name, criterion in chosen.items() if name not in own}
    ranges = {name: criterion.range for name, criterion in chosen.items() if name not in own}
    return RubricInquiry(
        criteria=chosen,
        parts=tuple(parts),
        threshold=DEFAULT_THRESHOLD if threshold is None else threshold,
        # The words of a case's own requirement are the case's; that there is one is the template's.
        version=version_of("rubric", RUBRIC_SYSTEM, template, score_schema(ranges), bool(own), reads),
    )


def weighted(criteria: Mapping[str, Criterion], scores: Mapping[str, int]) -> float:
    """Return the weighted mean of the scores, each mapped from its scale to 0..1."""
    total = sum(criterion.weight for criterion in criteria.values())
    parts = (
        criterion.weight * (scores[name] - criterion.range[0]) / (criterion.range[1] - criterion.range[0])
        for name, criterion in criteria.items()
    )
    return min(1.0, max(0.0, sum(parts) / total))


def _names(given: Any, known: Mapping[str, Criterion], *, everything: bool) -> list[str]:
    if given is None:
        if everything and not known:
            raise ArgumentError("there are no criteria; write some into rubric.yaml, or a text: {rubric: 'must say …'}")
        return list(known) if everything else []
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"`criteria` must be a list of names, not {given!r}")
    for name in names:
        if name not in known:
            raise ArgumentError(f"the criterion `{name}` is not in rubric.yaml{nearest(name, known)}")
    return list(dict.fromkeys(names))


def _requirements(expected: Any) -> dict[str, Criterion]:
    texts = [] if expected is None else [expected] if isinstance(expected, str) else expected
    if not isinstance(texts, list) or not all(isinstance(text, str) and text.strip() for text in texts):
        raise ArgumentError(f"what the answer must do is text or a list of texts, not {expected!r}")
    if expected is not None and not texts:
        raise ArgumentError("the list of what the answer must do is empty; write something, or leave it out")
    levels = {0: "it does not", 1: "it does"}
    return {
        OWN if number == 1 else f"{OWN}-{number}": Criterion(
            question=f"The answer has to meet this requirement: {text}", anchors=levels, threshold=1
        )
        for number, text in enumerate(texts, 1)
    }


def _told(name: str, criterion: Criterion) -> str:
    low, high = criterion.range
    levels = "; ".join(f"{level}: {text}" for level, text in sorted((criterion.anchors or {}).items()))
    return criterion_line(name, low, high, criterion.question + (f" ({levels})" if levels else ""))


DEFAULT_THRESHOLD = 0.5
"""A tie scores 0.5, so that an answer passes that is no worse than the other."""
WIN, TIE, LOSS = 1.0, 0.5, 0.0
CHOICES = ("first", "second", "tie")
SCHEMA = reply_schema("better", {"type": "string", "enum": list(CHOICES)})

PAIRWISE_SYSTEM = f"""\
You compare two answers of assistants to the same question, and say which one serves whoever asked better: what is
true and to the point counts, neither length nor style nor the order in which they stand.

{fence.DATA}

Where there is a REFERENCE, it says what is true. Where ASPECT is given, compare in this respect only.

Reply with one JSON object: first "reasoning", in at most four sentences; then "better", which is "first" for the
FIRST ANSWER, "second" for the SECOND ANSWER, or "tie" if neither is better.
"""


@dataclass(frozen=True, kw_only=True)
class PairwiseInquiry:
    """The question which of two answers is better."""

    parts: tuple[FencedPart, ...]
    answer: str
    other: str
    threshold: float
    version: str

    def hear(self, seat: Seat) -> Vote:
        """Return the vote: a win or a loss if both orders say so, else a tie.

        A judge that names the same position in both orders has followed the position. The
        orders are those of Zheng et al., "Judging LLM-as-a-Judge" (2023), §3.4.
        """
        reasoning, before = self._compared(seat, self.answer, self.other)
        again, after = self._compared(seat, self.other, self.answer)
        outcome = {("first", "second"): WIN, ("second", "first"): LOSS}.get((before, after), TIE)
        flips = int(before == after != "tie")
        if outcome != TIE:
            told = f"{'better' if outcome == WIN else 'worse'} in both orders"
        elif flips:
            told = f"a tie, as the {before} one was preferred in both orders"
        else:
            told = "a tie in both orders" if before == after else "a tie, as it was one in one of the orders"
        return Vote(
            passed=outcome >= self.threshold,
            score=outcome,
            flips=flips,
            reason=f"{told}: {reasoning if before != 'tie' else again}",
        )

    def _compared(self, seat: Seat, first: str, second: str) -> tuple[str, str]:
        parts = (*self.parts, FencedPart("FIRST ANSWER", first), FencedPart("SECOND ANSWER", second))
        prompt = Prompt(PAIRWISE_SYSTEM, fence.fenced(parts), SCHEMA)
        return seat.put(prompt, lambda reply: judge_call.chosen(reply, "better", CHOICES))


def pairwise_inquiry(
    answer: Answer, case: Case, *, against: Any = None, aspect: Any = None, threshold: float | None = None
) -> PairwiseInquiry:
    """Let a model compare the answer with another, in both orders: 1 for a win, 0.5 for a tie, 0 for a loss.

    against: the other answer. aspect: in what respect they are compared. threshold: 0.5 lets a
    tie pass, 1 does not.

    Raises ValueError.
    """
    if not isinstance(against, str) or not against.strip():
        raise ArgumentError("needs the other answer; write {pairwise: {against: 'text'}}")
    if aspect is not None and (not isinstance(aspect, str) or not aspect.strip()):
        raise ArgumentError(f"`aspect` must be text, not {aspect!r}")
    parts = [FencedPart("QUESTION", fence.question(case))]
    if case.expected is not None:
        parts.append(FencedPart("REFERENCE", fence.plain(case.expected)))
    if aspect is not None:
        parts.append(FencedPart("ASPECT", aspect))
    return PairwiseInquiry(
        parts=tuple(parts),
        answer=answer.text,
        other=against,
        threshold=DEFAULT_THRESHOLD if threshold is None else threshold,
        version=version_of("pairwise", PAIRWISE_SYSTEM, SCHEMA),
    )


INQUIRIES: Mapping[str, preflight.Inquire] = {
    "rubric": rubric_inquiry,
    "memory": memory_judge.inquiry,
    "pairwise": pairwise_inquiry,
    "paper": paper.inquiry,
}
GIVEN = frozenset({"known", "reads"})
"""Arguments that no case gives."""


def prepared(kind: str, settings: Settings) -> preflight.Inquire:
    """Return what makes the question of a kind of judge, with what the rubric gives it."""
    takes = inspect.signature(INQUIRIES[kind]).parameters
    return partial(INQUIRIES[kind], known=settings.judge.criteria) if "known" in takes else INQUIRIES[kind]


def signature(kind: str) -> inspect.Signature:
    """Return what a case can give a kind of judge."""
    takes = inspect.signature(INQUIRIES[kind]).parameters
    return inspect.Signature([p for name, p in takes.items() if name not in GIVEN])


class ModelJudge:
    """A judge `(answer, case, **arguments)` over a panel of models."""

    def __init__(self, kind: JudgeKind, panel: Panel, settings: Settings, strictness: Strictness) -> None:
        self.kind = kind
        self._panel = panel
        self._settings = settings
        self._strictness = strictness
        self._preflights: dict[str, Preflight] | None = None
        self._problem = ""
        self._lock = Lock()  # Cases that run at once share their judges.
        self._inquire = prepared(kind, settings)
        self.__signature__ = signature(kind)

    def __call__(self, answer: Answer, case: Case, **arguments: Any) -> Verdict:
        """Return the panel's verdict. Raises RecallError where there is none, ValueError for a wrong argument."""
        inquiry: Inquiry = self._inquire(answer, case, **arguments)
        verdict = self._panel.decide(inquiry, case.id, self.kind)
        with self._lock:
            if self._preflights and verdict.judgement is not None:
                # It is written down once, with the first verdict that there is.
                verdict = replace(verdict, judgement=verdict.judgement._replace(preflights=self._preflights))
                self._preflights = {}
        return verdict

    def ready(self) -> None:
        """Put the known answers to each model, once. Raises RecallError if one of them must not judge."""
        with self._lock:
            if self._preflights is None:
                self._preflights = {} if self._strictness == "off" else self._fly()
        if self._problem:
            raise RecallError(self._problem)

    def _fly(self) -> dict[str, Preflight]:
        """Return how each model did, up to the one that ends the run; `_problem` says why."""
        settings, panel = self._settings, self._panel
        threshold = settings.thresholds.get(self.kind)
        compares = threshold is not None and "threshold" in inspect.signature(INQUIRIES[self.kind]).parameters
        inquire = partial(self._inquire, threshold=threshold) if compares else self._inquire
        known = preflight.KNOWN_ANSWERS[self.kind]
        results: dict[str, Preflight] = {}
        for model in (*panel.judges, *([] if panel.appellate is None else [panel.appellate])):
            results[model.name], problem, _ = preflight.run_preflight(model, inquire, known)
            if problem and self._strictness == "stop":
                self._problem = problem
                break
        return results
