"""Render the runs of several memories over the same questions as one table, and what they differ in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_recall.datasets import floors_text
from pytest_recall.datasets import model_usage_text as own_models
from pytest_recall.datasets.categories import category_title
from pytest_recall.datasets.comparison import BenchComparison, JournalContents, compare_benches
from pytest_recall.datasets.datasets_text import (
    SHOWN,
    comparison_json,
    comparison_notes,
    comparison_table,
    few_conversations,
    legend,
    mean_cell,
    membench_json,
    retried_lines,
    shown_metrics,
    stored_by,
    unmeasurable_lines,
    verdict,
)
from pytest_recall.datasets.floors_text import COLUMNS, floor_cell
from pytest_recall.datasets.membench import (
    ANSWER_METRICS,
    RECALL,
    Arguments,
    EarlierAnswers,
    MembenchSummary,
    asked_of,
    fold,
    has_failed,
)
from pytest_recall.datasets.ranking_text import ranking_table
from pytest_recall.datasets.reading_text import HEAD as READING
from pytest_recall.datasets.reading_text import MEANING, read_by, reading_cells
from pytest_recall.files.errors import RecallError
from pytest_recall.files.sections import Report, Section, TextTable, fields
from pytest_recall.files.wording import listed, one_line, percent, plural
from pytest_recall.metrics.floors import UNTELLING
from pytest_recall.trials.cost_text import cost_json, price

LEVEL = 0.05
"""The level of all comparisons of a table together: by a lower one ten conversations show nothing of three memories."""
_COST = "money"


class MemoryRun(NamedTuple):
    """The run of one memory, and what it came to."""

    arguments: Arguments
    summary: MembenchSummary
    contents: JournalContents
    """Tables call the run by the name of these."""
    earlier: EarlierAnswers = EarlierAnswers()
    """Those questions that an earlier command has asked."""

    def named(self, name: str) -> MemoryRun:
        """Return the run as tables call it by this name."""
        return self._replace(contents=self.contents._replace(name=name))


def groups_of_runs(journals: Sequence[JournalContents]) -> list[list[MemoryRun]]:
    """Return the runs of these journals, those together that were asked the same, the largest group first.

    In a group a run is called by its memory, and where several are of one memory, by the journal's name too.
    """
    found: dict[Any, list[MemoryRun]] = {}
    for one in map(memory_run, journals):
        plain = asked_of(one.arguments)
        asked = {name: value for name, value in plain.items() if name not in ("memory", "whole", "file")}
        found.setdefault(repr(asked), []).append(one)
    return sorted(map(_named, found.values()), key=lambda runs: -len(runs))


def memory_run(journal: JournalContents) -> MemoryRun:
    """Return the run that a journal is of, with what it came to."""
    further = [trials.values() for trials in journal.further]
    summary = fold(journal.trials.values(), len(journal.asked) or len(journal.trials), journal.asked, further)
    return MemoryRun(Arguments(**journal.arguments), summary, journal)


def _named(runs: Sequence[MemoryRun]) -> list[MemoryRun]:
    counts = Counter(one.arguments.memory for one in runs)

    def name(one: MemoryRun) -> str:
        memory = one.arguments.title
        told = f"{memory} ({one.contents.name})" if counts[one.arguments.memory] > 1 else memory
        return f"{told}, {plural(len(one.contents.ingests), 'ingest')}" if one.contents.further else told

    return [one.named(name(one)) for one in runs]


def against_first(runs: Sequence[MemoryRun]) -> list[BenchComparison | str]:
    """Return the comparison of each further memory with the first one, or why there is none.

    The level is shared among them (Bonferroni), so that all that is shown holds together.
    """
    found: list[BenchComparison | str] = []
    for one in runs[1:]:
        try:
            found.append(compare_benches(runs[0].contents, one.contents, alpha=LEVEL / (len(runs) - 1)))
        except RecallError as error:
            found.append(str(error))
    return found


def several_section(runs: Sequence[MemoryRun], compared: Sequence[BenchComparison | str]) -> Section:
    """Return the table of the runs, those by category of what was found and of the answers, and how to read them."""
    first = runs[0]
    told = (
        f"{plural(len(runs), 'memory system')} on {first.arguments.dataset} ({first.arguments.file}):"
        f" {plural(first.summary.total, 'question')}, {plural(first.arguments.k, 'passage')} each,"
        f" {stored_by(first.arguments._asdict())}"
        f"{read_by(first.arguments.reader, first.arguments.prompt)}"
    )
    names = metrics_shown(runs)
    reading = READING if any(one.summary.everything.reading.answers for one in runs) else ()
    floors = COLUMNS if any(one.summary.everything.floors for one in runs) else ()
    models = own_models.COLUMNS if any(own_models.is_heard(one.summary) for one in runs) else ()
    shown = (*(SHOWN[name] for name in names), "tokens", *floors, *reading)
    head = ("memory", "n", "failed", *shown, "recall p50", "ingest", *models, _COST)
    rows = [_row(one, names, floors, len(reading), len(models)) for one in runs]
    if any(one.earlier.questions for one in runs):
        head = (*head, "figures")
        rows = [(*row, one.earlier.of(one.summary.everything.n) or "new") for row, one in zip(rows, runs, strict=True)]
    tables = [TextTable("", head, rows)]
    summaries = [(one.contents.name, one.summary) for one in runs]
    if (ranking := ranking_table(summaries, first.arguments.dataset)) is not None:
        tables.append(ranking)
    answers = next((name for name in ANSWER_METRICS if name in names), None)
    tables += [_by_category(runs, name) for name in dict.fromkeys((*names[:1], answers)) if name is not None]
    return Section(told, tables, list(_notes(runs, compared, bool(floors), bool(reading), bool(models))))


def metrics_shown(runs: Sequence[MemoryRun]) -> list[str]:
    """Return the metrics that stand in the table of the runs, in its order."""
    return shown_metrics([one.summary for one in runs])


def pair_sections(runs: Sequence[MemoryRun], compared: Sequence[BenchComparison | str]) -> Iterator[Section]:
    """Yield the tests of each further memory against the first one, metric by metric."""
    for one, found in zip(runs[1:], compared, strict=True):
        against = f"{one.contents.name} (HEAD) against {runs[0].contents.name} (BASE)"
        if isinstance(found, str):
            yield Section(against, [], [found])
        else:
            yield Section(against, [comparison_table(found)], [verdict(found), *comparison_notes(found)])


def _notes(
    runs: Sequence[MemoryRun], compared: Sequence[BenchComparison | str], floors: bool, reading: bool, models: bool
) -> Iterator[str]:
    yield legend(one.summary for one in runs)
    yield "tokens: returned for a question on average, estimated as characters / 4"
    if floors:
        yield floors_text.MEANING
    if reading:
        yield MEANING
    if models:
        yield own_models.MEANING
        yield own_models.INGEST_MEANING
    also = ", and of a memory's own models as far as they are heard," if models else ""
    yield f"{_COST}: all calls of reader and judges{also} at list price"
    yield from own_models.unheard_lines([(one.contents.name, one.arguments.memory_models, one.summary) for one in runs])
    for one in runs:
        if not one.summary.complete:
            told = f"not complete, with {one.summary.everything.n:,} of {plural(one.summary.total, 'question')}"
            yield f"{one.contents.name}: {told}"
        if failed := [trial for trials in one.contents.ingests for trial in trials.values() if has_failed(trial)]:
            told = f"{plural(len(failed), 'question')} failed, the first one because of `{failed[0].error}`"
            yield one_line(f"{one.contents.name}: {told}", 300)
        beside = (*unmeasurable_lines(one.summary), *retried_lines(one.summary))
        yield from (f"{one.contents.name}: {told}" for told in beside)
        if untelling := one.summary.untelling:
            told = f"{UNTELLING}, as a floor finds about as much: {listed(untelling)}"
            yield f"{one.contents.name}: {told}"
        if untelling := one.summary.untelling_answers:
            yield f"{one.contents.name}: {floors_text.UNTELLING_ANSWERS}: {listed(untelling)}"
        if unread := one.summary.everything.unread:
            told = f"no answer of the reader, and in no mean of answers: {plural(unread, 'question')}"
            yield f"{one.contents.name}: {told}"
        if trouble := one.summary.readback.trouble:
            yield one_line(f"{one.contents.name} has lost or changed texts: {trouble}", 300)
    for one, found in zip(runs[1:], compared, strict=True):
        said = f": {found}" if isinstance(found, str) else f"{_compared_on(found, runs[0], one)}: {verdict(found)}"
        yield one_line(f"{one.contents.name} against {runs[0].contents.name}{said}", 300)
    tested = [one for one in compared if isinstance(one, BenchComparison)]
    if tested:
        yield f"differences are shown at {percent(1 - LEVEL)} for all pairs together"
        few = [(one.head.name, told) for one in tested for told in few_conversations(one)]
        same = len({told for _, told in few}) == 1 and len(few) == len(tested)
        yield from (told for _, told in few[:1]) if same else (f"{name}: {told}" for name, told in few)


def _compared_on(found: BenchComparison, first: MemoryRun, other: MemoryRun) -> str:
    """Return what two memories are compared on, where that is less than their rows show."""
    total = max(first.summary.total, other.summary.total)
    on = f", compared on {found.pairs:,} of {plural(total, 'question')}" if found.pairs < total else ""
    if RECALL not in found.metrics and any(one.summary.everything.unmeasurable for one in (first, other)):
        on += f"{' and' if on else ', compared'} by {listed([SHOWN[name] for name in found.metrics])} alone"
    return on


def _row(one: MemoryRun, names: Sequence[str], floors: Sequence[str], reading: int, models: int) -> tuple[str, ...]:
    group, summary, spend = one.summary.everything, one.summary, one.contents.spend
    tokens, latency = group.means.get("tokens_read"), summary.latency.get("p50")
    return (
        one.contents.name,
        f"{group.n:,}" if summary.complete else f"{group.n:,} of {summary.total:,}",
        f"{group.failures:,}",
        *(mean_cell(group, name) for name in names),
        "–" if tokens is None or tokens.value is None else f"{tokens.value:,.0f}",
        *(floor_cell(group, name) for name in floors),
        *reading_cells(group.reading)[:reading],
        "–" if latency is None else f"{1000 * latency:.1f} ms",
        f"{summary.ingest_seconds:.2f} s",
        *own_models.columns(summary, one.arguments.memory_models)[:models],
        price(spend.recording) if spend.calls else "–",
    )


def _by_category(runs: Sequence[MemoryRun], name: str) -> TextTable:
    categories = sorted({category for one in runs for category in one.summary.categories}, key=category_title)
    counts = {category: max(_n(one, category) for one in runs) for category in categories}
    rows = [
        (
            one.contents.name,
            *(
                mean_cell(one.summary.categories[category], name) if category in one.summary.categories else "–"
                for category in categories
            ),
        )
        for one in runs
    ]
    head = ("memory", *(f"{category_title(category)} ({counts[category]:,})" for category in categories))
    return TextTable(f"{SHOWN[name]}, by category (n)", head, rows)


def _n(one: MemoryRun, category: str) -> int:
    return one.summary.categories[category].n if category in one.summary.categories else 0


def several_report(
    runs: Sequence[MemoryRun],
    compared: Sequence[BenchComparison | str],
    floors: Mapping[str, Section],
    broken: Mapping[str, str],
) -> Report:
    """Return the table of the runs, and the `floors` of their answers by memory; `broken` memories have their reason.

    A comparison that cannot be made is its reason in JSON.
    """
    memories = [
        {
            **membench_json(one.arguments, one.summary, [one.earlier]),
            "cost": cost_json({"": one.contents.spend})["total"],
            **fields([floors.get(one.arguments.memory, Section(""))]),
        }
        for one in runs
    ]
    against = [one if isinstance(one, str) else comparison_json(one) for one in compared]
    facts = {"version": 1, "memories": memories, "level": LEVEL, "against_first": against}
    facts |= {"broken": dict(broken)} if broken else {}
    tables = [several_section(runs, compared)] if runs else []
    beside = [one._replace(title=name) for name, one in floors.items()]
    return Report(plural(len(runs), "memory system"), [*tables, *beside], facts)
