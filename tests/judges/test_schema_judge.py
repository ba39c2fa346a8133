"""`json_schema`: what it parses, what it refuses, and that it stays at home."""

from __future__ import annotations

import builtins
import urllib.request
from typing import Any

import pytest

from pytest_recall.judges.built_in import json_schema
from pytest_recall.trials.trial import Verdict

PERSON = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
PASS = Verdict(passed=True, score=1.0)


@pytest.mark.parametrize(
    "answer",
    [
        '{"age": 3}',
        ' {"age": 3}\n',
        '```json\n{"age": 3}\n```',
        '```\n{"age": 3}\n```\n',
        '  ```json\n{\n"age": 3\n}\n  ```  ',
    ],
)
def test_json_that_fits(answer: str) -> None:
    assert json_schema(answer, PERSON) == PASS


def test_json_that_does_not_fit() -> None:
    assert json_schema('{"age": "three"}', PERSON) == Verdict(
        passed=False, score=0.0, reason="$.age: 'three' is not of type 'integer'"
    )
    assert json_schema("{}", PERSON).reason == "$: 'age' is a required property"


@pytest.mark.parametrize(
    "answer", ["", "It is 3.", '{"age": 3', 'Here you are:\n```json\n{"age": 3}\n```', "[" * 10**5]
)
def test_what_is_no_json(answer: str) -> None:
    verdict = json_schema(answer, PERSON)
    assert verdict.passed is False
    assert verdict.reason.startswith("not JSON (")
    assert len(verdict.reason) < 300


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_what_no_other_reader_takes_is_no_json(number: str) -> None:
    assert json_schema(f'{{"age": {number}}}', {"type": "object"}).reason.startswith(f"not JSON ({number} is ")


def test_a_key_twice_is_no_json() -> None:
    assert json_schema('{"age": 3, "age": "x"}', PERSON).reason.startswith("not JSON (`age` is written twice)")


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({"typ": "array"}, "typ"),
        ({"properties": {"age": {"minimun": 3}}}, "minimun"),
        ({"$defs": {"age": {"nullable": True}}}, "nullable"),
        ({"anyOf": [{"items": {"requird": ["a"]}}]}, "requird"),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "prefixItems": []}, "prefixItems"),
    ],
)
def test_a_keyword_that_there_is_not_is_a_mistake(schema: dict[str, Any], name: str) -> None:
    with pytest.raises(ValueError, match=rf"^`{name}` in the schema is no keyword of JSON Schema; "):
        json_schema("{}", schema)


def test_all_mistakes_of_a_schema_are_named_at_once() -> None:
    schema = {"typ": "object", "requird": ["a"], "properties": {"a": {"minimun": 1}, "b": {"minimun": 2}}}
    with pytest.raises(ValueError, match="no keyword") as raised:
        json_schema("{}", schema)
    assert [one.partition("` in")[0] for one in str(raised.value).split("; `")] == ["`typ", "requird", "minimun"]


def test_names_of_properties_and_extensions_are_no_keywords() -> None:
    schema = {"properties": {"typ": {"const": {"requird": 1}}}, "x-order": 1, "default": {"a": 1}, "title": "t"}
    assert json_schema('{"typ": {"requird": 1}}', schema) == PASS


def test_formats_count_where_they_are_to() -> None:
    schema = {"type": "string", "format": "ipv4"}
    assert json_schema('"here"', schema) == PASS
    assert json_schema('"here"', schema, formats=True).passed is False
    assert json_schema('"127.0.0.1"', schema, formats=True) == PASS
    with pytest.raises(ValueError, match=r"^formats: `emial` cannot be checked here; did you mean `email`\?$"):
        json_schema('"red"', {"items": {"format": "emial"}}, formats=True)


def test_the_argument_beats_what_is_expected() -> None:
    assert json_schema("3", PERSON, schema={"type": "integer"}) == PASS
    assert json_schema("3", "the reference", schema={"type": "integer"}) == PASS
    assert json_schema("3", schema={"type": "string"}).passed is False


def test_a_bool_is_a_schema() -> None:
    assert json_schema("3", True) == PASS
    assert json_schema("3", False).passed is False


@pytest.mark.parametrize("bad", [None, "object", ["type"], 3])
def test_what_is_no_schema(bad: object) -> None:
    with pytest.raises(ValueError, match="needs a JSON Schema; give a mapping as `expected` or `schema`"):
        json_schema("3", bad)


def test_a_schema_that_is_not_valid() -> None:
    with pytest.raises(ValueError, match="the schema is not valid: 'objet' is not valid under any"):
        json_schema("3", {"type": "objet"})


def test_a_schema_may_name_its_draft() -> None:
    tuples = {"items": [{"type": "integer"}, {"type": "string"}]}
    draft_7 = {"$schema": "http://json-schema.org/draft-07/schema#", **tuples}
    assert json_schema('[1, "a"]', draft_7) == PASS
    assert json_schema('["a", 1]', draft_7).passed is False
    with pytest.raises(ValueError, match="not valid"):
        json_schema('[1, "a"]', tuples)  # 2020-12 calls it prefixItems


def test_references_within_the_schema() -> None:
    schema = {"$defs": {"age": {"type": "integer"}}, "properties": {"age": {"$ref": "#/$defs/age"}}}
    assert json_schema('{"age": 3}', schema) == PASS
    assert json_schema('{"age": "x"}', schema).passed is False


@pytest.mark.parametrize("address", ["http://schemas.invalid/age.json", "file:///age.json", "age.json"])
def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    fetched: list[Any] = []

    def fetch(request: Any, *args: Any, **kwargs: Any) -> Any:
        fetched.append(request)
        raise OSError("no network here")

    monkeypatch.setattr(urllib.request, "urlopen", fetch)
    with pytest.raises(ValueError) as caught:
        json_schema("3", {"$ref": address})
    assert str(caught.value) == f"the schema refers to {address!r}, which is not in it; write it out"
    assert fetched == []


def test_a_reference_to_what_the_schema_lacks() -> None:
    with pytest.raises(ValueError, match=r"^the schema refers to '#?/\$defs/age', which is not in it; write it out$"):
        json_schema("3", {"$defs": {"name": {"type": "string"}}, "$ref": "#/$defs/age"})


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    really = builtins.__import__

    def missing(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "jsonschema":
            raise ModuleNotFoundError(name)
        return really(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ValueError, match=r"install `pytest-recall\[jsonschema\]`"):
        json_schema("3", PERSON)


@pytest.mark.parametrize("depth", [900, 9_000])
def test_an_answer_that_is_nested_too_deep_fails(depth: int) -> None:
    lists = {"type": "array", "items": {"$ref": "#"}}
    verdict = json_schema("[" * depth + "]" * depth, lists)
    assert verdict.passed is False
    assert "nested too deep" in verdict.reason or "not JSON" in verdict.reason
