"""YAML bounds: refuses YAML that would fill the memory or the stack, before any of it is built.

PyYAML composes and constructs by recursion, in C without a limit: a document that is nested deeply
ends the process, and one whose aliases name each other fills the memory. The parser below both is
neither recursive nor does it follow aliases, so that its events are safe to look through.
"""

from __future__ import annotations

from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from pytest_recall.core.errors import RecallError

MAX_DEPTH = 200
MAX_VALUES = 500_000
"""Values of a document, those that aliases repeat included: each takes about a kilobyte while it is built."""
MAX_CHARACTERS = 128 * 1024 * 1024
"""Length of all values together, each counted as often as aliases repeat it."""

_STARTS = (MappingStartEvent, SequenceStartEvent)
_ENDS = (MappingEndEvent, SequenceEndEvent)
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def check_bounds(text: str, name: str) -> None:
    """Look through the YAML `text` of the file `name`.

    Raises RecallError for what is nested too deeply or has too many values, yaml.YAMLError for what is no YAML.
    """
    values = characters = 0
    open_at: list[tuple[str | None, int, int]] = []
    anchors: dict[str, tuple[int, int]] = {}
    parser = _LOADER(text)
    while parser.check_event():
        event = parser.get_event()
        kind = type(event)
        if kind is ScalarEvent:
            values += 1
            characters += len(event.value)
            if event.anchor is not None:
                anchors[event.anchor] = (1, len(event.value))
        elif kind in _STARTS:
            open_at.append((event.anchor, values, characters))
            values += 1
            if len(open_at) > MAX_DEPTH:
                raise _refused(event, name, f"nested more than {MAX_DEPTH} deep; flatten it")
        elif kind in _ENDS:
            anchor, values_before, characters_before = open_at.pop()
            if anchor is not None:
                anchors[anchor] = (values - values_before, characters - characters_before)
        elif kind is AliasEvent:
            if event.anchor not in anchors:
                raise _refused(event, name, f"the alias `*{event.anchor}` has no whole value before it; write it out")
            more, longer = anchors[event.anchor]
            values += more
            characters += longer
        if values > MAX_VALUES or characters > MAX_CHARACTERS:
            counted = f"{MAX_VALUES:,} values" if values > MAX_VALUES else f"{MAX_CHARACTERS >> 20} MB"
            raise _refused(event, name, f"more than {counted}, with what its aliases repeat; split it")


def _refused(event: Any, name: str, problem: str) -> RecallError:
    return RecallError(f"{name}:{event.start_mark.line + 1}: {problem}")
