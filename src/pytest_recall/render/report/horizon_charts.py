"""Horizon charts: how a long-horizon run does, as numbers for the script to draw and for tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_recall.core.horizon.evaluation import MOST
from pytest_recall.core.horizon.pictures import FEW_CELL, Cell, Heatmap, Line, Sizes, State
from pytest_recall.core.horizon.statistics import Report
from pytest_recall.metrics.clustered import Clustered
from pytest_recall.render.horizon_report import value
from pytest_recall.render.report.charts import Chart
from pytest_recall.render.sentences import plural

_EMPTY: Mapping[State, tuple[str, str]] = {
    "unsampled": ("○", "could be asked, and was not"),
    "impossible": ("–", "no question is possible here"),
    "unknown": ("?", "nothing, and no file says why"),
    "failed": ("×", "asked, and no answer got points"),
    "unmeasured": ("n/m", "not measured"),
}
"""What stands in a square without a number, and what it says."""


def charts(report: Report, heatmap: Heatmap, sizes: Sizes) -> list[Chart]:
    """Return the charts of a run that have something to show."""
    return [*_heatmaps(heatmap), *_sizes(sizes), *_categories(report), *_shares(report)]


def _heatmaps(found: Heatmap) -> Iterator[Chart]:
    names = [label for label, _ in found.columns]
    if not names:
        return
    every = [*found.categories, found.overall]
    states = {cell.state for line in every for cell in line.cells}
    signs = [f"{sign} {meaning}" for state, (sign, meaning) in _EMPTY.items() if state in states]
    if "few" in states:
        signs.insert(0, f"a dot: of fewer than {FEW_CELL} answers")
    if "filled" in states:
        signs.insert(0, "striped: not asked here, the value before")
    told = f"Mean points, from blue for 0 to yellow for {MOST}{'; ' if signs else ''}{'; '.join(signs)}."
    if found.left_out:
        told += f" Not asked, since the memory is not told of sessions: {', '.join(found.left_out)}."
    yield _grid("Points by category and checkpoint", told, "category", names, every, MOST)
    made_up = "Of 100 answers, those with something made up: from pale for none to dark for half of them or more."
    if all(cell.value is None for cell in found.hallucination.cells):
        return
    yield _grid("Hallucination by checkpoint", made_up, "", names, [found.hallucination], 1)


def _grid(title: str, told: str, head: str, names: Sequence[str], lines: Sequence[Line], most: int) -> Chart:
    return Chart(
        kind="heatmap",
        title=title,
        told=told,
        head=(head, *names),
        rows=[(line.name, *(_cell(cell, most) for cell in line.cells)) for line in lines],
        points=[
            {
                "name": line.name,
                "column": name,
                "value": cell.value,
                "state": cell.state,
                "told": _cell(cell, most),
                "sign": _EMPTY.get(cell.state, ("",))[0],
            }
            for line in lines
            for name, cell in zip(names, line.cells, strict=True)
        ],
        options={"most": most},
    )


def _cell(cell: Cell, most: int) -> str:
    """Return what a cell holds in words."""
    if cell.value is None:
        return _EMPTY[cell.state][1]
    number = f"{cell.value:.2f}" if most > 1 else f"{100 * cell.value:.1f} %"
    if cell.state == "filled":
        return f"not asked here ({number} before)"
    return f"{number} of {plural(cell.n, 'answer')}"


def _sizes(found: Sizes) -> Iterator[Chart]:
    told = "After so many days, with 95 % intervals by question. Later checkpoints ask other questions: no trend."
    if found.points:
        yield _line("Points against days", told, found.days, found.points, MOST)
    if any(one.value is not None for one in found.hallucination):
        yield _line("Hallucination against days", told, found.days, found.hallucination, 1)


def _line(title: str, told: str, days: Sequence[int], values: Sequence[Clustered], most: int) -> Chart:
    unit, digits = (1, 2) if most > 1 else (100, 1)
    return Chart(
        kind="against",
        title=title,
        told=told,
        head=("days", f"points of {MOST}" if most > 1 else "%", "answers", "questions"),
        rows=[
            (f"{day:,}", value(one, unit, digits), f"{one.n:,}", f"{one.clusters:,}")
            for day, one in zip(days, values, strict=True)
        ],
        points=[{"name": f"day {day}", "day": day, **_interval(one)} for day, one in zip(days, values, strict=True)],
        options={"most": most, "unit": "days told to the memory"},
    )


def _categories(report: Report) -> Iterator[Chart]:
    known = {name: one.points for name, one in report.categories.items() if one.points.value is not None}
    if known:
        yield Chart(
            kind="points",
            title="Points by category",
            told=f"Mean of {MOST}, with the 95 % interval by question. Few questions make it wide.",
            head=("category", f"points of {MOST}", "answers", "questions"),
            rows=[(name, value(one, 1, 2), f"{one.n:,}", f"{one.clusters:,}") for name, one in known.items()],
            points=[{"name": name, **_interval(one)} for name, one in known.items()],
            options={"most": MOST},
        )


def _shares(report: Report) -> Iterator[Chart]:
    every = report.everything
    shares = {"all points": every.perfect, "failing": every.failing, "hallucination": every.hallucination}
    told = "With 95 % intervals by question."
    if report.disclosures is not None:
        told += " Leaks are of the questions to refuse, refusals of those to answer."
        shares |= {"leaked": report.disclosures.leak, "over-refused": report.disclosures.over_refusal}
    known = {name: one for name, one in shares.items() if one.value is not None}
    if known:
        yield Chart(
            kind="rates",
            title="Shares of answers",
            told=told,
            head=("share", "%", "answers", "questions"),
            rows=[(name, value(one, 100, 1), f"{one.n:,}", f"{one.clusters:,}") for name, one in known.items()],
            points=[{"name": name, **_interval(one)} for name, one in known.items()],
        )


def _interval(one: Clustered) -> dict[str, Any]:
    return {"value": one.value, "low": one.low, "high": one.high}
