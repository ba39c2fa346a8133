"""Cases as the page's script reads them: plain JSON, with texts cut where all of them would be too much."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from pytest_recall.core.call import Call, Tokens
from pytest_recall.core.judgement import Vote
from pytest_recall.core.record import Header
from pytest_recall.core.report.entry import Entry, Step, Taped
from pytest_recall.core.report.fold import Report
from pytest_recall.core.scorecard import Failure, Result
from pytest_recall.core.trial import Trial, Verdict
from pytest_recall.render import sentences
from pytest_recall.render.page import moved
from pytest_recall.render.regressions import link
from pytest_recall.render.report.frame import present, well_formed

_WHOLE = frozenset({"id"})
TOLD = 5
"""Of so many runs of a case, the newest, the page says what it answered, and why that failed."""
LINE = 160
"""Characters of a text that stand in a row."""


def shortened(cases: list[dict[str, Any]], length: int | None) -> list[dict[str, Any]]:
    """Return the cases with texts of at most `length` characters, None for whole ones.

    A text that is cut is a mapping with its start, `cut`, and its whole length, `of`.
    """
    return cases if length is None else [_cut(one, length) for one in cases]


def _cut(value: Any, length: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= length else {"cut": value[:length], "of": len(value)}
    if isinstance(value, dict):
        return {name: one if name in _WHOLE else _cut(one, length) for name, one in value.items()}
    return [_cut(one, length) for one in value] if isinstance(value, list) else value


def plain(report: Report, links: str) -> list[dict[str, Any]]:
    """Return every case in the report's order; what is empty or unknown is left out."""
    return [present(_case(report.record.header, entry, links)) for entry in report.entries]


def kinds(entry: Entry) -> list[str]:
    """Return what a case counts as among the outcomes; one in quarantine counts as that beside its outcome."""
    apart = entry.result is not None and entry.result.apart
    return list(dict.fromkeys([entry.kind, *([Failure.QUARANTINED.value] if apart else [])]))


def _case(header: Header, entry: Entry, links: str) -> dict[str, Any]:
    told: dict[str, Any] = {
        "id": well_formed(entry.case_id),
        "kinds": kinds(entry),
        "reason": entry.reason,
        "scenario": entry.scenario,
        "dimension": entry.dimension,
        "judges": list(entry.judges),
        "source": entry.source,
        "flip": entry.flip,
        "steps": [_step(step, told=number < TOLD) for number, step in enumerate(reversed(entry.steps))],
        "taped": entry.taped and _taped(entry.taped),
        "lastPass": entry.last_pass and {"told": entry.last_pass.told, "answer": entry.last_pass.answer},
        "diff": [list(piece) for piece in entry.difference()],
    }
    if entry.written is not None:
        names = ("asked", "reference", "criteria", "tags", "notes", "edited")
        told |= {name: _listed(getattr(entry.written, name)) for name in names}
    if entry.result is not None:
        told |= _result(header, entry.result, links)
    if entry.pair is not None:
        base = entry.pair.base
        told["base"] = present({"outcome": base.outcome.value, "note": base.note, "answer": _answer(base)})
        told["change"] = [list(piece) for piece in entry.change()]
        told["tried"] = None if entry.pair.tried is None else list(entry.pair.tried)
    return told


def _step(step: Step, *, told: bool) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "run": step.run,
        "day": step.day,
        "outcome": step.outcome.value,
        "before": step.before,
        "after": step.after,
        "source": step.source,
        "score": score(step.scores),
    }
    if told:
        plain |= {"answer": step.answer and line(step.answer), "note": line(step.note)}
    return present(plain)


def score(scores: Sequence[float]) -> str:
    """Return scores as people read them; empty without one."""
    return ", ".join(f"{one:.2f}" for one in scores)


def line(text: str) -> str:
    """Return as much of a text as stands in a row."""
    short = " ".join(text[: 4 * LINE].split())
    return short if len(short) <= LINE else f"{short[:LINE]}…"


def _result(header: Header, result: Result, links: str) -> dict[str, Any]:
    trial = result.trial
    answer = trial.answer
    return {
        "standing": sentences.standing(result) if trial.outcome.value == "failed" else "",
        "move": moved(header, result),
        "where": trial.where,
        "href": link(trial.where, links),
        "seconds": trial.seconds,
        "attempts": result.attempts if result.attempts > 1 else None,
        "series": result.repeats and f"{trial.rule}: {result.repeats.passed} of {result.repeats.trials} passed",
        "model": trial.model,
        "error": trial.error,
        "unproven": trial.unproven,
        "answer": _answer(trial),
        "passages": [
            present({"text": one.text, "source": one.source, "score": _number(one.score)})
            for one in (answer.passages if answer else ())
        ],
        "usage": {name: _number(count) for name, count in (answer.usage if answer else {}).items()},
        "verdicts": [_verdict(verdict) for verdict in trial.verdicts],
        "cause": result.cause
        and {"label": result.cause.label.value, "evidence": result.cause.evidence, "also": list(result.cause.also)},
        "calls": [_call(call) for call in trial.calls],
    }


def _call(call: Call) -> dict[str, Any]:
    told = {name: getattr(call, name) for name in ("kind", "source", "model", "trouble", "batched", "retried")}
    tokens = {name: count for name, count in (call.tokens or Tokens())._asdict().items() if count is not None}
    return present({**told, "cost": _number(call.cost), "seconds": _number(call.seconds), "tokens": tokens})


def _answer(trial: Trial) -> str | None:
    return None if trial.answer is None else trial.answer.text


def _verdict(verdict: Verdict) -> dict[str, Any]:
    told: dict[str, Any] = {
        **{name: getattr(verdict, name) for name in ("judge", "passed", "reason", "model", "version")},
        "score": _number(verdict.score),
    }
    if verdict.judgement is not None:
        told["votes"] = [_vote(vote) for vote in verdict.judgement.votes]
        told["appeal"] = verdict.judgement.appeal and _vote(verdict.judgement.appeal)
        told["why"] = verdict.judgement.cause
    return present(told)


def _vote(vote: Vote) -> dict[str, Any]:
    return present(
        {
            **{name: getattr(vote, name) for name in ("model", "replied", "passed", "reason", "error")},
            "score": _number(vote.score),
            "scores": dict(vote.scores),
        }
    )


def _taped(taped: Taped) -> dict[str, Any]:
    return present({**taped._asdict(), "calls": [present(call._asdict()) for call in taped.calls]})


def _number(value: float | None) -> float | None:
    """Return a number that JSON has; an agent may report any other."""
    return value if value is not None and isfinite(value) else None


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
