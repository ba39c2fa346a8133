"""Leave out of the URL and the body of a request what may differ, as providers and a rubric say.

The ids that tie the result of a tool to its call are numbered, since many clients make them up. Only those places count
where such an id stands in the bodies of providers, by the names on the way there. Texts, and ids of anything else, stay
as they are. What is made of the rest is said in `replay.equality`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote_plus, urlsplit, urlunsplit

from pytest_recall.replay.encodings import NO_JSON, parsed
from pytest_recall.replay.exchange import MATCHED, Request
from pytest_recall.replay.hosts import PORTS


class Api(NamedTuple):
    """An endpoint that several providers have: how its path ends, and what its bodies always hold."""

    path: str
    holds: tuple[str, ...]


APIS = (
    Api("/chat/completions", ("messages", "model")),
    Api("/responses", ("model",)),
    Api("/completions", ("model", "prompt")),
    Api("/embeddings", ("input", "model")),
    Api("/messages", ("max_tokens", "messages", "model")),
)
"""Known by path and body, since a gateway or a model on this machine may be on any host."""


class VolatileText(NamedTuple):
    """What may differ in one text of a request."""

    place: str
    """`body.` and the dotted path of a text in a JSON body, where `*` stands for each element of a list; `URL` for the
    URL of the request, and `BODY` for a body that is no JSON."""
    pattern: str
    """A regular expression; what it finds in the text may differ."""


class Volatile(NamedTuple):
    """What may differ from recorded requests."""

    fields: tuple[str, ...] = ()
    """Dotted paths in JSON bodies."""
    query: tuple[str, ...] = ()
    """Parameters of URLs."""
    headers: tuple[str, ...] = ()
    texts: tuple[VolatileText, ...] = ()

    def joined(self, other: Volatile) -> Volatile:
        """Return both together."""
        return Volatile(
            _together(self.fields, other.fields),
            _together(self.query, other.query),
            _together(self.headers, other.headers),
            _together(self.texts, other.texts),
        )

    def places(self) -> list[str | dict[str, str]]:
        """Return it as the setting `volatile` of a rubric has it."""
        return [
            *(f"{BODY}.{path}" for path in self.fields),
            *(f"{QUERY}.{name}" for name in self.query),
            *(f"{HEADER}.{name}" for name in self.headers),
            *({text.place: text.pattern} for text in self.texts),
        ]


def place_parts(place: str) -> tuple[str, str]:
    """Return the part of a request that `body.a.b`, `query.a` or `header.a` is in, and its name there.

    Raises ValueError for what is no such place.
    """
    part, _, name = place.partition(".")
    if part not in (BODY, QUERY, HEADER) or not name:
        raise ValueError(f"`{place}` is no place of a request; write `body.{place}`, `query.NAME` or `header.NAME`")
    return part, name


def volatile_of(places: Iterable[str | Mapping[str, str]]) -> Volatile:
    """Return what the setting `volatile` of a rubric says. Raises ValueError for what is no such place."""
    whole: dict[str, list[str]] = {BODY: [], QUERY: [], HEADER: []}
    texts = []
    for place in places:
        if isinstance(place, str):
            part, name = place_parts(place)
            whole[part].append(name)
        else:
            texts += [VolatileText(*one) for one in place.items()]
    return Volatile(tuple(whole[BODY]), tuple(whole[QUERY]), tuple(whole[HEADER]), tuple(texts))


_T = TypeVar("_T")


def _together(one: tuple[_T, ...], other: tuple[_T, ...]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys([*one, *other]))


URL = "url"
BODY = "body"
QUERY = "query"
HEADER = "header"
"""How a rubric names the parts of a request."""
QUESTION = re.compile(r"(?:messages|input|contents|prompt)(?:\.\*)?(?:\.(?:content|parts)(?:\.\*)?(?:\.text)?)?")
"""The fields of the providers' bodies that hold the question."""


