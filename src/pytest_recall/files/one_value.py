"""Replace single values in the text of a file that people write, and leave every other byte as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import yaml
from yaml.events import (
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamStartEvent,
)

from pytest_recall.files import strict_yaml
from pytest_recall.files.errors import RecallError

Plain = str | int | float | bool
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OPENING = (MappingStartEvent, SequenceStartEvent)
_CLOSING = (MappingEndEvent, SequenceEndEvent)
_HEAD = re.compile(r"[|>][0-9+-]*")
_SPACE = re.compile(r"[ \t\r\n]*")
_FLOW = frozenset(",[]{}")


class _Found(NamedTuple):
    """A value that was found: its event, the column of its key, and whether it stands in braces."""

    value: Any
    column: int
    in_flow: bool


def in_yaml(text: str, name: str, key: str, values: Mapping[str, Plain]) -> tuple[str, dict[str, str]]:
    """Return `text`, a list of mappings, with the `key` of some of them set to what `values` has for their `id`.

    The style of a value is kept where the new one can have it. Beside the text stands, by id, why a value cannot be
    replaced, in words that follow its name: it is not a text or number that stands there by itself, such as a list.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix("\ufeff")
    found = {item: one for item, one in _find(body, key) if item in values}
    problems = {item: why for item in values if (why := _problem(found.get(item)))}
    new = body
    # From the last one on, so that the places of those before it stay.
    for item in sorted(found.keys() - problems.keys(), key=lambda item: -found[item].value.start_mark.index):
        new = _replaced(new, found[item], values[item])
    if not problems:
        expected = strict_yaml.load(body, name)
        for one in expected:
            if one["id"] in values:
                one[key] = values[one["id"]]
        # Whatever there is in YAML that was not thought of is seen here.
        try:
            fits = json.dumps(strict_yaml.load(new, name)) == json.dumps(expected)
        except RecallError:
            fits = False
        if not fits:
            problems = dict.fromkeys(values, "stands in a form of YAML that cannot be changed alone")
    return mark + new, problems


def _problem(found: _Found | None) -> str:
    if found is None or not isinstance(found.value, ScalarEvent):
        return "is not a text or a number that stands there by itself"
    if found.value.anchor is not None or found.value.tag is not None:
        return "has an anchor or a tag, which others may refer to"
    return ""


def _find(text: str, key: str) -> Iterator[tuple[str, _Found]]:
    """Yield the value of `key` of each mapping that has one, with its `id`."""
    events: Iterator[Any] = iter(yaml.parse(text, Loader=_LOADER))
    event = next(events)
    while isinstance(event, StreamStartEvent | DocumentStartEvent):
        event = next(events)
    assert isinstance(event, SequenceStartEvent)
    while isinstance(event := next(events), MappingStartEvent):
        named, found, in_flow = "", None, bool(event.flow_style)
        while not isinstance(field := next(events), MappingEndEvent):
            inner = next(events)
            if field.value == "id" and isinstance(inner, ScalarEvent):
                named = inner.value
            elif field.value == key:
                found = _Found(inner, field.start_mark.column, in_flow)
            _pass_over(inner, events)
        if found is not None:
            yield named, found


def _pass_over(event: Any, events: Iterator[Any]) -> None:
    depth = int(isinstance(event, _OPENING))
    while depth:
        following = next(events)
        depth += isinstance(following, _OPENING) - isinstance(following, _CLOSING)


def _replaced(text: str, found: _Found, value: Plain) -> str:
    event = found.value
    start, end = event.start_mark.index, event.end_mark.index
    if event.style in ("|", ">"):
        end_of_line = "\r\n" if "\r\n" in text else "\n"
        return text[:start] + _block(text[start:end], end_of_line, found.column, value) + text[end:]
    return text[:start] + _inline(value, event.style, found.in_flow) + text[end:]


def _inline(value: Plain, style: str | None, in_flow: bool) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    if style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if not style and strict_yaml.is_plain(value) and not (in_flow and _FLOW & set(value)):
        return value
    return strict_yaml.flow(value)


def _block(text: str, end_of_line: str, column: int, value: Plain) -> str:
    """Return another block for that in `text`, whose lines are those that are indented more than the key."""
    head, *rest = text.split("\n")
    count = next(
        (n for n, line in enumerate(rest) if line.strip() and len(line) - len(line.lstrip(" ")) <= column), len(rest)
    )
    lines = rest[:count]
    while lines and not lines[-1].strip():
        lines.pop()
    after = "".join(f"\n{line}" for line in rest[len(lines) :])
    marker = _HEAD.match(head)
    assert marker is not None
    comment = head[marker.end() :].rstrip("\r")
    first = next((line for line in lines if line.strip()), "")
    indent = " " * (len(first) - len(first.lstrip(" ")) or column + 2)
    if marker[0].strip("|>+-"):  # How far its lines are indented was said, since they began with spaces.
        indent = " " * (column + 2)
    written = value.removesuffix("\n").split("\n") if isinstance(value, str) else []
    if written and all(line.isprintable() for line in written) and written[0][:1].strip() and written[-1].strip():
        kept = "|" if str(value).endswith("\n") else "|-"
        block = "".join(f"{end_of_line}{indent}{line}" if line else end_of_line for line in written)
        new = f"{kept}{comment}{block}"
    else:
        new = f"{_inline(value, chr(34), in_flow=False)}{comment}"
    return new + ("\r" if end_of_line == "\r\n" and after else "") + after


def in_json(line: str, key: str, value: Plain) -> str:
    """Return a line that is a JSON object with its `key` set to `value`. Raises RecallError where it has none."""
    decoder = json.JSONDecoder()
    at = _after_space(line, line.index("{") + 1)
    while line[at] != "}":
        name, at = decoder.raw_decode(line, at)
        start = _after_space(line, _after_space(line, at) + 1)
        _, end = decoder.raw_decode(line, start)
        if name == key:
            return line[:start] + json.dumps(value, ensure_ascii="\\u" in line) + line[end:]
        at = _after_space(line, end)
        if line[at] == ",":
            at = _after_space(line, at + 1)
    raise RecallError("is not there")


def _after_space(line: str, at: int) -> int:
    found = _SPACE.match(line, at)
    return at if found is None else found.end()
