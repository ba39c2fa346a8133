"""Call text: what was asked and what was answered, out of the bodies of the usual wire formats."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pytest_recall.core.encodings import decoded
from pytest_recall.core.exchange import Request, Response
from pytest_recall.core.matching import json_of

_ASKED = ("messages", "contents", "input", "prompt", "inputText", "message")
# In the order in which they are looked for: the first that holds text is taken.
_TEXT = (
    "text",
    "content",
    "parts",
    "delta",
    "message",
    "tool_calls",
    "choices",
    "candidates",
    "output",
    "outputText",
    "response",
    "completion",
    "error",
)
_LEVELS = 20


def asked(request: Request) -> str:
    """Return the last message of a request; '' if it holds none that is known."""
    body = json_of(request.body)
    if not isinstance(body, dict):
        return ""
    for name in _ASKED:
        found = body.get(name)
        if found:
            return _text(found[-1] if isinstance(found, list) else found)
    return ""


def answered(response: Response) -> str:
    """Return the text of an answer, also of a streamed one; '' if it holds none that is known."""
    body = b"".join(decoded(response.headers, response.chunks) or ())
    whole = json_of(body.strip())
    if isinstance(whole, dict):
        return _text(whole)
    return "".join(_text(event) for event in _events(body) if not _repeats(event))


def _events(body: bytes) -> Iterator[Any]:
    for line in body.splitlines():
        text = line.removeprefix(b"data:").strip()
        if text.startswith(b"{"):
            yield json_of(text)


def _repeats(event: Any) -> bool:
    """Tell whether an event says once more what came in pieces before it."""
    kind = event.get("type") if isinstance(event, dict) else None
    return isinstance(kind, str) and kind.startswith("response.") and kind != "response.output_text.delta"


def _text(value: Any, levels: int = _LEVELS) -> str:
    if isinstance(value, str):
        return value
    if levels == 0:
        return ""
    if isinstance(value, list):
        return "\n".join(filter(None, (_text(item, levels - 1) for item in value)))
    if not isinstance(value, dict):
        return ""
    function = value.get("function")
    tool = function if isinstance(function, dict) else value
    arguments = tool.get("arguments", tool.get("input"))
    if isinstance(tool.get("name"), str) and arguments is not None:
        return f"{tool['name']}({arguments if isinstance(arguments, str) else json.dumps(arguments)})"
    return next(filter(None, (_text(value.get(name), levels - 1) for name in _TEXT)), "")
