"""Bodies as the vendors of models document them, by wire format, with what is to be read out of them."""

from __future__ import annotations

import json
import struct
import zlib
from base64 import b64encode
from typing import Any

from hypothesis import strategies as st

from pytest_recall.replay.exchange import Request, Response, Tokens
from pytest_recall.replay.wire_formats import usage_of

JSON = "application/json"
SSE = "text/event-stream; charset=utf-8"
ASKED = Request("POST", "https://api.openai.com/v1/chat/completions", (), b'{"model": "asked", "messages": []}')


def answered(body: bytes, kind: str = JSON, *, request: Request = ASKED, encoding: str = "", **more: Any) -> Any:
    """Return what is read out of a response with this body."""
    headers = [("Content-Type", kind)] + ([("Content-Encoding", encoding)] if encoding else [])
    chunks = more.pop("chunks", (body,))
    return usage_of(request, Response(200, "OK", tuple(headers), chunks, **more))


def plain(document: object) -> bytes:
    """Return a JSON body."""
    return json.dumps(document).encode()


def events(*documents: dict[str, Any], names: bool = False, end: str = "") -> bytes:
    """Return server-sent events, with their types as names if the vendor sends these."""
    told = [
        (f"event: {document['type']}\n" if names else "") + f"data: {json.dumps(document)}\n\n"
        for document in documents
    ]
    return ("".join(told) + end).encode()


def frame(payload: bytes, headers: bytes = b"\x0b:event-type\x07\x00\x08metadata") -> bytes:
    """Return a message of an AWS event stream."""
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))


CHAT = {
    "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
    "object": "chat.completion",
    "created": 1741569952,
    "model": "gpt-4.1-2025-04-14",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hello!", "refusal": None, "annotations": []},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": {
        "prompt_tokens": 2006,
        "completion_tokens": 300,
        "total_tokens": 2306,
        "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 128, "audio_tokens": 0},
    },
    "service_tier": "default",
}


