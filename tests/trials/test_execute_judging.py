"""One case, judged: every kind of verdict, threshold and mistake."""

from __future__ import annotations

import asyncio
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from pytest_recall.cases.case import Case
from pytest_recall.files.errors import CaseError, RecallError
from pytest_recall.trials.execution import as_verdict, check_callable
from pytest_recall.trials.trial import Answer, Outcome, Verdict
from tests.helpers.samples import FAILED, PASSED, case
from tests.trials.asking import SAID, broken, never, tried

# Verdicts


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        (True, Verdict(passed=True)),
        (False, Verdict(passed=False)),
        (0.25, Verdict(passed=None, score=0.25)),
        (1, Verdict(passed=None, score=1.0)),
        (0, Verdict(passed=None, score=0.0)),
        (Decimal("0.25"), Verdict(passed=None, score=0.25)),
        (Fraction(1, 4), Verdict(passed=None, score=0.25)),
        ((True, "fine"), Verdict(passed=True, reason="fine")),
        ((0.5, "so so"), Verdict(passed=None, score=0.5, reason="so so")),
        ((False, 42), Verdict(passed=False, reason="42")),
        (Verdict(passed=False, score=0.9, reason="no"), Verdict(passed=False, score=0.9, reason="no")),
    ],
)
def test_kinds_of_verdicts(given: Any, verdict: Verdict) -> None:
    assert as_verdict(given) == verdict


def test_scalars_of_arrays_are_what_they_hold() -> None:
    numpy = pytest.importorskip("numpy")
    array = numpy.array([0.25, 0.5])
    for given, verdict in (
        (array[0] < array[1], Verdict(passed=True)),
        ((array > 1).any(), Verdict(passed=False)),
        (numpy.int64(1), Verdict(passed=None, score=1.0)),
        (numpy.float32(0.25), Verdict(passed=None, score=0.25)),
        (array.mean(), Verdict(passed=None, score=0.375)),
        ((numpy.bool_(True), "so"), Verdict(passed=True, reason="so")),
        (Verdict(passed=numpy.bool_(True), score=numpy.float32(0.5)), Verdict(passed=True, score=0.5)),
    ):
        found = as_verdict(given)
        assert found == verdict
        assert (type(found.passed), type(found.score)) == (type(verdict.passed), type(verdict.score))
    with pytest.raises(RecallError, match=r"^gave array"):
        as_verdict(array)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "gave None; return a Verdict, a bool, or a score from 0 to 1"),
        ("passed", "gave 'passed'; return"),
        ((True,), "gave (True,); return"),
        ("é" * 99, f"gave '{'é' * 58}…; return"),
        ((True, "a", "b"), "gave (True, 'a', 'b'); return"),
        ({"passed": True}, "gave {'passed': True}; return"),
        (1.5, "gave the score 1.5; a score lies between 0 and 1"),
        (-1, "gave the score -1.0; a score lies"),
        (float("nan"), "gave the score nan; a score lies"),
        (Verdict(passed=True, score=60), "gave the score 60; a score lies"),
        (Decimal("NaN"), "gave the score nan; a score lies"),
        (Verdict(passed=None), "gave neither `passed` nor a score; a verdict needs one of them"),
    ],
)
def test_what_is_no_verdict(given: Any, said: str) -> None:
    error = broken(case(judges=["mine"]), mine=lambda answer, one: given)
    assert error.stage == "judge mine"
    assert str(error).startswith(f"judge mine: {said}")
    assert error.__cause__ is None


@pytest.mark.parametrize(
    ("fixture", "stage", "takes"),
    [("agent", "agent", "the input of a case"), ("judge_tone", "judge tone", "the answer and the case")],
)
def test_a_fixture_that_cannot_be_called_is_told_what_it_would_be_given(fixture: str, stage: str, takes: str) -> None:
    told = f"{stage}: the fixture `{fixture}` gave 7, which is not a function; return one that takes {takes}"
    with pytest.raises(CaseError, match=f"^{re.escape(told)}$"):
        check_callable(fixture, 7)


