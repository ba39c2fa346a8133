"""Cassettes: what is written is what is read, in little space, and drafts lose nothing."""

from __future__ import annotations

import errno
import json
import zlib
from io import FileIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay.cassette_file import Draft, are_answered_alike, merged, read_draft, read_header
from pytest_recall.replay.cassette_lines import MAX_DEPTH, NOT_READ
from pytest_recall.replay.equality import key_of
from pytest_recall.replay.exchange import Exchange, Failure, Request, Response
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.redaction import Redactor
from tests.helpers.samples import costly, cuts, unhurried
from tests.replay.recordings import (
    AT,
    CHAT,
    HEADER,
    JSON,
    NAME,
    RULES,
    as_read,
    call,
    conversation,
    draft,
    exchanges,
    opened,
    request,
    response,
    write,
)
from tests.schedule.state_samples import problem

# Round trips


@costly
@given(calls=st.lists(exchanges, max_size=4))
def test_any_calls_come_back(tmp_path_factory: pytest.TempPathFactory, calls: list[Exchange]) -> None:
    numbered = [one._replace(seq=seq) for seq, one in enumerate(calls)]
    found = opened(write(tmp_path_factory.getbasetemp() / "any.ndjson", *numbered))
    found.verify()
    assert list(found.exchanges()) == [as_read(one) for one in numbered]
    assert len(found) == len(calls)
    assert found.header == {**found.header, **HEADER, "cassette": 2, "rules": RULES.digest}


@costly
@given(calls=st.lists(exchanges, max_size=4))
def test_any_calls_come_back_from_a_draft(tmp_path_factory: pytest.TempPathFactory, calls: list[Exchange]) -> None:
    keyed = [one._replace(seq=seq, key=key_of(one.request, RULES)) for seq, one in enumerate(calls)]
    path = tmp_path_factory.getbasetemp() / "draft.ndjson"
    path.unlink(missing_ok=True)
    draft(path, *keyed)
    header, found = read_draft(path, NAME)
    assert found == [as_read(one) for one in keyed]
    assert header["case"] == "right"


@costly
@given(calls=st.lists(exchanges, max_size=4))
def test_what_was_read_is_written_to_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, calls: list[Exchange]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    first = write(folder / "a.ndjson", *calls)
    once = opened(first).exchanges()
    second = write(folder / "b.ndjson", *once)
    third = write(folder / "c.ndjson", *opened(second).exchanges())
    assert second.read_bytes() == third.read_bytes()


@unhurried
@given(call=exchanges)
def test_a_call_is_found_by_its_key(tmp_path_factory: pytest.TempPathFactory, call: Exchange) -> None:
    found = opened(write(tmp_path_factory.getbasetemp() / "any.ndjson", call))
    key = key_of(call.request, RULES)
    (place,) = found.keys[key]
    assert found.places_of(call.request, Redactor({})) == [place]
    assert found.exchange(place) == as_read(call)
    without = found.answered(place)[0]
    assert without == as_read(call)._replace(request=NOT_READ)


def test_the_kth_identical_request_has_the_kth_answer(path: Path) -> None:
    answers = ["one", "two", "three"]
    calls = [call(seq=seq, response=response(text)) for seq, text in enumerate(answers)]
    found = opened(write(path, calls[2], call("Other?", seq=3), calls[0], calls[1]))
    places = found.keys[calls[0].key]
    assert [found.exchange(place).response for place in places] == [one.response for one in calls]
    assert [one.seq for one in found.exchanges()] == [0, 1, 2, 3]


def test_calls_of_the_same_place_are_in_one_order_whoever_wrote_first(tmp_path: Path) -> None:
    """Two processes of a run both have a first call."""
    calls = [call(f"question {number}", seq=seq) for number in range(5) for seq in range(3)]
    one = write(tmp_path / "one.ndjson", *calls)
    other = write(tmp_path / "other.ndjson", *reversed(calls))
    assert one.read_bytes() == other.read_bytes()


def test_bytes_that_are_no_text(path: Path) -> None:
    asked = Request("POST", CHAT, (("content-type", "image/png"),), b"\x89PNG\xff")
    given = response(chunks=(b"\x1f\x8b\xff", b"\x00"), offsets=(0.25, 0.5))
    found = opened(write(path, call(request=asked, response=given)))
    assert next(found.exchanges()).request == asked
    assert next(found.exchanges()).response == given
    assert b'"base64":"iVBOR/8="' in path.read_bytes()


def test_a_stream_keeps_its_chunks(path: Path) -> None:
    text = "data: größer\n\ndata: [DONE]\n\n".encode()
    chunks = (text[:9], b"", text[9:10], text[10:])  # ö is cut in two
    given = response(chunks=chunks, offsets=(0.1, 0.2, 0.3004, 0.4))
    found = next(opened(write(path, call(response=given))).exchanges()).response
    assert found is not None
    assert found.chunks == chunks
    assert found.offsets == (0.1, 0.2, 0.3, 0.4)
    assert "größer" in path.read_text(encoding="utf-8"), "readable in a diff"


