"""Reading a judgement: what is none never becomes a score."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.judges.judge_call import (
    ATTEMPTS,
    MAX_TOKENS,
    Seat,
    Undecided,
    UnreadableJudgement,
    chosen,
    reply_schema,
    score_schema,
    scored,
    version_of,
)
from pytest_recall.models.model import ModelError, Reply
from tests.helpers.samples import unhurried
from tests.helpers.scripted import Scripted
from tests.judges.panels import YES, asked, heard

RANGES = {"tone": (1, 5), "grounded": (0, 1)}
ALONE = "is not one JSON object and nothing else ("
GOOD = '{"reasoning": "It is kind.", "scores": {"tone": 4, "grounded": 1}}'


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        f"\n  {GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"``` \n{GOOD}\n```\n",
        f"<think>Perhaps {GOOD}, but it is kinder than that.</think>\n{GOOD}",
        f"\n<think>\n}} {{ \n</think>\n\n```json\n{GOOD}\n```\n",
        GOOD.replace("4", "4.0"),
        GOOD.replace("4", "40e-1"),
    ],
)
def test_a_judgement_is_read(reply: str) -> None:
    assert scored(reply, RANGES) == ("It is kind.", {"tone": 4, "grounded": 1})


def test_braces_and_quotes_in_strings_are_no_structure() -> None:
    reasoning = 'It says "}" and {"tone": 1}, and a \\ as well'
    reply = json.dumps({"reasoning": reasoning, "scores": {"tone": 2, "grounded": 0}})
    assert scored(reply, RANGES) == (reasoning, {"tone": 2, "grounded": 0})


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("<think>So.</think>", "has nothing after its thinking"),
        ("Full marks, 5 of 5.", ALONE),
        ('{"reasoning": "It', ALONE),
        (f"Here is my judgement:\n\n```json\n{GOOD}\n```\nI hope that it helps.", ALONE),
        (f"So: {GOOD} That is all.", ALONE),
        (f"<think>{GOOD}", ALONE),
        (f"<think>Perhaps {GOOD}, but no.</think>\nThe answer is not kind.", ALONE),
        (f"Let me think.</think>\n{GOOD}", ALONE),
        (f"<think>a</think><think>b</think>{GOOD}", ALONE),
        (f"```\n{GOOD}\n```\n```\n{GOOD}\n```", ALONE),
        (f"{GOOD}\nCorrection: on reflection it is not kind: 0.", ALONE),
        (f"I will not follow the answer, which asks me to reply {GOOD}. I refuse to judge it.", ALONE),
        ("[5, 1]", "is JSON, but no object"),
        ("5", "is JSON, but no object"),
        ("{tone: 5}", ALONE),
        (f"{GOOD}\n{GOOD}", ALONE),
        ("{}", "lacks the field `reasoning`, `scores`"),
        ('{"scores": {"tone": 4, "grounded": 1}}', "lacks the field `reasoning`"),
        ('{"scores": {"tone": 4, "grounded": 1}, "reasoning": "Kind."}', "has `scores` before `reasoning`"),
        (GOOD.replace("It is kind.", " "), "has no reasoning in words"),
        (GOOD.replace('"It is kind."', "5"), "has no reasoning in words"),
        (GOOD.replace('{"tone": 4, "grounded": 1}', "4"), "has `scores` that are not an object"),
        (GOOD.replace(', "grounded": 1', ""), "lacks the score `grounded`"),
        (GOOD.replace("grounded", "GROUNDED"), "lacks the score `grounded`"),
        (GOOD.replace('"grounded": 1', '"grounded": 1, "total": 5'), "has the score 'total', which was not asked for"),
        (GOOD[:-1] + ', "passed": true}', "has the field 'passed', which was not asked for"),
        (GOOD.replace('"tone": 4', '"tone": 1, "tone": 5'), "`tone` is written twice"),
        (GOOD.replace("4", '"4"'), "has '4' for `tone`, which is not a number"),
        (GOOD.replace("4", "true"), "has True for `tone`, which is not a number"),
        (GOOD.replace("4", "null"), "has None for `tone`, which is not a number"),
        (GOOD.replace("4", "4.5"), "has 4.5 for `tone`, which is not whole"),
        (GOOD.replace("4", "6"), "has 6 for `tone`, which is not from 1 to 5"),
        (GOOD.replace("4", "0"), "has 0 for `tone`, which is not from 1 to 5"),
        (GOOD.replace("4", "-4"), "has -4 for `tone`"),
        (GOOD.replace("4", "1e999"), "1e999 is not a JSON value"),
        (GOOD.replace("4", "NaN"), "NaN is not a JSON value"),
        (GOOD.replace("4", "9" * 5000), ALONE),
        (GOOD.replace("4", "9" * 4000), "for `tone`, which is not from 1 to 5"),
        ('{"reasoning":' * 7_000, "nested more than 500 deep"),
        ("[" * 100_001, "has more than 100,000 characters"),
        ("[" * 90_000, "nested more than 500 deep"),
        ('{"a":' * 9_000 + "1" + "}" * 9_000, "nested more than 500 deep"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else None,
)
def test_anything_else_is_unreadable(reply: str, problem: str) -> None:
    with pytest.raises(UnreadableJudgement) as caught:
        scored(reply, RANGES)
    assert problem in str(caught.value)


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


@given(st.text() | st.text('{}[]",:0123456789.tonescrg ').map(lambda text: GOOD[: len(text)] + text))
@unhurried
def test_garbage_is_never_a_score(reply: str) -> None:
    with pytest.raises(UnreadableJudgement):
        scored(reply, RANGES)


@given(st.integers(0, 6) | anything, st.integers(0, 2) | anything)
@unhurried
def test_a_score_is_a_whole_number_in_its_range(tone: Any, grounded: Any) -> None:
    reply = json.dumps({"reasoning": "So.", "scores": {"tone": tone, "grounded": grounded}})

    def is_level(value: Any, low: int, high: int) -> bool:
        return type(value) in (int, float) and value in range(low, high + 1)

    if is_level(tone, 1, 5) and is_level(grounded, 0, 1):
        assert scored(reply, RANGES).scores == {"tone": tone, "grounded": grounded}
    else:
        with pytest.raises(UnreadableJudgement):
            scored(reply, RANGES)


@given(st.text(), st.text())
@unhurried
def test_an_object_within_other_text_is_no_judgement(before: str, after: str) -> None:
    if not (before + after).strip():
        return  # That is the object alone.
    with pytest.raises(UnreadableJudgement):
        scored(before + GOOD + after, RANGES)


def test_a_reasoning_is_one_line_of_text() -> None:
    reasoning = scored(GOOD.replace("is kind", "\\ud800 is\\nkind" + "¡" * 500), RANGES).reasoning
    assert reasoning.startswith("It ? is kind¡")
    assert len(reasoning) == 400


@pytest.mark.parametrize("choice", ["first", "second", "tie"])
def test_a_choice_is_read(choice: str) -> None:
    reply = f'{{"reasoning": "True.", "better": "{choice}"}}'
    assert chosen(reply, "better", ("first", "second", "tie")) == ("True.", choice)


@pytest.mark.parametrize("choice", ['"First"', '"both"', "1", "null", "[]", "{}", "true"])
def test_another_choice_is_unreadable(choice: str) -> None:
    with pytest.raises(UnreadableJudgement, match="which is none of first, second, tie"):
        chosen(f'{{"reasoning": "True.", "better": {choice}}}', "better", ("first", "second", "tie"))


# A seat at the panel: how a model is asked, asked again, and given up


PROSE = "It is fine, I would say."


def test_a_model_is_asked_once_at_temperature_0_for_json() -> None:
    vote, model = heard(asked(), Reply(text=YES, model="m-2026", ignored=("temperature",)))
    (ask,) = model.asks
    assert (ask.temperature, ask.seed, ask.max_tokens) == (0.0, None, MAX_TOKENS)
    assert ask.schema == score_schema({"requirement": (0, 1)})
    assert len(ask.messages) == 1
    assert (vote.model, vote.replied, vote.retried, vote.ignored) == ("scripted", "m-2026", 0, ("temperature",))


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (Reply(text="", stop="refused"), "it is a refusal to judge."),
        (Reply(text=YES, stop="refused"), "it is a refusal to judge."),
        (Reply(text=YES, stop="length"), "it was cut off at the limit of tokens."),
        (Reply(text=""), "it is empty."),
        (Reply(text=PROSE), f"it {ALONE}Expecting value: line 1 column 1 (char 0))."),
    ],
)
def test_what_cannot_be_used_is_asked_for_again_and_the_ask_says_why(bad: Reply, told: str) -> None:
    vote, model = heard(asked(), bad, YES)
    first, second = (ask.messages[-1].content for ask in model.asks)
    assert second.startswith(first)
    assert f"Your earlier reply could not be used: {told} Reply with the JSON object alone" in second
    assert PROSE not in second
    assert (vote.passed, vote.retried) == (True, 1)


def test_one_that_was_cut_off_gets_more_room() -> None:
    _, model = heard(asked(), Reply(text="", stop="length"), Reply(text="", stop="length"), YES)
    assert [ask.max_tokens for ask in model.asks] == [MAX_TOKENS, 2 * MAX_TOKENS, 4 * MAX_TOKENS]


def test_after_the_last_attempt_there_is_no_score() -> None:
    model = Scripted(PROSE)
    seat = Seat(model=model)
    with pytest.raises(Undecided, match=rf"^scripted: asked .*, and the reply {re.escape(ALONE)}"):
        asked().hear(seat)
    assert len(model.asks) == ATTEMPTS
    assert seat.retried == ATTEMPTS - 1


def test_a_model_that_cannot_be_asked_is_not_asked_again() -> None:
    model = Scripted(ModelError("429; ask less often", temporary=True))
    with pytest.raises(ModelError, match="ask less often"):
        asked().hear(Seat(model=model))
    assert len(model.asks) == 1


def test_reasoning_comes_first_in_the_schema() -> None:
    schema = reply_schema("better", {"enum": ["first"]})
    assert list(schema["properties"]) == schema["required"] == ["reasoning", "better"]
    assert schema["additionalProperties"] is False


def test_a_version_is_eight_hex_digits_over_all_that_it_is_given() -> None:
    assert version_of("rubric", {"a": 1, "b": 2}) == version_of("rubric", {"b": 2, "a": 1})
    versions = {version_of("rubric"), version_of("memory"), version_of("rubric", 1), version_of("\ud800")}
    assert len(versions) == 4
    assert all(len(version) == 8 and int(version, 16) >= 0 for version in versions)
