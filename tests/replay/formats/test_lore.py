"""Lore's recordings: read as calls, and refused where they are not whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.replay.exchange import Exchange, Request, Response
from pytest_recall.replay.formats.lore import ANTHROPIC, import_lore

ASKED = {"model": "small-1", "messages": [{"role": "user", "content": "zwölf?"}]}
SAID = {"type": "message", "content": [{"type": "text", "text": "12"}]}
EVENTS = 'event: message_start\ndata: {"a": 1}\n\nevent: message_stop\ndata: {}\n\n'
JSON = (("content-type", "application/json"),)


def line(seq: int, **more: Any) -> str:
    given = {"seq": seq, "ts": 1_772_355_600_000 + seq, "request": ASKED, "response": SAID, "wasStreaming": False}
    return json.dumps({**given, "model": "small-1", **more}, ensure_ascii=False) + "\n"


def imported(tmp_path: Path, text: str, **more: Any) -> list[Exchange]:
    path = tmp_path / "session.ndjson"
    path.write_text(text, encoding="utf-8", newline="")
    return import_lore(path, name="session", **more)


def test_a_call(tmp_path: Path) -> None:
    (call,) = imported(tmp_path, line(0))
    asked = '{"model":"small-1","messages":[{"role":"user","content":"zwölf?"}]}'.encode()
    said = b'{"type":"message","content":[{"type":"text","text":"12"}]}'
    assert call == Exchange(
        "",
        0,
        "agent",
        Request("POST", ANTHROPIC, JSON, asked),
        Response(200, "OK", JSON, (said,)),
        at="2026-03-01T09:00:00+00:00",
    )


def test_the_caller_knows_the_url(tmp_path: Path) -> None:
    (call,) = imported(tmp_path, line(0), url="https://api.test/v1/chat/completions")
    assert call.request.url == "https://api.test/v1/chat/completions"


def test_a_stream_is_kept_as_it_is(tmp_path: Path) -> None:
    (call,) = imported(tmp_path, line(0, response=EVENTS, wasStreaming=True))
    assert call.response == Response(200, "OK", (("content-type", "text/event-stream"),), (EVENTS.encode(),))


def test_a_stream_without_its_last_event_is_not_complete(tmp_path: Path) -> None:
    (call,) = imported(tmp_path, line(0, response="event: message_start\ndata: {}\n\n", wasStreaming=True))
    assert call.response is not None
    assert not call.response.complete


@pytest.mark.parametrize(
    ("kind", "status"), [("rate_limit_error", 429), ("overloaded_error", 529), ("never_heard_of", 500)]
)
def test_an_error_has_the_status_of_its_type(tmp_path: Path, kind: str, status: int) -> None:
    (call,) = imported(tmp_path, line(0, response={"type": "error", "error": {"type": kind}}, wasStreaming=True))
    assert call.response is not None
    assert call.response.status == status


def test_calls_stand_in_the_order_in_which_they_began(tmp_path: Path) -> None:
    calls = imported(tmp_path, line(1) + line(2) + line(0))
    assert [call.seq for call in calls] == [0, 1, 2]


def test_every_truncation_is_noticed_but_that_of_whole_lines(tmp_path: Path) -> None:
    """Lore has no end mark: what ends with a line may have had more."""
    whole = line(0) + line(1, response=EVENTS, wasStreaming=True)
    path = tmp_path / "session.ndjson"
    data = whole.encode()
    unnoticed, said = [], set()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        try:
            import_lore(path, name="session")
            unnoticed.append(length)
        except RecallError as error:
            said.add(str(error).partition(":")[0])
    assert len(data) > 200
    assert said == {"session"}
    assert unnoticed == [len(line(0).encode())]


USE = {"content": [{"type": "text", "text": "I look."}, {"type": "tool_use", "id": "t1", "name": "bash", "input": {}}]}
STARTS = {"type": "content_block_start", "index": 1, "content_block": USE["content"][1]}
STREAMED = f"event: content_block_start\ndata: {json.dumps(STARTS)}\n\nevent: message_stop\ndata: {{}}\n\n"
CHAT = {"choices": [{"message": {"tool_calls": [{"id": "t1", "function": {"name": "bash", "arguments": "{}"}}]}}]}
OUTPUT = {"output": [{"type": "function_call", "id": "f1", "call_id": "t1", "name": "bash", "arguments": "{}"}]}
RESULT = {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]}]}


@pytest.mark.parametrize("answer", [USE, STREAMED, CHAT, OUTPUT], ids=["message", "stream", "chat", "responses"])
@pytest.mark.parametrize(
    ("result", "is_told"),
    [
        (None, True),
        (ASKED, True),
        (RESULT, False),
        ({"messages": [{"role": "tool", "tool_call_id": "t1", "content": "ok"}]}, False),
        ({"input": [{"type": "function_call_output", "call_id": "t1", "output": "ok"}]}, False),
    ],
)
def test_a_tool_call_that_no_later_call_answers_is_told(
    tmp_path: Path, answer: Any, result: Any, is_told: bool
) -> None:
    text = line(0) + line(1, response=answer, wasStreaming=isinstance(answer, str))
    told = list[str]()
    imported(tmp_path, text if result is None else text + line(2, request=result), tell=told.append)
    assert told == is_told * [
        "session:2: asks for the tool `bash`, and no later call answers it;"
        " the recording may have ended before its session did"
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "session:1: empty"),
        (line(0)[:-1], "session:1: cut off in its last line"),
        (line(0) + line(0), "session:2: seq 0 is in line 1 already, so these are two recordings"),
        (line(0) + line(1) + line(0) + line(1), "session:3: seq 0 is in line 1 already"),
        (line(1), "session:1: seq 0 is missing"),
        (line(0) + line(2), "session:2: seq 1 is missing"),
        (line(0) + "\n", "session:2: not a line of JSON"),
        ("[]\n", "session:1: must be an object"),
        ('{"seq": 0, "seq": 0}\n', "session:1: not a line of JSON (a field is there twice)"),
        (line(-1), "session:1: `seq` is less than 0"),
        (line(True), "session:1: `seq` is missing"),
        (line(0, ts="now"), "session:1: `ts` is missing"),
        (line(0, ts=1e300), "session:1: `ts` is not a time"),
        (line(0, request=None), "session:1: `request` is missing"),
        (line(0, wasStreaming="no"), "session:1: `wasStreaming` is missing"),
        (line(0, wasStreaming=True), "session:1: the answer was streamed, and its stream was not kept"),
        (line(0, response="Bad gateway"), "session:1: the answer is neither JSON nor a stream"),
        (line(0, response=EVENTS[:-1], wasStreaming=True), "session:1: the stream is cut off within an event"),
    ],
)
def test_what_is_broken_is_refused_in_a_sentence(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(RecallError) as error:
        imported(tmp_path, text)
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)
