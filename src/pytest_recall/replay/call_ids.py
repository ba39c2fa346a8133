"""Number the ids in a request body that tie the result of a tool to its call, since many clients make them up.

Only those places count where such an id stands in the bodies of providers, by the names on the way there. Texts, and
ids of anything else, stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

INVENTED = "recall-id-"
"""What stands in a recorded request, with a number behind it, for an id that the client has made up."""
_LEVELS = 5
"""So deep within the messages of a request an id stands at most."""


class _Slot(NamedTuple):
    """An id: it is under `name` in `within`, and `is_own` where it is given to what stands there, not referred to."""

    within: dict[str, Any]
    name: str
    is_own: bool

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
    for name, slots_in in _PLACES.items():
        if not isinstance(body, dict) or not _is_asked(body, name, url):
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
