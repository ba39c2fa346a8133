"""Tell what differs in the requests of two replays of one commit, and propose what a rubric ignores of it.

What differs varies by itself: a date, a time, an id or a number. Of a text only that part is ignored, in its field, and
with the words beside it, so that another word there is a change as ever.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple
from urllib.parse import unquote_plus, urlsplit

import yaml

from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import one_line
from pytest_recall.replay.equality import key_of_seen
from pytest_recall.replay.matching import (
    BODY,
    QUESTION,
    URL,
    Rules,
    SeenRequest,
    Volatile,
    VolatileText,
    canonical,
    volatile_of,
)
from pytest_recall.replay.secrets import hidden
from pytest_recall.replay.varying_text import Spot, differs_in_kinds_alone, fewest, is_wordless, spots

Requests = Mapping[str, Sequence[SeenRequest]]
"""The requests of a replay, by whose they are: the id of a case, or the name of a fixture."""

MOST_PATTERNS = 8
"""Patterns that are proposed for one field: what needs more stands beside words of the cases."""
_SHOWN = 120


class Variation(NamedTuple):
    """What varies by itself in one place of the requests of some cases."""

    place: str
    cases: tuple[str, ...]
    first: str
    """What the first of two replays sent there."""
    second: str
    """What the second of two replays sent there."""
    ignored: Volatile = Volatile()
    """What a rubric says to ignore it."""
    why: str = ""
    """What to do where nothing can ignore it."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types."""
        plain = {"place": self.place, "cases": list(self.cases), "first": self.first, "second": self.second}
        return {**plain, "volatile": self.ignored.places(), "why": self.why or None}


IN_AGENT = "no setting fits it; write it into the agent: let it take the value from a fixture"
ORDER = "its order is another one in each process; sort it in the agent"


def variations(first: Requests, second: Requests, rules: Rules) -> list[Variation]:
    """Return what differs between two replays, in the order of the requests.

    `rules` are those of the rubric; the requests are as its rules without texts see them.
    """
    differences = [
        _Difference(case_id, *leaf)
        for case_id, mine in first.items()
        for pair in _pairs(mine, second.get(case_id, ()), rules)
        for leaf in _leaves(*pair)
    ]
    requests = [one for of_case in (*first.values(), *second.values()) for one in of_case]
    fields = {one.field for one in differences}
    wordless = {field: all(map(is_wordless, _texts_at(requests, field))) for field in fields}
    whole = [(one, _whole(one, wordless=wordless[one.field])) for one in differences]
    settled = [variation for _, variation in whole if variation is not None]
    return grouped([*settled, *_of_texts((one for one, variation in whole if variation is None), rules)])


class _Difference(NamedTuple):
    """One value that differs."""

    case_id: str
    part: str
    path: tuple[str | int, ...]
    """Leads to it: the names and places in a JSON body, or what stands beside one."""
    first: Any
    second: Any

    @property
    def place(self) -> str:
        """Where it is, for people."""
        if self.part != _JSON:
            return self.part if not self.path else f"{self.part} `{self.path[0]}`"
        return "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in self.path).lstrip(".") or "the body"

    @property
    def field(self) -> str:
        """Its field in the JSON body, as a dotted path; empty where it has no such name."""
        if self.part != _JSON or any(isinstance(one, str) and ("." in one or not one) for one in self.path):
            return ""
        return ".".join("*" if isinstance(one, int) else one for one in self.path)

    @property
    def rubric_place(self) -> str:
        """The place of its text, as a rubric names it."""
        return {_IN_URL: URL, _IN_BODY: BODY}.get(self.part) or f"{BODY}.{self.field}"


_JSON = "json"
_METHOD = "the method"
_IN_URL = "the URL"
_PARAMETER = "the URL parameter"
_HEADER = "the header"
_IN_BODY = "the body"


class _Missing:
    """Stands for what only one of two requests has."""

    def __repr__(self) -> str:
        return "nothing"


_NOTHING = _Missing()


def _pairs(
    first: Sequence[SeenRequest], second: Sequence[SeenRequest], rules: Rules
) -> Iterator[tuple[SeenRequest, SeenRequest]]:
    """Yield those requests of two replays that differ and belong together: equal ones may come in another order."""
    left = list(second)
    keys = [key_of_seen(rules.masked(one)) for one in left]
    rest = []
    for one in first:
        key = key_of_seen(rules.masked(one))
        if key in keys:
            place = keys.index(key)
            del keys[place], left[place]
        else:
            rest.append(one)
    for one in rest:
        # A replay ends at the first request that is not recorded: the other may have gone on.
        near = [other for other in left if _address(other) == _address(one)] or left
        if near:
            other = max(near, key=lambda other: _likeness(one, other))
            left.remove(other)
            yield one, other


