"""Rank long-horizon runs that were asked the same questions, and keep apart those that were not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_recall.files.wording import TableSection, TextTable, cell, listed, plural, section_lines
from pytest_recall.horizon.evaluation import MOST
from pytest_recall.horizon.published import PublishedRun
from pytest_recall.horizon.question import CATEGORIES
from pytest_recall.horizon.report_text import STAR, value
from pytest_recall.horizon.result import JUDGING
from pytest_recall.horizon.retrieval_text import INDISTINCT
from pytest_recall.horizon.statistics import RunStatistics, report
from pytest_recall.metrics.clustered import Clustered
from pytest_recall.metrics.floors import UNTELLING
from pytest_recall.results.report_page.data import Chart

FLOORS = ("random", "last", "oracle")


class LeaderRow(NamedTuple):
    """A run in a table: what it is ranked by, and what stands beside that.

    `headline` is the share of the relevant days that were found, 0..1, or the mean points of 6, and `categories` have
    the same of each. Of these the `starred` ones say little: a floor finds about as much, or points are of too few
    questions. `others` is the same share without the categories that all rows leave out. `floors` are the shares of
    what does not search, at as many `tokens` a question. `ms` is the time of the memory for a question, `usd` the money
    of its models; None is not known.
    """

    run: PublishedRun
    headline: Clustered
    others: Clustered | None
    categories: Mapping[str, Clustered]
    starred: frozenset[str]
    floors: Mapping[str, float]
    leaks: Clustered | None
    over_refusals: Clustered | None
    tokens: float | None
    ms: float | None
    usd: float | None


class Board(NamedTuple):
    """Runs that can be ranked: of the same personas, asked the same questions at the same checkpoints.

    `judge` is who gave the points by which they are ranked, empty where that is by what was found. `untelling` are the
    categories in which the questions cannot tell the evidence itself from a floor; a second figure leaves them out.
    """

    personas: str
    answers: int
    questions: int
    judge: str
    rows: tuple[LeaderRow, ...]
    untelling: tuple[str, ...] = ()


def boards(runs: Iterable[PublishedRun]) -> list[Board]:
    """Return the tables of runs, those with more runs first, and in each the best run first."""
    found: dict[Any, list[tuple[PublishedRun, RunStatistics]]] = {}
    for run in runs:
        statistics = report(run)
        asked = frozenset((stop.persona, stop.days, one.question.id) for stop in run.stops for one in stop.evaluations)
        judge = () if _by_retrieval(run, statistics) else (*map(run.about.get, JUDGING), run.config.get("judgeVersion"))
        found.setdefault((_personas(run), asked, judge), []).append((run, statistics))
    tables = []
    for (personas, asked, judge), those in found.items():
        untelling = () if judge else _untelling(statistics for _, statistics in those)
        rows = sorted((_row(*one, untelling) for one in those), key=lambda row: -(row.headline.value or 0))
        questions = len({(persona, id) for persona, _, id in asked})
        tables.append(Board(personas, len(asked), questions, _judge(judge), tuple(rows), untelling))
    return sorted(tables, key=lambda board: -len(board.rows))


def sections(tables: Sequence[Board], *, markdown: bool = False) -> list[TableSection]:
    """Return the tables of runs as people read them, each with its categories as columns of a second one."""
    return [_section(board, markdown) for board in tables]


def closing(tables: Sequence[Board]) -> list[str]:
    """Return what is to be known of all tables together, one sentence each."""
    apart = ["Runs of other personas, feeds, questions, checkpoints or judges are not ranked together."]
    told = "In brackets are 95 % intervals by question. `recall bench report A B` says what chance may have done."
    return [*(apart if len(tables) > 1 else ()), told]


def lines(tables: Sequence[Board], *, markdown: bool) -> Iterator[str]:
    """Yield the tables for a terminal, or as Markdown; categories are rows there, as a line has room for few cells."""
    for section in sections(tables, markdown=markdown):
        first, *others = section.tables
        turned = section._replace(tables=[first, *(one.transposed() for one in others)])
        yield from section_lines(turned, markdown=markdown)
        yield ""
    yield "\n\n".join(closing(tables))


def charts(tables: Sequence[Board]) -> list[Chart]:
    """Return a chart for each table of several runs: what these are ranked by."""
    return [_chart(board) for board in tables if len(board.rows) > 1]


def as_json(tables: Sequence[Board]) -> dict[str, Any]:
    """Return the tables as plain JSON types; shares from 0 to 1."""
    plain = [
        {
            "personas": board.personas,
            "answers": board.answers,
            "questions": board.questions,
            "by": "points" if board.judge else "recall",
            "judge": board.judge or None,
            "without": list(board.untelling),
            "runs": [_plain(row) for row in board.rows],
        }
        for board in tables
    ]
    return {"version": 1, "boards": plain}


def _by_retrieval(run: PublishedRun, statistics: RunStatistics) -> bool:
    """Whether a run is ranked by what was found: of passages that no model has judged."""
    return not run.measured and statistics.everything.points.n == 0 and statistics.retrieval is not None


def _personas(run: PublishedRun) -> str:
    """Return of whom a run is, and what of them its memory was told where that is not the days."""
    arcs, feed = run.config.get("arcs"), run.config.get("feed")
    told = f", told its {str(feed).replace('-', ' ')}" if feed else ""
    return ", ".join(run.personas) + (f" ({arcs})" if arcs else "") + told


def _judge(judge: Sequence[Any]) -> str:
    if not judge:
        return ""
    model, appellate, window, version = judge
    more = [f"appeals to {appellate}"] if appellate else []
    more += [f"with the days ±{window}"] if window else []
    more += [f"prompts {version}"] if version else []
    return ", ".join([str(model or "an unknown judge"), *more])


def _untelling(found: Iterable[RunStatistics]) -> tuple[str, ...]:
    """Return the categories that one of the runs leaves out: texts of other sizes may decide that otherwise."""
    names = {name for one in found if one.retrieval is not None for name in one.retrieval.untelling}
    return tuple(name for name in CATEGORIES if name in names)


def _row(run: PublishedRun, statistics: RunStatistics, untelling: Sequence[str]) -> LeaderRow:
    found = statistics.retrieval
    by_retrieval = _by_retrieval(run, statistics)
    rows = {} if found is None else found.everything.rows
    seconds = [one.seconds for one in run.evaluations if one.seconds is not None]
    usd = run.about.get("usd")
    disclosed = statistics.disclosures
    if by_retrieval and found is not None:
        categories = {name: one.system.recall for name, one in found.categories.items()}
        starred = {name for name, one in found.categories.items() if one.discriminates is False}
    else:
        categories = {name: one.points for name, one in statistics.categories.items() if one.points.n}
        starred = {name for name in categories if statistics.categories[name].few}
    others = found.without(untelling) if by_retrieval and found is not None else None
    return LeaderRow(
        run=run,
        headline=rows["memory"].recall if by_retrieval else statistics.everything.points,
        others=None if others is None else others.system.recall,
        categories=categories,
        starred=frozenset(starred),
        floors={name: rows[name].recall.value or 0.0 for name in FLOORS if name in rows},
        leaks=None if disclosed is None else disclosed.leak,
        over_refusals=None if disclosed is None else disclosed.over_refusal,
        tokens=rows["memory"].tokens.value if rows else None,
        ms=1000 * sum(seconds) / len(seconds) if seconds else None,
        usd=usd if isinstance(usd, int | float) and not isinstance(usd, bool) else None,
    )


def _section(board: Board, markdown: bool) -> TableSection:
    by = f"points by {board.judge}" if board.judge else "share of the relevant days found"
    title = f"{board.personas}: {plural(board.answers, 'answer')} to {plural(board.questions, 'question')}; {by}"
    floors = [name for name in FLOORS if any(name in row.floors for row in board.rows)]
    second = any(row.others is not None for row in board.rows)
    head = (
        *("memory", "run", _unit(board), "n", *(f"{name} %" for name in floors)),
        *(("recall % without †", "n") if second else ()),
        *("tokens", "leaks %", "over-refusals %", "question ms", "US dollars", "begun"),
    )
    rows = []
    for row in board.rows:
        memory, run = row.run.adapter or "?", row.run.name
        rows.append(
            (
                *((cell(memory), cell(run)) if markdown else (memory, run)),
                _value(board, row.headline),
                f"{row.headline.n:,}",
                *(f"{100 * row.floors[name]:.1f}" if name in row.floors else "–" for name in floors),
                *(_second(board, row.others) if second else ()),
                "–" if row.tokens is None else f"{row.tokens:,.0f}",
                *(_rate(one) for one in (row.leaks, row.over_refusals)),
                "–" if row.ms is None else f"{row.ms:,.0f}",
                "unknown" if row.usd is None else f"{row.usd:.2f}",
                row.run.timestamp[:10] or "?",
            )
        )
    notes = []
    if any(row.starred for row in board.rows):
        notes.append(STAR if board.judge else f"* {UNTELLING}: a floor finds about as much")
    if board.untelling:
        notes.append(f"† {INDISTINCT}, whichever memory is asked: {listed(board.untelling)}")
    return TableSection(title, [TextTable("", head, rows), *_by_category(board)], notes)


def _second(board: Board, one: Clustered | None) -> tuple[str, str]:
    return ("–", "–") if one is None else (_value(board, one), f"{one.n:,}")


def _by_category(board: Board) -> Iterator[TextTable]:
    """Yield the table by category, if there is one: a column each, of at most so many answers as its head says."""
    names: list[str] = [name for name in CATEGORIES if any(name in row.categories for row in board.rows)]
    most = {name: max(row.categories[name].n for row in board.rows if name in row.categories) for name in names}

    def shown(row: LeaderRow, name: str) -> str:
        if (one := row.categories.get(name)) is None:
            return "–"
        fewer = f", n {one.n:,}" if one.n < most[name] else ""
        return f"{_value(board, one)}{fewer}{' *' if name in row.starred else ''}"

    if names:
        marks = dict.fromkeys(board.untelling, " †")
        head = ("memory", *(f"{name} ({most[name]:,}){marks.get(name, '')}" for name in names))
        rows = [(label, *(shown(row, name) for name in names)) for label, row in _labelled(board)]
        yield TextTable(f"{_unit(board)}, by category (n)", head, rows)


def _labelled(board: Board) -> list[tuple[str, LeaderRow]]:
    """Return the rows, each with what tells it from the others: its memory, and where several have that, its run."""
    memories = Counter(row.run.adapter for row in board.rows)
    alone = {name for name, count in memories.items() if name and count == 1}
    return [(row.run.adapter if row.run.adapter in alone else row.run.name, row) for row in board.rows]


def _chart(board: Board) -> Chart:
    what = f"Points of {MOST}" if board.judge else "Share of the relevant days found"
    shown = [(label, row.headline) for label, row in _labelled(board)]
    return Chart(
        kind="points" if board.judge else "rates",
        title=f"{what}: {board.personas}, {plural(board.answers, 'answer')}",
        told="With the 95 % interval by question. Few questions make it wide.",
        head=("memory", _unit(board), "answers", "questions"),
        rows=[(label, _value(board, one), f"{one.n:,}", f"{one.clusters:,}") for label, one in shown],
        points=[{"name": label, "value": one.value, "low": one.low, "high": one.high} for label, one in shown],
        options={"most": MOST} if board.judge else {},
    )


def _unit(board: Board) -> str:
    return f"points of {MOST}" if board.judge else "recall %"


def _value(board: Board, one: Clustered) -> str:
    return value(one, 1, 2) if board.judge else value(one, 100, 1)


def _rate(one: Clustered | None) -> str:
    return "–" if one is None or one.value is None else f"{100 * one.value:.0f} (n {one.n:,})"


def _plain(row: LeaderRow) -> dict[str, Any]:
    def share(one: Clustered | None) -> dict[str, Any] | None:
        return None if one is None else {"value": one.value, "low": one.low, "high": one.high, "n": one.n}

    return {
        "memory": row.run.adapter,
        "run": row.run.name,
        "timestamp": row.run.timestamp,
        "headline": share(row.headline),
        "others": share(row.others),
        "categories": {name: share(one) for name, one in row.categories.items()},
        "sayLittle": sorted(row.starred),
        "floors": dict(row.floors),
        "tokens": row.tokens,
        "leaks": share(row.leaks),
        "overRefusals": share(row.over_refusals),
        "queryMs": row.ms,
        "usd": row.usd,
    }
