"""Corpus: a persona's folder: who it is, its story, its days, and the questions about them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path

from pydantic import ValidationError

from pytest_recall.core.errors import RecallError
from pytest_recall.core.horizon.calendar import Calendar, DateMap
from pytest_recall.core.horizon.layout import DEFAULT_ARCS, day_file, day_of, folder
from pytest_recall.core.horizon.persona import Persona
from pytest_recall.core.horizon.question import BenchQuestion
from pytest_recall.core.horizon.story import Story, calendar_of
from pytest_recall.store import strictyaml
from pytest_recall.store.files import read_text
from pytest_recall.store.written import MAX_PROBLEMS, explain, read_mapping

PERSONA = "persona.yaml"
QUESTIONS = "questions.yaml"
_FRONT = "---\n"


def story_name(path: Path, given: str | None) -> str:
    """Return the name of the story's file in a persona's folder: the given one, else the only one, else the usual."""
    there = [one.name for one in path.glob("arcs*.y*ml")] if given is None else []
    return given or (there[0] if len(there) == 1 else DEFAULT_ARCS)


class Corpus:
    """A persona's folder and one of its stories. Nothing is read before it is wanted; all of it raises RecallError.

    Folders that are given, by name or path below the persona's, come before those that the story's name implies.
    """

    def __init__(
        self,
        path: Path,
        arcs: str = DEFAULT_ARCS,
        *,
        memories: str | None = None,
        qa: str | None = None,
        tools: str | None = None,
        conversations: str | None = None,
        dates: DateMap = "calendar",
    ) -> None:
        self.path = path
        self.arcs_path = path / arcs
        self.memories = path / (memories or folder("memories", arcs))
        self.qa = path / (qa or folder("qa", arcs))
        self.tools = path / (tools or folder("tools", arcs))
        self.conversations = path / (conversations or folder("conversations", arcs))
        self._dates = dates

    @cached_property
    def persona(self) -> Persona:
        """Who it is."""
        file = self.path / PERSONA
        if not file.is_file():
            raise RecallError(f"{file}: is not there; `recall bench create-persona` writes one")
        return read_mapping(file, str(file), Persona, "`id`, `name` and `role`")

    @cached_property
    def story(self) -> Story:
        """What happens."""
        if not self.arcs_path.is_file():
            there = ", ".join(sorted(one.name for one in self.path.glob("arcs*.y*ml"))) or "none"
            raise RecallError(f"{self.arcs_path}: is not there; of the story's files there are: {there}")
        return read_mapping(self.arcs_path, str(self.arcs_path), Story, "`epoch` and `arcs`")

    @cached_property
    def calendar(self) -> Calendar:
        """When."""
        return calendar_of(self.persona, self.story, self._dates)

    @cached_property
    def days(self) -> tuple[int, ...]:
        """The days that have a file, from the first to the last."""
        if not self.memories.is_dir():
            raise RecallError(f"{self.memories}: is not there; `recall bench generate` writes it")
        found = sorted(day for one in self.memories.iterdir() if (day := day_of(one.name)))
        if not found:
            raise RecallError(f"{self.memories}: holds no day; files are called {day_file(1)}")
        return tuple(found)

    def day_path(self, day: int) -> Path:
        """Return where a day's text is."""
        return self.memories / day_file(day)

    def text(self, day: int) -> str:
        """Return a day's text, without the block in front of it."""
        path = self.day_path(day)
        return body_of(read_text(path, str(path)))

    def texts(self) -> Iterator[tuple[int, str]]:
        """Yield each day with its text, one at a time."""
        for day in self.days:
            yield day, self.text(day)

    @cached_property
    def questions(self) -> tuple[BenchQuestion, ...]:
        """All questions, in the order of the file."""
        file = self.qa / QUESTIONS
        if not file.is_file():
            raise RecallError(f"{file}: is not there; `recall bench generate-qa` writes it")
        return read_questions(file, str(file))


def read_questions(path: Path, name: str) -> tuple[BenchQuestion, ...]:
    """Return the questions in the YAML file at `path`; messages call it `name`. Raises RecallError."""
    text = read_text(path, name)
    rows = strictyaml.load(text, name)
    if not isinstance(rows, list) or not rows:
        raise RecallError(f"{name}:1: must be a list of questions; start with `- id: …`")

    @cache
    def lines() -> dict[tuple[str | int, ...], int]:
        return strictyaml.lines(text, name)

    def line_of(path: tuple[str | int, ...]) -> int:
        known = (lines().get(path[:end]) for end in range(len(path), 0, -1))
        return next((line for line in known if line is not None), 1)

    questions, problems, seen = list[BenchQuestion](), list[str](), set[str]()
    for place, row in enumerate(rows):
        try:
            question = BenchQuestion.model_validate(row)
        except ValidationError as error:
            problems += explain(error, BenchQuestion, name, lambda inner, place=place: line_of((place, *inner)))  # type: ignore[misc]
            continue
        if question.id in seen:
            problems.append(f"{name}:{line_of((place,))}: id: {question.id!r} is there twice; choose another")
        seen.add(question.id)
        questions.append(question)
    if problems:
        raise RecallError(*problems[:MAX_PROBLEMS])
    return tuple(questions)


def body_of(text: str) -> str:
    """Return a text without the block between two lines `---` that it begins with."""
    if text.startswith(_FRONT) and (end := text.find(f"\n{_FRONT}", len(_FRONT) - 1)) >= 0:
        return text[end + len(_FRONT) + 1 :].lstrip("\n")
    return text
