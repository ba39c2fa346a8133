"""Damaged cassettes: whatever happened to a file, it is noticed and the line is named."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.replay import cassette_file as cassettes
from pytest_recall.replay.cassette_file import read_draft, read_header
from pytest_recall.replay.cassette_lines import CRC_BYTES, sealed
from pytest_recall.replay.exchange import Failure
from tests.helpers.samples import POINTER, unhurried
from tests.replay.recordings import NAME, RESTORE, call, conversation, draft, end_mark, opened, response, verify, write
from tests.schedule.state_samples import problem


def sample(path: Path) -> bytes:
    """Write a cassette that has all kinds of lines and return its bytes."""
    calls = [*conversation(4, 300), call(seq=4, response=None, failure=Failure("ReadTimeout", "timed out"))]
    return write(path, *calls).read_bytes()


def test_every_truncation_is_noticed(path: Path) -> None:
    """At 200 points, among them 0 and all that leave whole lines, it is refused at opening."""
    data = sample(path)
    ends = [place + 1 for place, byte in enumerate(data) if byte == 10]
    points = sorted({0, len(data) - 1, *ends[:-1], *range(1, len(data), len(data) // 200)}, reverse=True)
    assert len(points) >= 200
    with path.open("r+b", buffering=0) as file:
        for point in points:
            file.truncate(point)
            found = problem(lambda: opened(path))
            line = max(data[:point].count(b"\n") + (point not in ends), 1)
            assert found.startswith((f"{NAME}:{line}: cut off", f"{NAME}:{line}: has no end mark")), point


@unhurried
@given(data=st.data())
def test_any_changed_byte_is_noticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """A checksum of 32 bits notices each change within four bytes; its own digits are compared as they are."""
    path = tmp_path_factory.getbasetemp() / "any.ndjson"
    before = sample(path)
    place = data.draw(st.integers(0, len(before) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != before[place]))
    path.write_bytes(before[:place] + bytes([byte]) + before[place + 1 :])
    found = problem(lambda: verify(path))
    assert found.startswith(f"{NAME}:"), found


def test_each_byte_matters(path: Path) -> None:
    """Also the case of the checksum's letters, and what else Python takes for the same number."""
    data = write(path, call()).read_bytes()
    with path.open("r+b", buffering=0) as file:
        for place, byte in enumerate(data):
            in_checksum = place - data.rfind(b"\n", 0, place) <= CRC_BYTES
            for other in {byte ^ 32, *(b" +_" if in_checksum else b"")} - {byte}:
                file.seek(place)
                file.write(bytes([other]))
                found = problem(lambda: verify(path))
                line = data.count(b"\n", 0, place) + 1
                assert f"{NAME}:{line}: " in found or byte == 10, (place, byte, other)
            file.seek(place)
            file.write(bytes([byte]))
    verify(path)


def test_a_damaged_line_is_named(path: Path) -> None:
    lines = sample(path).split(b"\n")
    number = next(place for place, line in enumerate(lines, 1) if b'"call"' in line)
    lines[number - 1] = lines[number - 1].replace(b"turn", b"burn", 1).replace(b"yes", b"no!")
    path.write_bytes(b"\n".join(lines))
    assert problem(lambda: verify(path)) == f"{NAME}:{number}: damaged (its checksum does not fit); {RESTORE}"


def test_a_call_of_a_damaged_part_is_not_served(path: Path) -> None:
    lines = sample(path).split(b"\n")
    lines[2] = lines[2].replace(b"turn 0", b"turn 1")
    path.write_bytes(b"\n".join(lines))
    found = opened(path)
    message = f"{NAME}:3: damaged (its checksum does not fit); {RESTORE}"
    assert problem(lambda: list(found.exchanges())) == message


@pytest.mark.parametrize("marker", [b"=======", b"", b"{}"])
def test_a_line_between_calls_that_is_none_is_noticed_at_opening(path: Path, marker: bytes) -> None:
    lines = sample(path).split(b"\n")
    lines[2] = marker
    path.write_bytes(b"\n".join(lines))
    assert problem(lambda: opened(path)) == f"{NAME}:3: damaged (its checksum does not fit); {RESTORE}"


def test_a_whole_line_of_no_known_kind(path: Path) -> None:
    lines = sample(path).split(b"\n")
    lines[2] = sealed({"note": "hello"}).rstrip()
    path.write_bytes(b"\n".join(lines))
    assert problem(lambda: opened(path)) == f"{NAME}:3: neither a call nor a part of one; record it again"


def test_lines_that_are_missing(path: Path) -> None:
    lines = sample(path).split(b"\n")
    count = len(lines) - 3
    del lines[4]
    path.write_bytes(b"\n".join(lines))
    assert problem(lambda: opened(path)) == (
        f"{NAME}:{count + 1}: has {count - 1} lines where its end mark counts {count};"
        " record it again, or restore it from git"
    )


