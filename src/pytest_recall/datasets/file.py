"""Open the file of a public memory benchmark, recognise which one it is, and read it sample by sample."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from pytest_recall.datasets import dmr, locomo, longmemeval
from pytest_recall.datasets.dataset import Conversation, Question, Sample
from pytest_recall.datasets.rows import called, opened, rows, whole
from pytest_recall.files.disk import check_pulled
from pytest_recall.files.errors import RecallError, fault_text, nearest
from pytest_recall.files.wording import one_line

_NAME = re.compile(r"[a-z][a-z0-9_]*(-[a-z0-9_]+)*")
AUTO = "auto"
"""Stands for the layout that the first row shows."""


@dataclass(frozen=True, slots=True)
class DatasetLayout:
    """How a dataset is laid out: as lines or as an array, by which fields one knows a row, and who reads it.

    Raises ValueError for fields that cannot be.
    """

    name: str
    """By which `--dataset` and files select it: lower-case letters, digits, `-` and `_`; not `auto`."""
    title: str
    """What messages call it."""
    lines: bool
    """Whether it is JSON Lines; else it is an array."""
    marks: frozenset[str]
    """Fields that its rows have and those of no other one."""
    read: Callable[[Any, str, int], Sample]
    """Reads a row, of which messages name the file and the number."""
    sample: Path
    """A small file of that layout."""
    shares_conversations: bool = False
    """Whether a row has many questions on its conversation; else each question has one of its own."""
    reader_prompt: str = "plain"
    """The name of the prompt by which a reader answers from passages."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name) or self.name == AUTO:
            why = f"write lower-case letters, digits, - and _; `{AUTO}` is taken"
            raise ValueError(f"{self.name!r} is no name of a dataset; {why}")
        if not isinstance(self.title, str) or not self.title.strip():
            raise ValueError(f"the title of `{self.name}` is no text")
        marks = () if isinstance(self.marks, str) else tuple(self.marks)
        if not marks or not all(isinstance(mark, str) and mark for mark in marks):
            raise ValueError(f"the marks of `{self.name}` are no set of names of fields")
        object.__setattr__(self, "marks", frozenset(marks))
        if not callable(self.read):
            raise ValueError(f"`read` of `{self.name}` is no function")
        object.__setattr__(self, "sample", Path(self.sample))

    @property
    def shape(self) -> str:
        """What the file is, in words."""
        fields = " and ".join(f"`{mark}`" for mark in sorted(self.marks))
        return f"{'JSON Lines' if self.lines else 'an array'} whose rows have {fields}"


Layouts = Mapping[str, DatasetLayout]
"""Layouts by their names."""
_SAMPLES = Path(str(files("pytest_recall").joinpath("datasets", "samples")))
LAYOUTS: Layouts = {
    "locomo": DatasetLayout(
        name="locomo",
        title="LoCoMo",
        lines=False,
        marks=frozenset({"conversation", "qa"}),
        read=locomo.sample,
        sample=_SAMPLES / "locomo.json",
        reader_prompt="locomo",
        shares_conversations=True,
    ),
    "longmemeval": DatasetLayout(
        name="longmemeval",
        title="LongMemEval",
        lines=False,
        marks=frozenset({"haystack_sessions", "question_id"}),
        read=longmemeval.sample,
        sample=_SAMPLES / "longmemeval.json",
        reader_prompt="longmemeval",
    ),
    "dmr": DatasetLayout(
        name="dmr",
        title="DMR",
        lines=True,
        marks=frozenset({"previous_dialogs", "self_instruct"}),
        read=dmr.sample,
        sample=_SAMPLES / "dmr.jsonl",
        reader_prompt="dmr",
    ),
}
_FIRST = 64 * 1024
_SESSION = re.compile(r"session_\d+")