def test_a_stream_that_was_left_early_and_one_that_broke(path: Path) -> None:
    left = call("a", response=response(complete=False))
    broke = call("b", seq=1, failure=Failure("ReadTimeout", "timed out"))
    refused = call("c", seq=2, response=None, failure=Failure("ConnectError", "refused"))
    found = list(opened(write(path, left, broke, refused)).exchanges())
    assert found == [left, broke, refused]


@pytest.mark.parametrize("depth", [MAX_DEPTH - 2, MAX_DEPTH, 400, 2000])
def test_deep_bodies(path: Path, depth: int) -> None:
    """What is read under a deeper stack than it was written under must not be a matter of luck."""
    body = b'{"a":' + b"[" * depth + b"]" * depth + b"}"
    asked = Request("POST", CHAT, JSON, body)
    found = opened(write(path, call(request=asked)))
    assert next(found.exchanges()).request.body == body
    assert (b'"$list"' in path.read_bytes()) == (depth < MAX_DEPTH)


def test_a_body_that_looks_like_a_reference_is_text(path: Path) -> None:
    for body in (b'{"messages": {"$list": "0123"}}', b'{"system": {"$part": "0123"}}'):
        write(path, call(request=Request("POST", CHAT, JSON, body)))
        assert next(opened(path).exchanges()).request.body == body


def test_the_rules_of_the_header_are_not_those_of_the_reader(path: Path) -> None:
    """A field that is declared volatile later on is left out of the keys of what was recorded before."""
    first, second = call(request=request("a", trace="1")), call(seq=1, request=request("a", trace="2"))
    write(path, first, second)
    assert len(opened(path).keys) == 2
    other = Rules(["trace"])
    found = opened(path, other)
    key = key_of(request("a", trace="3"), other)
    assert {name: len(places) for name, places in found.keys.items()} == {key: 2}
    assert [one.key for one in found.exchanges()] == [key, key]
    assert found.places_of(second.request, Redactor({})) == found.calls
    found.verify()


# Space


