"""What a replay of all cases says of a change: row, recording and replay agree, or which of them does not."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.replay.differences import DifferenceKind, RequestDifference
from pytest_recall.replay.tape import Mismatch
from pytest_recall.results.replay_text import lines, reason_text
from pytest_recall.schedule.changes import (
    TO_ASK,
    Changes,
    Origin,
    ReplayFinding,
    ReplayState,
    finding,
    from_text,
    of_series,
    to_text,
    wanted_in,
    wanted_text,
)
from pytest_recall.trials.conditions import RecordedAnswer, digest_of
from pytest_recall.trials.execution import Result
from pytest_recall.trials.record import FrequentChange, LetThrough, ReplaySummary, RequestChange
from pytest_recall.trials.trial import Answer, Outcome, Passage, Row, Trial, Verdict
from tests.helpers.samples import costly

DAY = date(2026, 3, 10)
ANSWER = Answer(text="Paris")
RECORDED = RecordedAnswer("2026-03-01", "Paris", True, digest_of(ANSWER))


def row(*, failing: bool = False) -> Row:
    return Row(2, 1, DAY, DAY, failure_note="wrong" if failing else None)


def replayed(
    outcome: Outcome = Outcome.PASSED,
    answer: Answer | None = ANSWER,
    recorded: RecordedAnswer | None = RECORDED,
    **more: Any,
) -> ReplayFinding:
    """Return what is found of a case that passed before, unless `more` says otherwise."""
    result = None
    if answer is not None and outcome.is_verdict:
        result = Result(outcome, answer, (Verdict(passed=outcome is Outcome.PASSED, judge="exact", reason="why"),))
    more.setdefault("row", row())
    return finding(result, outcome, more.pop("difference", None), recorded, answer=answer, **more)


def changed(path: str, recorded: str, sent: str) -> RequestDifference:
    """Return that a value of a request is another one."""
    return RequestDifference(DifferenceKind.CHANGED, path, recorded, sent)


AGENT, JUDGE = (Mismatch(kind, 2, (changed("prompt", "a", "b"),)) for kind in ("agent", "judge"))
OTHER_ANSWER = Answer(text="Rome")


@pytest.mark.parametrize("before", [None, row(), row(failing=True)], ids=["new", "passed", "failed"])
@pytest.mark.parametrize("recorded", [None, True, False], ids=["no recording", "recorded pass", "recorded fail"])
@pytest.mark.parametrize("outcome", [Outcome.PASSED, Outcome.FAILED, Outcome.ERROR])
@pytest.mark.parametrize("difference", [None, AGENT, JUDGE], ids=["equal requests", "other", "other of the judge"])
@pytest.mark.parametrize("answer", [ANSWER, OTHER_ANSWER], ids=["same answer", "other answer"])
def test_row_recording_and_replay_have_to_agree(
    before: Row | None, recorded: bool | None, outcome: Outcome, difference: Mismatch | None, answer: Answer
) -> None:
    known = None if recorded is None else RECORDED._replace(passed=recorded)
    found = replayed(outcome, answer, known, difference=difference, row=before)
    if known is None:
        expected = ReplayState.NOT_RECORDED
    elif difference is not None:
        expected = ReplayState.CHANGED if difference is AGENT else ReplayState.UNJUDGED
    elif outcome is Outcome.ERROR:
        expected = ReplayState.UNKNOWN
    elif (before, recorded, outcome, answer) == (row(), True, Outcome.PASSED, ANSWER):
        expected = ReplayState.UNAFFECTED
    else:
        expected = ReplayState.RECORDED
    assert found.state is expected
    is_decided = expected in (ReplayState.UNAFFECTED, ReplayState.RECORDED)
    assert found.outcome == (outcome.value if is_decided else "")
    assert found.breaks == (expected is ReplayState.RECORDED and outcome is Outcome.FAILED and before == row())
    assert found.altered == (is_decided and (answer != ANSWER or recorded is not (outcome is Outcome.PASSED)))


@pytest.mark.parametrize("answer", [Answer(text="paris"), Answer(text="Paris", passages=(Passage(text="x"),))])
def test_another_answer_from_equal_requests_is_judged_at_once(answer: Answer) -> None:
    found = replayed(Outcome.FAILED, answer)
    assert (found.state, found.breaks, found.note) == (ReplayState.RECORDED, True, "exact: why")
    assert replayed(Outcome.PASSED, answer).state is ReplayState.RECORDED


def test_a_recording_without_a_digest_is_held_to_the_beginning_of_its_answer() -> None:
    old = RECORDED._replace(digest="")
    assert replayed(recorded=old).state is ReplayState.UNAFFECTED
    assert replayed(answer=OTHER_ANSWER, recorded=old).state is ReplayState.RECORDED


def test_an_answer_that_is_not_written_down_is_held_to_its_digest() -> None:
    """As of one that looks like a secret."""
    secret = RECORDED._replace(answer=None)
    assert replayed(recorded=secret).state is ReplayState.UNAFFECTED
    assert replayed(answer=OTHER_ANSWER, recorded=secret).state is ReplayState.RECORDED
    assert replayed(recorded=secret._replace(passed=False)).state is ReplayState.RECORDED


@pytest.mark.parametrize(
    ("before", "outcome", "state", "breaks"),
    [
        (row(), Outcome.PASSED, ReplayState.UNAFFECTED, False),
        (row(), Outcome.FAILED, ReplayState.RECORDED, True),
        (row(failing=True), Outcome.FAILED, ReplayState.RECORDED, False),
        (row(failing=True), Outcome.PASSED, ReplayState.RECORDED, False),
        (None, Outcome.PASSED, ReplayState.RECORDED, False),
        (None, Outcome.FAILED, ReplayState.RECORDED, False),
    ],
)
def test_a_test_without_an_answer_is_its_own_judge(
    before: Row | None, outcome: Outcome, state: ReplayState, breaks: bool
) -> None:
    found = replayed(outcome, None, RecordedAnswer("2026-03-01"), row=before)
    assert (found.state, found.breaks) == (state, breaks)


def test_other_requests_are_affected_with_the_call_and_what_differs() -> None:
    first = changed("messages[0].content", "a", "b")
    found = replayed(Outcome.ERROR, None, difference=Mismatch("agent", 2, (first, changed("x", "1", "2"))))
    assert (found.state, found.change) == (ReplayState.CHANGED, RequestChange(2, first, more=1))


def test_only_the_judging_is_done_again_where_the_answer_is_known() -> None:
    asked = JUDGE
    assert replayed(Outcome.ERROR, difference=asked).state is ReplayState.UNJUDGED
    assert replayed(Outcome.ERROR, None, difference=asked).state is ReplayState.CHANGED


def test_an_error_is_no_verdict() -> None:
    found = replayed(Outcome.ERROR, None, error="agent: boom")
    assert (found.state, found.why, found.breaks) == (ReplayState.UNKNOWN, "agent: boom", False)


class TestEqualDifferences:
    def key(self, path: str, recorded: str, sent: str, *words: str) -> str:
        differences = (changed(path, recorded, sent),)
        return replayed(Outcome.ERROR, None, difference=Mismatch("agent", 1, differences), words=words).key

    def test_the_words_of_the_case_do_not_count(self) -> None:
        one = self.key("messages[1].content", "Be kind. Q: late fee", "Be short. Q: late fee")
        assert one == self.key("messages[3].content", "Be kind. Q: opening", "Be short. Q: opening")

    def test_nor_where_they_are_what_differs(self) -> None:
        one = self.key("text", "ask cat", "tell cat now", "cat")
        assert one == self.key("text", "ask dog", "tell dog now", "dog")

    def test_two_edits_are_two(self) -> None:
        assert self.key("a", "x", "y") != self.key("a", "x", "z")
        assert self.key("a", "x", "y") != self.key("b", "x", "y")


EDIT = ReplayFinding(ReplayState.CHANGED, differences=(changed("a", "x", "y"),), key="k")
SAME = ReplayFinding(ReplayState.UNAFFECTED, outcome="passed", before="passed")
FELL = ReplayFinding(ReplayState.RECORDED, outcome="failed", before="passed", note="exact: why")


@pytest.mark.parametrize(
    ("findings", "verdict", "expected"),
    [
        ([SAME, SAME], Outcome.PASSED, (ReplayState.UNAFFECTED, "passed", "")),
        ([SAME, FELL, FELL], Outcome.FAILED, (ReplayState.RECORDED, "failed", "exact: why")),
        # One trial of several may fail, as it did before.
        ([SAME, FELL, SAME], Outcome.PASSED, (ReplayState.UNAFFECTED, "passed", "")),
        ([SAME, FELL._replace(altered=True), SAME], Outcome.PASSED, (ReplayState.RECORDED, "passed", "")),
        ([FELL._replace(before="")], Outcome.PASSED, (ReplayState.RECORDED, "passed", "")),
    ],
)
def test_several_trials_have_one_verdict(
    findings: list[ReplayFinding], verdict: Outcome, expected: tuple[ReplayState, str, str]
) -> None:
    found = of_series(findings, verdict)
    assert (found.state, found.outcome, found.note) == expected


def test_a_series_with_an_open_trial_is_asked_again_from_its_first() -> None:
    edit = EDIT._replace(usd=0.1)
    assert of_series([SAME, edit], None) == edit
    for open_ in ([SAME, edit._replace(state=ReplayState.UNJUDGED)], [FELL]):
        found = of_series(open_, None)
        assert (found.state, found.change.cause) == (ReplayState.CHANGED, "series")
    assert of_series([SAME, ReplayFinding(ReplayState.UNKNOWN, why="x"), FELL], None).why == "x"


def test_what_differs_at_a_call_may_begin_as_recorded_and_a_series_without_a_verdict_not() -> None:
    edit = EDIT
    changes = Changes({"edit": edit, "second": of_series([SAME, edit], None), "short": of_series([FELL], None)})
    assert changes.beginning_as_recorded == ["edit", "second"]
    assert Changes({"judged": edit._replace(state=ReplayState.UNJUDGED)}).beginning_as_recorded == []


STATES = st.sampled_from(list(ReplayState))
FINDINGS = st.builds(
    ReplayFinding,
    STATES,
    why=st.text(max_size=5),
    call=st.integers(0, 5),
    differences=st.lists(
        st.builds(
            RequestDifference,
            st.sampled_from(list(DifferenceKind)),
            st.text(max_size=5),
            st.none() | st.text(max_size=5),
            st.none() | st.text(max_size=5),
        ),
        max_size=3,
    ).map(tuple),
    key=st.text(max_size=4),
    outcome=st.sampled_from(["", "passed", "failed"]),
    before=st.sampled_from(["", "passed", "failed"]),
    trials=st.lists(st.just(Trial("x", Outcome.PASSED, answer=ANSWER).to_json()), max_size=2).map(tuple),
    altered=st.booleans(),
    usd=st.none() | st.floats(0, 1e6),
    headroom=st.floats(0, 1e6),
    own=st.booleans(),
)
CASES = st.dictionaries(st.text(min_size=1, max_size=4), FINDINGS, max_size=6)


@costly
@given(CASES, st.integers(0, 9))
def test_what_is_written_is_read_again(found: dict[str, ReplayFinding], more: int) -> None:
    changes = Changes(found, len(found) + more, let_through=LetThrough({"db": more}, ("db:1",), ("git",)))
    again = from_text(to_text(changes, "2026-03-10"), "changed.json")
    kept = {
        case_id: ReplayFinding(ReplayState.NOT_RECORDED) if one.state is ReplayState.NOT_RECORDED else one
        for case_id, one in found.items()
    }
    assert again == Changes(kept, changes.of, let_through=changes.let_through)


def test_what_went_past_the_recordings_is_added_up() -> None:
    one = Changes({"a": ReplayFinding(ReplayState.CHANGED)}, 1, let_through=LetThrough({"db": 1}, ("db:1",)))
    assert one.joined(one).let_through == LetThrough({"db": 2}, ("db:1",))
    assert one.completed(one, "base").compared(one).let_through.calls == {"db": 3}


@costly
@given(CASES, CASES)
def test_parts_of_a_replay_are_the_whole(first: dict[str, ReplayFinding], second: dict[str, ReplayFinding]) -> None:
    both = Changes(first, len(first)).joined(Changes(second, len(second)))
    assert both.findings.keys() == first.keys() | second.keys()
    assert both.of == len(first) + len(second)
    assert both.affected == {
        case_id for case_id, one in both.findings.items() if one.state is not ReplayState.UNAFFECTED
    }
    assert both.reasons == {
        case_id: "judged again" if one.state is ReplayState.UNJUDGED else "affected"
        for case_id, one in both.findings.items()
        if one.state in (*TO_ASK, ReplayState.UNJUDGED)
    }
    assert both.affected == both.reasons.keys() | set(both.ids(ReplayState.RECORDED))
    assert not set(both.broken) & both.reasons.keys()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "changed.json: does not say what a replay found"),
        ("[]", "changed.json: does not say what a replay found"),
        ('{"version": 1, "changed": []}', "changed.json: version 1 is not that of this pytest-recall"),
        ('{"version": 4, "found": {"a": {"state": "odd"}}, "not_recorded": [], "of": 1}', "does not say"),
        (
            '{"version": 4, "found": {"a": {"state": "unaffected", "call": "x"}}, "not_recorded": [], "of": 1}',
            "does not",
        ),
        ('{"version": 4, "found": {"a": {"state": "unaffected", "usd": -1}}, "not_recorded": [], "of": 1}', "does not"),
        ("[" * 100_000, "does not say what a replay found"),
    ],
)
def test_a_file_that_says_something_else_is_one_sentence(text: str, said: str) -> None:
    with pytest.raises(RecallError, match=re.escape(said)) as caught:
        from_text(text, "changed.json")
    assert len(caught.value.messages) == 1


BROKEN = ReplayFinding(ReplayState.RECORDED, outcome="failed", before="passed", altered=True)


def test_equal_differences_are_counted_once() -> None:
    edit = EDIT._replace(call=1)
    broken = BROKEN._replace(note="exact: wrong")
    changes = Changes({"a": edit, "b": edit, "c": broken, "d": ReplayFinding(ReplayState.UNAFFECTED)}, 5)
    assert changes.summary == ReplaySummary(
        of=5,
        cases=4,
        affected=3,
        states={"changed": 2, "recorded": 1, "unaffected": 1},
        changes=(FrequentChange("a", 2, RequestChange(1, changed("a", "x", "y"))),),
    )
    assert list(lines(changes))[-1] == "  FAILED c: exact: wrong"
    assert changes.touched == ("a", "b", "c")


def test_of_many_that_fail_some_are_named() -> None:
    changes = Changes({f"c{number}": BROKEN for number in range(8)}, 8)
    _, *named, more = lines(changes)
    assert named == [f"  FAILED c{number}: {reason_text(BROKEN)}" for number in range(5)]
    assert more == "  and 3 more that fail on recorded answers"


DECIDED = (ReplayState.UNAFFECTED, ReplayState.RECORDED)
ORIGINS: tuple[Origin, ...] = ("branch", "ci")


@pytest.mark.parametrize("before", list(ReplayState))
@pytest.mark.parametrize("own", list(ReplayState))
def test_recordings_of_the_change_decide_what_those_of_the_base_leave_open(
    before: ReplayState, own: ReplayState
) -> None:
    base = Changes({"a": ReplayFinding(before), "b": EDIT}, 2)
    others = Changes({"a": ReplayFinding(own, outcome="passed")}, 1)
    is_open = before not in (ReplayState.UNAFFECTED, ReplayState.RECORDED)
    for origin in ORIGINS:
        found = base.completed(others, origin)
        if is_open and own in (ReplayState.UNAFFECTED, ReplayState.RECORDED):
            # It is never unaffected: that its row agrees with what was recorded here says nothing of the base.
            decided = found.findings["a"]
            assert (decided.state, decided.outcome, decided.altered) == (ReplayState.RECORDED, "passed", True)
            assert (decided.own, decided.of_ci) == (origin == "branch", origin == "ci")
            assert (found.own, found.touched) == (int(origin == "branch"), ("a", "b"))
        else:
            assert found == base
        assert (found.findings["b"], found.of) == (EDIT, 2)
    if is_open:
        # A run of the base's own branch has recorded what the base asks: its cassettes lack only the newest.
        assert base.completed(others, "base").findings["a"].state is (own if own in DECIDED else before)


def test_what_had_to_be_judged_again_is_asked_again_where_all_is_recorded() -> None:
    rejudged = EDIT._replace(state=ReplayState.UNJUDGED)
    found = Changes({"a": rejudged, "b": EDIT, "c": BROKEN}, 3).asking_all()
    assert found == Changes({"a": EDIT, "b": EDIT, "c": BROKEN}, 3)


def test_what_fails_on_its_recorded_answer_is_asked_on_the_default_branch_if_it_passed_before() -> None:
    known = BROKEN._replace(before="failed")
    found = Changes({"a": BROKEN, "b": known, "c": EDIT}, 3).asking_broken()
    assert found.ids(ReplayState.CHANGED) == ["a", "c"]
    assert found.findings["b"] == known
    assert not found.broken


@given(st.sets(st.text(max_size=4)))
def test_which_cases_to_replay_is_read_as_it_was_written(wanted: set[str]) -> None:
    assert wanted_in(wanted_text(wanted), "of.json") == wanted


@pytest.mark.parametrize("text", ["{}", "[1]", '"a"', "[", "[" * 100_000])
def test_what_does_not_say_which_cases_to_replay_is_refused(text: str) -> None:
    with pytest.raises(RecallError, match=r"^of\.json: does not say which cases to replay; write a JSON list of "):
        wanted_in(text, "of.json")


def test_of_a_case_that_was_not_replayed_nothing_is_known() -> None:
    changes = Changes({"a": SAME}, 1).complete(["a", "b"])
    assert changes.findings["a"] == SAME
    assert changes.findings["b"].state is ReplayState.UNKNOWN
    assert list(changes.reasons) == ["b"]


def test_a_case_that_is_checked_live_is_affected_wherever_it_is_counted() -> None:
    found = Changes({name: replayed() for name in "abc"}, 3, frozenset({"bot.py"}))
    assert found.checked_live(["other.py"], "seed") == found
    checked = found.checked_live(["bot.py"], "seed")
    assert checked.affected == checked.reasons.keys() == {checked.live}
    assert found.summary == ReplaySummary(of=3, cases=3, affected=0, states={"unaffected": 3})
    assert checked.summary == ReplaySummary(of=3, cases=3, affected=1, states={"unaffected": 2}, live=True)


def test_what_asks_what_the_base_asks_is_no_matter_of_the_change() -> None:
    same = EDIT._replace(request="k2", asked=("k1", "k2"))
    other = EDIT._replace(request="k9", asked=("k9",))
    judged = EDIT._replace(request="k3")
    found = Changes({"a": same, "b": other, "c": judged}, 3, frozenset({"src/agent.py"}))
    assert found.missing == {"a": "k2", "b": "k9"}
    told = found.beside_base({"a": "k2", "b": "k8", "c": "k3", "d": "k4"})
    assert told.as_base == {"a": ("k1", "k2")}
    assert (told.affected, told.touched) == (frozenset("bc"), ("b", "c"))
    # It is asked all the same, so that it is recorded.
    assert told.reasons == found.reasons
    assert [(one.case, one.cases) for one in told.summary.changes] == [("b", 2)]
    decided = Changes({"a": ReplayFinding(ReplayState.RECORDED, outcome="failed", before="passed")}, 1)
    assert told.completed(decided, "ci").as_base == told.as_base
    assert told.completed(decided, "ci").touched == ("b", "c")
    assert told.completed(decided, "base").as_base == {}


@pytest.mark.parametrize(
    ("paths", "more"), [(["NOTES.md"], False), (["NOTES.md", "src/agent.py"], True), (["eval/rubric.yaml"], True)]
)
def test_a_change_of_what_a_replay_reads_may_alter_more_than_requests(paths: list[str], more: bool) -> None:
    found = Changes({}, 0, frozenset({"src/agent.py"})).beside_files(paths, "eval/rubric.yaml")
    assert found.alters_more is more


def test_in_what_a_request_differs_stays_known_when_a_recording_of_the_change_decides() -> None:
    asks = EDIT._replace(call=2)
    base = Changes({"a": asks, "b": ReplayFinding(ReplayState.UNAFFECTED), "c": ReplayFinding(ReplayState.UNKNOWN)})
    expected = {"a": asks.change}
    assert base.request_changes == expected
    decided = base.completed(Changes({"a": ReplayFinding(ReplayState.RECORDED, outcome="failed")}), "ci")
    assert decided.findings["a"].state is ReplayState.RECORDED
    assert decided.request_changes == expected


def test_a_request_of_a_judge_is_no_difference_of_what_the_agent_asks() -> None:
    judges = replayed(Outcome.ERROR, OTHER_ANSWER, difference=JUDGE)
    assert judges.of_judge
    recorded_anew = Changes({"a": judges}).asking_all()
    assert recorded_anew.asks("a")
    assert recorded_anew.request_changes == {}
