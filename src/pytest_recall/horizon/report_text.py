"""Render the report of long-horizon runs for terminals, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_recall.files.sections import TextTable
from pytest_recall.files.wording import cell, grid, listed, markdown_grid, plural
from pytest_recall.horizon.published import PublishedRun
from pytest_recall.horizon.result import facts, judged_alike, unfinished
from pytest_recall.horizon.retrieval_text import (
    CATEGORY_HEAD,
    FLOOR_HEAD,
    LEXICAL,
    STOP_HEAD,
    category_rows,
    floor_rows,
    headline,
    remarks,
    stop_rows,
    unpointed,
)
from pytest_recall.horizon.retrieval_text import as_json as retrieval_json
from pytest_recall.horizon.statistics import DAYS, FEW, Pairing, PointMeans, RunStatistics
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


def lines(
    reports: Sequence[RunStatistics],
    pairings: Sequence[Pairing],
    runs: Sequence[PublishedRun],
    *,
    markdown: bool = False,
) -> Iterator[str]:
    """Yield what `runs` show, one after the other, and then the first side by side with each other one."""
    for one, run in zip(reports, runs, strict=True):
        yield from _run(one, run, markdown)
        yield ""
    for both, run in zip(pairings, runs[1:], strict=True):
        yield from _pairing(both, judged_alike(runs[0], run), markdown)
        yield ""
    yield _text(BY_QUESTION, markdown)
    if any(scores.few for one in reports for scores in one.categories.values()):
        yield _text(STAR, markdown)


def _run(one: RunStatistics, run: PublishedRun, markdown: bool) -> Iterator[str]:
    title = f"{one.name}: {one.adapter}" if one.adapter else one.name
    yield f"## {cell(title)}" if markdown else title
    if markdown:
        yield ""
    # Points say nothing without who gave them.
    yield _text("; ".join(f"{name}: {value}" for name, value in facts(run)), markdown)
    yield ""
    for found in tables(one):
        yield from markdown_grid(found.head, found.rows) if markdown else grid(found.head, found.rows)
        yield ""
    for sentence in sentences(one):
        yield f"- {cell(sentence)}" if markdown else sentence


def tables(one: RunStatistics) -> Iterator[TextTable]:
    """Yield the tables of a run: what was found, and the points of answers."""
    found = one.retrieval
    if found is not None and found.n:
        yield TextTable("Recall by category", CATEGORY_HEAD, category_rows(found))
        yield TextTable("Recall beside floors and ceiling", FLOOR_HEAD, floor_rows(found))
        yield TextTable("Recall by checkpoint", STOP_HEAD, stop_rows(found))
    if one.everything.points.value is not None:
        yield TextTable("Scores by category", head(one.measured), table(one))


def head(measured: bool) -> tuple[str, ...]:
    """Return the head of `table`; points that no model gave are named as what they are."""
    points = f"{'' if measured else 'lexical '}points of 6"
    return ("", "answers", "questions", points, "content %", "hallucination %", "perfect %", "failing %")


def table(one: RunStatistics) -> list[tuple[str, ...]]:
    """Return the rows below `head`: all answers, and then those of each category."""
    return [row(name, scores, one.measured) for name, scores in {"all": one.everything, **one.categories}.items()]


def sentences(one: RunStatistics) -> Iterator[str]:
    """Yield what a report says beside its table, one sentence each."""
    if one.everything.points.value is None:
        yield LEXICAL if one.retrieval is not None and not one.measured else "no answer has points"
    elif not one.measured:
        yield UNMEASURED
    yield from findings(one)
    yield from lost(one)


def findings(one: RunStatistics) -> Iterator[str]:
    """Yield what the answers show beside their means, one sentence each."""
    if one.retrieval is not None:
        yield headline(one.retrieval)
        yield from remarks(one.retrieval)
    if one.quartiles is not None:
        both = one.hallucination_quartiles
        made_up = f", hallucination {100 * both.first:.1f} to {100 * both.last:.1f} %" if both else ""
        yield (
            f"first to last quarter of the checkpoints: {one.quartiles.first:.2f} to {one.quartiles.last:.2f}"
            f" points{made_up}"
        )
    if one.slope.value is not None:
        made_up = f", hallucination {_signed(one.hallucination_slope, 100, 1)} percentage points"
        yield (
            f"with {DAYS} more days, on the same questions: {_signed(one.slope)} points"
            f"{made_up if one.measured else ''} ({plural(one.slope.clusters, 'question')} asked more than once)"
        )
    if one.appeals.asked:
        told = one.appeals
        unknown = f", of {told.asked - told.known:,} no file says" if told.known < told.asked else ""
        yield (
            f"second judge: asked {told.asked:,} times; raised {told.raised:,}, lowered {told.lowered:,}, left"
            f" {told.known - told.raised - told.lowered:,} as they were{unknown}; {told.overturned:,} no longer failed,"
            f" {told.flipped:,} times it saw hallucination otherwise"
        )
    if one.repeatability.groups:
        again = one.repeatability
        yield (
            f"repeatability: of {plural(again.groups, 'answer')} given word for word more than once,"
            f" {again.points_differ:,} got other points"
            + (f", {again.hallucination_differs:,} another verdict on hallucination" if one.measured else "")
        )
    if one.disclosures is not None:
        yield (
            f"boundaries: leaks {_share(one.disclosures.leak, one.disclosures.unknown_leaks)}, over-refusals"
            f" {_share(one.disclosures.over_refusal, one.disclosures.unknown_refusals)}"
        )


def lost(one: RunStatistics) -> Iterator[str]:
    """Yield what is in no mean, or should perhaps not be in one."""
    if one.unpointed:
        yield unpointed(one.unpointed)
    if one.failures:
        told_failures = ", ".join(f"{count:,} {FAILURES.get(name, name)}" for name, count in one.failures.items())
        yield f"no points, and in no mean: {told_failures}"
    if one.hollow:
        yield f"not in it, since no file holds their answers: the checkpoints {listed(one.hollow)}"
    if one.timed_out:
        were = "was" if one.timed_out == 1 else "were"
        yield (
            f"{plural(one.timed_out, 'answer')} never came, and {were} judged like an answer by the program that ran"
            " it; the means have it so"
        )


def _pairing(both: Pairing, alike: bool, markdown: bool) -> Iterator[str]:
    title = f"{both.second} against {both.first}"
    yield f"## {cell(title)}" if markdown else title
    yield ""
    for sentence in pairing(both, alike):
        yield f"- {cell(sentence)}" if markdown else sentence


def pairing(both: Pairing, alike: bool) -> Iterator[str]:
    """Yield what two runs come to side by side, one sentence each; `alike` says whether they were judged alike."""
    if both.pairs:
        equal = both.pairs - both.better - both.worse
        made_up = (
            f"{_signed(both.hallucination, 100, 1)} percentage points" if both.measured else "not measured in both"
        )
        yield (
            f"on {plural(both.pairs, 'answer')} to {plural(both.questions, 'question')} that both were asked after"
            f" the same day: {_signed(both.points)} points, hallucination {made_up};"
            f" better {both.better:,}, worse {both.worse:,}, equal {equal:,}"
        )
    if both.recall.value is not None:
        yield (
            f"recall of the relevant days, in {plural(both.recall.n, 'answer')} of both:"
            f" {_signed(both.recall, 100, 1)} percentage points"
        )
    elif not both.pairs:
        yield "nothing that was measured was asked in both after the same day: the runs cannot be compared"
    if both.pairs and not alike:
        yield "the runs were judged by different models, or in different ways: the difference may be theirs"
    if both.changed:
        yield f"left out, since question or reference is another one: {both.changed:,}"
    if both.apart:
        yield f"asked in both, but never after the same day, and left out: {plural(both.apart, 'question')}"


def row(name: str, one: PointMeans, measured: bool) -> tuple[str, ...]:
    """Return one row of the table."""
    marked = name + (_MARK if one.few else "")
    return (
        marked,
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


def _text(sentence: str, markdown: bool) -> str:
    return cell(sentence) if markdown else sentence


def as_json(
    reports: Sequence[RunStatistics], pairings: Sequence[Pairing], runs: Sequence[PublishedRun]
) -> dict[str, Any]:
    """Return the same as plain JSON types; shares are from 0 to 1, slopes for each 100 days."""
    return {
        "version": 1,
        "confidence": 0.95,
        "runs": [_report(one, run) for one, run in zip(reports, runs, strict=True)],
        "pairings": [
            {
                "first": one.first,
                "second": one.second,
                "points": one.points._asdict(),
                "hallucination": one.hallucination._asdict(),
                "recall": one.recall._asdict(),
                "pairs": one.pairs,
                "questions": one.questions,
                "better": one.better,
                "worse": one.worse,
                "changed": one.changed,
                "apart": one.apart,
                "hallucinationMeasured": one.measured,
                "judgedAlike": judged_alike(runs[0], run),
            }
            for one, run in zip(pairings, runs[1:], strict=True)
        ],
    }


def _report(one: RunStatistics, run: PublishedRun) -> dict[str, Any]:
    disclosures = one.disclosures
    return {
        "name": one.name,
        "adapterName": one.adapter,
        "hallucinationMeasured": one.measured,
        "judgeModel": run.about.get("judgeModel"),
        "appellateJudgeModel": run.about.get("appellateJudgeModel"),
        "over": not unfinished(run),
        "retrieval": retrieval_json(one.retrieval),
        "all": _scores(one.everything),
        "categories": {name: _scores(scores) for name, scores in one.categories.items()},
        "checkpoints": [
            {"persona": persona, "label": label, "days": days, **_scores(scores)}
            for persona, label, days, scores in one.stops
        ],
        "quartiles": None if one.quartiles is None else one.quartiles._asdict(),
        "hallucinationQuartiles": None
        if one.hallucination_quartiles is None
        else one.hallucination_quartiles._asdict(),
        "slope": one.slope._asdict(),
        "hallucinationSlope": one.hallucination_slope._asdict(),
        "appeals": one.appeals._asdict(),
        "repeatability": {
            "groups": one.repeatability.groups,
            "pointsDiffer": one.repeatability.points_differ,
            "hallucinationDiffers": one.repeatability.hallucination_differs,
        },
        "disclosures": disclosures
        and {
            "leak": {**disclosures.leak._asdict(), "unknown": disclosures.unknown_leaks},
            "overRefusal": {**disclosures.over_refusal._asdict(), "unknown": disclosures.unknown_refusals},
        },
        "failures": dict(one.failures),
        "timedOut": one.timed_out,
        "hollow": list(one.hollow),
    }


def _scores(one: PointMeans) -> dict[str, Any]:
    return {**{name: value._asdict() for name, value in one._asdict().items()}, "few": one.few}
