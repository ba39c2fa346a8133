"""Cassettes of vcrpy, read and written by vcrpy, and never taken in part."""

from __future__ import annotations

import json
import sys
import tracemalloc
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.replay.exchange import Exchange, Failure, Request, Response
from pytest_recall.replay.formats.vcrpy import export_vcr, import_vcr
from tests.helpers.samples import costly, cuts

pytest.importorskip("vcr")

TOKEN = st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1, max_size=12).map(lambda text: f"x-{text}")
VALUE = st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=20)
HEADERS = st.dictionaries(TOKEN, VALUE, max_size=4).map(lambda fields: tuple(sorted(fields.items())))
BODY = st.one_of(st.binary(max_size=60), st.text(max_size=60).map(lambda text: text.encode("utf-8", "ignore")))
CALL = st.builds(
    lambda method, path, asked, body, status, reason, headers, answer: (
        Request(method, f"https://api.test/{path}", asked, body),
        Response(status, reason, headers, (answer,) if answer else ()),
    ),
    st.sampled_from(["GET", "POST", "PUT"]),
    st.text("abc/?&=%20", max_size=12),
    HEADERS,
    BODY,
    st.integers(100, 599),
    st.text("abc XYZ", max_size=10),
    HEADERS,
    BODY,
)


def exchanges(*sides: tuple[Request, Response]) -> list[Exchange]:
    return [Exchange("", seq, "agent", request, response) for seq, (request, response) in enumerate(sides)]


def chat(question: str, answer: str) -> tuple[Request, Response]:
    headers = (("content-type", "application/json"),)
    asked = json.dumps({"messages": [{"role": "user", "content": question}]}).encode()
    said = json.dumps({"content": answer}).encode()
    return Request("POST", "https://api.test/v1", headers, asked), Response(200, "OK", headers, (said,))


@given(st.lists(CALL, max_size=4))
@settings(costly, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_there_and_back(tmp_path: Path, sides: list[tuple[Request, Response]]) -> None:
    path = tmp_path / "calls.yaml"
    export_vcr(exchanges(*sides), path)
    assert import_vcr(path) == exchanges(*sides)


@given(st.lists(CALL, max_size=4))
@settings(costly, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_back_and_there(tmp_path: Path, sides: list[tuple[Request, Response]]) -> None:
    """What vcrpy has written is written again, byte for byte."""
    theirs, ours = tmp_path / "theirs.yaml", tmp_path / "ours.yaml"
    by_vcrpy(theirs, sides)
    export_vcr(import_vcr(theirs), ours)
    assert ours.read_bytes() == theirs.read_bytes()


def by_vcrpy(path: Path, sides: list[tuple[Request, Response]]) -> None:
    """Write a cassette as a user of vcrpy does."""
    from vcr.persisters.filesystem import FilesystemPersister  # type: ignore[import-untyped]
    from vcr.request import Request as VcrRequest  # type: ignore[import-untyped]
    from vcr.serializers import jsonserializer, yamlserializer  # type: ignore[import-untyped]

    requests = [VcrRequest(one.method, one.url, one.body, dict(one.headers)) for one, _ in sides]
    responses = [
        {
            "status": {"code": one.status, "message": one.reason},
            "headers": {name: [value] for name, value in one.headers},
            "body": {"string": one.body},
        }
        for _, one in sides
    ]
    serializer = jsonserializer if path.suffix == ".json" else yamlserializer
    FilesystemPersister.save_cassette(path, {"requests": requests, "responses": responses}, serializer=serializer)


def test_json(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs.json", tmp_path / "ours.json"
    sides = [chat("one?", "1"), chat("zwölf?", "12")]
    by_vcrpy(theirs, sides)
    assert import_vcr(theirs) == exchanges(*sides)
    export_vcr(exchanges(*sides), ours)
    assert ours.read_bytes() == theirs.read_bytes()


def test_vcrpy_plays_what_was_exported(tmp_path: Path) -> None:
    from vcr.cassette import Cassette  # type: ignore[import-untyped]

    path = tmp_path / "calls.yaml"
    export_vcr(exchanges(chat("one?", "1")), path)
    cassette = Cassette.load(path=str(path))
    (request,) = cassette.requests
    assert cassette.play_response(request)["body"]["string"] == b'{"content": "1"}'


def test_a_stream_becomes_one_piece(tmp_path: Path) -> None:
    path = tmp_path / "calls.yaml"
    request, _ = chat("one?", "1")
    export_vcr(exchanges((request, Response(200, "OK", (), (b"data: a\n\n", b"data: b\n\n"), (0.1, 0.2)))), path)
    (call,) = import_vcr(path)
    assert call.response == Response(200, "OK", (), (b"data: a\n\ndata: b\n\n",))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"failure": Failure("ReadTimeout", "too slow")}, "call 1 ended with ReadTimeout"),
        ({"response": Response(200, complete=False)}, "call 1 was closed before its end"),
    ],
)
def test_what_vcrpy_cannot_say_is_not_written(tmp_path: Path, fields: dict[str, Any], said: str) -> None:
    path = tmp_path / "calls.yaml"
    (call,) = exchanges(chat("one?", "1"))
    with pytest.raises(RecallError, match=said):
        export_vcr([call._replace(**fields)], path)
    assert not path.exists()


