"""Estimate as terminal lines and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_recall.core.errors import one_line
from pytest_recall.core.estimate import Amount, Estimate, together
from pytest_recall.render.cost import UNKNOWN, dollars
from pytest_recall.render.grid import grid
from pytest_recall.render.sentences import plural

AGENT = "agent"
"""What the agent under test is called in a table."""
LIVE = "at list price with every call live"
MEANING = f"{LIVE}; a replay costs what stays live, which are the judges' calls by default"
ASSUMED = (
    "calls to OpenAI and Anthropic are taken at half price, though streams, and others that no batch takes, are not"
)


def lines(found: Mapping[str, Estimate], runs: int, directly: Mapping[str, Estimate] | None = None) -> Iterator[str]:
    """Yield what a slice will take, from so many earlier runs.

    `found` has the agent under test first, under an empty name, and the baselines by theirs. If that
    is a run by batch, `directly` has the same without.
    """
    agent = found[""]
    if not agent.cases:
        yield "no case is chosen: this run costs nothing"
        return
    asked = plural(agent.cases, "case")
    if len(found) > 1:
        asked += f", each asked of {len(found)} agents"
    amount = _usd(found)
    if directly is None:
        yield f"{asked}: {_told(amount)}, {MEANING}"
    else:
        yield f"{asked}: {_told(amount)} by batch, {_told(_usd(directly))} without, {LIVE}"
        if amount.assumed:
            yield f"of {_cases(found, amount.assumed)} no run by batch is known: {ASSUMED}"
    if len(found) > 1:
        yield from _side_by_side(found, timed=directly is None)
        yield f"from {plural(runs, 'earlier run')}"
        return
    if directly is None:
        yield f"the agent's time, one case after another: {_time(agent.seconds)}"
    if len(agent.by_scenario) > 1:
        for scenario, part in agent.by_scenario.items():
            yield f"  {_scenario(scenario)}: {_told(part)}"
    yield f"from {plural(runs, 'earlier run')}: {_sources(amount)}"


def as_json(found: Mapping[str, Estimate], runs: int, directly: Mapping[str, Estimate] | None = None) -> dict[str, Any]:
    """Return the same as plain JSON types; an amount has null in place of figures where nothing is known.

    What is not under `baselines` or `sum` is of the agent under test; of a run by batch,
    `without_batch` is the sum if it is none.
    """
    return {
        "version": 1,
        "cases": found[""].cases,
        "runs": runs,
        **_of_agent(found[""]),
        "baselines": {name: _of_agent(one) for name, one in found.items() if name},
        "sum": {"usd": _plain(_usd(found)), "seconds": _plain(_seconds(found))},
        "batch": directly is not None,
        "without_batch": None if directly is None else {"usd": _plain(_usd(directly))},
    }


def beyond(found: Mapping[str, Estimate], budget: float, directly: Mapping[str, Estimate] | None = None) -> str:
    """Return why all agents together are not known to be within `budget`, in US dollars; empty if they are.

    What batches take is known of cases that ran by batch alone; with others all of it has to be within,
    though it is made `directly`.
    """
    amount = _usd(found)
    if amount.total > budget:
        return f"{_told(amount)} is more than the budget of {dollars(budget)}"
    if amount.unknown:
        unknown = _cases(found, amount.unknown)
        return f"the budget of {dollars(budget)} may be too small: the cost of {unknown} is unknown"
    if directly is not None and amount.assumed and _usd(directly).total > budget:
        return (
            f"the budget of {dollars(budget)} may be too small: of {_cases(found, amount.assumed)} no run by batch is"
            f" known, and directly the slice costs {_told(_usd(directly))}"
        )
    return ""


def _cases(found: Mapping[str, Estimate], count: int) -> str:
    return plural(count, "case") + (", counted for each agent," if len(found) > 1 else "")


def _usd(found: Mapping[str, Estimate]) -> Amount:
    return together(one.usd for one in found.values())


def _seconds(found: Mapping[str, Estimate]) -> Amount:
    return together(one.seconds for one in found.values())


# Tables


def _side_by_side(found: Mapping[str, Estimate], *, timed: bool) -> Iterator[str]:
    every = [(_name(name), one.usd, one.seconds) for name, one in found.items()]
    rows = [
        [name, _cost(usd), _spread(usd) or "–", *([_time(seconds)] if timed else ()), *_counts(usd)]
        for name, usd, seconds in [*every, ("sum", _usd(found), _seconds(found))]
    ]
    time = ["agent's time"] if timed else []
    yield from grid(["asked", "cost", "95 %", *time, "by itself", "by scenario", UNKNOWN], rows)
    scenarios = list(found[""].by_scenario)
    if len(scenarios) > 1:
        costs = [[_scenario(name), *(_cost(one.by_scenario[name]) for one in found.values())] for name in scenarios]
        yield from grid(["cost by scenario", *map(_name, found)], costs)


def _counts(usd: Amount) -> list[str]:
    return [f"{count:,}" for count in (usd.own, usd.borrowed, usd.unknown)]


def _name(name: str) -> str:
    return one_line(name, 60) or AGENT


def _scenario(name: str) -> str:
    return one_line(name) or "(none)"


# Amounts


def _of_agent(found: Estimate) -> dict[str, Any]:
    return {
        "usd": _plain(found.usd),
        "seconds": _plain(found.seconds),
        "scenarios": {scenario: _plain(amount) for scenario, amount in found.by_scenario.items()},
    }


def _plain(amount: Amount) -> dict[str, Any]:
    plain = amount._asdict()
    return plain if _is_known(amount) else {**plain, "total": None, "low": None, "high": None}


def _is_known(amount: Amount) -> bool:
    return bool(amount.own or amount.borrowed)


def _told(amount: Amount) -> str:
    if not _is_known(amount):
        return f"cost {UNKNOWN}"
    spread = _spread(amount)
    return f"{_cost(amount)} (95 %: {spread})" if spread else _cost(amount)


def _cost(amount: Amount) -> str:
    if not _is_known(amount):
        return UNKNOWN
    return f"{'at least' if amount.unknown else 'about'} {dollars(amount.total)}"


def _spread(amount: Amount) -> str:
    return f"{dollars(amount.low)} to {dollars(amount.high)}" if amount.high > amount.low else ""


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
