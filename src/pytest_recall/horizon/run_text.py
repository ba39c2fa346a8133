"""Render a long-horizon run for the terminal: what it will take, what it came to, and what changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_recall.datasets.reading import MAX_TOKENS
from pytest_recall.files.sections import Report, Section, TextTable
from pytest_recall.files.wording import listed, one_line, plural
from pytest_recall.horizon.answering import SYSTEM
from pytest_recall.horizon.day import pieces_of
from pytest_recall.horizon.judge import PanelJudge
from pytest_recall.horizon.parts import Parts
from pytest_recall.horizon.published import PublishedRun
from pytest_recall.horizon.report_text import run_sections
from pytest_recall.horizon.rescore import Rescored
from pytest_recall.horizon.statistics import report
from pytest_recall.metrics.answers import estimated_tokens
from pytest_recall.replay.exchange import Tokens

if TYPE_CHECKING:
    from pytest_recall.horizon.run import BenchOutcome


def ended_sections(title: str, outcome: BenchOutcome, folder: str, run: PublishedRun | None) -> Iterator[Section]:
    """Yield what a run came to, as its files in a folder have it; `title` says in words what was run.

    The `run` is None where it has reached no checkpoint.
    """
    asked = plural(sum(len(evaluations) for _, evaluations in outcome.reached), "question")
    kept = outcome.kept and f", {outcome.kept}"
    first = f"{title}: {plural(len(outcome.reached), 'checkpoint')}, {asked} asked{kept}"
    about, *figures = (Section(""),) if run is None else run_sections(run, report(run))
    yield about._replace(title="", lines=[first, *about.lines])
    yield from figures
    yield Section("", lines=[*outcome.model_lines, f"written to {folder}"])


def preview_report(name: str, parts: Parts) -> Report:
    """Return what a run will ask, and what its models will take, about."""
    checkpoints, need = parts.checkpoints, need_of(parts)
    rows = [
        (one.range.label, f"{one.days:,}", f"{len(one.asked):,}", f"{one.fresh:,}", f"{one.sampled:,}")
        for one in checkpoints
    ]
    told = f"{name}: {plural(len(checkpoints), 'checkpoint')}, {plural(need['questions'], 'question')}"
    table = TextTable("", ("checkpoint", "days", "questions", "new", "older"), rows)
    asked = [
        {"label": one.range.label, "days": one.days, "questions": len(one.asked), "new": one.fresh}
        for one in checkpoints
    ]
    plain = {"version": 1, "feed": parts.settings.run.feed, "checkpoints": asked, **need}
    return Report(told, [Section("", [table], list(_takes(need)), [told])], plain)


def _takes(need: Mapping[str, Any]) -> Iterator[str]:
    yield f"memory: {plural(need['questions'], 'question')} after {plural(need['days'], 'day')}"
    for one in need["models"]:
        cost = "price unknown" if one["usd"] is None else f"about ${one['usd']:.2f}"
        most = " at most, where answers fall short" if one["role"] == "appellate" else ""
        tokens = f"{one['inputTokens']:,} tokens in and {one['outputTokens']:,} out"
        yield f"{one['role']} {one['model']}: {plural(one['calls'], 'call')}{most}, about {tokens}, {cost}"
    if not need["models"]:
        yield "no model is asked"


SHOWN = 50


def rescore_report(name: str, found: Rescored) -> Report:
    """Return the numbers that differ, of which the first 50 are shown, and how many were compared."""
    lines = [
        f"{one.place}: written {_told(one.written)}, but the answers come to {_told(one.computed)}"
        for one in found.differences[:SHOWN]
    ]
    if (more := len(found.differences) - SHOWN) > 0:
        lines.append(f"and {more:,} more")
    if found.hollow:
        lines.append(f"no file holds the answers of {plural(len(found.hollow), 'checkpoint')}: {listed(found.hollow)}")
    same = "all are what the answers come to" if not found.differences else f"{len(found.differences):,} differ"
    lines.append(f"{name}: {plural(found.compared, 'number')} compared, {same}")
    plain = {
        "version": 1,
        "run": name,
        "compared": found.compared,
        "hollow": list(found.hollow),
        "differences": [one._asdict() for one in found.differences],
    }
    return Report(f"Recall rescore of {name}", [Section("", lines=lines)], plain)


def _told(value: Any) -> str:
    return "nothing" if value is None else one_line(repr(value))


JUDGED = 200
"""Tokens of a judgement, about."""
ANSWERED = 150
"""Tokens of an answer, about."""
SEEN = 20
"""Days and questions that stand for the others."""


class _Size(NamedTuple):
    calls: int
    input: int
    output: int


def need_of(parts: Parts) -> dict[str, Any]:
    """Return the questions, the days, and for each model its calls and tokens; `usd` is None if not known.

    Tokens are estimated from characters, of some days and questions that stand for the others.
    """
    settings = parts.settings
    asked = [(question, one.days) for one in parts.checkpoints for question in one.asked]
    models = []
    if settings.answer is not None:
        models.append(_estimate_told(parts, "answer", settings.answer, _answering(parts, len(asked))))
    if isinstance(parts.judge, PanelJudge):
        shown = asked[:: max(1, len(asked) // SEEN)]
        prompts = [parts.judge.inquiry(question, question.answer, day) for question, day in shown]
        texts = (text for one in prompts for text in (one.system, *(part.text for part in one.parts)))
        each = estimated_tokens(texts) // len(prompts)
        size = _Size(len(asked), len(asked) * each, len(asked) * JUDGED)
        models.append(_estimate_told(parts, "judge", settings.judge or "", size))
        if settings.appellate is not None:
            models.append(_estimate_told(parts, "appellate", settings.appellate, size))
    return {
        "questions": len(asked),
        "days": sum(day <= parts.checkpoints[-1].days for day in parts.days),
        "models": models,
    }


def _answering(parts: Parts, count: int) -> _Size:
    run = parts.settings.run
    days = parts.days[:: max(1, len(parts.days) // SEEN)]
    units = [part.text for day in days for part in pieces_of(parts.corpus.text(day), run.unit)]
    each = estimated_tokens([SYSTEM]) + run.k * estimated_tokens(units) // max(1, len(units))
    return _Size(count, count * each, count * min(ANSWERED, MAX_TOKENS))


def _estimate_told(parts: Parts, role: str, selector: str, size: _Size) -> dict[str, Any]:
    model = next(one for one in parts.models.values() if one.name == selector)
    return {
        "role": role,
        "model": selector,
        "calls": size.calls,
        "inputTokens": size.input,
        "outputTokens": size.output,
        "usd": parts.calls.price(model, Tokens(size.input, size.output)),
    }