def test_json_holds_no_bytes(tmp_path: Path) -> None:
    request, _ = chat("one?", "1")
    with pytest.raises(RecallError, match=r"calls\.json: a body is not text, which JSON cannot hold"):
        export_vcr(exchanges((request, Response(200, "OK", (), (b"\xff",)))), tmp_path / "calls.json")


# What vcrpy reads


def imported(tmp_path: Path, text: str, suffix: str = ".yaml") -> list[Exchange]:
    path = tmp_path / f"calls{suffix}"
    path.write_text(text, encoding="utf-8", newline="")
    return import_vcr(path, "calls")


ONE = """\
interactions:
- request:
    body: hi
    headers:
      Accept:
      - text/plain
    method: POST
    uri: http://x/y
  response:
    body:
      string: hello
    headers:
      Set-Cookie:
      - a=1
      - b=2
    status:
      code: 200
      message: OK
version: 1
"""
OLD = ONE[: ONE.index("    body:\n      string")] + (
    "    content: hello\n    headers: {}\n    status_code: 201\nversion: 1\n"
)


def test_headers_that_occur_twice(tmp_path: Path) -> None:
    (call,) = imported(tmp_path, ONE)
    assert call.request == Request("POST", "http://x/y", (("Accept", "text/plain"),), b"hi")
    assert call.response == Response(200, "OK", (("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")), (b"hello",))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("null", b""),
        ("''", b""),
        ("!!binary |\n      /w==", b"\xff"),
        ("{a: [1, x]}", b'{"a": [1, "x"]}'),
        ("!!python/object/new:_io.BytesIO\n      state: !!python/tuple [hi, 0, null]", b"hi"),
        ("!!python/object/apply:builtins.iter\n      args: [[one, two]]", b"onetwo"),
    ],
)
def test_bodies(tmp_path: Path, body: str, expected: bytes) -> None:
    (call,) = imported(tmp_path, ONE.replace("body: hi", f"body: {body}"))
    assert call.request.body == expected


def test_metadata_may_be_there(tmp_path: Path) -> None:
    assert len(imported(tmp_path, ONE.replace("version", "metadata:\n  a: 1\nversion"))) == 1


def test_old_recordings_of_httpx(tmp_path: Path) -> None:
    (call,) = imported(tmp_path, OLD)
    assert call.response == Response(201, "", (), (b"hello",))


def test_windows_line_ends(tmp_path: Path) -> None:
    assert imported(tmp_path, ONE.replace("\n", "\r\n")) == imported(tmp_path, ONE)


