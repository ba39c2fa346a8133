"""Trouble: statuses, failures and ends of answers, and which of them were overcome."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from pytest_recall.replay.exchange import Exchange, Failure, Request, Response
from pytest_recall.replay.wire_formats import trouble, troubles


def exchange(
    body: bytes = b"", *, status: int = 200, asked: bytes = b"", failure: str = "", headers: Any = ()
) -> Exchange:
    """Return a call that ended so."""
    response = None if failure else Response(status, headers=headers, chunks=(body,))
    why = Failure(failure, "") if failure else None
    return Exchange("", 0, "agent", Request("POST", "https://m.test/", (), asked), response, why)


def whole(**fields: Any) -> bytes:
    """Return a JSON body."""
    return json.dumps(fields).encode()


@pytest.mark.parametrize(
    ("given", "end"),
    [
        (exchange(whole(choices=[{"finish_reason": "stop"}])), ""),
        (exchange(whole(choices=[{"finish_reason": "length"}])), "cut-off"),
        (exchange(whole(choices=[{"finish_reason": "content_filter"}])), "refused"),
        (exchange(whole(stop_reason="max_tokens")), "cut-off"),
        (exchange(whole(stop_reason="refusal")), "refused"),
        (exchange(whole(stop_reason="end_turn")), ""),
        (exchange(whole(candidates=[{"finishReason": "MAX_TOKENS"}])), "cut-off"),
        (exchange(whole(candidates=[{"finishReason": "SAFETY"}])), "refused"),
        (exchange(whole(incomplete_details={"reason": "max_output_tokens"})), "cut-off"),
        (exchange(whole(incomplete_details={"reason": "content_filter"})), "refused"),
        (exchange(b'data: {"choices": [{"finish_reason":"length"}]}\n\n'), "cut-off"),
        (exchange(gzip.compress(whole(stopReason="max_tokens")), headers=(("content-encoding", "gzip"),)), "cut-off"),
        (exchange(whole(content='{"finish_reason": "length"}')), ""),
        (exchange(whole(input={"reason": "refusal"})), ""),
        (exchange(status=429), "http-429"),
        (exchange(status=503), "http-503"),
        (exchange(failure="ReadTimeout"), "ReadTimeout"),
        (exchange(failure="CancelledError"), ""),
        (exchange(b"\xff\xfe not JSON"), ""),
        (exchange()._replace(response=None), ""),
    ],
)
def test_each_end_has_its_name(given: Exchange, end: str) -> None:
    assert trouble(given) == end


def test_what_was_asked_again_and_ended_well_is_overcome() -> None:
    calls = [
        exchange(status=500, asked=b"1"),
        exchange(status=429, asked=b"2"),
        exchange(status=500, asked=b"1"),
        exchange(asked=b"1"),
        exchange(failure="ReadTimeout", asked=b"1"),
    ]
    assert troubles(calls, lambda calls: [one.request.body for one in calls]) == [
        ("http-500", True),
        ("http-429", False),
        ("http-500", True),
        ("", False),
        ("ReadTimeout", False),
    ]
    assert troubles([], list) == []
