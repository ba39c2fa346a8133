"""Render the scorecard in Markdown, for a file, a comment or a job's summary.

The verdict and what to do come first, then the regressions and what the run cannot show. The rest is folded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pytest_recall.files.sections import markdown_body
from pytest_recall.files.wording import cell, code, listed, prose
from pytest_recall.results import regressions_text, sentences
from pytest_recall.results.ending_text import explanation
from pytest_recall.results.of_change_text import of_change_section
from pytest_recall.results.scorecard import CaseResult, FailureKind, Scorecard
from pytest_recall.results.sections import BOXES, STANDING_OPEN, report_sections
from pytest_recall.results.sentences import counted
from pytest_recall.results.standing import SAME_REQUEST
from pytest_recall.results.stop_text import failed_item_text
from pytest_recall.trials.record import Header, Record
from pytest_recall.trials.trial import Outcome

MAX_MARKDOWN = 200
MAX_OPEN = 10
"""Failures of a kind that stand open; a screen has no more."""
OPEN = (FailureKind.REGRESSION, FailureKind.NEW, FailureKind.OUTSIDE)
"""The failures that are shown whole; of all others it is known that they fail, or they count for nothing."""
TITLES = {
    FailureKind.REGRESSION: "regressions",
    FailureKind.NEW: "new failures",
    FailureKind.OUTSIDE: "failures outside the change",
    FailureKind.KNOWN: "known failures",
}
MEANINGS = {
    FailureKind.REGRESSION: "These cases passed before, and fail now.",
    FailureKind.NEW: "These cases have no verdict from before this run.",
    FailureKind.OUTSIDE: "These cases passed before, and fail now. The change does not affect them: it is not blocked.",
    FailureKind.BEHIND: f"What failed behind on the target branch decides nothing here: {SAME_REQUEST}.",
    FailureKind.KNOWN: "A known failure failed at its last verdict before this run as well.",
    FailureKind.UNCONFIRMED: "What is not confirmed failed, and not often enough when it was asked again.",
    FailureKind.QUARANTINED: "A case in quarantine is set apart as unreliable, and blocks nothing.",
    FailureKind.UNCOUNTED: "What is not counted was judged by a model that is not known to judge as people do.",
}
"""What each kind of failure is, for readers who have not met the word."""


def markdown(record: Record, card: Scorecard, links: str = "") -> str:
    """Return the scorecard as a Markdown page; `links` is where the case files stand on the web, if they do."""
    header = record.header
    sections, of_change = report_sections(record, card), of_change_section(header, card)
    spent = next(section.lines[:1] for section in sections if section.key == "cost")
    counted_line = "; ".join((*filter(None, (sentences.further_counts(header, card),)), *spent))
    lines = [
        f"# {prose(sentences.first_line(header, card))}",
        "",
        f"**What to do:** {sentences.advice(header, card) or 'nothing'}.",
        "",
        *_cut_short(record, card),
        *([*markdown_body(of_change), ""] if of_change.is_shown else []),
        *([f"{prose(counted_line)}.", ""] if counted_line else []),
    ]
    for section in sections:
        lines += [*markdown_body(section), ""] if section.key in STANDING_OPEN and section.is_shown else []
    kinds = card.failures()
    for kind in (kind for kind in OPEN if kind in kinds):
        lines += _open(header, card, kind, kinds.pop(kind), links)
    if behind := kinds.pop(FailureKind.BEHIND, []):
        items = [line for item in _items(header, card, behind, links) for line in item]
        meaning = MEANINGS[FailureKind.BEHIND]
        lines += _folded(counted(FailureKind.BEHIND, len(behind)), [meaning, "", *items, *_more(behind)])
    others = [result for results in kinds.values() for result in results]
    if others:
        rows = [_failed_row(header, result, links) for result in others[:MAX_MARKDOWN]]
        names = ("case", "standing", *(("boxes",) if header.of_cases else ()), "why", "where")
        head = [f"| {' | '.join(names)} |", "|" + " --- |" * len(names)]
        meanings = [f"- {MEANINGS[kind]}" for kind in kinds if kind in MEANINGS]
        if header.of_cases:
            meanings.append(f"- {BOXES}")
        lines += _folded(
            ", ".join(counted(kind, len(results)) for kind, results in kinds.items()),
            [*([*meanings, ""] if meanings else []), *head, *rows, *_more(others)],
        )
    third = card.with_outcome(Outcome.ERROR, Outcome.SKIPPED)
    if third:
        rows = [
            f"| {code(r.trial.case_id)} | {r.trial.outcome} | {cell(explanation(r.trial))} |"
            for r in third[:MAX_MARKDOWN]
        ]
        told = "A crash, an upstream error or a skip is not a failed case"
        told += "." if sentences.on_no_schedule(third) else "; it moves no box."
        head = [told, "", "| case | outcome | why |", "| --- | --- | --- |"]
        lines += _folded(f"No verdict ({len(third)})", [*head, *rows, *_more(third)])
    if card.not_run:
        rows = [f"- {code(case_id)} ({reason})" for case_id, reason in card.not_run[:MAX_MARKDOWN]]
        lines += _folded(f"Chosen but not run ({len(card.not_run)})", [*rows, *_more(card.not_run)])
    if beyond := header.unaffordable:
        rows = [f"- {code(case_id)}" for case_id in beyond[:MAX_MARKDOWN]]
        lines += _folded(f"Affected, and not asked for want of budget ({len(beyond)})", [*rows, *_more(beyond)])
    lines += _folded("This run", [f"- {line}" for line in _of_run(record, card)])
    for section in sections:
        if section.is_shown and section.key not in STANDING_OPEN:
            lines += _folded(section.title, markdown_body(section))
    if remarks := notes(header, card):
        lines += _folded("Notes", [f"- {prose(text)}" for text in remarks])
    return "\n".join(lines)


def _of_run(record: Record, card: Scorecard) -> Iterator[str]:
    """Yield what a run was of, and what it says of all cases."""
    header, rest = record.header, sentences.not_run(record.header)
    yield prose(sentences.title(header, card.models) + partial(record)) + "."
    yield f"{len(header.picks)} of {header.total} cases chosen" + (f"; not run: {rest}." if rest else ".")
    yield sentences.limit(header, card)
    for line in sentences.freshness(header, card):
        yield f"{prose(line[0].upper() + line[1:])}."


def refusal(reasons: Iterable[str]) -> str:
    """Return the page of a run that was refused before it began, or left nothing else: a sentence for each reason."""
    return "\n".join(
        [
            "# Not evaluated: the run was refused, and no case was asked",
            "",
            "**What to do:** correct what is said below and run it again. No case has passed or failed.",
            "",
            *(f"- {prose(reason)}" for reason in reasons),
            "",
        ]
    )


def _cut_short(record: Record, card: Scorecard) -> Iterator[str]:
    if told := sentences.partial(record, card):
        yield from (f"**{prose(told[0].upper() + told[1:])}.**", "")
    if record.also:
        yield from (f"Failed beside the cases: {cell(listed(list(map(failed_item_text, record.also))))}.", "")
    if record.header.shard:
        shard = sentences.shard(record.header)
        yield from (f"{shard[0].upper()}{shard[1:]}.", "")


def _open(header: Header, card: Scorecard, kind: FailureKind, found: list[CaseResult], links: str) -> Iterator[str]:
    """Yield failures that stand open, as many as fit on a screen."""
    told = _items(header, card, found, links)
    yield from (f"## {TITLES[kind].capitalize()} ({len(found)})", "", MEANINGS[kind], "")
    for item in told[:MAX_OPEN]:
        yield from item
    yield ""
    if len(found) > MAX_OPEN:
        rest = [line for item in told[MAX_OPEN:] for line in item]
        yield from _folded(f"{len(found) - MAX_OPEN} more {TITLES[kind]}", [*rest, *_more(found)])


def _items(header: Header, card: Scorecard, found: list[CaseResult], links: str) -> list[list[str]]:
    """Return failures as items of a list, each in its lines, as many as a page has."""
    return [list(regressions_text.markdown(header, card, result, links)) for result in found[:MAX_MARKDOWN]]


def _folded(name: str, lines: Iterable[str]) -> list[str]:
    """Return `lines` under a line that opens them. Markdown is read in there after an empty line only."""
    return ["<details>", f"<summary>{name}</summary>", "", *lines, "", "</details>", ""]


def notes(header: Header, card: Scorecard) -> list[str]:
    """Return what else is to be said of a run, a sentence each."""
    told = (
        sentences.tries(card),
        sentences.torn(card),
        sentences.doubted(card),
        sentences.flaky(card),
        sentences.quarantine(header),
        sentences.unproven(card),
        sentences.replays(header, card),
        sentences.orphans(header),
        sentences.moved(header),
        sentences.other_checkout(header),
        sentences.other_model(header, card),
        sentences.swap(header),
        *sentences.replayed(header),
    )
    return [text for text in told if text]


def partial(record: Record) -> str:
    """Return that a run was cut off; empty if it was not."""
    return " (cut off before its end)" if record.exit_code is None else ""


def moved(header: Header, result: CaseResult) -> str:
    """Return the case's way between boxes, or that it went none; empty for a question that is on no schedule."""
    if not header.of_cases:
        return ""
    if header.writes:
        return sentences.move(result)
    return "new" if result.before is None else f"box {result.before}, not moved"


def _failed_row(header: Header, result: CaseResult, links: str) -> str:
    trial = result.trial
    where = regressions_text.place(trial.where, links).removeprefix(", ")
    way = (moved(header, result),) if header.of_cases else ()
    cells = (code(trial.case_id), result.failure.value, *way, cell(trial.note), where)
    return f"| {' | '.join(cells)} |"


def _more(items: Iterable[object]) -> list[str]:
    count = len(list(items))
    return ["", f"… and {count - MAX_MARKDOWN} more in scorecard.json"] if count > MAX_MARKDOWN else []
