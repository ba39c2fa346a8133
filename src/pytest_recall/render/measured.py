"""Measured: the values of a retrieval and the summary of all, as JSON with documented keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_recall.core.measure import Value
from pytest_recall.core.measured import Summarized
from pytest_recall.core.retrieval import Retrieval
from pytest_recall.metrics.mean import Mean
from pytest_recall.metrics.percentiles import METHOD
from pytest_recall.render import published


def line(one: Retrieval, values: Mapping[str, Value]) -> dict[str, Any]:
    """Return what is printed of a retrieval."""
    told: dict[str, Any] = {"id": one.id}
    if one.category is not None:
        told["category"] = one.category
    if one.error is not None:
        told["error"] = one.error
    return {**told, "metrics": dict(values)}


def as_json(found: Summarized, refused: int) -> dict[str, Any]:
    """Return the summary; `refused` lines are not in it."""
    told: dict[str, Any] = {
        "n": found.n,
        "failures": found.failures,
        "refused": refused,
        "k": found.k,
        "confidence": 0.95,
        "metrics": _means(found.means),
    }
    if found.percentiles:
        told["percentiles"] = {"seconds": {**found.percentiles, "method": METHOD}}
    if found.estimated:
        told["estimated"] = dict(found.estimated)
    if found.categories is not None:
        told["categories"] = {name: _means(means) for name, means in found.categories.items()}
    if found.published is not None:
        told["published"] = published.as_json(found.published)
    return told


def _means(means: Mapping[str, Mean]) -> dict[str, Any]:
    return {name: mean._asdict() for name, mean in means.items()}
