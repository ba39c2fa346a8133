"""Chat completions, through the real SDK against a loopback server."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pytest_recall.models.model import Ask, Message, ModelError
from pytest_recall.models.openai_chat import AZURE_VERSION
from pytest_recall.replay.exchange import Tokens
from tests.models.asking import SCHEMA, Clock, asks, model
from tests.models.endpoint import Answer, Asked, chat, endpoint, failure

pytest.importorskip("openai")


def test_a_reply_with_its_name_and_tokens() -> None:
    with endpoint(chat("yes")) as server, model(f"openai:m;{server.url}/v1") as one:
        reply = one.ask(asks(system="Be brief.", max_tokens=7, temperature=0.0, seed=3))
    assert (reply.text, reply.stop, reply.model, reply.attempts) == ("yes", "end", "m-2026", 1)
    assert reply.tokens == Tokens(input=6, output=5, cache_read=4)
    assert reply.ignored == ()
    (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Is it so?"}],
        "max_tokens": 7,
        "temperature": 0.0,
        "seed": 3,
    }
    assert asked.headers["authorization"] == "Bearer none"


def test_a_conversation_goes_as_it_is_and_what_is_not_given_is_left_out() -> None:
    ask = Ask(messages=(Message("user", "a"), Message("assistant", "b"), Message("user", "c")))
    with endpoint(chat()) as server, model(f"openai:m;{server.url}/v1") as one:
        one.ask(ask)
    body = server.asked[0].body
    assert [(m["role"], m["content"]) for m in body["messages"]] == [("user", "a"), ("assistant", "b"), ("user", "c")]
    assert body.keys() == {"model", "messages", "max_tokens"}


def test_the_endpoint_and_the_key_of_the_environment() -> None:
    with endpoint(chat()) as server:
        environ = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "sk-from-the-environment"}
        with model("openai:m", environ=environ) as one:
            one.ask(asks())
    assert server.asked[0].headers["authorization"] == "Bearer sk-from-the-environment"


@pytest.mark.parametrize(
    ("answer", "text", "stop"),
    [
        (chat("cut", "length"), "cut", "length"),
        (chat("", "content_filter"), "", "refused"),
        (chat(None, "stop", refusal="I cannot."), "I cannot.", "refused"),
        (chat(None), "", "end"),
        (failure(400, "filtered", "content_filter"), "", "refused"),
    ],
)
def test_how_a_reply_ends(answer: Answer, text: str, stop: str) -> None:
    with endpoint(answer) as server, model(f"openai:m;{server.url}/v1") as one:
        reply = one.ask(asks())
    assert (reply.text, reply.stop) == (text, stop)


def test_content_in_parts_is_joined() -> None:
    answer = chat()
    answer.body["choices"][0]["message"]["content"] = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    with endpoint(answer) as server, model(f"openai:m;{server.url}/v1") as one:
        assert one.ask(asks()).text == "ab"


# Schemas and other settings that an endpoint may refuse


def test_a_schema_is_sent_as_one() -> None:
    with endpoint(chat("{}")) as server, model(f"openai:m;{server.url}/v1") as one:
        assert one.ask(asks(schema=SCHEMA)).ignored == ()
    wanted = {"name": "reply", "schema": SCHEMA, "strict": True}
    assert server.asked[0].body["response_format"] == {"type": "json_schema", "json_schema": wanted}


@pytest.mark.parametrize(
    "loose",
    [
        {"type": "object", "properties": {"a": {}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"], "additionalProperties": False},
        {"type": "object", "properties": {"a": {"type": "object"}}, "required": ["a"], "additionalProperties": False},
    ],
)
def test_a_schema_that_cannot_be_strict_is_not_sent_as_strict(loose: Mapping[str, Any]) -> None:
    with endpoint(chat("{}")) as server, model(f"openai:m;{server.url}/v1") as one:
        one.ask(asks(schema=loose))
    assert server.asked[0].body["response_format"]["json_schema"]["strict"] is False


def test_a_refused_schema_is_asked_for_in_words_from_then_on() -> None:
    said: list[str] = []
    refusing = failure(400, "response_format is not something I know")
    with endpoint(refusing, chat("{}")) as server, model(f"openai:m;{server.url}/v1", said=said) as one:
        first, second = one.ask(asks(schema=SCHEMA)), one.ask(asks(schema=SCHEMA))
    assert (first.ignored, first.attempts) == (("schema",), 2)
    assert (second.ignored, second.attempts) == (("schema",), 1)
    for asked in server.asked[1:]:
        assert "response_format" not in asked.body
        assert "JSON Schema" in asked.body["messages"][0]["content"]
        assert '"passed"' in asked.body["messages"][0]["content"]
    assert said == [f"{one.name}: {server.url}/v1 takes no `schema`; it is asked for JSON in words"]


def picky(asked: Asked) -> Answer:
    """Refuse what newer models refuse, one at a time."""
    if "max_tokens" in asked.body:
        return failure(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    if "temperature" in asked.body:
        return failure(400, "Unsupported value: 'temperature' does not support 0.0 with this model.")
    return chat("fine")


def test_refused_settings_are_left_out_and_the_limit_has_two_names() -> None:
    with endpoint(picky) as server, model(f"openai:m;{server.url}/v1") as one:
        reply = one.ask(asks(temperature=0.0, max_tokens=9))
        assert one.ask(asks(temperature=0.0)).attempts == 1
    assert (reply.text, reply.attempts, reply.ignored) == ("fine", 3, ("temperature",))
    assert server.asked[2].body["max_completion_tokens"] == 9


def test_threads_that_learn_the_same_at_once_keep_the_limit() -> None:
    with endpoint(picky) as server, model(f"openai:m;{server.url}/v1") as one, ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: one.ask(asks()), range(24)))
    assert {reply.ignored for reply in replies} == {()}
    assert {reply.text for reply in replies} == {"fine"}


def test_a_limit_that_is_refused_under_both_names_is_left_out() -> None:
    refusing = failure(400, "unknown field max_tokens or max_completion_tokens")
    with endpoint(refusing, refusing, chat()) as server, model(f"openai:m;{server.url}/v1") as one:
        assert one.ask(asks()).ignored == ("max_tokens",)
    assert not {"max_tokens", "max_completion_tokens"} & server.asked[2].body.keys()


def test_a_limit_that_is_too_high_is_a_mistake_and_is_kept() -> None:
    with (
        endpoint(failure(400, "max_tokens is too large: 99999")) as server,
        model(f"openai:m;{server.url}/v1") as one,
        pytest.raises(ModelError, match="answered 400: max_tokens is too large: 99999; change what is asked"),
    ):
        one.ask(asks(max_tokens=99_999))
    assert len(server.asked) == 1


def test_an_ask_that_is_too_long_for_a_schema_is_only_too_long() -> None:
    answer = failure(400, "9000 tokens, 100 of them in the schema", "context_length_exceeded")
    with endpoint(answer) as server, model(f"openai:m;{server.url}/v1") as one, pytest.raises(ModelError, match="9000"):
        one.ask(asks(schema=SCHEMA))
    assert len(server.asked) == 1


@pytest.mark.parametrize(("text", "key"), [("\ud800", "x"), ("fine", "ключ")])
def test_what_cannot_be_sent_is_one_sentence(text: str, key: str) -> None:
    with endpoint(chat()) as server, model(f"openai:m;{server.url}/v1", environ={"OPENAI_API_KEY": key}) as one:
        with pytest.raises(ModelError, match="a character cannot be sent; look at the prompt and at OPENAI_API_KEY"):
            one.ask(asks(text))
        assert server.asked == []


# Endpoints without the name of a model


def listing(*names: str) -> Answer:
    return Answer(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in names]})


def test_the_only_model_of_an_endpoint() -> None:
    with endpoint(listing("qwen3"), chat()) as server, model(f"{server.url}/v1") as one:
        one.ask(asks())
        one.ask(asks())
    assert [asked.path for asked in server.asked] == ["/v1/models", *["/v1/chat/completions"] * 2]
    assert server.asked[1].body["model"] == "qwen3"


def test_one_of_several_models_has_to_be_named() -> None:
    with (
        endpoint(listing("a:8b", "b")) as server,
        model(f"{server.url}/v1") as one,
        pytest.raises(ModelError, match=rf"which model\? write {server.url}/v1#ID with one of .*: a:8b, b"),
    ):
        one.ask(asks())


# Azure


def test_azure() -> None:
    with endpoint(chat("yes")) as server:
        environ = {"AZURE_OPENAI_API_KEY": "azure-key-123", "AZURE_OPENAI_ENDPOINT": server.url}
        with model("azure:mine", environ=environ) as one:
            assert one.ask(asks()).text == "yes"
        with model(f"azure:mine;{server.url}", environ={**environ, "AZURE_OPENAI_API_VERSION": "2030-01-01"}) as one:
            one.ask(asks())
    first, second = server.asked
    assert first.path == f"/openai/deployments/mine/chat/completions?api-version={AZURE_VERSION}"
    assert first.headers["api-key"] == "azure-key-123"
    assert first.body["max_completion_tokens"] == 1024
    assert second.path.endswith("api-version=2030-01-01")


# What is missing, and what goes wrong


@pytest.mark.parametrize(
    ("selector", "environ", "sentence"),
    [
        ("openai", {}, "openai: there is no key; set OPENAI_API_KEY"),
        ("azure:x", {}, "there is no AZURE_OPENAI_API_KEY and no AZURE_OPENAI_ENDPOINT; set"),
        ("azure:x", {"AZURE_OPENAI_ENDPOINT": "http://127.0.0.1"}, "azure:x: there is no AZURE_OPENAI_API_KEY; set"),
    ],
)
def test_a_missing_key_is_found_before_anything_is_asked(selector: str, environ: dict[str, str], sentence: str) -> None:
    with model(selector, environ=environ) as one:
        for check in (one.ready, lambda: one.ask(asks())):
            with pytest.raises(ModelError, match=sentence):
                check()


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (
            failure(401, "Incorrect API key provided: sk-secret-4711"),
            r"401: Incorrect .*: \[OPENAI_API_KEY\]; check OPEN",
        ),
        (failure(401, "Incorrect key: sk-pr***********xyz."), r"401: Incorrect key: \[key\]; check OPENAI_API_KEY"),
        (failure(404, "no such model"), "answered 404: no such model; check the id of the model and the URL"),
        (failure(400, "bad"), "answered 400: bad; change what is asked"),
        (failure(429, "no money", "insufficient_quota"), "answered 429: no money; add money to the account"),
        (Answer(400, b"plain words"), "answered 400: plain words; change"),
        (Answer(200, b"<html>hi</html>"), "something that is not a reply, '<html>hi</html>'; check the URL"),
        (Answer(200, {"choices": []}), "something that is not a reply"),
        (Answer(200, {"choices": [{"message": {"content": 3}}]}), "something that is not a reply"),
        (Answer(200, []), "something that is not a reply"),
    ],
)
def test_what_is_not_tried_again(answer: Answer, sentence: str) -> None:
    environ = {"OPENAI_API_KEY": "sk-secret-4711"}
    with (
        endpoint(answer) as server,
        model(f"openai:m;{server.url}/v1", environ=environ) as one,
        pytest.raises(ModelError, match=sentence) as caught,
    ):
        one.ask(asks())
    assert len(server.asked) == 1
    assert not caught.value.temporary
    assert "secret-4711" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_busy_endpoint_is_asked_again_when_it_says() -> None:
    clock = Clock()
    busy = failure(429, "too many", retry_after="3")
    with (
        endpoint(busy, failure(529), Answer(0), chat()) as server,
        model(f"openai:m;{server.url}/v1", clock=clock) as one,
    ):
        assert one.ask(asks()).attempts == 4
    assert clock.slept == [3.25, 0.5, 1.0]


def test_a_broken_endpoint_is_given_up() -> None:
    with (
        endpoint(failure(500, "broken")) as server,
        model(f"openai:m;{server.url}/v1", attempts=3) as one,
        pytest.raises(ModelError, match=r"tried 3 times: .* answered 500: broken; try again later") as caught,
    ):
        one.ask(asks())
    assert len(server.asked) == 3
    assert caught.value.temporary


def test_an_endpoint_that_asks_for_too_long_is_given_up_at_once() -> None:
    with (
        endpoint(failure(429, "wait", retry_after="3600")) as server,
        model(f"openai:m;{server.url}/v1") as one,
        pytest.raises(ModelError, match="answered 429") as caught,
    ):
        one.ask(asks())
    assert len(server.asked) == 1
    assert caught.value.after == 3600


def test_no_server_and_no_answer() -> None:
    with endpoint(chat()) as server:
        gone = server.url
    with (
        model(f"openai:m;{gone}/v1", attempts=2) as one,
        pytest.raises(ModelError, match=rf"tried 2 times: {gone}/v1 cannot be reached .*check the URL"),
    ):
        one.ask(asks())
    with (
        endpoint(lambda asked: server.hang(asked)) as server,
        model(f"openai:m;{server.url}/v1", attempts=1, timeout=0.3) as one,
    ):
        with pytest.raises(ModelError, match=r"did not answer within 0\.3 s; try again later") as caught:
            one.ask(asks())
        assert caught.value.temporary


def test_threads_share_one_client() -> None:
    with endpoint(chat()) as server, model(f"openai:m;{server.url}/v1") as one, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: one.ask(asks()), range(16)))
        client = one._client()  # type: ignore[attr-defined]
        assert one._client() is client  # type: ignore[attr-defined]
    assert len(server.asked) == 16
