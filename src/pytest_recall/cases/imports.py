"""Build cases of another tool's tests, and note what is left out: what an importer takes and returns."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import ValidationError

from pytest_recall.cases.case import Case
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import listed, one_line

LONGEST = 60
_LONGEST_ID = 190
"""What tells an id from an equal one has room behind it."""
_ID = re.compile(r"\w[\w.\-/+@=]*(?::[\w.\-/+@=]+)*")


class Namer:
    """Gives out ids, each once."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def name(self, texts: Iterable[tuple[str, str, str]], position: int) -> tuple[str, str]:
        """Return what an id was taken from, and the id: that of the first text that makes one, with its suffix."""
        for source, text, suffix in texts:
            fits = source == "id" and len(text) <= 150 and _ID.fullmatch(text)
            if name := text if fits else slug(text):
                told = f"{name}-{suffix}" if suffix else name
                return source, self._unique(told[:_LONGEST_ID].rstrip("-"))
        return "position", self._unique(f"case-{position}")

    def free(self, name: str) -> None:
        """Take back an id that no one uses."""
        self._given.discard(name)

    def _unique(self, name: str) -> str:
        number, chosen = 1, name
        while chosen.casefold() in self._given:
            number += 1
            chosen = f"{name}-{number}"
        self._given.add(chosen.casefold())
        return chosen


def slug(text: str, longest: int = LONGEST) -> str:
    """Return the words of a text in small letters, joined by `-`; nothing if it has none."""
    known = unicodedata.normalize("NFKC", text[: 4 * longest]).lower()
    words = re.findall(r"[^\W_]+(?:_+[^\W_]+)*", known)
    made = ""
    for word in words:
        if made and len(made) + 1 + len(word) > longest:
            break
        made = f"{made}-{word}" if made else word[:longest]
    return made


def word(text: str) -> str:
    """Return a text as the name of a scenario, a dimension or a tag; nothing if it has no fitting letters."""
    kept = "".join(c for c in unicodedata.normalize("NFKD", text) if c.isascii())
    made = slug(kept, 40).strip("_")
    return made if made[:1].isalpha() and made not in ("and", "or", "not") else ""


MAX_CASES = 20_000
"""Cases that one import makes."""
MAX_DEPTH = 40
"""How deep a value of a case may be nested: the reader of case files takes 50, with the row around it."""
REFERRED = frozenset({"exact", "contains", "regex", "json_schema", "numeric", "token_f1", "similarity"})
"""Judges that compare with the case's `expected` unless they are told what with."""
FIELDS = ("id", "scenario", "dimension", "input", "turns", "evidence", "expected", "judges", "trials", "tags", "notes")

Judge = str | dict[str, Any]
"""A judge as a case file has it."""


@dataclass(frozen=True, kw_only=True)
class Remark:
    """What became of one thing that was imported."""

    place: str
    """`file:line`."""
    what: str
    """What it is about."""
    advice: str
    """What to do instead."""
    case: str = ""
    """The id of its case; `""` where it has none."""
    left: bool = True
    """Whether it was left out, or else carried over otherwise."""
    whole: bool = False
    """Whether it was all of a test."""


@dataclass(frozen=True, kw_only=True)
class ImportedCase:
    """A test that became a case: the row of a case file, and where its id was taken from."""

    row: Mapping[str, Any]
    """As the case file has it."""
    place: str
    """`file:line`."""
    named_by: str
    """What its id was taken from."""

    @property
    def id(self) -> str:
        """The id of the case."""
        return str(self.row["id"])


