"""Render status, simulations and backtests for terminals and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pytest_recall.files.wording import dollars, grid, listed, percent, plural
from pytest_recall.metrics.intervals import Mean
from pytest_recall.schedule.boxes import INTERVALS
from pytest_recall.schedule.forecast import Forecast, without_verdict
from pytest_recall.schedule.history import Backtest, Setting
from pytest_recall.schedule.simulated import Figures, SimulationSummary
from pytest_recall.trials.cost_text import ABSENT, UNKNOWN

NAMES: Mapping[str, tuple[str, str]] = {
    "pulls": ("pull requests a day", "--pulls"),
    "open_days": ("median days that one is open", "--open-days"),
    "abandoned": ("share that is never merged", "--abandoned"),
    "bad": ("share that breaks something", "--bad"),
    "breaks": ("cases broken by a bad one", "--breaks"),
    "recall": ("how often tags tell what it touches", "--recall"),
    "drift": ("a case breaks by itself, a day", "--drift"),
    "flaky": ("verdicts on sound cases that are wrong", "--flaky"),
    "usd": ("US dollars a trial", "--usd"),
}
"""What a simulation goes by: how it is called, and the option for it."""
_SHARES = {"abandoned", "bad", "recall", "flaky"}
MODEL = (
    "This is a simulation: rely on direction and order of magnitude only. In brackets: 95 % intervals over the seeds."
)


def simulation_lines(
    found: Sequence[SimulationSummary], settings: Mapping[str, Setting], notes: Sequence[str]
) -> Iterator[str]:
    """Yield the table of figures, a column for each policy, what they rest on, and `notes`."""
    yield from table(found)
    yield ""
    rows = [[_named(name), _value(name, one), _source(one)] for name, one in settings.items()]
    first, second = (max(len(row[at]) for row in rows) for at in range(2))
    yield "by"
    yield from (f"  {name:<{first}}  {value:>{second}}  {source}" for name, value, source in rows)
    yield ""
    yield from notes
    yield MODEL


def table(found: Sequence[SimulationSummary]) -> Iterator[str]:
    """Yield the table of figures alone, a column for each policy."""
    yield from grid(["", *(one.policy for one in found)], [[name, *cells] for name, *cells in _rows(found)])


def simulation_json(
    found: Mapping[str, Sequence[Figures]],
    sums: Sequence[SimulationSummary],
    settings: Mapping[str, Setting],
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the same as plain JSON types, and the figures of each seed; what is unknown is null."""
    policies = {}
    for one in sums:
        told = {
            name: value._asdict() if isinstance(value, Mean) else value
            for name, value in one._asdict().items()
            if name not in ("policy", "found_by")
        }
        each = [
            {name: value for name, value in figures._asdict().items() if name not in ("policy", "delays", "waits")}
            for figures in found[one.policy]
        ]
        policies[one.policy] = {**told, "by_seed": each}
    return {
        "version": 1,
        **facts,
        "settings": {name: one._asdict() for name, one in settings.items()},
        "policies": policies,
    }


def _rows(found: Sequence[SimulationSummary]) -> Iterator[list[str]]:
    yield ["trials a day", *(_mean(one.a_day, "{:.0f}") for one in found)]
    yield ["money a day", *(_mean(one.usd, "${:.2f}", UNKNOWN) for one in found)]
    yield ["cases in a pull request: p5 / p50 / most", *("{} / {} / {}".format(*one.slice) for one in found)]
    yield ["longest night", *(plural(one.longest_night, "case") for one in found)]
    yield ["broke by themselves, all seeds together", *(plural(one.broke, "case") for one in found)]
    yield ["  found after days, mean", *(_mean(one.delay, "{:.1f}") for one in found)]
    yield ["  95th percentile", *(_mean(one.p95, "{:.1f}") for one in found)]
    yield ["  longest", *(ABSENT if one.longest is None else f"{one.longest:.1f}" for one in found)]
    yield ["  within 7 days", *(_mean(one.in_a_week, "{:.0%}") for one in found)]
    yield ["bad pull requests, all seeds together", *(f"{one.bad:,}" for one in found)]
    yield ["  caught by themselves", *(_mean(one.caught, "{:.0%}") for one in found)]
    yield ["runs that another open pull request has as well", *(_mean(one.again, "{:.0%}") for one in found)]
    yield ["sound cases demoted, a day", *(_mean(one.demotions, "{:.2f}") for one in found)]
    yield ["sound cases quarantined, a year", *(_mean(one.set_apart, "{:.1f}") for one in found)]


