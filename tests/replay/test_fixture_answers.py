"""Digests of what wider fixtures were answered."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.replay.exchange import Exchange, Failure, Request, Response
from pytest_recall.replay.fixture_answers import digest_of_answers, other_fixture


def call(body: bytes = b"{}", answer: bytes = b"1", status: int = 200, **more: Any) -> Exchange:
    """Return a recorded call."""
    response = Response(status, chunks=(answer,))
    return Exchange("", 0, "agent", Request("POST", "http://h/x", (), body), response)._replace(**more)


def test_without_calls_there_is_none() -> None:
    assert digest_of_answers([]) == ""


@pytest.mark.parametrize(
    "other",
    [
        call(answer=b"2"),
        call(status=500),
        call(body=b"[]"),
        call(response=None, failure=Failure("ReadTimeout", "")),
        call(request=Request("GET", "http://h/x", (), b"{}")),
    ],
)
def test_another_answer_has_another(other: Exchange) -> None:
    assert digest_of_answers([call()]) != digest_of_answers([other])


def test_when_and_in_which_order_they_were_made_does_not_matter() -> None:
    one, other = call(), call(b"[]", b"2")
    again = call(seq=7, at="2030-01-01T00:00:00+00:00", seconds=3.0, response=call().response)
    assert digest_of_answers([one, other]) == digest_of_answers([other, again])
    assert digest_of_answers([one]) != digest_of_answers([one, one])


@pytest.mark.parametrize(
    ("header", "now", "found"),
    [
        ({}, {"index": "a"}, ""),
        ({"fixtures": {"index": "a"}}, {"index": "a"}, ""),
        ({"fixtures": {"index": "a"}}, {"index": "b"}, "index"),
        ({"fixtures": {"index": "a"}}, {"new": "b"}, ""),
        ({"fixtures": {"index": "a"}}, {}, ""),
        ({"fixtures": "index"}, {"index": "a"}, ""),
    ],
)
def test_the_first_that_differs_is_named(header: dict[str, Any], now: dict[str, str], found: str) -> None:
    assert other_fixture(header, now) == found
