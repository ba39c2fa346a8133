"""Answering: what a model is shown that answers from passages."""

from __future__ import annotations

from pytest_recall.cases.memory_part import QueryContext
from pytest_recall.horizon.answering import joined, material
from pytest_recall.trials.trial import Passage

HERE = QueryContext(session="principal", date="2024-01-07", checkpoint="7d")


def test_a_model_learns_where_and_when_it_is_asked_and_the_ids_to_cite() -> None:
    told = material("Why?", [Passage(text="Since.", source="day-0001/principal"), Passage(text="Thus.")], HERE)
    assert told == (
        "Session: principal\nToday: 2024-01-07\n\nQuestion: Why?\n\n[day-0001/principal]\nSince.\n\n[2]\nThus."
    )


def test_that_nothing_was_found_is_said() -> None:
    assert material("Why?", [], QueryContext()) == "Question: Why?\n\n(The memory found nothing.)"


def test_passages_stand_as_the_answer_up_to_a_limit() -> None:
    passages = [Passage(text="a" * 10), Passage(text="b" * 10), Passage(text="c")]
    assert joined(passages) == "aaaaaaaaaa\n\nbbbbbbbbbb\n\nc"
    assert joined(passages, 14) == "aaaaaaaaaa\n\nbbbb"
    assert joined([]) == ""


def test_passages_that_stand_as_the_answer_say_their_session() -> None:
    passages = [Passage(text="Oak.", source="day-0001/fleet"), Passage(text="Ash.", source="chunk 7")]
    assert joined(passages) == "# session: fleet\n\nOak.\n\nAsh."