def test_a_judge_gets_the_answer_and_the_case() -> None:
    heard: list[Any] = []

    def mine(answer: Answer, one: Case, *, top: int = 5) -> bool:
        heard.append((answer, one, top))
        return True

    one = case(judges=[{"mine": {"top": 1}}, "mine"])
    tried(one, mine=mine)
    assert heard == [(Answer(text=SAID), one, 1), (Answer(text=SAID), one, 5)]


def test_a_judge_may_be_async() -> None:
    async def mine(answer: Answer, one: Case) -> tuple[bool, str]:
        await asyncio.sleep(0)
        return False, "too late"

    assert tried(case(judges=["mine"]), mine=mine).note == "mine: too late"


# Thresholds


@pytest.mark.parametrize(
    ("arguments", "of_the_case", "of_the_rubric", "threshold"),
    [
        ({"threshold": 0.9}, 0.1, 0.1, 0.9),
        ({"threshold": 0}, 0.9, 0.9, 0.0),
        ({}, 0.9, 0.1, 0.9),
        ({}, 0.0, 0.9, 0.0),
        ({}, None, 0.9, 0.9),
        ({}, None, 0.0, 0.0),
        ({}, None, None, 0.5),
    ],
)
def test_the_call_beats_the_case_beats_the_rubric(
    arguments: dict[str, float], of_the_case: float | None, of_the_rubric: float | None, threshold: float
) -> None:
    rubric = {} if of_the_rubric is None else {"mine": of_the_rubric, "other": 1.0}

    def outcome(score: float) -> Outcome:
        one = case(judges=[{"mine": arguments}], threshold=of_the_case)
        return tried(one, thresholds=rubric, mine=lambda answer, one: score).outcome

    assert outcome(threshold) is PASSED
    if threshold:
        assert outcome(threshold - 0.01) is FAILED


def test_a_score_below_the_threshold_says_so() -> None:
    def note(given: Any) -> str:
        return tried(case(judges=["mine"], threshold=0.75), mine=lambda answer, one: given).note

    assert note(0.5) == "mine: score 0.50, below 0.75"
    assert note((0.5, "so so")) == "mine: so so, below 0.75"
    assert note(Verdict(passed=None, score=0.5)) == "mine: score 0.50, below 0.75"


def test_the_verdict_keeps_score_and_judge() -> None:
    (verdict,) = tried(case(judges=["mine"]), mine=lambda answer, one: (0.7, "good")).verdicts
    assert verdict == Verdict(passed=True, score=0.7, reason="good", judge="mine")


def test_a_verdict_without_a_reason_has_an_empty_one() -> None:
    def mine(answer: Answer, one: Case) -> Verdict:
        return Verdict(passed=False, reason=None)  # type: ignore[arg-type]  # what a judge in plain Python gives

    (verdict,) = tried(case(judges=["mine"]), mine=mine).verdicts
    assert verdict == Verdict(passed=False, reason="", judge="mine")


def test_a_judge_that_decides_takes_no_threshold() -> None:
    error = broken(case(judges=[{"exact": {"threshold": 0.5}}]))
    assert str(error) == "judge exact: decides by itself, so that `threshold` has no effect; remove it"


def test_a_threshold_that_nothing_is_compared_with() -> None:
    error = broken(case(threshold=0.5))
    assert str(error) == "threshold: no judge of the case scores, so nothing is compared with 0.5; remove it"
    assert tried(case(judges=["exact", "token_f1"], threshold=0.5)).outcome is PASSED


@pytest.mark.parametrize("bad", ["0.5", True, False, [0.5], {"at": 1}, 60, 1.5, -0.5, -1])
def test_a_threshold_that_is_no_score(bad: Any) -> None:
    for judge in ("token_f1", "exact"):
        error = broken(case(judges=[{judge: {"threshold": bad}}]))
        assert (error.stage, error.__cause__) == (f"judge {judge}", None)
        assert str(error) == f"judge {judge}: threshold: {bad!r} is not a score; give a number from 0 to 1"


