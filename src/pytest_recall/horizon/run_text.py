"""Render a long-horizon run for the terminal: what it will take, what it came to, and what changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_recall.datasets.reading import MAX_TOKENS
from pytest_recall.files.wording import grid, listed, one_line, plural
from pytest_recall.horizon.answering import SYSTEM
from pytest_recall.horizon.day import pieces_of
from pytest_recall.horizon.disclosure import HitRate, boundaries, without_crossings
from pytest_recall.horizon.evaluation import FAILURES, MOST, Points, summarize
from pytest_recall.horizon.judge import PanelJudge
from pytest_recall.horizon.parts import Parts
from pytest_recall.horizon.question import Checkpoint
from pytest_recall.horizon.rescore import Rescored
from pytest_recall.horizon.result import Reached
from pytest_recall.horizon.retrieval import RetrievalReport
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
from pytest_recall.metrics.answers import estimated_tokens
from pytest_recall.replay.exchange import Tokens


def run_lines(
    name: str,
    reached: Sequence[Reached],
    folder: str,
    *,
    lexical: bool,
    found: RetrievalReport | None = None,
    own: Iterable[str] = (),
    kept: str = "",
) -> Iterator[str]:
    """Yield the lines for a terminal: what was found, each checkpoint, each category, and what went wrong.

    Points of the reference's words are those of answers alone: where the memory gave passages, what it `found` counts.
    `own` are the lines on the models of the memory itself, and `kept` says which answers are.
    """
    every = [one for _, evaluations in reached for one in evaluations]
    whole = summarize(every, measured=not lexical)
    yield f"{name}: {plural(len(reached), 'checkpoint')}, {plural(len(every), 'question')} asked{kept and f', {kept}'}"
    yield ""
    if found is not None:
        yield headline(found)
        yield ""
        if found.n:
            yield from grid(STOP_HEAD, stop_rows(found))
            yield ""
            yield from grid(CATEGORY_HEAD, category_rows(found))
            yield ""
            yield from grid(FLOOR_HEAD, floor_rows(found))
            yield ""
        yield from remarks(found)
    alone = [one for one in every if one.answered_by == "passages"]
    if found is None or not lexical or any(one.points is not None and one not in alone for one in every):
        yield from _points_lines(reached, lexical=lexical)
    else:
        yield LEXICAL
    if (found_out := boundaries(every, measured=not lexical)) is not None:
        yield f"boundaries: leaks {_rate(found_out.leaks)}, over-refusals {_rate(found_out.over_refusals)}"
    if lost := [f"{whole.failures[kind]:,} {kind}" for kind in FAILURES if whole.failures[kind]]:
        yield f"no points, and in no mean: {', '.join(lost)}"
    if some := sum(bool(one.answer.strip()) for one in alone):
        what = "answer is" if some == 1 else "answers are"
        yield f"{some:,} {what} the passages of the memory, which gave no answer of its own"
    if empty := len(alone) - some:
        yield f"for {plural(empty, 'question')} the memory found nothing, so that the answer is empty"
    yield from own
    yield f"written to {folder}"


def _points_lines(reached: Sequence[Reached], *, lexical: bool) -> Iterator[str]:
    apart = [one for _, every in reached for one in every]
    pointed = without_crossings(apart)
    whole = summarize(pointed, measured=not lexical)
    points = "lexical points" if lexical else "points"
    rows = []
    for checkpoint, every in reached:
        evaluations = without_crossings(every)
        found = summarize(evaluations)
        rows.append(
            (
                checkpoint.range.label,
                f"{checkpoint.days:,}",
                f"{found.scored:,}",
                f"{len(evaluations) - found.scored:,}",
                _points(found.mean),
                "not measured" if lexical else _share(found.hallucination),
                f"{found.appealed:,}",
            )
        )
    yield from grid(("checkpoint", "days", "n", "no points", points, "made up", "appealed"), rows)
    yield ""
    categories = [(one.category, f"{len(one.scores):,}", _points(one.mean)) for one in whole.categories if one.scores]
    overall = ("all", f"{whole.scored:,}", _points(whole.mean))
    yield from grid(("category", "n", points), [*categories, overall])
    yield ""
    if lexical:
        least = Points(0, 0, 1, "").composite  # As nothing made up is seen in any answer.
        told = f"lexical points are of {MOST}, for the reference's words, and an answer without any of them has {least}"
        yield f"{told}; what is made up is not measured"
    else:
        yield f"points are of {MOST}; made up is the share of answers with something that is not so"
    if len(pointed) < len(apart):
        yield unpointed(len(apart) - len(pointed))


def preview(name: str, checkpoints: Sequence[Checkpoint], need: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a run will ask, and what its models will take, about."""
    yield f"{name}: {plural(len(checkpoints), 'checkpoint')}, {plural(need['questions'], 'question')}"
    yield ""
    rows = [
        (one.range.label, f"{one.days:,}", f"{len(one.asked):,}", f"{one.fresh:,}", f"{one.sampled:,}")
        for one in checkpoints
    ]
    yield from grid(("checkpoint", "days", "questions", "new", "older"), rows)
    yield ""
    yield f"memory: {plural(need['questions'], 'question')} after {plural(need['days'], 'day')}"
    for one in need["models"]:
        cost = "price unknown" if one["usd"] is None else f"about ${one['usd']:.2f}"
        most = " at most, where answers fall short" if one["role"] == "appellate" else ""
        tokens = f"{one['inputTokens']:,} tokens in and {one['outputTokens']:,} out"
        yield f"{one['role']} {one['model']}: {plural(one['calls'], 'call')}{most}, about {tokens}, {cost}"
    if not need["models"]:
        yield "no model is asked"


def _points(mean: float | None) -> str:
    return "–" if mean is None else f"{mean:.2f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _rate(rate: HitRate) -> str:
    if rate.value is None:
        return f"unknown ({plural(rate.unknown, 'answer')} without a verdict)" if rate.unknown else "of no question"
    unknown = f"; {rate.unknown:,} unknown" if rate.unknown else ""
    return f"{rate.value:.0%} ({rate.hits} of {rate.n}{unknown})"


SHOWN = 50


def rescore_lines(name: str, found: Rescored) -> Iterator[str]:
    """Yield a line for each number that differs, the first 50 of them, and how many were compared."""
    for one in found.differences[:SHOWN]:
        yield f"{one.place}: written {_told(one.written)}, but the answers come to {_told(one.computed)}"
    if (more := len(found.differences) - SHOWN) > 0:
        yield f"and {more:,} more"
    if found.hollow:
        yield f"no file holds the answers of {plural(len(found.hollow), 'checkpoint')}: {listed(found.hollow)}"
    same = "all are what the answers come to" if not found.differences else f"{len(found.differences):,} differ"
    yield f"{name}: {plural(found.compared, 'number')} compared, {same}"


def rescore_json(name: str, found: Rescored) -> dict[str, Any]:
    """Return the same as plain JSON types."""
    return {
        "version": 1,
        "run": name,
        "compared": found.compared,
        "hollow": list(found.hollow),
        "differences": [one._asdict() for one in found.differences],
    }


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
