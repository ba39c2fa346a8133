"""`recall cassettes show`: what a cassette holds, readable and harmless."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.replay.exchange import Failure, Request, Response
from tests.cli.conftest import Recall
from tests.cli.samples import DATE, recall
from tests.cli.shelves import cassette, library
from tests.replay.recordings import CHAT, JSON, call, draft, response, write


def nested(value: Any) -> Any:
    """Return a value within many lists."""
    for _ in range(25):
        value = [value]
    return value


LIST = ("cassettes", "list", "--date", DATE)
SHOW = ("cassettes", "show", "--date", DATE)
VERIFY = ("cassettes", "verify")


def test_show(project: Path) -> None:
    stream = (
        b'data: {"model":"small-1","choices":[{"delta":{"content":"A lo"}}]}\n\n',
        b'data: {"choices":[{"delta":{"content":"an"}}]}\n\ndata: [DONE]\n\n',
    )
    headers = (("content-type", "text/event-stream"),)
    path = cassette(
        project,
        "right",
        call("How long\nis a loan?"),
        call(seq=1, response=response(headers=headers, chunks=stream, offsets=(0.1, 0.2), complete=False)),
        call("c", seq=2, kind="judge", response=None, failure=Failure("ReadTimeout", "timed out")),
        call(seq=3, request=Request("GET", "http://localhost/health"), response=Response(500, chunks=(b"\xff\xfe",))),
    )
    done = recall(project, *SHOW, "right")
    assert done == (
        0,
        "eval/cassettes/loans/right.ndjson\n"
        "  loans/right\n"
        "  recorded 2026-03-01T09:00:00+00:00, 9 days old\n"
        f"  4 calls, {path.stat().st_size / 1024:.1f} KB\n"
        "\n"
        "   1  POST https://api.openai.com/v1/chat/completions  200  agent  small-1  0.512 s\n"
        "      asked    How long\n"
        "      answer   A loan lasts one week.\n"
        "      tokens   12 input, 6 output\n"
        "\n"
        "   2  POST https://api.openai.com/v1/chat/completions  200  agent  small-1  0.512 s\n"
        "      asked    How long is a loan?\n"
        "      answer   A loan, until the client closed the stream\n"
        "\n"
        "   3  POST https://api.openai.com/v1/chat/completions  no response  judge  small-1  0.512 s\n"
        "      asked    c\n"
        "      failure  ReadTimeout: timed out\n"
        "\n"
        "   4  GET http://localhost/health  500  agent  0.512 s\n"
        "      asked    (0 bytes)\n"
        "      answer   (2 bytes)\n",
        "",
    )


def test_show_one_call(project: Path, inside: Recall) -> None:
    headers = (("content-type", "text/event-stream"),)
    streamed = response(headers=headers, chunks=(b"data: 1\n\n", b"data: \xc3", b"\xa9\n"), offsets=(0.1, 0.25, 1.0))
    cassette(project, "right", call(), call("Fee?", seq=1, response=streamed, failure=Failure("ReadError", "gone")))
    assert inside(project, *SHOW, "right", "--call", "2").out == (
        "call 2, agent, 2026-03-01T09:00:00+00:00, took 0.512 s\n"
        "\n"
        "POST https://api.openai.com/v1/chat/completions\n"
        "content-type: application/json\n"
        "\n"
        "{\n"
        '  "model": "small-1",\n'
        '  "messages": [\n'
        "    {\n"
        '      "role": "user",\n'
        '      "content": "Fee?"\n'
        "    }\n"
        "  ]\n"
        "}\n"
        "\n"
        "HTTP/1.1 200 OK\n"
        "content-type: text/event-stream\n"
        "\n"
        "-- chunk 1 of 3, 9 bytes after 0.100 s\n"
        "data: 1\n"
        "-- chunk 2 of 3, 7 bytes after 0.250 s\n"
        "data: \\xc3\n"
        "-- chunk 3 of 3, 2 bytes after 1.000 s\n"
        "\\xa9\n"
        "-- ended by ReadError: gone\n"
    )
    done = inside(project, *SHOW, "right", "--call", "3")
    assert done == (
        2,
        "",
        "recall: eval/cassettes/loans/right.ndjson: has no call 3; `recall cassettes show right` lists them\n",
    )


def test_show_as_json(project: Path, inside: Recall) -> None:
    cassette(project)
    found = json.loads(inside(project, *SHOW, "right", "--json").out)
    assert found["path"] == "eval/cassettes/loans/right.ndjson"
    assert found["header"]["case"] == "right"
    assert found["calls"] == [
        {
            "number": 1,
            "key": call().key,
            "kind": "agent",
            "recorded_at": "2026-03-01T09:00:00+00:00",
            "seconds": 0.512,
            "method": "POST",
            "url": CHAT,
            "status": 200,
            "complete": True,
            "failure": None,
            "model": "small-1",
            "tokens": {"input": 12, "output": 6},
            "asked": "How long is a loan?",
            "answer": "A loan lasts one week.",
        }
    ]
    (one,) = json.loads(inside(project, *SHOW, "right", "--call", "1", "--json").out)["calls"]
    assert one["request"]["headers"] == {"content-type": ["application/json"]}
    assert one["request"]["body"]["messages"][0]["content"] == "How long is a loan?"
    assert one["response"]["chunks"][0]["model"] == "small-1"


@pytest.mark.parametrize(
    "given",
    [
        "right",
        "loans/right",
        "eval/cassettes/loans/right.ndjson",
        "loans/right.ndjson",
        "eval/../eval/cassettes/loans/right.ndjson",
    ],
)
def test_show_by_id_and_by_path(project: Path, given: str, inside: Recall) -> None:
    cassette(project)
    cassette(project, "worse")
    assert "  loans/right\n" in inside(project, *SHOW, given).out


def test_show_of_a_fixture_and_of_a_draft(project: Path, inside: Recall) -> None:
    path = write(
        library(project).of_fixture("client", "session", "x"),
        fixture="client",
        scope="session",
        case=None,
        scenario=None,
    )
    assert "  client (session fixture)\n" in inside(project, *SHOW, "client").out
    left = draft(library(project).new_draft(path), call(), case="right")
    done = inside(project, *SHOW, str(left))
    assert "  loans/right, unfinished draft\n" in done.out
    assert "      asked    How long is a loan?\n" in done.out


EVIL = "\x1b]0;owned\x07\x1b[2J\u202etxt\x9b31m\r\x7f\x00"


def test_a_damaged_one_is_there_all_the_same(project: Path, inside: Recall) -> None:
    path = cassette(project)
    path.write_bytes(path.read_bytes()[:-40])
    by_path = inside(project, *SHOW, str(path.relative_to(project)))
    by_id = inside(project, *SHOW, path.stem)
    assert by_path.code == by_id.code == 2
    assert by_id.err == by_path.err
    assert "cut off in its last line" in by_id.err


def test_nothing_recorded_steers_the_terminal(project: Path, inside: Recall) -> None:
    """Each part of a call comes from a server, or from anyone who wrote the page that an agent read."""
    asked = Request("GET" + EVIL, CHAT + EVIL, (("x-y" + EVIL, "v" + EVIL),), json.dumps({"prompt": EVIL}).encode())
    given = Response(
        200,
        "OK" + EVIL,
        (("x-z" + EVIL, "w" + EVIL),),
        (
            ("data: " + json.dumps({"model": EVIL, "choices": [{"text": EVIL}]}, ensure_ascii=False)).encode(),
            EVIL.encode(),
        ),
        (0.1, 0.2),
        "HTTP/1.1" + EVIL,
    )
    one = call(request=asked, response=given, failure=Failure("E" + EVIL, EVIL), kind="k" + EVIL, at="2026" + EVIL)
    write(
        library(project).of_case("right", "loans"),
        one,
        one._replace(seq=1, response=given._replace(chunks=(EVIL.encode(),), offsets=())),
        run=EVIL,
        scenario="loans" + EVIL,
        recorded_at="2026-03-01" + EVIL,
    )
    where = "loans/right.ndjson"
    for arguments in (
        LIST,
        (*LIST, "--json"),
        (*SHOW, where),
        (*SHOW, where, "--call", "1"),
        (*SHOW, where, "--call", "2"),
        (*SHOW, where, "--call", "1", "--json"),
        VERIFY,
        (*VERIFY, "--json"),
        ("cassettes", "scan"),
        ("cassettes", "prune", "--dry-run"),
    ):
        done = inside(project, *arguments)
        assert done.code in (0, 1), arguments
        steering = {char for char in done.out + done.err if not char.isprintable() and char != "\n"}
        assert steering == set(), arguments


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}, "b"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image"}]}]}, "a"),
        ({"messages": [{"role": "user", "content": [{"type": "tool_result", "content": "42"}]}]}, "42"),
        ({"messages": [{"role": "tool", "tool_call_id": "x", "content": "42"}]}, "42"),
        ({"input": "a"}, "a"),
        ({"input": [{"role": "user", "content": [{"type": "input_text", "text": "a"}]}]}, "a"),
        ({"input": [{"type": "function_call_output", "call_id": "x", "output": "42"}]}, "42"),
        ({"contents": [{"parts": [{"text": "a"}]}]}, "a"),
        ({"prompt": "a"}, "a"),
        ({"jsonrpc": "2.0"}, "(17 bytes)"),
        (["a"], "(5 bytes)"),
        (nested({"prompt": "a"}), "(64 bytes)"),
        ({"prompt": nested("a")}, "(64 bytes)"),
        ({"messages": [{"content": [[[{"content": {"x": 5}}]]]}]}, "(52 bytes)"),
    ],
)
def test_the_prompt_of_each_wire_format(project: Path, body: Any, text: str, inside: Recall) -> None:
    asked = Request("POST", CHAT, JSON, json.dumps(body, separators=(",", ":")).encode())
    cassette(project, "right", call(request=asked))
    (line,) = [line for line in inside(project, *SHOW, "right").out.splitlines() if "  asked  " in line]
    assert line == f"      asked    {text}"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"choices": [{"message": {"role": "assistant", "content": "a", "tool_calls": None}}]}, "a"),
        (
            {
                "choices": [
                    {"message": {"content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}}
                ]
            },
            "f({})",
        ),
        ({"type": "message", "content": [{"type": "text", "text": "a"}]}, "a"),
        ({"type": "message", "content": [{"type": "tool_use", "name": "f", "input": {"x": 1}}]}, 'f({"x": 1})'),
        (
            {
                "object": "response",
                "text": {"format": {"type": "text"}},
                "output": [{"type": "reasoning", "summary": []}, {"content": [{"type": "output_text", "text": "a"}]}],
            },
            "a",
        ),
        ({"candidates": [{"content": {"parts": [{"text": "a"}]}}]}, "a"),
        ({"error": {"type": "overloaded", "message": "a"}}, "a"),
        (
            [
                {"type": "message_start", "message": {"model": "m", "content": []}},
                {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "a"}},
                {"type": "content_block_delta", "delta": {"type": "text_delta", "text": " b"}},
                {"type": "message_stop"},
            ],
            "a b",
        ),
        (
            [
                {"type": "response.output_text.delta", "delta": "a"},
                {"type": "response.output_text.delta", "delta": " b"},
                {"type": "response.output_text.done", "text": "a b"},
                {"type": "response.completed", "response": {"output": [{"content": [{"text": "a b"}]}]}},
            ],
            "a b",
        ),
    ],
)
def test_the_answer_of_each_wire_format(project: Path, body: Any, text: str, inside: Recall) -> None:
    events = (
        [f"event: x\ndata: {json.dumps(event)}\n\n" for event in body] if isinstance(body, list) else [json.dumps(body)]
    )
    given = response(chunks=tuple(event.encode() for event in events), offsets=tuple(0.1 for _ in events))
    cassette(project, "right", call(response=given))
    (line,) = [line for line in inside(project, *SHOW, "right").out.splitlines() if "  answer  " in line]
    assert line == f"      answer   {text}"


def test_bodies_that_are_no_text(project: Path, inside: Recall) -> None:
    headers = (("content-type", "text/event-stream"),)
    cassette(
        project,
        "right",
        call(request=Request("POST", CHAT, (), b"\xff\xfe\xfd"), response=Response(204)),
        call(seq=1, response=response(headers=headers, chunks=(b"data: 1\n\n", b"d"), complete=False)),
    )
    first = inside(project, *SHOW, "right", "--call", "1").out.split("\n\n")
    assert first[1:] == [f"POST {CHAT}", "-- 3 bytes that are not text", "HTTP/1.1 204", "-- no body\n"]
    assert inside(project, *SHOW, "right", "--call", "2").out.endswith(
        "\n-- the client closed the stream before its end\n"
    )
    (one,) = json.loads(inside(project, *SHOW, "right", "--call", "1", "--json").out)["calls"]
    assert one["request"]["body"] == {"base64": "//79"}