class Rules:
    """What makes two requests the same: the providers' rules, and those of a rubric.

    `more` are fields of bodies that may differ, as dotted paths; `*` stands for each element of a list, as in
    `messages.*.id`. `headers` are the lower-case names of those that are matched, `query` the parameters of URLs that
    are not, and `texts` what may differ in the text of a field. `ignored` are the lower-case names of headers that are
    compared nowhere.
    """

    def __init__(
        self,
        more: Iterable[str] = (),
        *,
        headers: Collection[str] = MATCHED,
        query: Iterable[str] = (),
        texts: Iterable[VolatileText] = (),
        ignored: Collection[str] = (),
    ) -> None:
        self.more = tuple(sorted(set(more)))
        self.headers = frozenset(headers)
        self.query = tuple(sorted(set(query)))
        self.texts = tuple(sorted(set(texts)))
        self.ignored = frozenset(ignored)
        self._paths = tuple(tuple(path.split(".")) for path in self.more)
        self._texts = tuple(_FieldPattern(tuple(one.place.split(".")), re.compile(one.pattern)) for one in self.texts)
        self._in_json = [one._replace(path=one.path[1:]) for one in self._texts if one.path[0] == BODY and one.path[1:]]

    @cached_property
    def digest(self) -> str:
        """Names these rules: keys made under others cannot be compared with these."""
        known = json.dumps([4, APIS, self.more, sorted(self.headers), self.query, self.texts])
        return hashlib.blake2b(known.encode(), digest_size=4).hexdigest()

    def among(self, headers: Collection[str]) -> Rules:
        """Return these rules for a recording that holds no other headers than these: the rest is unknown of it."""
        if self.headers.issubset(headers):
            return self
        known = self.headers.intersection(headers)
        return Rules(self.more, headers=known, query=self.query, texts=self.texts, ignored=self.ignored)

    def stripped(self, url: str, body: Any) -> Any:
        """Return the JSON value `body` without what may differ; ids of calls are numbers, from 1 as they appear.

        In bodies of the providers that is also a null at the top, which says nothing there.
        """
        kept = numbered(url, body)
        if isinstance(body, dict) and any(all(name in body for name in holds) for holds in _fields_at(url)):
            kept = {name: value for name, value in kept.items() if value is not None}
        for parts in self._paths:
            kept = _without(kept, parts)
        return _each_text(kept, self._in_json) if self._in_json else kept

    def url(self, url: str) -> str:
        """Return a URL without what may differ, in one way to write it."""
        url = normal_url(url)
        if self.query and "?" in url:
            path, _, query = url.partition("?")
            kept = [part for part in query.split("&") if unquote_plus(part.partition("=")[0]) not in self.query]
            url = f"{path}?{'&'.join(kept)}" if kept else path
        return replaced(url, self.patterns(URL))

    def raw(self, body: bytes) -> bytes:
        """Return a body that is no JSON without what may differ."""
        if not (patterns := self.patterns(BODY)):
            return body
        text = replaced(body.decode("utf-8", "surrogateescape"), patterns)
        return text.encode("utf-8", "surrogateescape")

    def patterns(self, place: str) -> list[re.Pattern[str]]:
        """Return what may differ in the text at a place."""
        path = tuple(place.split("."))
        return [one.pattern for one in self._texts if one.path == path]

    def without_texts(self) -> Rules:
        """Return these rules for whom texts are to stay as they are."""
        return Rules(self.more, headers=self.headers, query=self.query, ignored=self.ignored)

    def masked(self, seen: SeenRequest) -> SeenRequest:
        """Return what `without_texts` let be seen of a request as these rules see it."""
        body = self.raw(seen.body) if isinstance(seen.body, bytes) else _each_text(seen.body, self._in_json)
        return seen._replace(url=replaced(seen.url, self.patterns(URL)), body=body)


