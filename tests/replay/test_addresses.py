"""Addresses of objects: what `repr` says of one is the same in every process, and other hex numbers stay."""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay.addresses import ADDRESS, without_addresses
from pytest_recall.replay.equality import key_of
from pytest_recall.replay.exchange import Exchange, Failure, Request, Response
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.nearest_request import nearest_request
from pytest_recall.replay.recorded_parts import cleaned
from pytest_recall.replay.redaction import Redactor

RULES = Rules()
URL = "https://api.example.com/v1/chat/completions"
HEX = re.compile(r"0x[0-9a-f]{6,16}")


class Thing:
    """Something that has a method."""

    def method(self) -> None:
        """Do nothing."""


def generator() -> Iterator[int]:
    """Yield nothing."""
    yield from ()


def objects() -> Iterator[Any]:
    """Yield objects whose `repr` has an address."""
    thing = Thing()
    yield from (object(), thing, thing.method, generator, generator(), lambda: None, weakref.ref(thing))
    yield from ((n for n in range(1)), generator.__code__, threading.Lock(), iter([]), [thing, {"a": thing}])
    yield partial(thing.method)


@pytest.mark.parametrize("of", list(objects()), ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("around", ["{}", "see {} there", "<p>{}</p>\n", 'told "{}"', "a < b {} c > d"])
def test_what_python_says_of_an_object(of: Any, around: str) -> None:
    text = around.format(repr(of))
    expected = HEX.sub(ADDRESS, text)
    assert without_addresses(text.encode()).decode() == expected
    assert ADDRESS in expected


@pytest.mark.parametrize(
    "text",
    [
        "Crash at 0x7fff12345678",
        "<p>Crash at 0x7fff12345678 in <b>main</b></p>",
        "<p>at 0x7fff12345678</p>",
        "if a < b at 0x7fff12345678 and c > d",
        "<thing at 0x12345>",  # five digits
        "<thing at 0x12345678901234567>",  # seventeen
        "<thing at 0x7fff1234zz>",
        "<thing at 7fff12345678>",
        "<thing at\n0x7fff12345678>",
        "<thing\n at 0x7fff12345678>",
        "<thing at 0x7fff12345678\n>",
        '{"a": "<b", "c": " at 0x7fff12345678 d>"}',
        "<thing 0x7fff12345678>",
        "<1 at 0x7fff12345678>",
        "thing at 0x7fff12345678>",
        "<thing at 0x7fff12345678",
        "#0  0x00007fff12345678 in main () at 0x7fff12345678",
    ],
)
def test_other_numbers_stay(text: str) -> None:
    assert without_addresses(text.encode()) == text.encode()


def test_bytes_that_are_no_text_stay() -> None:
    """The events of Bedrock's streams have their lengths and checksums before and after what they say."""
    frame = b"\x00\x00\x00\x9b\x00\x00\x00" + b'{"bytes":"<Thing object at 0x7fff12345678>"}' + b"\x9d\x83\xff\x0c"
    assert without_addresses(frame) == frame
    found = Redactor({}).response(Response(200, "OK", (), (frame[:20], frame[20:]), (0.1, 0.2)))
    assert found.body == frame


@given(st.binary(max_size=60) | st.text('<> at0x123456abcdef\n"\\', max_size=60).map(str.encode))
def test_twice_is_once_and_only_addresses_change(data: bytes) -> None:
    once = without_addresses(data)
    assert without_addresses(once) == once
    kept = re.sub(rb"0x[0-9a-fA-F]{6,16}", b"", data)
    assert re.sub(rb"0x[0-9a-fA-F]{6,16}", b"", once.replace(ADDRESS.encode(), b"")) == kept


@given(st.text(max_size=20), st.integers(16**5, 16**16 - 1), st.integers(16**5, 16**16 - 1), st.text(max_size=20))
def test_any_two_addresses_are_the_same(before: str, one: int, other: int, after: str) -> None:
    texts = (f"{before}\n<Thing object at {number:#x}>{after}".encode() for number in (one, other))
    left, right = map(without_addresses, texts)
    assert left == right


def test_a_long_line_of_them_takes_no_longer_for_that() -> None:
    data = b"<Thing object at 0x7fff12345678> " * 5_000
    assert without_addresses(data) == b"<Thing object at [ADDRESS]> " * 5_000


# Where they are taken out


def asked(text: str) -> Request:
    """Return a request with this text in its prompt."""
    return Request("POST", URL, (("accept", text),), b'{"messages":[{"role":"user","content":"%b"}]}' % text.encode())


HERE, THERE = (f"use <Thing object at {number:#x}> and <A at {number:#x}> now" for number in (0x7FFF1234, 0x55D0ABCD12))


@pytest.mark.parametrize("redactor", [Redactor({}), Redactor({"MY_KEY": "Thing object"})])
def test_a_prompt_is_found_whatever_the_address_in_it(redactor: Redactor) -> None:
    one, other = (redactor.request(asked(text)) for text in (HERE, THERE))
    assert one == other
    assert key_of(one, RULES) == key_of(other, RULES)
    assert b" at 0x" not in one.body
    assert nearest_request(one, [other], RULES) == (0, [])


def test_one_that_was_recorded_with_the_address_is_found_as_well() -> None:
    """As in a recording that was made before they were taken out."""
    recorded = asked(HERE)._replace(headers=())
    now = Redactor({}).request(asked(THERE)._replace(headers=()))
    assert key_of(recorded, RULES) == key_of(now, RULES)
    assert nearest_request(now, [recorded], RULES) == (0, [])
    other = asked("use <Thing object at 0x7fff1234> then")._replace(headers=())
    assert key_of(recorded, RULES) != key_of(other, RULES)


def written(text: str) -> Exchange:
    """Return a recorded call with this text on all of its sides."""
    cuts = (text[:20].encode(), text[20:25].encode(), text[25:].encode())
    answer = Response(200, text, (("x-request-id", text),), cuts, (0.1, 0.2, 0.3))
    return cleaned(Exchange("", 0, "agent", asked(text), answer, Failure("ReadError", text)), Redactor({}))


def test_none_is_written_down() -> None:
    found = written(HERE)
    assert found.request == written(THERE).request
    assert found.failure == written(THERE).failure == Failure("ReadError", HERE.replace("0x7fff1234", ADDRESS))
    given, other = found.response, written(THERE).response
    assert given is not None
    assert other is not None
    assert (given.reason, given.headers, given.body) == (other.reason, other.headers, other.body)
    assert len(given.chunks) == 3


@pytest.mark.parametrize("redact", [lambda one: one.text(HERE), lambda one: one.bytes(HERE.encode()).decode()])
def test_beside_a_secret(redact: Callable[[Redactor], str]) -> None:
    assert redact(Redactor({"A": "Thing", "B": "7fff"})) == ("use <[A] object at 0x[B]1234> and <A at 0x[B]1234> now")
    assert redact(Redactor({"A": "Thing", "B": "ADDRESS"})) == (
        "use <[A] object at [ADDRESS]> and <A at [ADDRESS]> now"
    )
