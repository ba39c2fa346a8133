"""Causes: a table of what was and what is, in the order of certainty."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay.exchange import Call
from pytest_recall.results.regressions import Cause, CauseLabel, DiffPiece, cause, narrowed, word_diff
from pytest_recall.trials.trial import Answer, Outcome, Passage, Trial
from tests.helpers.samples import days, row, trial, unhurried

PASSED, FAILED, ERROR = Outcome.PASSED, Outcome.FAILED, Outcome.ERROR
WAS = "case=aaaaaa system=111111 settings=222222 dialogue=333333 model=small-1 judge=444444 threshold=555555"


def failed(under: str = WAS, *calls: Call, **more: Any) -> Trial:
    """Return a fail under these conditions."""
    return trial("a", FAILED, under=under, calls=calls, **more)


def ended(trouble: str = "", *, retried: bool = False, kind: str = "agent") -> Call:
    """Return a call that ended so."""
    return Call(kind, "live", trouble=trouble, retried=retried)


@pytest.mark.parametrize(
    ("was", "now", "label", "evidence"),
    [
        ("case=aaaaaa", "case=bbbbbb", CauseLabel.CASE, "it is written otherwise than at its last pass"),
        ("model=small-1", "model=large-2", CauseLabel.MODEL, "small-1 answered at the last pass, now large-2"),
        ("judge=444444", "judge=eeeeee", CauseLabel.JUDGE, "its models, its prompt or its criteria are others"),
        ("threshold=555555", "threshold=eeeeee", CauseLabel.JUDGE, "`thresholds` in the rubric hold its score to"),
        (" threshold=555555", "", CauseLabel.JUDGE, "`thresholds` in the rubric hold its score to another bar"),
        (
            "system=111111",
            "system=eeeeee",
            CauseLabel.PROMPT,
            "other system prompt than at the last pass; settings and",
        ),
        ("settings=222222", "settings=222222 tools=9", CauseLabel.PROMPT, "other tools than at the last pass"),
        ("dialogue=333333", "dialogue=eeeeee", CauseLabel.PROMPT, "other messages around the input than at the last"),
    ],
)
def test_what_is_not_as_it_was_is_the_cause(was: str, now: str, label: CauseLabel, evidence: str) -> None:
    assert was in WAS
    found = cause(failed(WAS.replace(was, now)), row(3, passed_under=WAS))
    assert found.label is label
    assert found.finding.startswith(evidence)
    assert not found.also


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (WAS, WAS),
        ("", WAS),
        (WAS, ""),
        (WAS, WAS.replace(" model=small-1", "")),
        (WAS.replace("model=small-1", "model=small-1+embed"), WAS),
        (WAS, WAS.replace(" dialogue=333333", "").replace("system=111111", "system=eeeeee")),
    ],
    ids=["the same", "nothing known of the pass", "nothing known now", "no model known", "fewer models", "no prompt"],
)
def test_what_is_missing_is_no_change(was: str, now: str) -> None:
    expected = CauseLabel.AGENT if was and now else CauseLabel.UNKNOWN
    assert cause(failed(now), row(3, passed_under=was or None)).label is expected


def test_without_a_finding_it_says_what_is_as_it_was() -> None:
    assert cause(failed(), row(3, passed_under=WAS)) == (
        CauseLabel.AGENT,
        "case, prompt, model and judge are as at the last pass",
        (),
    )
    assert cause(failed(), row(3)) == (CauseLabel.UNKNOWN, "nothing is known of its last pass to compare with", ())
    assert cause(failed(source="replayed"), row(3, passed_under=WAS)).label is CauseLabel.AGENT
    same = cause(failed(f"{WAS} retold=same", source="replayed"), row(3, passed_under=WAS))
    assert (same.label, same.finding) == (
        CauseLabel.UNKNOWN,
        "case, prompt, model and judge are as at the last pass, and the answer is the one that was recorded",
    )


def test_an_answer_that_never_came_goes_before_what_people_changed() -> None:
    now = WAS.replace("aaaaaa", "bbbbbb")
    found = cause(failed(now, ended("http-500"), ended("http-500"), ended()), row(3, passed_under=WAS))
    assert (found.label, found.finding) == (CauseLabel.UPSTREAM, "2 http-500 of 3 calls")
    assert found.also == ("the case was edited: it is written otherwise than at its last pass",)


def test_trouble_that_the_last_pass_had_as_well_is_none() -> None:
    before = row(3, passed_under=f"{WAS} trouble=http-404")
    assert cause(failed(WAS, ended("http-404")), before).label is CauseLabel.AGENT
    assert cause(failed(WAS, ended("http-404"), ended("cut-off")), before).finding == "1 cut-off of 2 calls"


def test_trouble_of_a_judge_is_not_the_agents() -> None:
    assert cause(failed(WAS, ended("http-500", kind="judge")), row(3, passed_under=WAS)).label is CauseLabel.AGENT


def test_trouble_that_was_overcome_comes_last() -> None:
    call = ended("http-429", retried=True)
    found = cause(failed(WAS, call, ended()), row(3, passed_under=WAS))
    assert (found.label, found.finding) == (CauseLabel.RETRIED, "1 http-429 of 2 calls, each asked again and answered")
    assert cause(failed(WAS, call), row(3, passed_under=WAS, lapses=2)).label is CauseLabel.COIN


@pytest.mark.parametrize(
    ("outcomes", "lapses", "evidence"),
    [
        ((FAILED, PASSED, FAILED), 0, "1 of 3 trials in this run passed"),
        ((FAILED, PASSED, ERROR, FAILED), 2, "1 of 3 trials in this run passed; it fell from a higher box 2 times"),
        ((FAILED,), 3, "it fell from a higher box 3 times before"),
    ],
)
def test_trials_that_differ_and_falls_speak_for_chance(
    outcomes: tuple[Outcome, ...], lapses: int, evidence: str
) -> None:
    found = cause(failed(), row(3, passed_under=WAS, lapses=lapses), outcomes)
    assert found.label is CauseLabel.COIN
    assert found.finding.startswith(evidence)
    assert cause(failed(), row(3, passed_under=WAS, lapses=1), (FAILED, FAILED)).label is CauseLabel.AGENT


def test_messages_call_a_case_flaky_and_files_keep_the_label_they_have() -> None:
    found = cause(failed(), row(3, passed_under=WAS, lapses=3), (FAILED,))
    assert (found.label.shown, found.to_json()["label"]) == ("the case is flaky", "the case flips a coin")
    assert [one for one in CauseLabel if one.shown != one.value] == [CauseLabel.COIN]


@pytest.mark.parametrize(
    ("taped", "label"),
    [
        ("taped=2026-01-02", CauseLabel.CASSETTE),
        ("taped=2026-01-02 retold=same", CauseLabel.CASSETTE),
        ("taped=2026-01-02 retold=other", CauseLabel.CODE),
        ("taped=2026-03-01", CauseLabel.AGENT),
        ("", CauseLabel.AGENT),
    ],
)
def test_a_recording_from_before_the_last_pass_is_stale_unless_the_agent_made_something_else_of_it(
    taped: str, label: CauseLabel
) -> None:
    before = row(3, passed_under=WAS, tested=row().next_due - days(9))
    assert before.last_tested.isoformat() == "2026-03-01"
    assert cause(failed(f"{WAS} {taped}".strip(), source="replayed"), before).label is label


def test_the_same_recording_that_passed_is_not_stale() -> None:
    before = row(3, passed_under=f"{WAS} taped=2026-01-02")
    assert cause(failed(f"{WAS} taped=2026-01-02", source="replayed"), before).label is CauseLabel.CODE


def test_where_nothing_is_known_of_the_last_pass_no_recording_is_stale() -> None:
    assert cause(failed("taped=2026-01-02", source="replayed"), row(3)).label is CauseLabel.UNKNOWN


def test_of_as_many_values_as_are_kept_another_one_is_no_change() -> None:
    many, other = WAS.replace("small-1", "a+b+c+d"), WAS.replace("small-1", "e")
    assert cause(failed(other), row(3, passed_under=many)).label is CauseLabel.AGENT
    many, other = (WAS.replace("111111", digests) for digests in ("a1+a2+a3+a4", "a5"))
    assert cause(failed(other), row(3, passed_under=many)).label is CauseLabel.AGENT


def test_a_model_is_known_by_its_name_where_no_call_was_seen() -> None:
    was = WAS.replace(" model=small-1", "")
    found = cause(failed(model="large-2"), row(3, passed_under=was, last_model="small-1"))
    assert (found.label, found.finding) == (CauseLabel.MODEL, "last tested with small-1, now with large-2")
    assert cause(failed(model="large-2"), row(3, passed_under=was)).label is CauseLabel.AGENT


def test_the_selector_in_a_row_of_an_earlier_version_is_no_other_model() -> None:
    before = row(3, passed_under=WAS.replace(" model=small-1", ""), last_model="openai:small-1")
    assert cause(failed(model="small-1-2026-01-01"), before).label is CauseLabel.AGENT
    assert cause(failed(model="small-2"), before).label is CauseLabel.MODEL


SAME = Cause(CauseLabel.AGENT, "case is as at the last pass", ("also",))


@pytest.mark.parametrize(
    ("kind", "label", "told"),
    [("agent", CauseLabel.CODE, "asks after them; case"), ("judge", CauseLabel.CHANGE, "or how it is judged; case")],
)
def test_a_change_that_touched_it_is_to_blame_where_the_conditions_are_as_they_were(
    kind: str, label: CauseLabel, told: str
) -> None:
    found = narrowed(SAME, failed(WAS, Call(kind, "live")), ("12",), 1)
    assert (found.label, found.also) == (label, ("also",))
    assert found.finding.startswith("#12 altered what it makes of replies")
    assert told in found.finding


@pytest.mark.parametrize(
    ("count", "label", "evidence"),
    [
        (1, CauseLabel.OUTSIDE, "its trial failed"),
        (2, CauseLabel.OUTSIDE, "all 2 trials failed"),
        (3, CauseLabel.PROVIDER, "all 3 trials failed"),
    ],
)
def test_what_no_change_has_touched_is_not_the_code(count: int, label: CauseLabel, evidence: str) -> None:
    assert narrowed(SAME, failed(), (), count) == (label, evidence, ("also",))


def test_what_the_conditions_say_stands() -> None:
    for label in CauseLabel:
        found = Cause(label, "why")
        assert (narrowed(found, failed(), (), 1) == found) == (label not in (CauseLabel.AGENT, CauseLabel.UNKNOWN))
        assert (narrowed(found, failed(), ("12",), 1) == found) == (label is not CauseLabel.AGENT)


def test_other_code_of_a_judge_is_a_change_of_people_as_others_are() -> None:
    before, told = row(3, passed_under=WAS), "its judge `fair` has other code in eval/conftest.py"
    code = [("fair", "eval/conftest.py")]
    assert cause(failed(), before, judge_code=code) == (CauseLabel.JUDGE, told, ())
    edited = cause(failed(WAS.replace("case=aaaaaa", "case=bbbbbb")), before, judge_code=code)
    assert (edited.label, edited.also) == (CauseLabel.CASE, (f"the judge changed: {told}",))
    both = cause(failed(WAS.replace("judge=444444", "judge=eeeeee")), before, judge_code=code)
    assert both.finding == f"{told}; its models, its prompt or its criteria are others"


@pytest.mark.parametrize("label", [CauseLabel.AGENT, CauseLabel.CODE, CauseLabel.UNKNOWN])
def test_the_answer_of_the_last_pass_that_fails_after_a_change_is_put_down_to_its_judge(label: CauseLabel) -> None:
    found, same = Cause(label, "why", ("also",)), failed(answer=Answer(text="Paris"))
    assert narrowed(found, same, ("12",), 1, "Paris") == (
        CauseLabel.JUDGE,
        "its judge decides otherwise of the answer of its last pass, and #12 touched it",
        ("also",),
    )
    with_passages = failed(answer=Answer(text="Paris", passages=(Passage(text="Paris"),)))
    for one, touched, last in (
        (same, ("12",), "Rome"),
        (same, ("12",), None),
        (same, (), "Paris"),
        (failed(answer=None), ("12",), None),
        (with_passages, ("12",), "Paris"),
    ):
        assert narrowed(found, one, touched, 1, last) == narrowed(found, one, touched, 1)


# Word diff: short, and about the words that differ


def test_what_changed_stands_among_a_few_words() -> None:
    before = "Dear guest, we are glad to say that we are open from 10:00 to 16:00 each day of the whole year."
    assert word_diff(before, before.replace("16:00", "17:00")) == [
        DiffPiece("same", "… open from 10:00 to"),
        DiffPiece("gone", "16:00"),
        DiffPiece("new", "17:00"),
        DiffPiece("same", "each day of the …"),
    ]


def test_what_came_or_went_is_one_piece() -> None:
    assert word_diff("a b", "a b c") == [DiffPiece("same", "a b"), DiffPiece("new", "c")]
    assert word_diff("a b c", "b c") == [DiffPiece("gone", "a"), DiffPiece("same", "b c")]
    assert word_diff("a", "") == [DiffPiece("gone", "a")]


def test_the_same_words_differ_in_nothing() -> None:
    assert word_diff("a  b", "a\nb") == []
    assert word_diff("", "") == []


def test_answers_with_nothing_in_common_are_cut() -> None:
    pieces = word_diff(" ".join(f"a{n}" for n in range(300)), " ".join(f"b{n}" for n in range(300)), limit=20)
    assert [piece.kind for piece in pieces] == ["gone", "new"]
    assert all(len(piece.text.split()) == 11 and piece.text.endswith("…") for piece in pieces)


words = st.lists(st.sampled_from("abcde"), max_size=60).map(" ".join)


@unhurried
@given(words, words)
def test_it_is_short_and_empty_only_where_nothing_differs(before: str, after: str) -> None:
    pieces = word_diff(before, after)
    assert bool(pieces) == (before != after)
    assert sum(len(piece.text.split()) for piece in pieces) <= 80


def test_a_long_difference_is_cut() -> None:
    before = " ".join(f"a{n} b" for n in range(60))
    found = word_diff(before, before.replace("a", "c"), limit=4)
    assert found[-1] == DiffPiece("same", "…")
    assert len(found) < 8


def test_where_nothing_else_is_known_to_differ_a_request_that_differs_is_the_cause() -> None:
    told = "call 1: header x-variant: another value than recorded"
    before = row(3, passed_under=WAS)
    found = cause(failed(), before, difference=told)
    assert found == Cause(CauseLabel.REQUEST, told)
    assert narrowed(found, failed(), ["5"], 2) == found
    prompt = cause(failed(WAS.replace("system=111111", "system=eeeeee")), before, difference=told)
    assert (prompt.label, prompt.also) == (CauseLabel.PROMPT, ())
