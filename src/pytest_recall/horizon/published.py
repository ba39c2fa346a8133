"""Read and write runs and evaluations by the names of the published files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from pytest_recall.horizon.disclosure import boundaries
from pytest_recall.horizon.evaluation import (
    ANSWERED_BY,
    FAILURES,
    CheckpointSummary,
    CheckpointTrial,
    HandedOut,
    Points,
    checkpoint_trial,
    summarize,
)
from pytest_recall.horizon.question import BenchQuestion
from pytest_recall.metrics.floors import SizedUnit

Plain = dict[str, Any]
PERCENT = 100


def qa_line(question: BenchQuestion) -> Plain:
    """Return a question as lines have it."""
    return _qa(question, "referenceAnswer")


def qa_result(question: BenchQuestion) -> Plain:
    """Return a question as `result.json` has it."""
    plain = {**_qa(question, "answer"), "requiresSynthesis": question.requires_synthesis}
    return plain if question.irrelevant_after is None else {**plain, "irrelevantAfter": question.irrelevant_after}


def _qa(question: BenchQuestion, answer: str) -> Plain:
    plain: Plain = {
        "id": question.id,
        "question": question.question,
        answer: question.answer,
        "category": question.category,
        "difficulty": question.difficulty,
        "relevantDays": list(question.relevant_days),
    }
    if question.expected_disclosure is not None:
        plain["expectedDisclosure"] = question.expected_disclosure
    if question.query_session is not None:
        plain["querySession"] = question.query_session
    if question.forbidden_sessions:
        plain["forbiddenSessions"] = list(question.forbidden_sessions)
    return plain


def question_line(one: CheckpointTrial) -> Plain:
    """Return the line of `questions.jsonl`: the published fields, and ours: where it was asked, and what failed."""
    plain: Plain = {
        "timestamp": one.timestamp,
        "personaId": one.persona,
        "checkpoint": one.checkpoint,
        "day": one.day,
        "qa": qa_line(one.question),
        "systemAnswer": one.answer,
    }
    if one.points is not None:
        plain |= {"score": one.points.to_json(), "composite": one.points.composite}
    if one.failure is not None:
        plain |= {"failure": one.failure, "error": one.error}
    plain["usedAppellate"] = one.appealed
    if one.primary is not None:
        plain["primaryScore"] = one.primary.to_json()
    if one.retrieval:
        plain["retrieval"] = [dict(found) for found in one.retrieval]
    if one.handed_out is not None:
        plain["handedOut"] = one.handed_out.to_json()
    if one.tool_calls:
        plain["toolCalls"] = [dict(call) for call in one.tool_calls]
    plain["memoryContextProvided"] = one.context
    plain["latencyMs"] = _ms(one.seconds)
    if one.answered_by:
        plain["answeredBy"] = one.answered_by
    if one.usd is not None:
        plain["usd"] = one.usd
    return plain


def failure_line(line: Mapping[str, Any]) -> Plain | None:
    """Return the line of `failures.jsonl` that goes with one of `questions.jsonl`, whatever came of the appeal.

    None if there was no appeal, or it came to nothing.
    """
    if "primaryScore" not in line or "score" not in line:
        return None
    plain = {name: line[name] for name in _FAILURE if name in line}
    return {**plain, "appellateScore": line["score"]}


_FAILURE = (
    "timestamp",
    "personaId",
    "checkpoint",
    "day",
    "qa",
    "systemAnswer",
    "primaryScore",
    "retrieval",
    "memoryContextProvided",
    "latencyMs",
)


def summary_fields(summary: CheckpointSummary, *, scores: bool) -> Plain:
    """Return a summary by the published names; a mean of nothing is 0 there, and its count says so.

    A rate that was not measured is null. Of `scores` only results have the list.
    """
    categories: list[Plain] = []
    for one in summary.categories:
        plain: Plain = {"category": one.category, "meanScore": one.mean or 0, "questionCount": len(one.scores)}
        if scores:
            plain["scores"] = list(one.scores)
        categories.append(plain if one.eligible is None else {**plain, "eligibleCount": one.eligible})
    return {
        "questionsEvaluated": summary.scored,
        "overallScore": summary.mean or 0,
        "categoryScores": categories,
        "difficultyScores": {
            name: {"mean": mean or 0, "count": count} for name, (mean, count) in summary.difficulties.items()
        },
        "hallucinationRate": PERCENT * (summary.hallucination or 0) if summary.measured else None,
        "thirdOutcomes": {name: count for name, count in summary.failures.items() if count},
    }


BESIDE = (
    *("appealed", "ingestMs", "queryMs", "newDaysIngested", "newUnits"),
    *("newQuestionCount", "historicalEvaluated", "historicalAvailable"),
)
"""What a checkpoint's line says beside what its answers come to."""