def _address(seen: SeenRequest) -> tuple[str, str]:
    return seen.method, seen.url.partition("?")[0]


def _text(seen: SeenRequest) -> str:
    body = seen.body.hex() if isinstance(seen.body, bytes) else canonical(seen.body)
    return canonical([seen.method, seen.url, dict(seen.headers), body])


def _likeness(one: SeenRequest, other: SeenRequest) -> float:
    left, right = (_text(seen)[-4000:] for seen in (one, other))
    return SequenceMatcher(None, left, right, autojunk=False).quick_ratio()


def _leaves(one: SeenRequest, other: SeenRequest) -> Iterator[tuple[str, tuple[str | int, ...], Any, Any]]:
    """Yield the values in which two requests differ, each with its part of the request and the way there."""
    if one.method != other.method:
        yield _METHOD, (), one.method, other.method
    yield from _of_urls(one.url, other.url)
    for name in sorted({**one.headers, **other.headers}):
        values = one.headers.get(name, _NOTHING), other.headers.get(name, _NOTHING)
        if values[0] != values[1]:
            yield _HEADER, (name,), *values
    if isinstance(one.body, bytes) and isinstance(other.body, bytes):
        if one.body != other.body:
            mine, theirs = (body.decode("utf-8", "surrogateescape") for body in (one.body, other.body))
            yield _IN_BODY, (), mine, theirs
    else:
        yield from ((_JSON, *leaf) for leaf in _of_values(one.body, other.body, ()))


def _of_urls(one: str, other: str) -> Iterator[tuple[str, tuple[str | int, ...], Any, Any]]:
    """Yield what differs in two URLs: parameters that hold no word one by one, or else the whole."""
    if one == other:
        return
    left, right = urlsplit(one), urlsplit(other)
    mine, theirs = (dict(part.partition("=")[::2] for part in url.query.split("&")) for url in (left, right))
    differing = [name for name in mine if mine[name] != theirs.get(name)]
    by_themselves = all(is_wordless(unquote_plus(value[name])) for name in differing for value in (mine, theirs))
    if left._replace(query="") == right._replace(query="") and mine.keys() == theirs.keys() and by_themselves:
        yield from ((_PARAMETER, (unquote_plus(name),), mine[name], theirs[name]) for name in differing)
    else:
        yield _IN_URL, (), one, other


def _of_values(one: Any, other: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any, Any]]:
    if one == other and canonical(one) == canonical(other):  # True equals 1, and asks for something else
        return
    if isinstance(one, dict) and isinstance(other, dict):
        for name in {**one, **other}:
            inner = (*path, str(name))
            if name in one and name in other:
                yield from _of_values(one[name], other[name], inner)
            else:
                yield inner, one.get(name, _NOTHING), other.get(name, _NOTHING)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        if sorted(map(canonical, one)) == sorted(map(canonical, other)):
            yield path, one, other
            return
        for place, values in enumerate(zip(one, other, strict=True)):
            yield from _of_values(*values, (*path, place))
    else:
        yield path, one, other


# Whole fields, parameters and headers


def _whole(one: _Difference, *, wordless: bool) -> Variation | None:
    """Return what varies if the whole value can be ignored, or nothing of it; None for a text to look into.

    `wordless` says that no request has a word in its field.
    """
    shown = (_shown(one.first), _shown(one.second))
    text = isinstance(one.first, str) and isinstance(one.second, str)

    def found(ignored: Volatile = Volatile(), why: str = "") -> Variation:  # noqa: B008
        return Variation(one.place, (one.case_id,), *shown, ignored, why)

    if one.part == _PARAMETER:
        return found(Volatile(query=(str(one.path[0]),)))
    if one.part == _HEADER:
        varies = text and differs_in_kinds_alone(one.first, one.second)
        return found(Volatile(headers=(str(one.path[0]),))) if varies else found(why=IN_AGENT)
    if one.part == _METHOD:
        return found(why=IN_AGENT)
    if isinstance(one.first, list) and isinstance(one.second, list) and len(one.first) == len(one.second):
        return found(why=ORDER)
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (one.first, one.second))
    may_be_left = one.part == _JSON and one.field and not QUESTION.fullmatch(one.field)
    if numbers and may_be_left:
        return found(Volatile(fields=(one.field,)))
    if not text or (one.part == _JSON and not one.field):
        return found(why=IN_AGENT)
    if may_be_left and wordless:
        return found(Volatile(fields=(one.field,)))
    return None


