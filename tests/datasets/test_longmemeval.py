"""LongMemEval: what becomes of its fields, and of what is odd in the published files."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.datasets.dataset import Kind, Oddity, Sample
from pytest_recall.datasets.longmemeval import CATEGORIES
from pytest_recall.files.errors import RecallError
from tests.datasets.files import load, odd, plain

Read = Callable[[Any], list[Sample]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    return lambda rows: load(tmp_path / "l.json", "longmemeval", rows)


def test_a_question_and_its_conversation(read: Read) -> None:
    samples = read(plain("longmemeval"))
    sample = samples[0]
    (question,) = sample.questions
    assert (question.id, question.answer, question.category) == ("lib00001", "A border terrier", "single-session-user")
    assert (question.evidence, question.evidence_sessions) == (("answer_dog_1",), ("answer_dog",))
    assert (question.date, question.written) == (datetime(2024, 4, 1, 10), "2024/04/01 (Mon) 10:00")
    session = sample.conversation.sessions[1]
    assert (session.id, session.date) == ("answer_dog", datetime(2024, 2, 20, 17, 22))
    assert [(turn.id, turn.speaker) for turn in session.turns] == [
        ("answer_dog_1", "user"),
        ("answer_dog_2", "assistant"),
    ]
    assert {sample.questions[0].category for sample in samples} == set(CATEGORIES)
    assert odd(samples) == []


def test_sessions_are_sorted_by_date(read: Read) -> None:
    sample = read(plain("longmemeval"))[3]
    ids = [session.id for session in sample.conversation.sessions]
    assert ids == ["answer_books_1", "answer_books_2", "filler_bike"]
    # Marks follow their turns, not the order of the file.
    assert set(sample.questions[0].evidence) == {"answer_books_1_1", "answer_books_2_1"}


def test_a_date_that_cannot_be_read_leaves_the_order_alone(read: Read) -> None:
    rows = plain("longmemeval")[3:4]
    rows[0]["haystack_dates"][0] = "2024/02/30 (Fri) 10:00"
    (sample,) = samples = read(rows)
    assert [session.id for session in sample.conversation.sessions] == [
        "answer_books_2",
        "filler_bike",
        "answer_books_1",
    ]
    assert odd(samples) == [Oddity(Kind.NO_DATE, "row 1 (lib00004): haystack_dates[1]", "'2024/02/30 (Fri) 10:00'")]


def test_an_answer_that_is_a_number_is_text(read: Read) -> None:
    assert [read(plain("longmemeval"))[n].questions[0].answer for n in (3, 6)] == ["3", "14"]


def test_abstention_is_in_the_id_alone(read: Read) -> None:
    *others, last = (sample.questions[0] for sample in read(plain("longmemeval")))
    assert (last.id, last.unanswerable, last.category) == ("lib00008_abs", True, "multi-session")
    assert (last.answer or "").startswith("The information provided is not enough.")
    assert not any(question.unanswerable for question in others)


def test_a_session_that_is_there_twice_is_told_twice(read: Read) -> None:
    """As in 13 histories of the published file `s`: one filler, under two dates."""
    rows = plain("longmemeval")[:1]
    for field in ("haystack_sessions", "haystack_session_ids"):
        rows[0][field].append(rows[0][field][0])
    rows[0]["haystack_dates"].append("2024/03/30 (Sat) 10:00")
    (sample,) = samples = read(rows)
    assert [session.id for session in sample.conversation.sessions][::3] == ["filler_soup", "filler_soup#2"]
    assert len({turn.id for turn in sample.conversation.turns()}) == 12
    place = "row 1 (lib00001): haystack_session_ids[4]"
    assert odd(samples) == [Oddity(Kind.SAME_ID, place, "'filler_soup' became 'filler_soup#2'")]


def test_other_oddities(read: Read) -> None:
    rows = plain("longmemeval")[:3]
    rows[0]["answer_session_ids"].append("answer_cat")
    rows[0]["haystack_sessions"][0][1]["content"] = ""
    del rows[0]["question_date"]
    rows[1]["answer_session_ids"] = []
    rows[1]["haystack_sessions"][1][1]["has_answer"] = False
    rows[2]["answer"] = None
    samples = read(rows)
    assert samples[0].questions[0].unresolved == ("answer_cat",)
    assert samples[0].questions[0].evidence_sessions == ("answer_dog",)
    assert [(oddity.kind, oddity.place) for oddity in odd(samples)] == [
        (Kind.BLANK, "row 1 (lib00001): haystack_sessions[1][2]"),
        (Kind.EVIDENCE, "row 1 (lib00001): answer_session_ids"),
        (Kind.NO_DATE, "row 1 (lib00001): question_date"),
        (Kind.NO_EVIDENCE, "row 2 (lib00002): answer_session_ids"),
        (Kind.NO_ANSWER, "row 3 (lib00003)"),
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda row: row.update(question_id="a b"),
            "row 1: question_id: expected an id of at most 100 letters, digits and `.-_/+@=:`, found the text 'a b'",
        ),
        (
            lambda row: row.update(question_type="multi-sesion"),
            "row 1 (lib00001): question_type: 'multi-sesion' is unknown; did you mean `multi-session`?",
        ),
        (
            lambda row: row["haystack_dates"].pop(),
            "row 1 (lib00001): haystack_dates: expected as many as there are haystack_sessions, 3, found the number 2",
        ),
        (
            lambda row: row.update(haystack_sessions=[]),
            "row 1 (lib00001): haystack_sessions: expected a list of sessions, found an empty list",
        ),
        (
            lambda row: row.update(haystack_sessions=[[], [], []]),
            "row 1 (lib00001): haystack_sessions: expected sessions with turns, found an empty list",
        ),
        (
            lambda row: row["haystack_sessions"][1][0].update(role="system"),
            "row 1 (lib00001): haystack_sessions[2][1].role: expected `user` or `assistant`, found the text 'system'",
        ),
        (
            lambda row: row["haystack_sessions"][1][0].update(has_answer="yes"),
            "row 1 (lib00001): haystack_sessions[2][1].has_answer: expected true or false, found the text 'yes'",
        ),
        (lambda row: row.pop("question"), "row 1 (lib00001): question: expected text, found nothing"),
    ],
)
def test_a_row_that_does_not_fit(change: Callable[[Any], Any], said: str, read: Read) -> None:
    rows = plain("longmemeval")
    change(rows[0])
    with pytest.raises(RecallError) as raised:
        read(rows)
    assert raised.value.messages == (f"file: {said}",)


def test_a_later_row_in_another_layout(read: Read) -> None:
    rows = plain("longmemeval")
    rows[4]["sessions"] = rows[4].pop("haystack_sessions")
    with pytest.raises(
        RecallError, match=r"^file: row 5 \(lib00005\): .* another layout of LongMemEval, found nothing$"
    ):
        read(rows)
