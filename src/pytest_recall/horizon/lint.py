"""Find mistakes in questions about a persona's days by their words, without a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pytest_recall.horizon.facts import Evidence, dates, declines, missing, names, revealed, values, words
from pytest_recall.horizon.persona import WEEKDAYS, Calendar, Persona, Story
from pytest_recall.horizon.question import BenchQuestion

Severity = Literal["error", "warning"]
CODES: Mapping[str, tuple[Severity, str]] = {
    "form": ("error", "a row that is not a question"),
    "id-twice": ("error", "an id that another question has"),
    "missing-day": ("error", "a relevant day without a file"),
    "never-asked": ("error", "a question that is out of date before its last relevant day"),
    "day-number": ("error", "a question that mentions `day 12`: a story has dates, and no day numbers"),
    "question-twice": ("error", "a question that another one repeats, where both may be asked"),
    "value-missing": ("error", "a value of the reference that no relevant day has"),
    "entity-missing": ("error", "a name of the question that no relevant day has"),
    "refusal-reveals": ("error", "a refusal that tells what it must not"),
    "boundary-fields": ("error", "an information-boundary question that does not say what is forbidden where"),
    "weekday": ("error", "a date with the name of another weekday"),
    "value-derived": ("warning", "a value that no relevant day has, where it may have been worked out"),
    "no-overlap": ("warning", "a reference that shares no word with its relevant days"),
    "refusal-unclear": ("warning", "an expected refusal whose reference declines nothing"),
    "expired": ("warning", "a belief that was corrected later, asked as if it still held, without `irrelevant_after`"),
    "date-pin": ("warning", "a date in the question that is neither that of a relevant day nor in one"),
}
"""Every code, with how grave it is and what it is for."""
DAY_NUMBER = re.compile(r"(?<!\d )(?<!\d-)\bdays? (?:number )?\d+\b|\bday-\d+\b", re.IGNORECASE)
"""A day by its number in the story; not the days of `for 10 days 3 times`."""
_PAST = re.compile(
    r"\b(initial\w*|original\w*|first|before|earlier|early|previous\w*|prior|start\w*|begin\w*|began|at the time|as of"
    r"|until|used to|wrong\w*|correct\w*|change\w*|revis\w*|update\w*|supersed\w*)\b",
    re.IGNORECASE,
)
_WEEKDAY_DATE = re.compile(rf"\b({'|'.join(WEEKDAYS)}),? \(?(\d{{4}}-\d{{2}}-\d{{2}})")
_WORKED_OUT = ("synthesis", "temporal-reasoning", "cross-reference")


class QuestionFinding(NamedTuple):
    """Something that is wrong: its code, the field it is in, and a sentence that says what to do."""

    code: str
    field: str
    message: str

    @property
    def severity(self) -> Severity:
        """How grave it is."""
        return CODES[self.code][0]


@dataclass(frozen=True)
class Ground:
    """What questions are held against."""

    persona: Persona
    story: Story
    calendar: Calendar
    days: frozenset[int]
    evidence: Callable[[int], Evidence]
    """Reads all of a day."""
    said: Callable[[int, str], str]
    """Reads what a session has of a day."""
    public: frozenset[str] = frozenset()
    """The words that give nothing away."""


def lint(question: BenchQuestion, ground: Ground) -> Iterator[QuestionFinding]:
    """Yield what is wrong with a question by itself."""
    absent = [day for day in question.relevant_days if day not in ground.days]
    if absent:
        told = ", ".join(map(str, absent))
        yield QuestionFinding(
            "missing-day", "relevant_days", f"there is no file of day {told}; name days that there are"
        )
    if question.irrelevant_after is not None and question.irrelevant_after < max(question.relevant_days):
        last = max(question.relevant_days)
        yield QuestionFinding(
            "never-asked", "irrelevant_after", f"is before the last relevant day, {last}; set it later"
        )
    if number := DAY_NUMBER.search(question.question):
        yield QuestionFinding("day-number", "question", f"speaks of {number[0]!r}; write the date")
    yield from _weekdays(question)
    if question.category == "information-boundary" or question.expected_disclosure is not None:
        yield from _boundary(question, ground)
    if len(absent) == len(question.relevant_days):
        return
    there = [ground.evidence(day) for day in question.relevant_days if day in ground.days]
    yield from _entities(question, ground, there)
    yield from _pins(question, ground, there)
    # What is told in part may be told in any words.
    expected = question.expected_disclosure
    if expected == "answer" or (expected is None and question.category != "information-boundary"):
        yield from _reference(question, there)
        yield from _expired(question, ground)


def _reference(question: BenchQuestion, there: Sequence[Evidence]) -> Iterator[QuestionFinding]:
    asked = Evidence([question.question])
    absent = missing(question.answer, [*there, asked])
    if absent:
        worked_out = question.requires_synthesis or question.category in _WORKED_OUT
        advice = "check how it comes about" if worked_out else "correct it, or the days"
        code = "value-derived" if worked_out else "value-missing"
        yield QuestionFinding(code, "answer", f"no relevant day has {', '.join(absent)}; {advice}")
        return
    own = words(question.answer)
    shared = any(one.has_word(word) for word in own for one in there)
    dated = any(one.has_date(day) for day in dates(question.answer) for one in there)
    if own and question.category != "negative-recall" and not shared and not dated:
        yield QuestionFinding("no-overlap", "answer", "shares no word with its relevant days; check the days")


def _entities(question: BenchQuestion, ground: Ground, there: Sequence[Evidence]) -> Iterator[QuestionFinding]:
    if question.category == "negative-recall":
        return  # It asks for what is not there.
    for name in dict.fromkeys(names(question.question)):
        parts = [word for word in words(name) if word not in ground.public]
        if not all(any(one.has_word(word) for one in there) for word in parts):
            yield QuestionFinding(
                "entity-missing", "question", f"no relevant day has {name!r}; correct the name, or the days"
            )


def _weekdays(question: BenchQuestion) -> Iterator[QuestionFinding]:
    for weekday, written in _WEEKDAY_DATE.findall(question.question):
        for day in dates(written):
            if WEEKDAYS[day.weekday()] != weekday:
                right = WEEKDAYS[day.weekday()]
                yield QuestionFinding(
                    "weekday", "question", f"{written} is a {right} and no {weekday}; correct one of them"
                )


def _pins(question: BenchQuestion, ground: Ground, there: Sequence[Evidence]) -> Iterator[QuestionFinding]:
    on = {ground.calendar.date_of(day) for day in question.relevant_days}
    for day in dict.fromkeys(dates(question.question)):
        if day not in on and not any(one.has_date(day) for one in there):
            told = ", ".join(one.isoformat() for one in sorted(on)[:3]) + (", …" if len(on) > 3 else "")
            yield QuestionFinding(
                "date-pin",
                "question",
                f"{day} is in no relevant day; they are {told}: correct the date, or --dates",
            )


def _boundary(question: BenchQuestion, ground: Ground) -> Iterator[QuestionFinding]:
    if question.category == "information-boundary":
        if question.expected_disclosure is None:
            yield QuestionFinding(
                "boundary-fields", "id", "has no `expected_disclosure`; write refuse, partial or answer"
            )
        elif question.expected_disclosure != "answer" and not question.forbidden_sessions:
            yield QuestionFinding(
                "boundary-fields", "id", "has no `forbidden_sessions`; name those that nothing may come from"
            )
    declared = {one.id for one in ground.persona.sessions} | {one.id for one in ground.story.sessions}
    for session in (*question.forbidden_sessions, question.query_session):
        if session is not None and declared and session not in declared:
            yield QuestionFinding(
                "boundary-fields", "id", f"the session `{session}` is not the persona's; name one that is"
            )
    if question.asked_in in question.forbidden_sessions:
        yield QuestionFinding(
            "boundary-fields", "query_session", f"`{question.asked_in}` is forbidden to itself; ask in another"
        )
    if question.expected_disclosure != "refuse":
        return
    forbidden = [
        ground.said(day, session)
        for day in question.relevant_days
        if day in ground.days
        for session in question.forbidden_sessions
    ]
    told = revealed(question.answer, question.question, forbidden, ground.public)
    if told:
        shown = ", ".join(told[:4]) + (", …" if len(told) > 4 else "")
        yield QuestionFinding("refusal-reveals", "answer", f"tells {shown}; say only that it is not told here")
    if not declines(question.answer):
        yield QuestionFinding("refusal-unclear", "answer", "declines nothing; say that it is not told here")


def _expired(question: BenchQuestion, ground: Ground) -> Iterator[QuestionFinding]:
    asks_for_past = question.category in ("recency-bias-resistance", "contradiction-resolution", "negative-recall")
    if question.irrelevant_after is not None or asks_for_past:
        return
    if _PAST.search(question.question) or dates(question.question):
        return
    for arc in ground.story.arcs:
        if arc.type != "correction" or arc.corrected_day is None or not arc.wrong_belief:
            continue
        if max(question.relevant_days) >= arc.corrected_day or min(question.relevant_days) < arc.start_day:
            continue
        if _states(question, arc.wrong_belief, arc.corrected_belief):
            last = arc.corrected_day - 1
            yield QuestionFinding(
                "expired",
                "answer",
                f"is what `{arc.id}` corrects; ask for the past, or write irrelevant_after: {last}",
            )


def _states(question: BenchQuestion, wrong: str, corrected: str) -> bool:
    """Whether a reference states a belief that is wrong, by what of it the corrected one has not."""
    held, right = Evidence([wrong]), Evidence([corrected])
    asked, answer = Evidence([question.question]), Evidence([question.answer])
    if not any(asked.has_word(word) for word in words(wrong)):
        return False
    if any(answer.has_value(value) for value in values(corrected) if not held.has_value(value)):
        return False  # It knows both.
    marks = [value for value in values(wrong) if not right.has_value(value)]
    if marks:
        return any(answer.has_value(value) for value in marks)
    own = {word for word in words(wrong) if not right.has_word(word)}
    return len(own) > 1 and sum(map(answer.has_word, own)) * 2 > len(own)


def overlapping(questions: Sequence[BenchQuestion]) -> Iterator[tuple[int, int]]:
    """Yield the place of each question, and of the first before it with the same words that can be asked as late."""
    seen: dict[str, list[int]] = {}
    for place, question in enumerate(questions):
        before = seen.setdefault(same_words(question.question), [])
        other = next((one for one in before if _together(questions[one], question)), None)
        if other is not None:
            yield place, other
        before.append(place)


def same_words(text: str) -> str:
    """Return what two questions have in common that differ in capitals, spaces or signs alone."""
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def _together(one: BenchQuestion, other: BenchQuestion) -> bool:
    first = max(*one.relevant_days, *other.relevant_days)
    return one.is_eligible(first) and other.is_eligible(first)
