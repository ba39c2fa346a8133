"""Ids of calls: a request is the same with other ones, unless a result belongs to another call."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_recall.replay.equality import key_of
from pytest_recall.replay.exchange import Request
from pytest_recall.replay.matching import Rules, VolatileText, numbered, with_known_ids
from pytest_recall.replay.nearest_request import nearest_request
from tests.helpers.samples import costly

RULES = Rules()
Turn = tuple[str, str, str]
"""The id, the arguments and the result of a call."""


def chat(turns: list[Turn]) -> tuple[str, Any]:
    """Return a request to OpenAI, Mistral, Cohere or Ollama after these calls."""
    calls = [{"id": one, "type": "function", "function": {"name": "f", "arguments": told}} for one, told, _ in turns]
    results = [{"role": "tool", "tool_call_id": one, "content": said} for one, _, said in turns]
    asked = {"role": "user", "content": "ask", "id": "kept"}
    called = {"role": "assistant", "content": None, "tool_calls": calls}
    return "https://api.example.com/v1/chat/completions", {"model": "m", "messages": [asked, called, *results]}


def anthropic(turns: list[Turn]) -> tuple[str, Any]:
    """Return a request to Anthropic after these calls."""
    calls = [{"type": "tool_use", "id": one, "name": "f", "input": {"id": told}} for one, told, _ in turns]
    results = [{"type": "tool_result", "tool_use_id": one, "content": said} for one, _, said in turns]
    said = [{"role": "assistant", "content": [{"type": "text", "text": "x", "id": "kept"}, *calls]}]
    return "https://api.example.com/v1/messages", {
        "model": "m",
        "max_tokens": 9,
        "messages": [*said, {"role": "user", "content": results}],
    }


def bedrock(turns: list[Turn]) -> tuple[str, Any]:
    """Return a request to Bedrock after these calls."""
    calls = [{"toolUse": {"toolUseId": one, "name": "f", "input": {"toolUseId": told}}} for one, told, _ in turns]
    results = [{"toolResult": {"toolUseId": one, "content": [{"text": said}]}} for one, _, said in turns]
    said = [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    return "https://bedrock.example.com/model/m/converse", {"messages": said}


def gemini(turns: list[Turn]) -> tuple[str, Any]:
    """Return a request to Gemini after these calls."""
    calls = [{"functionCall": {"id": one, "name": "f", "args": {"id": told}}} for one, told, _ in turns]
    results = [{"functionResponse": {"id": one, "name": "f", "response": {"id": said}}} for one, _, said in turns]
    said = [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]
    return "https://generative.example.com/v1beta/models/m:generateContent", {"contents": said}


def snake(turns: list[Turn]) -> tuple[str, Any]:
    """Return the same as a client that writes the names of fields in the other way."""
    url, body = gemini(turns)
    text = json.dumps(body).replace("functionCall", "function_call").replace("functionResponse", "function_response")
    return url, json.loads(text)


def responses(turns: list[Turn]) -> tuple[str, Any]:
    """Return a request to the Responses API of OpenAI after these calls."""
    items: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "input_text", "text": "ask", "id": "kept"}]}]
    items += [{"type": "reasoning", "id": f"rs_{one}", "summary": []} for one, _, _ in turns]
    items += [
        {"type": "function_call", "id": f"fc_{one}", "call_id": one, "name": "f", "arguments": told}
        for one, told, _ in turns
    ]
    items += [{"type": "function_call_output", "call_id": one, "output": said} for one, _, said in turns]
    return "https://api.example.com/v1/responses", {"model": "m", "input": items}


APIS = (chat, anthropic, bedrock, gemini, snake, responses)
Api = Callable[[list[Turn]], tuple[str, Any]]
every_api = pytest.mark.parametrize("api", APIS, ids=lambda api: api.__name__)

_words = st.text("abc019-_", min_size=1, max_size=6)
turns = st.lists(st.tuples(_words, _words, _words), min_size=2, max_size=4, unique_by=lambda turn: turn[0])


def key(asked: tuple[str, Any]) -> str:
    """Return the key of a request."""
    url, body = asked
    return key_of(Request("POST", url, (), json.dumps(body).encode()), RULES)


@costly  # Each example is one for each API.
@given(turns=turns, data=st.data())
def test_other_ids_make_no_other_request(turns: list[Turn], data: st.DataObject) -> None:
    others = data.draw(st.lists(_words, min_size=len(turns), max_size=len(turns), unique=True))
    renamed = [(other, told, said) for other, (_, told, said) in zip(others, turns, strict=True)]
    for api in APIS:
        assert key(api(renamed)) == key(api(turns))
        (url, one), (_, other) = api(turns), api(renamed)
        asked = [Request("POST", url, (), json.dumps(body).encode()) for body in (one, other)]
        assert nearest_request(asked[0], asked[1:], RULES) == (0, [])


@costly  # Each example is one for each API.
@given(turns=turns)
def test_whose_result_it_is_does(turns: list[Turn]) -> None:
    (first, told, said), (second, other, answered), *more = turns
    assume(said != answered)
    swapped = [(first, told, answered), (second, other, said), *more]
    for api in APIS:
        assert key(api(swapped)) != key(api(turns))


@every_api
def test_results_in_another_order_are_told_by_their_calls(api: Api) -> None:
    """Both bodies hold the same results in the same order, of calls that are the other way round."""
    url, body = api([("x", "1", "same"), ("y", "2", "same")])
    text = json.dumps(body)
    place = max(text.rfind('"x"'), 0)
    swapped = text[:place] + text[place:].replace('"x"', '"z"').replace('"y"', '"x"').replace('"z"', '"y"')
    swapped = swapped if place < text.rfind('"y"') else text
    both = [Request("POST", url, (), one.encode()) for one in (text, swapped)]
    assert swapped != text
    assert key_of(both[0], RULES) != key_of(both[1], RULES)


@costly  # Each example is one for each API.
@given(turns=turns)
def test_twice_is_once_and_the_body_stays_as_it_is(turns: list[Turn]) -> None:
    for api in APIS:
        url, body = api(turns)
        before = copy.deepcopy(body)
        once = numbered(url, body)
        assert body == before
        assert numbered(url, once) == once
        assert once != body


@costly  # Each example is one for each API.
@given(turns=turns, order=st.randoms(use_true_random=False))
def test_the_order_of_keys_says_nothing(turns: list[Turn], order: Any) -> None:
    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            names = list(value)
            order.shuffle(names)
            return {name: shuffled(value[name]) for name in names}
        return [shuffled(item) for item in value] if isinstance(value, list) else value

    for api in APIS:
        url, body = api(turns)
        assert key((url, shuffled(body))) == key((url, body))


@costly  # Each example is one for each API.
@given(turns=turns)
def test_nothing_else_changes(turns: list[Turn]) -> None:
    """All texts of the bodies that are no ids stay, those that read like one as well."""

    def places(value: Any, path: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], Any]:
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        found = {path: value} if not isinstance(value, dict | list) else {}
        for name, item in items:
            found |= places(item, (*path, name))
        return found

    for api in APIS:
        url, body = api(turns)
        before, after = places(body), places(numbered(url, body))
        assert before.keys() == after.keys()
        differ = {path for path in before if before[path] != after[path] or type(before[path]) is not type(after[path])}
        assert {path[-1] for path in differ} <= {"id", "tool_call_id", "tool_use_id", "toolUseId", "call_id"}
        assert all("input" not in path[1:] and "args" not in path and "response" not in path for path in differ)
        assert not any(before[path] == "kept" for path in differ)
        assert all(type(after[path]) is int for path in differ)


def test_an_item_of_no_known_kind_keeps_its_id() -> None:
    url, _ = responses([])
    both = [{"model": "m", "input": [{"id": one, "text": "a"}]} for one in ("x", "y")]
    assert [numbered(url, body) for body in both] == both
    assert key((url, both[0])) != key((url, both[1]))


def test_one_id_has_one_number() -> None:
    url, body = chat([("b", "", ""), ("a", "", "")])
    found = numbered(url, body)["messages"]
    assert [call["id"] for call in found[1]["tool_calls"]] == [1, 2]
    assert [message["tool_call_id"] for message in found[2:]] == [1, 2]
    assert found[0] is not body["messages"][0]
    assert found[0] == body["messages"][0]


@pytest.mark.parametrize(
    ("url", "body"),
    [
        ("https://api.example.com/v1/chat", {"messages": [{"tool_calls": [{"id": "x"}]}]}),  # of no provider
        ("https://api.example.com/v1/chat", {"messages": [{"role": "user", "content": [{"type": "text", "id": "x"}]}]}),
        ("https://api.example.com/v1/chat", {"messages": [{"role": "user", "id": "x", "content": "tool_call_id"}]}),
        ("https://api.example.com/v1/batch", {"input": [{"type": "function_call", "id": "x", "name": "f"}]}),
        ("https://api.example.com/v1/responses", {"input": [{"type": "item_reference", "id": "x"}]}),
        ("https://api.example.com/v1/responses", {"input": [{"type": "image_generation_call", "id": "x"}]}),
        ("https://api.example.com/v1/responses", {"input": [{"type": "function_call_output", "call_id": "x"}]}),
        ("https://api.example.com/v1/responses", {"input": "x", "previous_response_id": "x"}),
        ("https://api.example.com/rpc", {"jsonrpc": "2.0", "id": "x", "method": "tools/call"}),
        ("https://api.example.com/v1/x", {"id": "x", "items": [{"id": "x", "call_id": "x"}]}),
        ("https://api.example.com/v1/x", [{"id": "x"}]),
        ("https://api.example.com/v1/x", "tool_call_id"),
        ("https://api.example.com/v1/x", {"messages": "x", "contents": {"parts": []}, "input": None}),
        ("https://api.example.com/v1/x", {"messages": [1, None, {"role": 1, "tool_calls": {"id": "x"}, "content": 3}]}),
        ("https://api.example.com/v1/x", {"contents": [{"parts": [{"functionCall": "x"}, {"id": "x"}, 7]}, []]}),
        ("https://api.example.com/v1/x", {"messages": [{"role": "tool", "tool_call_id": None}]}),
        ("https://api.example.com/v1/x", {"messages": [{"role": "tool", "tool_call_id": 7}]}),
    ],
)
def test_other_ids_stay(url: str, body: Any) -> None:
    assert numbered(url, body) == body


def test_what_is_kept_on_the_server_is_told_by_its_id() -> None:
    """Of two calls that are not in the body either may be the first to have its result."""
    url = "https://api.example.com/v1/responses"
    one, other = (
        {"previous_response_id": "r", "input": [{"type": "function_call_output", "call_id": name, "output": "1"}]}
        for name in "ab"
    )
    assert key((url, one)) != key((url, other))
    known = {"type": "function_call", "call_id": "a", "name": "f", "id": "fc_1"}
    both = numbered(url, {"input": [known, *one["input"], *other["input"], {"type": "item_reference", "id": "fc_1"}]})
    assert [item.get("call_id") for item in both["input"]] == [2, 2, "b", None]
    assert both["input"][-1]["id"] == both["input"][0]["id"] == 1


def test_the_ids_of_a_provider_are_in_no_way_of_what_the_rubric_leaves_out() -> None:
    rules = Rules(["messages.*.tool_calls", "messages.*.content"], texts=[VolatileText("body.model", r"\d+")])
    url, body = chat([("x", "", ""), ("y", "", "")])
    found = rules.stripped(url, body)
    assert [message.get("tool_call_id") for message in found["messages"]] == [None, None, 1, 2]


@costly  # Each example is one for each API.
@given(turns=turns, data=st.data())
def test_ids_that_no_answer_has_given_are_stored_the_same_each_time(turns: list[Turn], data: st.DataObject) -> None:
    others = data.draw(st.lists(_words, min_size=len(turns), max_size=len(turns), unique=True))
    renamed = [(other, told, said) for other, (_, told, said) in zip(others, turns, strict=True)]
    for api in APIS:
        sent = [Request("POST", url, (), json.dumps(body).encode()) for url, body in (api(turns), api(renamed))]
        stored = [with_known_ids(request, lambda text: False) for request in sent]
        assert stored[0] == stored[1] != sent[0]
        assert key_of(stored[0], RULES) == key_of(sent[0], RULES)


@costly  # Each example is one for each API.
@given(turns=turns)
def test_those_that_an_answer_has_given_stay(turns: list[Turn]) -> None:
    first = turns[0][0]
    for api in APIS:
        url, body = api(turns)
        request = Request("POST", url, (), json.dumps(body).encode())
        assert with_known_ids(request, lambda text: True) is request
        kept = with_known_ids(request, lambda text: text in (first, f"rs_{first}", f"fc_{first}"))
        assert key_of(kept, RULES) == key_of(request, RULES)
        assert json.dumps(first) in kept.body.decode()


def test_a_body_that_is_no_json_stays() -> None:
    request = Request("POST", "https://api.example.com/v1/messages", (), b"\x00{")
    assert with_known_ids(request, lambda text: False) is request
