"""Result: `result.json` of a run, from its evaluations, by the published names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from pytest_recall.core.horizon.aggregates import result_json
from pytest_recall.core.horizon.checkpoint import Checkpoint
from pytest_recall.core.horizon.configuration import VERSION, Configuration
from pytest_recall.core.horizon.evaluation import Evaluation
from pytest_recall.core.horizon.published import Run, Stop


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
    ingest_ms: Mapping[str, float | None],
    duration_ms: float,
    unasked: int = 0,
    stopped: str = "",
) -> dict[str, Any]:
    """Return the result of the checkpoints that were `reached`; `pairs` counts all questions of the persona.

    `ingest_ms` is how long it took to tell the days of each, by label, None where that is not known any more.
    `unasked` questions were not asked, and `stopped` says what keeps the run from asking them.
    """
    stops = tuple(
        Stop(
            persona=configuration.persona,
            label=checkpoint.range.label,
            days=checkpoint.days,
            evaluations=tuple(evaluations),
            eligible=checkpoint.eligible,
            written={
                "range": checkpoint.range._asdict(),
                "ingestMs": ingest_ms.get(checkpoint.range.label),
                "queryMs": query_ms(evaluations),
            },
            measured=configuration.measured,
        )
        for checkpoint, evaluations in reached
    )
    about = {
        "ranges": [one._asdict() for one in configuration.run.ranges],
        "durationMs": duration_ms,
        **configuration.metadata,
        "version": VERSION,
        "seed": configuration.run.seed,
        "unit": configuration.run.unit,
        "k": configuration.run.k,
        "answerModel": configuration.answer,
    }
    about |= {name: value for name, value in (("unasked", unasked), ("stopped", stopped)) if value}
    memory = configuration.memory
    run = Run(name="", adapter=memory, timestamp=timestamp, stops=stops, about=about, config={}, pairs=pairs)
    return result_json(run)


def query_ms(evaluations: Sequence[Evaluation]) -> float:
    """Return how long the memory took for all of them, in milliseconds."""
    return round(1000 * sum(one.seconds or 0 for one in evaluations), 3)


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
