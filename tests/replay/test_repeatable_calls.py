"""Calls that a replay may repeat: which they are, and which recording of one is kept."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay.cassette_library import best
from pytest_recall.replay.exchange import Exchange, Failure, Request, Response
from pytest_recall.replay.repeatable_calls import RepeatableCalls, is_repeatable
from pytest_recall.replay.wire_formats import asks_model
from tests.replay.test_tape import RULES, tape_of


@pytest.mark.parametrize(
    ("url", "repeatable"),
    [
        ("https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken", True),
        ("https://RAW.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json", True),
        ("https://huggingface.co/org/model/resolve/main/tokenizer.json", True),
        ("https://oauth2.googleapis.com/token", True),
        ("https://sts.eu-west-1.amazonaws.com/", True),
        ("http://169.254.169.254/latest/api/token", True),
        ("http://127.0.0.1:8000/oauth2/token", False),
        ("https://api.openai.com/v1/models", False),
        ("http://127.0.0.1:8000/api/tags", False),
        ("https://api.example.com/search?q=huggingface.co", False),
        ("http://[broken", False),
    ],
)
def test_what_is_repeatable_is_known_by_its_host(url: str, repeatable: bool) -> None:
    assert is_repeatable(Request("GET", url)) is repeatable


def test_a_pattern_of_the_rubric_names_more() -> None:
    assert is_repeatable(Request("GET", "https://Example.com/data/x?y=1"), ["https://example.com/Data/*"])
    assert not is_repeatable(Request("GET", "https://example.com/other"), ["https://example.com/data/*"])


def test_a_pattern_with_a_method_is_for_that_one_only() -> None:
    asked = [Request(method, "https://example.com/status/7") for method in ("get", "POST")]
    assert [is_repeatable(one, ["GET https://example.com/status*"]) for one in asked] == [True, False]


@pytest.mark.parametrize(
    ("method", "headers", "repeatable"),
    [
        ("GET", {"accept": "text/event-stream", "mcp-session-id": "1"}, True),
        ("GET", {"Accept": "text/event-stream", "MCP-Protocol-Version": "2025-11-25"}, True),
        ("DELETE", {"mcp-session-id": "1"}, True),
        ("POST", {"accept": "text/event-stream", "mcp-session-id": "1"}, False),
        ("GET", {"accept": "application/json", "mcp-session-id": "1"}, False),
        ("GET", {"accept": "text/event-stream"}, False),
        ("DELETE", {}, False),
    ],
)
def test_a_stream_and_the_end_of_an_mcp_session_are_repeatable(
    method: str, headers: dict[str, str], repeatable: bool
) -> None:
    assert is_repeatable(Request(method, "http://h/mcp", tuple(headers.items()))) is repeatable


def call(key: str, status: int = 200, failed: bool = False, body: bytes = b"") -> Exchange:
    failure = Failure("ConnectError", "no") if failed else None
    return Exchange(key, 0, "agent", Request("GET", f"https://h/{key}"), Response(status, chunks=(body,)), failure)


CALLS = st.lists(
    st.builds(
        call,
        st.sampled_from("abc"),
        st.sampled_from([200, 304, 404, 500]),
        st.booleans(),
        st.sampled_from([b"x", b"y"]),
    ),
    max_size=8,
)


@given(CALLS, CALLS)
def test_an_answer_is_never_lost_and_different_ones_are_all_kept(before: list[Exchange], news: list[Exchange]) -> None:
    kept = best(before, news, RULES)
    assert all(one.response is not None and one.response.status != 304 for one in kept)
    for key in "abc":
        newest = next((some for some in (whole(news, key), whole(before, key)) if some), set())
        assert whole(kept, key) == newest
        assert sum(one.key == key for one in kept) <= max(len(newest), 1)
    assert best(kept, [], RULES) == kept
    assert [one.seq for one in kept] == list(range(len(kept)))


def test_what_a_header_tells_apart_is_kept_of_both_recordings() -> None:
    def of(tenant: str, body: bytes, at: str) -> Exchange:
        made = call("a", body=body)
        return made._replace(at=at, request=made.request._replace(others=(("x-tenant", tenant),)))

    acme, zen, foo = (
        of("111111", b"x", "2026-03-10"),
        of("222222", b"y", "2026-03-11"),
        of("333333", b"x", "2026-03-11"),
    )
    assert {one.request for one in best([acme], [zen], RULES)} == {acme.request, zen.request}
    assert {one.request for one in best([], [acme, zen, foo], RULES)} == {one.request for one in (acme, zen, foo)}
    assert [one.request for one in best([acme], [foo], RULES)] == [foo.request]


def whole(calls: list[Exchange], key: str) -> set[bytes]:
    """Return the different answers that these calls have to a request."""
    return {
        b"".join(one.response.chunks)
        for one in calls
        if one.key == key and one.failure is None and one.response is not None and one.response.status == 200
    }


@pytest.mark.parametrize(
    ("method", "url", "asks"),
    [
        ("POST", "https://api.openai.com/v1/anything", True),
        ("POST", "http://127.0.0.1:8000/v1/chat/completions", True),
        ("POST", "http://127.0.0.1:8000/v1/spans", False),
        ("GET", "https://api.openai.com/v1/chat/completions", False),
        ("POST", "http://[broken/v1/messages", False),
    ],
)
def test_what_asks_a_model_is_told_by_its_host_or_its_path(method: str, url: str, asks: bool) -> None:
    assert asks_model(Request(method, url)) is asks


def test_what_began_before_the_session_is_written_down_once_there_is_a_tape(tmp_path: Path) -> None:
    early, later = tape_of(tmp_path, mode="record"), tape_of(tmp_path, mode="record")
    early.draft_path = None
    before, shared = RepeatableCalls((), lambda: early), RepeatableCalls((), lambda: later)
    assert before.use() is early
    early.keep(call("ended"), record=True)
    before.hand_over(shared)
    early.keep(call("going on"), record=True)
    later.close()
    assert [made.exchange().key for made in later.made] == ["ended", "going on"]


def test_a_case_takes_what_it_has_not_recorded_only_if_there_is_one_answer(tmp_path: Path) -> None:
    for folder, answers in (("one", [b"x", b"x"]), ("two", [b"x", b"y"])):
        recorded = [
            call("k", body=body)._replace(seq=seq, at="2026-03-10", request=TOKEN) for seq, body in enumerate(answers)
        ]
        served = RepeatableCalls((), partial(tape_of, tmp_path / folder, *recorded)).serve(TOKEN)
        assert (served is not None) is (folder == "one")


TOKEN = Request("POST", "https://oauth2.googleapis.com/token", body=b"grant_type=client_credentials")
