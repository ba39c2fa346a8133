"""Read the points of questions about a persona from their trials, and summarize a checkpoint."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

from pytest_recall.horizon.question import CATEGORIES, DIFFICULTIES, BenchQuestion
from pytest_recall.replay.exchange import Call
from pytest_recall.trials.execution import CallSummary, Result, TrialCase, make_trial
from pytest_recall.trials.trial import Answer, AtCheckpoint, Judgement, Outcome, Trial, TrialStep, Verdict, Vote

Failure = Literal["memory", "timeout", "answer", "judge"]
"""Why there are no points: the memory broke, it took too long, the model that answers from what it found could not
be asked, or no judge came to a verdict."""
FAILURES: tuple[Failure, ...] = get_args(Failure)
AnsweredBy = Literal["memory", "model", "passages"]
ANSWERED_BY: tuple[AnsweredBy, ...] = get_args(AnsweredBy)
MOST = 6
"""Points that an answer can get."""
RANGES: Mapping[str, int] = {"correctness": 3, "completeness": 2, "hallucination": 1}


class Points(NamedTuple):
    """Points for an answer: correctness 0 to 3, completeness 0 to 2, hallucination 1 if nothing is made up, else 0."""

    correctness: int
    completeness: int
    hallucination: int
    reasoning: str = ""

    @property
    def composite(self) -> int:
        """The sum, 0 to 6."""
        return self.correctness + self.completeness + self.hallucination

    @property
    def fails(self) -> bool:
        """Whether a stronger judge is asked: less than 4 points, wrong, or made up."""
        return self.composite < 4 or self.hallucination == 0 or self.correctness == 0

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types, by the published names."""
        plain = self._asdict()
        return plain if self.reasoning else {name: plain[name] for name in RANGES}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Points:
        """Return the points in a published line. Raises KeyError, TypeError or ValueError."""
        found = {name: plain[name] for name in RANGES}
        for name, most in RANGES.items():
            if isinstance(found[name], bool) or not isinstance(found[name], int):
                raise TypeError(f"{name}: {found[name]!r} is not a whole number")
            if not 0 <= found[name] <= most:
                raise ValueError(f"{name}: {found[name]} is not from 0 to {most}")
        return cls(**found, reasoning=str(plain.get("reasoning") or ""))


JUDGE = "horizon"
"""The judge of questions about a persona."""
_STAGES: Mapping[Failure, str] = {"memory": "memory", "timeout": "memory timeout", "answer": "answer", "judge": "judge"}
TIMED_OUT = "[TIMEOUT]"
"""What published runs wrote in place of an answer that did not come, and had judged like one."""
SNIPPET = 300
"""Characters of a passage that a published line has; the journal has all of it."""
CUT = " …"
"""Ends a text that a published line has in part."""
_RETRIEVAL, _TOOL_CALL, HANDED_OUT = "retrieval", "tool_call", "handed_out"


