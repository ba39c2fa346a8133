"""Read and write YAML: a strict subset with a line for every mistake.

PyYAML's C parser gives the events; the values are built here. That keeps YAML 1.1 out
(`No`, `6:30` and dates stay text), refuses tags, duplicate keys and alias bombs, and is
several times as fast as composing nodes first (`benchmarks/` measures both).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from pytest_recall.files.errors import RecallError

MAX_DEPTH = 50
MAX_ALIASED = 10_000
"""Values that aliases may add to a document; a bomb needs millions."""

_CONFLICT = re.compile(r"^(?:<{7}|>{7}|\|{7})(?: |$)", re.MULTILINE)
# The core schema of YAML 1.2.2 §10.3.2, except that 007 stays text: an id or a postcode
# that lost its zeros is worse than a number that has to be written without them.
_NUMBER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)(?:(\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)|[-+]?\.[0-9]+(?:[eE][-+]?[0-9]+)?")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_EXACT = 15
_WORDS = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_SEPARATORS = ("\x85", "\u2028", "\u2029")
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def scalar(text: str) -> Any:
    """Return the value of a plain scalar: None, a bool, an int, a finite float, or the text.

    A number that no float is equal to stays text: what was written would be lost.
    """
    if text in _WORDS:
        return _WORDS[text]
    first = text[0]
    if (first.isdigit() or first in "+-.") and len(text) <= 300 and _NUMBER.fullmatch(text):
        if _INTEGER.fullmatch(text):
            return int(text)
        number = float(text)
        if abs(number) == float("inf"):
            return text
        # Fifteen digits come back from a float as they were.
        return number if len(text) <= _EXACT or Decimal(text) == Decimal(repr(number)) else text
    return text


def conflict_line(text: str) -> int | None:
    """Return the line, counted from 1, of the first merge-conflict marker."""
    # A plain search passes over a large text ten times as fast as the expression does.
    if not any(marker in text for marker in ("<<<<<<<", ">>>>>>>", "|||||||")):
        return None
    found = _CONFLICT.search(text)
    return None if found is None else text.count("\n", 0, found.start()) + 1


def flow(value: Any) -> str:
    """Return `value` as JSON that every reader of YAML takes for the same, on one line."""
    # What JSON leaves as it is, but YAML takes for a line end or refuses; it stands in quotes only.
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def _unprintable(text: str) -> re.Match[str] | None:
    """Return the first character that cannot stand in YAML (1.2.2 §5.1, without the separators)."""
    if text.replace("\n", "").isprintable():
        return None  # All that Python prints, YAML takes; the class takes a while to compile.
    return re.search("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)


def has_line_separators(text: str) -> bool:
    """Whether `text` has a character that YAML 1.1 takes for the end of a line, and YAML 1.2 does not."""
    return not text.isascii() and any(separator in text for separator in _SEPARATORS)


def load(text: str, name: str, first_line: int = 1, *, remedy: str = "") -> Any:
    """Return the one document in `text`; mapping keys are always text.

    `name` and `first_line` say where `text` stands, for messages. `remedy` is what to do about any mistake in a file
    that a program writes; without it, a message says how to correct what a person has written. Raises RecallError.
    """
    return _Reader(text, name, first_line, remedy).document()


def lines(text: str, name: str, first_line: int = 1) -> dict[tuple[str | int, ...], int]:
    """Return the line of every value in `text` by its path; only wanted to report a mistake."""
    reader = _Reader(text, name, first_line)
    reader.lines = {}
    reader.document()
    return reader.lines


class _Reader:
    def __init__(self, text: str, name: str, first_line: int, remedy: str = "") -> None:
        self.name = name
        self.first_line = first_line
        self.remedy = remedy
        self.lines: dict[tuple[str | int, ...], int] | None = None
        self._path: list[str | int] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._built = 0
        self._aliased = 0
        if (line := conflict_line(text)) is not None:
            raise self._mistake(line, "merge-conflict marker", "resolve the conflict, then run again")
        if found := _unprintable(text):
            line = text.count("\n", 0, found.start()) + 1
            shown = f"\\u{ord(found[0]):04x}"
            raise self._mistake(
                line, f"the character {shown} cannot stand in YAML", f'write "{shown}" in double quotes'
            )
        self._next = _LOADER(text).get_event

    def document(self) -> Any:
        try:
            self._next()
            event = self._next()
            if isinstance(event, StreamEndEvent):
                return None
            assert isinstance(event, DocumentStartEvent)
            value = self._value(self._next(), 0)
            self._next()  # The end of the document.
            event = self._next()
        except yaml.YAMLError as error:
            self._refuse(error)
        if not isinstance(event, StreamEndEvent):
            self._fail(event, "a second `---` document", "keep one document per file")
        return value

    def _value(self, event: Any, depth: int) -> Any:
        kind = type(event)
        if self.lines is not None:
            self.lines[tuple(self._path)] = self._line(event)
        if kind is AliasEvent:
            return self._alias(event)
        if event.tag is not None:
            self._fail(event, f"the tag `{event.tag}` is not allowed", "remove it, or quote the text")
        self._built += 1
        before = self._built + self._aliased
        if kind is ScalarEvent:
            value = scalar(event.value) if event.implicit[0] else event.value
        elif depth >= MAX_DEPTH:
            self._fail(event, f"nested more than {MAX_DEPTH} deep", "flatten it")
        elif kind is SequenceStartEvent:
            value = self._sequence(depth + 1)
        else:
            assert kind is MappingStartEvent
            value = self._mapping(depth + 1)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, self._built + self._aliased - before + 1)
        return value

    def _sequence(self, depth: int) -> list[Any]:
        values: list[Any] = []
        path, following, build = self._path, self._next, self._value
        event = following()
        while type(event) is not SequenceEndEvent:
            path.append(len(values))
            values.append(build(event, depth))
            path.pop()
            event = following()
        return values

    def _mapping(self, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        path, following, build = self._path, self._next, self._value
        event = following()
        while type(event) is not MappingEndEvent:
            if type(event) is not ScalarEvent:
                self._fail(event, "a key must be plain text", "quote it")
            if event.tag is not None:
                self._fail(event, f"the tag `{event.tag}` is not allowed", "remove it, or quote the text")
            key = event.value
            if key in values:
                self._fail(event, f"`{key}` is written twice", "remove one of them")
            path.append(key)
            values[key] = build(following(), depth)
            path.pop()
            event = following()
        return values

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self._anchors:
            self._fail(event, f"the alias `*{event.anchor}` has no anchor before it", "write the value out")
        value, size = self._anchors[event.anchor]
        self._aliased += size
        if self._aliased > MAX_ALIASED:
            self._fail(event, f"aliases add more than {MAX_ALIASED:,} values", "write them out")
        return value

    def _line(self, event: Any) -> int:
        return self.first_line + int(event.start_mark.line)

    def _mistake(self, line: int, problem: str, remedy: str) -> RecallError:
        """Return what to raise for a mistake in a line of the text, counted from 1; 0 is the text as a whole."""
        place = f":{self.first_line + line - 1}" if line else ""
        return RecallError(f"{self.name}{place}: {problem}; {self.remedy or remedy}")

    def _fail(self, event: Any, problem: str, remedy: str) -> NoReturn:
        raise self._mistake(int(event.start_mark.line) + 1, problem, remedy)

    def _refuse(self, error: yaml.YAMLError) -> NoReturn:
        mark = getattr(error, "problem_mark", None)
        opened = getattr(error, "context_mark", None)
        within = str(getattr(error, "context", ""))
        if opened and (mark is None or "flow" in within or "end" in str(getattr(error, "problem", ""))):
            mark = opened  # What stays open is a mistake where it begins, not where the file ends.
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "is not YAML"
        line = int(mark.line) + 1 if mark else 0
        if is_too_deep(error):
            raise self._mistake(line, f"nested more than {MAX_DEPTH} deep", "flatten it") from None
        raise self._mistake(line, problem, "correct the YAML here or just above") from None


def is_too_deep(error: yaml.YAMLError) -> bool:
    """Return whether libyaml's own limit of depth stopped it, which from 0.2.6 on comes before ours does."""
    return "nesting depth" in str(getattr(error, "problem", ""))


