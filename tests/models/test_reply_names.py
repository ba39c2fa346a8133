"""The models that replied, and whether they are the one that was asked for."""

from __future__ import annotations

import pytest

from pytest_recall.models.reply_names import is_asked_for, joined, replied_models
from pytest_recall.replay.exchange import Call


@pytest.mark.parametrize(
    ("selector", "replied"),
    [
        ("gpt-4o", "gpt-4o"),
        ("gpt-4o", "gpt-4o-2024-08-06"),
        ("openai:gpt-4o", "gpt-4o-2024-08-06"),
        ("openai:gpt-4o;http://127.0.0.1:1/v1", "gpt-4o"),
        ("http://127.0.0.1:1/v1#llama3", "llama3:latest"),
        ("http://127.0.0.1:1/v1", "whatever"),
        ("anthropic:claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
        ("openai/gpt-4o", "GPT-4o"),
        ("gpt-4", "gpt-4-0613"),
        ("gemini-1.5-pro", "models/gemini-1.5-pro-002"),
        ("claude:opus", "claude-opus-4-1"),
        ("azure:our-deployment", "gpt-4o"),
        ("python:ours:model", "gpt-4o"),
        ("gpt-4o", "text-embedding-3-small, gpt-4o-2024-08-06"),
        ("openai:small-1", "openai:small-1"),
    ],
)
def test_a_model_that_was_asked_for(selector: str, replied: str) -> None:
    assert is_asked_for(selector, replied)


@pytest.mark.parametrize(
    ("selector", "replied"),
    [
        ("gpt-4o", "gpt-4o-mini"),
        ("gpt-4o-mini", "gpt-4o"),
        ("openai:gpt-4o", "gpt-4o-mini-2024-07-18"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06"),
        ("small-2026-05", "large-2026-05"),
        ("small-2026-05", "small-2026-11"),
        ("m-1", "m-2"),
        ("claude:opus", "claude-sonnet-4-5"),
        ("gpt-4o", "gpt-4o-mini, text-embedding-3-small"),
    ],
)
def test_another_model(selector: str, replied: str) -> None:
    assert not is_asked_for(selector, replied)


def test_those_of_the_agent_in_the_order_of_its_calls() -> None:
    calls = [
        *(Call("agent", "live", "b"), Call("judge", "live", "j"), Call("worker", "replayed", "a")),
        *(Call("agent", "live", "b"), Call("agent", "live"), Call("agent", "live", "c", trouble="http-500")),
    ]
    assert replied_models(calls) == ("b", "a")
    assert joined(replied_models(calls)) == "b, a"
    assert joined(replied_models(calls[1:2])) is None
    assert len(replied_models(Call("agent", "live", f"m{number}") for number in range(9))) == 4


def test_a_name_is_one_line() -> None:
    assert replied_models([Call("agent", "live", "a\n\x1b[31mb")])[0].isprintable()
