#!/usr/bin/env python3
"""Stand before a model that calls no tools by itself, and let it: for recording the examples, not for running them.

    examples/call-tools.py [--port 18080] [--upstream http://127.0.0.1:18081]

Small models, and some servers of them, speak OpenAI's wire format without its tool calls. A request with `tools` is
sent on as one for JSON that fits a schema, one branch for each tool and one for a plain answer; the branch that the
model takes is put into `tool_calls`. What is called, and with which arguments, is the model's own choice. If it is a
step that it has taken before, the model is asked for an answer in words. Anything else is handed through as it is.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ASK = (
    "You can use these tools:\n{tools}\n\n"
    "You know nothing but what their results say, and what you do not do with a tool is not done. "
    'Take the next step as JSON: {{"tool": its name, "arguments": its arguments}}.{answer}'
)
ANSWER = ' Only once the results hold what was asked for, or no tool fits: {"answer": what you say to the user}.'


def translated(body: dict[str, Any]) -> dict[str, Any]:
    """Return the request for JSON that stands for a request with tools."""
    tools = [tool["function"] for tool in body["tools"]]
    defs: dict[str, Any] = {}
    branches = []
    choice = body.get("tool_choice", "auto")
    forced = choice["function"]["name"] if isinstance(choice, dict) else None
    for tool in tools:
        if forced in (None, tool["name"]):
            parameters = dict(tool.get("parameters") or {"type": "object", "properties": {}})
            # References are from the root, so what they refer to moves there.
            defs |= parameters.pop("$defs", {})
            branches.append(_object(tool=_one(tool["name"]), arguments=parameters))
    if free := choice == "auto":
        branches.append(_object(answer={"type": "string"}))
    schema = {"anyOf": branches, "$defs": defs} if len(branches) > 1 else branches[0] | {"$defs": defs}
    told = "\n".join(f"- {t['name']}: {t.get('description', '')} {json.dumps(t.get('parameters', {}))}" for t in tools)
    rules = {"role": "system", "content": ASK.format(tools=told, answer=ANSWER if free else "")}
    wanted = {"type": "json_schema", "json_schema": {"name": "step", "schema": schema}}
    return _without_tools(body) | {
        "messages": _merged([*map(_plain, body["messages"]), rules]),
        "response_format": wanted,
    }


def repeats(body: dict[str, Any], completion: dict[str, Any]) -> bool:
    """Whether a step that the model chose freely is one that it has taken already."""
    made = [call["function"] for message in body["messages"] for call in message.get("tool_calls") or ()]
    new = [call["function"] for call in completion["choices"][0]["message"].get("tool_calls") or ()]
    return body.get("tool_choice", "auto") == "auto" and any(
        call["name"] == old["name"] and json.loads(call["arguments"]) == json.loads(old["arguments"] or "{}")
        for call in new
        for old in made
    )


def untooled(body: dict[str, Any]) -> dict[str, Any]:
    """Return the request for an answer in words, after what the tools have said so far."""
    rule = {"role": "system", "content": "Nothing is left to be done. Tell the user what the results say, in words."}
    # The calls are left out: the model would write one more, as text.
    said = [_plain(message) for message in body["messages"] if not message.get("tool_calls")]
    return _without_tools(body) | {"messages": _merged([*said, rule])}


def answered(completion: dict[str, Any]) -> dict[str, Any]:
    """Return the completion with the step that the model took as a tool call or as text."""
    choice = completion["choices"][0]
    try:
        step = json.loads(choice["message"]["content"])
    except ValueError:  # Cut off by `max_tokens`: what there is, is text.
        return completion
    if "answer" in step:
        choice["message"]["content"] = step["answer"]
        return completion
    arguments = json.dumps(step["arguments"])
    name = f"call_{hashlib.sha256((completion['id'] + arguments).encode()).hexdigest()[:12]}"
    call = {"id": name, "type": "function", "function": {"name": step["tool"], "arguments": arguments}}
    choice |= {"message": {"role": "assistant", "content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}
    return completion


def _without_tools(body: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in body.items() if k not in ("tools", "tool_choice", "parallel_tool_calls", "stream")}


def _one(name: str) -> dict[str, Any]:
    return {"type": "string", "enum": [name]}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message of a conversation with tools as one without."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content)
    if message["role"] == "tool":
        return {
            "role": "user",
            "content": f"Result: {content}",
        }
    if calls := message.get("tool_calls"):
        call = calls[0]["function"]
        step = {"tool": call["name"], "arguments": json.loads(call["arguments"] or "{}")}
        return {"role": "assistant", "content": json.dumps(step)}
    return {"role": message["role"], "content": content or ""}


def _merged(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with the system ones as one, first."""
    system = [m["content"] for m in messages if m["role"] in ("system", "developer")]
    rest = [m for m in messages if m["role"] not in ("system", "developer")]
    return [{"role": "system", "content": "\n\n".join(system)}, *rest]


class Proxy(BaseHTTPRequestHandler):
    """One request, sent on and answered."""

    upstream = ""

    def do_POST(self) -> None:
        """Send the request on; with tools, as one for JSON."""
        data = self.rfile.read(int(self.headers.get("content-length", 0)))
        body = json.loads(data)
        if not body.get("tools") or body.get("tool_choice") == "none":
            self._hand_through(data)
            return
        status, completion = self._ask(translated(body))
        if status == 200:
            completion = answered(completion)
            if repeats(body, completion):  # Small models go round in circles; what is known by now has to do.
                status, completion = self._ask(untooled(body))
        text = json.dumps(completion).encode()
        self._begin(status, "application/json")
        self.wfile.write(text)

    def _ask(self, body: dict[str, Any]) -> tuple[int, Any]:
        with self._sent(json.dumps(body).encode()) as reply:
            return reply.status, json.loads(reply.read())

    def _hand_through(self, data: bytes) -> None:
        with self._sent(data) as reply:
            self._begin(reply.status, reply.headers.get("content-type", "application/json"))
            while piece := reply.read1(65536):  # A stream goes on piece by piece, as it comes.
                self.wfile.write(piece)

    def _sent(self, data: bytes) -> Any:
        request = urllib.request.Request(self.upstream + self.path, data, {"content-type": "application/json"})
        try:
            return urllib.request.urlopen(request, timeout=600)
        except urllib.error.HTTPError as error:
            return error

    def _begin(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.end_headers()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=18080)
    parser.add_argument("--upstream", default="http://127.0.0.1:18081", help="the server of the model")
    args = parser.parse_args()
    Proxy.upstream = args.upstream.rstrip("/")
    with ThreadingHTTPServer(("127.0.0.1", args.port), Proxy) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
