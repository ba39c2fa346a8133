"""Rates: no minute has more than it may, anyone who comes and whenever."""

from __future__ import annotations

import heapq
import json
import re
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_recall.models.model import KINDS
from pytest_recall.models.rate import MINUTE, PROGRAMS, CallQueue, QueuePlace, Rate, Target, expected_tokens, target_of
from pytest_recall.replay.exchange import Request
from pytest_recall.replay.wire_formats import PROVIDERS
from tests.helpers.samples import costly


class Coming(NamedTuple):
    """A call that comes `pause` after the one before it, and ends `seconds` after it began, having used `used`."""

    pause: float
    expected: int
    used: int | None
    seconds: float
    gives_up: bool = False


class Began(NamedTuple):
    """A call that began: its number, when, and what it took at last."""

    number: int
    at: float
    took: int


@st.composite
def comings(draw: st.DrawFn) -> list[Coming]:
    found = []
    for _ in range(draw(st.integers(1, 25))):
        expected = draw(st.integers(0, 400))
        used = draw(st.one_of(st.none(), st.integers(0, expected)))
        pause, seconds = draw(st.floats(0, 40)), draw(st.floats(0, 90))
        found.append(Coming(pause, expected, used, seconds, draw(st.integers(0, 9)) == 0))
    return found


def played(rate: Rate, calls: list[Coming]) -> list[Began]:
    """Return when the calls began, by a clock that goes from one event to the next."""
    line = CallQueue(rate)
    places: dict[int, QueuePlace] = {}
    began: dict[int, float] = {}
    events: list[tuple[float, int, str, int]] = []
    now, serial = 0.0, 0
    for number, call in enumerate(calls):
        now += call.pause
        heapq.heappush(events, (now, serial := serial + 1, "comes", number))
    while events:
        now, _, what, number = heapq.heappop(events)
        call = calls[number]
        if what == "comes":
            places[number] = line.join(call.expected, now)
        if what == "ends":
            assert call.used is not None
            line.settle(places[number], call.used, now)
        elif what == "comes" and call.gives_up:
            line.leave(places[number], now)
            continue
        elif (rest := line.rest(places[number], now)) > 0:
            # Those who wait look again after a while, as others may have used less than they had expected.
            heapq.heappush(events, (now + min(rest, 7.0), serial := serial + 1, "looks", number))
            continue
        else:
            began[number] = now
            if call.used is not None:
                heapq.heappush(events, (now + call.seconds, serial := serial + 1, "ends", number))
    took = {number: call.expected if call.used is None else call.used for number, call in enumerate(calls)}
    return [Began(number, at, took[number]) for number, at in began.items()]


@given(st.integers(1, 200), comings())
@example(7, [Coming(0, 0, None, 0)] * 20)
def test_no_minute_has_more_requests_than_it_may(limit: int, calls: list[Coming]) -> None:
    began = sorted(one.at for one in played(Rate(requests=limit), calls))
    for start in began:
        assert sum(start <= at < start + 60 for at in began) <= limit


@given(st.integers(1, 1000), st.one_of(st.none(), st.integers(1, 60)), comings())
def test_no_minute_has_more_tokens_than_it_may(limit: int, requests: int | None, calls: list[Coming]) -> None:
    began = sorted(played(Rate(requests, limit), calls), key=lambda one: one.at)
    for first in began:
        within = [one for one in began if first.at <= one.at < first.at + 60]
        larger = [one for one in within if calls[one.number].expected > limit]
        assert sum(one.took for one in within) <= limit or (larger and len(within) == 1)


@costly
@given(st.integers(1, 200), st.one_of(st.none(), st.integers(1, 500)), comings())
def test_everybody_begins_in_the_end_and_in_turn(requests: int, tokens: int | None, calls: list[Coming]) -> None:
    staying = [call._replace(gives_up=False) for call in calls]
    began = played(Rate(requests, tokens), staying)
    assert sorted(one.number for one in began) == list(range(len(calls)))


def test_requests_are_spread_over_the_minute() -> None:
    line = CallQueue(Rate(requests=60))
    places = [line.join(0, 5.0) for _ in range(4)]
    assert [place.at - 5.0 for place in places] == pytest.approx([0, MINUTE / 60, 2 * MINUTE / 60, 3 * MINUTE / 60])


