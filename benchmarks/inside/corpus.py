"""Corpus: calls to a model that never was, and the cassettes of ours and of others that hold them."""

from __future__ import annotations

import importlib
import importlib.util
import json
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pytest_recall.replay.cassette_file import Cassette, write_cassette
from pytest_recall.replay.exchange import Exchange, Request, Response
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.redaction import Redactor
from pytest_recall.replay.tape import Tape

BASE = "http://model.test/v1"
URL = f"{BASE}/chat/completions"
MODEL = "small"
RULES = Rules()
# As many secrets as a machine has that holds a key for each of two vendors.
REDACTOR = Redactor({"OPENAI_API_KEY": "sk-proj-" + "a1B2" * 12, "ANTHROPIC_API_KEY": "sk-ant-api03-" + "x9Y8" * 20})
HEADERS = (("content-type", "application/json"), ("x-request-id", "req-1"))

Messages = list[dict[str, str]]

_random = random.Random(0)
_WORDS = ["".join(_random.choices("abcdefghijklmnopqrstuvwxyz", k=_random.randint(2, 9))) for _ in range(2_000)]


class Call(NamedTuple):
    """One request and its answer, as they go over the wire."""

    body: bytes
    answer: bytes


def text(seed: int, size: int) -> str:
    """Return words that differ for each seed, `size` characters of them."""
    words = random.Random(seed).choices(_WORDS, k=size // 3 + 1)
    return " ".join(words)[:size]


def asked(messages: Messages) -> bytes:
    """Return a request, written as the SDKs do."""
    body = {"model": MODEL, "messages": messages}
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


def answered(content: str) -> bytes:
    """Return the answer of a model."""
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "logprobs": None,
        "message": {"role": "assistant", "content": content, "refusal": None},
    }
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": MODEL,
        "choices": [choice],
        "usage": usage,
    }
    return json.dumps(body).encode()


def question(number: int, size: int) -> Messages:
    """Return messages that make a request of about `size` bytes."""
    system = {"role": "system", "content": "You are a careful assistant."}
    return [system, {"role": "user", "content": f"{number} {text(number, size - 150)}"}]


def flat(count: int, size: int, written: Callable[[Messages], bytes] = asked) -> list[Call]:
    """Return calls that have little in common, both bodies of each of about `size` bytes."""
    return [Call(written(question(n, size)), answered(text(-n - 1, size - 300))) for n in range(count)]


def growing(count: int, first: int, last: int) -> Iterator[Call]:
    """Yield the calls of a conversation, whose requests grow evenly from `first` to `last` bytes."""
    messages: Messages = []
    for number in range(count):
        size = first + (last - first) * number // (count - 1)
        messages.append({"role": "user", "content": ""})
        messages[-1]["content"] = text(number, size - len(asked(messages)))
        answer = text(-number - 1, 1_000)
        yield Call(asked(messages), answered(answer))
        messages.append({"role": "assistant", "content": answer})


# Cassettes


def write_recall(path: Path, calls: Iterable[Call]) -> None:
    """Write a cassette of ours."""
    headers = (("accept", "application/json"), ("content-type", "application/json"))
    exchanges = (
        Exchange(
            key="",
            seq=number,
            kind="agent",
            request=Request("POST", URL, headers, call.body),
            response=Response(200, "OK", HEADERS, (call.answer,), (0.5,)),
            at="2026-03-02T09:00:00+00:00",
            seconds=0.5,
        )
        for number, call in enumerate(calls)
    )
    write_cassette(path, {"case": path.stem}, exchanges, RULES)


def tape(cassette: Cassette) -> Tape:
    """Return a tape that replays `cassette` from its start."""
    return Tape("case", "replay", RULES, REDACTOR, "record it", cassette)


def write_vcrpy(path: Path, calls: Iterable[Call]) -> None:
    """Write a cassette of vcrpy in JSON, which is read several times as fast as its YAML."""
    vcr: Any = importlib.import_module("vcr.request")
    persister: Any = importlib.import_module("vcr.persisters.filesystem")
    serializer: Any = importlib.import_module("vcr.serializers.jsonserializer")
    requests: list[Any] = []
    responses: list[Any] = []
    for call in calls:
        requests.append(vcr.Request("POST", URL, call.body, {"content-type": "application/json"}))
        responses.append(
            {
                "status": {"code": 200, "message": "OK"},
                "headers": {name: [value] for name, value in HEADERS},
                "body": {"string": call.answer},
            }
        )
    recorded = {"requests": requests, "responses": responses}
    persister.FilesystemPersister.save_cassette(path, recorded, serializer)


def use_vcrpy(path: Path) -> Any:
    """Return a context in which vcrpy replays `path`, matching by body as we do."""
    vcr: Any = importlib.import_module("vcr")
    return vcr.use_cassette(str(path), serializer="json", record_mode="none", match_on=["method", "uri", "body"])


def write_cassetter(path: Path, calls: Iterable[Call]) -> None:
    """Write a cassette of cassetter."""
    core: Any = importlib.import_module("cassetter._core")
    cassette = core.Cassette()
    for call in calls:
        request = core.HttpRequest(
            "POST", URL, {"content-type": ["application/json"]}, core.Body("json", json.loads(call.body))
        )
        headers = {name: [value] for name, value in HEADERS}
        response = core.HttpResponse(200, headers, core.Body("json", json.loads(call.answer)))
        cassette.add_interaction(core.HttpInteraction(request, response, "2026-03-02T09:00:00Z"))
    cassette.save(str(path))


def use_cassetter(path: Path) -> Any:
    """Return a context in which cassetter replays `path`, matching by the JSON value of the body."""
    cassetter: Any = importlib.import_module("cassetter")
    return cassetter.use_cassette(path, record_mode="none", match_on=["method", "uri", "json_body"])


PEERS = {"vcrpy": (".json", write_vcrpy, use_vcrpy), "cassetter": (".yaml", write_cassetter, use_cassetter)}
"""Of each peer: what its files end with, and how it writes and replays one."""
PACKAGES = {"vcrpy": "vcr", "cassetter": "cassetter"}


def installed() -> list[str]:
    """Return the peers that there are."""
    return [peer for peer, package in PACKAGES.items() if importlib.util.find_spec(package) is not None]
