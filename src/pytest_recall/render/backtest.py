"""A backtest as terminal lines and JSON: schedules beside the runs as they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pytest_recall.core.habits import Setting
from pytest_recall.core.history import Backtest
from pytest_recall.render.cost import ABSENT, UNKNOWN, dollars
from pytest_recall.render.grid import grid
from pytest_recall.render.sentences import percent

_HALF = 0.5
LIMITS = (
    "A case that a schedule would have run and no run on record has run is not known, which is no pass."
    " Which cases were near a change is not on record, so that the lottery is told of none."
)


def lines(found: Sequence[Backtest], usd: Setting, notes: Sequence[str]) -> Iterator[str]:
    """Yield the table, a column for the runs as they were and for each schedule, and `notes`."""

    def row(name: str, of: Callable[[Backtest], str]) -> list[str]:
        return [name, *map(of, found)]

    was = found[0]
    yield from grid(
        ["", *(one.policy for one in found)],
        [
            row("cases run", lambda one: f"{one.chosen:,}"),
            row("  not known what they would have said", lambda one: f"{one.unknown:,}"),
            row("money", lambda one: UNKNOWN if usd.value is None else dollars(one.chosen * usd.value)),
            row(f"verdicts seen, of {was.chosen:,}", lambda one: _share(one.chosen - one.unknown, was.chosen)),
            row(f"fails seen, of {was.fails:,}", lambda one: _share(one.fails, was.fails)),
            row(f"pull requests gone red, of {was.red:,}", lambda one: _share(one.caught, one.red)),
            row(f"regressions found, of {was.regressed:,}", lambda one: _share(one.found, one.regressed)),
            row("  missed", lambda one: f"{one.missed:,}"),
            row("  not known", lambda one: f"{one.undecided:,}"),
            row("  found days later, mean", lambda one: _days(one.delay)),
            row("  95th percentile", lambda one: _days(one.p95)),
            row("  longest", lambda one: _days(one.longest)),
        ],
    )
    yield ""
    price = "not known" if usd.value is None else f"{dollars(usd.value)}, {usd.source}"
    yield f"a trial costs (--usd): {price}" + (f" ({usd.told})" if usd.told else "")
    yield from notes
    if not was.regressed:
        yield "No case broke and stayed so: nothing says how late a schedule would have found one."
    for one in found[1:]:
        if one.unknown > _HALF * one.chosen:
            yield (
                f"The runs know {percent(1 - one.unknown / one.chosen)} of what {one.policy} would have run: too little"
                " to judge it by. Give --verdicts of runs that ran everything."
            )
    yield LIMITS


def as_json(found: Sequence[Backtest], usd: Setting, facts: dict[str, Any]) -> dict[str, Any]:
    """Return the same as plain JSON types; what is unknown is null."""
    schedules = {
        one.policy: {
            **{name: value for name, value in one._asdict().items() if name != "policy"},
            "usd": None if usd.value is None else one.chosen * usd.value,
        }
        for one in found
    }
    return {"version": 1, **facts, "usd": usd._asdict(), "schedules": schedules}


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({100 * part / whole:.0f} %)" if whole else ABSENT


def _days(days: float | None) -> str:
    return ABSENT if days is None else f"{days:.1f}"
