"""Cost as terminal lines, tables and JSON: what was spent, what replays saved, and what nobody knows."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, log10
from typing import Any

from pytest_recall.core.call import Tokens
from pytest_recall.core.errors import one_line
from pytest_recall.core.spend import Bill, Spend, total
from pytest_recall.render.markdown import cell
from pytest_recall.render.sentences import percent, plural

COLUMNS = ("calls", "input", "output", "cache read", "cache write", "record", "replay", "saved")
ABSENT = "–"
UNKNOWN = "unknown"
MEANING = "record: every call live, at list price; replay: what is on the cassettes costs nothing, the rest is live."
_SMALLEST = 1e-8


def lines(spends: Mapping[str, Spend]) -> list[str]:
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


def as_json(spends: Mapping[str, Spend]) -> dict[str, Any]:
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
    told = f"budget ${budget:,.2f}: {dollars(spent)} spent"
    if unknown:
        told += f", and {plural(unknown, 'call')} of unknown cost"
    told += f"; {why}" if why else ""
    names = ", ".join(f"{one_line(name, 60)} ({plural(count, 'case')})" for name, count in (left or {}).items())
    return f"{told}; baselines not asked: {names}" if names else told


def dollars(amount: float) -> str:
    """Return an amount with the digits that it needs: cents from a dollar on, two figures of a small one."""
    if amount <= -_SMALLEST:
        return "-" + dollars(-amount)
    if amount < _SMALLEST:
        return "$0.00" if amount <= 0 else "under $0.00000001"
    places = 2 if amount >= 1 else 4 if amount >= 0.01 else 1 - floor(log10(amount))
    whole, _, cents = f"{amount:,.{places}f}".partition(".")
    return f"${whole}.{cents.rstrip('0').ljust(2, '0')}"


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
    notes = [MEANING]
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