PARSED = """\
interactions:
- request:
    headers:
      content-type: [application/json]
    method: POST
    parsed_body:
      messages:
      - {content: 'zwölf, or "12"?', role: user}
      stream: false
      day: '2026-03-01'
    uri: https://api.test/v1
  response:
    headers:
      content-encoding: [gzip]
      content-type: [application/json]
    parsed_body:
      content: |
        One week.
        Two.
      usage: {input_tokens: 3, cost: 0.5}
    status: {code: 200, message: OK}
version: 1
"""


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_bodies_that_a_serializer_has_parsed(tmp_path: Path, suffix: str) -> None:
    """As pydantic-ai's tests write JSON: `parsed_body` for people, and no `body`."""
    text = PARSED if suffix == ".yaml" else json.dumps(yaml.safe_load(PARSED))
    (call,) = imported(tmp_path, text, suffix)
    asked = {"messages": [{"content": 'zwölf, or "12"?', "role": "user"}], "stream": False, "day": "2026-03-01"}
    assert json.loads(call.request.body) == asked
    assert call.request.headers == (("content-type", "application/json"),)
    assert call.response is not None
    said = {"content": "One week.\nTwo.\n", "usage": {"input_tokens": 3, "cost": 0.5}}
    assert json.loads(call.response.body) == said
    assert call.response.header("content-encoding") is None, "what is written out is not compressed"


@pytest.mark.parametrize(
    ("body", "expected"), [("null", b"null"), ("[1]", b"[1]"), ("null\n    body: hi", b"hi"), ("'x'", b'"x"')]
)
def test_other_values_that_a_serializer_has_parsed(tmp_path: Path, body: str, expected: bytes) -> None:
    (call,) = imported(tmp_path, ONE.replace("body: hi", f"parsed_body: {body}"))
    assert call.request.body == expected


# What is refused

TWO = exchanges(chat("one?", "A first answer."), chat("two?", "A second one,\nin two lines."))


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_every_truncation_is_noticed(tmp_path: Path, suffix: str) -> None:
    whole, path = tmp_path / f"whole{suffix}", tmp_path / f"cut{suffix}"
    export_vcr(TWO, whole)
    data = whole.read_bytes()
    read, told, said = [], list[str](), set()
    for length in cuts(data, every=5):
        path.write_bytes(data[:length])
        try:
            calls = import_vcr(path, "cut", told.append)
            assert calls == TWO[: len(calls)], "never a part of a call"
            read.append((length, len(calls)))
        except RecallError as error:
            said.add(str(error).partition(":")[0])
    assert len(data) > 200
    assert said == {"cut"}
    if suffix == ".json":
        assert (read, told) == ([(len(data) - 1, 2)], []), "the last line end is more than is needed"
    else:
        assert [calls for _, calls in read] == [1, 2], "only cut off after a whole call it can be read"
        assert len(told) == 2


