"""Check a persona's whole folder: its days and its questions, with the line of each finding."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from pytest_recall.files import strict_yaml
from pytest_recall.files.disk import read_text
from pytest_recall.files.errors import RecallError
from pytest_recall.horizon.consistency import day_findings, days_findings, story_findings, unknown_keys
from pytest_recall.horizon.corpus import PERSONA, QUESTIONS, Corpus, QuestionFile, QuestionRow
from pytest_recall.horizon.day import SessionPart, parts_of, plan_day
from pytest_recall.horizon.facts import Evidence, public_words
from pytest_recall.horizon.leaks import (
    Finding,
    LeakSource,
    Severity,
    belief_findings,
    date_findings,
    leak_findings,
    map_findings,
    secrets,
)
from pytest_recall.horizon.lint import Ground, QuestionFinding, lint, overlapping
from pytest_recall.horizon.persona import Persona, Story, sessions_in

_PLACED = re.compile(r"(?P<file>.+?):(?P<line>\d+): (?P<rest>.+)", re.DOTALL)


class ToldFinding(NamedTuple):
    """A finding, as people are told it."""

    file: str
    line: int
    """Counted from 1."""
    severity: Severity
    rule: str
    message: str


def check(corpus: Corpus) -> list[ToldFinding]:
    """Return what is wrong in a persona's folder; errors and warnings, in the order of the files.

    Files that cannot be read are findings too, and what needs them is not looked for.
    """
    broken = [*_unreadable(corpus, "persona"), *_unreadable(corpus, "arcs")]
    if broken:
        return broken
    found = [
        *unknown_keys(_plain(corpus.path / PERSONA), Persona, "persona"),
        *unknown_keys(_plain(corpus.arcs_path), Story, "arcs"),
        *story_findings(corpus.persona, corpus.story),
    ]
    try:
        days = corpus.days
    except RecallError as error:
        # A story that no one has written yet can still be looked at.
        return [
            *_places(corpus, found),
            ToldFinding(str(corpus.memories), 1, "warning", "unwritten", str(error.messages[0])),
        ]
    texts: dict[int, str] = {}
    unread: list[ToldFinding] = []
    for day in days:
        try:
            texts[day] = read_text(corpus.day_path(day), str(corpus.day_path(day)))
        except RecallError as error:
            unread += [_placed(message, corpus.day_path(day), "unreadable") for message in error.messages]
    found += _of_days(corpus, days, texts)
    return [*_places(corpus, found), *unread]


def _of_days(corpus: Corpus, days: tuple[int, ...], texts: Mapping[int, str]) -> Iterator[Finding]:
    persona, story, calendar = corpus.persona, corpus.story, corpus.calendar
    last = story.end
    plans = {day: plan_day(story, persona, calendar, day) for day in {*range(1, last + 1), *days}}
    yield from days_findings([day for day in range(1, last + 1) if plans[day].sittings], set(days))
    parts: list[SessionPart] = []
    for day, text in texts.items():
        own = parts_of(day, text)
        parts += own
        yield from day_findings(persona, story, plans[day], text, own)
        for part in own:
            yield from date_findings(calendar, part)
    yield from map_findings(calendar, texts)
    yield from leak_findings(secrets(persona, story), parts)
    for arc in story.arcs:
        yield from belief_findings(arc, parts)


def _unreadable(corpus: Corpus, source: LeakSource) -> list[ToldFinding]:
    file = corpus.path / PERSONA if source == "persona" else corpus.arcs_path
    try:
        _: BaseModel = corpus.persona if source == "persona" else corpus.story
    except RecallError as error:
        return [_placed(message, file, "schema") for message in error.messages]
    return []


def _placed(message: str, file: Path, rule: str) -> ToldFinding:
    """Return the finding in a sentence that begins with a file and a line, or with the file alone."""
    match = _PLACED.fullmatch(message)
    if match is not None:
        return ToldFinding(match["file"], int(match["line"]), "error", rule, match["rest"])
    return ToldFinding(str(file), 1, "error", rule, message.removeprefix(f"{file}: "))


def _places(corpus: Corpus, found: list[Finding]) -> list[ToldFinding]:
    """Return the findings with their files and lines, in the order of these."""
    files = {"persona": corpus.path / PERSONA, "arcs": corpus.arcs_path}
    lines = {
        source: strict_yaml.lines(read_text(file, str(file)), str(file)) if _has(found, source) else {}
        for source, file in files.items()
    }
    order = {"persona": 0, "arcs": 1, "memories": 2}

    def told(one: Finding) -> ToldFinding:
        if one.source == "memories":
            file, line = corpus.memories if one.day is None else corpus.day_path(one.day), one.line
        else:
            known = (lines[one.source].get(one.path[:end]) for end in range(len(one.path), -1, -1))
            file, line = files[one.source], next((line for line in known if line is not None), 1)
        return ToldFinding(str(file), line, one.severity, one.rule, one.message)

    ranked = sorted(found, key=lambda one: (order[one.source], one.day or 0))
    return [told(one) for one in ranked]


def _has(found: list[Finding], source: str) -> bool:
    return any(one.source == source for one in found)


def _plain(file: Path) -> dict[str, object]:
    value = strict_yaml.load(read_text(file, str(file)), str(file))
    assert isinstance(value, dict)  # It was read as one before.
    return value


class PlacedFinding(NamedTuple):
    """A finding with its line, and the id of the question as it is written; empty where there is none."""

    line: int
    id: str
    finding: QuestionFinding


def ground_of(corpus: Corpus) -> Ground:
    """Return what the questions of a corpus are held against; each day is read once, when it is needed."""

    @cache
    def text(day: int) -> str:
        return corpus.text(day)

    @cache
    def evidence(day: int) -> Evidence:
        return Evidence([text(day)], [corpus.calendar.date_of(day)])

    @cache
    def sessions(day: int) -> dict[str, str]:
        return sessions_in(text(day))

    return Ground(
        persona=corpus.persona,
        story=corpus.story,
        calendar=corpus.calendar,
        days=frozenset(corpus.days),
        evidence=evidence,
        said=lambda day, session: sessions(day).get(session, ""),
        public=public_words(corpus.persona),
    )


def lint_corpus(corpus: Corpus) -> tuple[int, list[PlacedFinding]]:
    """Return how many rows the questions have, and what is wrong with them by line. Raises RecallError."""
    file = QuestionFile(corpus.qa / QUESTIONS)
    ground = ground_of(corpus)
    found = [one for row in file.rows for one in _row(file, row, ground)]
    return len(file.rows), sorted([*found, *_twice(file)], key=lambda one: one.line)


def _row(file: QuestionFile, row: QuestionRow, ground: Ground) -> Iterator[PlacedFinding]:
    id = str(row.raw.get("id", ""))
    for problem in row.problems:
        place, _, told = problem.removeprefix(f"{file.path}:").partition(": ")
        yield PlacedFinding(int(place), id, QuestionFinding("form", "id", told))
    if row.question is not None:
        for finding in lint(row.question, ground):
            yield PlacedFinding(file.line_of(row, finding.field), id, finding)


def _twice(file: QuestionFile) -> Iterator[PlacedFinding]:
    seen: set[str] = set()
    # By what it is and not by what it says: two rows may be the same, to the last sign.
    places = list[QuestionRow]()
    for row in file.rows:
        if row.question is None:
            continue
        places.append(row)
        if row.question.id in seen:
            told = f"{row.question.id!r} is there twice; choose another"
            yield PlacedFinding(row.line, row.question.id, QuestionFinding("id-twice", "id", told))
        seen.add(row.question.id)
    for place, other in overlapping(file.questions):
        row = places[place]
        told = f"asks the same as {file.questions[other].id}; remove one of them"
        line = file.line_of(row, "question")
        yield PlacedFinding(line, str(row.raw["id"]), QuestionFinding("question-twice", "question", told))
