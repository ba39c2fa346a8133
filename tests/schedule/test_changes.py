"""What a replay of all cases says of a change: proven, another answer, to be judged again, affected or unknown."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.replay.tape import Mismatch
from pytest_recall.schedule.changes import (
    TO_ASK,
    Changes,
    ReplayFinding,
    ReplayState,
    Wanted,
    finding,
    from_text,
    of_series,
    to_text,
)
from pytest_recall.trials.conditions import RecordedAnswer, digest_of
from pytest_recall.trials.execution import Result
from pytest_recall.trials.trial import Answer, Outcome, Passage, Row, Trial, Verdict
from tests.helpers.samples import costly

DAY = date(2026, 3, 10)
ANSWER = Answer(text="Paris")
RECORDED = RecordedAnswer("2026-03-01", "Paris", True, digest_of(ANSWER))


def row(*, failing: bool = False) -> Row:
    return Row(2, 1, DAY, DAY, failure_note="wrong" if failing else None)


def replayed(
    outcome: Outcome = Outcome.PASSED, answer: Answer | None = ANSWER, recorded: Any = RECORDED, **more: Any
) -> ReplayFinding:
    result = None
    if answer is not None and outcome.is_verdict:
        result = Result(outcome, answer, (Verdict(passed=outcome is Outcome.PASSED, judge="exact", reason="why"),))
    return finding(result, outcome, more.pop("difference", None), recorded, answer=answer, **more)


def test_equal_requests_answer_and_verdict_are_proof() -> None:
    found = replayed()
    assert (found.state, found.outcome, found.before, found.breaks) == (ReplayState.PROVEN, "passed", "passed", False)


def test_a_known_failure_is_no_break() -> None:
    known = RECORDED._replace(passed=False)
    assert replayed(Outcome.FAILED, recorded=known).state is ReplayState.PROVEN
    other = replayed(Outcome.FAILED, Answer(text="Rome"), known)
    assert (other.state, other.breaks) == (ReplayState.OTHER, False)


@pytest.mark.parametrize("answer", [Answer(text="paris"), Answer(text="Paris", passages=(Passage(text="x"),))])
def test_another_answer_from_equal_requests_is_judged_at_once(answer: Answer) -> None:
    found = replayed(Outcome.FAILED, answer)
    assert (found.state, found.breaks, found.note) == (ReplayState.OTHER, True, "exact: why")
    assert replayed(Outcome.PASSED, answer).state is ReplayState.OTHER
    assert not replayed(Outcome.PASSED, answer).breaks


def test_another_verdict_on_the_same_answer_is_the_changes_doing() -> None:
    assert replayed(Outcome.FAILED).breaks


def test_a_recording_without_a_digest_is_held_to_the_beginning_of_its_answer() -> None:
    old = RECORDED._replace(digest="")
    assert replayed(recorded=old).state is ReplayState.PROVEN
    assert replayed(answer=Answer(text="Rome"), recorded=old).state is ReplayState.OTHER


@pytest.mark.parametrize(
    ("before", "outcome", "state", "breaks"),
    [
        (row(), Outcome.PASSED, ReplayState.PROVEN, False),
        (row(), Outcome.FAILED, ReplayState.OTHER, True),
        (row(failing=True), Outcome.FAILED, ReplayState.PROVEN, False),
        (row(failing=True), Outcome.PASSED, ReplayState.OTHER, False),
        (None, Outcome.PASSED, ReplayState.PROVEN, False),
        (None, Outcome.FAILED, ReplayState.OTHER, True),
    ],
)
def test_without_an_answer_on_record_the_last_verdict_counts(
    before: Row | None, outcome: Outcome, state: ReplayState, breaks: bool
) -> None:
    found = replayed(outcome, None, None, row=before)
    assert (found.state, found.breaks) == (state, breaks)


def test_other_requests_are_affected_with_the_call_and_its_lines() -> None:
    found = replayed(Outcome.ERROR, None, difference=Mismatch("agent", 2, ("messages[0].content: “a” → “b”", "x: 1")))
    assert (found.state, found.call, found.reason) == (
        ReplayState.CHANGED,
        2,
        "call 2: messages[0].content: “a” → “b” and 1 more",
    )
    assert replayed(Outcome.ERROR, None, None, difference=Mismatch("agent")).state is ReplayState.NOT_RECORDED


def test_only_the_judging_is_done_again_where_the_answer_is_known() -> None:
    asked = Mismatch("judge", 2, ("prompt: “a” → “b”",))
    assert replayed(Outcome.ERROR, difference=asked).state is ReplayState.UNJUDGED
    assert replayed(Outcome.ERROR, None, difference=asked).state is ReplayState.CHANGED


def test_an_error_is_no_verdict() -> None:
    found = replayed(Outcome.ERROR, None, error="agent: boom")
    assert (found.state, found.reason, found.breaks) == (ReplayState.UNKNOWN, "agent: boom", False)


class TestEqualDifferences:
    def key(self, *lines: str, words: tuple[str, ...] = ()) -> str:
        return replayed(Outcome.ERROR, None, difference=Mismatch("agent", 1, lines), words=words).key

    def test_the_words_of_the_case_do_not_count(self) -> None:
        one = self.key("messages[1].content: “Be kind. Q: late fee” → “Be short. Q: late fee”")
        assert one == self.key("messages[3].content: “Be kind. Q: opening” → “Be short. Q: opening”")

    def test_nor_where_they_are_what_differs(self) -> None:
        one = self.key("text: “ask cat” → “tell cat now”", words=("cat",))
        assert one == self.key("text: “ask dog” → “tell dog now”", words=("dog",))

    def test_two_edits_are_two(self) -> None:
        assert self.key("a: “x” → “y”") != self.key("a: “x” → “z”")
        assert self.key("a: “x” → “y”") != self.key("b: “x” → “y”")


def test_of_several_trials_each_has_to_be_proven() -> None:
    proven, other = ReplayFinding(ReplayState.PROVEN), ReplayFinding(ReplayState.OTHER, outcome="failed")
    assert of_series([proven, proven], 2) == proven
    assert of_series([other], 1) == other
    assert of_series([other], 3).reason == "one of its 3 trials: other answer"
    assert of_series([proven, other], 2).state is ReplayState.CHANGED
    assert of_series([proven, ReplayFinding(ReplayState.UNKNOWN, why="x"), other], 3).state is ReplayState.UNKNOWN


STATES = st.sampled_from(list(ReplayState))
FINDINGS = st.builds(
    ReplayFinding,
    STATES,
    why=st.text(max_size=5),
    call=st.integers(0, 5),
    lines=st.lists(st.text(max_size=5), max_size=3).map(tuple),
    key=st.text(max_size=4),
    outcome=st.sampled_from(["", "passed", "failed"]),
    before=st.sampled_from(["", "passed", "failed"]),
    trial=st.sampled_from([None, Trial("x", Outcome.PASSED, answer=ANSWER).to_json()]),
    usd=st.none() | st.floats(0, 1e6),
)
CASES = st.dictionaries(st.text(min_size=1, max_size=4), FINDINGS, max_size=6)


@costly
@given(CASES, st.integers(0, 9))
def test_what_is_written_is_read_again(found: dict[str, ReplayFinding], more: int) -> None:
    changes = Changes(found, len(found) + more)
    again = from_text(to_text(changes, "2026-03-10"), "changed.json")
    kept = {
        case_id: ReplayFinding(ReplayState.NOT_RECORDED) if one.state is ReplayState.NOT_RECORDED else one
        for case_id, one in found.items()
    }
    assert again == Changes(kept, changes.of)


@costly
@given(CASES, CASES)
def test_parts_of_a_replay_are_the_whole(first: dict[str, ReplayFinding], second: dict[str, ReplayFinding]) -> None:
    both = Changes(first, len(first)).joined(Changes(second, len(second)))
    assert both.found.keys() == first.keys() | second.keys()
    assert both.of == len(first) + len(second)
    assert both.affected == {case_id for case_id, one in both.found.items() if one.state in TO_ASK}
    assert not both.affected & both.rejudged
    assert not set(both.broken) & both.affected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "changed.json: does not say what a replay found; write it by `pytest -p recall --record=missing"),
        ("[]", "changed.json: does not say what a replay found"),
        ('{"version": 1, "changed": []}', "changed.json: version 1 is not that of this pytest-recall; write it by"),
        ('{"version": 2, "found": {"a": {"state": "odd"}}, "not_recorded": [], "of": 1}', "does not say"),
        ('{"version": 2, "found": {"a": {"state": "proven", "call": "x"}}, "not_recorded": [], "of": 1}', "does not"),
        ('{"version": 2, "found": {"a": {"state": "proven", "usd": -1}}, "not_recorded": [], "of": 1}', "does not"),
        ("[" * 100_000, "does not say what a replay found"),
    ],
)
def test_a_file_that_says_something_else_is_one_sentence(text: str, said: str) -> None:
    with pytest.raises(RecallError, match=re.escape(said)) as caught:
        from_text(text, "changed.json")
    assert len(caught.value.messages) == 1


EDIT = ReplayFinding(ReplayState.CHANGED, lines=("a: “x” → “y”",), key="k")
BROKEN = ReplayFinding(ReplayState.OTHER, outcome="failed", before="passed")


def test_equal_differences_are_told_once() -> None:
    edit = EDIT._replace(call=1)
    broken = BROKEN._replace(note="exact: wrong")
    changes = Changes({"a": edit, "b": edit, "c": broken, "d": ReplayFinding(ReplayState.PROVEN)}, 5)
    assert changes.told == (
        "2 of 4 cases affected (2 ask something else, 1 with another answer, 1 proven, 1 case not replayed)"
    )
    assert list(changes.details()) == ["  2 cases, such as a: call 1: a: “x” → “y”", "  FAILED c: exact: wrong"]
    assert changes.touched == ("a", "b", "c")
    assert broken.reason == "another answer or verdict from equal requests: failed, recorded as passed"


def test_of_many_that_fail_some_are_named() -> None:
    changes = Changes({f"c{number}": ReplayFinding(ReplayState.OTHER, outcome="failed", before="passed")
                       for number in range(8)}, 8)  # fmt: skip
    *named, more = changes.details()
    why = "another answer or verdict from equal requests: failed, recorded as passed"
    assert named == [f"  FAILED c{number}: {why}" for number in range(5)]
    assert more == "  and 3 more that fail by the change alone"


def test_two_cases_stand_for_all_with_the_same_difference() -> None:
    other = EDIT._replace(state=ReplayState.UNJUDGED, key="l")
    proven = ReplayFinding(ReplayState.PROVEN, key="k")
    found = Changes({"d": EDIT, "c": EDIT, "b": EDIT, "a": proven, "y": other, "x": other, "w": BROKEN, "v": proven})
    assert found.suspects() == {"k": ["b", "c"], "l": ["x", "y"], "w": ["w"]}
    assert list(found.suspects()) == ["k", "l", "w"], "the most common first"
    assert list(found.suspects(most=2)) == ["k", "l"]


def test_what_fails_without_the_change_as_well_is_not_of_its_making() -> None:
    same = ReplayFinding(ReplayState.OTHER, outcome="passed", before="passed")
    now = Changes({"a": BROKEN, "b": BROKEN, "c": BROKEN, "d": EDIT}, 4)
    found = now.against(Changes({"a": BROKEN, "b": same, "d": BROKEN}, 3))
    assert (now.broken, found.broken) == (["a", "b", "c"], ["b", "c"])
    assert found == now._replace(found={**now.found, "a": BROKEN._replace(before="failed")})


def test_what_had_to_be_judged_again_is_asked_again_where_all_is_recorded() -> None:
    rejudged = EDIT._replace(state=ReplayState.UNJUDGED)
    found = Changes({"a": rejudged, "b": EDIT, "c": BROKEN}, 3).asking_all()
    assert found == Changes({"a": EDIT, "b": EDIT, "c": BROKEN}, 3)


@given(st.dictionaries(st.text(max_size=4), st.lists(st.sampled_from(["x", r"\d+", "ä"]), max_size=3).map(tuple)))
def test_which_cases_to_replay_is_read_as_it_was_written(passing: dict[str, tuple[str, ...]]) -> None:
    text = Wanted(passing).to_text()
    assert Wanted.from_text(text, "of.json") == Wanted(passing)


@pytest.mark.parametrize("text", ["[]", '{"a": "x"}', '{"a": ["("]}', "{"])
def test_what_does_not_say_which_cases_to_replay_is_refused(text: str) -> None:
    assert Wanted.from_text('{"a": [], "b": ["x"]}', "of.json") == Wanted({"a": (), "b": ("x",)})
    with pytest.raises(RecallError, match=r"^of\.json: does not say which cases to replay; write a JSON object of "):
        Wanted.from_text(text, "of.json")