def _mean(mean: Mean, form: str, absent: str = ABSENT) -> str:
    if mean.value is None:
        return absent
    told = form.format(mean.value).replace("%", " %")
    if mean.low is None or mean.high is None:
        return told
    low, high = (form.format(bound).replace("%", " %").removeprefix("$") for bound in (mean.low, mean.high))
    return f"{told} ({low.removesuffix(' %')}–{high})"


def _named(name: str) -> str:
    return f"{NAMES[name][0]} ({NAMES[name][1]})"


def _value(name: str, one: Setting) -> str:
    if one.value is None:
        return UNKNOWN
    if name == "drift":
        return f"1 in {1 / one.value:,.0f}" if one.value else "never"
    if name == "usd":
        return dollars(one.value)
    return f"{100 * one.value:.3g} %" if name in _SHARES else f"{one.value:.3g}"


def _source(one: Setting) -> str:
    source = "not known" if one.value is None else one.source
    return f"{source}: {one.told}" if one.told else source


_HALF = 0.5
LIMITS = (
    "If no run on record ran a case that a schedule would have run, its verdict is unknown, not a pass."
    " Which cases were near a change is not on record, so the lottery gets no near cases."
)


def backtest_lines(found: Sequence[Backtest], usd: Setting, notes: Sequence[str]) -> Iterator[str]:
    """Yield the table, a column for the runs as they were and for each schedule, and `notes`."""

    def row(name: str, of: Callable[[Backtest], str]) -> list[str]:
        return [name, *map(of, found)]

    was = found[0]
    yield from grid(
        ["", *(one.policy for one in found)],
        [
            row("cases run", lambda one: f"{one.chosen:,}"),
            row("  whose verdicts are not known", lambda one: f"{one.unknown:,}"),
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
        yield "No case broke and stayed broken, so how late a schedule finds one is unknown."
    for one in found[1:]:
        if one.unknown > _HALF * one.chosen:
            yield (
                f"The runs know {percent(1 - one.unknown / one.chosen)} of what {one.policy} would have run: too little"
                " to judge it by. Give --verdicts of runs that ran everything."
            )
    yield LIMITS


def backtest_json(found: Sequence[Backtest], usd: Setting, facts: dict[str, Any]) -> dict[str, Any]:
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


WIDTH = 40


def terminal(found: Forecast) -> Iterator[str]:
    """Yield the forecast line by line."""
    total = sum(found.boxes.values()) + found.unseen
    yield f"{plural(total, 'case')} on {found.today}"
    most = max([found.unseen, *found.boxes.values()])
    for box, count in found.boxes.items():
        yield f"  box {box}, every {INTERVALS[box]:>2} d {count:>6,}  {_bar(count, most)}".rstrip()
    yield f"  never seen        {found.unseen:>6,}  {_bar(found.unseen, most)}".rstrip()
    yield ""
    yield f"due by day, over {plural(len(found.due), 'day')}"
    most = max([found.overdue, *found.due.values()])
    yield f"  overdue          {found.overdue:>6,}  {_bar(found.overdue, most)}".rstrip()
    for day, count in found.due.items():
        yield f"  {day} {day:%a}   {count:>6,}  {_bar(count, most)}".rstrip()
    if found.failing:
        yield ""
        yield f"last verdict was a fail ({len(found.failing)}): {listed(found.failing)}"
    if found.unanswered:
        yield ""
        yield without_verdict(found.unanswered)
    if found.orphans:
        yield ""
        yield f"rows without a case in the case files ({len(found.orphans)}): {listed(found.orphans)}"


def _bar(count: int, most: int) -> str:
    return "█" * max(round(WIDTH * count / most), 1) if count else ""
