"""Decide which proposed questions are taken, and whether their days support their references."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any, NamedTuple

from pydantic import ValidationError

from pytest_recall.files.wording import one_line
from pytest_recall.horizon.day import DayPiece, pieces_of
from pytest_recall.horizon.facts import Evidence, declines, missing, revealed
from pytest_recall.horizon.lint import DAY_NUMBER, same_words
from pytest_recall.horizon.persona import Calendar
from pytest_recall.horizon.question import BenchQuestion
from pytest_recall.horizon.salvage import UnreadableReply, object_in
from pytest_recall.metrics.answers import tokens

BOUNDARY = "information-boundary"
FIELDS = (
    *("id", "question", "answer", "category", "difficulty", "relevant_days", "requires_synthesis"),
    *("query_session", "irrelevant_after", "forbidden_sessions", "expected_disclosure"),
)
"""The fields of a question that is written, in the order of the published files."""
_NUMBERED = re.compile(r"-q(\d+)$")


class QuestionWindow(NamedTuple):
    """The days that questions are written about once the day `checkpoint` is over."""

    checkpoint: int
    days: tuple[int, ...]


def windows(
    days: Sequence[int], interval: int, *, start: int | None, end: int | None, covered: Collection[int]
) -> list[QuestionWindow]:
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
            found.append(QuestionWindow(stop, shown))
        begin = stop + 1
    return found


def share(pairs: int, window: QuestionWindow, interval: int) -> int:
    """Return how many questions a window gets where `interval` days get `pairs`; at least one."""
    return max(1, round(pairs * min(len(window.days), interval) / interval))


@dataclass(frozen=True)
class ShownDays:
    """What was shown to the writer of questions."""

    texts: Mapping[int, str]
    """By day."""
    asked: set[str]
    """The questions there are, by `same_words`."""
    isolated: str = ""
    """The session of which nothing may come out elsewhere, where there is one."""
    query_session: str = ""
    others: tuple[str, ...] = ()
    """The other sessions that are isolated."""
    public: frozenset[str] = frozenset()
    """The words that give nothing away."""
    sessions: frozenset[str] = frozenset()
    """Those in which something can be asked."""


def take(proposed: Iterable[Mapping[str, Any]], shown: ShownDays) -> Iterator[dict[str, Any] | str]:
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
    row = {name: raw[name] for name in FIELDS[1:9] if raw.get(name) is not None}
    for name in ("question", "answer"):
        if isinstance(row.get(name), str):
            row[name] = row[name].strip()
    return {**row, "requires_synthesis": raw.get("requires_synthesis") is True}


def _boundary_row(raw: Mapping[str, Any], shown: ShownDays) -> dict[str, Any]:
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


def _problem(question: BenchQuestion, shown: ShownDays) -> str:
    strange = [day for day in question.relevant_days if day not in shown.texts]
    if strange:
        return f"names day {', '.join(map(str, strange))}, which was not shown"
    if question.irrelevant_after is not None and question.irrelevant_after < max(question.relevant_days):
        return f"is out of date after day {question.irrelevant_after}, before the last of its days"
    if not shown.isolated and question.category == BOUNDARY:
        return "is about what may be told where, which --mode boundary asks for"
    if question.query_session and question.query_session not in shown.sessions | {shown.query_session, shown.isolated}:
        return f"is asked in `{question.query_session}`, which is not a session"
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


LEAST = 200
"""Characters of a part below which it is left out instead of cut."""
_Heading = Callable[[int, bool], str]


class _Found(NamedTuple):
    day: int
    place: int
    part: DayPiece
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


class SupportVerdict(NamedTuple):
    """What a model says of a question."""

    supported: bool
    unsupported: tuple[str, ...]
    answerable: bool
    suggested: str | None
    """A reference that the days of the question support; None without one."""
    outdated_on: int | None
    """The first day that makes the reference wrong; None if none of those that were shown does."""
    reasoning: str


def read_verdict(reply: str, later: Collection[int]) -> SupportVerdict:
    """Return the verdict in a reply; `later` are the days that can make a reference wrong. Raises Unreadable."""
    found = object_in(reply)
    supported, answerable = found.get("supported"), found.get("answerable")
    if not isinstance(supported, bool) or not isinstance(answerable, bool):
        raise UnreadableReply("does not say `supported` and `answerable` as true or false")
    claims, suggested = found.get("unsupported_claims") or [], found.get("suggested_reference")
    if not isinstance(claims, list) or not all(isinstance(claim, str) for claim in claims):
        raise UnreadableReply("has `unsupported_claims` that are not a list of texts")
    if supported and claims:
        raise UnreadableReply("says that all is supported, and names a claim that is not")
    if suggested is not None and not isinstance(suggested, str):
        raise UnreadableReply("has a `suggested_reference` that is not text")
    outdated = found.get("outdated_on_day")
    if outdated is not None and (isinstance(outdated, bool) or outdated not in later):
        raise UnreadableReply(f"says that day {outdated!r} outdates it, which was not shown as a later one")
    suggested = suggested.strip() if suggested else None
    return SupportVerdict(
        supported, tuple(claims), answerable, suggested or None, outdated, str(found.get("reasoning") or "")
    )


def line_of(question: BenchQuestion, verdict: SupportVerdict, model: str) -> dict[str, Any]:
    """Return the line of a verdict, by the published names and some of ours: from `outdated_on_day` on."""
    return {
        "id": question.id,
        "supported": verdict.supported,
        "category": question.category,
        "difficulty": question.difficulty,
        "question": question.question,
        "reference": question.answer,
        "relevant_days": list(question.relevant_days),
        "unsupported_claims": list(verdict.unsupported),
        "question_answerable_from_corpus": verdict.answerable,
        "suggested_reference": verdict.suggested,
        "outdated_on_day": verdict.outdated_on,
        "reasoning": verdict.reasoning,
        "model": model,
    }


def holds_for(line: Mapping[str, Any], question: BenchQuestion) -> bool:
    """Whether a line is about this question as it is now."""
    return (
        line.get("id") == question.id
        and line.get("question") == question.question
        and line.get("reference") == question.answer
        and line.get("relevant_days") == list(question.relevant_days)
        and isinstance(line.get("supported"), bool)
    )


def is_verifiable(question: BenchQuestion) -> bool:
    """Whether a question's reference says what its days say; those about what may be told where do not."""
    return question.category != BOUNDARY and question.expected_disclosure is None


