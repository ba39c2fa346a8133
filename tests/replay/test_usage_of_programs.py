"""Models and tokens out of what agents print on the command line."""

from __future__ import annotations

import json

from pytest_recall.replay.exchange import Request, Response, Tokens
from pytest_recall.replay.wire_formats import usage_of


def printed(url: str, *events: object, asked: bytes = b"") -> tuple[str | None, Tokens | None]:
    body = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    return usage_of(Request("RUN", url, (), asked), Response(200, chunks=(body,)))


def test_claude_counts_apart_from_the_cache_and_names_the_one_model() -> None:
    usage = {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 11}
    result = {"type": "result", "result": "hi", "usage": usage, "modelUsage": {"claude-opus-5": {}}}
    assert printed("command:///claude", result) == ("claude-opus-5", Tokens(3, 5, 7, 11))
    several = {**result, "modelUsage": {"claude-opus-5": {}, "claude-haiku-4-5": {}}}
    assert printed("command:///claude", several) == (None, Tokens(3, 5, 7, 11))


def test_codex_counts_the_cache_within_the_input() -> None:
    usage = {"input_tokens": 30, "cached_input_tokens": 10, "output_tokens": 4}
    events = ({"type": "thread.started"}, {"type": "turn.completed", "usage": usage})
    assert printed("command:///codex", *events) == (None, Tokens(20, 4, 10))


def test_a_prompt_that_looks_like_a_request_names_no_model() -> None:
    assert printed("command:///codex", {"type": "turn.started"}, asked=b'{"model": "gpt-4o"}') == (None, None)


def test_plain_text_is_a_reply_and_no_count() -> None:
    body = b'{"model": "gpt-4o", "usage": {"prompt_tokens": 1, "completion_tokens": 2}}'
    headers = (("content-type", "text/plain; charset=utf-8"),)
    said = Response(200, headers=headers, chunks=(body,))
    assert usage_of(Request("RUN", "command:///python%20bot.py"), said) == (None, None)
    assert usage_of(Request("POST", "https://api.openai.com/v1"), said) == ("gpt-4o", Tokens(1, 2))