def test_a_cassette_without_a_version_is_taken_and_told(tmp_path: Path) -> None:
    """vcrpy itself does not look at it."""
    path, told = tmp_path / "calls.yaml", list[str]()
    for text in (ONE.replace("version: 1\n", ""), "version: 1\n" + ONE.replace("version: 1\n", "")):
        path.write_text(text, encoding="utf-8")
        assert len(import_vcr(path, "calls", told.append)) == 1
    note = "calls: does not end with `version`, as vcrpy ends a cassette; later calls may have been cut off"
    assert told == [note, note]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "calls:1: cut off in its last line"),
        ("\n", "calls:1: not a cassette of vcrpy"),
        ("- a\n", "calls:1: not a cassette of vcrpy"),
        ("version: 1\n", "calls:1: not a cassette of vcrpy"),
        (ONE[:-1], "calls:19: cut off in its last line"),
        (ONE + ONE, "calls:20: `interactions` is there twice"),
        (ONE.replace("    method: POST\n", "    method: POST\n    method: GET\n"), "calls:8: `method` is there twice"),
        (ONE.replace("    uri: http://x/y\n", ""), "calls:2: interaction 1 has not all of body, headers, method, uri"),
        (
            ONE.replace("    status:\n      code: 200\n      message: OK\n", ""),
            "calls:2: interaction 1 has not all",
        ),
        (ONE.replace("      code: 200\n", ""), "calls:2: interaction 1 cannot be read"),
        (ONE.replace("message: OK", "message: [a]"), "calls:2: interaction 1 cannot be read"),
        (
            OLD.replace("content: hello", "content: 5"),
            "calls:2: interaction 1 cannot be read (TypeError('a body of the",
        ),
        (ONE.replace("string: hello", "string: [a]"), "calls:1: not a cassette of vcrpy"),
        (ONE.replace("      - text/plain", "      - [[a]]"), "calls:2: interaction 1 cannot be read"),
        (ONE.replace("  response:", "  answer:"), "calls:2: interaction 1 must have a request and a response"),
        (ONE.replace("- request:", "- request: {"), "calls:"),
        (ONE.replace("hello", "!!python/object/apply:os.system ['true']"), "calls:11: not YAML (could not determine"),
        (
            ONE.replace("body: hi", "parsed_body: 2026-03-01"),
            "calls:2: interaction 1 has a `parsed_body` that is no JSON",
        ),
        ("--- 1\n--- 2\n", "calls:2: not YAML"),
        ("a: \x00\n", "calls:1: not a cassette of vcrpy"),
        ("interactions: " + "[" * 200_000 + "]" * 200_000 + "\nversion: 1\n", "calls:1: nested more than 200 deep"),
        ("- " * 200_000 + "\n", "calls:1: nested more than 200 deep"),
        (ONE.replace("body: hi", "body: &a [*a]"), "calls:3: the alias `*a` has no whole value before it"),
    ],
)
def test_what_is_broken_is_refused_in_a_sentence(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(RecallError) as error:
        imported(tmp_path, text)
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "calls:1: not JSON"),
        ('{"version": 1}', "calls:1: not a cassette of vcrpy"),
        ('{"version": 1, "interactions": [1]}', "calls:1: interaction 1 must be a mapping of mappings"),
        ('{"version": 1, "interactions": [], "interactions": []}', "calls:1: `interactions` is there twice"),
        ('{"version": 1, "interactions": []}{}', "calls:1: not JSON"),
        ("{" + '"a":{' * 100_000, "calls:1: not a cassette of vcrpy"),
    ],
)
def test_json_that_is_broken(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(RecallError) as error:
        imported(tmp_path, text, ".json")
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    ("first", "said"), [("[x]", "more than 500,000 values"), ("x" * (1 << 20), "more than 128 MB")]
)
@pytest.mark.parametrize("where", ["body: hi", "headers:\n      Accept:\n      - text/plain"])
def test_aliases_that_repeat_aliases_fill_no_memory(tmp_path: Path, first: str, said: str, where: str) -> None:
    levels = "".join(f"      a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    field = where.partition(":")[0]
    tracemalloc.start()
    with pytest.raises(RecallError, match=said):
        imported(tmp_path, ONE.replace(where, f"{field}:\n      a0: &a0 {first}\n{levels.rstrip()}"))
    assert tracemalloc.get_traced_memory()[1] < 32 << 20
    tracemalloc.stop()


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(RecallError, match="cannot be read"):
        import_vcr(tmp_path / "none.yaml")


def test_a_file_like_body_is_read_once() -> None:
    from vcr.request import Request as VcrRequest

    from pytest_recall.replay.formats.vcr_shapes import request_of

    assert request_of(VcrRequest("POST", "http://x/y", BytesIO(b"hi"), {})).body == b"hi"
    assert request_of(VcrRequest("POST", "http://x/y", iter([b"o", b"ne"]), {})).body == b"one"


def test_without_vcrpy_its_cassettes_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vcr", None)
    said = "cassettes of vcrpy are read and written by vcrpy; install `pytest-recall[replay]`"
    with pytest.raises(RecallError) as error:
        imported(tmp_path, ONE)
    assert str(error.value) == said
