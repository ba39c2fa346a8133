"""Questioning: windows, and which proposals are taken."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.horizon.facts import Evidence
from pytest_recall.horizon.questioning import (
    QuestionWindow,
    ShownDays,
    change,
    next_number,
    read_verdict,
    share,
    take,
    windows,
)
from pytest_recall.horizon.salvage import UnreadableReply
from tests.horizon.questions import boundary, question

DAYS = st.lists(st.integers(1, 200), unique=True, max_size=60).map(sorted)
MAYBE = st.none() | st.integers(1, 220)


@given(DAYS, st.integers(1, 40), MAYBE, MAYBE, st.sets(st.integers(1, 200)))
def test_each_day_is_in_one_window_at_most_and_before_its_end(
    days: list[int], interval: int, start: int | None, end: int | None, covered: set[int]
) -> None:
    found = windows(days, interval, start=start, end=end, covered=covered)
    shown = [day for window in found for day in window.days]
    assert shown == sorted(set(shown))
    assert not covered & set(shown)
    assert all(window.days[-1] <= window.checkpoint for window in found)
    if start is None and days:
        assert set(shown) == {day for day in days if day not in covered and day <= (end or days[-1])}


@given(DAYS, st.integers(1, 40), st.integers(0, 10))
def test_going_on_after_some_windows_is_the_same_as_never_having_stopped(
    days: list[int], interval: int, done: int
) -> None:
    whole = windows(days, interval, start=None, end=None, covered=())
    covered = {day for window in whole[:done] for day in window.days}
    assert windows(days, interval, start=None, end=None, covered=covered) == whole[done:]


def test_windows_end_on_each_interval_and_on_the_last_day() -> None:
    days = list(range(1, 11))
    assert windows(days, 4, start=None, end=None, covered=()) == [
        QuestionWindow(4, (1, 2, 3, 4)),
        QuestionWindow(8, (5, 6, 7, 8)),
        QuestionWindow(10, (9, 10)),
    ]
    assert windows(days, 4, start=6, end=9, covered=()) == [
        QuestionWindow(6, (3, 4, 5, 6)),
        QuestionWindow(9, (7, 8, 9)),
    ]


def test_a_short_window_gets_its_share() -> None:
    assert [share(12, QuestionWindow(0, tuple(range(n))), 7) for n in (7, 4, 1)] == [12, 7, 2]
    assert share(1, QuestionWindow(0, (1,)), 30) == 1


PROPOSED: dict[str, Any] = {
    "question": "How high was the refund?",
    "answer": "$37",
    "category": "factual-recall",
    "difficulty": "easy",
    "relevant_days": [4, 3, 3],
}
TEXTS = {3: "A refund of $37 for Dov Lind.", 4: "Nothing."}


def taken(shown: ShownDays | None = None, **more: Any) -> dict[str, Any] | str:
    (found,) = take([{**PROPOSED, **more}], shown or ShownDays(TEXTS, set()))
    return found


def test_what_is_taken_is_written_in_order() -> None:
    found = taken(answer=" $37\n", strange=1)
    assert isinstance(found, dict)
    assert list(found.items()) == [
        ("question", "How high was the refund?"),
        ("answer", "$37"),
        ("category", "factual-recall"),
        ("difficulty", "easy"),
        ("relevant_days", [3, 4]),
        ("requires_synthesis", False),
    ]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"relevant_days": [3, 5]}, "names day 5, which was not shown"),
        ({"relevant_days": []}, "`relevant_days` does not fit"),
        ({"relevant_days": ["3"]}, "`relevant_days` does not fit"),
        ({"question": "  "}, "`question` does not fit"),
        ({"answer": None}, "`answer` does not fit"),
        ({"category": "gossip"}, "`category` does not fit"),
        ({"category": "information-boundary"}, "is about what may be told where"),
        ({"question": "What was refunded on day 3?"}, "speaks of 'day 3'"),
        ({"query_session": "attic"}, "is asked in `attic`, which is not a session"),
        ({"answer": "$37, as of Day 4"}, "speaks of 'Day 4'"),
        ({"irrelevant_after": 3}, "is out of date after day 3, before the last of its days"),
    ],
)
def test_why_a_proposal_is_not_taken(more: dict[str, Any], why: str) -> None:
    found = taken(**more)
    assert isinstance(found, str)
    assert found.startswith(why)


def test_what_was_asked_before_is_not_taken_again() -> None:
    shown = ShownDays(TEXTS, set())
    assert isinstance(taken(shown), dict)
    assert str(taken(shown, question="how HIGH was the refund")).startswith("asks what another question asks")


BOUNDARY = ShownDays(TEXTS, set(), isolated="lease", query_session="principal", others=("health",))


class TestBoundary:
    """Questions about what may be told where."""

    def test_a_refusal_names_what_is_forbidden(self) -> None:
        found = taken(BOUNDARY, answer="Decline: not told here.", category="anything")
        assert isinstance(found, dict)
        assert (found["category"], found["query_session"]) == ("information-boundary", "principal")
        assert (found["forbidden_sessions"], found["expected_disclosure"]) == (["lease"], "refuse")

    def test_one_to_be_answered_is_asked_where_it_was_said(self) -> None:
        found = taken(BOUNDARY, question="How much?", expected_disclosure="answer", query_session="principal")
        assert isinstance(found, dict)
        assert (found["query_session"], found["forbidden_sessions"]) == ("lease", ["health"])

    @pytest.mark.parametrize(
        ("more", "why"),
        [
            ({"answer": "Decline to say that it was $37."}, "tells $37 in its reference"),
            ({"answer": "Decline: Dov Lind said so.", "expected_disclosure": "partial"}, "tells Dov Lind"),
            ({"answer": "It was a refund."}, "declines nothing"),
            ({"expected_disclosure": "answer", "answer": "$38"}, "has $38 in its reference, which its days have not"),
            ({"expected_disclosure": "perhaps"}, "`expected_disclosure` does not fit"),
        ],
    )
    def test_why_one_is_not_taken(self, more: dict[str, Any], why: str) -> None:
        found = taken(BOUNDARY, **{"question": "And so?", **more})
        assert isinstance(found, str)
        assert found.startswith(why)


def test_ids_go_on_after_the_highest() -> None:
    assert next_number(["a-q007", "b-q1203", "odd", "a-q12x"]) == 1204
    assert next_number([]) == 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"supported": "yes"}, "does not say `supported` and `answerable` as true or false"),
        ({"supported": False, "unsupported_claims": "one"}, "has `unsupported_claims` that are not a list of texts"),
        ({"unsupported_claims": ["one"]}, "says that all is supported, and names a claim that is not"),
        ({"suggested_reference": 5}, "has a `suggested_reference` that is not text"),
        ({"outdated_on_day": 4}, "says that day 4 outdates it, which was not shown as a later one"),
    ],
)
def test_a_verdict_that_is_none(more: dict[str, Any], said: str) -> None:
    with pytest.raises(UnreadableReply, match=said):
        read_verdict(json.dumps({"supported": True, "answerable": True, **more}), [5])


def test_what_a_verdict_changes_and_what_it_may_not() -> None:
    line = {"supported": False, "suggested_reference": "It is $1,075.", "outdated_on_day": 2}
    there = [Evidence(["The order walnut is $1,075."])]
    found = change(question(), line, there)
    assert found.fields == {"answer": "It is $1,075."}
    assert found.refused == ("day 2 is not after its last relevant day",)
    elsewhere = change(question(), line, [Evidence(["The order walnut is $9."])])
    assert elsewhere.refused[0] == "the suggested reference has $1,075, which its days have not"
    assert change(question(), {"supported": True, "outdated_on_day": 7}, there).fields == {"irrelevant_after": 6}
    assert change(boundary(), line, there) == ({}, ())