def recognise(path: Path, name: str, layouts: Layouts = LAYOUTS) -> DatasetLayout:
    """Return in which of the `layouts` the file is; messages call it `name`.

    Raises RecallError for a file that is none of them, and says which other layout it is, if that is known.
    """
    with opened(path, name) as file:
        start = file.read(_FIRST)
    check_pulled(start, name)
    said = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:2] in (b"\x1f\x8b", b"PK"):
        raise RecallError(f"{name}: is compressed; unpack it first")
    if not said:
        raise RecallError(f"{name}: is empty; {_known(layouts)}")
    if said[:1] not in (b"[", b"{"):
        raise RecallError(f"{name}: is neither a JSON array nor JSON Lines; {_known(layouts)}")
    lines = said[:1] == b"{"
    row = _first(path, name, lines, layouts)
    if row is None:
        raise RecallError(f"{name}: has no rows; {_known(layouts)}")
    for layout in layouts.values():
        if layout.marks <= row.keys():
            if layout.lines != lines:
                other = "an array" if layout.lines else "an object or JSON Lines"
                raise RecallError(f"{name}: is {layout.title} as {other}; as published it is {layout.shape}")
            return layout
    raise RecallError(f"{name}: is {_other(row)}; {_known(layouts)}")


def _first(path: Path, name: str, lines: bool, layouts: Layouts) -> Mapping[str, Any] | None:
    """Return the first row, None if there is none. Raises RecallError if it is not an object."""
    # What begins with a brace may be JSON Lines or one object, and one that is indented is not a line.
    try:
        found = next(rows(path, name, lines=lines), None)
    except RecallError:
        if lines and isinstance(value := whole(path, name), dict):
            return value
        raise
    if found is None:
        return None
    if not isinstance(found[1], dict):
        raise RecallError(f"{name}: row {found[0]}: expected an object, found {called(found[1])}; {_known(layouts)}")
    return found[1]


def _other(row: Mapping[str, Any]) -> str:
    """Return what a row seems to be that is of no published file."""
    values = [value for value in row.values() if isinstance(value, dict)]
    if any("question_answer_pairs" in value or any(map(_SESSION.fullmatch, value)) for value in values):
        return "an object of conversations by id, another layout of LoCoMo"
    if any(map(_SESSION.fullmatch, row)):
        return "a conversation of LoCoMo with its sessions at the top, its older layout, a file for each"
    if "question_type" in row or "question_id" in row:
        return f"{'`sessions`' if 'sessions' in row else 'no `haystack_sessions`'} in the layout of LongMemEval"
    if "previous_dialogs" in row:
        return "Multi-Session Chat without the `self_instruct` of DMR"
    if {"question", "query"} & row.keys() and {"conversation", "turns"} & row.keys():
        return "questions with a `conversation` each, no layout that a dataset is published in"
    fields = ", ".join(f"`{one_line(key, 30)}`" for key in list(row)[:5]) or "no fields"
    return f"not a known dataset: its first row has {fields}"


def _known(layouts: Layouts) -> str:
    shapes = "; ".join(f"{layout.title} is {layout.shape}" for layout in layouts.values())
    return f"known: {shapes}"


class Dataset(NamedTuple):
    """A file, and the layout by which it is read."""

    path: Path
    name: str
    """What messages call the file."""
    layout: DatasetLayout

    @property
    def format(self) -> str:
        """The name of the dataset."""
        return self.layout.name

    def read(self, row: Any, number: int) -> Sample:
        """Return the sample of a row. Raises RecallError for one that does not fit, and for a layout with a fault."""
        read = self.layout.read
        fault = f"{self.name}: row {number}: `read` of the dataset `{self.format}` has a fault"
        try:
            sample = read(row, self.name, number)
        except (RecallError, KeyboardInterrupt):
            raise
        except BaseException as error:  # It may be anyone's code.
            file = getattr(getattr(read, "__code__", None), "co_filename", "")
            raise RecallError(f"{fault} ({fault_text(error, file)}); correct it") from error
        if why := _no_sample(sample, number):
            raise RecallError(f"{fault} (it returns {why}); correct it")
        return sample

    def samples(self) -> Iterator[Sample]:
        """Yield each conversation with its questions, in the order of the file; it is read again each time.

        Raises RecallError at the first row that does not fit, and for a file that has none.
        """
        layout = self.layout
        seen: dict[str, int] = {}
        for number, row in rows(self.path, self.name, lines=layout.lines):
            sample = self.read(row, number)
            # Its questions have it in their ids, by which everything that is kept of them is found again.
            first = seen.setdefault(sample.conversation.id, number)
            if first != number:
                id = sample.conversation.id
                raise RecallError(f"{self.name}: row {number}: `{id}` is already row {first}; choose another id")
            yield sample
        if not seen:
            raise RecallError(f"{self.name}: has no rows; {layout.title} is {layout.shape}")

    def scenario(self, sample: Sample) -> str:
        """Return the scenario of the sample's questions: the conversation if they share one, else the dataset."""
        return sample.conversation.id if self.layout.shares_conversations else self.format


