"""Plain data: what JSON gave, checked against the fields that it is for."""

from __future__ import annotations

from collections.abc import Mapping
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
}


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
    for name, annotation in kind.__annotations__.items():
        if name not in plain:
            continue
        value: Any = plain[name]
        written = str(getattr(annotation, "__forward_arg__", annotation))  # a named tuple's annotations are wrapped
        allowed = _KINDS.get(written)
        if allowed is None:
            continue
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            raise TypeError(f"{name}: {value!r} is no {written}")
        if written == "tuple[str, ...]":
            parts: tuple[Any, ...] = tuple(plain[name])
            found[name] = parts
            if not all(isinstance(part, str) for part in parts):
                raise TypeError(f"{name}: {value!r} is no {written}")
            continue
        found[name] = value
    return found
