"""Need: what a run will take, about: calls, tokens and money, before any of it is spent."""

from __future__ import annotations

from typing import Any, NamedTuple

from pytest_recall.horizon.answering import MAX_TOKENS, SYSTEM
from pytest_recall.horizon.day import pieces_of
from pytest_recall.horizon.judge import PanelJudge
from pytest_recall.horizon.parts import Parts
from pytest_recall.metrics.answers import estimated_tokens
from pytest_recall.replay.call import Tokens

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
        models.append(_told(parts, "answer", settings.answer, _answering(parts, len(asked))))
    if isinstance(parts.judge, PanelJudge):
        shown = asked[:: max(1, len(asked) // SEEN)]
        prompts = [parts.judge.inquiry(question, question.answer, day) for question, day in shown]
        texts = (text for one in prompts for text in (one.system, *(part.text for part in one.parts)))
        each = estimated_tokens(texts) // len(prompts)
        size = _Size(len(asked), len(asked) * each, len(asked) * JUDGED)
        models.append(_told(parts, "judge", settings.judge or "", size))
        if settings.appellate is not None:
            models.append(_told(parts, "appellate", settings.appellate, size))
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


def _told(parts: Parts, role: str, selector: str, size: _Size) -> dict[str, Any]:
    model = next(one for one in parts.models if one.name == selector)
    return {
        "role": role,
        "model": selector,
        "calls": size.calls,
        "inputTokens": size.input,
        "outputTokens": size.output,
        "usd": parts.calls.price(model, Tokens(size.input, size.output)),
    }