@pytest.mark.parametrize("limit", [0, 0.0, 1, 1.0])
def test_a_threshold_may_be_a_limit(limit: float) -> None:
    assert tried(case(judges=[{"token_f1": {"threshold": limit}}])).outcome is PASSED


# Mistakes


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({"exact": {"ignorecase": True}}, "unknown argument `ignorecase`; did you mean `ignore_case`?"),
        ({"mine": {"treshold": 0.5}}, "unknown argument `treshold`; did you mean `threshold`?"),
        ({"mine": {"xyz": 1}}, "unknown argument `xyz`; known: threshold, top"),
    ],
)
def test_an_unknown_argument_costs_nothing(call: Any, said: str) -> None:
    def mine(answer: Answer, one: Case, top: int = 5) -> bool:
        return True

    (name,) = call
    error = broken(case(judges=[call]), never, mine=mine)
    assert (error.stage, str(error)) == (f"judge {name}", f"judge {name}: {said}")


def test_a_judge_may_take_any_argument() -> None:
    def mine(answer: Answer, one: Case, **more: Any) -> bool:
        return more == {"anything": 1}

    assert tried(case(judges=[{"mine": {"anything": 1}}]), mine=mine).outcome is PASSED


def test_a_judge_without_a_signature_is_called_all_the_same() -> None:
    class Odd:
        __signature__ = "none"

        def __call__(self, answer: Answer, one: Case, **more: Any) -> bool:
            return more == {"top": 1}

    assert tried(case(judges=[{"mine": {"top": 1}}]), mine=Odd()).outcome is PASSED


def test_a_crash_of_the_agent_is_the_third_outcome_with_its_cause() -> None:
    crash = TimeoutError("no answer\nafter 30 s")

    def agent(question: Any) -> str:
        raise crash

    error = broken(case(), agent)
    assert (error.stage, str(error)) == ("agent", "agent: TimeoutError: no answer after 30 s")
    assert error.__cause__ is crash


def test_a_crash_without_a_message() -> None:
    def agent(question: Any) -> str:
        raise ValueError

    assert str(broken(case(), agent)) == "agent: ValueError: no message"


def test_a_crash_of_an_async_agent() -> None:
    async def agent(question: Any) -> str:
        raise ConnectionError("upstream 503")

    error = broken(case(), agent)
    assert str(error) == "agent: ConnectionError: upstream 503"
    assert isinstance(error.__cause__, ConnectionError)


def test_an_assertion_in_the_agent_is_no_verdict() -> None:
    assert str(broken(case(), never)) == "agent: AssertionError: the agent was asked"


def test_a_crash_of_a_judge_is_the_third_outcome_with_its_cause() -> None:
    def mine(answer: Answer, one: Case) -> bool:
        raise KeyError("model")

    error = broken(case(judges=["exact", "mine"]), mine=mine)
    assert (error.stage, str(error)) == ("judge mine", "judge mine: KeyError: 'model'")
    assert isinstance(error.__cause__, KeyError)


def test_a_mistake_said_in_a_sentence_needs_no_traceback() -> None:
    def agent(question: Any) -> str:
        raise RecallError("no index; build it with `make index`")

    error = broken(case(), agent)
    assert (str(error), error.__cause__) == ("agent: no index; build it with `make index`", None)


def test_a_judge_that_lacks_what_it_compares_with() -> None:
    error = broken(case(expected=None))
    assert str(error) == "judge exact: needs `expected`; give it in the case or as an argument"


def test_ctrl_c_stops_the_run() -> None:
    def agent(question: Any) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tried(case(), agent)


def test_an_agent_that_exits_gives_no_verdict_and_the_run_goes_on() -> None:
    def agent(question: Any) -> str:
        raise SystemExit(3)

    assert str(broken(case(), agent)) == "agent: SystemExit: 3"
