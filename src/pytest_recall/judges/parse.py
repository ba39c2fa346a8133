"""Parsing: a judgement read strictly from a model's reply, or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from pytest_recall.core.errors import one_line

Range = tuple[int, int]
_FENCE = re.compile(r"\A\s*```[a-zA-Z]*[ \t]*\n(.*)\n[ \t]*```\s*\Z", re.DOTALL)
_STRING_OR_BRACE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
MAX_REPLY = 100_000


class Unreadable(Exception):  # noqa: N818 - it is what the reply is, and no error of ours
    """A reply that is no judgement; the message goes on after "the reply"."""


class Scored(NamedTuple):
    """What a judge wrote: the reasoning, then whole numbers by criterion."""

    reasoning: str
    scores: Mapping[str, int]


def scored(reply: str, ranges: Mapping[str, Range]) -> Scored:
    """Return the judgement `{"reasoning": text, "scores": {name: number}}` with exactly these names.

    A number is whole and in its range, and the reasoning stands before the scores. Raises Unreadable.
    """
    found = _fields(reply, "scores")
    scores = found["scores"]
    if not isinstance(scores, dict):
        raise Unreadable("has `scores` that are no object")
    _check_names(list(scores), list(ranges), "the score")
    return Scored(_reasoning(found), {name: _number(name, scores[name], ranges[name]) for name in ranges})


def chosen(reply: str, name: str, choices: Sequence[str]) -> tuple[str, str]:
    """Return reasoning and choice of the judgement `{"reasoning": text, name: one of choices}`. Raises Unreadable."""
    found = _fields(reply, name)
    choice = found[name]
    if choice not in choices:
        raise Unreadable(f"has `{name}` {_shown(choice)}, which is none of {', '.join(choices)}")
    return _reasoning(found), choice


def _fields(reply: str, last: str) -> dict[str, Any]:
    """Return the object in the reply, which has a reasoning and then `last`."""
    if not reply.strip():
        raise Unreadable("is empty")
    if len(reply) > MAX_REPLY:
        raise Unreadable(f"has more than {MAX_REPLY:,} characters")
    fenced = _FENCE.match(reply)
    text = (fenced[1] if fenced else reply).strip()
    try:
        found = _load(text)
    except ValueError:
        found = _first_object(text)
    if not isinstance(found, dict):
        raise Unreadable("is JSON, but no object")
    _check_names(list(found), ["reasoning", last], "the field")
    if list(found) != ["reasoning", last]:
        raise Unreadable(f"has `{last}` before `reasoning`; the reasoning comes first")
    return found


def _first_object(text: str) -> Any:
    """Return the first balanced object in prose; what stands in a string does not count as a brace."""
    spans = _objects(text)
    if not spans:
        raise Unreadable("has no JSON object")
    try:
        found = _load(spans[0])
    except ValueError as error:
        raise Unreadable(f"has an object that is not JSON ({error})") from None
    if len(spans) > 1:
        # One of them may be quoted from the answer, whose author would then be the judge.
        raise Unreadable("has several objects; write one and nothing else")
    return found


def _objects(text: str) -> list[str]:
    """Return the balanced objects in `text` that lie in no other."""
    spans: list[str] = []
    place = text.find("{")
    while place >= 0:
        depth, end = 0, -1
        for token in _STRING_OR_BRACE.finditer(text, place):
            depth += {"{": 1, "}": -1}.get(token[0], 0)
            if depth == 0:
                end = token.end()
                break
        if end < 0:
            break
        spans.append(text[place:end])
        place = text.find("{", end)
    return spans


def _load(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError("a field is there twice")
    return dict(pairs)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _check_names(given: list[str], wanted: list[str], what: str) -> None:
    missing = [name for name in wanted if name not in given]
    if missing:
        raise Unreadable(f"lacks {what} {', '.join(f'`{name}`' for name in missing)}")
    unknown = [name for name in given if name not in wanted]
    if unknown:
        raise Unreadable(f"has {what} {_shown(unknown[0])}, which was not asked for")


def _reasoning(found: Mapping[str, Any]) -> str:
    reasoning = found["reasoning"]
    if not isinstance(reasoning, str) or not reasoning.strip():
        raise Unreadable("has no reasoning in words")
    return one_line(reasoning.encode("utf-8", "replace").decode("utf-8"), 400)


def _number(name: str, value: Any, allowed: Range) -> int:
    low, high = allowed
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unreadable(f"has {_shown(value)} for `{name}`, which is no number")
    if value != value or not low <= value <= high:
        raise Unreadable(f"has {_shown(value)} for `{name}`, which is not from {low} to {high}")
    if value != int(value):
        raise Unreadable(f"has {value!r} for `{name}`, which is not whole")
    return int(value)


def _shown(value: object) -> str:
    return one_line(repr(value).encode("utf-8", "replace").decode("utf-8"), 60)
