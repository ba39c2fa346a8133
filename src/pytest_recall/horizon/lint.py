"""Lint of a corpus: its file of questions held against its days, with the line of each finding."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from pytest_recall.core.horizon.facts import Evidence
from pytest_recall.core.horizon.layout import sessions_in
from pytest_recall.core.horizon.lint import Finding, Ground, lint, overlapping
from pytest_recall.core.horizon.withheld import public_words
from pytest_recall.horizon.corpus import QUESTIONS, Corpus
from pytest_recall.horizon.questionfile import QuestionFile, Row


class Found(NamedTuple):
    """A finding with its line, and the id of the question as it is written; empty where there is none."""

    line: int
    id: str
    finding: Finding


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


def lint_corpus(corpus: Corpus) -> tuple[int, list[Found]]:
    """Return how many rows the questions have, and what is wrong with them by line. Raises RecallError."""
    file = QuestionFile(corpus.qa / QUESTIONS)
    ground = ground_of(corpus)
    found = [one for row in file.rows for one in _row(file, row, ground)]
    return len(file.rows), sorted([*found, *_twice(file)], key=lambda one: one.line)


def _row(file: QuestionFile, row: Row, ground: Ground) -> Iterator[Found]:
    id = str(row.raw.get("id", ""))
    for problem in row.problems:
        place, _, told = problem.removeprefix(f"{file.path}:").partition(": ")
        yield Found(int(place), id, Finding("form", "id", told))
    if row.question is not None:
        for finding in lint(row.question, ground):
            yield Found(file.line_of(row, finding.field), id, finding)


def _twice(file: QuestionFile) -> Iterator[Found]:
    seen: set[str] = set()
    # By what it is and not by what it says: two rows may be the same, to the last sign.
    places = list[Row]()
    for row in file.rows:
        if row.question is None:
            continue
        places.append(row)
        if row.question.id in seen:
            told = f"{row.question.id!r} is there twice; choose another"
            yield Found(row.line, row.question.id, Finding("id-twice", "id", told))
        seen.add(row.question.id)
    for place, other in overlapping(file.questions):
        row = places[place]
        told = f"asks the same as {file.questions[other].id}; remove one of them"
        line = file.line_of(row, "question")
        yield Found(line, str(row.raw["id"]), Finding("question-twice", "question", told))
