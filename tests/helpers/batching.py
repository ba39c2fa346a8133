"""A batch service on the loopback device: both APIs, as far as batches need them, each batch as a test wants it.

Formats are those of the types in the SDKs: `openai.types.batch`, `anthropic.types.messages`.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from tests.helpers.loopback import Loopback
from tests.helpers.project import Checkout, Project
from tests.helpers.talking import agent, asking, talking
from tests.helpers.upstream import _SCRIPTS, _break_off, _plain, _prompt, _stream

NEVER = 1_000_000
WAYS = ("validating", "in_progress", "finalizing")
"""What a batch of OpenAI goes through, one look after the other, before it has ended."""


@dataclass
class Batch:
    """One batch: the calls by custom id, and how often it was looked at."""

    id: str
    api: str
    calls: dict[str, Any]
    path: str = ""
    looks: int = 0


@dataclass
class Service:
    """The server. `prompts` counts what was asked of it, in batches and directly; `headers` are of all requests.

    The first word of the last message decides about a call: `bad` is answered with 400, `late`
    expires, and any other is answered by `re: ` and itself. What has to be JSON by a schema is
    the reply of a judge who is content. Batches from the number `hold` on do not end; with
    `failing`, all fail as a whole for that reason. The first answers to the making of a batch
    are those of `refusals`, as a status and headers; with the status 0 the connection is lost.
    """

    hold: int = NEVER
    failing: str = ""
    refusals: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    prompts: Counter[str] = field(default_factory=Counter)
    direct: Counter[str] = field(default_factory=Counter)
    batches: dict[str, Batch] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    headers: list[dict[str, str]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._server = Loopback(self._handle)
        self.url = self._server.url

    def close(self) -> None:
        """Be gone."""
        self._server.close()

    @property
    def keys(self) -> set[str]:
        """The keys that were sent."""
        return {told.get("authorization", "").removeprefix("Bearer ") for told in self.headers}

    @property
    def sizes(self) -> list[int]:
        """How many calls each batch had, in the order in which they were made."""
        return [len(batch.calls) for batch in self.batches.values()]

    # The wire

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        data = handler.rfile.read(int(handler.headers.get("content-length", 0)))
        path = handler.path.partition("?")[0]
        handler.close_connection = True
        with self._lock:
            self.headers.append({name.lower(): value for name, value in handler.headers.items()})
            self.requests.append(f"{handler.command} {handler.path}")
        routes: list[tuple[str, Callable[..., Any]]] = [
            (r"POST /v1/files", lambda: self._upload(handler, data)),
            (r"GET /v1/files/(.+)/content", self._content),
            (r"POST /v1/batches", lambda: self._create("openai", json.loads(data))),
            (r"GET /v1/batches/(.+)", self._openai),
            (r"POST /v1/messages/batches", lambda: self._create("anthropic", json.loads(data))),
            (r"GET /v1/messages/batches/([^/]+)/results", self._results),
            (r"GET /v1/messages/batches/([^/]+)", self._anthropic),
        ]
        for route, answer in routes:
            if found := re.fullmatch(route, f"{handler.command} {path}"):
                with self._lock:
                    status, content, headers = answer(*found.groups())
                if not status:
                    return _break_off(handler)
                return _answer(handler, status, content, headers)
        body = json.loads(data)
        with self._lock:
            self.direct[_prompt(body)] += 1
        if body.get("stream"):
            events, _ = _SCRIPTS[path](f"re: {_prompt(body)}", 1, body)
            return _stream(handler, events, "", threading.Event())
        return _answer(handler, *_reply(path, body))

    def _refused(self, key: str) -> tuple[int, Any, dict[str, str]] | None:
        if not self.refusals:
            return None
        status, headers = self.refusals.pop(0)
        return status, {"error": {"type": "rate_limit_error", "message": f"not now {key}".strip()}}, headers

    def _upload(self, handler: BaseHTTPRequestHandler, data: bytes) -> tuple[int, Any, dict[str, str]]:
        kind = handler.headers["content-type"].encode()
        parts = message_from_bytes(b"content-type: " + kind + b"\r\n\r\n" + data).get_payload()
        assert isinstance(parts, list)
        fields = {
            part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
            for part in parts
            if isinstance(part, Message)
        }
        assert fields["purpose"] == b"batch"
        name = f"file-{len(self.files) + 1}"
        content = fields["file"]
        assert isinstance(content, bytes)
        self.files[name] = content
        return 200, {"id": name, "object": "file", "bytes": len(content), "created_at": 1, "filename": "f",
                     "purpose": "batch", "status": "processed"}, {}  # fmt: skip

    def _content(self, name: str) -> tuple[int, Any, dict[str, str]]:
        return (200, self.files[name], {}) if name in self.files else (404, {"error": {"message": "no such file"}}, {})

    def _create(self, api: str, body: Any) -> tuple[int, Any, dict[str, str]]:
        if refused := self._refused(self.headers[-1].get("authorization", "").removeprefix("Bearer ")):
            return refused
        if api == "openai":
            assert body["completion_window"] == "24h"
            lines = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
            assert {(line["method"], line["url"]) for line in lines} == {("POST", body["endpoint"])}
            assert len({line["body"]["model"] for line in lines}) == 1
            calls, path = {line["custom_id"]: line["body"] for line in lines}, body["endpoint"]
        else:
            lines = body["requests"]
            calls, path = {line["custom_id"]: line["params"] for line in lines}, "/v1/messages"
            assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", custom_id) for custom_id in calls)
        assert len(calls) == len(lines)
        batch = Batch(f"{'batch' if api == 'openai' else 'msgbatch'}_{len(self.batches) + 1}", api, calls, path)
        self.batches[batch.id] = batch
        self.prompts.update(map(_prompt, calls.values()))
        return 200, self._told(batch), {}

    def _told(self, batch: Batch) -> Any:
        return self._openai(batch.id)[1] if batch.api == "openai" else self._anthropic(batch.id)[1]

    def _step(self, name: str) -> tuple[Batch, bool]:
        batch = self.batches[name]
        batch.looks += 1
        return batch, int(name.rpartition("_")[2]) < self.hold and batch.looks > len(WAYS)

    def _openai(self, name: str) -> tuple[int, Any, dict[str, str]]:
        if name not in self.batches:
            return 404, {"error": {"message": "no such batch"}}, {}
        batch, ended = self._step(name)
        told: dict[str, Any] = {"id": name, "object": "batch", "completion_window": "24h", "created_at": 1,
                                "endpoint": batch.path, "input_file_id": "file-0",
                                "status": WAYS[min(batch.looks - 1, 2)]}  # fmt: skip
        if batch.looks > 1 and self.failing:
            errors = [{"code": "invalid", "line": 1, "message": self.failing}]
            return 200, {**told, "status": "failed", "errors": {"object": "list", "data": errors}}, {}
        if not ended:
            return 200, told, {}
        good: list[Any] = []
        bad: list[Any] = []
        late = False
        for custom_id, body in reversed(batch.calls.items()):
            line = {"id": f"batch_req_{custom_id}", "custom_id": custom_id, "response": None, "error": None}
            if _prompt(body).startswith("late"):
                late = True
                message = "This request could not be executed before the completion window expired."
                bad.append({**line, "error": {"code": "batch_expired", "message": message}})
                continue
            status, content, _ = _reply(batch.path, body)
            response = {"status_code": status, "request_id": f"req-{custom_id}", "body": content}
            (good if status < 400 else bad).append({**line, "response": response})
        for kind, lines in (("output", good), ("error", bad)):
            if lines:
                told[f"{kind}_file_id"] = f"{kind}-{name}"
                self.files[f"{kind}-{name}"] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        return 200, {**told, "status": "expired" if late else "completed"}, {}

    def _anthropic(self, name: str) -> tuple[int, Any, dict[str, str]]:
        if name not in self.batches:
            return 404, {"type": "error", "error": {"type": "not_found_error", "message": "no such batch"}}, {}
        ended = self._step(name)[1]
        results = f"{self.url}/v1/messages/batches/{name}/results" if ended else None
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        day = "2026-01-01T00:00:00Z"
        return 200, {"id": name, "type": "message_batch", "processing_status": "ended" if ended else "in_progress",
                     "request_counts": counts, "created_at": day, "expires_at": day, "archived_at": None,
                     "cancel_initiated_at": None, "ended_at": day if ended else None,
                     "results_url": results}, {}  # fmt: skip

    def _results(self, name: str) -> tuple[int, Any, dict[str, str]]:
        lines = []
        for custom_id, body in reversed(self.batches[name].calls.items()):
            status, content, _ = _reply("/v1/messages", body)
            if _prompt(body).startswith("late"):
                result: dict[str, Any] = {"type": "expired"}
            elif status < 400:
                result = {"type": "succeeded", "message": content}
            else:
                result = {"type": "errored", "error": content}
            lines.append(json.dumps({"custom_id": custom_id, "result": result}, ensure_ascii=False).encode() + b"\n")
        return 200, b"".join(lines), {}


def _reply(path: str, body: Any) -> tuple[int, Any, dict[str, str]]:
    prompt = _prompt(body)
    if prompt.startswith("bad"):
        error = {"type": "invalid_request_error", "message": "bad question"}
        return 400, ({"type": "error", "error": error} if path == "/v1/messages" else {"error": error}), {}
    if path == "/v1/embeddings":
        vector = {"object": "embedding", "index": 0, "embedding": [0.5, 1.0]}
        return 200, {"object": "list", "data": [vector], "model": body["model"],
                     "usage": {"prompt_tokens": 1, "total_tokens": 1}}, {}  # fmt: skip
    content = json.dumps({"reasoning": "so it is", "scores": {"requirement": 1}})
    _, whole = _SCRIPTS.get(path, _plain)(content if "response_format" in body else f"re: {prompt}", 1, body)
    return 200, whole, {}


def _answer(handler: BaseHTTPRequestHandler, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    handler.send_response(status)
    kind = "application/octet-stream" if isinstance(content, bytes) else "application/json"
    told = {"content-type": kind, "content-length": str(len(data)), "connection": "close"}
    for name, value in {**told, **(headers or {})}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data)


def serving() -> Iterator[Service]:
    """Yield a service and end it: the body of a fixture."""
    service = Service()
    try:
        yield service
    finally:
        service.close()


# Projects

NAMES = tuple(f"c{number}" for number in range(6))
"""The cases of a project, unless others are named."""


PACE = """\
from pytest_recall.models import batch, batch_queue