def is_outdated(question: BenchQuestion, line: Mapping[str, Any]) -> bool:
    """Whether a later day makes the reference wrong while the question may still be asked."""
    day = line.get("outdated_on_day")
    return isinstance(day, int) and (question.irrelevant_after is None or day <= question.irrelevant_after)


class QuestionChange(NamedTuple):
    """What a verdict changes in a question."""

    fields: dict[str, Any]
    """With their new values."""
    refused: tuple[str, ...]
    """Why a field stays."""


def change(question: BenchQuestion, line: Mapping[str, Any], there: Iterable[Evidence]) -> QuestionChange:
    """Return what a line changes in its question, of boundary ones nothing; `there` are the relevant days."""
    fields, refused = dict[str, Any](), list[str]()
    if not is_verifiable(question):
        return QuestionChange({}, ())
    suggested = line.get("suggested_reference")
    if not line["supported"] and isinstance(suggested, str) and suggested != question.answer:
        absent = missing(suggested, there)
        if absent:
            refused.append(f"the suggested reference has {', '.join(absent)}, which its days have not")
        else:
            fields["answer"] = suggested
    if is_outdated(question, line):
        outdated = line["outdated_on_day"]
        if outdated > max(question.relevant_days):
            fields["irrelevant_after"] = outdated - 1
        else:
            refused.append(f"day {outdated} is not after its last relevant day")
    return QuestionChange(fields, tuple(refused))
