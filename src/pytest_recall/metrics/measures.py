"""Name the numbers that a trial can have: what each is, and its range."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_recall.files.coerce import values_of
from pytest_recall.metrics.retrieval import METRICS, Metric

JUDGED: Mapping[str, Metric] = {
    f"{dataset}_judge": Metric("a model says that the answer is correct, by the rule of the paper", share=True)
    for dataset in ("longmemeval", "locomo", "dmr")
}
"""What a model judges, by name; a value that is None is an answer on which it came to no verdict."""
POINTS: Mapping[str, Metric] = {
    "correctness": Metric("points for a right answer to a question about a persona", within=(0, 3)),
    "completeness": Metric("points for a complete one", within=(0, 2)),
    "hallucination": Metric("1 if nothing is made up, else 0", share=True),
}
"""What the judge of a long-horizon benchmark gives."""
MEASURES: Mapping[str, Metric] = {**METRICS, **JUDGED, **POINTS}


def measures_of(plain: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the numbers in a journal line; those of a later version are kept. Raises TypeError or ValueError."""
    values = values_of(plain)
    for name, value in values.items():
        if value is not None and name in MEASURES:
            MEASURES[name].tally().add(value)  # Refuses what is out of its bounds.
    return values
