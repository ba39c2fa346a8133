"""Estimate as terminal lines and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_recall.core.errors import one_line
from pytest_recall.core.estimate import Amount, Estimate
from pytest_recall.render.cost import UNKNOWN, dollars
from pytest_recall.render.sentences import plural

MEANING = "at list price with every call live; a replay costs what stays live, which are the judges' calls by default"


def lines(found: Estimate, runs: int) -> Iterator[str]:
    """Yield what a slice will take, from so many earlier runs."""
    if not found.cases:
        yield "no case is chosen: this run costs nothing"
        return
    yield f"{plural(found.cases, 'case')}: {_told(found.usd)}, {MEANING}"
    yield f"the agent's time, one case after another: {_time(found.seconds)}"
    if len(found.by_scenario) > 1:
        for scenario, amount in found.by_scenario.items():
            yield f"  {one_line(scenario) or '(none)'}: {_told(amount)}"
    yield f"from {plural(runs, 'earlier run')}: {_sources(found.usd)}"


def as_json(found: Estimate, runs: int) -> dict[str, Any]:
    """Return the same as plain JSON types; `usd` is null where nothing is known."""
    return {
        "version": 1,
        "cases": found.cases,
        "runs": runs,
        "usd": _plain(found.usd),
        "seconds": _plain(found.seconds),
        "scenarios": {scenario: _plain(amount) for scenario, amount in found.by_scenario.items()},
    }


def beyond(amount: Amount, budget: float) -> str:
    """Return why the amount is not known to be within `budget`, in US dollars; empty if it is."""
    if amount.total > budget:
        return f"{_told(amount)} is more than the budget of {dollars(budget)}"
    if amount.unknown:
        return (
            f"the budget of {dollars(budget)} may be too small: the cost of {plural(amount.unknown, 'case')} is unknown"
        )
    return ""


def _plain(amount: Amount) -> dict[str, Any]:
    plain = amount._asdict()
    return plain if _is_known(amount) else {**plain, "total": None, "low": None, "high": None}


def _is_known(amount: Amount) -> bool:
    return bool(amount.own or amount.borrowed)


def _told(amount: Amount) -> str:
    if not _is_known(amount):
        return f"cost {UNKNOWN}"
    least = "at least " if amount.unknown else "about "
    spread = f" (95 %: {dollars(amount.low)} to {dollars(amount.high)})" if amount.high > amount.low else ""
    return f"{least}{dollars(amount.total)}{spread}"


def _time(amount: Amount) -> str:
    if not _is_known(amount):
        return UNKNOWN
    seconds = amount.total
    told = f"{seconds:.1f} s" if seconds < 60 else f"{seconds / 60:.0f} min"
    return f"at least {told}" if amount.unknown else f"about {told}"


def _sources(amount: Amount) -> str:
    parts = [
        (amount.own, "by what it cost itself"),
        (amount.borrowed, "by the mean of its scenario"),
        (amount.unknown, "not known, and in no sum"),
    ]
    return ", ".join(f"{plural(count, 'case')} {how}" for count, how in parts if count)
