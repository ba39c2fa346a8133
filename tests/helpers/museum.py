"""An endpoint in OpenAI's format that answers a question with the sentence of its system prompt that fits best.

It stands for the reader's model in the tutorial: what the agent tells it decides what it says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler

from tests.helpers.loopback import Loopback


@contextmanager
def endpoint() -> Iterator[dict[str, str]]:
    """Serve, and yield the environment in which OpenAI's client asks there."""
    with closing(Loopback(_complete)) as server:
        yield {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "none-needed"}


def _complete(handler: BaseHTTPRequestHandler) -> None:
    asked = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
    said = [message["content"] for message in asked["messages"]]
    text = _answer(said[0], said[-1])
    usage = {"prompt_tokens": len(" ".join(said).split()), "completion_tokens": len(text.split())}
    body = json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": asked["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": {**usage, "total_tokens": sum(usage.values())},
        }
    ).encode()
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def _answer(system: str, question: str) -> str:
    words = set(re.findall(r"[a-z]{4,}", question.lower()))
    sentences = re.split(r"(?<=\.)\s+", system.replace("\n", " "))
    best = max(sentences, key=lambda one: sum(len(word) for word in words if word in one.lower()))
    return best if any(word in best.lower() for word in words) else "I do not know."
