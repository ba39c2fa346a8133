"""Render regressions: what failed, the likely cause, and how the answer differs from the last pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from pytest_recall.files.wording import cell, code, one_line
from pytest_recall.results.regressions import CauseLabel, DiffPiece, word_diff
from pytest_recall.results.scorecard import CaseResult, LastPass, Scorecard
from pytest_recall.schedule.suspects import MOST, UNCOMMITTED, named

_SAID = (CauseLabel.UNKNOWN, CauseLabel.PROVIDER, CauseLabel.OUTSIDE)
"""Causes that say no more than that no change is known to have touched the case."""
_PLAIN = {"same": "{}", "gone": "[-{}-]", "new": "{{+{}+}}"}
_MARKED = {"same": "{}", "gone": "~~{}~~", "new": "**{}**"}


def lines(card: Scorecard, result: CaseResult) -> Iterator[str]:
    """Yield what is known of a regression beside its note, for a terminal."""
    if result.cause is not None and result.cause.label not in _SAID:
        yield f"likely cause: {result.cause.label.shown}: {result.cause.finding}"
        for other in result.cause.also:
            yield f"also: {other}"
    if touched := suspects_line(card, result):
        yield touched
    told = "; ".join(_judged(result))
    if told:
        yield told
    known = card.passes.get(result.trial.case_id)
    if known is not None:
        yield f"{_since(known)}: {one_line(_shown(_difference(result, known), _PLAIN), 300)}"


def markdown(card: Scorecard, result: CaseResult, move: str, links: str) -> Iterator[str]:
    """Yield a regression as an item of a list in Markdown; `links` is where its file stands on the web, if it does."""
    trial = result.trial
    yield f"- **{code(trial.case_id)}** ({move}){place(trial.where, links)}: {cell(trial.note)}"
    if result.cause is not None and result.cause.label not in _SAID:
        yield f"  - likely cause: **{result.cause.label.shown}**: {cell(result.cause.finding)}"
        if result.cause.also:
            yield f"  - also: {cell('; '.join(result.cause.also))}"
    if touched := suspects_line(card, result):
        yield f"  - {cell(touched)}"
    told = "; ".join(_judged(result))
    if told:
        yield f"  - {cell(told)}"
    known = card.passes.get(trial.case_id)
    if known is not None:
        pieces = [DiffPiece(piece.kind, cell(piece.text)) for piece in _difference(result, known)]
        yield f"  - {cell(_since(known))}: {_shown(pieces, _MARKED)}"


def suspects_line(card: Scorecard, result: CaseResult) -> str:
    """Return which changes may have broken a case, or that none has touched it; empty where that is not known."""
    touched = card.suspects.get(result.trial.case_id)
    if touched is None:
        return ""
    if not touched:
        told = "no change is known to have touched it since its last pass on main: "
        if result.cause is None or result.cause.label is not CauseLabel.PROVIDER:
            return told + "provider, data or chance"
        return f"{told}provider or data, as {result.cause.finding}"
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
    found = link(where, links)
    return f", [{cell(where)}]({found})" if found else f", {cell(where)}"


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
        "last_pass": None if known is None else {"answer": known.answer, "from": known.told},
    }


def _since(known: LastPass) -> str:
    return f"at its last pass, {known.told}, and now"


def _judged(result: CaseResult) -> Iterator[str]:
    """Yield who judged, if a model did, and where the answer came from, if not from one today."""
    models = {f"{verdict.judge} ({verdict.model})" for verdict in result.trial.verdicts if verdict.model}
    if models:
        yield f"judged by {', '.join(sorted(models))}"
    if result.trial.source != "live":
        yield "on a replayed answer" if result.trial.source == "replayed" else "on an answer that is partly replayed"


def _difference(result: CaseResult, known: LastPass) -> list[DiffPiece]:
    now = result.trial.answer.text if result.trial.answer is not None else ""
    return word_diff(known.answer, now) or [DiffPiece("same", "the same answer")]


def _shown(pieces: list[DiffPiece], marks: dict[str, str]) -> str:
    return " ".join(marks[piece.kind].format(piece.text) for piece in pieces)
