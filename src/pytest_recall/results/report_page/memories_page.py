"""Render runs of memories over the questions of a dataset as tables of a page, with the tests between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_recall.datasets.comparison import JournalContents
from pytest_recall.datasets.datasets_text import SHOWN, mean_cell
from pytest_recall.datasets.several import (
    MemoryRun,
    against_first,
    groups_of_runs,
    metrics_shown,
    pair_sections,
    several_section,
)
from pytest_recall.files.sections import Section
from pytest_recall.files.wording import plural
from pytest_recall.metrics.measures import JUDGED
from pytest_recall.results.report_page import tables_page
from pytest_recall.results.report_page.data import Chart

_APART = "Memories that were asked otherwise (other questions, passages, units or readers) are not compared."


def page(journals: Sequence[JournalContents], stamp: str = "") -> str:
    """Return the page of the runs of these journals. Raises RecallError where Jinja is not installed."""
    groups = groups_of_runs(journals)
    charts = [chart for runs in groups for chart in _charts(runs)]
    about = ", ".join(dict.fromkeys(str(one.arguments["dataset"]) for one in journals))
    closing = [_APART] if len(groups) > 1 else []
    return tables_page.page(plural(len(journals), "memory system"), about, tables(journals), closing, charts, stamp)


def tables(journals: Sequence[JournalContents]) -> list[Section]:
    """Return the tables of runs that were asked the same, each with the tests of the further ones against the first."""
    return [section for runs in groups_of_runs(journals) for section in _sections(runs)]


def _sections(runs: Sequence[MemoryRun]) -> Iterator[Section]:
    compared = against_first(runs)
    yield several_section(runs, compared)
    yield from pair_sections(runs, compared)


def _charts(runs: Sequence[MemoryRun]) -> Iterator[Chart]:
    """Yield the first metric of the table, and what judges said, of several memories."""
    first, *others = metrics_shown(runs) or [""]
    for name in (first, *(one for one in others if one in JUDGED)) if len(runs) > 1 and first else ():
        known = [(one.contents.name, one.summary.everything) for one in runs if name in one.summary.everything.means]
        means = [(memory, group.means[name]) for memory, group in known]
        yield Chart(
            kind="rates",
            title=f"{SHOWN[name][:1].upper()}{SHOWN[name][1:]}, {runs[0].arguments.dataset}",
            told="Mean of the questions that have it, with the 95 % interval. Few conversations make it wide.",
            head=("memory", SHOWN[name], "n"),
            rows=[(memory, mean_cell(group, name), f"{group.means[name].n:,}") for memory, group in known],
            points=[{"name": memory, "value": one.value, "low": one.low, "high": one.high} for memory, one in means],
        )
