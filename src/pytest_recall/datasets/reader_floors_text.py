"""Render a reader's answers from a memory beside those from floors and the ceiling, as a section."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_recall.datasets.categories import category_title
from pytest_recall.datasets.datasets_text import SHOWN, groups
from pytest_recall.datasets.membench import ANSWER_METRICS, MembenchSummary
from pytest_recall.datasets.ranking_text import interval_cell
from pytest_recall.datasets.reader_floors import NO_EVIDENCE
from pytest_recall.datasets.reading_text import reading_cells
from pytest_recall.files.sections import Section, TextTable
from pytest_recall.files.wording import listed, plural
from pytest_recall.metrics.floors import FLOORS, UNTELLING, discriminates
from pytest_recall.metrics.intervals import Mean
from pytest_recall.trials import cost_text
from pytest_recall.trials.cost import Spend

MEANING = (
    "below the memory, in as many tokens as it returned: the same reader answered from no text, from texts drawn at"
    " random, from the last ones, and as the ceiling from the evidence itself"
)


def metric_of_answers(summary: MembenchSummary) -> str | None:
    """Return the metric that answers are compared by; None where none was measured."""
    return next((name for name in ANSWER_METRICS if name in summary.everything.means), None)


def reader_floors_section(memory: MembenchSummary, floors: Mapping[str, MembenchSummary], spent: Spend) -> Section:
    """Return the table of the answers by category, with the floors by their name, and what does not discriminate.

    `spent` is what all calls about the floors came to. JSON has all metrics.
    """
    metric = metric_of_answers(memory)
    cost = cost_text.cost_json({"": spent})["total"]
    telling = {} if metric is None else _told(memory, floors, metric)
    found = {name: groups(one) for name, one in floors.items()}
    section = Section(
        "", key="answer_floors", facts={"metric": metric, "discriminates": telling, **found, "cost": cost}
    )
    if metric is None:
        return section
    shown = _means(memory, metric)
    columns = (f"{category_title(name)} ({mean.n:,})" for name, mean in shown.items())
    rows = []
    for name, one in {"memory": memory, **floors}.items():
        means = _means(one, metric)
        cells = (interval_cell(means.get(category)) for category in shown)
        rows.append((name, *cells, *reading_cells(one.everything.reading)))
    notes = [MEANING]
    for name, one in floors.items():
        if unknown := one.everything.unjudged:
            notes.append(f"{name}: {NO_EVIDENCE}, and nothing was asked: {plural(unknown, 'question')}")
        if failures := one.everything.failures + one.everything.unread:
            notes.append(f"{name}: no answer, and in no mean: {plural(failures, 'question')}")
    if untelling := [category_title(name) for name, told in telling.items() if told is False]:
        notes.append(f"{UNTELLING}, as answers from a floor are about as good: {listed(untelling)}")
    if spent.calls:
        notes.append(f"calls about the floors: {spent.calls:,}, cost {cost_text.price(spent.recording)}")
    table = TextTable("", (SHOWN[metric], *columns, "read", "written", "cost"), rows)
    return section._replace(tables=[table], notes=notes)


def _told(memory: MembenchSummary, floors: Mapping[str, MembenchSummary], metric: str) -> dict[str, bool | None]:
    """Return of each category whether answers from the memory are better than those from each floor."""
    beside = [_means(floors[name], metric) for name in FLOORS if name in floors]
    found: dict[str, bool | None] = {}
    for category, mean in _means(memory, metric).items():
        values = [one[category].value for one in beside if category in one]
        low = mean.value if mean.low is None else mean.low
        found[category] = discriminates(low, mean.n, [value for value in values if value is not None])
    return found


def _means(summary: MembenchSummary, metric: str) -> dict[str, Mean]:
    every = {**summary.categories, "all": summary.everything}
    return {name: group.means[metric] for name, group in every.items() if metric in group.means}
