"""Render one run, or two side by side, as a self-contained HTML file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pytest_recall.files.sections import Section, report_lines
from pytest_recall.files.wording import one_line, plural
from pytest_recall.results import comparison_text, sentences
from pytest_recall.results.cause_text import cause_words
from pytest_recall.results.ending_text import explanation
from pytest_recall.results.regressions_text import from_where, link, suspects_line
from pytest_recall.results.report import CaseEntry, RunReport, scores
from pytest_recall.results.report_page import data as render_cases
from pytest_recall.results.report_page.data import charts, line, score
from pytest_recall.results.report_page.frame import document
from pytest_recall.results.scorecard import NOT_RUN, FailureKind
from pytest_recall.results.scorecard_markdown import moved, notes, partial
from pytest_recall.results.sections import COLUMNS, STANDING_OPEN, report_sections
from pytest_recall.results.sentences import counted, counts, pass_rate
from pytest_recall.trials import cost_text
from pytest_recall.trials.record import Header
from pytest_recall.trials.trial import Outcome

MOST = 10
"""Failures of a kind that stand open; the rest are folded."""
EXCERPT = 600
"""Characters of a text that stand in the page itself; all of it is in the case's details."""
NOT_RECORDED = "not recorded"
_LOOK_AT = (FailureKind.REGRESSION.value, FailureKind.NEW.value, Outcome.ERROR.value)
"""The kinds of cases that stand in the lines for a terminal."""
SYMBOLS = {"passed": "✓", "failed": "✗", "error": "!", "skipped": "–", NOT_RUN: "○"}
"""How an outcome looks, beside its name."""


class Facet(NamedTuple):
    """What cases can be filtered by: its name in links, what people call it, and its values with their counts."""

    name: str
    label: str
    values: list[tuple[str, int]]


class RunOrigin(NamedTuple):
    """Where a run is from: its project, and the subject of its commit and the page of that; empty if not known."""

    project: str = ""
    subject: str = ""
    url: str = ""


UNKNOWN_ORIGIN = RunOrigin()


class RunFact(NamedTuple):
    """What a reader wants to know of the run itself, and the page of that, empty if it has none."""

    name: str
    value: str
    href: str = ""


def page(
    report: RunReport,
    journal: str,
    links: str = "",
    stamp: str = "",
    origin: RunOrigin = UNKNOWN_ORIGIN,
    benches: Sequence[Section] = (),
) -> str:
    """Return the page of a run and its `origin`, and of a dataset's questions the tables of its `benches`.

    `journal` is where its texts are whole, as messages name it; `links` the address of the case files on the web,
    `stamp` tells this page from a later one where a server has both, while the run goes on. Raises RecallError where
    Jinja is not installed.
    """
    cases, drawn = render_cases.plain(report, links), charts(report)
    data: dict[str, Any] = {"charts": [chart.to_json() for chart in drawn], "journal": journal}
    return document(
        "run.html",
        data,
        lambda length: {"cases": render_cases.shortened(cases, length)},
        count=len(cases),
        journal=journal,
        stamp=stamp,
        charts=drawn,
        facts=_facts(report, origin),
        benches=benches,
        **_values(report, links, live=bool(stamp), benches=benches),
    )


def lines(report: RunReport, benches: Sequence[Section] = ()) -> Iterator[str]:
    """Yield what the page says first of a run, for a terminal: how far it has come, and what to look at."""
    record = report.record
    yield f"{record.header.run}: {_of_questions(report) if benches else counts(report.card)}"
    far = _so_far(report) if record.exit_code is None else sentences.partial(record, report.card)
    yield from filter(None, (far, pass_rate(record.header, report.card)))
    yield "; ".join(
        f"{one.name.lower()}: {one.value}" for one in _facts(report, UNKNOWN_ORIGIN) if one.value != NOT_RECORDED
    )
    for trial in record.trials[-1:]:
        word = _WORDS[trial.outcome] if benches else trial.outcome.value
        yield f"newest: {trial.case_id} {word}"
    shown = [(entry, entry.trial) for entry in report.entries if entry.trial is not None]
    bad = [(entry.kind, one) for entry, one in shown if entry.kind in _LOOK_AT]
    yield from (one_line(f"{kind}: {one.case_id}: {explanation(one)}", 300) for kind, one in bad[:MOST])
    if len(bad) > MOST:
        yield f"and {len(bad) - MOST:,} more"
    if report.against is not None and not benches:
        yield ""
        for section in comparison_text.comparison_sections(report.against, flips=False)[:2]:
            yield from section.lines
    if benches:
        yield from ("", *report_lines(benches))