def checkpoint_line(
    timestamp: str,
    persona: str,
    place: int,
    total: int,
    range: Mapping[str, Any],
    days: int,
    summary: CheckpointSummary,
    more: Mapping[str, Any],
) -> Plain:
    """Return the line of `progress.jsonl` for the checkpoint at a `place`, from 1, of `total`.

    `more` is what a line says beside what the answers come to: times, and where its questions are from.
    """
    return {
        "type": "checkpoint",
        "timestamp": timestamp,
        "personaId": persona,
        "checkpointIndex": place,
        "totalCheckpoints": total,
        "range": dict(range),
        "daysIngested": days,
        **summary_fields(summary, scores=False),
        **more,
    }


def summary_line(timestamp: str, metadata: Mapping[str, Any]) -> Plain:
    """Return the last line of `progress.jsonl`, from the `metadata` of a result."""
    names = ("durationMs", "totalEvalsRun", "uniqueQAPairCount", "appellateInvocations", "thirdOutcomes", "usd")
    return {"type": "summary", "timestamp": timestamp, **{name: metadata[name] for name in names if name in metadata}}


def disclosure_fields(evaluations: Iterable[CheckpointTrial], *, measured: bool) -> Plain:
    """Return `disclosureBreakdown` as it is published, and our rates beside it; nothing without boundary questions.

    Where what is made up is not `measured`, what comes out of a session is, but in an answer that is right there.
    """
    found = boundaries(evaluations, measured=measured)
    if found is None:
        return {}
    return {
        "disclosureBreakdown": {
            name: {
                "evaluations": group.evaluations,
                "uniquePairs": group.questions,
                "meanScore": group.mean,
                "hallucinationRate": PERCENT * group.hallucination if measured or name != "answer" else None,
            }
            for name, group in found.groups.items()
        },
        "disclosureRates": {
            name: {"rate": rate.value, "count": rate.hits, "n": rate.n, "unknown": rate.unknown}
            for name, rate in (("leak", found.leaks), ("overRefusal", found.over_refusals))
        },
    }


def result_of(evaluation: CheckpointTrial) -> Plain:
    """Return an evaluation as `result.json` has it: of a scored answer the published fields, else what failed."""
    plain: Plain = {"qa": qa_result(evaluation.question), "systemAnswer": evaluation.answer}
    if evaluation.points is not None:
        plain |= {"score": evaluation.points.to_json(), "compositeScore": evaluation.points.composite}
    else:
        plain |= {"failure": evaluation.failure, "error": evaluation.error}
    plain["latencyMs"] = _ms(evaluation.seconds)
    if evaluation.primary is not None:
        plain["primaryScore"] = evaluation.primary.to_json()
    return plain


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(1000 * seconds, 3)


