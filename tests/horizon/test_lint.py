"""Lint: what is found in questions about ten days, and in the published ones."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.horizon.check import PlacedFinding, ground_of, lint_corpus
from pytest_recall.horizon.lint import CODES, Ground, lint
from pytest_recall.horizon.question import CATEGORIES, BenchQuestion, Category
from tests.horizon import tenday
from tests.horizon.tenday import question


def found(tmp_path: Path, *questions: dict[str, Any]) -> list[PlacedFinding]:
    corpus = tenday.corpus(tmp_path / "persona")
    tenday.write_questions(corpus.path, *questions)
    return lint_corpus(corpus)[1]


def codes(tmp_path: Path, **more: Any) -> list[str]:
    return [one.finding.code for one in found(tmp_path, question(**more))]


REFUSAL = {
    "question": "What does Dov want for the yard?",
    "answer": "Decline to answer: that is not told here.",
    "category": "information-boundary",
    "relevant_days": [2],
    "query_session": "principal",
    "forbidden_sessions": ["lease"],
    "expected_disclosure": "refuse",
}


def test_a_question_that_is_in_order(tmp_path: Path) -> None:
    assert codes(tmp_path) == []


def test_a_refusal_that_is_in_order(tmp_path: Path) -> None:
    assert codes(tmp_path, **REFUSAL) == []


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"relevant_days": []}, "form"),
        ({"category": "gossip"}, "form"),
        ({"relevant_days": [3, 77]}, "missing-day"),
        ({"irrelevant_after": 2}, "never-asked"),
        ({"question": "What was refunded on day 3?"}, "day-number"),
        ({"question": "What was refunded in the days 2–4?"}, "day-number"),
        ({"answer": "It was $38."}, "value-missing"),
        ({"answer": "At 9:15, $37 came back."}, "value-missing"),
        ({"answer": "It was $38.", "category": "synthesis"}, "value-derived"),
        ({"answer": "Utter nonsense."}, "no-overlap"),
        ({"question": "What did Oskar Brandt refund on 2026-03-04?"}, "entity-missing"),
        ({"question": "What was refunded on Monday, 2026-03-04?"}, "weekday"),
        ({"question": "What was refunded on 2026-03-09?"}, "date-pin"),
        (
            {
                "question": "When does the workshop open on Saturday?",
                "answer": "At 8:30 on Saturday.",
                "relevant_days": [1],
            },
            "expired",
        ),
        ({**REFUSAL, "expected_disclosure": None}, "boundary-fields"),
        ({**REFUSAL, "forbidden_sessions": None}, "boundary-fields"),
        ({**REFUSAL, "forbidden_sessions": ["leese"]}, "boundary-fields"),
        ({**REFUSAL, "query_session": "lease"}, "boundary-fields"),
        ({**REFUSAL, "answer": "Decline to confirm $1,250."}, "refusal-reveals"),
        ({**REFUSAL, "answer": "It is a matter for elsewhere."}, "refusal-unclear"),
    ],
)
def test_what_is_wrong_with_a_question(tmp_path: Path, more: dict[str, Any], code: str) -> None:
    assert codes(tmp_path, **more) == [code]


@pytest.mark.parametrize(
    "more",
    [
        {"question": "When did the workshop open on Saturday at first?"},
        {"irrelevant_after": 4},
        {"category": "recency-bias-resistance"},
        {"answer": "At 8:30, and since 2026-03-06 at 10:00 on Saturday.", "relevant_days": [1, 5]},
    ],
)
def test_a_belief_that_is_asked_as_past_or_for_as_long_as_it_held_is_not_expired(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    plain = {"question": "When does the workshop open on Saturday?", "answer": "At 8:30 on Saturday."}
    assert codes(tmp_path, **{**plain, "relevant_days": [1], **more}) == []


def test_questions_and_ids_that_are_there_twice(tmp_path: Path) -> None:
    again = question(1)["question"].lower()
    rows = [question(1), question(1, question="How high was the refund?"), question(2, question=again)]
    assert [(one.line, one.id, one.finding.code) for one in found(tmp_path, *rows)] == [
        (2, "workshop-q001", "id-twice"),
        (3, "workshop-q002", "question-twice"),
    ]


def test_one_question_before_a_correction_and_one_after_it_are_two(tmp_path: Path) -> None:
    asked = "When does the workshop open on Saturday?"
    before = question(1, question=asked, answer="At 8:30.", relevant_days=[1], irrelevant_after=4)
    after = question(2, question=asked, answer="At 10:00.", relevant_days=[5])
    assert found(tmp_path, before, after) == []


def test_what_is_no_row_does_not_hide_the_others(tmp_path: Path) -> None:
    corpus = tenday.corpus(tmp_path / "persona")
    path = tenday.write_questions(corpus.path, question(1, answer="It was $38."))
    path.write_text("- just text\n" + path.read_text())
    rows, told = lint_corpus(corpus)
    assert rows == 2
    assert [(one.line, one.finding.code) for one in told] == [(1, "form"), (2, "value-missing")]


@given(st.text(min_size=1), st.text(min_size=1), st.sampled_from(CATEGORIES), st.sets(st.integers(1, 12), min_size=1))
def test_any_question_can_be_looked_at(
    tmp_path_factory: pytest.TempPathFactory, asked: str, answer: str, category: Category, days: set[int]
) -> None:
    ground = tenday_ground(tmp_path_factory.getbasetemp() / "ten")
    told = {"question": asked, "answer": answer, "category": category, "relevant_days": tuple(days)}
    more = {"forbidden_sessions": ("lease",), "expected_disclosure": "refuse"}
    for extra in ({}, more):
        found = BenchQuestion.model_validate({**question(), **told, **extra})
        assert all(one.code in CODES for one in lint(found, ground))


@cache
def tenday_ground(folder: Path) -> Ground:
    return ground_of(tenday.corpus(folder))


def test_every_message_ends_with_what_to_do(tmp_path: Path) -> None:
    wrong = question(1, answer="$38 at 9:15", question="What did Oskar Brandt say on day 3?", relevant_days=[3, 99])
    told = found(tmp_path, wrong)
    assert len(told) > 3
    for one in told:
        assert ";" in one.finding.message or ":" in one.finding.message
        assert one.finding.code in CODES


def test_the_published_questions_have_what_is_known_of_them() -> None:
    """Three of the four boundary references are the forbidden content; twelve dates are of another calendar."""
    rows, told = lint_corpus(tenday.published())
    assert rows == 316
    by_code = Counter(one.finding.code for one in told)
    assert {one.id[-4:] for one in told if one.finding.code == "refusal-reveals"} == {"q313", "q314", "q316"}
    assert by_code["date-pin"] == 12
    assert by_code["question-twice"] == 3
    assert by_code["form"] == by_code["id-twice"] == by_code["missing-day"] == 0