def _no_sample(returned: object, number: int) -> str:
    """Return what was returned for a row, if that is not its sample; else nothing."""
    if not isinstance(returned, Sample):
        return f"{type(returned).__name__}, and no Sample"
    if returned.row != number:
        return f"a Sample of row {one_line(repr(returned.row), 40)}"
    if not isinstance(returned.conversation, Conversation):
        return "a Sample without a Conversation"
    questions = returned.questions
    if not isinstance(questions, tuple | list) or not all(isinstance(one, Question) for one in questions):
        return "a Sample with questions that are no Question"
    return ""


class Reader:
    """Hands out the samples of a dataset by row. It holds one, and reads on from there; going back begins again."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._rows: Iterator[tuple[int, Any]] = iter(())
        self._sample: Sample | None = None

    def at(self, row: int) -> Sample:
        """Return the sample of the row. Raises RecallError."""
        if self._sample is not None and self._sample.row == row:
            return self._sample
        layout = self._dataset.layout
        if self._sample is None or self._sample.row > row:
            self._rows = rows(self._dataset.path, self._dataset.name, lines=layout.lines)
        self._sample = None  # What is let go of must not be there beside what is read next.
        for number, given in self._rows:
            if number == row:
                self._sample = self._dataset.read(given, number)
                return self._sample
        raise RecallError(f"{self._dataset.name}: row {row} is gone; leave the file alone while it is in use")


def selected_layout(name: str, where: str, layouts: Layouts) -> DatasetLayout:
    """Return the layout of a name. Raises RecallError, which begins with `where`, for one that there is not."""
    if name not in layouts:
        raise RecallError(f"{where}: {name!r} is unknown{nearest(name, layouts)}")
    return layouts[name]


def check_selected(name: str, where: str, layouts: Layouts) -> None:
    """Raise RecallError, which begins with `where`, for a name that is neither `auto` nor that of a layout."""
    if name not in (AUTO, *layouts):
        raise RecallError(f"{where}: {name!r} is unknown{nearest(name, (AUTO, *layouts))}")


def open_dataset(path: Path, name: str | None = None, format: str | None = None, layouts: Layouts = LAYOUTS) -> Dataset:
    """Return the dataset in the file, which messages call `name`; without the name of a layout it is recognised.

    Raises RecallError for a file that cannot be read or is of no known format.
    """
    shown = name or str(path)
    if path.exists() and not path.is_file():
        raise RecallError(f"{shown}: is not a regular file; it is read more than once, so write it to one")
    return Dataset(path, shown, recognise(path, shown, layouts) if format is None else layouts[format])


class Digest(NamedTuple):
    """How large a file is, in bytes, and its SHA-256."""

    size: int
    sha256: str


def digest(dataset: Dataset) -> Digest:
    """Return the digest of the file. Raises RecallError."""
    with opened(dataset.path, dataset.name) as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
        return Digest(file.tell(), found)


class Published(NamedTuple):
    """A file as it was published."""

    title: str
    source: str
    """Where it was published."""
    digest_by: str
    """How its digest is known."""


_REPORTED = "reported by several of its users"

PUBLISHED = {
    "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4": Published(
        "LoCoMo, locomo10.json", "snap-research/locomo, commit 3eb6f2c", "taken from the file"
    ),
    "821a2034d219ab45846873dd14c14f12cfe7776e73527a483f9dac095d38620c": Published(
        "LongMemEval, longmemeval_oracle.json", "xiaowu0162/longmemeval-cleaned, revision 98d7416", _REPORTED
    ),
    "d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442": Published(
        "LongMemEval, longmemeval_s_cleaned.json", "xiaowu0162/longmemeval-cleaned, revision 98d7416", _REPORTED
    ),
    "9d79e5524794a2e6900a3aa9cb7d9152c5a3e8319c9a87c25494ba1eacee495f": Published(
        "LongMemEval, longmemeval_m_cleaned.json", "xiaowu0162/longmemeval-cleaned, revision 98d7416", _REPORTED
    ),
    "d3dbea36848b41dc46c0f1548d0ebf74eeaf6390d6f3fe9318e8480dc984495e": Published(
        "DMR, msc_self_instruct.jsonl", "MemGPT/MSC-Self-Instruct, revision 5138f416", _REPORTED
    ),
}
"""By SHA-256 of the whole file."""
