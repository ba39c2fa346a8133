"""Render a scorecard for the terminal, as JSON, and as commands of a CI job; failures first.

https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from textwrap import indent
from types import MappingProxyType
from typing import Any, NamedTuple

from pytest_recall.files.sections import fields, terminal_body
from pytest_recall.files.wording import listed, one_line
from pytest_recall.models.reply_names import joined
from pytest_recall.results import gates_text, regressions_text, sentences
from pytest_recall.results.ending_text import explanation, no_verdict_json
from pytest_recall.results.of_change_text import of_change_section
from pytest_recall.results.scorecard import CaseResult, FailureKind, Scorecard, is_incomplete
from pytest_recall.results.scorecard_markdown import (
    MAX_MARKDOWN,
    OPEN,
    TITLES,
    markdown,
    moved,
    notes,
    partial,
)
from pytest_recall.results.sections import report_sections
from pytest_recall.results.sentences import counted, headline
from pytest_recall.results.standing import SAME_REQUEST
from pytest_recall.trials.record import Header, Record
from pytest_recall.trials.trial import Outcome, Trial

MAX_WHOLE = 20
"""Cases of each kind that are shown whole, unless more is asked for; the next ones have a line each."""


class ShownFailure(NamedTuple):
    """What pytest shows of a case that failed or has no verdict."""

    text: str
    """Its lines; empty for none."""
    is_traceback: bool = False
    """Whether it is a traceback, which says last what it is about."""


NOTHING_SHOWN = ShownFailure("")

MAX_NOTES = 3
"""Notes that are shown, unless more is asked for."""

MAX_TERMINAL = 100
"""Cases of each kind that are listed."""


def failed(
    header: Header,
    card: Scorecard,
    verbosity: int,
    shown: Mapping[str, ShownFailure],
    command: str,
    *,
    brief: bool = False,
) -> Iterator[str]:
    """Yield the failed cases by what they are; `command` lists those that are folded to a line.

    Where a person chose the cases, all of them are shown.
    """
    folded = {}
    for kind, results in card.failures().items():
        whole = kind in OPEN or not header.scheduled or (kind is FailureKind.BEHIND and verbosity > 0)
        if not whole and verbosity <= 0:
            folded[kind] = len(results)
            continue
        yield f"{TITLES.get(kind, kind.value)} ({len(results)}):"
        most = 0 if verbosity < -1 or not whole else len(results) if verbosity > 0 else MAX_WHOLE
        for number, result in enumerate(results[: max(most, MAX_TERMINAL)]):
            yield from _whole(header, card, result, shown, brief=brief) if number < most else (_line(header, result),)
        if (more := len(results) - max(most, MAX_TERMINAL)) > 0:
            yield f"  and {more} more in scorecard.md"
    if folded:
        if FailureKind.BEHIND in folded:
            yield f"what failed behind on the target branch: {SAME_REQUEST}"
        told = ", ".join(counted(kind, count) for kind, count in folded.items())
        yield f"{told}: `{command}` {'shows it' if sum(folded.values()) == 1 else 'lists them'}"


def undecided(card: Scorecard, verbosity: int, shown: Mapping[str, ShownFailure]) -> Iterator[str]:
    """Yield the cases that came to no verdict; errors with what pytest has to show of them."""
    results = card.with_outcome(Outcome.ERROR, Outcome.SKIPPED)
    if not results:
        return
    yield f"no verdict ({len(results)})" + (":" if sentences.on_no_schedule(results) else ", no box moved:")
    most = 0 if verbosity < -1 else len(results) if verbosity > 0 else MAX_WHOLE
    alike: dict[object, list[Trial]] = {}
    for result in results:
        trial = result.trial
        kind = (trial.outcome, _cause(trial, "\n".join(_said(trial, shown))))
        alike.setdefault(trial.case_id if verbosity > 0 else kind, []).append(trial)
    for number, (trial, *more) in enumerate(alike.values()):
        if number == max(most, MAX_TERMINAL):
            break
        first, rest = _said(trial, shown if number < most else {})
        yield f"  {trial.outcome}: {trial.case_id}: {first}"
        yield from indent(rest, "      ").splitlines()
        if more:
            yield f"      the same of {len(more)} more: {listed(one.case_id for one in more)}"
    if (left := len(alike) - max(most, MAX_TERMINAL)) > 0:
        yield f"  and {left} more in scorecard.md"


def _said(trial: Trial, shown: Mapping[str, ShownFailure]) -> tuple[str, str]:
    """Return why a case came to no verdict: the line beside its id, and the lines below."""
    text, is_traceback = shown.get(trial.case_id, NOTHING_SHOWN) if trial.outcome is Outcome.ERROR else NOTHING_SHOWN
    if text and not is_traceback and trial.tally is None:
        first, _, rest = text.partition("\n")
        return first, rest
    # A traceback says last what it is about.
    why = one_line(explanation(trial), 140)
    return (_placed(trial, why), text) if trial.outcome is Outcome.ERROR else (why, text)


_OWN = re.compile(r"\S+\.ndjson|`[^`]*`|“[^”]*”")
"""What the miss of a case says of its own: the cassette, the command that records it, and the words that differ."""


def _cause(trial: Trial, text: str) -> str:
    """Return what is said of a case without its id and its place: many cases have one cause.

    Of a call that is not recorded it is what was asked, and where that differs from what is.
    """
    if trial.where:
        text = text.replace(trial.where, "")
    if trial.ended_by == "miss":
        text = _OWN.sub("", text)
    return re.sub(rf"(?<![\w-]){re.escape(trial.case_id)}(?![\w-])", "", text)


def _whole(
    header: Header, card: Scorecard, result: CaseResult, shown: Mapping[str, ShownFailure], *, brief: bool
) -> Iterator[str]:
    trial = result.trial
    yield f"  {_moved(header, result)}"
    text = shown.get(trial.case_id, NOTHING_SHOWN).text
    yield from indent(text or _placed(trial, one_line(trial.note, 300)), "      ").splitlines()
    yield from (f"      {line}" for line in regressions_text.lines(header, card, result, text, brief=brief))


def _placed(trial: Trial, text: str) -> str:
    return f"{trial.where}: {text}" if trial.where else text


def _line(header: Header, result: CaseResult) -> str:
    trial = result.trial
    return "  " + one_line(f"{_moved(header, result)}: {trial.note}", 150)


def _moved(header: Header, result: CaseResult) -> str:
    way = moved(header, result)
    return f"{result.trial.case_id} ({way})" if way else result.trial.case_id


__all__ = ["MAX_MARKDOWN", "as_json", "markdown", "terminal"]


def terminal(
    record: Record,
    card: Scorecard,
    verbosity: int = 0,
    shown: Mapping[str, ShownFailure] = MappingProxyType({}),
    command: str = "recall score -v",
    *,
    brief: bool = False,
) -> Iterator[str]:
    """Yield the scorecard line by line, for a terminal.

    As with pytest's `-q` and `-v`, less is yielded for a lower `verbosity`: without `-v` a run in which nothing fails
    takes a dozen lines at the most. `shown` is what pytest has to show of failed cases, by id, and `command` lists what
    is left out. A `brief` one says why a case failed, and not what it was asked.
    """
    header = record.header
    yield headline(header, card)
    if advice := sentences.advice(header, card):
        yield f"what to do: {advice}"
    if told := sentences.partial(record, card):
        yield told
    yield from terminal_body(of_change_section(header, card))
    yield from failed(header, card, verbosity, shown, command, brief=brief)
    yield from undecided(card, verbosity, shown)
    if card.not_run:
        yield f"chosen but not run ({len(card.not_run)}): {listed(case_id for case_id, _ in card.not_run)}"
    if header.unaffordable:
        beyond = listed(header.unaffordable)
        yield f"affected, and not asked for want of budget ({len(header.unaffordable)}): {beyond}"
    gates, *figures = report_sections(record, card)
    yield from terminal_body(gates)
    yield from sentences.freshness(header, card)
    if verbosity < 0:
        return
    if verbosity > 0:
        yield sentences.title(header, card.models) + partial(record)
    for section in figures:
        yield from terminal_body(section, brief=verbosity <= 0)
    yield from _notes(header, card, verbosity, command)
    yield sentences.limit(header, card)


def _notes(header: Header, card: Scorecard, verbosity: int, command: str) -> Iterator[str]:
    """Yield what else is to be said of a run, as much of it as is read where not more is asked for."""
    every = notes(header, card)
    shown = every if verbosity > 0 else every[:MAX_NOTES]
    yield from shown
    if left := len(every) - len(shown):
        yield f"{left} more {'note' if left == 1 else 'notes'}: `{command}` shows {'it' if left == 1 else 'them'}"


def as_json(record: Record, card: Scorecard) -> dict[str, Any]:
    """Return the scorecard as plain JSON types; what is unknown is left out or null."""
    header, kinds, stand = record.header, card.failures(), card.last_verdicts(record.header)
    return {
        "version": 1,
        "run": header.run,
        "mode": header.mode,
        "date": header.date,
        "seed": header.seed,
        "pr": header.pr,
        "model": joined(card.models),
        "owner": header.owner,
        "state": header.state,
        "writes_state": header.writes,
        "exit_code": record.exit_code,
        "checkout_changed": header.checkout_changed,
        "complete": record.exit_code is not None and not card.not_run and not header.lost,
        "stop": None if record.stop is None else record.stop.to_json(),
        "shard": header.shard or None,
        "merged": list(header.merged),
        "lost": [one.to_json() for one in header.lost],
        "total": header.total,
        "chosen": len(header.picks),
        "not_chosen": {
            "not_due": header.not_due,
            "over_cap": header.over_cap,
            "unseen": header.unseen,
            "without_base": header.without_base,
        },
        "freshness": _freshness(header, card),
        "base": header.base or None,
        "not_compared": None if header.not_compared is None else header.not_compared._asdict(),
        "knows_change": header.knows_change,
        "replayed": None if header.replayed is None else header.replayed.to_json(),
        "affected": list(header.affected),
        **fields([of_change_section(header, card)]),
        "not_evaluated": [one._asdict() for one in card.not_evaluated(header)],
        "waiver": None if card.waiver is None else card.waiver._asdict(),
        "next_due": header.next_due,
        "counts": card.counts,
        "last_verdicts": None if stand is None else stand._asdict(),
        "regressions": [r.trial.case_id for r in kinds.get(FailureKind.REGRESSION, ())],
        "new_failures": [r.trial.case_id for r in kinds.get(FailureKind.NEW, ())],
        "known_failures": [r.trial.case_id for r in kinds.get(FailureKind.KNOWN, ())],
        "unseen_share_95": card.unseen,
        "failed": [_result(r) | regressions_text.as_json(card, r) for r in card.with_outcome(Outcome.FAILED)],
        "no_verdict": [
            _result(r) | no_verdict_json(r.trial) for r in card.with_outcome(Outcome.ERROR, Outcome.SKIPPED)
        ],
        "unproven": [
            {
                "id": r.trial.case_id,
                "outcome": r.trial.outcome.value,
                "judges": [judge._asdict() for judge in r.trial.unproven],
                "unconfirmed": r.trial.is_doubted,
            }
            for r in card.results
            if r.trial.is_unproven
        ],
        "programs_ran": {case_id: list(ran) for case_id, ran in sentences.programs_ran(card).items()},
        "not_run": [{"id": case_id, "reason": reason} for case_id, reason in card.not_run],
        "several_trials": [_repeats(r) for r in card.results if r.repeats is not None],
        "flake": {r.trial.case_id: r.flake._asdict() for r in card.results if r.flake is not None},
        "by_tries": [summary._asdict() for summary in card.by_tries],
        "quarantined": [one._asdict() for one in header.quarantined],
        "gates_loosened": list(card.loosened),
        "orphans": list(header.orphans),
        "moved": [{"from": old, "to": new} for old, new in header.moved],
        "model_swapped": header.swapped,
        "sources": card.sources,
        "let_through": record.let_through.to_json(),
        **fields(report_sections(record, card)),
    }


def _freshness(header: Header, card: Scorecard) -> dict[str, Any] | None:
    found = card.freshness(header)
    if found is None:
        return None
    return {
        "oldest": found.oldest and found.oldest.isoformat(),
        "oldest_case": found.case_id or None,
        "age_days": found.age,
        "overdue": found.overdue,
        "partial": found.partial,
        "unanswered": [
            {"id": case_id, "last_asked": one.last_asked.isoformat(), "days": one.days, "waived": one.waived or None}
            for case_id, one in sorted(found.unanswered.items())
        ],
    }


def _result(result: CaseResult) -> dict[str, Any]:
    trial = result.trial
    return {
        "id": trial.case_id,
        "outcome": trial.outcome.value,
        "reason": trial.reason,
        "note": trial.note,
        "box_before": result.before,
        "box_after": result.after,
        "regression": result.regression,
        "standing": result.failure.value if trial.outcome is Outcome.FAILED else None,
        "attempts": result.attempts,
        "where": trial.where or None,
    }


def _repeats(result: CaseResult) -> dict[str, Any]:
    found = result.repeats
    assert found is not None
    return {
        "id": found.case_id,
        "rule": result.trial.rule,
        "trials": found.trials,
        "passes": found.passed,
        "undecided": found.undecided,
        "pass_rate_95": None if found.interval is None else list(found.interval),
    }


MOST = 10
"""GitHub shows so many errors of a step, and as many warnings."""
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def annotation_lines(header: Header, card: Scorecard, below: str = "") -> Iterator[str]:
    """Yield the verdict, each regression and each missed gate as errors, and each new failure as a warning.

    `below` is the folder of the repository that paths are relative to. A case without a verdict is a warning too, and
    so is a fail that is not of the change. What is known to fail is no news on a pull request.
    """
    kinds = card.failures()
    regressions = kinds.get(FailureKind.REGRESSION, [])
    elsewhere = [*kinds.get(FailureKind.OUTSIDE, []), *kinds.get(FailureKind.BEHIND, [])]
    others = [*kinds.get(FailureKind.NEW, []), *elsewhere, *card.with_outcome(Outcome.ERROR)]
    missed = [standing for standing in card.gates if standing.stops("regression")]
    errors = [_command("error", "a gate is missed", gates_text.line(standing)) for standing in missed]
    errors += [_of_case("error", header, card, result, below) for result in regressions]
    if regressions or is_incomplete(header, card):
        errors.insert(0, _command("error", sentences.first_line(header, card), sentences.advice(header, card)))
    yield from errors[:MOST]
    yield from [_of_case("warning", header, card, result, below) for result in others][:MOST]


def _of_case(level: str, header: Header, card: Scorecard, result: CaseResult, below: str) -> str:
    trial = result.trial
    failed = trial.outcome is Outcome.FAILED
    standing = result.failure.value if failed else "no verdict"
    details = [one_line(explanation(trial), 300)]
    if failed:
        details += map(str.strip, regressions_text.lines(header, card, result))
    where = f"{below}/{trial.where}" if below else trial.where
    return _command(level, f"{standing}: {trial.case_id}", "\n".join(details), where)


def _command(level: str, title: str, told: str, where: str = "") -> str:
    path, _, line = where.rpartition(":")
    place = f"file={path.translate(_PROPERTY)},line={line}," if path and line.isdigit() else ""
    return f"::{level} {place}title={one_line(title).translate(_PROPERTY)}::{told.translate(_DATA)}"
