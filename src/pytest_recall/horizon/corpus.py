"""Read a persona's folder: the persona, its story, its days, and its questions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pytest_recall.files import strict_yaml
from pytest_recall.files.disk import locked, make_ignored, read_text, write_text
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.json_lines import Appended, read_appended
from pytest_recall.files.validation import MAX_PROBLEMS, explain, read_mapping
from pytest_recall.horizon.day import DayPiece, UnitKind, pieces_of
from pytest_recall.horizon.day_forms import ENDINGS, STEM, calls_in, turns_in
from pytest_recall.horizon.persona import (
    DEFAULT_ARCS,
    KEPT,
    Calendar,
    DateMap,
    Persona,
    Story,
    calendar_of,
    dated,
    day_file,
    day_of,
    folder,
)
from pytest_recall.horizon.profile import Feed
from pytest_recall.horizon.question import BenchQuestion

PERSONA = "persona.yaml"
QUESTIONS = "questions.yaml"
FERRY_OFFICE = "ferry-office"
"""The persona that the package ships; scripts/ferry-office.py writes it."""
_FRONT = "---\n"
_LOOKED_AT = 60
"""Days whose texts are read at most to see how they are dated."""


def story_name(path: Path, given: str | None) -> str:
    """Return the name of the story's file in a persona's folder: the given one, else the only one, else the usual."""
    there = [one.name for one in path.glob("arcs*.y*ml")] if given is None else []
    return given or (there[0] if len(there) == 1 else DEFAULT_ARCS)


def shipped(named: str) -> Path | None:
    """Return the folder of the persona that the package ships, if it is named; None for another name."""
    return Path(__file__).with_name("personas") / FERRY_OFFICE if named == FERRY_OFFICE else None


def folders_in(folder: Path) -> list[Path]:
    """Return the folders of personas in a folder."""
    return sorted(one.parent for one in folder.glob(f"*/{PERSONA}"))


def personas_in(folder: Path) -> dict[str, Path]:
    """Return the folders of the personas in a folder by the id of each; one that cannot be read goes by its name.

    Raises RecallError where two are of one persona.
    """
    found: dict[str, Path] = {}
    for path in folders_in(folder):
        try:
            id = Corpus(path).persona.id
        except RecallError:  # It is told when that persona is run.
            id = path.name
        if id in found:
            raise RecallError(f"{found[id]} and {path} are both the persona `{id}`; change the id of one of them")
        found[id] = path
    return dict(sorted(found.items()))


def persona_folder(data: Path, id: str) -> Path:
    """Return the folder of a persona. Raises RecallError where there are only others, with the nearest of them."""
    known = personas_in(data)
    if known and id not in known:
        raise RecallError(f"{data}: holds no persona `{id}`{nearest(id, known)}")
    return known.get(id, data / id)


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
        dates: DateMap | None = None,
    ) -> None:
        self.path = path
        self.arcs_path = path / arcs
        self.memories = path / (memories or folder("memories", arcs))
        self.qa = path / (qa or folder("qa", arcs))
        self.tools = path / (tools or folder("tools", arcs))
        # Conversations go beside days of another name, as the published command has it.
        is_named = memories is not None and memories.startswith("memories")
        beside = "conversations" + (memories or "").removeprefix("memories")
        self.conversations = path / (conversations or (beside if is_named else folder("conversations", arcs)))
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
        """When; how days become dates is recognised by the texts of the days where it is not given."""
        calendar = calendar_of(self.persona, self.story, self._dates or "calendar")
        if self._dates is not None or not self.memories.is_dir():
            return calendar
        differing = (day for day in self._days() if calendar.date_of(day) != calendar.other.date_of(day))
        some = self._readable(islice(differing, _LOOKED_AT))
        return calendar.other if dated(calendar, some).is_other else calendar

    def _readable(self, days: Iterable[int]) -> Iterator[tuple[int, str]]:
        for day in days:
            with suppress(RecallError):
                yield day, self.text(day)

    @property
    def is_dated_otherwise(self) -> bool:
        """Whether the days were recognised to be dated in another way than by the calendar."""
        return self._dates is None and self.calendar.dates != "calendar"

    @cached_property
    def days(self) -> tuple[int, ...]:
        """The days that have a file, from the first to the last."""
        if not self.memories.is_dir():
            raise RecallError(f"{self.memories}: is not there; `recall bench generate` writes it")
        found = self._days()
        if not found:
            raise RecallError(f"{self.memories}: holds no day; files are called {day_file(1)}")
        return tuple(found)

    def _days(self) -> list[int]:
        return sorted(day for one in self.memories.iterdir() if (day := day_of(one.name)))

    def day_path(self, day: int) -> Path:
        """Return where a day's text is."""
        return self.memories / day_file(day)

    def text(self, day: int) -> str:
        """Return a day's text, without the block in front of it."""
        path = self.day_path(day)
        return body_of(read_text(path, str(path)))

    def fed_path(self, day: int, feed: Feed) -> Path:
        """Return where that is which a memory is told of a day, whether it is there or not."""
        if feed == "days":
            return self.day_path(day)
        if feed == "tool-calls":
            return self.tools / day_file(day, "yaml")
        path = self.conversations / day_file(day, ENDINGS["json"], STEM)
        return path if path.is_file() else self.conversations / day_file(day, ENDINGS["markdown"], STEM)

    def fed_days(self, feed: Feed) -> tuple[int, ...]:
        """Return the days of which a memory is told. Raises RecallError if there are none."""
        found = tuple(day for day in self.days if self.fed_path(day, feed).is_file())
        if not found:
            folder = self.tools if feed == "tool-calls" else self.conversations
            raise RecallError(f"{folder}: has no file of a day; `recall bench generate-{feed}` writes them")
        return found

    def calls_dated_otherwise(self) -> list[int]:
        """Return the days whose tool calls are in a file with another date than theirs. Raises RecallError."""
        found = []
        for day in self.fed_days("tool-calls"):
            path = self.fed_path(day, "tool-calls")
            plain = strict_yaml.load(read_text(path, str(path)), str(path))
            named = plain.get("date") if isinstance(plain, dict) else None
            if named not in (None, self.calendar.date_of(day).isoformat()):
                found.append(day)
        return found

    def pieces(self, day: int, feed: Feed, kind: UnitKind) -> list[DayPiece]:
        """Return what a memory is told of a day: its text in pieces of this kind, each turn, or each call.

        Raises RecallError for a file that is none.
        """
        if feed == "days":
            return list(pieces_of(self.text(day), kind))
        path = self.fed_path(day, feed)
        text = read_text(path, str(path))
        try:
            if feed == "tool-calls":
                return [DayPiece(*call) for call in calls_in(strict_yaml.load(text, str(path)), day)]
            turns = turns_in(text, "json" if path.suffix == ".json" else "markdown")
        except ValueError as error:
            raise RecallError(f"{path}: {error}; correct it, or write it again") from None
        return [DayPiece("", f"{turn.role.capitalize()}: {turn.content}") for turn in turns]

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
    rows = strict_yaml.load(text, name)
    if not isinstance(rows, list) or not rows:
        raise RecallError(f"{name}:1: must be a list of questions; start with `- id: …`")

    @cache
    def lines() -> dict[tuple[str | int, ...], int]:
        return strict_yaml.lines(text, name)

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


