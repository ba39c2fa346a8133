"""The picture of a simulation: how soon each schedule finds what breaks, and what that takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_recall.core.simulated import WEEK, Summary
from pytest_recall.metrics.mean import Mean
from pytest_recall.render.pictures import drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_QUIET = "#5f5f5f"
# Two of Okabe and Ito's colours, which differ in lightness as well; lines and bars differ in dash and hatch, too.
_LOOKS = (("#d55e00", (0, (5, 2)), "///"), ("#0072b2", "-", ""))


def draw_schedules(found: Sequence[Summary], title: str, note: str) -> bytes:
    """Return the figures of policies as a PNG, with a title and a note below. Raises RecallError without matplotlib."""
    return drawn(lambda: _figure(found, title, note), "png")


def _figure(found: Sequence[Summary], title: str, note: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.4, 5.4), facecolor="white")
    figure.text(0.065, 0.955, title, size=12.5, weight="bold", va="center")
    figure.text(0.065, 0.025, note, size=8, color=_QUIET, va="center")
    grid = figure.add_gridspec(
        2, 2, width_ratios=(5, 4), left=0.065, right=0.975, top=0.82, bottom=0.15, wspace=0.3, hspace=0.75
    )
    _curve(figure.add_subplot(grid[:, 0]), found)
    _bars(
        figure.add_subplot(grid[0, 1]),
        found,
        "pull requests that break something\nand fail by their own slice, %",
        [_scaled(one.caught, 100) for one in found],
        "{:.0f} %",
        100,
    )
    known = all(one.usd.value is not None for one in found)
    _bars(
        figure.add_subplot(grid[1, 1]),
        found,
        "US dollars a day" if known else "trials a day",
        [one.usd if known else one.a_day for one in found],
        "${:.2f}" if known else "{:.0f}",
        None,
    )
    return figure


def _curve(axes: Axes, found: Sequence[Summary]) -> None:
    end = max([WEEK * 2, *(one.longest or 0 for one in found)])
    for one, (color, dash, _) in zip(found, _LOOKS, strict=True):
        if one.found_by:
            days, shares = zip(*one.found_by, strict=True)
            told = [100 * share for share in (0, *shares, shares[-1])]
            axes.step([0, *days, end], told, where="post", color=color, ls=dash, lw=2.2, label=one.policy)
    axes.axvline(WEEK, color=_QUIET, lw=0.8, ls=":")
    axes.text(WEEK, 103, "a week", color=_QUIET, size=8, ha="center", va="bottom")
    axes.set_xlim(0, end * 1.02)
    axes.set_ylim(0, 102)
    axes.set_xlabel("days since the case broke")
    axes.set_ylabel("found, %")
    axes.set_title(
        "cases that break by themselves: how many are found within how many days", loc="left", size=9.5, pad=18
    )
    if axes.get_legend_handles_labels()[1]:
        axes.legend(loc="lower right", frameon=False, fontsize=9.5, handlelength=3)
    else:
        axes.text(0.5, 0.5, "no case broke", color=_QUIET, ha="center", transform=axes.transAxes)
    axes.grid(color="#e4e4e4", lw=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _bars(
    axes: Axes, found: Sequence[Summary], title: str, means: Sequence[Mean], form: str, most: float | None
) -> None:
    ends = [mean.high if mean.high is not None else mean.value or 0 for mean in means]
    top = most or max([*ends, 1e-9])
    for place, (mean, end, (color, _, hatch)) in enumerate(zip(means, ends, _LOOKS, strict=True)):
        told = "not known" if mean.value is None else form.format(mean.value)
        if mean.value is not None:
            axes.barh(place, mean.value, 0.55, color=color, hatch=hatch, edgecolor="white", lw=0)
            if mean.low is not None and mean.high is not None:
                span = [[mean.value - mean.low], [mean.high - mean.value]]
                axes.errorbar(mean.value, place, xerr=span, color="#1a1a1a", capsize=3, lw=1.1)
        axes.text(end + 0.02 * top, place, told, va="center", size=9)
    axes.set_yticks(range(len(found)), [one.policy for one in found])
    axes.set_ylim(len(found) - 0.4, -0.6)
    axes.set_xlim(0, top * 1.22)
    if most == 100:
        axes.set_xticks([0, 25, 50, 75, 100])
    axes.set_title(title, loc="left", size=9.5)
    axes.spines[["top", "right"]].set_visible(False)


def _scaled(mean: Mean, unit: float) -> Mean:
    value, low, high = (None if one is None else unit * one for one in (mean.value, mean.low, mean.high))
    return mean._replace(value=value, low=low, high=high)
