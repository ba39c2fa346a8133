"""Draw the heatmap of a long-horizon run as SVG, without a library: what its page shows, as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from textwrap import wrap
from typing import Any

from pytest_recall.files.errors import one_line
from pytest_recall.horizon.page import heatmap_charts
from pytest_recall.horizon.picture_data import MOST_SHARE, Heatmap, ink_on
from pytest_recall.results.report_page.data import Chart
from pytest_recall.results.report_page.frame import shown

# Samples of cividis (Nunez, Anderton and Renslow 2018, PLOS ONE 13:e0199239) and of ColorBrewer's PuRd, low to high.
_POINTS = ((0, 34, 78), (67, 78, 108), (125, 124, 120), (188, 175, 111), (254, 232, 56))
_SHARE = ((247, 244, 249), (212, 185, 218), (223, 101, 176), (206, 18, 86), (103, 0, 31))
_LEFT, _HIGH, _LINE, _MARGIN = 210, 24, 16, 16
_NUMBERS = 36
"""Up to so many columns, each square has room for its number."""
_STYLE = (
    "text{font:11px system-ui,'DejaVu Sans',sans-serif;fill:#1a1a1a}.title{font-size:13px;font-weight:700}"
    ".quiet{fill:#5f5f5f}.end{text-anchor:end}.middle{text-anchor:middle}"
)
_STRIPES = (
    '<pattern id="stripes" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="2" height="5" fill="#fff"/></pattern>'
)


def heatmap_svg(found: Heatmap) -> str:
    """Return the picture: memory, persona, story and models, and below them categories by checkpoint.

    A square without a value has a sign in place of a number, which the legend explains, and is not coloured. Each one
    says in its title what it holds.
    """
    wide = 44 if len(found.columns) <= _NUMBERS else 12
    width = max(_LEFT + wide * len(found.columns) + _MARGIN, 720)
    parts: list[str] = []
    y = 2 * _MARGIN
    head = [found.adapter or "a memory", *(f"{name}: {value}" for name, value in found.facts)]
    for place, told in enumerate(head):
        parts.append(_text(_MARGIN, y, one_line(told, 110 if place else 80), "quiet" if place else "title"))
        y += _LINE
    for chart in heatmap_charts(found):
        y += _LINE
        parts.append(_text(_MARGIN, y, chart.title, "title"))
        for told in wrap(chart.told, int(width / 6.4)):
            y += _LINE
            parts.append(_text(_MARGIN, y, told, "quiet"))
        y += _LINE // 2
        parts += _squares(chart, y, wide)
        y += _HIGH * len(chart.rows) + 2 * _LINE
    size = f'width="{width}" height="{y}" viewBox="0 0 {width} {y}"'
    name = escape(shown(f"Heatmap of {head[0]}"))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{name}">',
            f'<style>{_STYLE}</style>{_STRIPES}<rect width="{width}" height="{y}" fill="#fff"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _squares(chart: Chart, y: int, wide: int) -> Iterator[str]:
    """Yield the squares of a chart from `y` down, each row with its name, and the checkpoints below."""
    names = chart.head[1:]
    numbers = len(names) <= _NUMBERS
    for row, (name, *_) in enumerate(chart.rows):
        top = y + row * _HIGH
        yield _text(_LEFT - 8, top + 16, name, "end")
        for column, point in enumerate(chart.points[row * len(names) : (row + 1) * len(names)]):
            yield _square(point, _LEFT + column * wide, top, wide, chart.options["most"], numbers)
    every = 1 if numbers else -(-44 // wide)
    for column in range(0, len(names), every):
        at = _LEFT + column * wide + wide // 2
        yield _text(at, y + len(chart.rows) * _HIGH + _LINE, one_line(names[column], 12), "middle quiet")


def _square(point: dict[str, Any], x: int, y: int, wide: int, most: float, numbers: bool) -> str:
    value, state = point["value"], point["state"]
    box = f'x="{x}" y="{y}" width="{wide - 1}" height="{_HIGH - 1}"'
    middle = (x + (wide - 1) / 2, y + 16)
    title = "<title>" + escape(shown(f"{point['name']}, {point['column']}: {point['told']}")) + "</title>"
    if value is None:
        return f'<g>{title}<rect {box} fill="#f1f1f1"/>{_text(*middle, point["sign"], "middle quiet")}</g>'
    red, green, blue = _color(value, most)
    filled = f'<rect {box} fill="rgb({red},{green},{blue})"/>'
    if state == "filled":
        filled = f'<g opacity="0.45">{filled}</g><rect {box} fill="url(#stripes)"/>'
    ink = ink_on((red / 255, green / 255, blue / 255))
    inside = ""
    if numbers and state != "filled":
        told = f"{100 * value:.0f}" if most == 1 else f"{value:.0f}" if most == 100 else f"{value:.1f}"
        inside = f'<text x="{middle[0]:g}" y="{middle[1]}" class="middle" style="fill:{ink}">{told}</text>'
    if state == "few":
        inside += f'<circle cx="{x + wide - 6}" cy="{y + 5}" r="2" fill="{ink}"/>'
    return f"<g>{title}{filled}{inside}</g>"


def _color(value: float, most: float) -> tuple[int, int, int]:
    """Return the colour of a value of at most so much, which is 1 for hallucination alone."""
    ramp, top = (_SHARE, MOST_SHARE) if most == 1 else (_POINTS, most)
    place = min(value / top, 1.0) * (len(ramp) - 1)
    low = min(int(place), len(ramp) - 2)
    red, green, blue = (round(a + (b - a) * (place - low)) for a, b in zip(ramp[low], ramp[low + 1], strict=True))
    return red, green, blue


def _text(x: float, y: float, told: str, kind: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(shown(told))}</text>'
