"""A model on loopback that calls the tool it is offered and answers with its result, in three vendors' formats.

What it says depends on the request alone, so that two recordings of one agent have the same answers.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

TERM = re.compile(r"term_[a-z]+")
RESULT = re.compile(r"[A-Z][a-z ]+ page 7 of term_[a-z]+")
"""What the questions are about, and what the tool returns."""

_IDS = re.compile(rb'"(?:call_|tool_call_|tool_use_)?id": ?"[^"]*"')

Json = dict[str, Any]


class Said(NamedTuple):
    """What the model says: a text, or a call of a tool if `tool` is not empty."""

    text: str = ""
    tool: str = ""
    arguments: Json | None = None


def decide(asked: Json, tools: list[str]) -> Said:
    """Return what the model says to a request that offers `tools`."""
    told = json.dumps(asked, ensure_ascii=False)
    term, results = TERM.findall(told)[-1], RESULT.findall(told)
    if "next_tool_name" in told or "[[ ## completed ## ]]" in told:
        return Said(in_fields(told, term, results))
    if not results:
        name = next((name for name in tools if "page" in name), "")
        return Said(tool=name, arguments={"term": term}) if name else Said("There is no tool.")
    if "final_answer" in tools:
        return Said(tool="final_answer", arguments={"answer": results[-1]})
    return Said(f"The tool says: {results[-1]}")


def in_fields(told: str, term: str, results: list[str]) -> str:
    """Return what a model says to DSPy, which asks for a text of fields."""
    if "Respond with the corresponding output fields, starting with the field `[[ ## next_thought" in told:
        name, arguments = ("finish", {}) if results else ("page_of", {"term": term})
        fields = {"next_thought": "Now.", "next_tool_name": name, "next_tool_args": json.dumps(arguments)}
    else:
        fields = {"reasoning": "The tool says so.", "answer": results[-1] if results else "There is no tool."}
    return "".join(f"[[ ## {name} ## ]]\n{text}\n\n" for name, text in fields.items()) + "[[ ## completed ## ]]"


def chat(asked: Json, mark: str) -> list[tuple[str, Json]] | Json:
    """Answer as OpenAI's chat completions do, as a whole or in events."""
    said = decide(asked, [tool["function"]["name"] for tool in asked.get("tools") or ()])
    message: Json = {"role": "assistant", "content": None if said.tool else said.text}
    if said.tool:
        function = {"name": said.tool, "arguments": json.dumps(said.arguments)}
        message["tool_calls"] = [{"id": f"call_{mark}", "type": "function", "function": function}]
    usage = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}
    reason = "tool_calls" if said.tool else "stop"
    head = {"id": f"chatcmpl-{mark}", "created": 1700000000, "model": asked["model"]}
    if not asked.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
    head["object"] = "chat.completion.chunk"
    deltas: list[Json] = [{"role": "assistant", "content": None if said.tool else ""}]
    if said.tool:
        call = message["tool_calls"][0]
        deltas.append({"tool_calls": [{"index": 0, **call, "function": {"name": said.tool, "arguments": ""}}]})
        deltas += [
            {"tool_calls": [{"index": 0, "function": {"arguments": part}}]}
            for part in halves(json.dumps(said.arguments))
        ]
    else:
        deltas += [{"content": part} for part in halves(said.text)]
    events = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    events.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    if (asked.get("stream_options") or {}).get("include_usage"):
        events.append({**head, "choices": [], "usage": usage})
    return [("", event) for event in events]


