"""Measure the recall of floors (random, newest texts) and ceiling (the evidence) in as many tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from pytest_recall.cases.memory_part import Unit
from pytest_recall.metrics.answers import estimated_tokens
from pytest_recall.metrics.coverage import coverage
from pytest_recall.metrics.floors import NOTHING, SizedUnit, handed_out
from pytest_recall.trials.evidence import names_of

_DIGITS = 6


def floors_of(units: Sequence[Unit], evidence: Sequence[str], budget: float, seed: str) -> dict[str, dict[str, float]]:
    """Return what floors and ceiling find of the `evidence`, by name and metric; random ones the mean over draws.

    `units` are what the memory was told, `budget` the tokens that it returned. Of nothing there is nothing to say.
    """
    names = names_of(units, evidence)
    told, gold = sized_units(units, evidence)
    sizes = dict(told)
    return {
        name: _mean([_measured(ids, names, sizes, evidence, budget) for ids in draws])
        for name, draws in handed_out(told, gold, budget, seed).items()
        if name != NOTHING
    }


def sized_units(units: Sequence[Unit], evidence: Sequence[str]) -> tuple[list[SizedUnit], list[str]]:
    """Return the units by size in tokens, and the ids of those that the `evidence` names, the best first.

    Where evidence is a session the smallest unit of each comes first, so that all sessions come soon.
    """
    names = names_of(units, evidence)
    told = [SizedUnit(unit.id, estimated_tokens([unit.content])) for unit in units]
    parts = [sorted((one for one in told if names[one.id] == gold), key=lambda one: one.tokens) for gold in evidence]
    return told, [one.id for row in zip_longest(*parts) for one in row if one is not None]


def _measured(
    ids: Sequence[str], names: Mapping[str, str], sizes: Mapping[str, int], evidence: Sequence[str], budget: float
) -> dict[str, float]:
    found = coverage([[names[id]] for id in ids], evidence, max(1, len(ids), len(evidence)))
    assert found is not None, "there is evidence"
    return {
        "evidence_recall_at_k": found.fraction,
        "evidence_all_at_k": float(found.all),
        "reciprocal_rank": found.reciprocal_rank,
        "ndcg_at_k": found.ndcg,
        "tokens_read": min(budget, sum(sizes[id] for id in ids)),
    }


def _mean(draws: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: round(sum(one[name] for one in draws) / len(draws), _DIGITS) for name in draws[0]}