class HandedOut(NamedTuple):
    """What a memory returned for a question."""

    ids: tuple[str | None, ...]
    """The id of each passage, by rank; None where the memory does not say where the passage is from."""
    tokens: int | None
    """Those of all passages, estimated; None where no file says it."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {"ids": list(self.ids), "tokens": self.tokens}


@dataclass(frozen=True)
class CheckpointTrial:
    """A question about a persona, and its trial at a checkpoint.

    What the published files say of it is read from the trial: its points are in `measures`, those of the first judge
    where another was asked are a vote, and why there are none is the stage of its error.
    """

    question: BenchQuestion
    trial: Trial

    @property
    def timestamp(self) -> str:
        """When it was answered, in ISO 8601."""
        return self.trial.ended

    @property
    def persona(self) -> str:
        """The persona's id."""
        return self.trial.scenario

    @property
    def answer(self) -> str:
        """The answer; empty where there is none.

        Of passages that stand as one it is their beginning: the journal has them whole, each once. Only what is looked
        through for what must not be said is whole here too.
        """
        text = "" if self.trial.answer is None else self.trial.answer.text
        whole = self.answered_by != "passages" or self.question.expected_disclosure or len(text) <= SNIPPET
        return text if whole or text.endswith(CUT) else text[:SNIPPET] + CUT

    @cached_property
    def points(self) -> Points | None:
        """The points; None where `failure` says why there are none."""
        measures = self.trial.measures or {}
        found = {name: int(value) for name in RANGES if (value := measures.get(name)) is not None}
        if self.trial.outcome is Outcome.ERROR or len(found) < len(RANGES):
            return None
        return Points(**found, reasoning=self._reasoning())

    @cached_property
    def primary(self) -> Points | None:
        """The points of the first judge, where another was asked."""
        judgement = self._judgement
        if judgement is None or judgement.appeal is None or not judgement.votes:
            return None
        return points_of_vote(judgement.votes[0])

    @property
    def appealed(self) -> bool:
        """Whether another judge was asked."""
        return self._judgement is not None and self._judgement.appeal is not None

    @property
    def context(self) -> bool:
        """Whether the judge saw excerpts of what the memory was told."""
        return self._judgement is not None and self._judgement.context

    @property
    def failure(self) -> Failure | None:
        """Why there are no points."""
        stage = self.trial.stage
        if self.trial.outcome is not Outcome.ERROR or not stage:
            return None
        if stage == _STAGES["timeout"]:
            return "timeout"
        kind = stage.partition(" ")[0]
        return kind if kind in FAILURES else "memory"

    @property
    def error(self) -> str:
        """The same in words."""
        return self.trial.error

    @property
    def checkpoint(self) -> str | None:
        """The label of the checkpoint; None in published lines, which do not say it."""
        return None if self.trial.checkpoint is None else self.trial.checkpoint.label

    @property
    def day(self) -> int | None:
        """The last day that was told; None if that is not said."""
        return None if self.trial.checkpoint is None else self.trial.checkpoint.day

    @property
    def seconds(self) -> float | None:
        """How long the memory took; None if that is not known."""
        return self.trial.seconds

    @property
    def retrieval(self) -> tuple[Mapping[str, Any], ...]:
        """What the memory found, as lines have it."""
        if found := self._steps(_RETRIEVAL):
            return found
        passages = () if self.trial.answer is None else self.trial.answer.passages
        return tuple({"path": one.source, "score": one.score, "snippet": one.text[:SNIPPET]} for one in passages)

    @cached_property
    def handed_out(self) -> HandedOut | None:
        """What the memory returned; None if it answers by itself, or no file says it."""
        for plain in self._steps(HANDED_OUT):
            return HandedOut(tuple(plain["ids"]), plain["tokens"])
        return None

    @property
    def tool_calls(self) -> tuple[Mapping[str, Any], ...]:
        """What the memory called, as it reported that."""
        return self._steps(_TOOL_CALL)

    @property
    def usd(self) -> float | None:
        """What it cost in US dollars; None if the price of a call is not known. What was replayed cost nothing."""
        costs = [0.0 if call.source == "replayed" else call.cost for call in self.trial.calls]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None

    @property
    def answered_by(self) -> AnsweredBy | Literal[""]:
        """Whose words the answer is; empty in published lines, which do not say it."""
        by = "" if self.trial.answer is None else self.trial.answer.by
        return by if by in ANSWERED_BY else ""

    @property
    def _judgement(self) -> Judgement | None:
        return self.trial.verdicts[0].judgement if self.trial.verdicts else None

    def _reasoning(self) -> str:
        judgement = self._judgement
        if judgement is None or not judgement.every:
            return _words(self.trial.verdicts[0].reason) if self.trial.verdicts else ""
        return _words(judgement.every[-1].reason)

    def _steps(self, kind: str) -> tuple[Mapping[str, Any], ...]:
        return tuple(step.data for step in self.trial.steps if step.kind == kind)

    def with_facts(self, **facts: Any) -> CheckpointTrial:
        """Return it with other facts, by the names of `checkpoint_trial`."""
        return checkpoint_trial(**{name: getattr(self, name) for name in _FACTS} | facts)


def checkpoint_trial(
    *,
    timestamp: str,
    persona: str,
    question: BenchQuestion,
    answer: str,
    points: Points | None = None,
    primary: Points | None = None,
    appealed: bool = False,
    failure: Failure | None = None,
    error: str = "",
    checkpoint: str | None = None,
    day: int | None = None,
    seconds: float | None = None,
    retrieval: Iterable[Mapping[str, Any]] = (),
    tool_calls: Iterable[Mapping[str, Any]] = (),
    context: bool = False,
    usd: float | None = None,
    answered_by: AnsweredBy | Literal[""] = "",
    handed_out: HandedOut | None = None,
) -> CheckpointTrial:
    """Return the trial that a published line tells of, by whichever program."""
    appealed = appealed or primary is not None
    votes = tuple(vote_of(one) for one in (primary if appealed else points,) if one is not None)
    appeal = None
    if appealed:
        appeal = Vote(error=error or "no points") if points is None else vote_of(points)
    verdict = Verdict(
        passed=None if points is None else not points.fails,
        score=None if points is None else points.composite / MOST,
        reason="" if points is None else _told(points),
        judge=JUDGE,
        judgement=Judgement(votes=votes, appeal=appeal, cause="failed" if appealed else "", context=context),
    )
    id = question.id if checkpoint is None else f"{checkpoint}/{question.id}"
    result = Result(
        outcome=outcome_of(points),
        answer=Answer(text=answer, by=answered_by),
        verdicts=(verdict,),
        error=error,
        stage="" if failure is None else _STAGES[failure],
        seconds=seconds,
        measures=None if points is None else measures_of_points(points),
        ended=timestamp,
        checkpoint=None if checkpoint is None else AtCheckpoint(checkpoint, day),
        steps=(
            *(TrialStep(_RETRIEVAL, found) for found in retrieval),
            *(TrialStep(_TOOL_CALL, call) for call in tool_calls),
            *handing(handed_out),
        ),
    )
    # Of what was asked for it only the sum is known, if that is.
    calls = CallSummary(calls=(Call("judge", "live", cost=usd),))
    return CheckpointTrial(question, make_trial(TrialCase(id, persona, question.category), result, calls))


