"""Dataset: what a memory is told, and what it is asked."""

from __future__ import annotations

from datetime import datetime

import pytest

from pytest_recall.cases.case import JudgeCall
from pytest_recall.datasets.dataset import (
    SHOWN,
    Conversation,
    Inventory,
    Kind,
    Oddity,
    Question,
    Sample,
    Session,
    Utterance,
    case_of,
)
from pytest_recall.datasets.file import LAYOUTS
from pytest_recall.files.errors import RecallError
from pytest_recall.judges.paper import RULES
from pytest_recall.metrics.measures import JUDGED

CONVERSATION = Conversation(
    "conv-1",
    (
        Session(
            "session_1",
            (
                Utterance("D1:1", "Ann", " Hello! "),
                Utterance("D1:2", "Bob", "  "),
                Utterance("D1:3", "Bob", "Look.", "a cat"),
                Utterance("D1:4", "Ann", "", "a dog"),
            ),
            datetime(2024, 3, 4, 9, 12),
            "9:12 am on 4 March, 2024",
        ),
        Session("session_2", (Utterance("D2:1", "Ann", ""),)),
        Session("session_3", (Utterance("D3:1", "Bob", "Bye."),), None, "14 days"),
    ),
)
QUESTION = Question(id="conv-1:q1", text="Who?", answer="Bob", category="single-hop", evidence=("D3:1",))


def test_a_question_is_a_case() -> None:
    case = case_of(QUESTION, "conv-1", [JudgeCall(name="contains")])
    assert (case.id, case.scenario, case.dimension) == ("conv-1:q1", "conv-1", "single-hop")
    assert (case.input, case.expected, case.judges) == ("Who?", "Bob", (JudgeCall(name="contains"),))


def test_a_question_that_makes_no_case() -> None:
    with pytest.raises(RecallError, match=r"^question 'conv-1:q1' makes no case: .*; correct it$"):
        case_of(QUESTION, "26 x", [JudgeCall(name="contains")])


def test_an_inventory_counts_everything_and_keeps_some_places() -> None:
    many = tuple(Oddity(Kind.BLANK, f"row 1: {n}", "not told") for n in range(SHOWN + 5))
    inventory = Inventory()
    inventory.add(Sample(1, CONVERSATION, (QUESTION, QUESTION), many))
    inventory.add(Sample(2, CONVERSATION, (Question(id="b", text="?", answer=None, category="x", unanswerable=True),)))
    plain = inventory.to_json()
    oddities = plain.pop("oddities")
    assert plain == {
        "conversations": 2,
        "sessions": 6,
        "turns": 12,
        "questions": 3,
        "unanswerable": 1,
        "categories": {"single-hop": 2, "x": 1},
    }
    assert [(one["kind"], one["count"], len(one["places"])) for one in oddities] == [("blank", SHOWN + 5, SHOWN)]


def test_what_stands_below_the_datasets_knows_each_of_them() -> None:
    assert set(RULES) == {*LAYOUTS, "strict"}
    assert {name.removesuffix("_judge") for name in JUDGED} == set(LAYOUTS)