def _texts_at(every: Iterable[SeenRequest], field: str) -> Iterator[str]:
    """Yield all texts in one field of these requests."""
    for seen in every:
        if not isinstance(seen.body, bytes):
            yield from (value for value in _values_at(seen.body, field.split(".")) if isinstance(value, str))


def _values_at(value: Any, path: Sequence[str]) -> Iterator[Any]:
    if not path:
        yield value
    elif isinstance(value, list) and path[0] == "*":
        for item in value:
            yield from _values_at(item, path[1:])
    elif isinstance(value, dict) and path[0] in value:
        yield from _values_at(value[path[0]], path[1:])


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value) if value is _NOTHING else canonical(value)
    return one_line(hidden(text), _SHOWN)


def _of_texts(differing: Iterable[_Difference], rules: Rules) -> Iterator[Variation]:
    """Yield what varies within texts, by place: as few patterns as ignore it."""
    by_place: dict[str, list[tuple[_Difference, Spot]]] = {}
    for one in differing:
        found = spots(one.first, one.second, rules.patterns(one.rubric_place))
        by_place.setdefault(one.rubric_place, []).extend((one, spot) for spot in found)
    for place, within in by_place.items():
        patterns = fewest([spot.patterns for _, spot in within])
        few = len(set(patterns)) <= MOST_PATTERNS
        for (one, spot), pattern in zip(within, patterns, strict=True):
            if pattern and few:
                ignored = Volatile(texts=(VolatileText(place, pattern),))
                shown = (next(iter(re.findall(pattern, text)), "") for text in (one.first, one.second))
                first, second = map(_shown, shown)
                yield Variation(one.place, (one.case_id,), first, second, ignored)
            else:
                why = ORDER if spot.is_shuffled else IN_AGENT
                yield Variation(one.place, (one.case_id,), _shown(spot.first), _shown(spot.second), why=why)


def grouped(every: Iterable[Variation]) -> list[Variation]:
    """Return one variation for those that are ignored by the same, or that are in one place and cannot be."""
    groups: dict[Any, Variation] = {}
    for one in every:
        key = one.ignored if one.ignored != Volatile() else (re.sub(r"\[\d+\]", "[]", one.place), one.why)
        known = groups.setdefault(key, one)
        groups[key] = known._replace(cases=tuple(dict.fromkeys([*known.cases, *one.cases])))
    return list(groups.values())


def rubric_lines(places: Iterable[str | Mapping[str, str]]) -> Iterator[str]:
    """Yield the setting `volatile` as a rubric has it, with a line for each place."""
    yield "volatile:"
    for place in places:
        text: str = yaml.safe_dump(place, default_flow_style=False, width=10_000, allow_unicode=True)
        yield f"  - {text.removesuffix('...' + chr(10)).rstrip()}"


# Files between processes


def volatile_in(text: str, name: str) -> Volatile:
    """Return what may differ by the JSON of `Volatile.places` in the file that messages call `name`.

    Raises RecallError for anything else.
    """
    try:
        return volatile_of(json.loads(text))
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise RecallError(f"{name}: does not say what may differ") from None


def to_line(owner: str, seen: SeenRequest) -> str:
    """Return a request of a case or a fixture as a line of JSON."""
    encoded = isinstance(seen.body, bytes)
    body = b64encode(seen.body).decode("ascii") if encoded else seen.body
    return json.dumps({"owner": owner, **seen._asdict(), "body": body, "base64": encoded})


def from_lines(lines: Iterable[str], name: str) -> dict[str, list[SeenRequest]]:
    """Return what `to_line` wrote into the file that messages call `name`. Raises RecallError for anything else."""
    found: dict[str, list[SeenRequest]] = {}
    for line in lines:
        try:
            plain = json.loads(line)
            body = b64decode(plain["body"]) if plain["base64"] else plain["body"]
            seen = SeenRequest(plain["method"], plain["url"], plain["headers"], body)
            found.setdefault(plain["owner"], []).append(seen)
        except (ValueError, KeyError, TypeError, RecursionError):
            raise RecallError(f"{name}: does not say what was asked") from None
    return found
