"""Comparison of two runs as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_recall.core.change import Change
from pytest_recall.core.compare import Comparison
from pytest_recall.core.pairing import Pair
from pytest_recall.core.record import Header
from pytest_recall.core.spend import Spend
from pytest_recall.render import cost


def as_json(found: Comparison) -> dict[str, Any]:
    """Return the comparison as plain JSON types; what is unknown is null, and shares lie in 0..1."""
    return {
        "version": 1,
        "base": _run(found.base, cut_off=found.cut_off[0]),
        "head": _run(found.head, cut_off=found.cut_off[1]),
        "alpha": found.alpha,
        "shown": found.shown.value,
        "drops": found.drops,
        "overall": _change(found, found.overall),
        "by_scenario": {name: _change(found, one) for name, one in found.by_scenario.items()},
        "by_dimension": {name: _change(found, one) for name, one in found.by_dimension.items()},
        "lost": [_flip(pair) for pair in found.lost],
        "gained": [_flip(pair) for pair in found.gained],
        "fell": [_flip(pair) for pair in found.fell],
        "rose": [_flip(pair) for pair in found.rose],
        "not_compared": {name: list(ids) for name, ids in found.left._asdict().items()},
        "scores": {judge: scores._asdict() for judge, scores in found.scores.items()},
        "seconds": found.seconds._asdict() if found.seconds else None,
        "cost": {"base": _cost(found.spent[0]), "head": _cost(found.spent[1])},
        "replayed_in_both": found.replays,
        "replayed_in_one": found.half,
        "chosen_after": list(found.chosen_after),
    }


def _run(header: Header, *, cut_off: bool) -> dict[str, Any]:
    return {
        "run": header.run,
        "date": header.date,
        "mode": header.mode,
        "seed": header.seed,
        "pr": header.pr,
        "model": header.model,
        "cut_off": cut_off,
    }


def _change(found: Comparison, one: Change) -> dict[str, Any]:
    base, head = one.rates
    return {
        "pairs": one.pairs,
        "base": {"passed": one.base, "rate": one.base / one.pairs, "interval": base},
        "head": {"passed": one.head, "rate": one.head / one.pairs, "interval": head},
        "test": "sign flips" if one.shares else "mcnemar",
        "lost": one.lost,
        "gained": one.gained,
        "fell": one.fell,
        "rose": one.rose,
        "difference": one.difference,
        "interval": one.interval,
        "p": one.p,
        "p_adjusted": one.adjusted,
        "shown": found.shown_by(one).value,
        "smallest_drop": one.smallest,
    }


def _flip(pair: Pair) -> dict[str, Any]:
    return {
        "id": pair.case_id,
        "scenario": pair.head.scenario,
        "dimension": pair.head.dimension,
        "base": pair.base.outcome.value,
        "head": pair.head.outcome.value,
        "tried": pair.tried and {"base": pair.tried[0], "head": pair.tried[1], "of": pair.tried[2]},
        "note": pair.base.note or pair.head.note,
        "where": pair.head.where or None,
    }


def _cost(spend: Spend) -> Mapping[str, Any] | None:
    return cost.as_json({"": spend})["total"] if spend.calls else None
