"""Compute what a picture of a run shows, cell by cell; `heatmap_svg.py` and `curve_svg.py` draw it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from pytest_recall.horizon.aggregates import aggregates
from pytest_recall.horizon.disclosure import BOUNDARY, crossings, without_crossings
from pytest_recall.horizon.evaluation import MOST
from pytest_recall.horizon.published import PublishedRun, Stop
from pytest_recall.horizon.question import CATEGORIES, GROUP_CATEGORIES
from pytest_recall.horizon.result import facts
from pytest_recall.horizon.retrieval import ROWS, SYSTEM, RetrievalReport, WithFloors
from pytest_recall.horizon.retrieval_text import found_facts
from pytest_recall.horizon.statistics import PointMeans, retrieval_of, scores, worded
from pytest_recall.metrics.clustered import Clustered

CellState = Literal["measured", "few", "filled", "unsampled", "impossible", "unknown", "failed", "unmeasured"]
"""What a cell holds: a mean, one of fewer than `FEW_CELL` answers, the last mean before since nothing was asked here,
nothing though questions were possible, nothing since none was, nothing and no file says why, outcomes without a verdict
alone, or answers of which no one has measured it."""
Colors = Literal["safe", "published"]
"""A palette: one that colour-blind people can tell apart as well, or that of Recall Bench."""
FEW_CELL = 5
"""Of fewer answers a cell is marked."""
MOST_SHARE = 0.5
"""Hallucination from here on has one colour: rates above are rare, and those below should be told apart."""


class Cell(NamedTuple):
    """One square."""

    state: CellState
    value: float | None
    """Points, from 0 to 6, or a share, from 0 to 1."""
    n: int
    """How many answers at this very checkpoint it is of."""


class SquareRow(NamedTuple):
    """A row of squares."""

    name: str
    cells: tuple[Cell, ...]


class Heatmap(NamedTuple):
    """Categories by checkpoint, and below them all answers, and hallucination as a share."""

    adapter: str
    columns: tuple[tuple[str, int], ...]
    categories: tuple[SquareRow, ...]
    overall: SquareRow
    hallucination: SquareRow
    left_out: tuple[str, ...]
    """The categories that the run did not ask, for the reason `why`."""
    facts: tuple[tuple[str, str], ...]
    most: int = MOST
    """The points that a square can have. Where it is 1, a square has the share of the relevant days that the memory
    found. A category in which a floor finds about as much is then marked with a star, and one in which the questions
    cannot tell the evidence itself from a floor with a dagger."""
    beside: tuple[SquareRow, ...] = ()
    """Where `most` is 1, the same shares of floors and ceiling."""
    boundaries: tuple[SquareRow, ...] = ()
    """Leaks and over-refusals as shares, which stand for the points of the category that is about them."""
    why: str = ""
    lexical: bool = False
    """Whether no model gave the points."""

    @property
    def points(self) -> str:
        """What the points are called."""
        return "lexical points" if self.lexical else "points"


class SizeCurve(NamedTuple):
    """How a run does as the days add up."""

    adapter: str
    days: tuple[int, ...]
    """The days that each checkpoint has."""
    points: tuple[Clustered, ...]
    """The mean after each checkpoint. Where `most` is 1, these are the shares of the relevant days that the memory
    found."""
    hallucination: tuple[Clustered, ...]
    beside: Mapping[str, tuple[Clustered, ...]] = MappingProxyType({})
    """Where `most` is 1, the same shares of floors and ceiling, by name."""
    most: int = MOST
    lexical: bool = False


def heatmap(run: PublishedRun) -> Heatmap:
    """Return the heatmap of a run, from its answers, or where its files hold none, from what they came to."""
    columns: dict[str, list[Stop]] = {}
    for stop in sorted(run.stops, key=lambda stop: stop.days):
        columns.setdefault(stop.label, []).append(stop)
    rows = {label: [_row(stop) for stop in stops] for label, stops in columns.items()}
    failed = {
        label: {one.question.category for stop in stops for one in stop.evaluations if one.points is None}
        for label, stops in columns.items()
    }
    cells: dict[str, list[Cell]] = {
        name: [_category(rows[label], name, name in failed[label]) for label in columns] for name in CATEGORIES
    }
    apart = _boundaries(columns, cells[BOUNDARY])
    lines = [SquareRow(name, _filled(found)) for name, found in cells.items()]
    why = _unasked(run)
    asked = [line for line in lines if not (why and line.name in GROUP_CATEGORIES) or any(one.n for one in line.cells)]
    shown = [line for line in asked if not (apart and line.name == BOUNDARY)]
    left_out = [line.name for line in lines if line not in asked and not (apart and line.name == BOUNDARY)]
    usual = Heatmap(
        adapter=run.adapter,
        columns=tuple((label, max(stop.days for stop in stops)) for label, stops in columns.items()),
        categories=tuple(shown),
        overall=SquareRow("overall", tuple(_mean(rows[label], "overallScore", 1) for label in columns)),
        hallucination=SquareRow(
            "hallucination", tuple(_mean(rows[label], "hallucinationRate", 100) for label in columns)
        ),
        left_out=tuple(left_out),
        facts=tuple(facts(run)),
        boundaries=apart,
        why=why,
        lexical=not run.measured,
    )
    known = found_instead(run)
    return usual if known is None else _of_found(usual, known)


def _unasked(run: PublishedRun) -> str:
    """Return why questions about sessions are not asked; empty if they are."""
    if run.about.get("groupsEnabled") is False:
        return "questions about sessions are off (groupsEnabled)"
    return "conversations name no session" if run.about.get("feed") == "conversations" else ""


def _boundaries(columns: Mapping[str, Sequence[Stop]], usual: Sequence[Cell]) -> tuple[SquareRow, ...]:
    """Return the rows of leaks and over-refusals; none where no answer is about either."""
    found = {
        label: [one for stop in stops for one in crossings(stop.evaluations, measured=stop.measured)]
        for label, stops in columns.items()
    }
    if not any(found.values()):
        return ()

    def cell(crossed: Sequence[bool | None], otherwise: Cell, asked: bool) -> Cell:
        known = [one for one in crossed if one is not None]
        if known:
            return Cell("few" if len(known) < FEW_CELL else "measured", sum(known) / len(known), len(known))
        if crossed:
            return Cell("failed", None, 0)
        if otherwise.state in ("impossible", "unknown"):
            return otherwise
        # Of a kind that was asked nowhere, no file says whether the persona has questions.
        return Cell("unsampled" if asked else "unknown", None, 0)

    leaks = [[one.leaked for one in those if one.expected == "refuse"] for those in found.values()]
    refusals = [[one.over_refused for one in those if one.expected == "answer"] for those in found.values()]
    return tuple(
        SquareRow(name, tuple(cell(crossed, other, any(every)) for crossed, other in zip(every, usual, strict=True)))
        for name, every in (("leaks", leaks), ("over-refusals", refusals))
    )


def found_instead(run: PublishedRun) -> RetrievalReport | None:
    """Return what the memory found where that takes the place of points: of passages that no model judges."""
    if run.measured or any(one.points is not None for stop in run.stops for one in worded(stop)):
        return None
    return retrieval_of(run)


def _of_found(usual: Heatmap, known: RetrievalReport) -> Heatmap:
    """Return the heatmap with what was found in place of the points, and below it what does not search."""
    labels = [label for label, _ in usual.columns]
    stops = {label: one for label, _, one in known.stops}

    def row(name: str) -> SquareRow:
        cells = zip(labels, usual.overall.cells, strict=True)
        return SquareRow(name, tuple(_found(stops.get(label), name, cell) for label, cell in cells))

    def category(line: SquareRow) -> SquareRow:
        untelling = line.name in known.categories and known.categories[line.name].discriminates is False
        cells = [
            _found(known.cells.get((label, line.name)), SYSTEM, cell)
            for label, cell in zip(labels, line.cells, strict=True)
        ]
        marks = (" *" if untelling else "") + (" †" if line.name in known.untelling else "")
        return SquareRow(f"{line.name}{marks}", _filled(cells))

    return usual._replace(
        categories=tuple(map(category, usual.categories)),
        overall=row(SYSTEM)._replace(name=usual.overall.name),
        beside=tuple(row(name) for name in ROWS[1:] if any(name in one.rows for one in stops.values())),
        facts=(*usual.facts, *found_facts(known)),
        most=1,
    )


def _found(one: WithFloors | None, name: str, usual: Cell) -> Cell:
    """Return the square of what was found, where the `usual` one has points."""
    if one is not None and name in one.rows and (recall := one.rows[name].recall).value is not None:
        return Cell("few" if recall.n < FEW_CELL else "measured", recall.value, recall.n)
    if usual.state == "filled":
        return Cell("unsampled", None, 0)
    return usual if usual.value is None else Cell("unmeasured", None, usual.n)


def sizes(run: PublishedRun) -> SizeCurve:
    """Return how a run does as the days add up; checkpoints after the same day are one."""
    if (known := found_instead(run)) is not None:
        days = {days: one for _, days, one in known.stops}
        names = [name for name in ROWS if days and all(name in one.rows for one in days.values())]
        return SizeCurve(
            adapter=run.adapter,
            days=tuple(days),
            points=tuple(one.system.recall for one in days.values()),
            hallucination=(),
            beside={name: tuple(one.rows[name].recall for one in days.values()) for name in names if name != SYSTEM},
            most=1,
        )
    by_day: dict[int, list[Stop]] = {}
    for stop in run.stops:
        by_day.setdefault(stop.days, []).append(stop)
    found: list[tuple[int, PointMeans]] = []
    for day, stops in sorted(by_day.items()):
        every = without_crossings(one for stop in stops for one in stop.evaluations)
        scored = scores(every, measured=run.measured)
        if scored.points.value is not None:
            found.append((day, scored))
    return SizeCurve(
        adapter=run.adapter,
        days=tuple(day for day, _ in found),
        points=tuple(one.points for _, one in found),
        hallucination=tuple(one.hallucination for _, one in found),
        lexical=not run.measured,
    )


def _row(stop: Stop) -> Mapping[str, Any]:
    if not stop.evaluations and stop.written is not None:
        return stop.written
    return aggregates(replace(stop, evaluations=tuple(without_crossings(stop.evaluations))))


def _category(rows: Sequence[Mapping[str, Any]], name: str, failed: bool) -> Cell:
    found = [one for row in rows for one in row.get("categoryScores", ()) if one.get("category") == name]
    n = sum(one["questionCount"] for one in found)
    if n:
        value = sum(one["meanScore"] * one["questionCount"] for one in found) / n
        return Cell("few" if n < FEW_CELL else "measured", value, n)
    if failed:
        return Cell("failed", None, 0)
    counts = [one.get("eligibleCount") for one in found]
    if None in counts or not counts:
        return Cell("unknown", None, 0)
    return Cell("unsampled" if sum(counts) else "impossible", None, 0)


def _mean(rows: Sequence[Mapping[str, Any]], name: str, unit: float) -> Cell:
    n = sum(row.get("questionsEvaluated") or 0 for row in rows)
    if not n:
        return Cell("unknown", None, 0)
    if any(row.get("questionsEvaluated") and name in row and row[name] is None for row in rows):
        return Cell("unmeasured", None, n)
    value = sum((row.get(name) or 0) * (row.get("questionsEvaluated") or 0) for row in rows) / n / unit
    return Cell("few" if n < FEW_CELL else "measured", value, n)


def _filled(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Return the cells, with the last value before in those that were possible and not asked."""
    found: list[Cell] = []
    last: float | None = None
    for cell in cells:
        last = cell.value if cell.value is not None else last
        found.append(Cell("filled", last, 0) if cell.state == "unsampled" and last is not None else cell)
    return tuple(found)


def ink_on(color: tuple[float, float, float]) -> str:
    """Return black or white, whichever stands out on a colour, by the relative luminance of WCAG 2.1; 0..1 each."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.179 else "#ffffff"
