"""Calls that all cases share: which they are, and which recording of one is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay.cassette_library import best
from pytest_recall.replay.exchange import Exchange, Failure, Request, Response
from pytest_recall.replay.unowned import is_shared


@pytest.mark.parametrize(
    ("method", "url"),
    [
        ("GET", "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"),
        ("GET", "http://127.0.0.1:8000/mirror/cl100k_base.tiktoken"),
        ("GET", "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json"),
        ("HEAD", "https://huggingface.co/org/model/resolve/main/tokenizer.json"),
        ("GET", "http://127.0.0.1:8000/.well-known/oauth-authorization-server?x=1"),
        ("GET", "https://WWW.googleapis.com/discovery/v1/apis/x/v1/rest"),
        ("GET", "https://user:secret@api.openai.com/v1/models"),
        ("POST", "https://oauth2.googleapis.com/token"),
        ("POST", "https://login.microsoftonline.com/tenant/oauth2/v2.0/token"),
        ("PUT", "http://169.254.169.254/latest/api/token"),
    ],
)
def test_these_are_shared(method: str, url: str) -> None:
    assert is_shared(method, url)


@pytest.mark.parametrize(
    ("method", "url"),
    [
        ("POST", "https://api.openai.com/v1/chat/completions"),
        ("GET", "https://api.example.com/search?q=/v1/models"),
        ("POST", "https://raw.githubusercontent.com/a/b"),
        ("POST", "https://example.com/.well-known/x"),
        ("GET", "http://[broken"),
    ],
)
def test_these_are_not(method: str, url: str) -> None:
    assert not is_shared(method, url)


def test_a_pattern_of_the_rubric_is_for_what_is_fetched() -> None:
    assert is_shared("GET", "https://Example.com/data/x?y=1", ["https://example.com/Data/*"])
    assert not is_shared("POST", "https://example.com/data/x", ["https://example.com/data/*"])


def call(key: str, status: int = 200, failed: bool = False) -> Exchange:
    failure = Failure("ConnectError", "no") if failed else None
    return Exchange(key, 0, "agent", Request("GET", f"https://h/{key}"), Response(status), failure)


CALLS = st.lists(
    st.builds(call, st.sampled_from("abc"), st.sampled_from([200, 304, 404, 500]), st.booleans()), max_size=8
)


@given(CALLS, CALLS)
def test_one_of_each_is_kept_and_an_answer_is_never_lost(before: list[Exchange], news: list[Exchange]) -> None:
    kept = best(before, news)
    keys = [one.key for one in kept]
    assert keys == sorted(set(keys))
    answered = {one.key for one in (*before, *news) if one.failure is None and one.response == Response(200)}
    assert {one.key for one in kept if one.failure is None and one.response == Response(200)} == answered
    assert all(one.response is not None and one.response.status != 304 for one in kept)
    assert best(kept, []) == kept
    assert [one.seq for one in kept] == list(range(len(kept)))