class SeenRequest(NamedTuple):
    """A request as its key sees it: what may differ is left out."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: Any
    """A JSON value, or bytes that are none."""


class _FieldPattern(NamedTuple):
    """A volatile text as it is looked for: the rest of the path to its field, and its pattern."""

    path: tuple[str, ...]
    pattern: re.Pattern[str]


def _each_text(value: Any, texts: Sequence[_FieldPattern]) -> Any:
    """Return a JSON value without what may differ in the texts of its fields."""
    if isinstance(value, str):
        return replaced(value, [one.pattern for one in texts if not one.path])
    if isinstance(value, list):
        inner = [one._replace(path=one.path[1:]) for one in texts if one.path[:1] == ("*",)]
        return [_each_text(item, inner) for item in value] if inner else value
    if isinstance(value, dict):
        below = {name: [one._replace(path=one.path[1:]) for one in texts if one.path[:1] == (name,)] for name in value}
        return {name: _each_text(item, below[name]) if below[name] else item for name, item in value.items()}
    return value


def replaced(text: str, patterns: Sequence[re.Pattern[str]]) -> str:
    """Return `text` with a mark for each stretch that one of these matches, wherever the others match.

    Each pattern has a mark of its own: the words that it holds are not to become those of another.
    """
    spans = sorted(
        (*match.span(), place) for place, pattern in enumerate(patterns, 1) for match in pattern.finditer(text)
    )
    parts: list[str] = []
    end = 0
    for start, stop, place in spans:
        parts += [text[end:start], VOLATILE_TEXT, "" if place == 1 else str(place).translate(_LOWERED)]
        end = max(end, stop)
    return "".join([*parts, text[end:]]) if spans else text


_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
VOLATILE_TEXT = "…"
"""What stands in a key for a text that may differ."""


@lru_cache(maxsize=256)
def _fields_at(url: str) -> tuple[tuple[str, ...], ...]:
    """Return the fields that a body has at a URL of a provider, for each of its endpoints that the URL may be."""
    path = urlsplit(url).path.rstrip("/")
    return tuple(tuple(api.holds) for api in APIS if path.endswith(api.path))


def _without(value: Any, path: tuple[str, ...]) -> Any:
    head, rest = path[0], path[1:]
    if isinstance(value, list) and head == "*":
        return [_without(item, rest) if rest else None for item in value]
    if not isinstance(value, dict) or head not in value:
        return value
    if not rest:
        return {name: item for name, item in value.items() if name != head}
    return {**value, head: _without(value[head], rest)}


def normal_url(url: str) -> str:
    """Return `url` with scheme and host in lower case, without a default port and a fragment."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if ":" in host:
        host = f"[{host}]"
    try:
        port = parts.port
    except ValueError:
        port = None
    place = host if port is None or port == PORTS.get(parts.scheme) else f"{host}:{port}"
    return urlunsplit((parts.scheme.lower(), place, parts.path or "/", parts.query, ""))


canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
"""Returns the one JSON text of a value, whatever the order of its keys was."""


def with_known_ids(request: Request, is_given: Callable[[str], bool]) -> Request:
    """Return a request whose ids of calls are the same each time where the client makes them up; any other as it is.

    `is_given` says of an id whether an answer has given it. The key stays the same.
    """
    body = parsed(request.body)
    if body is NO_JSON or (fixed := with_fixed_ids(request.url, body, is_given)) == body:
        return request
    return request._replace(body=json.dumps(fixed, separators=(",", ":")).encode())


INVENTED = "recall-id-"
"""What stands in a recorded request, with a number behind it, for an id that the client has made up."""
_LEVELS = 5
"""So deep within the messages of a request an id stands at most."""


class _Slot(NamedTuple):
    """An id, and where it stands."""

    within: dict[str, Any]
    """The object in which it stands."""
    name: str
    """The name under which it stands."""
    is_own: bool
    """Whether it is given to what stands there, and does not refer to something."""

    @property
    def text(self) -> str:
        text: str = self.within[self.name]
        return text


def numbered(url: str, body: Any) -> Any:
    """Return the JSON value `body` with a number in place of each such id, counted from 1 as they appear.

    An id that stands in several places has the same number in all of them, so that bodies differ if they differ in
    which result belongs to which call. The Responses API of OpenAI also takes ids of what is on its servers: one that
    is given to nothing in the body stays as it is there.
    """
    return _renamed(url, body, lambda text, number: number)


