"""YAML text: plain values in block style, as the published files of long-horizon benchmarks have them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from pytest_recall.store import strictyaml

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
        return strictyaml.flow(value)
    if _is_plain(value):
        return value
    # As the published files: whatever needs fewer escapes.
    if '"' in value and "'" not in value and value.isprintable():
        return f"'{value}'"
    return strictyaml.flow(value)


def _is_plain(text: str) -> bool:
    if not text or not text.isprintable() or strictyaml.has_line_separators(text):
        return False
    if text[0] in _NO_FIRST or text[-1] in " :" or ": " in text or " #" in text or text.startswith(("---", "...")):
        return False
    if text[0] in "-?:" and (len(text) == 1 or text[1] == " "):
        return False
    known = [*_RESOLVERS.get(text[0], []), *_RESOLVERS.get(None, [])]
    return strictyaml.scalar(text) is text and not any(pattern.match(text) for _, pattern in known)


def _fits_block(text: str) -> bool:
    lines = text.removesuffix("\n").split("\n")
    if len(lines) < 2 or not lines[0] or not lines[-1] or lines[0].startswith(" "):
        return False
    return all(line.isprintable() and not line.isspace() and not strictyaml.has_line_separators(line) for line in lines)