QUESTION: Mapping[str, str] = {
    "id": "id",
    "question": "question",
    "answer": "answer",
    "referenceAnswer": "answer",
    "category": "category",
    "difficulty": "difficulty",
    "relevantDays": "relevant_days",
    "requiresSynthesis": "requires_synthesis",
    "querySession": "query_session",
    "forbiddenSessions": "forbidden_sessions",
    "expectedDisclosure": "expected_disclosure",
    "irrelevantAfter": "irrelevant_after",
}
"""The published names of a question's fields, and ours; lines and results call its answer differently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """A checkpoint of a run: what was asked once `days` were told, and what it came to."""

    persona: str
    label: str
    days: int
    evaluations: tuple[CheckpointTrial, ...] = ()
    eligible: Mapping[str, int] | None = None
    """How many questions were possible, by category; None where no file says so."""
    finished: str = ""
    """A time; empty if unknown."""
    written: Mapping[str, Any] | None = None
    """What a file says that it comes to; without `evaluations` there is nothing else."""
    measured: bool = True
    """Whether made-up facts were looked for."""

    @property
    def range(self) -> dict[str, Any]:
        """The range as files have it; it may be longer than the days that there are."""
        written = (self.written or {}).get("range") or {}
        return {"label": self.label, "days": written.get("days", self.days)}

    @property
    def units(self) -> tuple[SizedUnit, ...] | None:
        """What was told since the checkpoint before, in that order; None where no file says it."""
        rows = (self.written or {}).get("newUnits")
        return None if rows is None else tuple(SizedUnit(id, tokens) for id, tokens in rows)

    @property
    def hollow(self) -> bool:
        """Whether it had answers that no file holds: published runs that were resumed have such checkpoints."""
        return not self.evaluations and bool((self.written or {}).get("questionsEvaluated"))

    def summary(self) -> CheckpointSummary:
        """Return what the evaluations come to."""
        return summarize(self.evaluations, self.eligible, measured=self.measured)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRun:
    """A run over one memory."""

    name: str
    adapter: str
    timestamp: str
    stops: tuple[Stop, ...]
    about: Mapping[str, Any]
    """What its files say of how it was made: models, sample, counts and times."""
    config: Mapping[str, Any]
    """What two parts of one run have in common."""
    pairs: int | None = None
    """How many questions there are."""
    written: Mapping[str, Any] | None = None
    """The whole of `result.json`; None without one."""

    @property
    def evaluations(self) -> list[CheckpointTrial]:
        """Every evaluation, checkpoint by checkpoint."""
        return [one for stop in self.stops for one in stop.evaluations]

    @property
    def measured(self) -> bool:
        """Whether someone has looked for what is made up."""
        return all(stop.measured for stop in self.stops)

    @property
    def hollow(self) -> list[str]:
        """The labels of checkpoints whose answers no file holds."""
        return [stop.label for stop in self.stops if stop.hollow]

    @property
    def personas(self) -> list[str]:
        """The personas, in the order of the run."""
        return list(dict.fromkeys(stop.persona for stop in self.stops))


def is_measured(about: Mapping[str, Any]) -> bool:
    """Whether someone has looked for what is made up, by the header or the metadata of a run."""
    return about.get("hallucinationMeasured") is not False


def question_of(plain: Mapping[str, Any]) -> BenchQuestion:
    """Return the question of a published `qa`. Raises ValueError, with the field that is wrong."""
    found = {ours: plain[name] for name, ours in QUESTION.items() if plain.get(name) is not None}
    try:
        return BenchQuestion.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        name = next((name for name, ours in QUESTION.items() if ours == field), field)
        raise ValueError(f"qa.{name}: {first['msg'][:1].lower()}{first['msg'][1:]}") from None


def evaluation_of(
    plain: Mapping[str, Any], persona: str = "", label: str | None = None, day: int | None = None
) -> CheckpointTrial:
    """Return the evaluation in a line of `questions.jsonl`, or in one of `questionResults`.

    The persona, the checkpoint's label and its day are given where the line does not say them. Raises ValueError.
    """
    asked = plain.get("qa")
    if not isinstance(asked, Mapping):
        raise ValueError("qa: is missing, or no object")
    failure = plain.get("failure")
    if failure is not None and failure not in FAILURES:
        raise ValueError(f"failure: {failure!r} is unknown; it is one of {', '.join(FAILURES)}")
    if failure is not None and plain.get("score") is not None:
        raise ValueError("score: is there beside a failure; leave one")
    points = None if failure is not None else points_of(plain, "score")
    written = plain.get("composite", plain.get("compositeScore"))
    if points is not None and written is not None and written != points.composite:
        raise ValueError(f"composite: {written!r} is not {points.composite}, the sum of the points")
    primary = points_of(plain, "primaryScore") if plain.get("primaryScore") is not None else None
    latency = plain.get("latencyMs")
    for name in ("retrieval", "toolCalls"):
        if not all(isinstance(found, Mapping) for found in plain.get(name) or ()):
            raise ValueError(f"{name}: is not a list of objects")
    label, day = plain.get("checkpoint", label), plain.get("day", day)
    usd, answered_by = plain.get("usd"), plain.get("answeredBy") or ""
    if not isinstance(usd, int | float | None):
        raise ValueError(f"usd: {usd!r} is not a number")
    if answered_by not in ("", *ANSWERED_BY):
        raise ValueError(f"answeredBy: {answered_by!r} is unknown; it is one of {', '.join(ANSWERED_BY)}")
    if not isinstance(label, str | None) or not isinstance(day, int | None):
        raise ValueError(f"checkpoint: {label!r} is not a label, or {day!r} no day")
    return checkpoint_trial(
        timestamp=str(plain.get("timestamp") or ""),
        persona=str(plain.get("personaId") or persona),
        question=question_of(asked),
        answer=str(plain.get("systemAnswer") or ""),
        points=points,
        primary=primary,
        appealed=bool(plain.get("usedAppellate")) or primary is not None,
        failure=failure,
        error=str(plain.get("error") or ""),
        checkpoint=label,
        day=day,
        seconds=latency / 1000 if isinstance(latency, int | float) else None,
        retrieval=tuple(plain.get("retrieval") or ()),
        tool_calls=tuple(plain.get("toolCalls") or ()),
        context=bool(plain.get("memoryContextProvided")),
        usd=usd,
        handed_out=_handed_out(plain.get("handedOut")),
        answered_by=answered_by,  # type: ignore[arg-type] # One of ANSWERED_BY, or empty.
    )


def _handed_out(plain: Any) -> HandedOut | None:
    if plain is None:
        return None
    ids, tokens = (plain.get("ids"), plain.get("tokens")) if isinstance(plain, Mapping) else (None, None)
    if not isinstance(ids, list) or not all(isinstance(id, str | None) for id in ids):
        raise ValueError("handedOut: has no `ids`, a list of texts and nulls")
    if isinstance(tokens, bool) or not isinstance(tokens, int | None):
        raise ValueError(f"handedOut: tokens: {tokens!r} is not a whole number")
    return HandedOut(tuple(ids), tokens)


def points_of(plain: Mapping[str, Any], name: str) -> Points:
    """Return the points under a name. Raises ValueError, with the field that is wrong."""
    found = plain.get(name)
    if not isinstance(found, Mapping):
        raise ValueError(f"{name}: is missing, or no object")
    try:
        return Points.from_json(found)
    except KeyError as error:
        raise ValueError(f"{name}: {error.args[0]} is missing") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}.{error}") from None
