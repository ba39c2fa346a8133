"""Collect the data of a page: cases, charts, and tables with the same values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from pytest_recall.files.wording import percent, plural
from pytest_recall.replay.exchange import Call, Tokens
from pytest_recall.results.cause_text import cause_words
from pytest_recall.results.ending_text import explanation
from pytest_recall.results.regressions_text import from_where, link
from pytest_recall.results.report import CaseEntry, CaseStep, RecordedCalls, RunReport
from pytest_recall.results.report_page.frame import present, well_formed
from pytest_recall.results.scorecard import CaseResult, FailureKind
from pytest_recall.results.scorecard_markdown import moved
from pytest_recall.results.sentences import ran_line
from pytest_recall.results.unproven_text import unproven_text
from pytest_recall.trials.cost import Bill
from pytest_recall.trials.cost_text import price
from pytest_recall.trials.record import Header
from pytest_recall.trials.trial import Trial, Verdict, Vote

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


def plain(report: RunReport, links: str) -> list[dict[str, Any]]:
    """Return every case in the report's order; what is empty or unknown is left out."""
    return [present(_case(report.record.header, entry, links)) for entry in report.entries]


def kinds(entry: CaseEntry) -> list[str]:
    """Return what a case counts as among the outcomes; one in quarantine counts as that beside its outcome."""
    apart = entry.result is not None and entry.result.apart
    return list(dict.fromkeys([entry.kind, *([FailureKind.QUARANTINED.value] if apart else [])]))


def _case(header: Header, entry: CaseEntry, links: str) -> dict[str, Any]:
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
        "lastPass": entry.last_pass and {"told": from_where(entry.last_pass), "answer": entry.last_pass.answer},
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


def _step(step: CaseStep, *, told: bool) -> dict[str, Any]:
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


def _result(header: Header, result: CaseResult, links: str) -> dict[str, Any]:
    trial = result.trial
    answer = trial.answer
    return {
        "standing": result.failure.value if trial.outcome.value == "failed" else "",
        "move": moved(header, result),
        "where": trial.where,
        "href": link(trial.where, links),
        "seconds": trial.seconds,
        "attempts": result.attempts if result.attempts > 1 else None,
        "series": result.repeats and f"{trial.rule}: {result.repeats.passed} of {result.repeats.trials} passed",
        "model": trial.model,
        "error": trial.error if trial.outcome.is_verdict else explanation(trial),
        "unproven": unproven_text(trial) or ran_line(trial.programs),
        "answer": _answer(trial),
        "passages": [
            present({"text": one.text, "source": one.source, "score": _number(one.score)})
            for one in (answer.passages if answer else ())
        ],
        "usage": {name: _number(count) for name, count in (answer.usage if answer else {}).items()},
        "verdicts": [_verdict(verdict) for verdict in trial.verdicts],
        "cause": cause_words(result.cause),
        "calls": [_call(call) for call in trial.calls],
    }


def _call(call: Call) -> dict[str, Any]:
    names = ("kind", "source", "model", "trouble", "batched", "retried", "estimated")
    told = {name: getattr(call, name) for name in names}
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


def _taped(taped: RecordedCalls) -> dict[str, Any]:
    return present({**taped._asdict(), "calls": [present(call._asdict()) for call in taped.calls]})


def _number(value: float | None) -> float | None:
    """Return a number that JSON has; an agent may report any other."""
    return value if value is not None and isfinite(value) else None


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One chart."""

    kind: str
    """Tells the script how to draw `points`."""
    title: str
    told: str
    head: tuple[str, ...]
    """The columns of its numbers as a table."""
    rows: Sequence[tuple[str, ...]]
    """Those of the table."""
    points: list[dict[str, Any]]
    options: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return what the script draws, as plain JSON types."""
        return {"kind": self.kind, "title": self.title, "points": self.points, "options": self.options}


def charts(report: RunReport) -> list[Chart]:
    """Return the charts of a run that have something to show."""
    scheduled = (_boxes, _due) if report.record.header.of_cases else ()
    return [chart for make in (_changes, _rates, *scheduled, _spend) for chart in make(report)]


