"""The Messages API, through the real SDK against a loopback server."""

from __future__ import annotations

import pytest

from pytest_recall.models.model import ModelError
from pytest_recall.replay.exchange import Tokens
from tests.models.asking import SCHEMA, Clock, asks, model
from tests.models.endpoint import Answer, endpoint, message

pytest.importorskip("anthropic")


def refusal(status: int, text: str, kind: str = "invalid_request_error", **headers: str) -> Answer:
    return Answer(status, {"type": "error", "error": {"type": kind, "message": text}}, headers)


def test_a_reply_with_its_name_and_tokens() -> None:
    with endpoint(message("yes")) as server, model(f"anthropic:c;{server.url}") as one:
        reply = one.ask(asks(system="Be brief.", max_tokens=7, temperature=0.5, seed=3))
    assert (reply.text, reply.stop, reply.model, reply.attempts) == ("yes", "end", "c-2026", 1)
    assert reply.tokens == Tokens(input=6, output=5, cache_read=4, cache_write=0)
    assert reply.ignored == ("seed",)
    (asked,) = server.asked
    assert asked.path == "/v1/messages"
    assert asked.body == {
        "model": "c",
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Is it so?"}],
        "max_tokens": 7,
        "temperature": 0.5,
    }


def test_a_schema_is_sent_as_one() -> None:
    with endpoint(message("{}")) as server, model(f"anthropic:c;{server.url}") as one:
        assert one.ask(asks(schema=SCHEMA)).ignored == ()
    assert server.asked[0].body["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("output_config: Extra inputs are not permitted", "schema"),
        ("`temperature` is deprecated for this model.", "temperature"),
    ],
)
def test_a_refused_setting_is_left_out_from_then_on(text: str, name: str) -> None:
    said: list[str] = []
    with endpoint(refusal(400, text), message()) as server, model(f"anthropic:c;{server.url}", said=said) as one:
        reply = one.ask(asks(schema=SCHEMA, temperature=0.0))
        one.ask(asks(schema=SCHEMA, temperature=0.0))
    assert (reply.ignored, reply.attempts) == ((name,), 2)
    assert len(server.asked) == 3
    assert len(said) == 1
    assert ("JSON Schema" in server.asked[1].body.get("system", "")) == (name == "schema")


def test_the_limit_cannot_be_left_out() -> None:
    with (
        endpoint(refusal(400, "max_tokens: not supported")) as server,
        model(f"anthropic:c;{server.url}") as one,
        pytest.raises(ModelError, match="answered 400: max_tokens: not supported"),
    ):
        one.ask(asks())
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("given", "stop"),
    [
        ("stop_sequence", "end"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refused"),
    ],
)
def test_how_a_reply_ends(given: str, stop: str) -> None:
    with endpoint(message("x", given)) as server, model(f"anthropic:c;{server.url}") as one:
        assert one.ask(asks()).stop == stop


def test_the_key_and_the_endpoint_of_the_environment() -> None:
    with endpoint(message()) as server:
        environ = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-ant-of-mine"}
        with model("anthropic:c", environ=environ) as one:
            one.ready()
            one.ask(asks())
    assert "sk-ant-of-mine" in server.asked[0].headers.values() or (
        server.asked[0].headers["authorization"] == "Bearer sk-ant-of-mine"
    )


def test_a_missing_key(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    with (
        model("anthropic:c") as one,
        pytest.raises(ModelError, match=r"^anthropic:c: there is no key.*; set ANTHROPIC_API_KEY$"),
    ):
        one.ready()


def test_an_overloaded_endpoint_is_asked_again() -> None:
    clock = Clock()
    script = (refusal(529, "overloaded", "overloaded_error"), refusal(429, "slow", **{"retry-after-ms": "1500"}))
    with endpoint(*script, message()) as server, model(f"anthropic:c;{server.url}", clock=clock) as one:
        assert one.ask(asks()).attempts == 3
    assert clock.slept == [0.25, 2.0]


def test_an_answer_that_is_no_message() -> None:
    with (
        endpoint(Answer(200, {"content": "text"})) as server,
        model(f"anthropic:c;{server.url}") as one,
        pytest.raises(ModelError, match="something that is not a reply"),
    ):
        one.ask(asks())
