"""Throttle: what a reply says of limits, and what is none."""

from __future__ import annotations

import pytest

from pytest_recall.forge.client import LEAST, pause

NOW = 1_000_000.0
SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."


@pytest.mark.parametrize(
    ("status", "headers", "message", "seconds"),
    [
        (429, {"Retry-After": "7"}, "", 7),
        (403, {"Retry-After": "7"}, SECONDARY, 7),
        (429, {}, "", LEAST),
        (403, {}, SECONDARY, LEAST),
        (403, {}, "You have triggered an abuse detection mechanism.", LEAST),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000030"}, "API rate limit exceeded", 30),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "999990"}, "API rate limit exceeded", 0),
        (429, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "soon"}, "", LEAST),
        (429, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "inf"}, "", LEAST),
        (429, {"RateLimit-Remaining": "0", "RateLimit-Reset": "1000004"}, "", 4),
    ],
)
def test_a_limit_says_how_long(status: int, headers: dict[str, str], message: str, seconds: float) -> None:
    assert pause(status, headers, message, NOW) == seconds


@pytest.mark.parametrize(
    ("status", "headers", "message"),
    [
        (403, {}, "Resource not accessible by integration"),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000030"}, "Resource not accessible by integration"),
        (403, {"X-RateLimit-Remaining": "4990"}, "Must have admin rights"),
        (404, {"Retry-After": "7"}, "Not Found"),
        (502, {"Retry-After": "7"}, ""),
    ],
)
def test_other_refusals_are_no_limit(status: int, headers: dict[str, str], message: str) -> None:
    assert pause(status, headers, message, NOW) is None
