"""Compute the aggregates of a run from its answers, by the published names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_recall.horizon.evaluation import CheckpointTrial
from pytest_recall.horizon.published import PublishedRun, Stop, disclosure_fields, result_of, summary_fields

_ABOUT = (
    *("durationMs", "sample", "judgeMemoryWindow", "groupsEnabled", "synthesisModel", "embeddingProvider"),
    *(
        "embeddingModel",
        "judgeModel",
        "appellateJudgeModel",
        "hallucinationMeasured",
        "version",
        "seed",
        "feed",
        "unit",
        "k",
        "answerModel",
        "replayed",
        "unasked",
        "stop",
    ),
    *("reconstructed", "reconstructedCheckpoints", "reconstructedComplete"),
)


def aggregates(stop: Stop) -> dict[str, Any]:
    """Return what a checkpoint's evaluations come to, as a `rangeResult` has it."""
    return summary_fields(stop.summary(), scores=True)


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


def result_json(run: PublishedRun) -> dict[str, Any]:
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
            **disclosure_fields((one for stop in stops for one in stop.evaluations), measured=run.measured),
        }
        personas.append({name: value for name, value in plain.items() if value is not None})
    found = {
        "timestamp": run.timestamp,
        "adapterName": run.adapter,
        "ranges": run.about.get("ranges") or list({stop.label: stop.range for stop in run.stops}.values()),
        "personas": personas,
        "heatmap": cells(run.stops),
        "metadata": metadata(run),
        **disclosure_fields(run.evaluations, measured=run.measured),
    }
    return {name: value for name, value in found.items() if value is not None}


def _range_result(stop: Stop) -> dict[str, Any]:
    failed = [result_of(one) for one in stop.evaluations if one.points is None]
    return {
        "range": stop.range,
        "daysIngested": stop.days,
        **aggregates(stop),
        "questionResults": [result_of(one) for one in stop.evaluations if one.points is not None],
        **({"questionFailures": failed} if failed else {}),
    }


def metadata(run: PublishedRun) -> dict[str, Any]:
    """Return the `metadata` of a run; its counts are from the evaluations. What only our runs know is in ours alone."""
    found = {name: run.about[name] for name in _ABOUT if name in run.about}
    found |= {name: value for name, value in counts(run).items() if value is not None}
    if "version" in found:
        every = run.evaluations
        found |= {
            "answeredBy": dict(sorted(Counter(one.answered_by for one in every if one.answered_by).items())),
            "thirdOutcomes": dict(sorted(Counter(one.failure for one in every if one.failure is not None).items())),
            "usd": usd(every),
        }
    return found


def counts(run: PublishedRun) -> dict[str, int | None]:
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
    return round(sum(known), 3) if len(known) == len(found) else None


def usd(every: Sequence[CheckpointTrial]) -> float | None:
    """Return what all of it cost; None if the price of something is not known."""
    known = [one.usd for one in every if one.usd is not None]
    return round(sum(known), 6) if len(known) == len(every) else None
