"""Write pictures as SVG without a library: their frame, texts and palettes."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import NamedTuple

from pytest_recall.horizon.picture_data import Colors
from pytest_recall.results.report_page.frame import shown

Rgb = tuple[int, int, int]


class Palette(NamedTuple):
    """The colours of a picture: its ground, its texts, squares without a value, and two ramps, low to high."""

    paper: str
    ink: str
    quiet: str
    empty: str
    points: tuple[Rgb, ...]
    share: tuple[Rgb, ...]


# Samples of cividis (Nunez, Anderton and Renslow 2018, PLOS ONE 13:e0199239) and of ColorBrewer's PuRd, low to high.
_CIVIDIS = ((0, 34, 78), (67, 78, 108), (125, 124, 120), (188, 175, 111), (254, 232, 56))
_PURD = ((247, 244, 249), (212, 185, 218), (223, 101, 176), (206, 18, 86), (103, 0, 31))
_TRAFFIC = ((220, 60, 60), (245, 180, 50), (56, 195, 100))
PALETTES: dict[Colors, Palette] = {
    "safe": Palette("#fff", "#1a1a1a", "#5f5f5f", "#f1f1f1", _CIVIDIS, _PURD),
    "published": Palette("#13131f", "#e8e8f0", "#9a9ab0", "#0f0f14", _TRAFFIC, _TRAFFIC[::-1]),
}


def svg_file(name: str, size: tuple[int, int], parts: Iterable[str], colors: Colors = "safe", defs: str = "") -> str:
    """Return a picture called `name` of the given width and height, in pixels."""
    palette, (width, height) = PALETTES[colors], size
    style = (
        f"text{{font:11px system-ui,'DejaVu Sans',sans-serif;fill:{palette.ink}}}"
        ".title{font-size:13px;font-weight:700}"
        f".quiet{{fill:{palette.quiet}}}.end{{text-anchor:end}}.middle{{text-anchor:middle}}"
    )
    box = f'width="{width}" height="{height}"'
    label = escape(shown(name))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {box} viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="{label}">',
            "<metadata>pytest-recall</metadata>",
            f'<style>{style}</style>{defs}<rect {box} fill="{palette.paper}"/>',
            *parts,
            "</svg>\n",
        ]
    )


def svg_text(x: float, y: float, told: str, kind: str = "") -> str:
    """Return a text at a place; `kind` are its classes."""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(shown(told))}</text>'


def svg_title(told: str) -> str:
    """Return what a part of a picture says when it is pointed at."""
    return f"<title>{escape(shown(told))}</title>"
