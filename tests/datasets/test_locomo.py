"""LoCoMo: what becomes of its fields, and of what is odd in the published file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.datasets.dataset import Kind, Oddity, Sample
from pytest_recall.files.errors import RecallError
from tests.datasets.files import load, odd, plain


@pytest.fixture
def read(tmp_path: Path) -> Callable[[Any], list[Sample]]:
    return lambda rows: load(tmp_path / "l.json", "locomo", rows)


Read = Callable[[Any], list[Sample]]


def test_a_conversation_and_its_questions(read: Read) -> None:
    first, second = read(plain("locomo"))
    assert (first.row, first.conversation.id, second.conversation.id) == (1, "conv-1", "conv-2")
    session = first.conversation.sessions[0]
    assert (session.id, session.date, len(session.turns)) == ("session_1", datetime(2024, 3, 4, 9, 12), 6)
    turn = session.turns[3]
    assert (turn.id, turn.speaker) == ("D1:4", "Tobias")
    assert turn.caption == "a small green rowing boat with a grey bird painted on it"
    question = first.questions[0]
    assert (question.id, question.text) == ("conv-1:q1", "What is Tobias's boat called?")
    assert (question.answer, question.category, question.unanswerable) == ("Heron", "single-hop", False)
    assert (question.evidence, question.evidence_sessions) == (("D1:4",), ("session_1",))
    assert odd([first, second]) == []


def test_categories_by_their_numbers(read: Read) -> None:
    rows = plain("locomo")
    found = {
        given["category"]: question.category
        for sample, row in zip(read(rows), rows, strict=True)
        for question, given in zip(sample.questions, row["qa"], strict=True)
    }
    assert found == {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


def test_an_answer_that_is_a_number_is_text(read: Read) -> None:
    assert read(plain("locomo"))[0].questions[2].answer == "1850"


def test_adversarial_questions_are_unanswerable(read: Read) -> None:
    rows = plain("locomo")
    rows[0]["qa"][-1]["answer"] = "No information available"
    samples = read(rows)
    sold, bowl = samples[0].questions[-2:]
    assert (sold.answer, sold.adversarial_answer, sold.unanswerable) == (None, "His car", True)
    assert (bowl.answer, bowl.adversarial_answer) == ("No information available", "Blue")
    assert [oddity.kind for oddity in odd(samples)] == [Kind.TWO_ANSWERS]


def test_sessions_are_in_the_order_of_their_numbers(read: Read) -> None:
    rows = plain("locomo")
    talk = rows[0]["conversation"]
    talk["session_10"], talk["session_10_date_time"] = talk.pop("session_1"), talk.pop("session_1_date_time")
    sessions = read(rows)[0].conversation.sessions
    assert [session.id for session in sessions] == ["session_2", "session_3", "session_4", "session_10"]


@pytest.mark.parametrize(
    ("written", "evidence", "unresolved"),
    [
        (["D1:1; D2:2"], ("D1:1", "D2:2"), ()),
        (["D1:1 D2:2  D3:3"], ("D1:1", "D2:2", "D3:3"), ()),
        (["D1:1,D2:2"], ("D1:1", "D2:2"), ()),
        (["D:1:2"], ("D1:2",), ()),
        (["D1:02", "D01:2"], ("D1:2",), ()),
        (["D"], (), ("D",)),
        (["D:11:26"], (), ("D11:26",)),
        (["D1:1; D9:9"], ("D1:1",), ("D9:9",)),
        ([""], (), ("",)),
        ([" ; "], (), (" ; ",)),
    ],
)
def test_evidence_in_unusual_spellings(
    written: list[str], evidence: tuple[str, ...], unresolved: tuple[str, ...], read: Read
) -> None:
    rows = plain("locomo")
    rows[0]["qa"][0]["evidence"] = written
    samples = read(rows)
    question = samples[0].questions[0]
    assert (question.evidence, question.unresolved) == (evidence, unresolved)
    kinds = {oddity.kind for oddity in odd(samples)}
    assert kinds == ({Kind.EVIDENCE} if unresolved else set()) | ({Kind.REPAIRED} if evidence else set())
    assert {oddity.place for oddity in odd(samples)} == {"row 1 (conv-1): qa[1].evidence"}


@pytest.mark.parametrize("none", [[], None])
def test_questions_without_evidence_are_reported(none: Any, read: Read) -> None:
    rows = plain("locomo")
    rows[1]["qa"][1]["evidence"] = none
    assert odd(read(rows)) == [Oddity(Kind.NO_EVIDENCE, "row 2 (conv-2): qa[2].evidence", "names no turn")]


def test_dates_and_sessions_need_not_pair(read: Read) -> None:
    rows = plain("locomo")
    talk = rows[0]["conversation"]
    talk["session_5_date_time"] = "1:00 pm on 1 July, 2024"
    talk["session_2_date_time"] = "in spring"
    del talk["session_3_date_time"]
    samples = read(rows)
    sessions = samples[0].conversation.sessions
    assert [(session.date, session.written) for session in sessions[1:3]] == [(None, "in spring"), (None, "")]
    assert odd(samples) == [
        Oddity(Kind.NO_DATE, "row 1 (conv-1): session_2_date_time", "'in spring'"),
        Oddity(Kind.NO_DATE, "row 1 (conv-1): session_3_date_time", "''"),
        Oddity(Kind.NO_SESSION, "row 1 (conv-1): session_5_date_time", "passed over"),
    ]


def test_other_oddities(read: Read) -> None:
    rows = plain("locomo")
    talk = rows[0]["conversation"]
    talk["session_1"][4]["dia_id"] = "D1:1"
    talk["session_1"][2]["text"] = "  "
    talk["epilogue"] = talk["session_1"][:1]
    del rows[0]["qa"][3]["answer"]
    samples = read(rows)
    assert [turn.id for turn in samples[0].conversation.sessions[0].turns][::4] == ["D1:1", "D1:1#2"]
    assert samples[0].questions[3].answer is None
    assert [oddity.kind for oddity in odd(samples)] == [Kind.BLANK, Kind.SAME_ID, Kind.UNREAD, Kind.NO_ANSWER]


def _conversation(row: Any) -> Any:
    return row["conversation"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda row: row.update(sample_id=7), "row 2: sample_id: expected text, found the number 7"),
        (
            lambda row: row.update(sample_id="26"),
            "row 2 (26): sample_id: expected an id that begins with a letter, of letters, digits, `.`, `-` and `_`,"
            " found the text '26'",
        ),
        (
            lambda row: row.update(conversation=[]),
            "row 2 (conv-2): conversation: expected an object, found an empty list",
        ),
        (
            lambda row: row.update(conversation={"speaker_a": "x"}),
            "row 2 (conv-2): conversation: expected sessions as `session_1`, found an object",
        ),
        (
            lambda row: _conversation(row).update(session_3="later"),
            "row 2 (conv-2): session_3: expected a list of turns, found the text 'later'",
        ),
        (
            lambda row: _conversation(row).update(session_3=["hello"]),
            "row 2 (conv-2): session_3[1]: expected a turn, found the text 'hello'",
        ),
        (
            lambda row: _conversation(row)["session_2"][1].update(text=5),
            "row 2 (conv-2): session_2[2].text: expected text, found the number 5",
        ),
        (
            lambda row: _conversation(row)["session_2"][1].pop("speaker"),
            "row 2 (conv-2): session_2[2].speaker: expected text, found nothing",
        ),
        (
            lambda row: _conversation(row).update({f"session_{n}": [] for n in range(1, 5)}),
            "row 2 (conv-2): conversation: expected sessions with turns, found an empty list",
        ),
        (
            lambda row: _conversation(row).update(session_1_date_time=2024),
            "row 2 (conv-2): session_1_date_time: expected text, found the number 2024",
        ),
        (lambda row: row.update(qa=[]), "row 2 (conv-2): qa: expected a list of questions, found an empty list"),
        (
            lambda row: row["qa"][4].update(category="2"),
            "row 2 (conv-2): qa[5].category: expected a number from 1 to 5, found the text '2'",
        ),
        (
            lambda row: row["qa"][4].update(category=True),
            "row 2 (conv-2): qa[5].category: expected a number from 1 to 5, found true",
        ),
        (
            lambda row: row["qa"][4].update(question=" "),
            "row 2 (conv-2): qa[5].question: expected text, found an empty text",
        ),
        (
            lambda row: row["qa"][4].update(answer=["a"]),
            "row 2 (conv-2): qa[5].answer: expected text or a number, found a list",
        ),
        (
            lambda row: row["qa"][4].update(evidence="D1:1"),
            "row 2 (conv-2): qa[5].evidence: expected a list of ids of turns, found the text 'D1:1'",
        ),
    ],
)
def test_a_row_that_does_not_fit(change: Callable[[Any], Any], said: str, read: Read) -> None:
    rows = plain("locomo")
    change(rows[1])
    with pytest.raises(RecallError) as raised:
        read(rows)
    assert raised.value.messages == (f"file: {said}",)
