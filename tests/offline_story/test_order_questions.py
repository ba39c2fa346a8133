"""Questions about orders: which days they need, until when they hold, and in which words they are asked."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from offline_story.day_sentences import ToldDay
from offline_story.order_questions import order_proposals
from offline_story.orders import ROOMS, THINGS, OrderBook
from offline_story.scene import Scene

from pytest_recall.horizon.persona import Persona, Story
from tests.helpers.stories import PERSONA


def told(day: int, **sessions: str) -> ToldDay:
    return ToldDay(day, date(2026, 1, 4 + day), sessions)


WANTED = "Ben Carver wants 12 lanterns for the attic.\nBen Carver wants 9 jars for the shop."
DAYS = [
    told(1, team=WANTED),
    told(2, principal="Ben Carver has a quote for the lanterns in the attic: 30 dollars apiece."),
    told(
        3,
        team="Ben Carver no longer wants 12 lanterns for the attic, but 15.\n"
        "5 of the lanterns for the attic came, and Ben Carver signed for them.\n"
        "Ben Carver went with Fenwick for the lanterns in the attic, and took green instead of red.",
        deal="Ada Brook wants 40 rugs for the lobby.",
    ),
    told(4, team="Ben Carver unpacked 7 lanterns for the attic.\n3 ropes are needed in the shop, Ben Carver says."),
]
LATER = told(9, team="The 15 lanterns for the attic became 18, after Ben Carver had counted again.")


def as_told(text: str) -> str:
    """Return a question in the words of the days."""
    for told, asked in {**THINGS, **ROOMS}.items():
        text = text.replace(asked, told)
    return text


@pytest.fixture(scope="module", name="asked")
def _asked() -> dict[str, dict[str, Any]]:
    scene = Scene(DAYS, Story(), Persona.model_validate(PERSONA))
    return {as_told(one["question"]): one for one in order_proposals(scene, OrderBook.of([*DAYS, LATER]))}


@pytest.mark.parametrize(
    ("question", "answer", "days", "until"),
    [
        ("What quantity of lanterns has Ben Carver requested for the attic?", "12 lanterns.", [1], 2),
        ("By the latest count, what quantity of lanterns does Ben Carver need for the attic?", "15 lanterns.", [3], 8),
        ("What quantity of jars has Ben Carver requested for the shop?", "9 jars.", [1], None),
        ("Before anything was revised, what quantity of lanterns had Ben Carver first requested for the attic?",
         "12 lanterns.", [1], None),
        ("On which date did Ben Carver request lanterns for the attic?", "2026-01-05.", [1], None),
        ("In which session, and on which date, did Ben Carver request lanterns for the attic, and how many?",
         "team, on 2026-01-05: 12.", [1], None),
        ("How many dollars is one of the lanterns for the attic, as Ben Carver was offered them?", "30.", [2], None),
        ("Which supplier did Ben Carver decide on for the lanterns in the attic, in which colour, and against which"
         " other one?", "Fenwick, in green and not in red.", [3], None),
        ("How many dollars do the lanterns for the attic come to, by the number that Ben Carver settled on and the"
         " offer for one of them?", "360: 12 times 30.", [1, 2], 2),
        ("How many days after Ben Carver had requested lanterns for the attic did the first of them arrive?",
         "2: from 2026-01-05 to 2026-01-07.", [1, 3], None),
        ("How many lanterns for the attic arrived in all from 2026-01-07 to 2026-01-08, as Ben Carver received them?",
         "12: 5 and 7.", [3, 4], None),
        ("Two numbers are on record for the lanterns that Ben Carver requested for the attic. Which one holds, and"
         " which one was dropped?", "15 holds, and 12 was dropped.", [3], 8),
    ],
)  # fmt: skip
def test_references_days_and_how_long_they_hold(
    asked: dict[str, dict[str, Any]], question: str, answer: str, days: list[int], until: int | None
) -> None:
    found = asked[question]
    assert (found["answer"], found["relevant_days"], found.get("irrelevant_after")) == (answer, days, until)
    assert "query_session" not in found


def test_what_somebody_did_not_want_is_among_what_is_offered(asked: dict[str, dict[str, Any]]) -> None:
    (found,) = [one for one in asked.values() if one["category"] == "negative-recall"]
    offered = found["question"].partition(": ")[2].removesuffix("?").replace(" or ", ", ").split(", ")
    absent = found["answer"].removesuffix(".").lower()
    assert absent in offered
    assert {*offered} - {absent} == {THINGS["lanterns"], THINGS["jars"], THINGS["ropes"]}
    assert found["relevant_days"] == [1, 4]


def test_what_was_said_in_an_isolated_session_is_asked_there(asked: dict[str, dict[str, Any]]) -> None:
    about = [one for one in asked.values() if "Ada Brook" in one["question"]]
    assert about
    assert {one["query_session"] for one in about} == {"deal"}


def test_an_order_that_is_there_twice_is_not_asked_about() -> None:
    again = told(8, team=WANTED)
    scene, orders = Scene(DAYS, Story(), Persona.model_validate(PERSONA)), OrderBook.of([*DAYS, again])
    about = [one for one in order_proposals(scene, orders) if one["category"] not in ("negative-recall", "synthesis")]
    assert not any("lanterns" in as_told(one["question"]) or "jars" in as_told(one["question"]) for one in about)