def with_fixed_ids(url: str, body: Any, is_given: Callable[[str], bool]) -> Any:
    """Return `body` with the same text each time in place of ids that the client has made up.

    Those are the ones for which not `is_given(id)`: no answer has given them. What `numbered` makes of it is the same.
    """
    return _renamed(url, body, lambda text, number: text if is_given(text) else f"{INVENTED}{number}")


def _renamed(url: str, body: Any, name_of: Callable[[str, int], str | int]) -> Any:
    """Return `body` with what `name_of` makes of each id and its number."""
    for name, slots_in in _PLACES.items() if isinstance(body, dict) else ():
        if name not in body or not _is_asked(body, name, url):
            continue
        if next(slots_in(body[name]), None) is not None:
            body = {**body, name: _copied(body[name], _LEVELS)}
            slots = list(slots_in(body[name]))
            known = {slot.text for slot in slots if slot.is_own or name != _ITEMS}
            numbers: dict[str, int] = {}
            for slot in slots:
                if slot.text in known:
                    text = slot.text
                    slot.within[slot.name] = name_of(text, numbers.setdefault(text, len(numbers) + 1))
    return body


def _is_asked(body: Mapping[str, Any], name: str, url: str) -> bool:
    if not isinstance(body.get(name), list):
        return False
    # Others have an `input` as well; nothing else looks like the messages of the other providers.
    return name != _ITEMS or urlsplit(url).path.rstrip("/").endswith("/responses")


def _copied(value: Any, levels: int) -> Any:
    """Return `value` with new lists and objects down to this level, which may then be changed."""
    if levels and isinstance(value, dict):
        return {name: _copied(item, levels - 1) for name, item in value.items()}
    if levels and isinstance(value, list):
        return [_copied(item, levels - 1) for item in value]
    return value


def _of_messages(messages: Any) -> Iterator[_Slot]:
    """Yield the ids in messages as OpenAI, Mistral, Cohere, Ollama, Anthropic and Bedrock have them."""
    for message in _objects(messages):
        if "role" not in message:
            continue
        for call in _objects(message.get("tool_calls")):
            yield from _slot(call, "id", is_own=True)
        for block in _objects(message.get("content")):
            kind = str(block.get("type"))
            if kind.endswith("tool_use"):
                yield from _slot(block, "id", is_own=True)
            elif kind.endswith("tool_result"):
                yield from _slot(block, "tool_use_id")
            yield from _slot(block.get("toolUse"), "toolUseId", is_own=True)
            yield from _slot(block.get("toolResult"), "toolUseId")
        yield from _slot(message, "tool_call_id")


def _of_contents(contents: Any) -> Iterator[_Slot]:
    """Yield the ids in the contents of Gemini."""
    for content in _objects(contents):
        for part in _objects(content.get("parts")):
            for call in ("functionCall", "function_call"):
                yield from _slot(part.get(call), "id", is_own=True)
            for result in ("functionResponse", "function_response"):
                yield from _slot(part.get(result), "id")


def _of_items(items: Any) -> Iterator[_Slot]:
    """Yield the ids in the items of OpenAI's Responses API."""
    for item in _objects(items):
        kind = str(item.get("type", "message" if "role" in item else ""))
        if not kind:
            continue
        # One that holds nothing else is a reference to what is on the server.
        yield from _slot(item, "id", is_own=kind != "item_reference" and not item.keys() <= {"type", "id", "status"})
        yield from _slot(item, "call_id", is_own=not kind.endswith("_output"))
        yield from _slot(item, "approval_request_id")


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())


def _slot(within: Any, name: str, *, is_own: bool = False) -> Iterator[_Slot]:
    if isinstance(within, dict) and isinstance(within.get(name), str):
        yield _Slot(within, name, is_own)


_ITEMS = "input"
_PLACES: Mapping[str, Callable[[Any], Iterator[_Slot]]] = MappingProxyType(
    {"messages": _of_messages, "contents": _of_contents, _ITEMS: _of_items}
)
