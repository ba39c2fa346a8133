"""Horizon data: the questions of a long-horizon run as the page's script reads them, each text once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_recall.core.horizon.evaluation import Points
from pytest_recall.core.horizon.history import Asked, History
from pytest_recall.render.report.frame import present, well_formed

_BETWEEN = "\n\n"
_TEXTS = ("snippet", "text", "content")
"""What files call the text of a passage, and of what they call its source, the first that is there counts."""
_SOURCES = ("path", "source", "id")


class Texts:
    """Texts by number, and their paragraphs by number: what a memory finds again and again is there once.

    An entry of `entries` has the paragraphs of a text, and behind them a negative number where it is cut: how long
    it is.
    """

    def __init__(self, length: int | None) -> None:
        self._length = length
        self._paragraphs: dict[str, int] = {}
        self._entries: dict[tuple[int, ...], int] = {}

    def number(self, text: str) -> int:
        """Return the number of a text, cut if it is longer than others may be."""
        cut = self._length is not None and len(text) > self._length
        kept = text[: self._length] if cut else text
        parts = [self._paragraphs.setdefault(one, len(self._paragraphs)) for one in kept.split(_BETWEEN)]
        return self._entries.setdefault((*parts, -len(text)) if cut else tuple(parts), len(self._entries))

    def to_json(self) -> dict[str, Any]:
        """Return both tables."""
        return {"paragraphs": list(self._paragraphs), "entries": [list(one) for one in self._entries]}


def questions(histories: Sequence[History], labels: Sequence[str], length: int | None = None) -> dict[str, Any]:
    """Return every question in the order given, with texts of at most `length` characters.

    `labels` are the names of all checkpoints. What is empty or unknown is left out.
    """
    texts = Texts(length)
    places = {label: place for place, label in enumerate(labels)}
    found = [_question(one, places, texts) for one in histories]
    return {"questions": found, "labels": list(labels), "texts": texts.to_json()}


def _question(one: History, places: Mapping[str, int], texts: Texts) -> dict[str, Any]:
    asked = one.question
    return present(
        {
            "id": well_formed(one.id),
            "persona": one.persona,
            "category": asked.category,
            "difficulty": asked.difficulty,
            "question": texts.number(asked.question),
            "reference": texts.number(asked.answer),
            "days": list(asked.relevant_days),
            "session": asked.query_session,
            "forbidden": list(asked.forbidden_sessions),
            "expected": asked.expected_disclosure,
            "until": asked.irrelevant_after,
            "asked": [_asked(each, places[each.label], texts) for each in one.asked],
        }
    )


def _asked(one: Asked, place: int, texts: Texts) -> dict[str, Any]:
    found = one.evaluation
    return present(
        {
            "at": place,
            "day": found.day,
            "kinds": list(one.kinds),
            "judge": one.judge,
            "points": _points(found.points),
            "reason": _text(found.points.reasoning if found.points else "", texts),
            "first": _points(found.primary),
            "firstReason": _text(found.primary.reasoning if found.primary else "", texts),
            "before": None if one.before is None else one.before.composite,
            "change": one.change,
            "answer": texts.number(found.answer),
            "by": found.answered_by,
            "error": _text(found.error, texts),
            "seconds": found.seconds,
            "usd": found.usd,
            "excerpts": found.context or None,
            "passages": [_passage(each, texts) for each in found.retrieval],
            "calls": [texts.number(_plain(each)) for each in found.tool_calls],
        }
    )


def _points(points: Points | None) -> list[int] | None:
    return None if points is None else [points.correctness, points.completeness, points.hallucination]


def _passage(plain: Mapping[str, Any], texts: Texts) -> list[Any]:
    """Return a passage: its text, what it is from, and its score, None where the memory gave none."""
    text = next((plain[name] for name in _TEXTS if isinstance(plain.get(name), str)), None)
    source = next((plain[name] for name in _SOURCES if isinstance(plain.get(name), str)), "")
    score = plain.get("score")
    return [texts.number(_plain(plain) if text is None else text), source, _number(score)]


def _number(value: Any) -> float | None:
    return round(value, 4) if isinstance(value, int | float) and abs(value) < 1e15 else None


def _plain(plain: Mapping[str, Any]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in plain.items())


def _text(text: str, texts: Texts) -> int | None:
    return texts.number(text) if text else None
