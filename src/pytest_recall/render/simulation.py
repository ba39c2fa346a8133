"""A simulation as terminal lines and JSON: schedules side by side, and what the figures rest on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_recall.core.habits import Setting
from pytest_recall.core.simulated import Figures, Summary
from pytest_recall.metrics.mean import Mean
from pytest_recall.render.cost import ABSENT, UNKNOWN, dollars
from pytest_recall.render.grid import grid
from pytest_recall.render.sentences import plural

NAMES: Mapping[str, tuple[str, str]] = {
    "pulls": ("pull requests a day", "--pulls"),
    "open_days": ("days that one is open, median", "--open-days"),
    "abandoned": ("share that is never merged", "--abandoned"),
    "bad": ("share that breaks something", "--bad"),
    "breaks": ("cases that such a one breaks", "--breaks"),
    "recall": ("how often tags tell what it touches", "--recall"),
    "drift": ("a case breaks by itself, a day", "--drift"),
    "flaky": ("verdicts on sound cases that are wrong", "--flaky"),
    "usd": ("US dollars a trial", "--usd"),
}
"""What a simulation goes by: how it is called, and the option for it."""
_SHARES = {"abandoned", "bad", "recall", "flaky"}
MODEL = (
    "The world is a model: take the direction and the order of magnitude."
    " In brackets: 95 % intervals by the spread between seeds."
)


def lines(found: Sequence[Summary], settings: Mapping[str, Setting], notes: Sequence[str]) -> Iterator[str]:
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


def table(found: Sequence[Summary]) -> Iterator[str]:
    """Yield the table of figures alone, a column for each policy."""
    yield from grid(["", *(one.policy for one in found)], [[name, *cells] for name, *cells in _rows(found)])


def as_json(
    found: Mapping[str, Sequence[Figures]],
    sums: Sequence[Summary],
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


def _rows(found: Sequence[Summary]) -> Iterator[list[str]]:
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
    yield ["sound cases set apart, a year", *(_mean(one.set_apart, "{:.1f}") for one in found)]


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
