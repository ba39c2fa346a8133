"""Calls that all cases share: which they are, and which recording of one is kept."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay.call_recorder import CallStep
from pytest_recall.replay.cassette_library import best
from pytest_recall.replay.exchange import Exchange, Failure, Request, Response
from pytest_recall.replay.player import Player
from pytest_recall.replay.unowned import SharedCalls, is_shared
from pytest_recall.replay.wire_formats import asks_model
from tests.replay.test_tape import tape_of


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


def test_a_forked_process_writes_no_shared_call(tmp_path: Path) -> None:
    tape = tape_of(tmp_path, mode="record")
    shared, counts = SharedCalls("record", (), lambda: tape), Counter[tuple[str, str]]()
    asked = Request("GET", "https://h/cl100k_base.tiktoken")
    found = shared.step(asked, counts)
    assert found is not None
    assert found.record
    tape.process = -1  # What a forked process has is a copy of the tape of its parent.
    assert shared.step(asked, counts) == CallStep()


def test_a_thread_of_before_is_of_the_case_where_it_asks_what_the_case_asks(tmp_path: Path) -> None:
    url = "http://upstream/status"
    recorded = Exchange("", 0, "agent", Request("GET", url), Response(200), at="2026-03-10")
    player, begin, served = Player("replay"), threading.Event(), []

    def ask_both() -> None:
        begin.wait(20)
        for request in (Request("GET", url, body=b"more"), Request("GET", "http://elsewhere/")):
            served.append(player.ask(request).served)

    thread = threading.Thread(target=ask_both)
    thread.start()
    with player.playing(tape_of(tmp_path, recorded)) as tape:
        begin.set()
        thread.join()
    assert [one.failure is not None or one.response is not None for one in served if one is not None] == [True, True]
    assert [miss.partition(";")[0] for miss in tape.misses] == [f"case: GET {url} is not recorded"]
    assert dict(player.aside) == {("background", "GET http://elsewhere/"): 1}
