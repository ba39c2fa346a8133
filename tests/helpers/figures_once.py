"""Figures of runs, worked out once in a process: many runs of tests tell the same texts and ask the same about them.

They go by their arguments alone, and all of these are what they are remembered by. How they are worked out is tested by
tests/metrics/test_floors.py, tests/metrics/test_repeated.py, tests/datasets/test_floors.py and
tests/horizon/test_retrieval.py.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from unittest import mock

from pytest_recall.cases.memory_part import Unit
from pytest_recall.datasets import floors, membench, membench_run, verifying
from pytest_recall.horizon import retrieval
from pytest_recall.horizon.evaluation import CheckpointTrial, HandedOut
from pytest_recall.metrics.repeated import Answers, RepeatedMean

Found = TypeVar("Found")
_KEPT: dict[Hashable, Any] = {}
_mean = membench._mean
_rows, _gaps, _beside = retrieval._rows, retrieval._gaps, retrieval._beside


def _once(work: Callable[[], Found], *key: Hashable) -> Found:
    if key not in _KEPT:
        _KEPT[key] = work()
    found: Found = _KEPT[key]
    return found


def _of_dataset(units: Sequence[Unit], evidence: Sequence[str], budget: float, seed: str) -> Any:
    told = tuple((one.id, one.content, one.session, *one.metadata.items()) for one in units)
    found = _once(
        lambda: floors.floors_of(units, evidence, budget, seed), "dataset", told, tuple(evidence), budget, seed
    )
    return {name: dict(metrics) for name, metrics in found.items()}


def _mean_once(name: str, answers: Sequence[Answers]) -> RepeatedMean:
    every = tuple((cluster, tuple(row)) for cluster, row in answers)
    return _once(lambda: _mean(name, answers), "mean", name, every)


def _rows_once(one: CheckpointTrial, handed: HandedOut, told: retrieval._Told | None, label: str) -> Any:
    units = None if told is None else tuple(told.units)
    found = _once(lambda: _rows(one, handed, told, label), "rows", one.persona, one.question, handed, units, label)
    return dict(found)


def _gaps_once(one: CheckpointTrial, told: retrieval._Told, label: str) -> Any:
    return _once(lambda: _gaps(one, told, label), "gaps", one.persona, one.question, tuple(told.units), label)


def _beside_once(questions: Sequence[Mapping[str, Sequence[retrieval.FoundDays]]]) -> retrieval.WithFloors:
    every = tuple(tuple((name, tuple(draws)) for name, draws in rows.items()) for rows in questions)
    return _once(lambda: _beside(questions), "beside", every)


@contextlib.contextmanager
def figures_once() -> Iterator[None]:
    """Let what runs and their reports ask for be remembered."""
    with (
        mock.patch.object(membench, "_mean", _mean_once),
        mock.patch.object(membench_run, "floors_of", _of_dataset),
        mock.patch.object(verifying, "floors_of", _of_dataset),
        mock.patch.object(retrieval, "_rows", _rows_once),
        mock.patch.object(retrieval, "_gaps", _gaps_once),
        mock.patch.object(retrieval, "_beside", _beside_once),
    ):
        yield
