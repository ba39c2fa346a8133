"""Rank long-horizon runs that were asked the same questions, and keep apart those that were not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_recall.files.wording import cell, grid, markdown_grid, plural
from pytest_recall.horizon.published import PublishedRun
from pytest_recall.horizon.report_text import value
from pytest_recall.horizon.result import JUDGING
from pytest_recall.horizon.statistics import RunStatistics, report
from pytest_recall.metrics.clustered import Clustered

FLOORS = ("random", "last", "oracle")


class LeaderRow(NamedTuple):
    """A run in a table: what it is ranked by, and what stands beside that.

    `headline` is the share of the relevant days that were found, 0..1, or the mean points of 6. `floors` are the shares
    of what does not search, at as many `tokens` a question. `ms` is the memory's time for a question, `usd` the money
    of its models; None is not known.
    """

    run: PublishedRun
    headline: Clustered
    floors: Mapping[str, float]
    leaks: Clustered | None
    over_refusals: Clustered | None
    tokens: float | None
    ms: float | None
    usd: float | None


class Board(NamedTuple):
    """Runs that can be ranked: of the same personas, asked the same questions at the same checkpoints.

    `judge` is who gave the points by which they are ranked, empty where that is by what was found.
    """

    personas: str
    answers: int
    questions: int
    judge: str
    rows: tuple[LeaderRow, ...]


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
        rows = sorted((_row(*one) for one in those), key=lambda row: -(row.headline.value or 0))
        questions = len({(persona, id) for persona, _, id in asked})
        tables.append(Board(personas, len(asked), questions, _judge(judge), tuple(rows)))
    return sorted(tables, key=lambda board: -len(board.rows))


def lines(tables: Sequence[Board], *, markdown: bool) -> Iterator[str]:
    """Yield the tables for a terminal, or as Markdown."""
    for place, board in enumerate(tables):
        if place:
            yield ""
        by = f"points by {board.judge}" if board.judge else "share of the relevant days found"
        title = f"{board.personas}: {plural(board.answers, 'answer')} to {plural(board.questions, 'question')}; {by}"
        yield f"## {cell(title)}" if markdown else title
        yield ""
        head, rows = _table(board, markdown=markdown)
        yield from markdown_grid(head, rows) if markdown else grid(head, rows)
    if len(tables) > 1:
        yield ""
        yield "Runs of other personas, feeds, questions, checkpoints or judges are not ranked together."
    yield ""
    yield "In brackets are 95 % intervals by question. `recall bench report A B` says what chance may have done."


def as_json(tables: Sequence[Board]) -> dict[str, Any]:
    """Return the tables as plain JSON types; shares from 0 to 1."""
    plain = [
        {
            "personas": board.personas,
            "answers": board.answers,
            "questions": board.questions,
            "by": "points" if board.judge else "recall",
            "judge": board.judge or None,
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


def _row(run: PublishedRun, statistics: RunStatistics) -> LeaderRow:
    found = statistics.retrieval
    by_retrieval = _by_retrieval(run, statistics)
    rows = {} if found is None else found.everything.rows
    seconds = [one.seconds for one in run.evaluations if one.seconds is not None]
    usd = run.about.get("usd")
    disclosed = statistics.disclosures
    return LeaderRow(
        run=run,
        headline=rows["memory"].recall if by_retrieval else statistics.everything.points,
        floors={name: rows[name].recall.value or 0.0 for name in FLOORS if name in rows},
        leaks=None if disclosed is None else disclosed.leak,
        over_refusals=None if disclosed is None else disclosed.over_refusal,
        tokens=rows["memory"].tokens.value if rows else None,
        ms=1000 * sum(seconds) / len(seconds) if seconds else None,
        usd=usd if isinstance(usd, int | float) and not isinstance(usd, bool) else None,
    )


def _table(board: Board, *, markdown: bool) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    unit, digits = (1, 2) if board.judge else (100, 1)
    floors = [name for name in FLOORS if any(name in row.floors for row in board.rows)]
    head = (
        *("memory", "run", "points of 6" if board.judge else "recall %", *(f"{name} %" for name in floors)),
        *("tokens", "leaks %", "over-refusals %", "question ms", "US dollars", "begun"),
    )
    rows = []
    for row in board.rows:
        memory, run = row.run.adapter or "?", row.run.name
        rows.append(
            (
                *((cell(memory), cell(run)) if markdown else (memory, run)),
                value(row.headline, unit, digits),
                *(f"{100 * row.floors[name]:.1f}" if name in row.floors else "–" for name in floors),
                "–" if row.tokens is None else f"{row.tokens:,.0f}",
                *(_rate(one) for one in (row.leaks, row.over_refusals)),
                "–" if row.ms is None else f"{row.ms:,.0f}",
                "unknown" if row.usd is None else f"{row.usd:.2f}",
                row.run.timestamp[:10] or "?",
            )
        )
    return head, rows


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
        "floors": dict(row.floors),
        "tokens": row.tokens,
        "leaks": share(row.leaks),
        "overRefusals": share(row.over_refusals),
        "queryMs": row.ms,
        "usd": row.usd,
    }