batch_queue.PACE = batch_queue.BatchPace(**{pace})
batch_queue.LIMITS = dict.fromkeys(batch.LIMITS, batch.Limit({requests}, 1_000_000))


def pytest_unconfigure():
    batch_queue.PACE = batch_queue.BatchPace()
    batch_queue.LIMITS = batch.LIMITS
"""


def batched(*, more: str = "", requests: int = 1000, **pace: float) -> dict[str, str]:
    """Return the files that have batches go at this pace, each with so many requests at most.

    A call reads 10 tokens and writes 5: one dollar each.
    """
    price = {"input": 50000, "output": 100000}
    prices = dict.fromkeys(("gpt-4o-mini", "claude-haiku-4-5"), price)
    rubric = f"owner: ana\nprices: {json.dumps(prices)}\ncalls: {{127.0.0.1: batch}}\n{more}"
    return {
        "eval/rubric.yaml": rubric,
        "conftest.py": PACE.format(requests=requests, pace={"quiet": 0.4, "poll": 0.01, **pace}),
    }


def project(
    service: Service, body: str, *names: str, files: Mapping[str, str] | None = None, source: str = ""
) -> Project:
    """Return a project whose agent has this `body`, or this `source`, with a case for each of `names`.

    Without `files`, a batch is full and goes when each of these cases has asked once; where not all of them ask it
    waits for long.
    """
    made = talking(service, source or agent(body), key="sk-none").with_cases(*map(asking, names or NAMES))
    return made.with_files(files or batched(requests=len(names or NAMES), quiet=5))


def run(checkout: Checkout, *options: str) -> pytest.RunResult:
    """Run all cases by batch, in this process."""
    return checkout.run("eval", "--recall-mode=all", "--recall-batch", *options)