_WORDS = {
    Outcome.PASSED: "passed",
    Outcome.FAILED: "did not pass",
    Outcome.SKIPPED: "not judged",
    Outcome.ERROR: "failed",
}
"""What came of a question to a memory, in the words of its table, in which `failed` is without an answer."""


def _of_questions(report: RunReport) -> str:
    """Return what the questions to a memory came to, each counted once."""
    found = report.card.counts
    return (
        ", ".join(f"{found[one.value]:,} {word}" for one, word in _WORDS.items() if found.get(one.value))
        or "none asked"
    )


def _values(report: RunReport, links: str, *, live: bool, benches: Sequence[Section]) -> dict[str, Any]:
    record, card = report.record, report.card
    told = _of_questions(report) if benches else verdict(report)
    goes_on = live and record.exit_code is None
    header = record.header
    # The tables of a benchmark have more than the section on datasets.
    sections = [one for one in report_sections(record, card) if not (benches and one.key == "datasets")]
    third = [entry for entry in report.entries if entry.outcome in (Outcome.ERROR.value, Outcome.SKIPPED.value)]
    return {
        "report": report,
        "title": f"{header.run}: {told}",
        "verdict": told,
        "mood": _mood(report),
        "subtitle": sentences.title(header, card.models) + ("" if goes_on else partial(record)),
        "counts": _counts(report),
        "health": pass_rate(header, card),
        "symbols": SYMBOLS,
        "partial": _so_far(report) if goes_on else sentences.partial(record, card),
        "chosen": f"{len(header.picks):,} of {plural(header.total, 'case')} chosen",
        "not_chosen": sentences.not_run(header),
        "limit": sentences.limit(header, card),
        "open_lines": [line for one in sections if one.key in STANDING_OPEN for line in one.lines],
        "sections": [one for one in sections if one.is_shown and one.key not in STANDING_OPEN],
        "regressions": [_failed(report, entry, links) for entry in report.regressions],
        "news": [_failed(report, entry, links) for entry in of_kind(report, FailureKind.NEW)],
        "known": [
            (entry.case_id, line(entry.trial.note)) for entry in of_kind(report, FailureKind.KNOWN) if entry.trial
        ],
        "most": MOST,
        "quarantined": [sentences.set_apart(one) for one in report.record.header.quarantined],
        "third": [(entry, explanation(entry.trial) if entry.trial else "") for entry in third],
        "unrun": [entry for entry in report.entries if entry.result is None],
        "apart": report.apart,
        "notes": notes(header, card),
        "facets": list(_facets(report.entries)),
        "rows": [_row(header, entry) for entry in report.entries],
        "against": _against(report),
        "missing": report.missing,
    }


def verdict(report: RunReport) -> str:
    """Return what came of the run in the words of the headline, each case counted once."""
    told = counts(report.card)
    return told[0].upper() + told[1:]


def _counts(report: RunReport) -> list[tuple[str, str, str]]:
    """Return the kinds of cases, those to look at first: its name, its symbol, and how many there are in words."""
    card = report.card
    told = [(kind.value, counted(kind, len(found))) for kind, found in card.failures().items()]
    others = (name for name in (*COLUMNS[2:], COLUMNS[0]) if card.counts.get(name))
    told += [(name, _counted(card.counts[name], name)) for name in others]
    return [(name, symbol(name), text) for name, text in told]


def symbol(kind: str) -> str:
    """Return how a case of a kind looks, beside the word."""
    return SYMBOLS.get(kind, SYMBOLS["failed"])


def _facts(report: RunReport, origin: RunOrigin) -> list[RunFact]:
    """Return what a reader wants to know of the run itself; what is not known is said to be."""
    record = report.record
    header = record.header
    unknown = NOT_RECORDED
    told = cost_text.cost_lines(report.spends, record.let_through)[:1]
    let_through = cost_text.let_through_words(record.let_through)
    commit = f"{header.commit[:12]} {one_line(origin.subject, 100)}".strip()
    return [
        RunFact("Project", origin.project or unknown),
        RunFact("Commit", commit or unknown, origin.url if header.commit else ""),
        RunFact("Branch", header.branch or unknown),
        RunFact("Began", header.started[:16].replace("T", " ") + " UTC" if header.started else unknown),
        RunFact("Took", unknown if record.seconds is None else duration(record.seconds)),
        RunFact("Cost", "; ".join(filter(None, (*told, let_through))) or "no call of a model was seen"),
    ]