def responses(asked: Json, mark: str) -> list[tuple[str, Json]] | Json:
    """Answer as OpenAI's responses do, as a whole or in events."""
    said = decide(asked, [tool["name"] for tool in asked.get("tools") or () if tool["type"] == "function"])
    item: Json
    if said.tool:
        item = {"type": "function_call", "id": f"fc_{mark}", "call_id": f"call_{mark}", "name": said.tool}
        item |= {"arguments": json.dumps(said.arguments), "status": "completed"}
    else:
        part = {"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}
        item = {"type": "message", "id": f"msg_{mark}", "role": "assistant", "status": "completed", "content": [part]}
    whole: Json = {"id": f"resp_{mark}", "object": "response", "created_at": 1700000000, "model": asked["model"]}
    whole |= {"status": "completed", "output": [item], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    whole |= {"error": None, "incomplete_details": None, "instructions": None, "metadata": {}}
    whole["usage"] = {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5}
    whole["usage"] |= {"output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 14}
    if not asked.get("stream"):
        return whole
    at: Json = {"output_index": 0, "item_id": item["id"]}
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[tuple[str, Json]] = [("response.created", {"response": begun})]
    if said.tool:
        fresh = {**item, "arguments": "", "status": "in_progress"}
        events.append(("response.output_item.added", {"output_index": 0, "item": fresh}))
        name = "response.function_call_arguments"
        events += [(f"{name}.delta", {**at, "delta": part}) for part in halves(item["arguments"])]
        events.append((f"{name}.done", {**at, "arguments": item["arguments"], "name": said.tool}))
    else:
        fresh = {**item, "content": [], "status": "in_progress"}
        at["content_index"] = 0
        events.append(("response.output_item.added", {"output_index": 0, "item": fresh}))
        empty = {**item["content"][0], "text": ""}
        events.append(("response.content_part.added", {**at, "part": empty}))
        name = "response.output_text"
        events += [(f"{name}.delta", {**at, "delta": part, "logprobs": []}) for part in halves(said.text)]
        events.append((f"{name}.done", {**at, "text": said.text, "logprobs": []}))
        events.append(("response.content_part.done", {**at, "part": item["content"][0]}))
    events.append(("response.output_item.done", {"output_index": 0, "item": item}))
    events.append(("response.completed", {"response": whole}))
    return [(kind, {"type": kind, "sequence_number": at, **event}) for at, (kind, event) in enumerate(events)]


def messages(asked: Json, mark: str) -> list[tuple[str, Json]] | Json:
    """Answer as Anthropic's messages do, as a whole or in events."""
    said = decide(asked, [tool["name"] for tool in asked.get("tools") or ()])
    block: Json = {"type": "text", "text": said.text}
    if said.tool:
        block = {"type": "tool_use", "id": f"toolu_{mark}", "name": said.tool, "input": said.arguments}
    whole: Json = {"id": f"msg_{mark}", "type": "message", "role": "assistant", "model": asked["model"]}
    whole |= {"content": [block], "stop_reason": "tool_use" if said.tool else "end_turn", "stop_sequence": None}
    whole["usage"] = {"input_tokens": 9, "output_tokens": 5}
    if not asked.get("stream"):
        return whole
    begun = {**whole, "content": [], "stop_reason": None}
    if said.tool:
        fresh, text, key, kind = {**block, "input": {}}, json.dumps(said.arguments), "partial_json", "input_json_delta"
    else:
        fresh, text, key, kind = {**block, "text": ""}, said.text, "text", "text_delta"
    events: list[tuple[str, Json]] = [("message_start", {"message": begun})]
    events.append(("content_block_start", {"index": 0, "content_block": fresh}))
    events += [("content_block_delta", {"index": 0, "delta": {"type": kind, key: part}}) for part in halves(text)]
    events.append(("content_block_stop", {"index": 0}))
    end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events.append(("message_delta", {"delta": end, "usage": {"output_tokens": 5}}))
    events.append(("message_stop", {}))
    return [(kind, {"type": kind, **event}) for kind, event in events]


def gemini(asked: Json, mark: str, streamed: bool) -> list[tuple[str, Json]] | Json:
    """Answer as Google's Gemini does, as a whole or in events; a call of a tool has no id there."""
    declared = [found for tool in asked.get("tools") or () for found in tool.get("functionDeclarations") or ()]
    said = decide(asked, [found["name"] for found in declared])
    texts = [said.text] if not streamed else halves(said.text)
    parts: list[Json] = [{"text": part} for part in texts]
    if said.tool:
        parts = [{"functionCall": {"name": said.tool, "args": said.arguments}}]
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 5, "totalTokenCount": 14}
    answers: list[Json] = []
    for part in parts:
        candidate: Json = {"content": {"role": "model", "parts": [part]}, "index": 0}
        answers.append({"candidates": [candidate], "modelVersion": "m", "responseId": mark, "usageMetadata": usage})
    answers[-1]["candidates"][0]["finishReason"] = "STOP"
    return [("", answer) for answer in answers] if streamed else answers[0]


def halves(text: str) -> list[str]:
    """Return a text in two pieces, so that a stream has to be put together."""
    middle = (len(text) + 1) // 2
    return [part for part in (text[:middle], text[middle:]) if part]


def answer(path: str, body: bytes) -> list[tuple[str, Json]] | Json:
    """Return the answer to a request: its events if it is streamed. Raises LookupError for a path of no format."""
    # Without the ids that it holds, which a client may have made up.
    asked, mark = json.loads(body), hashlib.sha256(_IDS.sub(b"", body)).hexdigest()[:12]
    route = path.partition("?")[0]
    if route.endswith("/chat/completions"):
        return chat(asked, mark)
    if route.endswith("/responses"):
        return responses(asked, mark)
    if route.endswith("/messages"):
        return messages(asked, mark)
    if route.endswith((":generateContent", ":streamGenerateContent")):
        return gemini(asked, mark, route.endswith("streamGenerateContent"))
    raise LookupError(path)


class Model(ThreadingHTTPServer):
    """The server: how many connections and requests it had; while it is `dead` each connection is closed at once,
    and else each answer takes `pause` seconds. Requests to `/mcp` are led to the server `behind` it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.dead, self.pause, self.behind = False, 0.0, ""
        self.connections = 0
        self.requests: list[str] = []

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Count a connection; a dead server takes none."""
        self.connections += 1
        return not self.dead

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Be silent of a client that leaves; what an agent makes of it is seen in its run."""

    def forget(self) -> None:
        """Count from nought again."""
        self.connections, self.requests = 0, []


class Handler(BaseHTTPRequestHandler):
    """Answers a request of any of the formats."""

    server: Model
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer as a whole or in events."""
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.requests.append(f"POST {self.path}")
        if self.server.dead:
            self.close_connection = True
            return
        if self.path.startswith("/mcp"):
            self.forward(body)
            return
        time.sleep(self.server.pause)
        try:
            found = answer(self.path, body)
        except (LookupError, ValueError) as error:
            self.send(400, "application/json", json.dumps({"error": {"message": repr(error)}}))
            return
        if isinstance(found, dict):
            self.send(200, "application/json", json.dumps(found))
            return
        lines = [(f"event: {kind}\n" if kind else "") + f"data: {json.dumps(event)}\n\n" for kind, event in found]
        told = "".join(lines)
        if "/chat/completions" in self.path:
            told += "data: [DONE]\n\n"
        self.send(200, "text/event-stream", told)

    def do_GET(self) -> None:
        """Have nothing to fetch, but what a server of MCP has."""
        self.server.requests.append(f"GET {self.path}")
        if self.path.startswith("/mcp"):
            self.forward(b"")
        else:
            self.send(404, "application/json", "{}")

    def do_DELETE(self) -> None:
        """End a session of MCP."""
        self.server.requests.append(f"DELETE {self.path}")
        self.forward(b"")

    def forward(self, body: bytes) -> None:
        """Ask the server behind, and send what it says as it comes."""
        there = http.client.HTTPConnection(self.server.behind)
        given = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        there.request(self.command, self.path, body or None, given)
        answer = there.getresponse()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        self.send_header("connection", "close")
        self.end_headers()
        while piece := answer.read1():
            self.wfile.write(piece)
        self.close_connection = True

    def send(self, status: int, kind: str, text: str) -> None:
        """Send an answer."""
        told = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, format: str, *args: object) -> None:
        """Be silent."""


@contextmanager
def scripted_model() -> Iterator[Model]:
    """Serve the model."""
    with Model() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()
