"""Excerpts: what who judges is shown of the days that a question is about, the relevant parts first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import log
from typing import NamedTuple

from pytest_recall.core.horizon.calendar import Calendar
from pytest_recall.core.horizon.question import BenchQuestion
from pytest_recall.core.horizon.units import Piece, pieces_of
from pytest_recall.metrics.text import tokens

LEAST = 200
"""Characters of a part below which it is left out instead of cut."""


LEFT_OUT = "[…]"
_Heading = Callable[[int, bool], str]


class _Found(NamedTuple):
    day: int
    place: int
    part: Piece
    words: frozenset[str]


def window_days(question: BenchQuestion, window: int, known: Iterable[int], last_day: int) -> list[int]:
    """Return the days that a judge is shown: the relevant ones and `window` around each, none after `last_day`."""
    there = {day for day in known if day <= last_day}
    near = {day + shift for day in question.relevant_days for shift in range(-window, window + 1)}
    return sorted(near & there)


def excerpts(question: BenchQuestion, texts: Mapping[int, str], calendar: Calendar, limit: int) -> list[str]:
    """Return one text for each of the days in `texts`, of at most `limit` characters together, in their order.

    Where not all fits, topics that share rare words with the question and its reference come first (weighted by
    the inverse document frequency, Sparck Jones 1972), those of the relevant days before those around them. A
    heading says which day and session it is, and whether something is left out.
    """
    return _headed(question, list(_found(texts)), calendar, limit)


def evidence(question: BenchQuestion, texts: Mapping[int, str], limit: int) -> dict[int, str]:
    """Return the same for somebody who looks at an answer again, by day and without headings.

    What is left out is marked, also where that is all of a day.
    """
    shown = _shown(question, list(_found(texts)), lambda day, cut: "", limit)
    found = {day: shown.get(day, ("", bool(text.strip()))) for day, text in texts.items()}
    return {day: "\n\n".join(filter(None, [text, LEFT_OUT if cut else ""])) for day, (text, cut) in found.items()}


def forbidden_excerpts(question: BenchQuestion, texts: Mapping[int, str], calendar: Calendar, limit: int) -> list[str]:
    """Return the same, of what was said in the sessions that must not come out, and nothing else."""
    every = (one for one in _found(texts) if one.part.session in question.forbidden_sessions)
    return _headed(question, list(every), calendar, limit)


def _found(texts: Mapping[int, str]) -> Iterator[_Found]:
    for day, text in sorted(texts.items()):
        for place, part in enumerate(pieces_of(text, "topic")):
            yield _Found(day, place, part, frozenset(tokens(part.text)))


def _shown(question: BenchQuestion, every: list[_Found], heading: _Heading, limit: int) -> dict[int, tuple[str, bool]]:
    """Return what is shown of each day, in their order, and whether something of it is left out."""
    wanted = set(tokens(f"{question.question} {question.answer}"))
    spread = Counter(word for one in every for word in one.words & wanted)
    weight = {word: log(1 + len(every) / count) for word, count in spread.items()}
    relevant = set(question.relevant_days)

    def order(one: _Found) -> tuple[bool, float, int, int]:
        return (one.day not in relevant, -sum(weight[word] for word in one.words & wanted), one.day, one.place)

    kept: dict[tuple[int, int], str] = {}
    left = limit
    cut: set[int] = set()
    headed: set[tuple[int, str]] = set()
    for one in sorted(every, key=order):
        cost = 0 if (one.day, one.part.session) in headed else len(_session(one.part.session)) + 2
        cost += 0 if any(day == one.day for day, _ in kept) else len(heading(one.day, True)) + 2
        room = left - cost - 2
        if len(one.part.text) > room:
            cut.add(one.day)
            if room < LEAST:
                continue
        text = one.part.text[:room]
        left -= len(text) + cost + 2
        kept[one.day, one.place] = text
        headed.add((one.day, one.part.session))
    by_day: dict[int, list[str]] = {}
    said: set[tuple[int, str]] = set()
    for one in every:
        if (text := kept.get((one.day, one.place), "")) == "":
            continue
        lines = by_day.setdefault(one.day, [])
        if (one.day, one.part.session) not in said and one.part.session:
            lines.append(_session(one.part.session))
        said.add((one.day, one.part.session))
        lines.append(text)
    return {day: ("\n\n".join(lines), day in cut) for day, lines in by_day.items()}


def _headed(question: BenchQuestion, every: list[_Found], calendar: Calendar, limit: int) -> list[str]:
    def heading(day: int, cut: bool) -> str:
        left_out = ", cut: the parts nearest to the question" if cut else ""
        return f"Day {day}, {calendar.date_of(day).isoformat()}{left_out}"

    shown = _shown(question, every, heading, limit)
    return [f"{heading(day, cut)}\n\n{text}" for day, (text, cut) in shown.items()]


def _session(session: str) -> str:
    return f"# session: {session}"
