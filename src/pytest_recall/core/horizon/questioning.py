"""Questioning: after which days questions are written, and which of those that are proposed are taken."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import ValidationError

from pytest_recall.core.errors import one_line
from pytest_recall.core.horizon.facts import Evidence, missing
from pytest_recall.core.horizon.lint import DAY_NUMBER, same_words
from pytest_recall.core.horizon.question import BenchQuestion
from pytest_recall.core.horizon.withheld import declines, revealed

BOUNDARY = "information-boundary"
FIELDS = (
    *("id", "question", "answer", "category", "difficulty", "relevant_days", "requires_synthesis"),
    *("query_session", "forbidden_sessions", "expected_disclosure"),
)
"""The fields of a question that is written, in the order of the published files."""
_NUMBERED = re.compile(r"-q(\d+)$")


class Window(NamedTuple):
    """The days that questions are written about once the day `checkpoint` is over."""

    checkpoint: int
    days: tuple[int, ...]


def windows(
    days: Sequence[int], interval: int, *, start: int | None, end: int | None, covered: Collection[int]
) -> list[Window]:
    """Return the windows that questions are still to be written about, from the first to the last.

    They end on the day `start`, by default the `interval`-th, on each `interval`-th day after it, and on the
    last. None has a day of another one, or one that is `covered`.
    """
    if not days:
        return []
    last = min(end or days[-1], days[-1])
    first = start or interval
    stops = [*range(first, last + 1, interval)]
    if not stops or stops[-1] != last:
        stops.append(last)
    found, begin = [], max(1, min(stops[0], first) - interval + 1)
    for stop in stops:
        shown = tuple(day for day in days if begin <= day <= stop and day not in covered)
        if shown:
            found.append(Window(stop, shown))
        begin = stop + 1
    return found


def share(pairs: int, window: Window, interval: int) -> int:
    """Return how many questions a window gets where `interval` days get `pairs`; at least one."""
    return max(1, round(pairs * min(len(window.days), interval) / interval))


@dataclass(frozen=True)
class Shown:
    """What whoever proposes questions was shown: texts by day. `asked` has the questions there are, by `same_words`.

    Of the session `isolated`, where there is one, nothing may come out elsewhere; `others` are isolated too.
    `public` are the words that give nothing away; `sessions` are those in which something can be asked.
    """

    texts: Mapping[int, str]
    asked: set[str]
    isolated: str = ""
    query_session: str = ""
    others: tuple[str, ...] = ()
    public: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()


def take(proposed: Iterable[Mapping[str, Any]], shown: Shown) -> Iterator[dict[str, Any] | str]:
    """Yield the row of each question that is taken, without its id, or why it is not taken.

    The texts of those that are taken are added to `shown.asked`.
    """
    for raw in proposed:
        row = _boundary_row(raw, shown) if shown.isolated else _row(raw)
        try:
            question = BenchQuestion.model_validate({**row, "id": "new"})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = str(first["loc"][0]) if first["loc"] else "it"
            yield f"`{field}` does not fit ({first['msg'].lower()}): {_named(raw)}"
            continue
        problem = _problem(question, shown)
        if problem:
            yield f"{problem}: {_named(raw)}"
            continue
        shown.asked.add(same_words(question.question))
        yield {**row, "relevant_days": sorted(set(question.relevant_days))}


def _row(raw: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: raw[name] for name in FIELDS[1:8] if raw.get(name) is not None}
    for name in ("question", "answer"):
        if isinstance(row.get(name), str):
            row[name] = row[name].strip()
    return {**row, "requires_synthesis": raw.get("requires_synthesis") is True}


def _boundary_row(raw: Mapping[str, Any], shown: Shown) -> dict[str, Any]:
    row = {**_row(raw), "category": BOUNDARY}
    row.pop("query_session", None)
    expected = raw.get("expected_disclosure", "refuse")
    if expected == "answer":
        # Asked where it was said: who declines this declines too much.
        return {
            **row,
            "query_session": shown.isolated,
            **({"forbidden_sessions": list(shown.others)} if shown.others else {}),
            "expected_disclosure": expected,
        }
    return {
        **row,
        "query_session": shown.query_session,
        "forbidden_sessions": [shown.isolated],
        "expected_disclosure": expected,
    }


def _problem(question: BenchQuestion, shown: Shown) -> str:
    strange = [day for day in question.relevant_days if day not in shown.texts]
    if strange:
        return f"names day {', '.join(map(str, strange))}, which was not shown"
    if not shown.isolated and question.category == BOUNDARY:
        return "is about what may be told where, which --mode boundary asks for"
    if question.query_session and question.query_session not in shown.sessions | {shown.query_session, shown.isolated}:
        return f"is asked in `{question.query_session}`, which is no session"
    for text in (question.question, question.answer):
        if number := DAY_NUMBER.search(text):
            return f"speaks of {number[0]!r}"
    if same_words(question.question) in shown.asked:
        return "asks what another question asks"
    if not shown.isolated:
        return ""
    if question.expected_disclosure == "answer":
        there = [Evidence([shown.texts[day]]) for day in question.relevant_days]
        absent = missing(question.answer, there)
        return f"has {', '.join(absent)} in its reference, which its days have not" if absent else ""
    told = revealed(question.answer, question.question, shown.texts.values(), shown.public)
    if told:
        return f"tells {', '.join(told[:3])} in its reference, which is forbidden"
    if question.expected_disclosure == "refuse" and not declines(question.answer):
        return "declines nothing in its reference"
    return ""


def _named(raw: Mapping[str, Any]) -> str:
    return one_line(str(raw.get("question", "")), 80) or "without a question"


def next_number(ids: Iterable[str]) -> int:
    """Return the number that the next question gets: one more than any has."""
    return 1 + max((int(match[1]) for id in ids if (match := _NUMBERED.search(id))), default=0)


def question_id(persona: str, number: int) -> str:
    """Return the id of a persona's question, such as `assistant-q007`."""
    return f"{persona}-q{number:03}"
