"""Result: `result.json` of a run, from its evaluations, by the published names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from pytest_recall.core.horizon.checkpoint import Checkpoint
from pytest_recall.core.horizon.configuration import VERSION, Configuration
from pytest_recall.core.horizon.disclosure import boundaries
from pytest_recall.core.horizon.evaluation import Evaluation
from pytest_recall.core.horizon.record import disclosure_fields, result_of, summary_fields
from pytest_recall.core.horizon.summary import summarize


class Reached(NamedTuple):
    """A checkpoint all of whose questions were asked, and what came of each, in the order in which they are asked."""

    checkpoint: Checkpoint
    evaluations: Sequence[Evaluation]


def result(
    configuration: Configuration,
    reached: Sequence[Reached],
    *,
    timestamp: str,
    pairs: int,
    ingest_ms: float,
    duration_ms: float,
) -> dict[str, Any]:
    """Return the result of the checkpoints that were `reached`; `pairs` counts all questions of the persona.

    Answers without points are not among `questionResults`, but in `questionFailures`, which is ours.
    """
    ranges, cells = [], []
    for checkpoint, evaluations in reached:
        summary = summary_fields(summarize(evaluations, checkpoint.eligible), scores=True)
        label = checkpoint.range.label
        lost = [result_of(one) for one in evaluations if one.points is None]
        ranges.append(
            {
                "range": {"label": label, "days": checkpoint.range.days},
                "daysIngested": checkpoint.days,
                **summary,
                "questionResults": [result_of(one) for one in evaluations if one.points is not None],
                **({"questionFailures": lost} if lost else {}),
            }
        )
        cells += [
            {
                "range": label,
                "category": one["category"],
                "score": one["meanScore"],
                "questionCount": one["questionCount"],
                "eligibleCount": one["eligibleCount"],
            }
            for one in summary["categoryScores"]
        ]
    every = [one for _, evaluations in reached for one in evaluations]
    scored = sum(one.points is not None for one in every)
    disclosure = disclosure_fields(boundaries(every))
    persona = {
        "personaId": configuration.persona,
        "adapterName": configuration.memory,
        "rangeResults": ranges,
        "heatmap": cells,
        "totalIngestionMs": ingest_ms,
        "totalQueryMs": round(1000 * sum(one.seconds or 0 for one in every), 3),
        "uniqueQAPairCount": pairs,
        "totalEvalsRun": scored,
        **disclosure,
    }
    metadata = {
        "durationMs": duration_ms,
        "totalEvalsRun": scored,
        "uniqueQAPairCount": pairs,
        **configuration.metadata,
        "appellateInvocations": sum(one.appealed for one in every),
        "version": VERSION,
        "seed": configuration.run.seed,
        "unit": configuration.run.unit,
        "k": configuration.run.k,
        "answerModel": configuration.answer,
        "answeredBy": _counted(one.answered_by for one in every if one.answered_by),
        "thirdOutcomes": _counted(one.failure for one in every if one.failure is not None),
        "usd": _usd(every),
    }
    return {
        "timestamp": timestamp,
        "adapterName": configuration.memory,
        "ranges": [one._asdict() for one in configuration.run.ranges],
        "personas": [persona],
        "heatmap": cells,
        "metadata": metadata,
        **disclosure,
    }


def summary_line(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the last line of `progress.jsonl`, of a whole result."""
    names = ("durationMs", "totalEvalsRun", "uniqueQAPairCount", "appellateInvocations", "thirdOutcomes", "usd")
    metadata = result["metadata"]
    return {"type": "summary", "timestamp": result["timestamp"], **{name: metadata[name] for name in names}}


def duration(starts: Sequence[str], stamps: Sequence[str]) -> float:
    """Return the milliseconds that a run took, without those between a stop and the next start.

    `starts` are the times at which it was begun and gone on with, `stamps` those of its evaluations.
    """
    begins, ends = sorted(map(datetime.fromisoformat, starts)), sorted(map(datetime.fromisoformat, stamps))
    found = 0.0
    for begin, following in zip(begins, [*begins[1:], None], strict=True):
        within = [end for end in ends if end >= begin and (following is None or end < following)]
        if within:
            found += (within[-1] - begin).total_seconds() * 1000
    return round(found, 3)


def _counted(names: Any) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return dict(sorted(found.items()))


def _usd(every: Sequence[Evaluation]) -> float | None:
    """Return what all of it cost; None if the price of something is not known."""
    costs = [one.usd for one in every]
    return None if None in costs else round(sum(cost for cost in costs if cost is not None), 6)
