"""Which calls a batch takes, and what its results say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.models.batch import LIMITS, BatchApi, BatchItem, BatchLine, Door, Limit, item_of, line_of, lines_in
from pytest_recall.replay.exchange import Request
from tests.helpers.samples import costly

OPENAI = "https://api.openai.com/v1/chat/completions"
ANTHROPIC = "https://api.anthropic.com/v1/messages"
BODY: dict[str, Any] = {"model": "m", "messages": []}


def asked(url: str = OPENAI, body: Any = BODY, headers: tuple[tuple[str, str], ...] = ()) -> Request:
    return Request("POST", url, headers, json.dumps(body).encode())


def taken(request: Request, *hosts: str) -> BatchItem:
    item = item_of(request, hosts)
    assert isinstance(item, BatchItem)
    return item


class TestItem:
    """From a call to what a batch takes."""

    def test_one_for_openai_is_of_its_path_and_its_model(self) -> None:
        assert taken(asked()).door == Door("openai", "https://api.openai.com/v1", "/v1/chat/completions", model="m")

    def test_one_for_anthropic_may_be_of_any_model(self) -> None:
        door = Door("anthropic", "https://api.anthropic.com", "/v1/messages")
        assert taken(asked(ANTHROPIC)).door == door
        assert taken(asked(ANTHROPIC + "?beta=true")).door == door._replace(query="beta=true")

    @pytest.mark.parametrize("path", ["responses", "embeddings"])
    def test_other_endpoints_of_openai_are_taken(self, path: str) -> None:
        assert taken(asked(f"https://api.openai.com/v1/{path}")).door.path == f"/v1/{path}"

    def test_of_the_headers_only_those_are_kept_that_say_who_asks(self) -> None:
        given = (("Authorization", "Bearer k"), ("X-Stainless-OS", "Linux"), ("OpenAI-Project", "p"))
        told = (("authorization", "Bearer k"), ("openai-project", "p"))
        assert taken(asked(headers=given)).door.headers == told
        assert taken(asked(headers=given[::-1])).door.headers == told

    def test_a_gateway_is_taken_if_it_is_named(self) -> None:
        url = "http://localhost:4000/proxy/v1/chat/completions"
        assert taken(asked(url), "localhost").door.base_url == "http://localhost:4000/proxy/v1"
        assert taken(asked(url), "localhost:4000").door == taken(asked(url), "localhost").door
        refused = "to localhost, which is not `batch` under `calls` in the rubric"
        assert item_of(asked(url), ["localhost:4001"]) == refused

    def test_embeddings_count_by_their_texts(self) -> None:
        url = "https://api.openai.com/v1/embeddings"
        assert taken(asked(url, {"model": "m", "input": ["a", "b", "c"]})).weight == 3
        assert taken(asked(url, {"model": "m", "input": "a"})).weight == 1

    @pytest.mark.parametrize(
        ("request_", "why"),
        [
            (asked(body={**BODY, "stream": True}), "that stream"),
            (asked("https://api.openai.com/v1/images/generations"), "to an endpoint without batches"),
            (asked()._replace(method="GET"), "to an endpoint without batches"),
            (asked(OPENAI + "?api-version=1"), "with a query in the URL"),
            (asked(ANTHROPIC + "?other=1"), "with a query in the URL"),
            (asked(body=[1]), "whose body is no JSON object"),
            (asked()._replace(body=b"{"), "whose body is no JSON object"),
            (asked()._replace(body=b"\xff{"), "whose body is no JSON object"),
        ],
    )
    def test_what_is_not_taken_has_a_reason(self, request_: Request, why: str) -> None:
        assert item_of(request_, ()) == why

    @given(body=st.dictionaries(st.text(), st.text()), api=st.sampled_from(["openai", "anthropic"]))
    def test_the_size_is_what_the_call_adds(self, body: dict[str, str], api: BatchApi) -> None:
        body.pop("stream", None)
        item = taken(asked(OPENAI if api == "openai" else ANTHROPIC, body))
        assert item.size >= len(line_of(item.door, "k" * 38, item.body)) + 1
        assert json.loads(line_of(item.door, "id", item.body)) == (
            {"custom_id": "id", "method": "POST", "url": "/v1/chat/completions", "body": body}
            if api == "openai"
            else {"custom_id": "id", "params": body}
        )


def test_a_limit_holds_what_reaches_it_and_no_more() -> None:
    assert Limit(2, 10).holds(2, 10)
    assert not Limit(2, 10).holds(3, 10)
    assert not Limit(2, 10).holds(2, 11)
    assert LIMITS == {"openai": (50_000, 200_000_000), "anthropic": (100_000, 256_000_000)}


def read(api: BatchApi, *lines: Any) -> list[BatchLine]:
    return list(lines_in(api, b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)))


class TestLines:
    """From files of results to responses."""

    def test_an_answer_of_openai_is_that_of_the_direct_call(self) -> None:
        response = {"status_code": 200, "request_id": "req-1", "body": {"text": "a\u2028b"}}
        (line,) = read("openai", {"id": "x", "custom_id": "a", "response": response, "error": None})
        assert line.response is not None
        assert (line.custom_id, line.response.status, json.loads(line.response.body)) == (
            "a",
            200,
            {"text": "a\u2028b"},
        )
        assert line.response.header("content-type") == "application/json"
        assert line.response.header("x-request-id") == "req-1"

    def test_so_is_an_error(self) -> None:
        response = {"status_code": 429, "body": {"error": {"message": "slow down"}}}
        (line,) = read("openai", {"custom_id": "a", "response": response, "error": None})
        assert line.response is not None
        assert (line.response.status, json.loads(line.response.body)) == (429, response["body"])

    def test_what_expired_has_no_response(self) -> None:
        error = {"code": "batch_expired", "message": "too late"}
        assert read("openai", {"custom_id": "a", "response": None, "error": error}) == [
            BatchLine("a", None, "too late")
        ]

    @pytest.mark.parametrize(
        ("name", "status"),
        [("invalid_request_error", 400), ("rate_limit_error", 429), ("overloaded_error", 529), ("a_new_one", 500)],
    )
    def test_an_error_of_anthropic_has_the_status_of_the_direct_call(self, name: str, status: int) -> None:
        error = {"type": "error", "error": {"type": name, "message": "no"}, "request_id": "req_1"}
        (line,) = read("anthropic", {"custom_id": "a", "result": {"type": "errored", "error": error}})
        assert line.response is not None
        assert (line.response.status, json.loads(line.response.body)) == (status, error)
        assert line.response.header("request-id") == "req_1"

    @pytest.mark.parametrize(
        ("kind", "said"),
        [
            ("expired", "the request expired"),
            ("canceled", "the request was canceled"),
            ("succeeded", "there is neither a message nor an error"),
            (None, "there is neither a message nor an error"),
        ],
    )
    def test_what_ended_without_an_answer_says_so(self, kind: str | None, said: str) -> None:
        assert read("anthropic", {"custom_id": "a", "result": {"type": kind}}) == [BatchLine("a", None, said)]

    @given(data=st.binary(), api=st.sampled_from(["openai", "anthropic"]))
    def test_whatever_comes_is_read_or_passed_over(self, data: bytes, api: BatchApi) -> None:
        assert all(isinstance(line, BatchLine) for line in lines_in(api, data))

    @costly
    @given(
        line=st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: (
                st.lists(inner)
                | st.dictionaries(
                    st.sampled_from(["custom_id", "response", "result", "error", "body", "status_code", "type"]), inner
                )
            ),
        ),
        api=st.sampled_from(["openai", "anthropic"]),
    )
    def test_no_shape_of_a_line_is_too_odd(self, line: Any, api: BatchApi) -> None:
        for found in read(api, line):
            assert found.response is not None or found.problem

    @given(
        api=st.sampled_from(["openai", "anthropic"]),
        place=st.integers(0, 5),
        odd=st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.none(), max_size=1),
    )
    def test_a_line_with_one_odd_field_is_an_answer_or_says_why_not(self, api: BatchApi, place: int, odd: Any) -> None:
        body: dict[str, Any] = {"text": "a"}
        if api == "openai":
            inner: dict[str, Any] = {"status_code": 200, "request_id": "r", "body": body}
            line: dict[str, Any] = {"custom_id": "a", "response": inner, "error": None}
        else:
            inner = {"type": "succeeded", "message": body}
            line = {"custom_id": "a", "result": inner}
        fields = [(part, name) for part in (inner, line) for name in part if name != "custom_id"]
        part, name = fields[place % len(fields)]
        part[name] = odd
        (found,) = read(api, line)
        assert found.custom_id == "a"
        assert found.response is not None or found.problem