MARGIN = "- "


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A row of the file as it is written."""

    line: int
    """The first line of the row."""
    raw: Mapping[str, Any]
    question: BenchQuestion | None
    problems: tuple[str, ...] = ()
    """Why it is not a question, if it is none."""


class QuestionFile:
    """The rows of a file of questions, none if there is no file. Raises RecallError if it cannot be read as YAML.

    What is written again is what changes: every other byte stays.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = read_text(path) if path.exists() else ""
        self._lines = strict_yaml.lines(self.text, str(path)) if self.text.strip() else {}
        plain = strict_yaml.load(self.text, str(path)) if self.text.strip() else None
        if not isinstance(plain, list | None):
            raise RecallError(f"{path}:1: must be a list of questions; start with `- id: …`")
        self.rows = tuple(self._row(place, raw) for place, raw in enumerate(plain or []))

    @property
    def questions(self) -> list[BenchQuestion]:
        """The rows that are questions."""
        return [row.question for row in self.rows if row.question is not None]

    def refuse_broken(self) -> None:
        """Raise RecallError if a row is not a question."""
        if broken := [problem for row in self.rows for problem in row.problems]:
            raise RecallError(*broken[:20])

    def append(self, rows: Iterable[Mapping[str, Any]]) -> QuestionFile:
        """Add rows at the end, at once, and return the file as it is then. Raises OSError."""
        added = list(rows)
        if self.rows and not self._is_blocks():
            text = strict_yaml.block([*(row.raw for row in self.rows), *added])
        else:
            kept = self.text if self.rows else ""
            text = kept + ("" if not kept or kept.endswith("\n") else "\n") + strict_yaml.block(added)
        write_text(self.path, text, durable=True)
        return QuestionFile(self.path)

    def change(self, changes: Mapping[str, Mapping[str, Any]]) -> QuestionFile:
        """Give rows, by id, other values in some fields, and return the file as it is then. Raises OSError."""
        if not self._is_blocks():
            raws = [{**row.raw, **changes.get(str(row.raw.get("id")), {})} for row in self.rows]
            write_text(self.path, strict_yaml.block(raws), durable=True)
            return QuestionFile(self.path)
        written = self.text.splitlines(keepends=True)
        ends = [*(row.line - 1 for row in self.rows[1:]), len(written)]
        for row, end in reversed(list(zip(self.rows, ends, strict=True))):
            new = changes.get(str(row.raw.get("id")))
            if new is None:
                continue
            while written[end - 1].strip() == "" or written[end - 1].startswith("#"):
                end -= 1  # What stands between two rows belongs to neither.
            written[row.line - 1 : end] = [strict_yaml.block([{**row.raw, **new}])]
        write_text(self.path, "".join(written), durable=True)
        return QuestionFile(self.path)

    def line_of(self, row: QuestionRow, field: str) -> int:
        """Return the line of a field of a row, or of the row if it has none."""
        return self._lines.get((self.rows.index(row), field), row.line)

    def _is_blocks(self) -> bool:
        written = self.text.split("\n")
        return all(written[row.line - 1].startswith(MARGIN) for row in self.rows)

    def _row(self, place: int, raw: Any) -> QuestionRow:
        line = self._lines.get((place,), 1)
        if not isinstance(raw, dict):
            return QuestionRow(
                line, {}, None, (f"{self.path}:{line}: is not a question; write its fields, the first is `id`",)
            )
        try:
            return QuestionRow(line, raw, BenchQuestion.model_validate(raw))
        except ValidationError as error:

            def line_of(path: tuple[str | int, ...]) -> int:
                known = (self._lines.get((place, *path[:end])) for end in range(len(path), 0, -1))
                return next((found for found in known if found is not None), line)

            return QuestionRow(line, raw, None, tuple(explain(error, BenchQuestion, str(self.path), line_of)))