def test_a_context_that_grows_costs_what_was_added(path: Path) -> None:
    """24 calls of 2 to 200 KB hold 2.4 MB; on the disk they take what the last one takes, and a little."""
    calls = list(conversation(24, 200_000 // 24))
    sizes = [len(one.request.body) for one in calls]
    assert sizes[-1] > 200_000
    assert sum(sizes) > 2_400_000
    write(path, *calls)
    assert path.stat().st_size < 400_000
    assert [one.request for one in opened(path).exchanges()] == [one.request for one in calls]


def test_a_draft_of_a_context_that_grows_is_as_small(path: Path) -> None:
    calls = list(conversation(24, 200_000 // 24))
    draft(path, *calls)
    assert path.stat().st_size < 400_000
    assert read_draft(path, NAME)[1] == calls


def test_parts_that_calls_have_in_common_stand_once(path: Path) -> None:
    system, tools = "You are a librarian. " * 30, [{"name": f"tool {n}", "about": "x" * 300} for n in range(4)]
    write(path, *(call(request=request(f"q{n}", system=system, tools=tools), seq=n) for n in range(10)))
    text = path.read_text(encoding="utf-8")
    assert text.count(system) == 1
    assert text.count("x" * 300) == 4


def test_a_conversation_that_branches(path: Path) -> None:
    """Two sessions that begin alike and go on differently share their beginning only."""
    contexts = (["a", "b", "c"], ["a", "b", "d"], ["a", "b"], ["b", "a"])
    calls = [call(seq=seq, request=request(*context)) for seq, context in enumerate(contexts)]
    write(path, *calls)
    assert [one.request for one in opened(path).exchanges()] == [one.request for one in calls]
    assert path.read_bytes().count(b'"node":') == len({"a", "ab", "abc", "abd", "b", "ba"})


# Drafts


def test_a_draft_is_no_cassette(path: Path) -> None:
    draft(path, call())
    assert problem(lambda: opened(path)) == (
        f"{NAME}:3: has no end mark, so that its recording was cut off; record it again, or restore it from git"
    )


def test_a_draft_is_read_up_to_the_last_whole_line(path: Path) -> None:
    """Wherever the process was killed, the calls that had ended are there."""
    calls = list(conversation(3, 300))
    data = draft(path, *calls).read_bytes()
    lines = data.splitlines(keepends=True)
    ends = [len(b"".join(lines[: place + 1])) for place, line in enumerate(lines) if b'"call":' in line]
    assert len(ends) == 3
    for point in [*cuts(data, every=31), len(data)]:
        path.write_bytes(data[:point])
        header, found = read_draft(path, NAME)
        assert found == calls[: sum(end <= point for end in ends)], point
        assert bool(header) == (point >= len(lines[0]))


def test_a_draft_is_read_up_to_where_the_power_failed(path: Path) -> None:
    """A disk may have kept the length of a file and not its last block."""
    calls = list(conversation(3, 300))
    data = draft(path, *calls).read_bytes()
    half = data.index(b"turn 2")
    path.write_bytes(data[:half] + b"\0" * (len(data) - half - 1) + b"\n")
    assert read_draft(path, NAME)[1] == calls[:2]


def test_each_call_is_written_through(path: Path) -> None:
    file = Draft(path, HEADER, RULES)
    for count, one in enumerate(conversation(3, 300), 1):
        file.append(one)
        assert len(read_draft(path, NAME)[1]) == count
    file.close()


def test_a_draft_takes_the_place_of_no_other(path: Path) -> None:
    before = draft(path, call()).read_bytes()
    with pytest.raises(FileExistsError):
        Draft(path, HEADER, RULES)
    assert path.read_bytes() == before


def test_a_full_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be written leaves no half line, and what comes later does not name its parts."""
    calls = list(conversation(4, 300))
    file = Draft(path, HEADER, RULES)
    file.append(calls[0])
    held = path.read_bytes()

    class Full(FileIO):
        def write(self, data: Any, /) -> int:
            if len(data) < 40:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data[: len(data) // 2])

    whole = file._file
    with Full(path, "r+b") as full:
        full.seek(0, 2)
        monkeypatch.setattr(file, "_file", full)
        for one in calls[1:3]:
            with pytest.raises(OSError, match="No space left"):
                file.append(one)
            assert path.read_bytes() == held
        monkeypatch.setattr(file, "_file", whole)
    file.append(calls[3])
    file.close()
    assert read_draft(path, NAME)[1] == [calls[0], calls[3]]


def test_a_draft_without_a_header_is_not_left_behind(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Draft, lines: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Draft, "_write", full)
    with pytest.raises(OSError, match="No space left"):
        Draft(path, HEADER, RULES)
    assert not path.exists()


# Merging


def test_four_recordings_of_thirty_calls_each_are_a_hundred_and_twenty() -> None:
    parts = [[call(f"process {p}, call {n}", seq=n) for n in range(30)] for p in range(4)]
    whole: list[Exchange] = []
    for part in parts:
        whole = merged(whole, part, RULES)
    assert whole == [one for part in parts for one in part]


def test_what_several_recorded_alike_is_kept_once() -> None:
    """Four processes that each set up the same session have one session."""
    parts = [[call(f"call {n % 10}", seq=n) for n in range(30)] for _ in range(4)]
    whole: list[Exchange] = []
    for part in parts:
        whole = merged(whole, part, RULES)
    assert whole == parts[0]


def test_what_a_header_tells_apart_is_kept_of_both() -> None:
    """One process has asked for one tenant, another for another."""
    acme, zen = (
        call("k", response=answer)._replace(request=request("k")._replace(others=(("x-tenant", tenant),)))
        for tenant, answer in (("111111", Response(200, chunks=(b"1",))), ("222222", Response(200, chunks=(b"2",))))
    )
    assert merged([acme], [zen, acme], RULES) == [acme, zen]


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        *[("k1", "k1", True), ("k1", "k2", False), ("k1", "l2", True), ("", "k1", True)],
        *[("k1 k2", "k1 k2", True), ("k1 k2", "k2 k1", False), ("k1", "k1 k2", True), ("k1 l1", "l1 k1", True)],
    ],
)
def test_equal_calls_of_two_recordings_are_answered_alike_in_their_order(first: str, second: str, alike: bool) -> None:
    one, other = (
        [call(name[0], response=Response(200, chunks=(name[1].encode(),))) for name in names.split()]
        for names in (first, second)
    )
    assert are_answered_alike(one, other, RULES) is alike


@given(
    first=st.lists(st.sampled_from("abc"), max_size=9),
    second=st.lists(st.sampled_from("abc"), max_size=9),
)
def test_a_merge_holds_each_request_as_often_as_whoever_asked_most(first: list[str], second: list[str]) -> None:
    one, other = [call(text) for text in first], [call(text) for text in second]
    whole = merged(one, other, RULES)
    assert whole[: len(one)] == one
    for text in "abc":
        assert sum(item.key == call(text).key for item in whole) == max(first.count(text), second.count(text))


# Headers


def test_a_header_is_read_without_the_rest(path: Path) -> None:
    write(path, *conversation(3, 300))
    header = read_header(path, NAME)
    assert header == opened(path).header
    with path.open("ab") as file:
        file.write(b"damage")
    assert read_header(path, NAME) == header
    assert (header["case"], header["recorded_at"]) == ("right", AT)


def test_lines_can_be_checked_by_others(path: Path) -> None:
    """What the format promises: the checksum is CRC-32 of what follows it, and each line is JSON."""
    for line in write(path, *conversation(3, 300)).read_bytes().splitlines():
        fields = json.loads(line)
        assert int(fields["crc"], 16) == zlib.crc32(line[len('{"crc":"01234567",') :])


def test_half_a_pair_of_surrogates_comes_back(path: Path) -> None:
    """JSON may hold it as an escape, and UTF-8 does not."""
    asked = Request("POST", CHAT, JSON, b'{"prompt":"\\ud83d"}')
    write(path, call(request=asked))
    (found,) = opened(path).exchanges()
    assert json.loads(found.request.body) == {"prompt": "\ud83d"}