@pytest.mark.parametrize("has_sum", [True, False])
def test_lines_that_were_swapped_or_copied(path: Path, has_sum: bool) -> None:
    """200 of 200 are noticed at opening; without a sum, all that would change what is served."""
    whole = [json.loads(line) for line in sample(path).splitlines()]
    if not has_sum:
        whole[-1].pop("sum")
    lines = [sealed({name: value for name, value in fields.items() if name != "crc"}) for fields in whole]
    path.write_bytes(b"".join(lines))
    asked = [exchange.request for exchange in opened(path).exchanges()]
    dice = random.Random(7)
    said = []
    for number in range(200):
        other = list(lines)
        one, two = dice.sample(range(1, len(lines) - 1), 2)
        other[one], other[two] = (lines[two], lines[one]) if number % 2 else (lines[two], lines[two])
        path.write_bytes(b"".join(other))
        try:
            assert [exchange.request for exchange in opened(path).exchanges()] == asked
        except RecallError as error:
            said.append(str(error))
    wrong = ("copied, swapped or taken from another cassette", "neither a call nor a part of one")
    assert all(any(told in problem for told in wrong) for problem in said)
    assert len(said) == 200 if has_sum else len(said) >= 100


def test_a_line_of_another_cassette(path: Path) -> None:
    other = write(path.with_name("other"), call("else?"), call("more?", seq=1)).read_bytes().split(b"\n")
    lines = write(path, call("one?"), call("two?", seq=1)).read_bytes().split(b"\n")
    place = next(place for place, line in enumerate(lines) if b'"call"' in line)
    path.write_bytes(b"\n".join([*lines[:place], other[place], *lines[place + 1 :]]))
    assert problem(lambda: opened(path)).startswith(f"{NAME}:{len(lines) - 1}: has lines that were copied, swapped")


BOMBED = """
import pathlib, resource, sys
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.cassette_file import Cassette
resource.setrlimit(resource.RLIMIT_AS, (512 << 20,) * 2)
for path in sys.argv[1:]:
    try:
        list(Cassette(pathlib.Path(path), "a", Rules()).exchanges())
    except Exception as error:
        print(error)
"""


def bomb(path: Path, encoding: str) -> Path:
    """Write a cassette with an answer that unpacks to 400 MB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS if encoding == "deflate" else 31)
    head = packer.flush(zlib.Z_FULL_FLUSH)
    # After a full flush the same bytes say the same again.
    megabyte = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    body = head + megabyte * 400 + packer.flush()
    body = gzip.compress(body) if "," in encoding else body
    write(path, call(response=response(headers=(("content-encoding", encoding),), chunks=(body[:99], body[99:]))))
    return path


def test_an_answer_that_unpacks_to_gigabytes_fills_no_memory(path: Path) -> None:
    paths = [bomb(path.with_name(f"{n}"), encoding) for n, encoding in enumerate(("gzip", "deflate", "gzip, gzip"))]
    done = subprocess.run(
        [sys.executable, "-c", BOMBED, *map(str, paths)], capture_output=True, text=True, encoding="utf-8", check=False
    )
    said = "its compressed answer is larger than 64 MB when it is unpacked, which would fill the memory"
    assert done.stdout == f"a:4: {said}; {RESTORE}\n" * 3, done.stderr


def test_a_request_that_names_a_part_over_and_over_fills_no_memory(path: Path) -> None:
    def repeat(fields: dict[str, Any], lines: list[dict[str, Any]]) -> None:
        lines[2]["item"] = "x" * (1 << 20)
        fields["request"]["body"]["json"] = {str(n): {"$list": lines[2]["node"]} for n in range(10_000)}

    tracemalloc.start()
    found = problem(lambda: list(opened(forged(path, repeat)).exchanges()))
    assert tracemalloc.get_traced_memory()[1] < 300 << 20
    tracemalloc.stop()
    assert "not a recorded call (ValueError('its request is larger than 64 MB'))" in found


def test_line_ends_that_git_has_changed(path: Path) -> None:
    path.write_bytes(sample(path).replace(b"\n", b"\r\n"))
    assert problem(lambda: opened(path)) == (
        f"{NAME}:1: damaged (its line ends were changed; give *.ndjson the attribute `-text` in .gitattributes);"
        f" {RESTORE}"
    )


@pytest.mark.parametrize("at", [0, 1, 2, -1])
def test_a_conflict_that_git_has_left(path: Path, at: int) -> None:
    lines = sample(path).splitlines(keepends=True)
    one = lines[at]
    lines[at : at + 1 or None] = [b"<<<<<<< HEAD\n", one, b"=======\n", one, b">>>>>>> theirs\n"]
    path.write_bytes(b"".join(lines))
    number = lines.index(b"<<<<<<< HEAD\n") + 1
    assert problem(lambda: opened(path)) == (
        f"{NAME}:{number}: has a conflict that is not resolved; take the whole file from one side (`git checkout"
        " --ours` or `--theirs`), or record it again"
    )


@pytest.mark.parametrize(
    "text",
    ['{"seq": 0, "ts": 1, "request": {}}\n', "interactions: []\n", "\n", "\n\n", "\ufeff{}\n", '{"cassette":1}\n'],
)
def test_a_file_of_somebody_else(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    message = f"{NAME}:1: not a cassette; import it with `recall cassettes import`, or record it again"
    assert problem(lambda: opened(path)) == message
    assert problem(lambda: read_header(path, NAME)) == message


@pytest.mark.parametrize("version", [0, 3, "\x1b[31m3", None, [1]])
def test_a_version_that_is_not_known(path: Path, version: Any) -> None:
    path.write_bytes(sealed({"cassette": version}) + sealed({"end": 0}))
    found = problem(lambda: opened(path))
    shown = str(version).replace("\x1b", "").strip()
    assert found == f"{NAME}:1: version {shown} is not known to this pytest-recall; upgrade it"


def test_a_header_of_something_else(path: Path) -> None:
    path.write_bytes(sealed({"journal": 1}) + sealed({"end": 0}))
    assert problem(lambda: opened(path)).startswith(f"{NAME}:1: not a cassette;")


def forged(path: Path, change: Any) -> Path:
    """Write a cassette whose call was changed and sealed again, as no accident does."""
    lines = [json.loads(line) for line in write(path, call()).read_bytes().splitlines()]
    place = next(place for place, fields in enumerate(lines) if "call" in fields)
    change(lines[place], lines)
    sealed_lines = [sealed({k: v for k, v in fields.items() if k != "crc"}) for fields in lines[:-1]]
    path.write_bytes(b"".join([*sealed_lines, end_mark(sealed_lines)]))
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda fields, lines: fields.pop("request"),
        lambda fields, lines: fields.update(request=5),
        lambda fields, lines: fields.update(seq="x"),
        lambda fields, lines: fields.update(seq=float("inf")),
        lambda fields, lines: fields.update(response={"status": None}),
        lambda fields, lines: lines[1]["times"]["calls"][0].update(chunks=[1, 2]),
        lambda fields, lines: lines[1]["times"]["calls"][0].pop("seconds"),
        lambda fields, lines: fields["response"].update(body={"base64": "%"}),
        lambda fields, lines: fields["request"]["body"]["json"].update(messages={"$list": "0123456789abcdef"}),
        lambda fields, lines: fields["request"]["body"]["json"].update(messages={"$list": ["x"]}),
        lambda fields, lines: fields["request"].update(body={}),
        lambda fields, lines: fields["request"].update(others=["x-variant"]),
    ],
)
def test_a_call_that_is_none(path: Path, change: Any) -> None:
    forged(path, change)
    found = problem(lambda: verify(path))
    assert found.startswith(f"{NAME}:4: not a recorded call (")
    assert found.endswith("); record it again")


def test_a_part_that_comes_before_itself(path: Path) -> None:
    """A file from a stranger's pull request must not keep CI busy for ever."""

    def turn(fields: dict[str, Any], lines: list[dict[str, Any]]) -> None:
        lines[2]["after"] = lines[2]["node"]

    assert "comes before itself" in problem(lambda: verify(forged(path, turn)))


