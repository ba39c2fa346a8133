"""A seat at the panel: how a model is asked, asked again, and given up."""

from __future__ import annotations

import pytest

from pytest_recall.judges.judge_call import MAX_TOKENS, Seat, Undecided, reply_schema, score_schema, version_of
from pytest_recall.models.model import ModelError, Reply
from tests.helpers.scripted import Scripted
from tests.judges.panels import YES, asked, heard

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
        (Reply(text=PROSE), "it has no JSON object."),
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


@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_after_the_last_attempt_there_is_no_score(attempts: int) -> None:
    model = Scripted(PROSE)
    seat = Seat(model=model, attempts=attempts)
    with pytest.raises(Undecided, match=r"^scripted: asked .*, and the reply has no JSON object$"):
        asked().hear(seat)
    assert len(model.asks) == attempts
    assert seat.retried == attempts - 1


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
