"""Exchanges: what is read off them."""

from __future__ import annotations

import pytest

from pytest_recall.replay.exchange import Exchange, Request, Response


def test_a_body_is_its_chunks_in_one() -> None:
    assert Response(200, chunks=(b"a", b"", b"bc")).body == b"abc"
    assert Response(200).body == b""


@pytest.mark.parametrize("name", ["content-type", "Content-Type", "CONTENT-TYPE"])
def test_a_header_is_found_whatever_its_case_and_the_first_counts(name: str) -> None:
    response = Response(200, headers=(("x", "1"), ("Content-Type", "a"), ("content-type", "b")))
    assert response.header(name) == "a"
    assert response.header("content") is None


def test_a_response_is_whole_unless_it_says_otherwise() -> None:
    exchange = Exchange("k", 0, "agent", Request("GET", "http://x/"), Response(200))
    assert exchange.response is not None
    assert exchange.response.complete
    assert exchange.failure is None
