"""Check plain values from JSON or YAML against the types that they are for, and how deep they are nested."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from math import isfinite
from typing import Any

# By annotation, as written. A bool is an int to Python, but not to anybody who wrote `attempt: true`.
_KINDS: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "str | None": (str, type(None)),
    "bool": (bool,),
    "int": (int,),
    "int | None": (int, type(None)),
    "float": (int, float),
    "float | None": (int, float, type(None)),
    "bool | None": (bool, type(None)),
    "tuple[str, ...]": (list, tuple),
    "list[str]": (list, tuple),
}
_SEQUENCES: Mapping[str, Callable[[Any], Any]] = {"tuple[str, ...]": tuple, "list[str]": list}
# Other spellings of plain values: a field of such a type would be left out, and nothing would say so.
_UNKNOWN = re.compile(r"(list|tuple|set|frozenset|Sequence|Iterable|Collection|Optional|Union)\[(str|int|float|bool)\b")


def values_of(plain: Mapping[str, Any]) -> dict[str, float | None]:
    """Return numbers by name, as JSON has them; None stays None. Raises TypeError or ValueError for what is none."""
    values = {str(name): None if value is None else float(value) for name, value in plain.items()}
    if not all(value is None or isfinite(value) for value in values.values()):
        raise ValueError(f"{dict(plain)!r}: not all of them are numbers")
    return values


def typed(kind: type, plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the dataclass or named tuple `kind` that `plain` has, without those of a later version.

    Raises TypeError for a value of another type than the field's; fields of types beyond
    JSON's own are left to the caller.
    """
    found: dict[str, Any] = {}
    fields = _fields(kind)
    for name, value in plain.items():
        if (written := fields.get(name)) is None:
            continue
        allowed = _KINDS[written]
        if type(value) in allowed and written not in _SEQUENCES:  # what JSON gives; all else is looked at closely
            found[name] = value
            continue
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            raise TypeError(f"{name}: {value!r} is not a {written}")
        found[name] = value
        if written in _SEQUENCES:
            found[name] = parts = _SEQUENCES[written](value)
            if not all(isinstance(part, str) for part in parts):
                raise TypeError(f"{name}: {value!r} is not a {written}")
    return found


@cache
def _fields(kind: type) -> Mapping[str, str]:
    """Return the fields of plain types with their annotations as they are written; a journal has thousands of rows."""
    fields: dict[str, str] = {}
    for name, annotation in kind.__annotations__.items():
        written = str(getattr(annotation, "__forward_arg__", annotation))  # a named tuple's annotations are wrapped
        if written in _KINDS:
            fields[name] = written
        elif _UNKNOWN.match(written):
            raise NotImplementedError(f"{kind.__name__}.{name}: {written} is not read; add it to `_KINDS`")
    return fields


MAX_DEPTH = 500
"""How deep a value may be nested: to show or to write it takes frames of the stack for each level.

Python's reader has a limit of its own, which differs from version to version: at 3.11 it is some hundreds, and at
3.13 it is beyond what any other code gets through."""
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)


def check_depth(text: str) -> None:
    """Raise ValueError if JSON is nested more than `MAX_DEPTH` deep."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        depth += (token[0] in "[{") - (token[0] in "]}")
        if depth > MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} deep")
