"""Carry: tests of another tool on their way to cases, with remarks on what came along otherwise or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from pytest_recall.core.case import Case
from pytest_recall.core.errors import RecallError, one_line
from pytest_recall.core.imports.naming import Namer, word

MAX_CASES = 20_000
MAX_DEPTH = 40
"""How deep a value of a case may be nested: the reader of case files takes 50, with the row around it."""
REFERRED = frozenset({"exact", "contains", "regex", "json_schema", "numeric", "token_f1", "similarity"})
"""Judges that compare with the case's `expected` unless they are told what with."""
FIELDS = ("id", "scenario", "dimension", "input", "turns", "evidence", "expected", "judges", "trials", "tags", "notes")

Judge = str | dict[str, Any]
"""A judge as a case file has it."""


@dataclass(frozen=True, kw_only=True)
class Remark:
    """What became of one thing: `left` out, or else carried over otherwise; `whole` if it was all of a test.

    `case` is the id of its case, `""` where it has none; `advice` says what to do instead.
    """

    place: str
    what: str
    advice: str
    case: str = ""
    left: bool = True
    whole: bool = False


@dataclass(frozen=True, kw_only=True)
class Carried:
    """A test that became a case: the row of a case file, and where its id was taken from."""

    row: Mapping[str, Any]
    place: str
    named_by: str

    @property
    def id(self) -> str:
        """The id of the case."""
        return str(self.row["id"])


@dataclass(kw_only=True)
class Draft:
    """One test of the source, of which a case is made."""

    place: str
    fields: dict[str, Any] = field(default_factory=dict)
    judges: list[Judge] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    names: list[tuple[str, str, str]] = field(default_factory=list)
    """What the id may be made of, best first: from what, the text, and what tells it from others of that text."""
    remarks: list[Remark] = field(default_factory=list)
    dropped: tuple[str, str] | None = None
    judged: bool = True
    """Whether the source says by itself how the answer is judged, and be it in a way that cannot be carried over."""

    def left(self, what: str, advice: str, place: str = "") -> None:
        """Note something that is left out."""
        self.remarks.append(Remark(place=place or self.place, what=what, advice=advice))

    def changed(self, what: str, advice: str, place: str = "") -> None:
        """Note something that is carried over, and not quite the same."""
        self.remarks.append(Remark(place=place or self.place, what=what, advice=advice, left=False))

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
class Wanted:
    """What the person who imports has said: names for all cases, and judges for those that bring none."""

    scenario: str | None = None
    dimension: str = "correctness"
    judges: Sequence[Judge] = ()


class Import:
    """What became of a source: its cases in their order, and remarks. Each test is in one or the other."""

    def __init__(self, wanted: Wanted, scenario: str) -> None:
        self.wanted = wanted
        self.scenario = wanted.scenario or scenario
        self.cases: list[Carried] = []
        self.remarks: list[Remark] = []
        self.found = 0
        self._namer = Namer()

    @property
    def dropped(self) -> int:
        """How many tests became no case."""
        return sum(remark.whole for remark in self.remarks)

    def remark(self, place: str, what: str, advice: str, *, left: bool = True) -> None:
        """Note something that is about no single test."""
        self.remarks.append(Remark(place=place, what=what, advice=advice, left=left))

    def add(self, draft: Draft) -> None:
        """Make a case of a draft, or note why it is none. Raises RecallError for more than `MAX_CASES`."""
        self.found += 1
        if self.found > MAX_CASES:
            raise RecallError(f"{draft.place}: makes more than {MAX_CASES:,} cases; import it in parts")
        self._judge(draft)
        if not draft.dropped and (problem := unwritable(draft.fields)):
            draft.drop(problem, "write it by hand")
        if draft.dropped:
            self._drop(draft)
            return
        named_by, case_id = self._namer.name(draft.names, self.found)
        row = {"id": case_id, "scenario": self.scenario, "dimension": self.wanted.dimension, **draft.fields}
        row |= {"judges": draft.judges, "tags": list(dict.fromkeys(draft.tags)), "notes": "\n".join(draft.notes)}
        row = {name: row[name] for name in FIELDS if row.get(name) not in (None, "", [])}
        try:
            Case.model_validate(row)
        except ValidationError as error:
            self._namer.free(case_id)
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"][:2])
            draft.drop(f"its {where or 'fields'} fit no case ({one_line(first['msg'], 80)})", "write it by hand")
            self._drop(draft)
            return
        self.cases.append(Carried(row=row, place=draft.place, named_by=named_by))
        self.remarks += [
            Remark(place=r.place, what=r.what, advice=r.advice, case=case_id, left=r.left) for r in draft.remarks
        ]

    def refuse(self, case: Carried, what: str, advice: str) -> None:
        """Take back a case, and note why it is none."""
        self.cases.remove(case)
        self.remarks = [remark for remark in self.remarks if remark.case != case.id]
        self.remarks.append(Remark(place=case.place, what=what, advice=advice, whole=True))

    def _judge(self, draft: Draft) -> None:
        if draft.judges or draft.dropped:
            return
        given = [judge for judge in self.wanted.judges if "expected" in draft.fields or not _needs_reference(judge)]
        if given:
            draft.judges = list(given)
        elif self.wanted.judges:
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

    def _drop(self, draft: Draft) -> None:
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


def asked(draft: Draft, messages: Sequence[Mapping[str, Any]]) -> None:
    """Make the question of a conversation: text, turns with scripted replies, or the messages as they stand."""
    said = [(one.get("role"), one.get("content")) for one in messages]
    plain = all(isinstance(content, str) and content for _, content in said)
    expected = ["user" if index % 2 == 0 else "assistant" for index in range(len(said))]
    if plain and len(said) % 2 == 1 and [role for role, _ in said] == expected:
        if len(said) == 1:
            draft.fields["input"] = said[0][1]
            return
        pairs = zip(said[:-1:2], said[1::2], strict=True)
        draft.fields["turns"] = [*({"user": user[1], "assistant": reply[1]} for user, reply in pairs), said[-1][1]]
        return
    draft.fields["input"] = {"messages": [dict(message) for message in messages]}
    draft.changed("messages of other roles", "the agent gets `input` as a mapping with `messages`")
