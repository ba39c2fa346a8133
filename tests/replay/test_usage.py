"""Models and tokens out of the bodies of each wire format, streamed or not, whole or broken."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay import wire_formats
from pytest_recall.replay.exchange import Request, Tokens
from pytest_recall.replay.wire_formats import provider_of
from tests.helpers.samples import costly, unhurried
from tests.replay.upstreams import (
    AMAZON,
    ASKED,
    CHAT,
    CHAT_STREAM,
    CONVERSE,
    CONVERSE_STREAM,
    CONVERSE_URL,
    FORMATS,
    GEMINI_STREAM,
    GEMINI_URL,
    INVOKE_STREAM,
    JSON,
    MESSAGE_STREAM,
    RESPONSE,
    RESPONSE_STREAM,
    SSE,
    answered,
    chunk,
    cut,
    documents,
    events,
    frame,
    kinds,
    plain,
)

every_format = pytest.mark.parametrize(
    ("body", "kind", "model", "tokens"), FORMATS.values(), ids=[name.replace(", ", "-") for name in FORMATS]
)


@every_format
def test_a_format(body: bytes, kind: str, model: str, tokens: Tokens) -> None:
    assert answered(body, kind) == (model, tokens)


@every_format
def test_the_content_type_may_be_wrong(body: bytes, kind: str, model: str, tokens: Tokens) -> None:
    if kind != AMAZON:  # binary, and not to be guessed
        assert answered(body, "application/octet-stream") == (model, tokens)


@every_format
@pytest.mark.parametrize("encoding", ["gzip", "X-GZIP", "deflate", "raw deflate", "identity"])
def test_content_encodings(body: bytes, kind: str, model: str, tokens: Tokens, encoding: str) -> None:
    packer = zlib.compressobj(wbits=-15)
    packed = {
        "gzip": gzip.compress(body),
        "X-GZIP": gzip.compress(body),
        "deflate": zlib.compress(body),
        "raw deflate": packer.compress(body) + packer.flush(),
        "identity": body,
    }[encoding]
    assert answered(packed, kind, encoding=encoding.removeprefix("raw ")) == (model, tokens)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, deflate", "nonsense"])
def test_other_content_encodings_are_unknown(encoding: str) -> None:
    assert answered(plain(CHAT), encoding=encoding) == ("asked", None)


def test_a_body_that_is_not_in_its_encoding_is_unknown() -> None:
    assert answered(plain(CHAT), encoding="gzip") == ("asked", None)
    assert answered(plain(CHAT), encoding="deflate") == ("asked", None)
    assert answered(gzip.compress(plain(CHAT)) + b"more", encoding="gzip") == ("asked", None)


@every_format
@pytest.mark.parametrize("size", [1, 7, 64])
def test_chunks_do_not_matter(body: bytes, kind: str, model: str, tokens: Tokens, size: int) -> None:
    assert answered(b"", kind, chunks=cut(body, size)) == (model, tokens)
    assert answered(b"", kind, chunks=cut(gzip.compress(body), size), encoding="gzip") == (model, tokens)


@given(st.sampled_from(list(FORMATS.values())), st.lists(st.integers(0, 4000), max_size=12))
@unhurried
def test_any_chunks_do_not_matter(sample: tuple[bytes, str, str, Tokens], places: Sequence[int]) -> None:
    body, kind, model, tokens = sample
    edges = [0, *sorted(min(place, len(body)) for place in places), len(body)]
    chunks = tuple(body[start:end] for start, end in pairwise(edges))
    assert answered(b"", kind, chunks=chunks) == (model, tokens)


# Streams


@pytest.mark.parametrize("newline", [b"\r\n", b"\r", b"\n"])
def test_ends_of_lines(newline: bytes) -> None:
    body, kind, model, tokens = FORMATS["messages, streamed"]
    assert answered(body.replace(b"\n", newline), kind) == (model, tokens)


def test_an_event_over_several_lines_with_comments_and_a_byte_order_mark() -> None:
    pretty = json.dumps(RESPONSE_STREAM[2], indent=1).replace("\n", "\ndata: ")
    body = f"\ufeff: keep-alive\n\nevent: response.completed\nid: 3\ndata:{pretty}\n\n".encode()
    assert answered(body, SSE) == ("gpt-4.1-2025-04-14", Tokens(200, 52, 128))


def test_the_last_event_may_lack_its_blank_line() -> None:
    assert answered(events(*CHAT_STREAM).rstrip(), SSE) == ("gpt-4o-mini-2024-07-18", Tokens(19, 10, 0))


def test_a_chat_stream_without_usage_is_unknown() -> None:
    told = events(*(chunk(word) for word in "abc"), chunk(None, "stop"), end="data: [DONE]\n\n")
    assert answered(told, SSE) == ("gpt-4o-mini-2024-07-18", None)
    assert answered(events(*CHAT_STREAM[:-1]), SSE) == ("gpt-4o-mini-2024-07-18", None)


def test_words_of_an_answer_are_no_counts() -> None:
    told = events(chunk('{"usage": {"prompt_tokens": 1}}'), chunk(None, "stop"))
    assert answered(told, SSE) == ("gpt-4o-mini-2024-07-18", None)


def test_counts_while_a_chat_stream_runs_are_not_its_output() -> None:
    running = [chunk("a", usage={"prompt_tokens": 5, "completion_tokens": number}) for number in (1, 2)]
    assert answered(events(*running), SSE) == ("gpt-4o-mini-2024-07-18", Tokens(5))
    last = chunk(None, "length", usage={"prompt_tokens": 5, "completion_tokens": 3})
    assert answered(events(*running, last), SSE)[1] == Tokens(5, 3)


def test_groq_counts_in_an_extension() -> None:
    last = chunk(None, "stop", x_groq={"id": "req_01", "usage": {"prompt_tokens": 5, "completion_tokens": 3}})
    assert answered(events(chunk("a"), last), SSE)[1] == Tokens(5, 3)


@pytest.mark.parametrize("kind", ["response.incomplete", "response.failed"])
def test_a_response_that_ended_early_is_counted_too(kind: str) -> None:
    told = events(RESPONSE_STREAM[0], {"type": kind, "response": RESPONSE})
    assert answered(told, SSE)[1] == Tokens(200, 52, 128)


def test_a_message_that_was_dropped_has_input_but_no_output() -> None:
    """What message_start calls output is where the count starts, not what was paid for."""
    body = events(*MESSAGE_STREAM[:4])
    assert answered(body, SSE, complete=False) == ("claude-sonnet-4-5-20250929", Tokens(25, None, 1800, 0))
    squeezed = gzip.compress(body)[:-9]  # also where the end of the encoding is gone
    assert answered(squeezed, SSE, encoding="gzip", complete=False)[1] == Tokens(25, None, 1800, 0)


def test_a_message_delta_may_correct_the_input() -> None:
    delta = {"type": "message_delta", "delta": {}, "usage": {"input_tokens": 90, "output_tokens": 15}}
    assert answered(events(MESSAGE_STREAM[0], delta), SSE)[1] == Tokens(90, 15, 1800, 0)


def test_a_gemini_stream_that_was_dropped_has_input_but_no_output() -> None:
    assert answered(events(GEMINI_STREAM[0]), SSE)[1] == Tokens(30)


def test_a_cut_event_does_not_hide_the_others() -> None:
    body = events(*MESSAGE_STREAM) + b'data: {"type": "mess'
    assert answered(body, SSE)[1] == Tokens(25, 15, 1800, 0)


def test_a_cut_aws_stream_counts_what_came() -> None:
    assert answered(INVOKE_STREAM[:-30], AMAZON)[1] == Tokens(25, 15, 1800, 0)
    assert answered(CONVERSE_STREAM[:-1], AMAZON)[1] is None


# Counts


def test_buckets_do_not_overlap() -> None:
    details = {"cached_tokens": 1000, "cache_write_tokens": 500}
    chat = {**CHAT, "usage": {"prompt_tokens": 2006, "completion_tokens": 3, "prompt_tokens_details": details}}
    assert answered(plain(chat))[1] == Tokens(506, 3, 1000, 500)
    response = {**RESPONSE, "usage": {"input_tokens": 2006, "output_tokens": 3, "input_tokens_details": details}}
    assert answered(plain(response))[1] == Tokens(506, 3, 1000, 500)


def test_parts_that_exceed_their_sum_leave_it_unknown() -> None:
    used = {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 11}}
    assert answered(plain({**CHAT, "usage": used}))[1] == Tokens(None, 3, 11)


@pytest.mark.parametrize("name", ["prompt_cache_hit_tokens", "cached_tokens"])
def test_other_names_of_the_cached_tokens(name: str) -> None:
    used = {"prompt_tokens": 10, "completion_tokens": 3, name: 4}
    assert answered(plain({**CHAT, "usage": used}))[1] == Tokens(6, 3, 4)


def test_reasoning_beside_the_completion_is_output_too() -> None:
    used = {"prompt_tokens": 30, "completion_tokens": 8, "completion_tokens_details": {"reasoning_tokens": 200}}
    assert answered(plain({**CHAT, "usage": {**used, "total_tokens": 238}}))[1] == Tokens(30, 208)  # xAI
    assert answered(plain({**CHAT, "usage": {**used, "total_tokens": 38}}))[1] == Tokens(30, 8)
    assert answered(plain({**CHAT, "usage": used}))[1] == Tokens(30, 8)


@pytest.mark.parametrize("wrong", [True, -1, 1.5, "7", None, [], {}, 2**53])
def test_what_is_no_count_is_unknown(wrong: object) -> None:
    assert answered(plain({**CHAT, "usage": {"prompt_tokens": wrong, "completion_tokens": 3}}))[1] == Tokens(None, 3)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"7",
        b"[]",
        b"{}",
        b"<html>502 Bad Gateway</html>",
        b'{"error": {"message": "Rate limit reached", "type": "tokens"}}',
        b'{"usage": null}',
        b'{"usage": [1]}',
        b'{"type": "message", "usage": {}}',
        b'{"type": "message", "usage": {"input_tokens": null}}',
        b'{"type": "message_start", "message": 3}',
        b'{"type": "response.completed", "response": null}',
        b'{"created": 1, "data": [], "usage": {"input_tokens": 50, "output_tokens": 4160}}',  # images
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"prompt_eval_count": ' + b"9" * 5_000 + b"}",
        b"\xff\xfe\x00",
        b"data: {\n\ndata: [DONE]\n\n",
    ],
    ids=range(19),
)
@pytest.mark.parametrize("kind", [JSON, SSE, AMAZON])
def test_no_usage(body: bytes, kind: str) -> None:
    assert answered(body, kind) == ("asked", None)


# Models


def test_the_request_names_the_model_if_the_response_does_not() -> None:
    body = plain({**CHAT, "model": ""})
    assert answered(body) == ("asked", Tokens(86, 300, 1920))
    for asked in (b"", b"[]", b'{"model": 3}', b'{"model": ', b"\x00", b'{"model": "' + b"m" * 300 + b'"}'):
        assert answered(body, request=ASKED._replace(body=asked))[0] is None


@pytest.mark.parametrize(
    ("url", "model"),
    [
        (CONVERSE_URL, "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        (CONVERSE_URL + "-stream", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        (
            CONVERSE_URL.replace("/converse", "/invoke-with-response-stream"),
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        ),
        (
            "https://bedrock-runtime.us-east-1.amazonaws.com/model/"
            "arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.amazon.nova-pro-v1%3A0/converse",
            "us.amazon.nova-pro-v1:0",
        ),
        (GEMINI_URL, "gemini-2.5-flash"),
        (GEMINI_URL.replace("generateContent", "streamGenerateContent?alt=sse"), "gemini-2.5-flash"),
        ("http://[", "asked"),
        ("https://api.openai.com/v1/models/gpt-4o", "asked"),
    ],
)
def test_the_path_may_name_the_model(url: str, model: str) -> None:
    assert answered(plain(CONVERSE), request=ASKED._replace(url=url))[0] == model


# Bounds


def test_a_huge_body_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    body = plain(CHAT)
    monkeypatch.setattr(wire_formats, "LIMIT", len(body))
    assert answered(b"", chunks=cut(body, 9))[1] == Tokens(86, 300, 1920)
    assert answered(b"", chunks=(*cut(body, 9), b" ")) == ("asked", None)
    assert answered(gzip.compress(body), encoding="gzip")[1] == Tokens(86, 300, 1920)
    assert answered(gzip.compress(body + b" "), encoding="gzip") == ("asked", None)


def test_the_limit() -> None:
    assert wire_formats.LIMIT == 32 * 1024 * 1024
    bomb = gzip.compress(b"\n" * (wire_formats.LIMIT + 1))
    assert len(bomb) < 100_000
    assert answered(bomb, encoding="gzip") == ("asked", None)


def test_a_stream_of_too_many_lines_is_read_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    body = events(*MESSAGE_STREAM)
    monkeypatch.setattr(wire_formats, "EVENTS", body.count(b"\n") - 2)  # without message_stop
    assert answered(body, SSE)[1] == Tokens(25, 15, 1800, 0)
    monkeypatch.setattr(wire_formats, "EVENTS", 4)
    assert answered(body, SSE)[1] == Tokens(25, None, 1800, 0)
    monkeypatch.setattr(wire_formats, "EVENTS", 1)
    assert answered(CONVERSE_STREAM, AMAZON)[1] is None


@given(st.binary(), kinds, st.sampled_from(["", "gzip", "deflate", "br"]), st.text(), st.binary())
@unhurried
def test_never_raises_on_bytes(body: bytes, kind: str, encoding: str, url: str, asked: bytes) -> None:
    found = answered(body, kind, encoding=encoding, request=Request("POST", url, (), asked))
    assert found[1] is None or isinstance(found[1], Tokens)
    provider_of(url)


@given(st.lists(documents, min_size=1, max_size=5), kinds, st.booleans())
@costly
def test_never_raises_on_json(told: list[Any], kind: str, streamed: bool) -> None:
    texts = [json.dumps(document) for document in told]
    if kind == AMAZON:
        body = b"".join(frame(text.encode()) for text in texts)
    else:
        body = ("".join(f"data: {text}\n\n" for text in texts) if streamed else texts[0]).encode()
    model, tokens = answered(body, kind)
    assert model
    for count in tokens or ():
        assert count is None or (type(count) is int and count >= 0)


@given(st.sampled_from(list(FORMATS.values())), st.data())
@unhurried
def test_never_raises_on_a_damaged_body(sample: tuple[bytes, str, str, Tokens], data: st.DataObject) -> None:
    body = bytearray(sample[0])
    for place in data.draw(st.lists(st.integers(0, len(body) - 1), max_size=5)):
        body[place] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(body)))
    answered(bytes(body[:end]), sample[1])


# Providers


@pytest.mark.parametrize(
    ("url", "provider"),
    [
        ("https://api.openai.com/v1/chat/completions", "openai"),
        ("https://API.OpenAI.com.:443/v1", "openai"),
        ("https://eu.api.openai.com/v1", "openai"),
        ("https://api.anthropic.com/v1/messages", "anthropic"),
        ("https://mine.openai.azure.com/openai/deployments/x/chat/completions", "azure"),
        ("https://mine.services.ai.azure.com/models", "azure"),
        ("https://mine.cognitiveservices.azure.com/openai", "azure"),
        (GEMINI_URL, "google"),
        ("https://us-central1-aiplatform.googleapis.com/v1/projects/p", "google"),
        (CONVERSE_URL, "aws"),
        ("https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com/model/m/invoke", "aws"),
        ("https://openrouter.ai/api/v1/chat/completions", "openrouter"),
        ("https://api.mistral.ai/v1/chat/completions", "mistral"),
        ("https://api.groq.com/openai/v1/chat/completions", "groq"),
        ("https://api.x.ai/v1", "x-ai"),
        ("https://api.deepseek.com/chat/completions", "deepseek"),
        ("http://127.0.0.1:8080/v1/chat/completions", None),
        ("http://localhost:11434/api/chat", None),
        ("http://[::1]:11434/api/chat", None),
        ("https://api.openai.com.example.org/v1", None),
        ("https://example.org/api.openai.com", None),
        ("https://user:api.openai.com@example.org/", None),
        ("https://openai.azure.com/", None),
        ("https://s3.us-east-1.amazonaws.com/bedrock-runtime", None),
        ("not a URL", None),
        ("http://[", None),
        ("", None),
    ],
)
def test_provider(url: str, provider: str | None) -> None:
    assert provider_of(url) == provider


def test_the_blank_line_behind_the_last_event_may_be_left_out() -> None:
    whole = events(*CHAT_STREAM)
    assert answered(whole.rstrip(b"\n"), SSE) == answered(whole, SSE)
    assert answered(b'data: {"model":\ndata: "m"}', SSE) == ("m", None)


def test_what_bedrock_has_wrapped_up_may_be_no_base64() -> None:
    assert answered(b'{"bytes": "x", "usage": {"input_tokens": 3}}') == answered(b"{}")