@dataclass(kw_only=True)
class ImportedTest:
    """One test of the source, of which a case is made."""

    place: str
    """`file:line`."""
    fields: dict[str, Any] = field(default_factory=dict)
    """Those of the row of a case file, such as `input` and `expected`; not `id`, `judges`, `tags` and `notes`."""
    judges: list[Judge] = field(default_factory=list)
    """Who decides on an answer; where there is none, those that the person names do."""
    notes: list[str] = field(default_factory=list)
    """What else is known of it, for people."""
    tags: list[str] = field(default_factory=list)
    """Words by which cases are chosen."""
    names: list[tuple[str, str, str]] = field(default_factory=list)
    """What the id may be made of, best first: from what, the text, and what tells it from others of that text."""
    remarks: list[Remark] = field(default_factory=list)
    """What is left out of it, or differs."""
    dropped: tuple[str, str] | None = None
    """What it is, and what to do about it, where it becomes no case."""
    judged: bool = True
    """Whether the source says by itself how the answer is judged, and be it in a way that cannot be carried over."""

    def left(self, what: str, advice: str, place: str = "") -> None:
        """Note something that is left out."""
        self.remarks.append(Remark(place=place or self.place, what=what, advice=advice))

    def changed(self, what: str, advice: str, place: str = "") -> None:
        """Note something that is carried over, and not quite the same."""
        self.remarks.append(Remark(place=place or self.place, what=what, advice=advice, left=False))

    def ask(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Make the question of a conversation: text, turns with scripted replies, or the messages as they stand.

        A message has a `role` and its `content`.
        """
        said = [(one.get("role"), one.get("content")) for one in messages]
        plain = all(isinstance(content, str) and content for _, content in said)
        roles = ["user" if index % 2 == 0 else "assistant" for index in range(len(said))]
        if plain and len(said) % 2 == 1 and [role for role, _ in said] == roles:
            if len(said) == 1:
                self.fields["input"] = said[0][1]
                return
            pairs = zip(said[:-1:2], said[1::2], strict=True)
            self.fields["turns"] = [
                *({"user": user[1], "assistant": reply[1]} for user, reply in pairs),
                said[-1][1],
            ]
            return
        self.fields["input"] = {"messages": [dict(message) for message in messages]}
        self.changed("messages of other roles", "the agent gets `input` as a mapping with `messages`")

    def describe(self, metadata: Mapping[str, Any]) -> None:
        """Take scenario, dimension and tags from what a test says of itself, and note the rest."""
        kept = {}
        for key, value in metadata.items():
            if key in ("scenario", "dimension") and isinstance(value, str) and (name := word(value)):
                self.fields[key] = name
            elif key == "tags" and isinstance(value, list) and all(word(str(tag)) for tag in value):
                self.tags += [word(str(tag)) for tag in value]
            else:
                kept[key] = value
        if kept:
            self.notes.append(f"metadata: {json.dumps(kept, ensure_ascii=False)}")

    def drop(self, what: str, advice: str) -> None:
        """Let this test be no case at all; the first reason stands."""
        self.dropped = self.dropped or (what, advice)


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """What the person who imports has said."""

    scenario: str | None = None
    """For all cases."""
    dimension: str = "correctness"
    """For all cases."""
    judges: Sequence[Judge] = ()
    """For those cases that bring none."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The columns of a table or the keys of rows, by the name that the tool has for them."""
    delimiter: str = ","
    """Parts the cells of a table."""


class ImportedSet:
    """What became of a set: its cases in their order, and remarks. Each test is in one or the other.

    Its cases have the scenario that the `options` name, else `scenario`.
    """

    cases: list[ImportedCase]
    """The tests that became cases."""
    remarks: list[Remark]
    """What is left out or differs, in the order in which it was found."""
    found: int
    """How many tests there were."""

    def __init__(self, options: ImportOptions, scenario: str) -> None:
        self.options = options
        self.scenario = options.scenario or scenario
        self.cases = []
        self.remarks = []
        self.found = 0
        self._namer = Namer()

    @property
    def dropped(self) -> int:
        """How many tests became no case."""
        return sum(remark.whole for remark in self.remarks)

    def remark(self, place: str, what: str, advice: str, *, left: bool = True) -> None:
        """Note something that is about no single test."""
        self.remarks.append(Remark(place=place, what=what, advice=advice, left=left))

    def add(self, draft: ImportedTest) -> None:
        """Make a case of a test, or note why it is none. Raises RecallError for more than `MAX_CASES`."""
        self.found += 1
        if self.found > MAX_CASES:
            raise RecallError(f"{draft.place}: makes more than {MAX_CASES:,} cases; import it in parts")
        self._judge(draft)
        if not draft.dropped and (problem := unwritable(draft.fields)):
            draft.drop(problem, "write it by hand")
        if draft.dropped:
            self._drop(draft)
            return
        if draft.fields.keys() & {"id", "judges", "tags", "notes"}:
            raise ValueError("`fields` has no `id`, `judges`, `tags` and `notes`: these are given by the test itself")
        named_by, case_id = self._namer.name(draft.names, self.found)
        row = {"id": case_id, "scenario": self.scenario, "dimension": self.options.dimension, **draft.fields}
        lacks = [f"left out in the import: {what}" for what in dict.fromkeys(r.what for r in draft.remarks if r.left)]
        notes = "\n".join([*draft.notes, *lacks])
        row |= {"judges": draft.judges, "tags": list(dict.fromkeys(draft.tags)), "notes": notes}
        row = {name: row[name] for name in dict.fromkeys((*FIELDS, *row)) if row.get(name) not in (None, "", [])}
        try:
            Case.model_validate(row)
        except ValidationError as error:
            self._namer.free(case_id)
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"][:2])
            why = one_line(first["msg"].removeprefix("Value error, "), 80)
            draft.drop(f"its {where or 'fields'} fit no case ({why})", "write it by hand")
            self._drop(draft)
            return
        self.cases.append(ImportedCase(row=row, place=draft.place, named_by=named_by))
        self.remarks += [
            Remark(place=r.place, what=r.what, advice=r.advice, case=case_id, left=r.left) for r in draft.remarks
        ]

    def refuse(self, case: ImportedCase, what: str, advice: str) -> None:
        """Take back a case, and note why it is none."""
        self.cases.remove(case)
        self.remarks = [remark for remark in self.remarks if remark.case != case.id]
        self.remarks.append(Remark(place=case.place, what=what, advice=advice, whole=True))

    def _judge(self, draft: ImportedTest) -> None:
        if draft.judges or draft.dropped:
            return
        given = [judge for judge in self.options.judges if "expected" in draft.fields or not _needs_reference(judge)]
        if given:
            draft.judges = list(given)
        elif self.options.judges:
            draft.drop(
                "nothing that --default-judge could compare with", "write an `expected`, or give --default-judge rubric"
            )
        elif draft.judged:
            draft.drop("none of its assertions has an equal here", "say with --default-judge who decides then")
        else:
            draft.drop(
                "does not say how it is judged",
                "say with --default-judge who decides, such as --default-judge token_f1",
            )

    def _drop(self, draft: ImportedTest) -> None:
        assert draft.dropped is not None
        what, advice = draft.dropped
        # What was noted on parts of it stays known, beside why all of it is left out.
        self.remarks += [remark for remark in draft.remarks if remark.left]
        self.remarks.append(Remark(place=draft.place, what=what, advice=advice, whole=True))


def _needs_reference(judge: Judge) -> bool:
    if isinstance(judge, str):
        return judge in REFERRED
    ((name, given),) = judge.items()
    if name not in REFERRED:
        return False
    return given is None or (isinstance(given, Mapping) and not {"expected", "schema", "absent"} & given.keys())


def unwritable(value: Any, depth: int = 0) -> str:
    """Return why a value cannot stand in a case file, or nothing."""
    if depth > MAX_DEPTH:
        return f"nested more than {MAX_DEPTH} deep"
    if isinstance(value, str):
        return "half a character, which no file can hold" if any("\ud800" <= c <= "\udfff" for c in value) else ""
    if isinstance(value, Mapping):
        if any(len(str(key)) > 500 for key in value):
            return "a key of more than 500 characters"
        parts: Sequence[Any] = [*map(str, value), *value.values()]
    elif isinstance(value, list | tuple):
        parts = value
    else:
        return ""
    return next((problem for part in parts if (problem := unwritable(part, depth + 1))), "")


Keys = tuple[str | int, ...]
"""The keys and places that lead to a value in a document."""


@dataclass(frozen=True, kw_only=True)
class Document:
    """What a file holds."""

    name: str
    """The file, as messages name it."""
    value: Any
    """Plain values; of a table a list of rows, each a mapping of its columns to texts."""
    lines: Mapping[Keys, int]
    """The line of values by their path, at least of the outer ones."""
    files: Callable[[str, Document], Document] | None = None
    """Reads a file that the document names; None where there is none to name."""

    def read(self, reference: str) -> Document:
        """Return a file that this one names by its path from its folder; of `*`, the list of the paths that fit.

        Raises RecallError for one that is outside of the folder, large, broken or of another kind.
        """
        if self.files is None:
            raise RecallError(f"{self.name}: names `{reference}`, and is in no folder")
        return self.files(reference, self)

    @property
    def root(self) -> Node:
        """Its outermost value."""
        return Node(self.value, self, ())

    def place(self, path: Keys) -> str:
        """Return `file:line` of a value, or of the nearest one around it whose line is known."""
        above = (path[:depth] for depth in range(len(path), -1, -1))
        return f"{self.name}:{next((self.lines[one] for one in above if one in self.lines), 1)}"


@dataclass(frozen=True)
class Node:
    """A value and where it stands."""

    value: Any
    """Plain values."""
    document: Document
    """What it is in."""
    path: Keys
    """The keys and places that lead to it."""

    @property
    def place(self) -> str:
        """`file:line`."""
        return self.document.place(self.path)

    def get(self, key: str) -> Node | None:
        """Return what a mapping has under a key, unless it is null."""
        if not isinstance(self.value, Mapping) or self.value.get(key) is None:
            return None
        return Node(self.value[key], self.document, (*self.path, key))

    def text(self, key: str) -> str:
        """Return the text under a key; nothing if it is none."""
        found = self.value.get(key) if isinstance(self.value, Mapping) else None
        return found if isinstance(found, str) else ""

    @property
    def keys(self) -> str:
        """Which keys it has, in words that go on a sentence about one that it lacks."""
        keys = [f"`{one_line(str(key), 40)}`" for key in self.value] if isinstance(self.value, Mapping) else []
        return f"; it has {listed(keys)}" if keys else ""

    def each(self) -> Iterator[Node]:
        """Yield the values of a list."""
        if isinstance(self.value, list):
            for index, value in enumerate(self.value):
                yield Node(value, self.document, (*self.path, index))

    def items(self) -> Iterator[tuple[str, Node]]:
        """Yield keys and values of a mapping, without those that are null."""
        if isinstance(self.value, Mapping):
            for key, value in self.value.items():
                if value is not None:
                    yield str(key), Node(value, self.document, (*self.path, key))


class Importer(NamedTuple):
    """Reads the eval sets of one tool."""

    name: str
    """What follows `recall import`."""
    about: str
    """The files that it reads, in a line for `--help`."""
    convert: Callable[[Document, ImportOptions], ImportedSet]
    """Returns what becomes of a file. It runs no code of the set and fetches nothing, and raises RecallError for a file
    of another kind."""