def _rates(report: RunReport) -> Iterator[Chart]:
    known = {name: rate for name, rate in report.rates.items() if rate.interval is not None}
    if not known:
        return
    rows, points = [], []
    for name, rate in known.items():
        assert rate.interval is not None
        (low, high), share = rate.interval, rate.passed / rate.verdicts
        rows.append((name, str(rate.passed), str(rate.verdicts), percent(share), f"{percent(low)} to {percent(high)}"))
        points.append({"name": name, "value": share, "low": low, "high": high})
    yield Chart(
        kind="rates",
        title="Pass rate by scenario",
        told="Of the verdicts of this run, with the 95 % interval (Wilson). Few verdicts make it wide.",
        head=("scenario", "passed", "verdicts", "share", "95 %"),
        rows=rows,
        points=points,
    )


def _changes(report: RunReport) -> Iterator[Chart]:
    found = report.against
    if found is None:
        return
    groups = found.by_scenario or {"all cases": found.overall}
    points = [
        {"name": name, "base": one.base / one.pairs, "head": one.head / one.pairs} for name, one in groups.items()
    ]
    yield Chart(
        kind="changes",
        title=f"Pass rate by scenario, {found.base.run} and {found.head.run}",
        told="Of the cases that both runs have judged: hollow before, filled now.",
        head=("scenario", "cases", "before", "now"),
        rows=[
            (name, str(one.pairs), percent(one.base / one.pairs), percent(one.head / one.pairs))
            for name, one in groups.items()
        ],
        points=points,
    )


def _boxes(report: RunReport) -> Iterator[Chart]:
    if report.standing is None:
        return
    counts = {f"box {box}": count for box, count in report.standing.boxes.items()}
    if report.standing.unseen:
        counts["never seen"] = report.standing.unseen
    if not any(counts.values()):
        return
    yield Chart(
        kind="bars",
        title="Boxes",
        told=f"All cases of the case files, as the state has them on {report.standing.today}.",
        head=("box", "cases"),
        rows=[(name, f"{count:,}") for name, count in counts.items()],
        points=[{"name": name, "value": count} for name, count in counts.items()],
        options={"unit": "cases"},
    )


def _due(report: RunReport) -> Iterator[Chart]:
    standing = report.standing
    if standing is None or not (standing.overdue or any(standing.due.values())):
        return
    counts = ({"overdue": standing.overdue} if standing.overdue else {}) | {
        day.isoformat(): count for day, count in standing.due.items()
    }
    yield Chart(
        kind="days",
        title="Due dates",
        told=f"How many cases fall due on each of the next {len(standing.due)} days.",
        head=("day", "cases"),
        rows=[(name, f"{count:,}") for name, count in counts.items() if count],
        points=[{"name": name, "value": count} for name, count in counts.items()],
        options={"unit": "cases due"},
    )


def _spend(report: RunReport) -> Iterator[Chart]:
    called = {name or "(none)": spend for name, spend in report.spends.items() if spend.calls}
    if not called:
        return
    priced = any(spend.recording.known is not None for spend in called.values())

    def size(bill: Bill) -> float:
        return bill.usd if priced else bill.calls

    unpriced = sum(spend.unpriced for spend in called.values())
    told = "At list price, in US dollars." if priced else "In calls, since none of them has a known price."
    if priced and unpriced:
        told += f" {plural(unpriced, 'call')} without a price {'is' if unpriced == 1 else 'are'} not in the bars."
    yield Chart(
        kind="spend",
        title="Spent, and saved by replays",
        told=told,
        head=("scenario", "live calls", "spent", "replayed calls", "saved"),
        rows=[
            (name, str(s.spent.calls), _price(s.spent), str(s.saved.calls), _price(s.saved))
            for name, s in called.items()
        ],
        points=[
            {"name": name, "kind": kind, "value": size(bill)}
            for name, spend in called.items()
            for kind, bill in (("spent", spend.spent), ("saved", spend.saved))
        ],
        options={"unit": "US dollars" if priced else "calls"},
    )


def _price(bill: Bill) -> str:
    return price(bill) if bill.calls else "–"
