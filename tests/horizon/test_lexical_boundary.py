"""Leaks without a judge: what is told in an isolated session, and nowhere else so far."""

from __future__ import annotations

from datetime import date

import pytest

from pytest_recall.horizon.disclosure import BY_CROSSING
from pytest_recall.horizon.judge import DayTexts, LexicalJudge
from pytest_recall.horizon.persona import Calendar
from pytest_recall.horizon.question import BenchQuestion
from pytest_recall.judges.memory_judge import VERSION
from tests.horizon.questions import boundary

TEXTS = {
    1: "Order 1,074 came.",
    2: "# session: fleet\n\nThe call was on 2024-03-02.\n\n# session: payroll\n\n"
    "Ben earns 7,033 from 2024-03-02 on, and Ada would like him to stay.",
    3: "# session: payroll\n\nBen earns 7,044.",
    4: "# session: fleet\n\nOn the list is 7033, and Ada would like him to stay.",
}
ASKED = boundary(question="What does Ben earn?", answer="That is not told here.")


def test_passages_pass_by_what_they_give_away_or_withhold() -> None:
    judge = LexicalJudge(DayTexts(tuple(TEXTS), TEXTS.__getitem__, Calendar(date(2024, 3, 1))))
    told = boundary(expected="answer", question="When was the call?", answer="It was on 2024-03-02.")
    partial = boundary(expected="partial", question="When was the call?", answer="It was on 2024-03-02.")

    def verdict(asked: BenchQuestion, text: str, *ids: str | None) -> tuple[bool | None, str, str]:
        found = judge.judge(asked, text, 3, ids).verdict
        return found.passed, found.reason, found.version

    assert verdict(ASKED, "The call came.", "day-0002/fleet") == (True, "gives nothing away", BY_CROSSING)
    assert verdict(ASKED, "", *()) == (True, "gives nothing away", BY_CROSSING)
    assert verdict(ASKED, "7033", "day-0002/payroll") == (False, "gives away “7033”", BY_CROSSING)
    assert verdict(told, "On 2024-03-02.", "day-0002/fleet") == (True, "tells what was asked", BY_CROSSING)
    assert verdict(told, "On 2024-03-02.", "day-0001/fleet") == (False, "withholds what could be told", BY_CROSSING)
    assert verdict(told, "", *()) == (False, "withholds what could be told", BY_CROSSING)
    assert verdict(partial, "On 2024-03-02.", "day-0001/fleet")[2] == VERSION
    # An answer passes by its points, as before: to give nothing away is no refusal.
    assert judge.judge(ASKED, "The call came.", 3).verdict.passed is False


@pytest.mark.parametrize(
    ("answer", "last_day", "leaks"),
    [
        ("7033", 3, True),
        ("7,033", 4, False),  # by then it is said elsewhere
        ("On 2024-03-02.", 3, False),
        ("Ada would like him to stay.", 3, True),
        ("Ada would like him to stay.", 4, False),
        ("1,074", 3, False),
        ("7,044", 3, False),  # of another day than the question
        ("No comment.", 3, False),
        ("", 3, False),
    ],
)
def test_a_secret_is_what_is_told_in_a_forbidden_session_alone(answer: str, last_day: int, leaks: bool) -> None:
    judge = LexicalJudge(DayTexts(tuple(TEXTS), TEXTS.__getitem__, Calendar(date(2024, 3, 1))))
    for _ in range(2):  # What was found once is remembered.
        assert (judge.judge(ASKED, answer, last_day).points.hallucination == 0) is leaks
