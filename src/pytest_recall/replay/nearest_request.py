"""Find the recorded request that is nearest to one that is not recorded, and say what differs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from pytest_recall.files.look import looks, spelled
from pytest_recall.replay.differences import DifferenceKind, RequestDifference
from pytest_recall.replay.equality import seen_by
from pytest_recall.replay.exchange import Request
from pytest_recall.replay.fenced_texts import parts_of
from pytest_recall.replay.matching import BODY, Rules, canonical
from pytest_recall.replay.secrets import hidden
from pytest_recall.replay.tokens import PLACEHOLDER

_SHOWN = 60
_BLANKS = re.compile(r"\s*[^\S ]\s*")
"""White space that is more than blanks."""


def nearest_request(request: Request, others: Iterable[Request], rules: Rules) -> tuple[int, list[RequestDifference]]:
    """Return the place of the recorded request that is nearest to `request`, and what differs.

    The place is -1 if there are no `others`. Meant for a message: it compares with everything.
    """
    mine = _comparable(request, rules)
    best, best_score, best_differences = -1, -1.0, list[RequestDifference]()
    for place, other in enumerate(others):
        theirs = _comparable(other, rules)
        score = 2.0 * (mine.head["method"] == theirs.head["method"]) + 4.0 * (mine.head["url"] == theirs.head["url"])
        differences = [*_differences(mine.head, theirs.head), *_differences(mine.body, theirs.body)]
        score += 1.0 / (1 + len(differences)) + _alike(mine.body, theirs.body)
        if score > best_score:
            best, best_score, best_differences = place, score, differences
    return best, best_differences


class _Comparable(NamedTuple):
    head: dict[str, str]
    body: dict[str, Any]


def _comparable(request: Request, rules: Rules) -> _Comparable:
    seen = seen_by(rules, request)
    head = {"method": seen.method, "url": seen.url}
    head |= {f"header {name}": value for name, value in seen.headers.items()}
    return _Comparable(head, seen.body if isinstance(seen.body, dict) else {BODY: seen.body})


def _alike(one: Any, other: Any) -> float:
    left, right = (str(value)[-2000:] for value in (one, other))
    return SequenceMatcher(None, left, right, autojunk=False).quick_ratio()


def _differences(one: Any, other: Any, path: str = "") -> Iterator[RequestDifference]:
    """Yield how `one` differs from the recorded `other`, value by value, in the order of the request."""
    if one == other and repr(one) == repr(other):  # True equals 1, and asks for something else
        return
    if isinstance(one, dict) and isinstance(other, dict):
        for name in {**one, **other}:
            inner = f"{path}.{name}" if path else str(name)
            if name not in other:
                yield RequestDifference(DifferenceKind.ADDED, inner, sent=_shown(one[name]))
            elif name not in one:
                yield RequestDifference(DifferenceKind.REMOVED, inner, _shown(other[name]))
            else:
                yield from _differences(one[name], other[name], inner)
    elif isinstance(one, list) and isinstance(other, list):
        if sorted(map(canonical, one)) == sorted(map(canonical, other)):
            yield RequestDifference(DifferenceKind.REORDERED, path)
            return
        for place in range(max(len(one), len(other))):
            inner = f"{path}[{place}]"
            if place >= len(other):
                yield RequestDifference(DifferenceKind.ADDED, inner, sent=_shown(one[place]))
            elif place >= len(one):
                yield RequestDifference(DifferenceKind.REMOVED, inner, _shown(other[place]))
            else:
                yield from _differences(one[place], other[place], inner)
    elif parts := list(_part_differences(one, other)):
        yield from (difference.below(path) for difference in parts)
    elif isinstance(other, str) and PLACEHOLDER.fullmatch(other):
        yield RequestDifference(DifferenceKind.CHANGED, path, other)  # What is sent is as secret as what stood there.
    else:
        recorded, sent = _around(other, one), _around(one, other)
        if isinstance(one, str) and isinstance(other, str) and looks(recorded) == looks(sent):
            theirs, mine = spelled(hidden(other)), spelled(hidden(one))
            recorded, sent = _around(theirs, mine), _around(mine, theirs)
        yield RequestDifference(DifferenceKind.CHANGED, path, recorded, sent)


def _part_differences(one: Any, other: Any) -> Iterator[RequestDifference]:
    """Yield the texts and criteria that differ between two prompts to a judge; nothing for anything else."""
    if isinstance(one, str) and isinstance(other, str):
        asked, recorded = parts_of(one), parts_of(other)
        if asked and recorded:
            yield from _differences(asked, recorded)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value) if isinstance(value, bytes) else canonical(value)
    line = _BLANKS.sub(" ", hidden(text)).strip()
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def _around(value: Any, other: Any) -> str:
    """Return `value` cut to where it differs from `other`: the change may stand at the end of a long prompt."""
    if isinstance(value, bytes) and isinstance(other, bytes):
        value, other = repr(value), repr(other)
    if not isinstance(value, str) or not isinstance(other, str) or len(value) <= _SHOWN:
        return _shown(value)
    value, other = hidden(value), hidden(other)
    same = next((i for i, (a, b) in enumerate(zip(value, other, strict=False)) if a != b), min(len(value), len(other)))
    start = max(0, same - _SHOWN // 3)
    return _shown(("…" if start else "") + value[start:])
