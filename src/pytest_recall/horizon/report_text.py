"""The figures of long-horizon runs, each as one section: a further figure is a further section here.

The terminal, Markdown, the HTML page and JSON all render these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from pytest_recall.files.sections import Report, Section, TextTable, fields
from pytest_recall.files.wording import listed, plural
from pytest_recall.horizon.aggregates import usd
from pytest_recall.horizon.published import PublishedRun, Stop
from pytest_recall.horizon.result import facts, judged_alike, since, unfinished
from pytest_recall.horizon.retrieval_text import LEXICAL, retrieval_section, unpointed
from pytest_recall.horizon.statistics import DAYS, FEW, PointMeans, RunStatistics, pairing, report
from pytest_recall.metrics.clustered import Clustered

_MARK = " *"
UNMEASURED = "hallucination is not measured: points are lexical, for the reference's words alone"
BY_QUESTION = "In brackets are 95 % intervals. A question that was asked many times counts as one for them."
STAR = f"* of fewer than {FEW} distinct questions: its interval says less than it should."
FAILURES = {
    "memory": "the memory broke",
    "timeout": "no answer in time",
    "answer": "no model answered",
    "judge": "no judge came to a verdict",
}


def horizon_report(runs: Sequence[PublishedRun]) -> Report:
    """Return what `runs` show, one after the other, and then the first side by side with each other one.

    In JSON shares are from 0 to 1, and slopes for each 100 days.
    """
    every = [list(run_sections(run, report(run))) for run in runs]
    pairs = [pairing_section(runs[0], run) for run in runs[1:]]
    plain = {
        "version": 1,
        "confidence": 0.95,
        "runs": [fields(sections) for sections in every],
        "pairings": [one.facts for one in pairs],
    }
    return Report("Recall report of long-horizon runs", [*chain.from_iterable(every), *pairs], plain)


def run_sections(run: PublishedRun, one: RunStatistics) -> Iterator[Section]:
    """Yield what a run is, what is missing of it, and then its figures."""
    yield _about(run, one)
    yield _missing(run, one)
    yield retrieval_section(one.retrieval)
    yield _scores(one)
    yield _checkpoints(run, one)
    yield _over_the_days(one)
    yield _judging(one)
    yield _boundaries(one)


def _about(run: PublishedRun, one: RunStatistics) -> Section:
    # Points say nothing without who gave them.
    lines = ["; ".join(f"{name}: {value}" for name, value in facts(run) if name != "not over")]
    alone = [answer for answer in run.evaluations if answer.answered_by == "passages"]
    if some := sum(bool(answer.answer.strip()) for answer in alone):
        what = "answer is" if some == 1 else "answers are"
        lines.append(f"{some:,} {what} the passages of the memory, which gave no answer of its own")
    if empty := len(alone) - some:
        lines.append(f"for {plural(empty, 'question')} the memory found nothing, so that the answer is empty")
    plain = {
        "name": one.name,
        "adapterName": one.adapter,
        "hallucinationMeasured": one.measured,
        "judgeModel": run.about.get("judgeModel"),
        "appellateJudgeModel": run.about.get("appellateJudgeModel"),
        "over": not unfinished(run),
    }
    return Section(f"Run {one.name}{one.adapter and f' ({one.adapter})'}", lines=lines, facts=plain)


def _missing(run: PublishedRun, one: RunStatistics) -> Section:
    """Return what is in no mean, or should perhaps not be in one."""
    lines = []
    if partial := unfinished(run):
        lines.append(f"partial: {partial}{since(run)}")
    if one.everything.points.value is None:
        lines.append(LEXICAL if one.retrieval is not None and not one.measured else "no answer has points")
    elif not one.measured:
        lines.append(UNMEASURED)
    if one.unpointed:
        lines.append(unpointed(one.unpointed))
    if one.failures:
        told_failures = ", ".join(f"{count:,} {FAILURES.get(name, name)}" for name, count in one.failures.items())
        lines.append(f"no points, and in no mean: {told_failures}")
    if one.hollow:
        lines.append(f"not in it, since no file holds their answers: the checkpoints {listed(one.hollow)}")
    if one.timed_out:
        were = "was" if one.timed_out == 1 else "were"
        lines.append(
            f"{plural(one.timed_out, 'answer')} never came, and {were} judged like an answer by the program that ran"
            " it; the means have it so"
        )
    plain = {"failures": dict(one.failures), "timedOut": one.timed_out, "hollow": list(one.hollow)}
    return Section("What is missing", lines=lines, facts=plain)


def _scores(one: RunStatistics) -> Section:
    every = {"all": one.everything, **one.categories}
    plain = {"all": _plain(one.everything), "categories": {name: _plain(some) for name, some in one.categories.items()}}
    if one.everything.points.value is None:
        return Section("Scores", facts=plain)
    rows = [_row(name, scores, one.measured) for name, scores in every.items()]
    notes = [BY_QUESTION, *([STAR] if any(scores.few for scores in every.values()) else ())]
    return Section("Scores", [TextTable("", _head(one.measured), rows)], notes, facts=plain)


def _checkpoints(run: PublishedRun, one: RunStatistics) -> Section:
    pointed = one.retrieval is None or one.everything.points.n > 0
    plain = [
        {"persona": persona, "label": label, "days": days, **_plain(scores)}
        for persona, label, days, scores in one.stops
    ]
    head = ("checkpoint", "days", *(_head(one.measured)[1:] if pointed else ("asked",)), "no points", "cost")
    rows = [_stop(stop, of if pointed else None) for stop, (*_, of) in zip(run.stops, one.stops, strict=True)]
    return Section("Checkpoints", [TextTable("", head, rows)] if rows else [], key="checkpoints", facts=plain)


def _stop(stop: Stop, of: PointMeans | None) -> tuple[str, ...]:
    cost = usd(stop.evaluations)
    lost = sum(one.points is None for one in stop.evaluations)
    label, *rest = (stop.label, f"{len(stop.evaluations):,}") if of is None else _row(stop.label, of, stop.measured)
    price = "unknown" if cost is None or not stop.evaluations else f"${cost:,.4f}"
    return (label, f"{stop.days:,}", *rest, f"{lost:,}", price)


def _over_the_days(one: RunStatistics) -> Section:
    both, lines = one.hallucination_quartiles, []
    if one.quartiles is not None:
        made_up = f", hallucination {100 * both.first:.1f} to {100 * both.last:.1f} %" if both else ""
        lines.append(
            f"first to last quarter of the checkpoints: {one.quartiles.first:.2f} to {one.quartiles.last:.2f}"
            f" points{made_up}"
        )
    if one.slope.value is not None:
        made_up = f", hallucination {_signed(one.hallucination_slope, 100, 1)} percentage points"
        lines.append(
            f"with {DAYS} more days, on the same questions: {_signed(one.slope)} points"
            f"{made_up if one.measured else ''} ({plural(one.slope.clusters, 'question')} asked more than once)"
        )
    plain = {
        "quartiles": one.quartiles and one.quartiles._asdict(),
        "hallucinationQuartiles": both and both._asdict(),
        "slope": one.slope._asdict(),
        "hallucinationSlope": one.hallucination_slope._asdict(),
    }
    return Section("Over the days", lines=lines, facts=plain)


def _judging(one: RunStatistics) -> Section:
    told, again, lines = one.appeals, one.repeatability, []
    if told.asked:
        unknown = f", of {told.asked - told.known:,} no file says" if told.known < told.asked else ""
        lines.append(
            f"second judge: asked {told.asked:,} times; raised {told.raised:,}, lowered {told.lowered:,}, left"
            f" {told.known - told.raised - told.lowered:,} as they were{unknown}; {told.overturned:,} no longer failed,"
            f" {told.flipped:,} times it saw hallucination otherwise"
        )
    if again.groups:
        lines.append(
            f"repeatability: of {plural(again.groups, 'answer')} given word for word more than once,"
            f" {again.points_differ:,} got other points"
            + (f", {again.hallucination_differs:,} another verdict on hallucination" if one.measured else "")
        )
    repeated = {
        "groups": again.groups,
        "pointsDiffer": again.points_differ,
        "hallucinationDiffers": again.hallucination_differs,
    }
    return Section("How it was judged", lines=lines, facts={"appeals": told._asdict(), "repeatability": repeated})


def _boundaries(one: RunStatistics) -> Section:
    title, key, found = "What may be told where", "disclosures", one.disclosures
    if found is None:
        return Section(title, key=key)
    told = (
        f"boundaries: leaks {_share(found.leak, found.unknown_leaks)}, over-refusals"
        f" {_share(found.over_refusal, found.unknown_refusals)}"
    )
    plain = {
        "leak": {**found.leak._asdict(), "unknown": found.unknown_leaks},
        "overRefusal": {**found.over_refusal._asdict(), "unknown": found.unknown_refusals},
    }
    return Section(title, lines=[told], key=key, facts=plain)


def pairing_section(first: PublishedRun, second: PublishedRun) -> Section:
    """Return what two runs come to side by side."""
    both, alike, lines = pairing(first, second), judged_alike(first, second), []
    if both.pairs:
        equal = both.pairs - both.better - both.worse
        made_up = (
            f"{_signed(both.hallucination, 100, 1)} percentage points" if both.measured else "not measured in both"
        )
        lines.append(
            f"on {plural(both.pairs, 'answer')} to {plural(both.questions, 'question')} that both were asked after"
            f" the same day: {_signed(both.points)} points, hallucination {made_up};"
            f" better {both.better:,}, worse {both.worse:,}, equal {equal:,}"
        )
    if both.recall.value is not None:
        lines.append(
            f"recall of the relevant days, in {plural(both.recall.n, 'answer')} of both:"
            f" {_signed(both.recall, 100, 1)} percentage points"
        )
    elif not both.pairs:
        lines.append("nothing that was measured was asked in both after the same day: the runs cannot be compared")
    if both.pairs and not alike:
        lines.append("the runs were judged by different models, or in different ways: the difference may be theirs")
    if both.changed:
        lines.append(f"left out, since question or reference is another one: {both.changed:,}")
    if both.apart:
        lines.append(f"asked in both, but never after the same day, and left out: {plural(both.apart, 'question')}")
    plain = {
        "first": both.first,
        "second": both.second,
        "points": both.points._asdict(),
        "hallucination": both.hallucination._asdict(),
        "recall": both.recall._asdict(),
        "pairs": both.pairs,
        "questions": both.questions,
        "better": both.better,
        "worse": both.worse,
        "changed": both.changed,
        "apart": both.apart,
        "hallucinationMeasured": both.measured,
        "judgedAlike": alike,
    }
    return Section(f"Run {both.second} against {both.first}", lines=lines, facts=plain)


def _head(measured: bool) -> tuple[str, ...]:
    """Return the head of a table of points; those that no model gave are named as what they are."""
    points = f"{'' if measured else 'lexical '}points of 6"
    return ("", "answers", "questions", points, "content %", "hallucination %", "perfect %", "failing %")


def _row(name: str, one: PointMeans, measured: bool) -> tuple[str, ...]:
    return (
        f"{name}{_MARK if one.few else ''}",
        f"{one.points.n:,}",
        f"{one.points.clusters:,}",
        value(one.points, 1, 2),
        value(one.recall, 100, 1),
        value(one.hallucination, 100, 1) if measured else "not measured",
        # Their intervals are in JSON: the table is wide enough.
        *("–" if share.value is None else f"{100 * share.value:.1f}" for share in (one.perfect, one.failing)),
    )


def value(one: Clustered, unit: float, digits: int) -> str:
    """Return a value with its interval in brackets, where there is one."""
    if one.value is None:
        return "–"
    if one.low is None or one.high is None:
        return f"{unit * one.value:.{digits}f}"
    return f"{unit * one.value:.{digits}f} ({unit * one.low:.{digits}f}–{unit * one.high:.{digits}f})"


def _signed(one: Clustered, unit: float = 1, digits: int = 2) -> str:
    if one.value is None:
        return "unknown"
    value = f"{unit * one.value:+.{digits}f}"
    if one.low is None or one.high is None:
        return value
    return f"{value} ({unit * one.low:+.{digits}f} to {unit * one.high:+.{digits}f})"


def _share(one: Clustered, unknown: int) -> str:
    if one.value is None:
        return f"– (unknown of {plural(unknown, 'answer')})" if unknown else "– (not asked)"
    told = f"{value(one, 100, 1)} % of {plural(one.n, 'answer')}"
    return f"{told} ({unknown:,} unknown)" if unknown else told


def _plain(one: PointMeans) -> dict[str, Any]:
    return {**{name: value._asdict() for name, value in one._asdict().items()}, "few": one.few}
