"""What a case may say, and what its fingerprint covers."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from pytest_recall.cases.case import JudgeCall, Turn
from tests.helpers.samples import case


def problems(**given: Any) -> dict[str, str]:
    """Return what is wrong with the case, as pydantic's kind of error by field."""
    with pytest.raises(ValidationError) as caught:
        case(**given)
    return {".".join(map(str, problem["loc"])): problem["type"] for problem in caught.value.errors()}


def test_a_case_needs_little() -> None:
    small = case(expected=...)
    assert (small.id, small.scenario, small.dimension) == ("late-fee", "fees", "facts")
    assert small.input == "What does a late return cost?"
    assert small.judges == (JudgeCall(name="exact"),)
    assert (small.expected, small.turns, small.threshold, small.tags, small.notes) == (None, None, None, (), None)


@pytest.mark.parametrize("field", ["id", "judges"])
def test_required_fields(field: str) -> None:
    assert problems(**{field: ...}) == {field: "missing"}


def test_a_case_need_not_say_what_it_is_about() -> None:
    found = case(scenario=..., dimension=...)
    assert (found.scenario, found.dimension) == ("general", "correctness")


@pytest.mark.parametrize(
    ("name", "advice"),
    [("“contains”", "write contains"), ("con tains", "write one of"), ({"«regex»": "x"}, "write regex")],
)
def test_what_names_no_judge_is_refused(name: object, advice: str) -> None:
    with pytest.raises(ValidationError, match=advice):
        case(judges=[name])


def test_unknown_field_is_refused() -> None:
    assert problems(expeted="x") == {"expeted": "extra_forbidden"}


def test_a_case_does_not_change() -> None:
    with pytest.raises(ValidationError):
        case().id = "other"


@pytest.mark.parametrize("good", ["a", "007", "fees/late.1", "a:b", "a+b@c=d", "größe-3", "_x", "x" * 200])
def test_ids_that_travel(good: str) -> None:
    assert case(id=good).id == good


@pytest.mark.parametrize(
    "bad", ["", "a b", "a::b", "a:", ":a", "-a", "a[1]", "a\n", "a\tb", 'a"b', "a#b", "a|b", "a`b", "a<b"]
)
def test_ids_that_would_not_travel(bad: str) -> None:
    assert problems(id=bad) == {"id": "string_pattern_mismatch"}


def test_id_has_an_end() -> None:
    assert problems(id="x" * 201) == {"id": "string_too_long"}


def test_id_is_text() -> None:
    assert problems(id=7) == {"id": "string_type"}


@pytest.mark.parametrize("field", ["scenario", "dimension"])
def test_names(field: str) -> None:
    assert getattr(case(**{field: "late-fees.v2_x"}), field) == "late-fees.v2_x"
    for bad in ("", "a b", "a,b", "1a", "a-", "_a"):
        assert problems(**{field: bad}) == {field: "string_pattern_mismatch"}


def test_input_may_be_a_mapping() -> None:
    assert case(input={"question": "x", "top": 3}).input == {"question": "x", "top": 3}


@pytest.mark.parametrize("bad", ["", 7, ["a"], True])
def test_input_is_text_or_a_mapping(bad: object) -> None:
    assert all(field.startswith("input.") for field in problems(input=bad))


def test_turns_are_texts_or_scripted() -> None:
    talk = case(input=..., turns=["Hello", {"user": "And?", "assistant": "Well."}, {"user": "So?"}])
    assert talk.input is None
    assert talk.turns == (Turn(user="Hello"), Turn(user="And?", assistant="Well."), Turn(user="So?"))


@pytest.mark.parametrize("given", [{"turns": ["Hello"]}, {"input": ...}])
def test_either_input_or_turns(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="give either `input` or `turns`"):
        case(**given)


def test_the_last_turn_is_asked() -> None:
    with pytest.raises(ValidationError, match="the last turn is the one that is judged"):
        case(input=..., turns=["Hello", {"user": "And?", "assistant": "Well."}])


def test_turns_are_not_empty() -> None:
    assert problems(input=..., turns=[]) == {"turns": "too_short"}
    assert problems(input=..., turns=[""])["turns.0.user"] == "string_too_short"


def test_unknown_field_of_a_turn_is_refused() -> None:
    found = problems(input=..., turns=[{"user": "Hello", "asistant": "x"}])
    assert found["turns.0.asistant"] == "extra_forbidden"


