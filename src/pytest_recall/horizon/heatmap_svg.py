"""Draw the heatmap of a long-horizon run as SVG, without a library: what its page shows, as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Any

from pytest_recall.files.wording import one_line
from pytest_recall.horizon.page import heatmap_charts
from pytest_recall.horizon.picture_data import MOST_SHARE, Colors, Heatmap, ink_on
from pytest_recall.horizon.svg import PALETTES, Palette, Rgb, svg_file, svg_text, svg_title
from pytest_recall.results.report_page.data import Chart

_LEFT, _HIGH, _LINE, _MARGIN = 210, 24, 16, 16
_NUMBERS = 36
"""Up to so many columns, each square has room for its number."""


def heatmap_svg(found: Heatmap, colors: Colors = "safe") -> str:
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
        parts.append(svg_text(_MARGIN, y, one_line(told, 110 if place else 80), "quiet" if place else "title"))
        y += _LINE
    for chart in heatmap_charts(found, colors):
        y += _LINE
        parts.append(svg_text(_MARGIN, y, chart.title, "title"))
        for told in wrap(chart.told, int(width / 6.4)):
            y += _LINE
            parts.append(svg_text(_MARGIN, y, told, "quiet"))
        y += _LINE // 2
        parts += _squares(chart, y, wide, PALETTES[colors])
        y += _HIGH * len(chart.rows) + 2 * _LINE
    stripes = (
        '<pattern id="stripes" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        f'<rect width="2" height="5" fill="{PALETTES[colors].paper}"/></pattern>'
    )
    return svg_file(f"Heatmap of {head[0]}", (width, y), parts, colors, stripes)


def _squares(chart: Chart, y: int, wide: int, palette: Palette) -> Iterator[str]:
    """Yield the squares of a chart from `y` down, each row with its name, and the checkpoints below."""
    names = chart.head[1:]
    numbers = len(names) <= _NUMBERS
    for row, (name, *_) in enumerate(chart.rows):
        top = y + row * _HIGH
        yield svg_text(_LEFT - 8, top + 16, name, "end")
        for column, point in enumerate(chart.points[row * len(names) : (row + 1) * len(names)]):
            yield _square(point, (_LEFT + column * wide, top, wide), chart.options["most"], numbers, palette)
    every = 1 if numbers else -(-44 // wide)
    for column in range(0, len(names), every):
        at = _LEFT + column * wide + wide // 2
        yield svg_text(at, y + len(chart.rows) * _HIGH + _LINE, one_line(names[column], 12), "middle quiet")


def _square(point: dict[str, Any], place: tuple[int, int, int], most: float, numbers: bool, palette: Palette) -> str:
    x, y, wide = place
    value, state = point["value"], point["state"]
    box = f'x="{x}" y="{y}" width="{wide - 1}" height="{_HIGH - 1}"'
    middle = (x + (wide - 1) / 2, y + 16)
    title = svg_title(f"{point['name']}, {point['column']}: {point['told']}")
    if value is None:
        return f'<g>{title}<rect {box} fill="{palette.empty}"/>{svg_text(*middle, point["sign"], "middle quiet")}</g>'
    red, green, blue = _color(value, most, palette)
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


def _color(value: float, most: float, palette: Palette) -> Rgb:
    """Return the colour of a value of at most so much, which is 1 for hallucination alone."""
    ramp, top = (palette.share, MOST_SHARE) if most == 1 else (palette.points, most)
    place = min(value / top, 1.0) * (len(ramp) - 1)
    low = min(int(place), len(ramp) - 2)
    red, green, blue = (round(a + (b - a) * (place - low)) for a, b in zip(ramp[low], ramp[low + 1], strict=True))
    return red, green, blue
