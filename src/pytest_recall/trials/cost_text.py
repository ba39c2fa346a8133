"""Render costs and estimates for terminals, as tables and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_recall.files.wording import cell, dollars, grid, one_line, percent, plural
from pytest_recall.replay.budget import reason
from pytest_recall.replay.exchange import Tokens
from pytest_recall.trials.cost import Amount, Bill, Estimate, Spend, together, total

COLUMNS = ("calls", "input", "output", "cache read", "cache write", "record", "replay", "saved")
ABSENT = "–"
UNKNOWN = "unknown"
COST_MEANING = (
    "record: every call live, at list price; replay: what is on the cassettes costs nothing, the rest is live."
)


def cost_lines(spends: Mapping[str, Spend]) -> list[str]:
    """Return what was spent and saved in one line, and in one more for each of several scenarios."""
    called = _called(spends)
    if not called:
        return []
    rest = [f"  {_name(scenario)}: {_told(spend)}" for scenario, spend in called.items()]
    return [_told(total(called)), *(rest if len(called) > 1 else ())]


def table(spends: Mapping[str, Spend]) -> list[str]:
    """Return the record-against-replay table for a terminal, with its notes; nothing without calls."""
    rows = _rows(spends)
    if not rows:
        return []
    rows = [("scenario", *COLUMNS), *rows]
    first, *widths = (max(map(len, column)) for column in zip(*rows, strict=True))
    told = [
        f"{row[0]:<{first}}  " + "  ".join(f"{cell:>{width}}" for cell, width in zip(row[1:], widths, strict=True))
        for row in rows
    ]
    return [*told, "", *_notes(spends)]


def markdown(spends: Mapping[str, Spend]) -> list[str]:
    """Return the same table as lines of Markdown."""
    rows = _rows(spends)
    if not rows:
        return []
    told = [f"| {' | '.join((cell(row[0]), *row[1:]))} |" for row in rows]
    head = [f"| scenario | {' | '.join(COLUMNS)} |", "| --- |" + " ---: |" * len(COLUMNS)]
    return [*head, *told, "", *(f"- {note}" for note in _notes(spends))]


def cost_json(spends: Mapping[str, Spend]) -> dict[str, Any]:
    """Return the same as plain JSON types; what is unknown is null."""
    called = _called(spends)
    return {
        "version": 1,
        "total": _plain(total(called)),
        "scenarios": {scenario: _plain(spend) for scenario, spend in called.items()},
    }


def budget_line(budget: float, spent: float, unknown: int, why: str, left: Mapping[str, int] | None = None) -> str:
    """Return what is left of a budget; `unknown` calls have no known cost, `why` says if no other may begin.

    `left` counts the cases that baselines were not asked, by name.
    """
    told = f"spent {dollars(spent)} of the budget of {dollars(budget)}"
    if unknown:
        told += f", without {plural(unknown, 'call')} of unknown cost"
    if why and not (spent >= budget and why == reason(budget, spent)):
        told += f"; {why}"
    names = ", ".join(f"{one_line(name, 60)} ({plural(count, 'case')})" for name, count in (left or {}).items())
    return f"{told}; baselines not asked: {names}" if names else told


def price(bill: Bill) -> str:
    """Return the sum of a bill, "at least" so much if some calls have no price, "unknown" if none has."""
    if bill.known is None:
        return UNKNOWN
    return f"at least {dollars(bill.usd)}" if bill.unpriced else dollars(bill.usd)


def _called(spends: Mapping[str, Spend]) -> dict[str, Spend]:
    return {scenario: spend for scenario, spend in spends.items() if spend.calls}


def _name(scenario: str) -> str:
    return one_line(scenario) or "(none)"


# Sentences


def _told(spend: Spend) -> str:
    parts = []
    if spend.spent.calls:
        parts.append(
            f"spent {_amount(spend.spent)}" if spend.spent.known is not None else _unpriced("made", spend.spent)
        )
    else:
        parts.append("spent nothing")
    if spend.saved.calls:
        replayed = plural(spend.saved.calls, "call")
        known = spend.saved.known is not None
        parts.append(
            f"replayed {replayed} that would cost {_amount(spend.saved)}"
            if known
            else _unpriced("replayed", spend.saved)
        )
    return ", ".join(parts)


def _unpriced(verb: str, bill: Bill) -> str:
    return f"{verb} {plural(bill.calls, 'call')}, price {UNKNOWN}"


def _amount(bill: Bill) -> str:
    """Return the sum of a bill, and what it leaves out."""
    if not bill.unpriced:
        return dollars(bill.usd)
    return f"at least {dollars(bill.usd)} ({plural(bill.unpriced, 'call')} without a price)"


# The table


def _rows(spends: Mapping[str, Spend]) -> list[tuple[str, ...]]:
    called = _called(spends)
    rows = [(_name(scenario), *_cells(spend)) for scenario, spend in called.items()]
    return [*rows, ("total", *_cells(total(called)))] if rows else []


def _cells(spend: Spend) -> tuple[str, ...]:
    uncounted = UNKNOWN if spend.tokens == Tokens() else ABSENT
    counts = (uncounted if count is None else f"{count:,}" for count in spend.tokens)
    return (f"{spend.calls:,}", *counts, price(spend.recording), price(spend.stays), _saved(spend))


def _saved(spend: Spend) -> str:
    if spend.unpriced:
        return UNKNOWN
    return percent(1 - spend.stays.usd / spend.recording.usd) if spend.recording.usd else ABSENT


def _notes(spends: Mapping[str, Spend]) -> list[str]:
    every = total(spends)
    notes = [COST_MEANING]
    if every.unpriced:
        by_source = f"{every.spent.unpriced:,} live, {every.saved.unpriced:,} replayed"
        notes.append(f"{plural(every.unpriced, 'call')} without a price ({by_source}): unknown is not zero.")
    if every.uncounted:
        notes.append(f"{plural(every.uncounted, 'call')} without a count of tokens.")
    return notes


def _plain(spend: Spend) -> dict[str, Any]:
    return {
        "calls": spend.calls,
        "replayed": spend.replayed,
        "tokens": spend.tokens._asdict(),
        "without_tokens": spend.uncounted,
        "spent": _bill(spend.spent),
        "saved": _bill(spend.saved),
        "record": _bill(spend.recording),
        "replay": _bill(spend.stays),
    }


def _bill(bill: Bill) -> dict[str, Any]:
    """Return a bill; `usd` is a lower bound where calls have no price."""
    return {"usd": bill.known, "calls": bill.calls, "without_price": bill.unpriced}


AGENT = "agent"
"""What the agent under test is called in a table."""
LIVE = "at list price with every call live"
ESTIMATE_MEANING = f"{LIVE}; a replay costs what stays live, which are the judges' calls by default"
ASSUMED = (
    "calls to OpenAI and Anthropic are taken at half price, though streams, and others that no batch takes, are not"
)


def estimate_lines(
    found: Mapping[str, Estimate], runs: int, directly: Mapping[str, Estimate] | None = None
) -> Iterator[str]:
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
        yield f"{asked}: {_estimate_told(amount)}, {ESTIMATE_MEANING}"
    else:
        yield f"{asked}: {_estimate_told(amount)} by batch, {_estimate_told(_usd(directly))} without, {LIVE}"
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
            yield f"  {_name(scenario)}: {_estimate_told(part)}"
    yield f"from {plural(runs, 'earlier run')}: {_sources(amount)}"


def estimate_json(
    found: Mapping[str, Estimate], runs: int, directly: Mapping[str, Estimate] | None = None
) -> dict[str, Any]:
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
        "sum": {"usd": _estimate_plain(_usd(found)), "seconds": _estimate_plain(_seconds(found))},
        "batch": directly is not None,
        "without_batch": None if directly is None else {"usd": _estimate_plain(_usd(directly))},
    }


def beyond(found: Mapping[str, Estimate], budget: float, directly: Mapping[str, Estimate] | None = None) -> str:
    """Return why all agents together are not known to be within `budget`, in US dollars; empty if they are.

    What batches take is known of cases that ran by batch alone; with others all of it has to be within,
    though it is made `directly`.
    """
    amount = _usd(found)
    if amount.total > budget:
        return f"{_estimate_told(amount)} is more than the budget of {dollars(budget)}"
    if amount.unknown:
        unknown = _cases(found, amount.unknown)
        return f"the budget of {dollars(budget)} may be too small: the cost of {unknown} is unknown"
    if directly is not None and amount.assumed and _usd(directly).total > budget:
        return (
            f"the budget of {dollars(budget)} may be too small: of {_cases(found, amount.assumed)} no run by batch is"
            f" known, and directly the slice costs {_estimate_told(_usd(directly))}"
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
    every = [(_estimate_name(name), one.usd, one.seconds) for name, one in found.items()]
    rows = [
        [name, _cost(usd), _spread(usd) or "–", *([_time(seconds)] if timed else ()), *_counts(usd)]
        for name, usd, seconds in [*every, ("sum", _usd(found), _seconds(found))]
    ]
    time = ["agent's time"] if timed else []
    yield from grid(["asked", "cost", "95 %", *time, "by itself", "by scenario", UNKNOWN], rows)
    scenarios = list(found[""].by_scenario)
    if len(scenarios) > 1:
        costs = [[_name(name), *(_cost(one.by_scenario[name]) for one in found.values())] for name in scenarios]
        yield from grid(["cost by scenario", *map(_estimate_name, found)], costs)


def _counts(usd: Amount) -> list[str]:
    return [f"{count:,}" for count in (usd.own, usd.borrowed, usd.unknown)]


def _estimate_name(name: str) -> str:
    return one_line(name, 60) or AGENT


# Amounts


def _of_agent(found: Estimate) -> dict[str, Any]:
    return {
        "usd": _estimate_plain(found.usd),
        "seconds": _estimate_plain(found.seconds),
        "scenarios": {scenario: _estimate_plain(amount) for scenario, amount in found.by_scenario.items()},
    }


def _estimate_plain(amount: Amount) -> dict[str, Any]:
    plain = amount._asdict()
    return plain if _is_known(amount) else {**plain, "total": None, "low": None, "high": None}


def _is_known(amount: Amount) -> bool:
    return bool(amount.own or amount.borrowed)


def _estimate_told(amount: Amount) -> str:
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