def test_who_was_late_to_begin_pushes_those_behind() -> None:
    line = CallQueue(Rate(requests=60))
    first, second = line.join(0, 0.0), line.join(0, 0.0)
    assert line.rest(first, 0.9) == 0
    assert line.rest(second, 1.1) == pytest.approx(0.9 + MINUTE / 60 - 1.1)


def test_a_call_that_is_larger_than_the_rate_has_a_minute_for_itself() -> None:
    line = CallQueue(Rate(tokens=100))
    large, small = line.join(5000, 0.0), line.join(1, 0.0)
    assert line.rest(large, 0.0) == 0
    assert line.rest(small, 1.0) == MINUTE - 1


def test_what_was_not_used_lets_others_begin_earlier() -> None:
    line = CallQueue(Rate(tokens=100))
    first, second = line.join(90, 0.0), line.join(90, 0.0)
    assert line.rest(first, 0.0) == 0
    assert line.rest(second, 1.0) == MINUTE - 1
    line.settle(first, 10, 2.0)
    assert line.rest(second, 2.0) == 0


def test_who_leaves_holds_nobody_up() -> None:
    line = CallQueue(Rate(requests=1))
    assert line.rest(line.join(0, 0.0), 0.0) == 0
    leaves, stays = line.join(0, 0.0), line.join(0, 0.0)
    line.leave(leaves, 1.0)
    line.leave(leaves, 1.0)
    assert line.rest(stays, 1.0) == MINUTE - 1


# Whom a rate is for


@pytest.mark.parametrize(
    ("key", "target"),
    [
        ("openai", Target("openai")),
        ("api.openai.com", Target("api.openai.com")),
        ("127.0.0.1:8000", Target("127.0.0.1", 8000)),
        ("localhost", Target("localhost")),
        ("vllm:8000", Target("vllm", 8000)),
        ("LLM.example.com", Target("llm.example.com")),
        ("[::1]:8000", Target("::1", 8000)),
    ],
)
def test_a_key_names_a_provider_or_a_host(key: str, target: Target) -> None:
    assert target_of(key, PROVIDERS) == target


def test_a_key_names_a_program() -> None:
    assert target_of("claude", PROVIDERS | PROGRAMS.keys()) == Target("claude")


def test_the_programs_are_those_of_selectors() -> None:
    assert set(PROGRAMS) <= set(KINDS)
    assert {provider for provider in PROGRAMS.values() if provider is not None} <= PROVIDERS


@pytest.mark.parametrize("key", ["a host:80", "host:0", "host:99999", "host:", "host:x", ":80", " ", "[::1"])
def test_what_is_no_host(key: str) -> None:
    with pytest.raises(ValueError, match="is not a host; write one like"):
        target_of(key, PROVIDERS)


@pytest.mark.parametrize(
    ("key", "right"),
    [
        ("http://a.b:80/v1", "`a.b:80`"),
        ("http://me@127.0.0.1:*/v1", "`127.0.0.1`"),
        ("127.0.0.1:*", "`127.0.0.1`"),
        ("https://a.b?x=1", "`a.b`"),
        ("https://a.b:x/v1", "one like"),
        ("https://opnai/v1", "one like"),
        ("/v1", "one like"),
    ],
)
def test_a_url_is_no_host(key: str, right: str) -> None:
    with pytest.raises(ValueError, match=f"`{re.escape(key)}` is not a host; write {right}"):
        target_of(key, PROVIDERS)


def test_a_name_that_is_no_provider_is_no_host_without_its_port() -> None:
    with pytest.raises(LookupError):
        target_of("opnai", PROVIDERS)


# What a call will take


@pytest.mark.parametrize(
    ("body", "reply"),
    [
        ({}, 0),
        ({"max_tokens": 64}, 64),
        ({"max_completion_tokens": 70, "max_tokens": None}, 70),
        ({"max_output_tokens": 80}, 80),
        ({"generationConfig": {"maxOutputTokens": 90}}, 90),
        ({"inferenceConfig": {"maxTokens": 100}}, 100),
        ({"max_tokens": "64"}, 0),
    ],
)
def test_the_reply_is_expected_in_full(body: dict[str, object], reply: int) -> None:
    text = json.dumps(body).encode()
    assert expected_tokens(Request("POST", "http://a", body=text)) == len(text) // 4 + reply


@pytest.mark.parametrize("body", [b"", b"{", b"[1, 2]", b"text " * 40, b"{" * 100_000])
def test_other_bodies_count_by_their_size(body: bytes) -> None:
    assert expected_tokens(Request("POST", "http://a", body=body)) == len(body) // 4