def handing(found: HandedOut | None) -> tuple[TrialStep, ...]:
    """Return the step of a trial that says what was returned; none where that is not known."""
    return () if found is None else (TrialStep(HANDED_OUT, found.to_json()),)


_FACTS = tuple(name for name in checkpoint_trial.__annotations__ if name != "return")


def outcome_of(points: Points | None) -> Outcome:
    """Return the outcome of a trial with these points: it fails where a stronger judge would be asked."""
    if points is None:
        return Outcome.ERROR
    return Outcome.FAILED if points.fails else Outcome.PASSED


def measures_of_points(points: Points) -> dict[str, float | None]:
    """Return the points as measures of a trial."""
    return {name: float(getattr(points, name)) for name in RANGES}


def vote_of(points: Points) -> Vote:
    """Return the points as a judge's vote."""
    scores = {name: getattr(points, name) for name in RANGES}
    return Vote(passed=not points.fails, score=points.composite / MOST, reason=_told(points), scores=scores)


def points_of_vote(vote: Vote) -> Points | None:
    """Return a vote's points, with its words but without the sum that they begin with; None if it has none."""
    if not vote.scores:
        return None
    return Points.from_json({**vote.scores, "reasoning": _words(vote.reason)})


def points_of_verdict(verdict: Verdict) -> Points | None:
    """Return the points of the vote that stands; None if there is none."""
    if verdict.judgement is None or not verdict.judgement.every:
        return None
    return points_of_vote(verdict.judgement.every[-1])


def _told(points: Points) -> str:
    return f"{points.composite} of {MOST}: {points.reasoning}" if points.reasoning else ""


def _words(reason: str) -> str:
    """Return a judge's words without the sum that they begin with."""
    found = _SUM.match(reason)
    return reason if found is None else reason[found.end() :]


_SUM = re.compile(rf"[0-{MOST}] of {MOST}: ")


class CategoryScore(NamedTuple):
    """The answers of one category."""

    category: str
    mean: float | None
    """The mean points; None where there is no answer."""
    scores: tuple[int, ...]
    """The points of each answer."""
    eligible: int | None = None


class CheckpointSummary(NamedTuple):
    """What a checkpoint came to."""

    scored: int
    """How many answers were scored; only these are in the means."""
    mean: float | None
    """Of the points, from 0 to 6; None where nothing was scored."""
    hallucination: float | None
    """The share of answers with something made up, from 0 to 1; None where nothing was scored, or where this is not
    `measured`."""
    categories: tuple[CategoryScore, ...]
    difficulties: Mapping[str, tuple[float | None, int]]
    """The mean and the count of each."""
    failures: Mapping[str, int]
    """How many answers were not scored, by kind."""
    appealed: int
    measured: bool = True
    """Whether something made up was looked for; a judge that sees words alone does not."""


def summarize(
    evaluations: Iterable[CheckpointTrial], eligible: Mapping[str, int] | None = None, *, measured: bool = True
) -> CheckpointSummary:
    """Return what evaluations come to; `eligible` counts the questions that were possible, by category."""
    every = list(evaluations)
    scored = [(one.question, one.points) for one in every if one.points is not None]

    def composites(kind: str, name: str) -> tuple[int, ...]:
        return tuple(points.composite for question, points in scored if getattr(question, kind) == name)

    by_category = {name: composites("category", name) for name in CATEGORIES}
    by_difficulty = {name: composites("difficulty", name) for name in DIFFICULTIES}
    return CheckpointSummary(
        scored=len(scored),
        mean=_mean([points.composite for _, points in scored]),
        hallucination=_mean([1 - points.hallucination for _, points in scored]) if measured else None,
        categories=tuple(
            CategoryScore(name, _mean(scores), scores, None if eligible is None else eligible.get(name, 0))
            for name, scores in by_category.items()
        ),
        difficulties={name: (_mean(scores), len(scores)) for name, scores in by_difficulty.items()},
        failures=Counter({name: sum(one.failure == name for one in every) for name in FAILURES}),
        appealed=sum(one.appealed for one in every),
        measured=measured,
    )


class Quartiles(NamedTuple):
    """How it began and ended: the mean of the first quarter of the checkpoints, and of the last."""

    first: float
    last: float


def quartiles(values: Sequence[float]) -> Quartiles | None:
    """Return the unweighted means of the first and the last quarter; None for fewer than four.

    The first ends at a quarter of the count, rounded down, and the last begins at three quarters, rounded
    down, as in the published reports.
    """
    if len(values) < 4:
        return None
    first, last = values[: len(values) // 4], values[3 * len(values) // 4 :]
    return Quartiles(sum(first) / len(first), sum(last) / len(last))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
