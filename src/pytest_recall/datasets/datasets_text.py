"""The figures of runs over datasets, and of comparisons of them, as sections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pytest_recall.datasets import model_usage_text as own_models
from pytest_recall.datasets.categories import category_title
from pytest_recall.datasets.comparison import BenchComparison, JournalContents, Paired
from pytest_recall.datasets.floors_text import answer_floors_section, floors_json, floors_section
from pytest_recall.datasets.membench import RECALL, Arguments, CategoryResult, EarlierAnswers, MembenchSummary, plain
from pytest_recall.datasets.ranking_text import RANKED, interval_cell, ranking_section
from pytest_recall.datasets.reading_text import HEAD as READING
from pytest_recall.datasets.reading_text import read_by, reading_cells, reading_json
from pytest_recall.datasets.reported import Reported
from pytest_recall.files.sections import Report, Section, TextTable, fields
from pytest_recall.files.wording import (
    listed,
    one_line,
    p_value,
    percent,
    plural,
    some,
)
from pytest_recall.memory.client import ModelPlace
from pytest_recall.metrics.change import ChangeSummary
from pytest_recall.metrics.intervals import METHOD, Mean
from pytest_recall.metrics.repeated import IngestSpread
from pytest_recall.trials import cost_text
from pytest_recall.trials.cost import Spend
from pytest_recall.trials.trial import Trial

SHOWN = {
    "evidence_recall_at_k": "evidence",
    "evidence_all_at_k": "all of it",
    "reciprocal_rank": "1 / rank",
    "contains_at_k": "contains",
    "locomo_f1": "LoCoMo F1",
    "answer_contains": "answer contains",
    "answer_token_f1": "answer F1",
    "abstention_recall": "abstained",
    "longmemeval_judge": "LongMemEval judge",
    "locomo_judge": "LoCoMo judge",
    "dmr_judge": "DMR judge",
}
"""The metrics of the first table, and its headings. JSON has all."""


def metric_of_column(heading: str) -> str:
    """Return the metric that a column of a table is of, empty where none is called so."""
    headings = {told.lower(): name for name, told in {**SHOWN, **RANKED}.items()}
    return headings.get(heading.strip().lower(), "")


def stored_by(arguments: Mapping[str, Any]) -> str:
    """Return in words what is stored at a time and what of it is left out, and of which conversations one store is."""
    told = [f"stored by the {arguments['unit']}"]
    told += [f"without {name}" for name in ("captions", "dates") if not arguments[name]]
    told += [f"asked when it is ready or after {arguments['settle']} s"] if arguments["settle"] else []
    told += ["accumulate: one store for all conversations"] if arguments["accumulate"] else []
    return ", ".join(told)


def membench_sections(
    arguments: Arguments,
    summary: MembenchSummary,
    earlier: Sequence[EarlierAnswers] = (),
    problems: Sequence[Trial] = (),
    kept: str = "",
) -> Iterator[Section]:
    """Yield what a run of one memory measured, in JSON with all metrics.

    `earlier` says what is of earlier commands, and `kept` the same in words; `problems` are some of the questions that
    failed.
    """
    yield _measured(arguments, summary, earlier, problems, kept)
    yield ranking_section(summary, arguments.dataset)
    yield floors_section(summary)
    yield answer_floors_section(summary)
    yield _work(arguments.memory_models, summary)


def membench_json(
    arguments: Arguments, summary: MembenchSummary, earlier: Sequence[EarlierAnswers] = ()
) -> dict[str, Any]:
    """Return the same as plain JSON types."""
    return fields(membench_sections(arguments, summary, earlier))


def _measured(
    arguments: Arguments,
    summary: MembenchSummary,
    earlier: Sequence[EarlierAnswers],
    problems: Sequence[Trial],
    kept: str,
) -> Section:
    asked = "all that it holds" if arguments.whole else plural(arguments.k, "passage")
    n = summary.everything.n
    questions = plural(n, "question") if summary.complete else f"{n:,} of {plural(summary.total, 'question')}"
    on = f"{arguments.title} on {arguments.dataset} ({arguments.file})"
    read = read_by(arguments.reader, arguments.prompt)
    often = f", {summary.repeats} ingests" if summary.repeats > 1 else ""
    stored = stored_by(plain(arguments)) + often
    notes = [legend([summary])]
    if unjudged := summary.everything.unjudged:
        notes.append(
            f"not judged: {plural(unjudged, 'unanswerable question')}, where passages alone do not say whether"
            " it would have abstained"
        )
    notes += unmeasurable_lines(summary)
    if failures := summary.everything.failures:
        notes.append(f"failed, and in no mean: {plural(failures, 'question')}")
        notes += some([f"{one.case_id}: {one.error}" for one in problems])
    facts = {
        "version": 1,
        **plain(arguments),
        "questions": summary.total,
        "complete": summary.complete,
        "kept": {
            "questions": sum(one.questions for one in earlier),
            "from": sorted({day for one in earlier for day in one.dates}),
        },
        "confidence": 0.95,
        **groups(summary),
    }
    told = f"{on}: {questions}, {asked} each, {stored}{read}{kept and f', {kept}'}"
    return Section("", [summary_table(summary)], notes, [told], facts=facts)


def _work(called: ModelPlace, summary: MembenchSummary) -> Section:
    """Return what it took."""
    lines = []
    if told := [f"{name} {1000 * value:.1f} ms" for name, value in summary.latency.items() if value is not None]:
        lines.append(f"latency: {', '.join(told)}")
    if summary.ingests:
        tokens = "" if summary.ingest_tokens is None else f" of about {plural(summary.ingest_tokens, 'token')}"
        lines.append(
            f"ingest: {plural(summary.units, 'unit')}{tokens} in {plural(summary.ingests, 'conversation')},"
            f" in {summary.ingest_seconds:.2f}s{f', {summary.repeats} ingests together' if summary.repeats > 1 else ''}"
        )
    lines += [*own_models.usage_lines(called, summary), *retried_lines(summary)]
    if summary.readback.trouble:
        lines.append(f"texts lost or changed: {summary.readback.trouble}")
    facts = {
        "recall_seconds": {**summary.latency, "method": METHOD},
        "ingest": {
            "conversations": summary.ingests,
            "units": summary.units,
            "tokens": summary.ingest_tokens,
            "seconds": summary.ingest_seconds,
        },
        "models": own_models.models_json(called, summary),
        "retried": {"requests": summary.retries, "seconds": summary.waited},
        "readback": asdict(summary.readback),
    }
    return Section("", lines=lines, facts=facts)


def judged_section(judges: str, count: int, undecided: Mapping[str, str], spends: Mapping[str, Spend]) -> Section:
    """Return what `judges` said of so many answers, and what that took; `undecided` ones say why.

    `spends` are those of each ingest by its name.
    """
    lines = [f"judged by {judges}: {plural(count, 'answer')}"]
    if undecided:
        lines.append(f"no verdict, and in no mean of the judge: {plural(len(undecided), 'answer')}")
        lines += some([f"{id}: {error}" for id, error in undecided.items()])
    lost = [{"id": id, "error": error} for id, error in undecided.items()]
    cost = cost_text.cost_json(spends)["total"]
    facts = {"models": judges, "answers": count, "undecided": lost, "cost": cost}
    return Section("", lines=[*lines, *cost_text.cost_lines(spends)], key="judge", facts=facts)


def summary_table(summary: MembenchSummary, name: str = "", *, failed: str = "failed") -> TextTable:
    """Return the table by category; `failed` is what questions that broke are called at its head."""
    groups = {**summary.categories, "all": summary.everything}
    names = shown_metrics([summary])
    reading = READING if summary.everything.reading.answers else ()
    models = own_models.HEAD if own_models.is_heard(summary) else ()
    head = ("category", "n", failed, "not judged", *(SHOWN[name] for name in names), *reading, *models)
    rows = [
        (
            category_title(category),
            f"{group.n:,}",
            f"{group.failures:,}",
            f"{group.unjudged:,}",
            *(mean_cell(group, name) for name in names),
            *reading_cells(group.reading)[: len(reading)],
            *own_models.usage_cells(own_models.known_usage(group.models, summary))[: len(models)],
        )
        for category, group in groups.items()
    ]
    return TextTable(name, head, rows)


def shown_metrics(summaries: Sequence[MembenchSummary]) -> list[str]:
    """Return the metrics that stand in a table, in its order: what was measured, and evidence that could not be."""
    every = [one.everything for one in summaries]
    return [name for name in SHOWN if any(name in one.means or (name == RECALL and one.unmeasurable) for one in every)]


def unmeasurable_lines(summary: MembenchSummary) -> Iterator[str]:
    """Yield why evidence could not be looked for, if that is so."""
    if count := summary.everything.unmeasurable:
        yield f"evidence not measurable, since no passage names its source text: {plural(count, 'question')}"
    if count := summary.everything.partly:
        told = "some of the passages name no text that they are from, and count as no evidence"
        yield f"{told}: {plural(count, 'question')}"


def retried_lines(summary: MembenchSummary) -> Iterator[str]:
    """Yield how often a service was busy, if it was."""
    if summary.retries:
        were = f"{plural(summary.retries, 'request')} {'was' if summary.retries == 1 else 'were'}"
        yield f"{were} tried again after {summary.waited:.1f} s of waiting in all, which is in no latency and no ingest"


def datasets_section(datasets: Mapping[str, MembenchSummary]) -> Section:
    """Return what a run of pytest over the questions of datasets measured: for each file a table."""
    # A question that failed is another thing in a run.
    tables = [
        summary_table(summary, f"{name}: {plural(summary.everything.n, 'question')}", failed="error")
        for name, summary in datasets.items()
    ]
    facts = {name: groups(summary) for name, summary in datasets.items()} or None
    return Section("Datasets", tables, [legend(datasets.values())] if tables else [], key="datasets", facts=facts)


def groups(summary: MembenchSummary) -> dict[str, Any]:
    """Return what a summary has of all questions and of each category, with all metrics, as plain JSON types."""
    return {
        "all": _group(summary.everything),
        "categories": {name: _group(group) for name, group in summary.categories.items()},
    }


def legend(summaries: Iterable[MembenchSummary]) -> str:
    """Return what the cells of a table are."""
    found = list(summaries)
    fewer = ", n where it is of fewer" if any(map(_partial, found)) else ""
    mean, also = "mean", ""
    if repeats := {one.repeats for one in found} - {1}:
        same = len({one.repeats for one in found}) == 1
        mean, also = f"mean of {f'{repeats.pop()} ' if same else 'all '}ingests", ", and over ingests"
    groups = {one.everything.clusters for one in found if one.everything.clusters < one.everything.n}
    if not groups:
        return f"{mean} (95 % interval{also and f' over questions{also}'}){fewer}"
    if groups == {1}:
        return f"{mean} (95 % interval for more questions about this one conversation{also}){fewer}"
    counts = " or ".join(f"{count:,}" for count in sorted(groups))
    return f"{mean} (95 % interval over {counts} groups of questions that share a conversation{also}){fewer}"


def mean_cell(group: CategoryResult, name: str) -> str:
    """Return the mean of a metric with its interval, and n where it is of fewer questions than the row."""
    mean = group.means.get(name)
    if mean is None or mean.value is None:
        return "not measurable" if name == RECALL and group.unmeasurable else "–"
    fewer = f", n {mean.n:,}" if mean.n != _judged(group) else ""
    return f"{interval_cell(mean)}{fewer}"


def _judged(group: CategoryResult) -> int:
    return group.n - group.failures - group.unjudged


def _partial(summary: MembenchSummary) -> bool:
    groups = (*summary.categories.values(), summary.everything)
    return any(mean.n != _judged(group) for group in groups for name, mean in group.means.items() if name in SHOWN)


def _group(group: CategoryResult) -> dict[str, Any]:
    means: Mapping[str, Mean] = group.means
    return {
        "n": group.n,
        "clusters": group.clusters,
        "failures": group.failures,
        "unjudged": group.unjudged,
        "unmeasurable": group.unmeasurable,
        "partly_measurable": group.partly,
        "metrics": {name: {**(_plain(mean) or {}), **_spread(group.spreads.get(name))} for name, mean in means.items()},
        **floors_json(group),
        **reading_json(group),
    }


def _spread(one: IngestSpread | None) -> dict[str, Any]:
    return {} if one is None else {"ingests": list(one.means), "deviation": one.deviation}


def comparison_report_of(found: BenchComparison) -> Report:
    """Return the comparison of two memories: the tests of each metric, and how to read them."""
    table = Section("", [comparison_table(found)], [verdict(found), *comparison_notes(found)])
    sections = [Section("", lines=list(_titles(found))), table]
    return Report(f"Recall comparison: {headline(found)}", sections, comparison_json(found))


def headline(found: BenchComparison) -> str:
    """Return what is shown, in a few words."""
    for what in (ChangeSummary.DROP, ChangeSummary.RISE):
        if names := found.shown(what):
            return f"a {what} is shown ({listed(SHOWN[name] for name in names)})"
    return "nothing is shown"


def verdict(found: BenchComparison) -> str:
    """Return what the comparison shows."""
    told = [
        f"A {what} is shown in {listed(SHOWN[name] for name in names)}."
        for what in (ChangeSummary.DROP, ChangeSummary.RISE)
        if (names := found.shown(what))
    ]
    if told:
        return " ".join(told)
    few = _too_few(found) == len(found.metrics)
    if not any(one.fell or one.rose for one in found.metrics.values()):
        return f"No question differs{', and no difference could have been shown' if few else ''}."
    return "No difference could have been shown." if few else "Could be chance."


def _titles(found: BenchComparison) -> Iterator[str]:
    for name, one in (("BASE", found.base), ("HEAD", found.head)):
        many = f", {plural(len(one.ingests), 'ingest')}" if one.further else ""
        yield one_line(f"{name} {one.name}: {_asked(one.arguments)}{many}")
    names = ("only in BASE", "only in HEAD", "failed in one of them")
    left = [f"{count:,} {name}" for name, count in zip(names, found.left, strict=True) if count]
    yield f"{plural(found.pairs, 'question')} in both" + (f"; not compared: {', '.join(left)}" if left else "")


def _asked(arguments: Mapping[str, Any]) -> str:
    asked = "all that it holds" if arguments.get("whole") else plural(arguments["k"], "passage")
    on = f"{arguments.get('memory')} on {arguments.get('dataset')} ({arguments.get('file')})"
    read = read_by(arguments.get("reader", ""), arguments.get("prompt", ""))
    return f"{on}, {asked}, {stored_by(arguments)}{read}"


def comparison_table(found: BenchComparison) -> TextTable:
    """Return the table of a comparison: the tests of each metric."""
    return TextTable("", _head(found), _rows(found))


def _head(found: BenchComparison) -> tuple[str, ...]:
    level = percent(1 - found.alpha)
    return ("metric", "n", "BASE", "HEAD", f"difference ({level})", "lower", "higher", "p, Holm")


def _rows(found: BenchComparison) -> list[tuple[str, ...]]:
    return [(SHOWN[name], *_row(one)) for name, one in found.metrics.items()]


def _row(one: Paired) -> tuple[str, ...]:
    low, high = one.change.interval
    difference = f"{one.head - one.base:+.2f} ({low:+.2f} to {high:+.2f})"
    p = "too few" if one.change.adjusted is None else p_value(one.change.adjusted)
    means = (f"{one.change.pairs:,}", f"{one.base:.2f}", f"{one.head:.2f}")
    return (*means, difference, f"{len(one.fell):,}", f"{len(one.rose):,}", p)


def comparison_notes(found: BenchComparison) -> Iterator[str]:
    """Yield how it is to be read, one sentence each."""
    tested = sum(one.change.adjusted is not None for one in found.metrics.values())
    groups = {len(one.change.counts.clusters) for one in found.metrics.values()}
    by = (
        "flips of the signs of whole groups of questions that share a conversation"
        if max(groups)
        else "McNemar's exact test of yes and no, sign flips of scores"
    )
    if tested > 1:
        yield f"p of {tested} metrics, adjusted together: {by}"
    yield from few_conversations(found)
    if changed := found.asked_otherwise:
        yield f"asked otherwise in {listed(changed)}, so that the memory is not all that BASE and HEAD differ in"
    if found.base.further or found.head.further:
        yield (
            "of several ingests each question has the mean of its values; the test is over questions, and how far the"
            " ingests differ is told by `recall memory run` of each"
        )
    if found.judges:
        yield one_line(f"judged by {found.judges}")
    if found.unjudged:
        yield one_line(f"what models judged is not compared: {found.unjudged}")


def few_conversations(found: BenchComparison) -> Iterator[str]:
    """Yield a sentence where there are so few conversations that no result could show a difference."""
    changed = [one.change for one in found.metrics.values() if one.change.counts.clusters]
    few = [(len(one.counts.clusters), one.tests) for one in changed if one.least > found.alpha]
    if few:
        count, tests = min(few)
        times = f", {tests} times that for the smallest of {tests} metrics" if tests > 1 else ""
        yield (
            f"the questions are about {plural(count, 'conversation')}: of so few no difference can be shown at"
            f" {percent(1 - found.alpha)}, as p is never below 2 / 2^{count}{times}"
        )


def _too_few(found: BenchComparison) -> int:
    """Return of how many metrics no result could have shown a difference."""
    return sum(one.change.least > found.alpha for one in found.metrics.values())


def comparison_json(found: BenchComparison) -> dict[str, Any]:
    """Return the comparison as plain JSON types; `p_holm` is null where so few questions cannot show anything."""
    return {
        "version": 1,
        "base": _run(found.base),
        "head": _run(found.head),
        "alpha": found.alpha,
        "pairs": found.pairs,
        "not_compared": found.left._asdict(),
        "asked_otherwise": found.asked_otherwise,
        "judges": found.judges or None,
        "drops": found.shown(ChangeSummary.DROP),
        "rises": found.shown(ChangeSummary.RISE),
        "metrics": {name: _metric(one) for name, one in found.metrics.items()},
    }


def _run(one: JournalContents) -> dict[str, Any]:
    return {"journal": one.name, "ingests": len(one.ingests), **one.arguments}


def _metric(one: Paired) -> dict[str, Any]:
    return {
        "n": one.change.pairs,
        "base": one.base,
        "head": one.head,
        "difference": one.head - one.base,
        "interval": list(one.change.interval),
        "test": one.change.test,
        "clusters": len(one.change.counts.clusters) or None,
        "p": one.change.p,
        "p_holm": one.change.adjusted,
        "shown": one.change.shown.value,
        "lower": list(one.fell),
        "higher": list(one.rose),
    }


HEAD = ("reported by others", "model", "category", "of theirs", "theirs", "ours")


def reported_section(reported: Sequence[Reported], summary: MembenchSummary, *, same_file: bool) -> Section:
    """Return what papers report; `same_file` says that ours was asked of the published file, and all of it."""
    rows = [
        (
            f"{one.system} [{_number(one, reported)}]",
            one.model,
            category_title(one.category or "all"),
            one.about,
            f"{one.value:g}",
            _ours(one, summary),
        )
        for one in reported
    ]
    notes = [f"[{number}] {source}" for number, source in enumerate(_sources(reported), start=1)]
    if not same_file:
        notes.insert(
            0, "ours are of another file, or of a part of it, so that no two figures are of the same questions"
        )
    figures = [
        {**one._asdict(), "category": one.category or None, "measured_here": False, "ours": _plain(_mean(one, summary))}
        for one in reported
    ]
    told = "NOT MEASURED HERE: figures from papers, by other models, prompts and judges than ours"
    facts = {"same_file": same_file, "figures": figures}
    return Section("", [TextTable("", HEAD, rows)], notes, [told], key="published", facts=facts)


def _mean(one: Reported, summary: MembenchSummary) -> Mean | None:
    group = summary.categories.get(one.category) if one.category else summary.everything
    return None if group is None else group.means.get(one.metric)


def _ours(one: Reported, summary: MembenchSummary) -> str:
    mean = _mean(one, summary)
    return "–" if mean is None or mean.value is None else f"{mean.value:.3f}"


def _plain(mean: Mean | None) -> dict[str, Any] | None:
    return None if mean is None else {"value": mean.value, "n": mean.n, "low": mean.low, "high": mean.high}


def _sources(reported: Sequence[Reported]) -> list[str]:
    return list(dict.fromkeys(one.source for one in reported))


def _number(one: Reported, reported: Sequence[Reported]) -> int:
    return _sources(reported).index(one.source) + 1