def test_a_request_that_was_changed_and_sealed_again(path: Path) -> None:
    forged(path, lambda fields, lines: fields["request"].update(method="PUT"))
    assert problem(lambda: verify(path)).startswith(f"{NAME}:4: not the call that was recorded here, or its key is")


def test_no_file(path: Path) -> None:
    message = f"{NAME}: cannot be read (No such file or directory); check that it is there and readable"
    for read in (lambda: opened(path), lambda: read_header(path, NAME), lambda: read_draft(path, NAME)):
        assert problem(read) == message


def test_a_folder_in_place_of_a_file(path: Path) -> None:
    path.mkdir()
    assert problem(lambda: opened(path)).startswith(f"{NAME}: cannot be read (Is a directory)")


def test_a_pointer_of_git_lfs(path: Path) -> None:
    path.write_bytes(POINTER)
    for read in (opened, lambda it: read_header(it, NAME), lambda it: read_draft(it, NAME)):
        assert "git lfs pull" in problem(lambda read=read: read(path))  # type: ignore[misc]


def test_a_cassette_that_nobody_could_read_is_not_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sample(path)
    monkeypatch.setattr(cassettes, "MAX_BYTES", len(before))
    write(path, *opened(path).exchanges())
    with pytest.raises(RecallError, match="record fewer calls into one cassette"):
        write(path, *opened(path).exchanges(), call("one more", seq=9))
    assert path.read_bytes() == before
    path.write_bytes(before + b"\n")
    assert "record fewer calls" in problem(lambda: opened(path))


def test_a_draft_is_read_up_to_its_first_damaged_call(path: Path) -> None:
    calls = [call("one?"), call("two?", seq=1), call("three?", seq=2)]
    draft(path, *calls)
    path.write_bytes(path.read_bytes().replace(b"two?", b"ten?"))
    assert [one.request for one in read_draft(path, NAME)[1]] == [calls[0].request]


@pytest.mark.parametrize("names", [5, ["content-type", 5]])
def test_a_header_that_does_not_say_which_headers_it_holds(path: Path, names: Any) -> None:
    forged(path, lambda fields, lines: lines[0].update(headers=names))
    assert problem(lambda: opened(path)) == (
        f"{NAME}:1: `headers` must be a list of names; record it again, or restore it from git"
    )
