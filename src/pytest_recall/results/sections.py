"""The figures of a scorecard, each as one section: a further figure is a further line here.

The terminal, the Markdown page, the HTML page and scorecard.json all render these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_recall.files.sections import Section, TextTable, fields
from pytest_recall.judges import judges_text
from pytest_recall.results.gates_text import gates_section
from pytest_recall.results.scorecard import NOT_RUN, Scorecard
from pytest_recall.trials.cost import of_run
from pytest_recall.trials.cost_text import cost_section
from pytest_recall.trials.record import Record

COLUMNS = ("passed", "failed", "error", "skipped", NOT_RUN)
BOXES = (
    "A case stands in one of five boxes: a pass when it is due moves it up, and the higher it stands, the rarer it is"
    " asked; a fail sends it back to box 1."
)
STANDING_OPEN = ("gates", "judged_rates")
"""Sections that stand open on a page: they say whether the run is good enough."""


def report_sections(record: Record, card: Scorecard) -> Sequence[Section]:
    """Return all sections of a run; one that has nothing to show is among them, since JSON has its field."""
    return tuple(_sections(record, card))


def _sections(record: Record, card: Scorecard) -> Iterator[Section]:
    yield gates_section(card)
    yield _counts(card)
    yield _datasets(card)
    yield _baselines(card)
    yield _panels(card)
    yield judges_text.rates_section(card.rates)
    yield _regraded(card)
    yield _observed(record, card)
    yield _measures(record, card)
    # Their facts have a field of their own, in which they cannot take the place of ours.
    yield from (section._replace(key="", facts=None) for section in record.sections)
    yield Section("", key="extensions", facts=fields(one for one in record.sections if one.key) or None)
    yield cost_section(of_run(record), record.let_through)


def _counts(card: Scorecard) -> Section:
    """Return how many cases came to what, by why they were chosen and what they are about."""
    named = {"reason": card.by_reason, "scenario": card.by_scenario, "dimension": card.by_dimension}
    shown = {name: table for name, table in named.items() if len(table) > (name != "reason")}
    notes = [BOXES] if any(reason.startswith("box ") for reason in card.by_reason) else []
    facts = {f"by_{name}": table for name, table in named.items()}
    tables = [_table(name, table) for name, table in shown.items()]
    return Section("By reason, scenario and dimension", tables, notes, facts=facts, brief=True)


def _table(name: str, table: Mapping[str, Mapping[str, int]]) -> TextTable:
    columns = [column for column in COLUMNS if any(column in counts for counts in table.values())]
    rows = [(row, *(f"{counts.get(column, 0):,}" for column in columns)) for row, counts in table.items()]
    return TextTable("", (name, *columns), rows)


# What few runs have is not imported for all.


def _datasets(card: Scorecard) -> Section:
    if not card.datasets:
        return Section("Datasets", key="datasets")
    from pytest_recall.datasets.datasets_text import datasets_section

    return datasets_section(card.datasets)


def _baselines(card: Scorecard) -> Section:
    if card.arms is None:
        return Section("Baselines", key="baselines")
    from pytest_recall.results.baselines_text import baselines_section

    return baselines_section(card.arms)


def _panels(card: Scorecard) -> Section:
    if card.panels is None:
        return Section("Judged by models", key="judged_by_models")
    return judges_text.panels_section(card.panels)


def _regraded(card: Scorecard) -> Section:
    if card.regraded is None:
        return Section("Looked at again", key="regraded")
    return judges_text.regraded_section(card.regraded)


def _measures(record: Record, card: Scorecard) -> Section:
    if not card.measures:
        return Section("Measures", key="measures")
    from pytest_recall.results.measures import measures_section

    return measures_section(card.measures, record.measures)


def _observed(record: Record, card: Scorecard) -> Section:
    if record.header.mode != "observe":
        return Section("Observed", key="observed")
    from pytest_recall.results.observed import observed, observed_section

    return observed_section(observed(record, card))
