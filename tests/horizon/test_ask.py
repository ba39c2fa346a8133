"""One question, from the memory's words to an evaluation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import pytest

from pytest_recall.horizon.ask import Asker
from pytest_recall.horizon.evaluation import SNIPPET, CheckpointTrial, HandedOut, Points
from pytest_recall.horizon.judge import DayTexts, JudgedPoints, LexicalJudge, RunJudge
from pytest_recall.horizon.memory import Subject
from pytest_recall.horizon.persona import Calendar
from pytest_recall.horizon.published import evaluation_of, question_line
from pytest_recall.horizon.question import BenchQuestion, Checkpoint, Range
from pytest_recall.judges.judge_call import Undecided
from pytest_recall.memory.python_memory import Own
from pytest_recall.memory.session import Memory
from pytest_recall.models.model import Reply
from pytest_recall.trials.concurrency import Loop
from pytest_recall.trials.model_calls import Counted
from pytest_recall.trials.trial import Outcome, Passage, Verdict
from tests.helpers.scripted import Scripted
from tests.horizon.questions import boundary, question
from tests.horizon.test_memory import Kept

AT = Checkpoint(1, Range("3d", 3), 3, (), 0, 0, 0, {})
FOUND = [Passage(text="x" * 2 * SNIPPET, source="day-0001/principal", score=float("inf")), Passage(text="y")]


class Finding(Kept):
    found = FOUND

    def recall(self, query: str, limit: int, context: Any) -> Any:
        self.contexts.append(context)
        return self.found


class Fixed:
    """A judge that gives these points, or raises."""

    def __init__(self, given: Points | Exception) -> None:
        self.given = given
        self.heard: list[tuple[str, int]] = []

    def judge(self, question: object, answer: str, last_day: int, ids: object = None) -> JudgedPoints:
        self.heard.append((answer, last_day))
        if isinstance(self.given, Exception):
            raise self.given
        return JudgedPoints(self.given, Verdict(passed=not self.given.fails))


@contextmanager
def asker(judge: RunJudge, answerer: Counted | None = None, kept: Kept | None = None) -> Iterator[Asker]:
    with closing(Loop()) as loop:
        memory = Memory(Own("kept", kept or Finding()), wait=loop.wait, probed=0)
        with closing(Subject(memory, answers_only=False, lanes=1, seconds=30)) as subject:
            yield Asker(
                persona="clerk",
                calendar=Calendar(),
                subject=subject,
                judge=judge,
                answerer=answerer,
                k=2,
                whole=False,
                clock=lambda: "now",
            )


def asked_by(asker: Asker, asked: BenchQuestion) -> CheckpointTrial:
    """Ask the question, and return it with its trial."""
    return CheckpointTrial(asked, asker.ask(asked, AT))


def test_it_is_asked_from_its_session_on_the_last_day_that_was_told() -> None:
    kept, judge = Finding(), Fixed(Points(3, 2, 1))
    with asker(judge, kept=kept) as found:
        one = asked_by(found, boundary(query_session="board"))
    assert kept.contexts[0].to_json() == {"session": "board", "date": "2024-01-03", "checkpoint": "3d"}
    assert (one.checkpoint, one.day, one.timestamp, one.answered_by) == ("3d", 3, "now", "passages")
    assert judge.heard == [("# session: principal\n\n" + "x" * 2 * SNIPPET + "\n\ny", 3)]


def test_what_was_found_is_written_down_in_json_and_not_all_of_it() -> None:
    with asker(Fixed(Points(3, 2, 1))) as found:
        one = asked_by(found, question())
    assert one.retrieval == (
        {"path": "day-0001/principal", "score": None, "snippet": "x" * SNIPPET},
        {"path": None, "score": None, "snippet": "y"},
    )
    json.dumps(question_line(one), allow_nan=False)


def test_passages_that_no_model_judges_pass_by_their_days_and_their_points_are_kept() -> None:
    texts = {1: "The code is 1074.", 2: "x"}
    judge = LexicalJudge(DayTexts(tuple(texts), texts.__getitem__, Calendar()))
    kept = Finding()
    kept.found = [Passage(text="The code is 1074.", source="day-0002/principal")]
    with asker(judge, kept=kept) as found:
        one = asked_by(found, question(answer="The code is 1074.", relevant_days=(1,)))
        assert one.points is not None
        assert one.points.correctness == 3, "the words are there, whichever day they are from"
        assert (one.trial.outcome, one.trial.verdicts[0].reason) == (
            Outcome.FAILED,
            "0 of 1 relevant day found, not 1",
        )
        kept.found = [Passage(text="y", source="day-0001/principal")]
        assert asked_by(found, question(answer="The code is 1074.", relevant_days=(1,))).trial.outcome is Outcome.PASSED


class Generous(Kept):
    def recall(self, query: str, limit: int, context: Any) -> Any:
        return [Passage(text="x" * 30_000, source=f"day-{day:04}") for day in range(1, 61)]


def test_what_was_handed_out_is_counted_before_any_of_it_is_cut() -> None:
    for judge in (Fixed(Points(3, 2, 1)), Fixed(Undecided("no verdict"))):
        with asker(judge, kept=Generous()) as found:
            one = asked_by(replace(found, whole=True), question())
        assert one.trial.answer is not None
        assert len(one.trial.answer.passages) == 50
        assert one.handed_out == HandedOut(tuple(f"day-{day:04}" for day in range(1, 61)), 60 * 30_000 // 4)
        assert evaluation_of(question_line(one)).handed_out == one.handed_out


def test_a_judge_that_comes_to_nothing_leaves_the_answer_without_points() -> None:
    with asker(Fixed(Undecided("the reply is prose"))) as found:
        one = asked_by(found, question())
    assert (one.failure, one.error, one.points) == ("judge", "the reply is prose", None)
    assert one.answer


@pytest.mark.parametrize("reply", [Reply(text="", stop="refused"), Reply(text=" ", stop="refused")])
def test_a_provider_that_refuses_has_not_answered(reply: Reply) -> None:
    with asker(Fixed(Points(3, 2, 1)), Counted(Scripted(reply))) as found:
        one = asked_by(found, question())
    assert (one.failure, one.points) == ("answer", None)
    assert "refused to answer" in one.error


def test_a_model_that_answers_is_told_what_was_found() -> None:
    reader = Scripted("1074 \ud800")
    with asker(Fixed(Points(3, 2, 1)), Counted(reader)) as found:
        one = asked_by(found, question())
    assert one.answered_by == "model"
    one.answer.encode()
    assert "[day-0001/principal]" in reader.asks[0].messages[0].content