_WHY = "# What passes keep to go on; nothing here belongs in git.\n"


def kept_in(persona: Path) -> Path:
    """Make and return the folder in which passes keep what they need. Raises OSError."""
    make_ignored(persona / KEPT, _WHY)
    return persona / KEPT


@contextmanager
def alone(persona: Path, folder: Path) -> Iterator[None]:
    """Hold the `folder` of a persona's files that a pass writes: two at once would pay for the same twice.

    Raises RecallError if another pass is at it.
    """
    busy = f"{folder}: another pass is writing there; wait until it is done, then run the same command again"
    with locked(kept_in(persona) / f"{folder.name}.lock", busy):
        yield


class Covered:
    """The windows that questions have been written about, by the session, which is empty for all of a day.

    A window is noted with the ids of its questions before these are in their file, and counts once one of them
    is there: so that a pass that is killed in between neither repeats a window nor leaves one out. Who deletes
    all questions of a window has them written again. Raises RecallError if the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._notes = [note for note in read_appended(path) if _is_note(note)] if path.exists() else []

    @property
    def ids(self) -> list[str]:
        """All ids that were ever given."""
        return [id for note in self._notes for id in note["ids"]]

    def days(self, session: str, there: Collection[str]) -> set[int]:
        """Return the days of a session that are covered, where these questions are `there`."""
        return {
            day
            for note in self._notes
            if note["session"] == session and any(id in there for id in note["ids"])
            for day in note["days"]
        }

    def note(self, session: str, checkpoint: int, days: Sequence[int], ids: Sequence[str], by: str) -> None:
        """Note a window, and who writes its questions. Raises OSError."""
        note = {"session": session, "checkpoint": checkpoint, "days": list(days), "ids": list(ids), "by": by}
        with Appended(self._path) as file:
            file.append(note)
        self._notes.append(note)


def _is_note(note: dict[str, Any]) -> bool:
    return (
        isinstance(note.get("session"), str)
        and isinstance(note.get("ids"), list)
        and isinstance(note.get("days"), list)
    )
