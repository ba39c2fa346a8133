"""From pydantic's complaints to sentences that name the place and the way out."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from pytest_recall.cases.case import Case
from pytest_recall.cases.settings import Settings
from pytest_recall.files.validation import MAX_PROBLEMS, explain
from tests.schedule.state_samples import fields

LINES = {(): 3, ("scenario",): 5, ("judges",): 7, ("judges", 1): 8}


def told(model: type[BaseModel], value: object) -> list[str]:
    """Return what is said about `value`, which `model` must refuse; unknown places are on line 1."""
    with pytest.raises(ValidationError) as caught:
        model.model_validate(value)
    return explain(caught.value, model, "f.yaml", lambda path: LINES.get(path, 1))


def test_place_is_the_field_s_own() -> None:
    assert told(Case, fields(scenario=None)) == ["f.yaml:5: scenario: must be text"]


def test_whole_row_has_no_field() -> None:
    assert told(Case, fields(turns=["q"])) == ["f.yaml:3: give either `input` or `turns`"]


def test_place_within_a_list() -> None:
    assert told(Case, fields(judges=["exact", []]))[0] == (
        "f.yaml:8: judges.1: write `name`, or `{name: {argument: value}}` with a single name"
    )


def test_every_problem_has_its_sentence() -> None:
    assert told(Case, fields(judges=..., dimension=5, extra=1)) == [
        "f.yaml:1: dimension: 5 is not text; write it in quotes",
        "f.yaml:7: judges: is missing; add it",
        "f.yaml:1: extra: unknown field; known: context, dimension, evidence, expected, id, input, judges,"
        " limit, memory, notes, scenario, tags, …",
    ]


def test_no_more_sentences_than_people_read() -> None:
    surplus = {f"surplus{number}": 1 for number in range(50)}
    assert len(told(Case, {**fields(), **surplus})) == MAX_PROBLEMS


def test_branches_of_a_union_are_not_fields() -> None:
    messages = told(Case, fields(input={"a": object()}))
    assert all(message.startswith("f.yaml:1: input") for message in messages)
    assert not any("json" in message or "function-" in message for message in messages)


@pytest.mark.parametrize(
    ("field", "value", "advice"),
    [
        ("id", "a b", "'a b' does not fit; use letters, digits and `-`, `_`, `.`, `/`, `:`, without spaces"),
        ("scenario", "a b", "'a b' does not fit; start with a letter, and use letters, digits, `-`, `_`, `.`"),
        ("scenario", True, "True is not text; write it in quotes"),
        ("judges", {"exact": {}}, "must be a list in brackets, not {'exact': {}}"),
        ("judges", [], "is empty; give at least one"),
        ("threshold", "0.5", "must be a number, not '0.5'"),
        ("judges", "x y " * 25, f"must be a list in brackets, not '{'x y ' * 14}x …"),
        ("tags", None, "must be a list in brackets, not None"),
    ],
)
def test_advice_on_a_case(field: str, value: object, advice: str) -> None:
    assert told(Case, fields(**{field: value})) == [f"f.yaml:{LINES.get((field,), 1)}: {field}: {advice}"]


@pytest.mark.parametrize(
    ("field", "value", "advice"),
    [
        ("blocks", "regresion", "'regresion' is unknown; did you mean `regression`?"),
        ("blocks", "weekly", "'weekly' is unknown; known: failure, incomplete, never, regression"),
        ("owner", "", "is empty; write some text"),
        ("max_due_cases", "many", "must be a whole number, not 'many'"),
        ("max_due_cases", 2.5, "must be a whole number, not 2.5"),
        ("max_due_cases", True, "must be a whole number, not True"),
        ("thresholds", [1], "must be a mapping, not [1]"),
        ("thresholds.exact", "high", "must be a number, not 'high'"),
        ("max_due_case", 5, "unknown field; did you mean `max_due_cases` or `box_1_cases`?"),
    ],
)
def test_advice_on_a_rubric(field: str, value: object, advice: str) -> None:
    name, _, inner = field.partition(".")
    given = {inner: value} if inner else value
    assert told(Settings, {"owner": "team", name: given}) == [f"f.yaml:1: {field}: {advice}"]


def test_negative_count() -> None:
    (message,) = told(Settings, {"owner": "team", "max_due_cases": -1})
    assert message == "f.yaml:1: max_due_cases: input should be greater than or equal to 0; got -1"
