"""What another recording of the same has in another way stands in one line, and older cassettes are read as ever."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.replay.cassette_file import read_draft, read_header, write_cassette
from pytest_recall.replay.cassette_lines import sealed
from pytest_recall.replay.equality import key_of
from pytest_recall.replay.exchange import Exchange
from pytest_recall.replay.matching import Rules
from tests.helpers.samples import costly
from tests.replay.recordings import (
    AT,
    HEADER,
    NAME,
    RESTORE,
    RULES,
    as_first_version,
    as_read,
    call,
    conversation,
    draft,
    end_mark,
    exchanges,
    opened,
    request,
    response,
    write,
)
from tests.schedule.state_samples import problem

LATER = "2026-04-01T10:00:00+00:00"
EVAL = Path(__file__).parents[2] / "eval" / "cassettes"


def streamed(*cuts: int, at: str = AT) -> Exchange:
    """Return a call whose answer came in pieces that end at these places."""
    text = b"data: one\n\ndata: two\n\n"
    ends = [0, *cuts, len(text)]
    chunks = tuple(text[start:end] for start, end in pairwise(ends))
    given = response(chunks=chunks, offsets=tuple(0.25 * number for number in range(len(chunks))))
    return call(response=given, at=at)


def lines_of(path: Path) -> list[bytes]:
    """Return the lines of a file, with their ends."""
    return path.read_bytes().splitlines(keepends=True)


def test_another_recording_of_the_same_differs_in_the_second_line(tmp_path: Path) -> None:
    one = write(tmp_path / "one", streamed(11), *conversation(3, 300))
    later = [exchange._replace(at=LATER, seconds=9.0) for exchange in conversation(3, 300)]
    other = write(tmp_path / "other", streamed(3, 14, at=LATER), *later, run="another", recorded_at=LATER)
    pairs = zip(lines_of(one), lines_of(other), strict=True)
    assert [number for number, (left, right) in enumerate(pairs, 1) if left != right] == [2]
    assert [exchange.at for exchange in opened(one).exchanges()] == [AT] * 4
    found = list(opened(other).exchanges())
    assert [exchange.at for exchange in found] == [LATER] * 4
    assert [exchange.seconds for exchange in found] == [0.512, 9.0, 9.0, 9.0]
    assert found[0] == as_read(streamed(3, 14, at=LATER))
    assert opened(other).header["run"] == read_header(other, NAME)["run"] == "another"


def test_the_line_of_times_may_be_that_of_another_recording_of_the_same(tmp_path: Path) -> None:
    """Two branches that record the same have a conflict in this line alone, and either side of it will do."""
    one = write(tmp_path / "one", streamed(11))
    other = write(tmp_path / "other", streamed(3, at=LATER), recorded_at=LATER)
    (head, _, *rest), (_, times, *_) = lines_of(one), lines_of(other)
    one.write_bytes(b"".join([head, times, *rest]))
    assert list(opened(one).exchanges()) == [as_read(streamed(3, at=LATER))]
    assert one.read_bytes() == other.read_bytes()


def test_the_beginning_of_a_file_tells_its_header(path: Path) -> None:
    write(path, *conversation(2, 300))
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b"\n", whole.index(b"\n") + 1) + 1] + b"damaged")
    assert read_header(path, NAME) == {**read_header(path, NAME), **HEADER, "cassette": 2}
    assert list(HEADER) == ["case", "scenario", "run", "recorded_at"]


def test_a_draft_has_its_times_where_they_are_known(tmp_path: Path) -> None:
    path = draft(tmp_path / "draft", streamed(11), call("b", seq=1))
    head, *rest = (json.loads(line) for line in lines_of(path))
    assert (head["cassette"], head["run"], head["recorded_at"]) == (2, HEADER["run"], AT)
    assert [fields["times"]["recorded_at"] for fields in rest if "call" in fields] == [AT, AT]
    assert read_header(path, NAME) == read_draft(path, NAME)[0] == {**head}
    assert read_draft(path, NAME)[1] == [as_read(streamed(11)), call("b", seq=1)]


# The line of times


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ({}, "does not say when the calls were made; " + RESTORE),
        ({"calls": {}}, "does not say when the calls were made; " + RESTORE),
        ({"calls": [1]}, "does not say when the calls were made; " + RESTORE),
        ([], "does not say when the calls were made; " + RESTORE),
        (None, "does not say when the calls were made; " + RESTORE),
        ({"calls": []}, "has the times of 0 calls where 1 are recorded; " + RESTORE),
        ({"calls": [{}, {}]}, "has the times of 2 calls where 1 are recorded; " + RESTORE),
    ],
)
def test_a_line_of_times_that_does_not_fit(path: Path, times: object, said: str) -> None:
    lines = lines_of(write(path, call()))
    lines[1] = sealed({"times": times})
    path.write_bytes(b"".join(lines))
    assert problem(lambda: opened(path)) == f"{NAME}:2: {said}"


@pytest.mark.parametrize(
    "times",
    [{}, {"recorded_at": AT}, {"recorded_at": AT, "seconds": "x"}, {"recorded_at": AT, "seconds": 1, "chunks": [7]}],
)
def test_times_of_a_call_that_are_none(path: Path, times: object) -> None:
    lines = lines_of(write(path, call()))
    lines[1] = sealed({"times": {"calls": [times]}})
    path.write_bytes(b"".join(lines))
    found = problem(lambda: list(opened(path).exchanges()))
    assert found.startswith(f"{NAME}:4: not a recorded call (")


def test_a_damaged_line_of_times_is_noticed_where_it_is_read(path: Path) -> None:
    lines = lines_of(write(path, call()))
    lines[1] = lines[1].replace(b"2026-03-01", b"2026-03-02")
    path.write_bytes(b"".join(lines))
    said = f"{NAME}:2: damaged (its checksum does not fit); {RESTORE}"
    assert problem(lambda: opened(path)) == problem(lambda: read_header(path, NAME)) == said


def test_no_line_of_times(path: Path) -> None:
    head, _, *rest, _ = lines_of(write(path, call()))
    lines = [head, *rest]
    path.write_bytes(b"".join([*lines, sealed({"end": len(lines) - 1})]))
    assert problem(lambda: opened(path)).startswith(f"{NAME}:2: does not say when the calls were made;")


def test_the_end_mark_is_that_of_all_other_lines(path: Path) -> None:
    *lines, last = lines_of(write(path, *conversation(3, 300)))
    assert last == end_mark(lines)


# Version 1


@costly
@given(calls=st.lists(exchanges, max_size=4))
def test_the_first_version_says_the_same(tmp_path_factory: pytest.TempPathFactory, calls: list[Exchange]) -> None:
    path = tmp_path_factory.getbasetemp() / "any.ndjson"
    now = opened(write(path, *(one._replace(seq=seq) for seq, one in enumerate(calls))))
    then = opened(as_first_version(path))
    then.verify()
    assert list(then.exchanges()) == list(now.exchanges())
    unversioned = {"crc": "", "cassette": 0}
    assert {**then.header, **unversioned} == {**now.header, **unversioned}
    assert {**read_header(path, NAME), **unversioned} == {**now.header, **unversioned}
    plain = {name: value for name, value in then.header.items() if name not in ("crc", "cassette", "rules", "headers")}
    same = list(then.exchanges())
    write_cassette(path, plain, same, RULES)
    again = opened(path)
    assert {**again.header, **unversioned} == {**now.header, **unversioned}
    assert again.header["cassette"] == 2
    assert list(again.exchanges()) == same


def test_a_damaged_line_of_the_first_version_is_noticed(path: Path) -> None:
    as_first_version(write(path, streamed(11), *conversation(3, 300)))
    lines = lines_of(path)
    for place in range(len(lines)):
        path.write_bytes(b"".join([*lines[:place], lines[place].replace(b'":"', b'": "', 1), *lines[place + 1 :]]))
        with pytest.raises(RecallError):
            opened(path).verify()
    path.write_bytes(b"".join([lines[0], *lines[2:]]))
    assert "where its end mark counts" in problem(lambda: opened(path))
    path.write_bytes(b"".join([lines[0], lines[2], lines[1], *lines[3:]]))
    assert "copied, swapped or taken from another cassette" in problem(lambda: opened(path))


def test_a_draft_of_the_first_version(path: Path) -> None:
    write(path, streamed(11), call("b", seq=1))
    as_first_version(path)
    path.write_bytes(b"".join(lines_of(path)[:-1]) + b'{"crc":"')
    header, calls = read_draft(path, NAME)
    assert header == {**header, **HEADER, "cassette": 1}
    assert calls == [as_read(streamed(11)), call("b", seq=1)]


@pytest.mark.parametrize("path", sorted(EVAL.glob("*/*.ndjson")), ids=lambda path: path.stem)
def test_our_own_recordings_are_read(path: Path) -> None:
    """They were made by the first versions of this program."""
    found = opened(path)
    found.verify()
    written = [json.loads(line) for line in path.read_bytes().splitlines()]
    calls = list(found.exchanges())
    assert [(one.at, one.seconds) for one in calls] == [
        (fields["recorded_at"], fields["seconds"]) for fields in written if "call" in fields
    ]
    assert read_header(path, NAME) == found.header == written[0]
    assert all(one.key == key_of(one.request, found.rules) for one in calls)


# Other rules


def test_headers_that_are_not_matched_any_more_give_other_keys_of_bytes(path: Path) -> None:
    """Else a request without such a header would be taken for one with it, or not be found."""
    asked = request("a")._replace(headers=(("content-type", "application/json"), ("accept", "text/csv")))
    write(path, call(request=asked))
    found = opened(path, Rules(headers=RULES.headers - {"accept"}))
    assert list(found.keys) == [key_of(asked, found.rules)] == [key_of(request("a"), found.rules)]
