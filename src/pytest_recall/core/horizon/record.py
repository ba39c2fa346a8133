"""Record: questions, evaluations and checkpoints as a run's files have them, by the published names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_recall.core.horizon.disclosure import Boundaries
from pytest_recall.core.horizon.evaluation import Evaluation
from pytest_recall.core.horizon.question import BenchQuestion
from pytest_recall.core.horizon.summary import CheckpointSummary

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


def question_line(one: Evaluation) -> Plain:
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


def disclosure_fields(found: Boundaries | None, *, measured: bool) -> Plain:
    """Return `disclosureBreakdown` as it is published, and our rates beside it; nothing without boundary questions.

    Where what is made up is not `measured`, what comes out of a session is, but in an answer that is right there.
    """
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
            name: {"rate": rate.value, "count": rate.hits, "n": rate.n}
            for name, rate in (("leak", found.leaks), ("overRefusal", found.over_refusals))
        },
    }


def result_of(evaluation: Evaluation) -> Plain:
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
