"""Render a failed case: what it asks, how the answer differs from the last pass, the likely cause, how to repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from pytest_recall.files.eval_directory import SUFFIXES
from pytest_recall.files.wording import cell, code, one_line, prose
from pytest_recall.results.cause_text import cause_line, finding
from pytest_recall.results.regressions import CauseLabel, DiffPiece, word_diff
from pytest_recall.results.scorecard import CaseResult, FailureKind, LastPass, Scorecard
from pytest_recall.results.sentences import ran_line
from pytest_recall.results.standing import BEHIND, SAME_REQUEST
from pytest_recall.schedule.suspects import MOST, UNCOMMITTED, change_of, named
from pytest_recall.trials.detector import RatioRule, had_passed
from pytest_recall.trials.record import Header
from pytest_recall.trials.series import parse_rule

_SAID = (CauseLabel.UNKNOWN, CauseLabel.PROVIDER, CauseLabel.OUTSIDE)
"""Causes that say no more than that no change is known to have touched the case."""
_PLAIN = {"same": "{}", "gone": "[-{}-]", "new": "{{+{}+}}"}
_MARKED = {"same": "{}", "gone": "~~{}~~", "new": "**{}**"}
EXCERPT = 300
"""Characters of a question or an answer that are shown."""


def lines(
    header: Header, card: Scorecard, result: CaseResult, shown: str = "", *, brief: bool = False
) -> Iterator[str]:
    """Yield what is known of a failed case beside its note, for a terminal; without what pytest has `shown` of it.

    A `brief` text leaves out what was asked and answered.
    """
    since = _since_last_pass(card, result)
    if not shown and not brief:
        for name, text in _texts(card, result):
            yield f"  {name + ':':<9} {one_line(text, EXCERPT)}"
    yield from (f"{name}: {one_line(_marked(pieces, _PLAIN), EXCERPT)}" for name, pieces in since)
    yield from _sentences(header, card, result, shown)
    yield f"to repeat it{_price(header, card, result)}: {' && '.join(commands(header, card, result))}"


def markdown(header: Header, card: Scorecard, result: CaseResult, links: str) -> Iterator[str]:
    """Yield a failed case as an item of a list in Markdown; `links` is where its file stands on the web, if it does."""
    trial = result.trial
    yield f"- **{code(trial.case_id)}**{place(trial.where, links)}: {cell(trial.note)}"
    yield from (f"  - {name}: {cell(text)}" for name, text in _texts(card, result))
    for name, pieces in _since_last_pass(card, result):
        words = _marked([DiffPiece(piece.kind, cell(piece.text)) for piece in pieces], _MARKED)
        yield f"  - {cell(name)}: {words}"
    yield from (f"  - {prose(line)}" for line in _sentences(header, card, result))
    yield f"  - to repeat it{_price(header, card, result)}: {', then '.join(map(code, commands(header, card, result)))}"


def _since_last_pass(card: Scorecard, result: CaseResult) -> Iterator[tuple[str, Sequence[DiffPiece]]]:
    """Yield what was answered at the last pass, and how the answer differs from that, as far as both are known."""
    known, answer = card.passes.get(result.trial.case_id), _answer(result)
    if known is not None and answer is None:
        yield f"at its last pass, {from_where(known)}", [DiffPiece("same", known.answer)]
    elif known is not None and answer is not None:
        pieces = word_diff(known.answer, answer) or [DiffPiece("same", "the same answer")]
        yield f"at its last pass, {from_where(known)}, and now", pieces


def _sentences(header: Header, card: Scorecard, result: CaseResult, shown: str = "") -> Iterator[str]:
    """Yield how the case fared, what its fail is put down to, and who judged it."""
    if tally := "; ".join(part for part in _tally(result) if not shown or part not in shown):
        yield tally
    yield from causes(header, card, result)
    if judging := "; ".join(_judged(result)):
        yield judging


def causes(header: Header, card: Scorecard, result: CaseResult) -> Iterator[str]:
    """Yield the likely cause of a regression, and which changes may have broken it; nothing of any other fail."""
    if result.failure is FailureKind.OUTSIDE:
        yield f"cause: {BEHIND}"
        return
    if result.failure is FailureKind.BEHIND:
        yield SAME_REQUEST
        return
    if result.cause is not None and result.cause.label not in _SAID:
        yield f"likely cause: {cause_line(result.cause)}"
        if result.cause.also:
            yield f"also: {'; '.join(map(cause_line, result.cause.also))}"
    # That a pull request may have broken what fails in it goes without saying.
    own = header.pr is not None and card.suspects.get(result.trial.case_id) == (change_of(header),)
    if not own and (touched := suspects_line(card, result)):
        yield touched


def commands(header: Header, card: Scorecard, result: CaseResult) -> list[str]:
    """Return the commands that repeat the trial of a case: at no cost, where what it rests on is recorded."""
    trial = result.trial
    path = trial.where.rpartition(":")[0]
    # Of a marked test the file is known, and not its name in there.
    node = f"{path}::{trial.case_id}" if path.endswith(SUFFIXES) else path or card.directory
    command = f"pytest -p recall {shlex.quote(node)}"
    if _is_kept_by_ci(header, result):
        folder = f"recordings-{header.pr}"
        where = "" if card.directory == "eval" else f" --dir {shlex.quote(card.directory)}"
        return [f"recall ci fetch{where} --pr {header.pr} --to {folder}", f"{command} --replay={folder}"]
    return [f"{command} --replay" if trial.source == "replayed" or trial.case_id in card.on_record else command]


def _is_kept_by_ci(header: Header, result: CaseResult) -> bool:
    """Whether the answer is on a recording that is kept beside the branch of the pull request.

    A case has one if the agent made a call that is seen and recorded: a program and a websocket make none.
    """
    trial = result.trial
    if header.pr is None or not header.pr.isdigit():
        return False
    if trial.source == "replayed":
        return trial.case_id in header.ci_recordings
    if trial.earlier is not None:
        return trial.earlier.answer is not None
    is_recorded = any(call.kind not in ("judge", *header.live) for call in trial.calls) and not trial.unrecorded
    return header.keeps_recordings and is_recorded


def _price(header: Header, card: Scorecard, result: CaseResult) -> str:
    free = result.trial.source == "replayed" or _is_kept_by_ci(header, result) or result.trial.case_id in card.on_record
    if free:
        return " without a call of a model"
    return ", which asks the model" if result.trial.calls else ""


def suspects_line(card: Scorecard, result: CaseResult) -> str:
    """Return which changes may have broken a case, or that none has touched it; empty where that is not known."""
    touched = card.suspects.get(result.trial.case_id)
    if touched is None:
        return ""
    if not touched:
        told = "no change is known to have touched it since its last pass on main: "
        if result.cause is None or result.cause.label is not CauseLabel.PROVIDER:
            return told + "provider, data or chance"
        return f"{told}provider or data, as {finding(result.cause)}"
    if touched == (UNCOMMITTED,):
        return f"suspect: {named(touched)}, which touch it"
    if len(touched) == 1:
        return f"suspect: {named(touched)} (the change since its last pass on main that touched it)"
    newest = f"the newest {MOST} changes" if len(touched) == MOST else "changes"
    return f"suspects: {named(touched)} ({newest} since its last pass on main that touched it)"


def place(where: str, links: str) -> str:
    """Return where a case stands, with a link if there is somewhere to link to; empty if it is not known."""
    if not where:
        return ""
    address = link(where, links)
    return f", [{cell(where)}]({address})" if address else f", {cell(where)}"


def link(where: str, links: str) -> str:
    """Return the address of the line that `where` names, below `links`; empty if there is none."""
    path, _, line = where.rpartition(":")
    if not links or not line.isdigit() or path.startswith(("/", "..")):
        return ""
    return f"{links}/{quote(path)}#L{line}"


def as_json(card: Scorecard, result: CaseResult) -> dict[str, Any]:
    """Return the same as plain JSON types; what is not known is null."""
    trial, known = result.trial, card.passes.get(result.trial.case_id)
    return {
        "cause": result.cause and result.cause.to_json(),
        "suspects": None if trial.case_id not in card.suspects else list(card.suspects[trial.case_id]),
        "source": trial.source,
        "judges": [{"judge": v.judge, "model": v.model or None, "passed": v.passed} for v in trial.verdicts],
        "answer": None if trial.answer is None else trial.answer.text,
        "last_pass": None if known is None else known._asdict(),
    }


def from_where(known: LastPass) -> str:
    """Return where the answer of a last pass is known from."""
    if known.run:
        return f"in the run {known.run}"
    return f"in the recording of {'the base' if known.recording == 'base' else 'this checkout'}, of {known.date}"


def _texts(card: Scorecard, result: CaseResult) -> Iterator[tuple[str, str]]:
    """Yield what a case asks, what it expects, and what was answered, as far as that is known."""
    if (text := card.texts.get(result.trial.case_id)) is not None:
        yield "asked", text.asked
        if text.expected:
            yield "expected", text.expected
    if (answer := _answer(result)) is not None:
        yield "answered", answer


def _tally(result: CaseResult) -> Iterator[str]:
    """Yield how many trials of a case failed, where it was asked several times, and how it had fared before."""
    if (earlier := result.trial.earlier) is not None and earlier.weighed:
        yield f"failed {earlier.weighed.count('f')} of {len(earlier.weighed)}"
    if result.repeats is None or not result.repeats.trials:
        return
    rule, row = parse_rule(result.trial.rule), result.trial.row
    yield rule.summary(result.repeats.trials - result.repeats.passed, result.repeats.trials)
    if row is not None and row.tried and rule.ends == "fail" and not isinstance(rule, RatioRule):
        yield had_passed(row.failed, row.tried)


_SOURCES = {
    "replayed": "on a recorded answer",
    "mixed": "on an answer that is partly recorded",
}


def _judged(result: CaseResult) -> Iterator[str]:
    """Yield who judged, if a model did, and where the answer came from, if not from one today."""
    models = {f"{verdict.judge} ({verdict.model})" for verdict in result.trial.verdicts if verdict.model}
    if models:
        yield f"judged by {', '.join(sorted(models))}"
    if result.trial.earlier is not None:
        yield f"asked in an earlier run of this pull request, {result.trial.earlier.run}, whose verdict holds"
    if said := _SOURCES.get(result.trial.source):
        yield said
    if said := ran_line(result.trial.programs):
        yield said


def _answer(result: CaseResult) -> str | None:
    """Return what was answered, as much of it as is kept of an earlier run; None where that is not known."""
    if result.trial.answer is not None:
        return result.trial.answer.text
    return None if result.trial.earlier is None else result.trial.earlier.answer


def _marked(pieces: Sequence[DiffPiece], marks: dict[str, str]) -> str:
    return " ".join(marks[piece.kind].format(piece.text) for piece in pieces)