def duration(seconds: float) -> str:
    """Return a time as people read it: `12.3 s`, `4 min 10 s`, `2 h 5 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _so_far(report: RunReport) -> str:
    """Return how far a run has come that has no end; it is unknown whether it will have one."""
    chosen, left = plural(len(report.record.header.picks), "chosen case"), len(report.card.not_run)
    return f"no end yet: {left:,} of {chosen} are to come, unless the run was cut off"


def _counted(count: int, outcome: str) -> str:
    return plural(count, outcome) if outcome == Outcome.ERROR.value else f"{count:,} {outcome}"


def _mood(report: RunReport) -> str:
    """Return how the verdict looks: a run with failures, none of which is a regression, is neither good nor bad."""
    if report.regressions:
        return "bad"
    return "good" if all(entry.outcome in ("passed", "skipped") for entry in report.entries) else "mixed"


def of_kind(report: RunReport, kind: FailureKind) -> list[CaseEntry]:
    """Return the cases that failed in one way, by id."""
    return [entry for entry in report.entries if entry.kind == kind.value]


def _failed(report: RunReport, entry: CaseEntry, links: str) -> dict[str, Any]:
    assert entry.result is not None
    trial = entry.result.trial
    touched = suspects_line(report.card, entry.result)
    return {
        "entry": entry,
        "move": moved(report.record.header, entry.result),
        "note": trial.note,
        "href": link(trial.where, links),
        "cause": cause_words(entry.result.cause),
        "suspects": f"{touched[:1].upper()}{touched[1:]}",
        "asked": entry.written and _excerpt(entry.written.asked),
        "reference": entry.written and _excerpt(entry.written.reference),
        "answer": _excerpt(trial.answer.text) if trial.answer is not None else None,
        "diff": entry.difference(),
        "last_pass": entry.last_pass and from_where(entry.last_pass),
    }


def _excerpt(text: str) -> str:
    if len(text) <= EXCERPT:
        return text
    return f"{text[:EXCERPT]}… ({len(text) - EXCERPT:,} more characters)"


def _row(header: Header, entry: CaseEntry) -> dict[str, Any]:
    trial = entry.trial
    return {
        "id": entry.case_id,
        "kind": entry.kind,
        "symbol": SYMBOLS[entry.outcome],
        "apart": entry.result is not None and entry.result.apart and entry.kind != FailureKind.QUARANTINED.value,
        "asked": line(entry.written.asked) if entry.written else "",
        "answer": line(trial.answer.text) if trial and trial.answer else "",
        "score": score(scores(trial)) if trial else "",
        "why": line(explanation(trial)) if trial else "",
        "scenario": entry.scenario,
        "move": moved(header, entry.result) if entry.result is not None else "",
        "flip": entry.flip,
        "before": entry.pair.base.outcome.value if entry.pair is not None else "",
    }


def _facets(entries: Iterable[CaseEntry]) -> Iterator[Facet]:
    """Yield what tells these cases apart."""
    every = list(entries)
    found = {
        ("outcome", "Outcome"): [render_cases.kinds(entry) for entry in every],
        ("flip", "Change"): [[entry.flip] for entry in every],
        ("scenario", "Scenario"): [[entry.scenario] for entry in every],
        ("dimension", "Dimension"): [[entry.dimension] for entry in every],
        ("tag", "Tag"): [list(entry.written.tags) if entry.written else [] for entry in every],
        ("judge", "Judge"): [list(entry.judges) for entry in every],
        ("source", "Source"): [[entry.source] for entry in every],
        ("reason", "Reason"): [[entry.reason] for entry in every],
    }
    for (name, label), values in found.items():
        counts = Counter(value for some in values for value in some if value)
        if len(counts) > 1 or any(count < len(every) for count in counts.values()):
            yield Facet(name, label, sorted(counts.items()))


def _against(report: RunReport) -> dict[str, Any] | None:
    found = report.against
    if found is None:
        return None
    return {
        "base": found.base.run,
        "head": found.head.run,
        "verdict": comparison_text.verdict(found),
        "sections": [one for one in comparison_text.comparison_sections(found, flips=False) if one.is_shown],
        "changed": [
            (name, [_changed(entry) for entry in report.entries if entry.flip == flip])
            for name, flip in (("Passed before and fails now", "lost"), ("Failed before and passes now", "gained"))
        ],
    }


def _changed(entry: CaseEntry) -> dict[str, Any]:
    """Return what two runs made of a case on which they do not agree."""
    assert entry.pair is not None
    assert entry.trial is not None
    return {
        "id": entry.case_id,
        "asked": entry.written and _excerpt(entry.written.asked),
        "sides": [
            (trial.outcome.value, _excerpt(trial.answer.text) if trial.answer else None, explanation(trial))
            for trial in (entry.pair.base, entry.trial)
        ],
        "diff": entry.change(),
    }
