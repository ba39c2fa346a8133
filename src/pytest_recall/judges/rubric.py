"""Rubric judge: criteria scored by a model, each on its own scale, and their weighted mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_recall.core.case import Case
from pytest_recall.core.criteria import Criterion
from pytest_recall.core.errors import ArgumentError, nearest
from pytest_recall.core.judgement import Vote
from pytest_recall.core.trial import Answer
from pytest_recall.judges import fence, parse
from pytest_recall.judges.fence import Part
from pytest_recall.judges.seat import Prompt, Seat, score_schema, version_of

DEFAULT_THRESHOLD = 0.5
OWN = "requirement"
"""What a text of the case itself is called among the criteria, with a number from the second on."""

SYSTEM = f"""\
You grade one answer of an assistant, on each of the criteria listed below, and on nothing else.

{fence.DATA}

Where there is a REFERENCE, it says what is true; wording may differ from it. PASSAGES are what the assistant had
looked up. Judge what the ANSWER says, not how long or how confident it is. A criterion gets a low score if the
answer gives no ground for a higher one.

Reply with one JSON object: first "reasoning", in at most four sentences that point to the words of the answer which
decide; then "scores", with a whole number for each criterion.

Criteria:
"""


@dataclass(frozen=True, kw_only=True)
class RubricInquiry:
    """The question how well one answer does on some criteria."""

    criteria: Mapping[str, Criterion]
    parts: tuple[Part, ...]
    threshold: float
    version: str

    def hear(self, seat: Seat) -> Vote:
        """Return the vote: the weighted mean, which passes with all that criteria demand by themselves."""
        ranges = {name: criterion.range for name, criterion in self.criteria.items()}
        system = SYSTEM + "\n".join(_told(name, criterion) for name, criterion in self.criteria.items())
        prompt = Prompt(system, fence.fenced(self.parts), score_schema(ranges))
        reasoning, scores = seat.put(prompt, lambda reply: parse.scored(reply, ranges))
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


def inquiry(
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
    ValueError for names that nobody knows and for requirements that are no text.
    """
    names = _names(criteria, known, everything=expected is None)
    own = _requirements(expected)
    if both := own.keys() & set(names):
        raise ArgumentError(f"`{min(both)}` is what a text of the case is called; name the criterion otherwise")
    chosen = {**{name: known[name] for name in names}, **own}
    parts = [Part("QUESTION", fence.question(case))]
    if case.expected is not None:
        parts.append(Part("REFERENCE", fence.plain(case.expected)))
    parts += fence.excerpts("PASSAGE", [passage.text for passage in answer.passages], reads)
    parts.append(Part("ANSWER", answer.text))
    template = {name: criterion.model_dump() for name, criterion in chosen.items() if name not in own}
    ranges = {name: criterion.range for name, criterion in chosen.items() if name not in own}
    return RubricInquiry(
        criteria=chosen,
        parts=tuple(parts),
        threshold=DEFAULT_THRESHOLD if threshold is None else threshold,
        # The words of a case's own requirement are the case's; that there is one is the template's.
        version=version_of("rubric", SYSTEM, template, score_schema(ranges), bool(own), reads),
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
    return f"- {name}, from {low} to {high}: {criterion.question}" + (f" ({levels})" if levels else "")
