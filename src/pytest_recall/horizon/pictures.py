"""Draw the pictures of a long-horizon run and of a simulation with matplotlib."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import one_line
from pytest_recall.horizon.picture_data import (
    DRAWN_BY,
    FEW_CELL,
    MOST_SHARE,
    Cell,
    CellState,
    Colors,
    Heatmap,
    SizeCurve,
    ink_on,
)
from pytest_recall.horizon.retrieval_text import INDISTINCT
from pytest_recall.metrics.clustered import Clustered
from pytest_recall.metrics.floors import UNTELLING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure


Format = Literal["png", "svg"]
_DPI = 100
_QUIET = "#5f5f5f"
_NUMBERS = 36
"""Up to so many columns, each square has room for its number."""

_KEYS: tuple[tuple[str, Cell], ...] = (
    (f"of fewer than {FEW_CELL} answers", Cell("few", 4.5, 1)),
    ("not asked here: the value before", Cell("filled", 4.5, 0)),
    ("could be asked, and was not", Cell("unsampled", None, 0)),
    ("no question is possible here", Cell("impossible", None, 0)),
    ("asked, and no answer got points", Cell("failed", None, 0)),
    ("nothing, and no file says why", Cell("unknown", None, 0)),
    ("not measured", Cell("unmeasured", None, 0)),
)


class _Theme(NamedTuple):
    paper: str
    ink: str
    quiet: str
    empty: str
    unsampled: str
    points: Any
    share: Any


def draw_heatmap(found: Heatmap, colors: Colors = "safe", format: Format = "png") -> bytes:
    """Return the heatmap as a picture. Raises RecallError without matplotlib."""
    return drawn(lambda: _heatmap(found, _theme(colors)), format)


def draw_sizes(found: SizeCurve, format: Format = "png") -> bytes:
    """Return mean points and hallucination against days, with bands. Raises RecallError without matplotlib."""
    return drawn(lambda: _sizes(found), format)


def check_drawing() -> None:
    """Raise RecallError without matplotlib."""
    try:
        for name in ("matplotlib", "matplotlib.backends.backend_agg"):
            import_module(name)
    except ImportError:
        raise RecallError("pictures need matplotlib; run `pip install 'pytest-recall[pictures]'`") from None


def drawn(draw: Callable[[], Figure], format: Format) -> bytes:
    """Return the picture that `draw` gives as bytes. Raises RecallError without matplotlib."""
    check_drawing()
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    # Neither a matplotlibrc nor the fonts of this machine decide: the font comes with matplotlib.
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # A name in a script that the font lacks is drawn as boxes.
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(
            {
                "font.family": "DejaVu Sans",
                "font.size": 9,
                "svg.hashsalt": "recall",
                "hatch.linewidth": 0.6,
                "text.parse_math": False,
            }
        )
        figure = draw()
        FigureCanvasAgg(figure)
        out = io.BytesIO()
        about: dict[str, Any] = {"Software": DRAWN_BY} if format == "png" else {"Date": None, "Creator": DRAWN_BY}
        figure.savefig(out, format=format, dpi=_DPI, facecolor=figure.get_facecolor(), metadata=about)
    return out.getvalue()


def _theme(colors: Colors) -> _Theme:
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    if colors == "published":
        ramp = [(220, 60, 60), (245, 180, 50), (56, 195, 100)]
        points = LinearSegmentedColormap.from_list("points", [tuple(c / 255 for c in one) for one in ramp])
        return _Theme("#13131f", "#e8e8f0", "#9a9ab0", "#0f0f14", "#3c3c44", points, points.reversed())
    return _Theme("#ffffff", "#1a1a1a", "#5f5f5f", "#f1f1f1", "#cfcfcf", colormaps["cividis"], colormaps["PuRd"])


def _heatmap(found: Heatmap, theme: _Theme) -> Figure:
    from matplotlib.figure import Figure

    count = len(found.columns)
    wide = min(max(11.0 / max(count, 1), 0.11), 0.5)
    high, gap = 0.34, 0.22
    left, right = 2.15, 0.35
    shares = [*([] if found.most == 1 else [found.hallucination]), *found.boundaries]
    lines = [*found.categories, found.overall, *(found.beside if found.most == 1 else ()), *shares]
    facts = [f"{name}: {one_line(value, 110)}" for name, value in found.facts]
    if found.left_out:
        facts.append(f"not asked, since {found.why}: {', '.join(found.left_out)}")
    head, foot = 0.62 + 0.19 * len(facts), 1.85
    width = max(left + count * wide + right, 9.2)
    height = head + len(lines) * high + gap + foot
    figure = Figure(figsize=(width, height), facecolor=theme.paper)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    axes.text(
        0.25, 0.3, one_line(found.adapter or "a memory", 90), color=theme.ink, size=13, weight="bold", va="center"
    )
    for place, fact in enumerate(facts):
        axes.text(0.25, 0.6 + 0.19 * place, fact, color=theme.quiet, size=8.5, va="center")
    top = head
    for place, line in enumerate(lines):
        if line is found.overall:
            top += gap
            middle = top + place * high - gap / 2
            axes.plot([0.25, left + count * wide], [middle] * 2, color=theme.quiet, lw=0.6)
        y = top + place * high
        last = line not in found.categories
        is_share = line in shares
        name = f"{line.name} %" if is_share else line.name
        axes.text(
            left - 0.1,
            y + high / 2,
            name,
            color=theme.ink,
            ha="right",
            va="center",
            weight="bold" if last else "normal",
        )
        most = MOST_SHARE if is_share else found.most
        for column, cell in enumerate(line.cells):
            _square(axes, left + column * wide, y, wide, high, cell, theme, most, count <= _NUMBERS)
    _days(axes, found, left, top + len(lines) * high, wide, theme)
    states = {cell.state for line in lines for cell in line.cells}
    _legend(figure, axes, width, height, theme, states, found)
    return figure


def _square(
    axes: Axes, x: float, y: float, wide: float, high: float, cell: Cell, theme: _Theme, most: float, numbers: bool
) -> None:
    from matplotlib.patches import Rectangle

    def box(color: Any, **more: Any) -> None:
        axes.add_patch(Rectangle((x + 0.01, y + 0.015), wide - 0.02, high - 0.03, facecolor=color, lw=0, **more))

    middle = (x + wide / 2, y + high / 2)
    if cell.value is None:
        hatched = {"hatch": "xxxx", "edgecolor": theme.unsampled} if cell.state == "unmeasured" else {}
        box({"unsampled": theme.unsampled}.get(cell.state, theme.empty), **hatched)
        if cell.state in ("failed", "unknown"):
            axes.text(
                *middle, "×" if cell.state == "failed" else "?", color=theme.quiet, ha="center", va="center_baseline"
            )
        return
    color = _color(cell.value, theme, most)
    if cell.state == "filled":
        box(theme.unsampled)
        box((*color[:3], 0.4), hatch="/////", edgecolor=theme.paper)
        return
    box(color)
    ink = ink_on(color[:3])
    if numbers:
        told = f"{100 * cell.value:.0f}" if most <= 1 else f"{cell.value:.1f}"
        axes.text(*middle, told, color=ink, size=7.5 if wide > 0.33 else 6.5, ha="center", va="center_baseline")
    if cell.state == "few":
        at = (x + wide - 0.055, y + 0.06) if numbers else middle
        axes.plot(*at, marker="o", ms=2.6, color=ink, mew=0)


def _days(axes: Axes, found: Heatmap, left: float, y: float, wide: float, theme: _Theme) -> None:
    step = max(1, -(-45 // max(int(wide * 100), 1)))
    for column in range(0, len(found.columns), step):
        label, days = found.columns[column]
        x = left + (column + 0.5) * wide
        axes.plot([x, x], [y + 0.03, y + 0.08], color=theme.quiet, lw=0.6)
        plain = label.removesuffix("d") == str(days)
        axes.text(
            x, y + 0.12, str(days) if plain else one_line(label, 12), color=theme.quiet, size=7.5, ha="center", va="top"
        )
    middle = left + len(found.columns) * wide / 2
    axes.text(middle, y + 0.42, "days told to the memory", color=theme.quiet, size=8.5, ha="center", va="center")


def _legend(
    figure: Figure, axes: Axes, width: float, height: float, theme: _Theme, states: set[CellState], found: Heatmap
) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    right = "for the reference's words" if found.lexical else "6 is right, whole, nothing made up"
    told = (
        "answers that leak or withhold, %" if found.most == 1 or found.lexical else "answers with something made up, %"
    )
    scales: tuple[tuple[float, Any, float, list[int], str, str | None], ...] = (
        (0.25, theme.points, 6.0, [0, 1, 2, 3, 4, 5, 6], f"{found.points}: {right}", None),
        (3.65, theme.share, 50.0, [0, 10, 20, 30, 40, 50], told, "50+"),
    )
    if found.most == 1:
        scales = ((0.25, theme.points, 100.0, [0, 20, 40, 60, 80, 100], "relevant days found, %", None), *scales[1:])
    if (found.most == 1 or found.lexical) and not found.boundaries:
        scales = scales[:1]
    names = [line.name for line in found.categories]
    marks = [f"* {UNTELLING}: a floor finds about as much"] if any(" *" in name for name in names) else []
    marks += [f"† {INDISTINCT}"] if any("†" in name for name in names) else []
    for place, mark in enumerate(marks):
        axes.text(0.25, height - 1.22 + 0.18 * place, mark, color=theme.ink, size=7.5, va="center")
    for x, colors, top, ticks, title, end in scales:
        bar = figure.add_axes((x / width, 0.52 / height, 3.0 / width, 0.13 / height))
        scale = figure.colorbar(
            ScalarMappable(Normalize(0, top), colors), cax=bar, orientation="horizontal", ticks=ticks
        )
        if end:
            scale.set_ticks(ticks, labels=[*map(str, ticks[:-1]), end])
        scale.outline.set_visible(False)
        scale.ax.tick_params(colors=theme.quiet, labelsize=7.5, length=2)
        axes.text(x, height - 0.82, title, color=theme.ink, size=8.5, va="center")
    shown = [key for key in _KEYS if key[1].state in states]
    for place, (told, cell) in enumerate(shown):
        y = height - 0.98 - 0.21 * max(len(shown) - 4, 0) + 0.21 * place
        _square(axes, 7.0, y, 0.3, 0.19, cell, theme, 6, False)
        axes.text(7.38, y + 0.095, told, color=theme.ink, size=7.5, va="center")


def _color(value: float, theme: _Theme, most: float) -> tuple[float, float, float, float]:
    colors: Colormap = theme.share if most == MOST_SHARE else theme.points
    red, green, blue, alpha = colors(min(value / most, 1.0))
    return float(red), float(green), float(blue), float(alpha)


def _sizes(found: SizeCurve) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.2, 5.6), facecolor="white")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    figure.suptitle(one_line(found.adapter or "a memory", 80), x=0.09, y=0.965, ha="left", size=13, weight="bold")
    unit = 100 if found.most == 1 else 1
    _band(above, found.days, found.points, unit, "#00336f")
    for (name, values), dash in zip(found.beside.items(), _DASHES, strict=False):
        # A line has a gap where a floor is not known.
        known = [float("nan") if one.value is None else unit * one.value for one in values]
        above.plot(found.days, known, color=_QUIET, lw=1.1, ls=dash, label=name)
    if found.beside:
        above.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=5, frameon=False, fontsize=8)
    lexical = "lexical " if found.lexical else ""
    above.set_ylim(0, 102.5 if found.most == 1 else 6.15)
    above.set_ylabel("relevant days found, %" if found.most == 1 else f"mean {lexical}points of 6")
    if any(one.value is not None for one in found.hallucination):
        _band(below, found.days, found.hallucination, 100, "#a8246c")
    else:
        below.text(0.5, 0.5, "not measured", color="#5f5f5f", ha="center", va="center", transform=below.transAxes)
        below.set_yticks([])
    top = max((100 * one.high for one in found.hallucination if one.high is not None), default=100)
    below.set_ylim(0, min(100, max(20, top * 1.05)))
    below.set_ylabel("hallucination, %")
    below.set_xlabel("days told to the memory (bands: 95 % intervals of each checkpoint's own questions)")
    for axes in (above, below):
        axes.grid(axis="y", color="#e4e4e4", lw=0.8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_axisbelow(True)
    figure.subplots_adjust(left=0.09, right=0.97, top=0.9, bottom=0.11, hspace=0.14)
    return figure


def _band(axes: Axes, days: Sequence[int], values: Sequence[Clustered], unit: float, color: str) -> None:
    means = [unit * one.value for one in values if one.value is not None]
    # Where nothing shows how far off a mean may be there is no band, which is not one without width.
    low = [float("nan") if one.low is None else unit * one.low for one in values]
    high = [float("nan") if one.high is None else unit * one.high for one in values]
    axes.fill_between(days, low, high, color=color, alpha=0.18, lw=0)
    axes.plot(days, means, color=color, lw=1.6, marker="o", ms=3.2)


_DASHES = (":", (0, (1, 3)), "-.", (0, (6, 3)), "--")