def chunk(content: str | None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a chunk of a streamed chat completion."""
    delta = {} if content is None else {"content": content}
    return {
        "id": "chatcmpl-123",
        "object": "chat.completion.chunk",
        "created": 1694268190,
        "model": "gpt-4o-mini-2024-07-18",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
        **more,
    }


CHAT_STREAM: list[dict[str, Any]] = [
    chunk("", usage=None),
    chunk("Hello", usage=None),
    chunk(None, "stop", usage=None),
    {
        **chunk(None),
        "choices": [],
        "usage": {
            "prompt_tokens": 19,
            "completion_tokens": 10,
            "total_tokens": 29,
            "prompt_tokens_details": {"cached_tokens": 0},
        },
    },
]

RESPONSE = {
    "id": "resp_67ccd2bed1ec8190b14f964abc054267",
    "object": "response",
    "status": "completed",
    "model": "gpt-4.1-2025-04-14",
    "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}],
    "usage": {
        "input_tokens": 328,
        "input_tokens_details": {"cached_tokens": 128},
        "output_tokens": 52,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 380,
    },
}
RESPONSE_STREAM: list[dict[str, Any]] = [
    {"type": "response.created", "response": {**RESPONSE, "status": "in_progress", "output": [], "usage": None}},
    {"type": "response.output_text.delta", "item_id": "msg_67c9", "output_index": 0, "delta": "Hi"},
    {"type": "response.completed", "response": RESPONSE},
]

EMBEDDINGS = {
    "object": "list",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.0023064255, -0.009327292]}],
    "model": "text-embedding-3-small",
    "usage": {"prompt_tokens": 8, "total_tokens": 8},
}

MESSAGE = {
    "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5-20250929",
    "content": [{"type": "text", "text": "Hi! My name is Claude."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 50,
        "cache_creation_input_tokens": 248,
        "cache_read_input_tokens": 1800,
        "cache_creation": {"ephemeral_5m_input_tokens": 148, "ephemeral_1h_input_tokens": 100},
        "output_tokens": 503,
        "service_tier": "standard",
    },
}
STARTED = {
    "input_tokens": 25,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 1800,
    "output_tokens": 1,
}
MESSAGE_STREAM: list[dict[str, Any]] = [
    {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None, "usage": STARTED}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": None}, "usage": {"output_tokens": 9}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 15}},
    {"type": "message_stop"},
]

GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent"
GEMINI = {
    "candidates": [
        {"content": {"parts": [{"text": "Four."}], "role": "model"}, "finishReason": "STOP", "index": 0},
    ],
    "usageMetadata": {
        "promptTokenCount": 1030,
        "cachedContentTokenCount": 1000,
        "candidatesTokenCount": 4,
        "thoughtsTokenCount": 60,
        "toolUsePromptTokenCount": 7,
        "totalTokenCount": 1101,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 1030}],
    },
    "modelVersion": "gemini-2.5-flash",
    "responseId": "mAitaLmkHPPlz7IPvtfUqQ4",
}
GEMINI_STREAM: list[dict[str, Any]] = [
    {
        "candidates": [{"content": {"parts": [{"text": "Fo"}], "role": "model"}, "index": 0}],
        "usageMetadata": {"promptTokenCount": 30, "candidatesTokenCount": 1, "totalTokenCount": 31},
        "modelVersion": "gemini-2.5-flash",
    },
    {
        "candidates": [{"content": {"parts": [{"text": "ur."}], "role": "model"}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 30, "candidatesTokenCount": 4, "totalTokenCount": 34},
        "modelVersion": "gemini-2.5-flash",
    },
]

CONVERSE_URL = (
    "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse"
)
CONVERSE_USAGE = {
    "inputTokens": 30,
    "outputTokens": 628,
    "totalTokens": 1682,
    "cacheReadInputTokens": 1024,
    "cacheWriteInputTokens": 0,
}
CONVERSE = {
    "output": {"message": {"role": "assistant", "content": [{"text": "Hi"}]}},
    "stopReason": "end_turn",
    "usage": CONVERSE_USAGE,
    "metrics": {"latencyMs": 1275},
}

OLLAMA = {
    "model": "llama3.2",
    "created_at": "2023-12-12T14:13:43.416799Z",
    "message": {"role": "assistant", "content": "Hello!"},
    "done": True,
    "total_duration": 5191566416,
    "prompt_eval_count": 26,
    "prompt_eval_duration": 383809000,
    "eval_count": 298,
    "eval_duration": 4799921000,
}
OLLAMA_STREAM = b"".join(
    plain(document) + b"\n"
    for document in (
        {"model": "llama3.2", "message": {"role": "assistant", "content": "The"}, "done": False},
        {**OLLAMA, "message": {"role": "assistant", "content": ""}},
    )
)

CONVERSE_STREAM = frame(plain({"contentBlockIndex": 0, "delta": {"text": "Hi"}, "p": "abcd"})) + frame(
    plain({"metrics": {"latencyMs": 1}, "usage": CONVERSE_USAGE, "p": "abcdefg"})
)
INVOKE_STREAM = b"".join(
    frame(plain({"bytes": b64encode(plain(document)).decode(), "p": "ab"})) for document in MESSAGE_STREAM
)
AMAZON = "application/vnd.amazon.eventstream"

FORMATS: dict[str, tuple[bytes, str, str, Tokens]] = {
    "chat": (plain(CHAT), JSON, "gpt-4.1-2025-04-14", Tokens(86, 300, 1920)),
    "chat, streamed": (
        events(*CHAT_STREAM, end="data: [DONE]\n\n"),
        SSE,
        "gpt-4o-mini-2024-07-18",
        Tokens(19, 10, 0),
    ),
    "responses": (plain(RESPONSE), JSON, "gpt-4.1-2025-04-14", Tokens(200, 52, 128)),
    "responses, streamed": (events(*RESPONSE_STREAM, names=True), SSE, "gpt-4.1-2025-04-14", Tokens(200, 52, 128)),
    "embeddings": (plain(EMBEDDINGS), JSON, "text-embedding-3-small", Tokens(8)),
    "messages": (plain(MESSAGE), JSON, "claude-sonnet-4-5-20250929", Tokens(50, 503, 1800, 248)),
    "messages, streamed": (
        events(*MESSAGE_STREAM, names=True),
        SSE,
        "claude-sonnet-4-5-20250929",
        Tokens(25, 15, 1800, 0),
    ),
    "gemini": (plain(GEMINI), JSON, "gemini-2.5-flash", Tokens(37, 64, 1000)),
    "gemini, streamed": (events(*GEMINI_STREAM), SSE, "gemini-2.5-flash", Tokens(30, 4)),
    "gemini, streamed as a list": (plain(GEMINI_STREAM), JSON, "gemini-2.5-flash", Tokens(30, 4)),
    "converse": (plain(CONVERSE), JSON, "asked", Tokens(30, 628, 1024, 0)),
    "converse, streamed": (CONVERSE_STREAM, AMAZON, "asked", Tokens(30, 628, 1024, 0)),
    "invoke, streamed": (INVOKE_STREAM, AMAZON, "claude-sonnet-4-5-20250929", Tokens(25, 15, 1800, 0)),
    "ollama": (plain(OLLAMA), JSON, "llama3.2", Tokens(26, 298)),
    "ollama, streamed": (OLLAMA_STREAM, "application/x-ndjson", "llama3.2", Tokens(26, 298)),
}


def cut(body: bytes, size: int) -> tuple[bytes, ...]:
    """Return the body in pieces."""
    return tuple(body[start : start + size] for start in range(0, len(body), size))


# What looks like a body, for hypothesis.
known_words = st.sampled_from(
    [
        "type",
        "message",
        "message_start",
        "message_delta",
        "usage",
        "model",
        "object",
        "response",
        "response.completed",
        "usageMetadata",
        "choices",
        "candidates",
        "finishReason",
        "prompt_tokens",
        "completion_tokens",
        "prompt_tokens_details",
        "cached_tokens",
        "input_tokens",
        "output_tokens",
        "promptTokenCount",
        "candidatesTokenCount",
        "inputTokens",
        "eval_count",
        "x_groq",
        "bytes",
        "eyJ9",
    ]
)
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | known_words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(known_words, inner, max_size=6),
    max_leaves=20,
)
kinds = st.sampled_from([JSON, SSE, AMAZON, ""])
