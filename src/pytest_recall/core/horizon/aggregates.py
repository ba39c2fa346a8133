"""Aggregates: what a run comes to, computed from its answers and written by the published names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_recall.core.horizon.evaluation import Evaluation
from pytest_recall.core.horizon.published import QUESTION, Run, Stop
from pytest_recall.core.horizon.question import BenchQuestion

_ABOUT = (
    *("durationMs", "sample", "judgeMemoryWindow", "groupsEnabled", "synthesisModel", "embeddingProvider"),
    *("embeddingModel", "judgeModel", "appellateJudgeModel", "version", "seed", "unit", "k", "answerModel"),
    *("reconstructed", "reconstructedCheckpoints", "reconstructedComplete"),
)
_DISCLOSURES = ("refuse", "partial", "answer")


def question_json(one: BenchQuestion) -> dict[str, Any]:
    """Return a question as a published `qa`, without what is not given."""
    plain = {name: getattr(one, ours) for name, ours in QUESTION.items() if name != "referenceAnswer"}
    plain["relevantDays"] = list(one.relevant_days)
    plain["forbiddenSessions"] = list(one.forbidden_sessions) or None
    return {name: value for name, value in plain.items() if value is not None}


def question_result(one: Evaluation) -> dict[str, Any]:
    """Return an evaluation as one of `questionResults`, or, without points, of `questionFailures`, which is ours."""
    plain: dict[str, Any] = {"qa": question_json(one.question), "systemAnswer": one.answer}
    if one.points is not None:
        plain |= {"score": one.points.to_json(), "compositeScore": one.points.composite}
    else:
        plain |= {"failure": one.failure, "error": one.error}
    if one.seconds is not None:
        plain["latencyMs"] = round(one.seconds * 1000, 3)
    if one.primary is not None:
        plain["primaryScore"] = one.primary.to_json()
    return plain


def aggregates(stop: Stop) -> dict[str, Any]:
    """Return what a checkpoint's evaluations come to, as a `rangeResult` has it: a mean of nothing is 0 there."""
    found = stop.summary()
    rows = []
    for one in found.categories:
        row = {
            "category": one.category,
            "meanScore": one.mean or 0,
            "questionCount": len(one.scores),
            "scores": list(one.scores),
        }
        rows.append(row if one.eligible is None else {**row, "eligibleCount": one.eligible})
    return {
        "questionsEvaluated": found.scored,
        "overallScore": found.mean or 0,
        "categoryScores": rows,
        "difficultyScores": {name: {"mean": mean or 0, "count": n} for name, (mean, n) in found.difficulties.items()},
        "hallucinationRate": 100 * (found.hallucination or 0),
        "thirdOutcomes": {name: count for name, count in found.failures.items() if count},
    }


def cells(stops: Iterable[Stop]) -> list[dict[str, Any]]:
    """Return the cells of a heatmap: of a label and a category, over personas the mean of all questions."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for stop in stops:
        for row in aggregates(stop)["categoryScores"]:
            found.setdefault((stop.label, row["category"]), []).append(row)
    return [_cell(label, category, rows) for (label, category), rows in found.items()]


def _cell(label: str, category: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    count = sum(row["questionCount"] for row in rows)
    score = sum(row["meanScore"] * row["questionCount"] for row in rows) / count if count else 0
    if len(rows) == 1:
        score = rows[0]["meanScore"]  # not what a product and a division make of it
    cell = {"range": label, "category": category, "score": score, "questionCount": count}
    if all("eligibleCount" in row for row in rows):
        cell["eligibleCount"] = sum(row["eligibleCount"] for row in rows)
    return cell


def disclosure(evaluations: Iterable[Evaluation]) -> dict[str, dict[str, Any]] | None:
    """Return the published `disclosureBreakdown` of boundary questions, rates in percent; None without any."""
    asked = [one for one in evaluations if one.question.category == "information-boundary" and one.points is not None]
    found: dict[str, dict[str, Any]] = {}
    for expected in _DISCLOSURES:
        those = [one for one in asked if one.question.expected_disclosure == expected]
        points = [one.points for one in those if one.points is not None]
        if points:
            found[expected] = {
                "evaluations": len(points),
                "uniquePairs": len({one.question.id for one in those}),
                "meanScore": sum(one.composite for one in points) / len(points),
                "hallucinationRate": 100 * sum(1 - one.hallucination for one in points) / len(points),
            }
    return found or None


def result_json(run: Run) -> dict[str, Any]:
    """Return a run as `result.json`, every aggregate of it from its evaluations."""
    personas = []
    for persona in run.personas:
        stops = [stop for stop in run.stops if stop.persona == persona]
        plain = {
            "personaId": persona,
            "adapterName": run.adapter,
            "rangeResults": [_range_result(stop) for stop in stops],
            "heatmap": cells(stops),
            "totalIngestionMs": _total(stops, "ingestMs"),
            "totalQueryMs": _total(stops, "queryMs"),
            "uniqueQAPairCount": run.pairs,
            "totalEvalsRun": sum(stop.summary().scored for stop in stops),
            "disclosureBreakdown": disclosure(one for stop in stops for one in stop.evaluations),
        }
        personas.append({name: value for name, value in plain.items() if value is not None})
    found = {
        "timestamp": run.timestamp,
        "adapterName": run.adapter,
        "ranges": run.about.get("ranges") or list({stop.label: stop.range for stop in run.stops}.values()),
        "personas": personas,
        "heatmap": cells(run.stops),
        "metadata": metadata(run),
        "disclosureBreakdown": disclosure(run.evaluations),
    }
    return {name: value for name, value in found.items() if value is not None}


def _range_result(stop: Stop) -> dict[str, Any]:
    failed = [question_result(one) for one in stop.evaluations if one.points is None]
    return {
        "range": stop.range,
        "daysIngested": stop.days,
        **aggregates(stop),
        "questionResults": [question_result(one) for one in stop.evaluations if one.points is not None],
        **({"questionFailures": failed} if failed else {}),
    }


def metadata(run: Run) -> dict[str, Any]:
    """Return the `metadata` of a run; its counts are from the evaluations."""
    kept = {name: run.about[name] for name in _ABOUT if run.about.get(name) is not None}
    return kept | {name: value for name, value in counts(run).items() if value is not None}


def counts(run: Run) -> dict[str, int | None]:
    """Return how much was asked, by the published names."""
    every = run.evaluations
    return {
        "totalEvalsRun": sum(one.points is not None for one in every),
        "uniqueQAPairCount": run.pairs,
        "appellateInvocations": sum(one.appealed for one in every),
    }


def _total(stops: Sequence[Stop], name: str) -> float | None:
    """Return the sum of a time over checkpoints; None if one of them does not say it."""
    found = [(stop.written or {}).get(name) for stop in stops]
    known = [one for one in found if isinstance(one, int | float)]
    return sum(known) if len(known) == len(found) else None