@pytest.mark.parametrize(
    ("written", "call"),
    [
        ("exact", JudgeCall(name="exact")),
        ({"exact": "yes"}, JudgeCall(name="exact", arguments={"expected": "yes"})),
        ({"contains": ["a", "b"]}, JudgeCall(name="contains", arguments={"expected": ["a", "b"]})),
        ({"numeric": 3}, JudgeCall(name="numeric", arguments={"expected": 3})),
        ({"token_f1": {"threshold": 0.6}}, JudgeCall(name="token_f1", arguments={"threshold": 0.6})),
        (
            {"json_schema": {"schema": {"type": "object"}}},
            JudgeCall.model_validate({"name": "json_schema", "arguments": {"schema": {"type": "object"}}}),
        ),
        ({"exact": {}}, JudgeCall(name="exact")),
    ],
)
def test_ways_to_write_a_judge(written: object, call: JudgeCall) -> None:
    assert case(judges=[written]).judges == (call,)


@pytest.mark.parametrize("bad", [3, None, {}, {"exact": 1, "regex": 2}, ["exact"]])
def test_what_is_no_judge(bad: object) -> None:
    with pytest.raises(ValidationError, match="with a single name"):
        case(judges=[bad])


def test_there_is_a_judge() -> None:
    assert problems(judges=[]) == {"judges": "too_short"}
    assert problems(judges="exact") == {"judges": "tuple_type"}


def test_the_same_judge_may_be_called_twice() -> None:
    assert [call.arguments for call in case(judges=[{"contains": "a"}, {"contains": "b"}]).judges] == [
        {"expected": "a"},
        {"expected": "b"},
    ]


@pytest.mark.parametrize(("given", "kept"), [(0, 0.0), (1, 1.0), (0.25, 0.25)])
def test_threshold(given: float, kept: float) -> None:
    assert case(threshold=given).threshold == kept


@pytest.mark.parametrize(
    ("bad", "kind"),
    [(-0.1, "greater_than_equal"), (1.1, "less_than_equal"), ("0.5", "float_type"), (True, "float_type")],
)
def test_threshold_is_a_share(bad: object, kind: str) -> None:
    assert problems(threshold=bad) == {"threshold": kind}


def test_tags() -> None:
    assert case(tags=["money", "p0.slow", "a-b"]).tags == ("money", "p0.slow", "a-b")
    assert problems(tags="money") == {"tags": "tuple_type"}
    assert problems(tags=["a b"]) == {"tags.0": "string_pattern_mismatch"}


@pytest.mark.parametrize("word", ["and", "or", "not", "True", "False", "None"])
def test_tags_that_mean_something_to_pytest(word: str) -> None:
    with pytest.raises(ValidationError, match="choose another word"):
        case(tags=[word])


def test_fingerprint_does_not_depend_on_this_process() -> None:
    # Cassettes and journals of other days are compared by it: a change of these needs a reason.
    assert case().fingerprint == "de379a8a2f08"
    talk = case(input=..., turns=["a", {"user": "b", "assistant": "c"}, "d"])
    assert talk.fingerprint == "09f163f01dc3"


@pytest.mark.parametrize(
    "change", [{"id": "x"}, {"scenario": "x"}, {"dimension": "x"}, {"tags": ["x"]}, {"notes": "x"}]
)
def test_fingerprint_passes_over_what_decides_nothing(change: dict[str, Any]) -> None:
    assert case(**change).fingerprint == case().fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"input": "What?"},
        {"input": {"question": "What does a late return cost?"}},
        {"input": ..., "turns": ["What does a late return cost?"]},
        {"expected": "Two pounds."},
        {"expected": ["One pound a day."]},
        {"judges": ["contains"]},
        {"judges": [{"exact": {"ignore_case": True}}]},
        {"threshold": 0.5},
    ],
)
def test_fingerprint_covers_what_decides(change: dict[str, Any]) -> None:
    assert case(**change).fingerprint != case().fingerprint


def test_fingerprint_does_not_depend_on_the_order_of_keys() -> None:
    one = case(input={"a": 1, "b": 2}, judges=[{"exact": {"expected": "x", "ignore_case": True}}])
    other = case(input={"b": 2, "a": 1}, judges=[{"exact": {"ignore_case": True, "expected": "x"}}])
    assert one.fingerprint == other.fingerprint
