"""Tokens counted from texts: by wire format, as far as an answer came, and not where the vendor states them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay.exchange import Request, Response, Tokens
from pytest_recall.replay.token_estimate import (
    IMAGE_TOKENS,
    answer_tokens,
    reply_limit,
    request_tokens,
    with_estimate,
    writes,
)
from pytest_recall.replay.wire_formats import AnswerBody, documents, usage_in
from tests.replay.upstreams import CHAT, JSON, SSE, events, frame, plain

CHAT_URL = "https://api.openai.com/v1/chat/completions"


def asked(body: Any = None, url: str = CHAT_URL) -> Request:
    return Request("POST", url, (), plain({"model": "m", "messages": []} if body is None else body))


def answer(body: bytes, kind: str = SSE, status: int = 200, **more: Any) -> AnswerBody:
    return AnswerBody.of(Response(status, "OK", (("content-type", kind),), (body,), **more))


def chunk(**delta: Any) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": delta}]}


WORD = "w" * 30
"""Ten tokens by its length."""
STREAMS: dict[str, tuple[bytes, int]] = {
    "chat": (
        events(chunk(role="assistant", content=""), chunk(content=WORD), chunk(content=WORD), end="data: [DONE]"),
        20,
    ),
    "chat tools": (
        events(chunk(tool_calls=[{"index": 0, "id": "call", "function": {"name": "", "arguments": WORD}}])),
        10,
    ),
    "chat reasoning": (events(chunk(reasoning_content=WORD), chunk(content=WORD)), 20),
    "completions": (events({"object": "text_completion", "choices": [{"text": WORD, "index": 0}]}), 10),
    "responses": (
        events(
            {"type": "response.created", "response": {"status": "in_progress", "instructions": WORD, "output": []}},
            {"type": "response.output_text.delta", "delta": WORD},
            {"type": "response.function_call_arguments.delta", "delta": WORD},
            {"type": "response.output_text.done", "text": WORD},
        ),
        20,
    ),
    "anthropic": (
        events(
            {"type": "message_start", "message": {"role": "assistant", "content": [], "model": "m"}},
            {"type": "content_block_start", "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "delta": {"type": "text_delta", "text": WORD}},
            {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": WORD}},
            {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": WORD}},
            names=True,
        ),
        30,
    ),
    "gemini": (
        events(
            {
                "candidates": [
                    {"content": {"role": "model", "parts": [{"text": WORD}, {"functionCall": {"name": WORD}}]}}
                ]
            }
        ),
        20,
    ),
    "cohere": (
        events(
            {"type": "content-delta", "delta": {"message": {"content": {"text": WORD}}}},
            {"event_type": "text-generation", "text": WORD},
            {"event_type": "stream-end", "response": {"text": WORD}},
        ),
        20,
    ),
    "ollama": (plain({"model": "m", "message": {"content": WORD}}) + b"\n" + plain({"response": WORD}) + b"\n", 20),
}


@pytest.mark.parametrize("name", STREAMS)
def test_the_text_of_a_stream_is_counted_once(name: str) -> None:
    body, count = STREAMS[name]
    assert answer_tokens(documents(answer(body))) == count


def test_a_stream_of_bedrock() -> None:
    body = frame(plain({"contentBlockIndex": 0, "delta": {"text": WORD}})) * 2
    assert answer_tokens(documents(answer(body + body[:20], "application/vnd.amazon.eventstream"))) == 20


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_that_was_cut_counts_what_came(name: str) -> None:
    body, count = STREAMS[name]
    assert 0 <= answer_tokens(documents(answer(body[: len(body) // 2], complete=False))) <= count


@pytest.mark.parametrize(("text", "count"), [("", 0), ("a", 1), ("abc", 1), ("abcd", 2), ("漢字", 2), ("Привет", 4)])
def test_three_bytes_a_token(text: str, count: int) -> None:
    assert answer_tokens(documents(answer(events(chunk(content=text))))) == count


class TestWithEstimate:
    """What a response lacks."""

    @pytest.mark.parametrize(
        "url",
        [
            CHAT_URL,
            "https://api.mistral.ai/v1/chat/completions",
            "http://gateway.example/openai/deployments/x/chat/completions?api-version=1",
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
            "https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse-stream",
        ],
    )
    def test_a_stream_without_usage_has_its_texts(self, url: str) -> None:
        request = asked(url=url)
        found, estimated = with_estimate(None, request, answer(STREAMS["chat"][0]))
        assert (found, estimated) == (Tokens(-(-len(request.body) // 3), 20), True)

    def test_what_the_vendor_states_stays(self) -> None:
        response = answer(plain(CHAT), JSON)
        tokens = usage_in(asked(), response)[1]
        assert with_estimate(tokens, asked(), response) == (tokens, False)

    def test_of_a_stream_that_was_cut_the_input_is_as_its_first_event_has_it(self) -> None:
        start = {"type": "message_start", "message": {"usage": {"input_tokens": 7, "output_tokens": 1}, "content": []}}
        body = events(start, {"type": "content_block_delta", "delta": {"type": "text_delta", "text": WORD}})
        request = asked(url="https://api.anthropic.com/v1/messages")
        response = answer(body, complete=False)
        tokens = usage_in(request, response)[1]
        assert with_estimate(tokens, request, response) == (Tokens(7, 10), True)

    def test_a_whole_answer_without_usage_has_its_text(self) -> None:
        whole = {**CHAT, "choices": [{"message": {"content": WORD}, "finish_reason": "stop"}]}
        del whole["usage"]
        assert with_estimate(None, asked(), answer(plain(whole), JSON))[0] == Tokens(request_tokens(asked()), 10)

    def test_embeddings_have_no_output(self) -> None:
        request = asked(url="https://api.openai.com/v1/embeddings")
        response = answer(plain({"data": [{"embedding": [0.5] * 99}]}), JSON)
        assert with_estimate(None, request, response) == (Tokens(request_tokens(request), 0), True)
        assert with_estimate(Tokens(5), request, response) == (Tokens(5), False)

    @pytest.mark.parametrize(
        ("request_", "response"),
        [
            (asked(), answer(b"{}", JSON, 429)),
            (asked()._replace(method="GET"), answer(b"{}", JSON)),
            (asked(url="https://api.openai.com/v1/files"), answer(b"{}", JSON)),
            (asked(url="https://api.anthropic.com/v1/messages/count_tokens"), answer(b"{}", JSON)),
            (asked(url="https://generativelanguage.googleapis.com/v1beta/models/g:countTokens"), answer(b"{}", JSON)),
            (asked(url="https://search.example/find"), answer(b"{}", JSON)),
            (asked(url="command:///claude"), answer(b"{}", JSON)),
            (
                asked(url="https://api.openai.com/v1/responses"),
                answer(plain({"object": "response", "status": "queued", "output": []}), JSON),
            ),
        ],
    )
    def test_what_is_not_billed_by_its_text_gets_none(self, request_: Request, response: AnswerBody) -> None:
        assert with_estimate(None, request_, response) == (None, False)


def test_cohere_states_what_it_bills() -> None:
    request = asked(url="https://api.cohere.com/v2/chat")
    billed = {"billed_units": {"input_tokens": 5, "output_tokens": 9}, "tokens": {"input_tokens": 71}}
    for document in ({"usage": billed}, {"type": "message-end", "delta": {"usage": billed}}, {"meta": billed}):
        assert usage_in(request, answer(plain(document), JSON))[1] == Tokens(5, 9)


def test_an_image_counts_no_more_than_vendors_bill_for_one() -> None:
    image = "iVBORw0KGgo" + "A" * 2_000_000
    text = request_tokens(asked({"messages": [{"content": [{"image_url": {"url": "data:image/png;base64,"}}]}]}))
    found = request_tokens(
        asked({"messages": [{"content": [{"image_url": {"url": f"data:image/png;base64,{image}"}}]}]})
    )
    assert found == pytest.approx(text + IMAGE_TOKENS, abs=2)


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        ({}, None),
        ({"max_tokens": 5}, 5),
        ({"max_completion_tokens": 5, "n": 3}, 15),
        ({"max_output_tokens": 7}, 7),
        ({"generationConfig": {"maxOutputTokens": 9}}, 9),
        ({"inferenceConfig": {"maxTokens": 11}}, 11),
        ({"options": {"num_predict": -1}}, None),
        ({"max_tokens": "5"}, None),
        ([], None),
    ],
)
def test_how_long_a_reply_may_be(body: Any, limit: int | None) -> None:
    assert reply_limit(asked(body)) == limit


def test_what_is_no_json_says_nothing() -> None:
    assert reply_limit(Request("POST", CHAT_URL, (), b"{")) is None
    assert writes(Request("POST", "http://[", (), b"")) is None


@given(
    st.binary(max_size=200), st.binary(max_size=200), st.sampled_from([JSON, SSE, "application/vnd.amazon.eventstream"])
)
def test_whatever_the_bytes_are_a_count_comes_out(body: bytes, reply: bytes, kind: str) -> None:
    found, estimated = with_estimate(None, Request("POST", CHAT_URL, (), body), answer(reply, kind))
    assert estimated
    assert found is not None
    assert (found.input or 0) >= 0
    assert (found.output or 0) >= 0


@given(
    st.recursive(st.text(max_size=9), lambda inner: st.dictionaries(st.sampled_from(["text", "content", "x"]), inner))
)
def test_no_more_than_the_text_itself_is_counted(value: Any) -> None:
    document = json.dumps({"choices": [{"delta": value}]}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    assert answer_tokens(documents(answer(document, JSON))) <= len(document) // 3 + 1
