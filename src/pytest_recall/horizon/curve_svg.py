"""Draw points against days as SVG without a library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from pytest_recall.files.wording import one_line, plural
from pytest_recall.horizon.picture_data import SizeCurve
from pytest_recall.horizon.svg import svg_file, svg_text, svg_title
from pytest_recall.metrics.clustered import Clustered

_WIDTH, _LEFT, _RIGHT = 760, 60, 740
_POINTS, _SHARE, _GRID, _QUIET = "#00336f", "#a8246c", "#e4e4e4", "#5f5f5f"
_DASHES = ("2 3", "2 7", "8 3 2 3", "8 4", "5 3")


class _Panel(NamedTuple):
    """A part of the picture, from `top` down for `high` pixels, with values up to `most`."""

    top: int
    high: int
    most: float
    days: tuple[int, ...]

    def x(self, day: int) -> float:
        first, last = self.days[0], self.days[-1]
        room = _RIGHT - _LEFT - 40
        return _LEFT + 20 + (room / 2 if first == last else room * (day - first) / (last - first))

    def y(self, value: float) -> float:
        return self.top + self.high * (1 - value / self.most)


def sizes_svg(found: SizeCurve) -> str:
    """Return mean points and hallucination against days, with bands; of passages, what was found of them."""
    unit = 100 if found.most == 1 else 1
    above = _Panel(64, 250, 100 if found.most == 1 else 6, found.days)
    shares = [
        100 * (one.value if one.high is None else one.high) for one in found.hallucination if one.value is not None
    ]
    below = _Panel(354, 150, min(100, max(20, 1.05 * max(shares, default=100))), found.days)
    name = found.adapter or "a memory"
    parts = [svg_text(_LEFT, 28, one_line(name, 80), "title")]
    parts += _frame(
        above, "relevant days found, %" if found.most == 1 else f"mean {'lexical ' if found.lexical else ''}points of 6"
    )
    parts += _line(above, found.points, unit, _POINTS, "{} % of the relevant days" if unit == 100 else "{} points")
    for place, (row, values) in enumerate(found.beside.items()):
        looks = f'fill="none" stroke="{_QUIET}" stroke-dasharray="{_DASHES[place % len(_DASHES)]}"'
        known = [(day, 100 * one.value) for day, one in zip(found.days, values, strict=True) if one.value is not None]
        parts.append(_path([(above.x(day), above.y(value)) for day, value in known], looks))
        key = _RIGHT - 90 * (len(found.beside) - place)
        parts += [_path([(key, 44), (key + 24, 44)], looks), svg_text(key + 30, 48, one_line(row, 9), "quiet")]
    parts += _frame(below, "hallucination, %", numbers=bool(shares))
    if shares:
        parts += _line(below, found.hallucination, 100, _SHARE, "{} % with something made up")
    else:
        parts.append(svg_text((_LEFT + _RIGHT) / 2, below.top + below.high / 2, "not measured", "middle quiet"))
    parts += _day_ticks(below)
    told = "days told to the memory (bands: 95 % intervals of each checkpoint's own questions)"
    parts.append(svg_text((_LEFT + _RIGHT) / 2, below.top + below.high + 38, told, "middle"))
    return svg_file(f"Points against days of {name}", (_WIDTH, below.top + below.high + 54), parts)


def _frame(panel: _Panel, name: str, *, numbers: bool = True) -> Iterator[str]:
    step = next(step for step in (1, 5, 10, 20) if panel.most / step <= 6)
    for tick in range(0, int(panel.most) + 1, step) if numbers else ():
        y = panel.y(tick)
        yield f'<path d="M{_LEFT} {y:g}H{_RIGHT}" stroke="{_GRID}"/>'
        yield svg_text(_LEFT - 6, y + 4, str(tick), "end quiet")
    yield f'<path d="M{_LEFT} {panel.top}V{panel.top + panel.high}H{_RIGHT}" fill="none" stroke="{_QUIET}"/>'
    yield svg_text(_LEFT, panel.top - 8, name)


def _line(panel: _Panel, values: Sequence[Clustered], unit: int, color: str, told: str) -> Iterator[str]:
    """Yield the band, the line and a dot for each value; where nothing shows how far it may be off there is no band."""
    known = [(day, one) for day, one in zip(panel.days, values, strict=True) if one.value is not None]
    for banded, group in groupby(known, lambda one: one[1].low is not None and one[1].high is not None):
        if banded:
            some = list(group)
            low = [(panel.x(day), panel.y(unit * (one.low or 0))) for day, one in some]
            high = [(panel.x(day), panel.y(unit * (one.high or 0))) for day, one in some]
            shape = f'fill="{color}" fill-opacity="0.18" stroke="{color}" stroke-opacity="0.18"'
            yield _path([*low, *reversed(high)], shape)
    points = [(panel.x(day), panel.y(unit * (one.value or 0))) for day, one in known]
    yield _path(points, f'fill="none" stroke="{color}" stroke-width="1.6"')
    for day, one in known:
        value, interval = unit * (one.value or 0), ""
        if one.low is not None and one.high is not None:
            interval = f" (95 %: {unit * one.low:.2f} to {unit * one.high:.2f})"
        title = svg_title(f"day {day:,}: {told.format(f'{value:.2f}')}{interval}, {plural(one.n, 'answer')}")
        yield f'<g>{title}<circle cx="{panel.x(day):.1f}" cy="{panel.y(value):.1f}" r="3.2" fill="{color}"/></g>'


def _path(points: Sequence[tuple[float, float]], looks: str) -> str:
    return f'<path d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in points)}" {looks}/>' if points else ""


def _day_ticks(panel: _Panel) -> Iterator[str]:
    last = float("-inf")
    for day in panel.days:
        if (x := panel.x(day)) - last >= 36:
            yield svg_text(x, panel.top + panel.high + 18, str(day), "middle quiet")
            last = x