# What the published files leave without quotes, and every reader of YAML 1.1 and 1.2 takes for text.
_NO_FIRST = frozenset(" ,[]{}#&*!|>'\"%@`")
_RESOLVERS: Mapping[str | None, list[tuple[str, re.Pattern[str]]]] = yaml.SafeLoader.yaml_implicit_resolvers


def block(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """Return a mapping or a list as lines of YAML; `strictyaml.load` and PyYAML read back the same.

    Text has quotes only where it would be taken for something else, and stands in a block where it has lines.
    """
    return "".join(f"{line}\n" if line else "\n" for line in _lines(value))


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _under(f"{_inline(str(key))}:", inner)
        return
    for inner in value:
        if isinstance(inner, Mapping | list | tuple) and inner:
            first = True
            for line in _lines(inner):
                yield (("- " if first else "  ") + line) if line else line
                first = False
        else:
            yield from _under("-", inner)


def _under(head: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping | list | tuple):
        if not value:
            yield f"{head} {'{}' if isinstance(value, Mapping) else '[]'}"
            return
        yield head
        yield from (f"  {line}" if line else line for line in _lines(value))
    elif isinstance(value, str) and _fits_block(value):
        yield f"{head} {'|' if value.endswith(chr(10)) else '|-'}"
        yield from (f"  {line}" if line else line for line in value.removesuffix("\n").split("\n"))
    else:
        yield f"{head} {_inline(value)}"


def _inline(value: Any) -> str:
    if not isinstance(value, str):
        return flow(value)
    if is_plain(value):
        return value
    # As the published files: whatever needs fewer escapes.
    if '"' in value and "'" not in value and value.isprintable():
        return f"'{value}'"
    return flow(value)


def is_plain(text: str) -> bool:
    """Return whether every reader of YAML takes `text` for itself without quotes, in a block."""
    if not text or not text.isprintable() or has_line_separators(text):
        return False
    if text[0] in _NO_FIRST or text[-1] in " :" or ": " in text or " #" in text or text.startswith(("---", "...")):
        return False
    if text[0] in "-?:" and (len(text) == 1 or text[1] == " "):
        return False
    known = [*_RESOLVERS.get(text[0], []), *_RESOLVERS.get(None, [])]
    return scalar(text) is text and not any(pattern.match(text) for _, pattern in known)


def _fits_block(text: str) -> bool:
    lines = text.removesuffix("\n").split("\n")
    if len(lines) < 2 or not lines[0] or not lines[-1] or lines[0].startswith(" "):
        return False
    return all(line.isprintable() and not line.isspace() and not has_line_separators(line) for line in lines)
