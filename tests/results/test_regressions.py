"""Causes: a table of what was and what is, in the order of certainty."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay.differences import DifferenceKind, RequestDifference
from pytest_recall.replay.exchange import Call
from pytest_recall.results.regressions import Cause, CauseLabel, DiffPiece, cause, narrowed, word_diff
from pytest_recall.trials.record import RequestChange
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
    ("was", "now", "label", "facts"),
    [
        ("case=aaaaaa", "case=bbbbbb", CauseLabel.CASE, {}),
        ("model=small-1", "model=large-2", CauseLabel.MODEL, {"before": ["small-1"], "now": ["large-2"]}),
        ("judge=444444", "judge=eeeeee", CauseLabel.JUDGE, {"models": True}),
        ("threshold=555555", "threshold=eeeeee", CauseLabel.JUDGE, {"threshold": True}),
        (" threshold=555555", "", CauseLabel.JUDGE, {"threshold": True}),
        (
            "system=111111",
            "system=eeeeee",
            CauseLabel.PROMPT,
            {"changed": ["system"], "same": ["settings", "dialogue"]},
        ),
        (
            "settings=222222",
            "settings=222222 tools=9",
            CauseLabel.PROMPT,
            {"changed": ["tools"], "same": ["system", "settings", "dialogue"]},
        ),
        (
            "dialogue=333333",
            "dialogue=eeeeee",
            CauseLabel.PROMPT,
            {"changed": ["dialogue"], "same": ["system", "settings"]},
        ),
    ],
)
def test_what_is_not_as_it_was_is_the_cause(was: str, now: str, label: CauseLabel, facts: dict[str, Any]) -> None:
    assert was in WAS
    assert cause(failed(WAS.replace(was, now)), row(3, passed_under=WAS)) == Cause(label, facts)


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
    same = ["case", "prompt", "model", "judge"]
    assert cause(failed(), row(3, passed_under=WAS)) == Cause(CauseLabel.AGENT, {"same": same})
    assert cause(failed(), row(3)) == Cause(CauseLabel.UNKNOWN)
    assert cause(failed(source="replayed"), row(3, passed_under=WAS)).label is CauseLabel.AGENT
    found = cause(failed(f"{WAS} retold=same", source="replayed"), row(3, passed_under=WAS))
    assert found == Cause(CauseLabel.UNKNOWN, {"same": same, "answer": "recorded"})


def test_an_answer_that_never_came_goes_before_what_people_changed() -> None:
    now = WAS.replace("aaaaaa", "bbbbbb")
    found = cause(failed(now, ended("http-500"), ended("http-500"), ended()), row(3, passed_under=WAS))
    facts = {"troubles": {"http-500": 2}, "calls": 3}
    assert found == Cause(CauseLabel.UPSTREAM, facts, (Cause(CauseLabel.CASE, {}),))


def test_trouble_that_the_last_pass_had_as_well_is_none() -> None:
    before = row(3, passed_under=f"{WAS} trouble=http-404")
    assert cause(failed(WAS, ended("http-404")), before).label is CauseLabel.AGENT
    assert cause(failed(WAS, ended("http-404"), ended("cut-off")), before).facts == {
        "troubles": {"cut-off": 1},
        "calls": 2,
    }


def test_trouble_of_a_judge_is_not_the_agents() -> None:
    assert cause(failed(WAS, ended("http-500", kind="judge")), row(3, passed_under=WAS)).label is CauseLabel.AGENT


def test_trouble_that_was_overcome_comes_last() -> None:
    call = ended("http-429", retried=True)
    found = cause(failed(WAS, call, ended()), row(3, passed_under=WAS))
    assert found == Cause(CauseLabel.RETRIED, {"troubles": {"http-429": 1}, "calls": 2})
    assert cause(failed(WAS, call), row(3, passed_under=WAS, lapses=2)).label is CauseLabel.COIN


@pytest.mark.parametrize(
    ("outcomes", "lapses", "facts"),
    [
        ((FAILED, PASSED, FAILED), 0, {"passed": 1, "verdicts": 3}),
        ((FAILED, PASSED, ERROR, FAILED), 2, {"passed": 1, "verdicts": 3, "lapses": 2}),
        ((FAILED,), 3, {"lapses": 3}),
    ],
)
def test_trials_that_differ_and_falls_speak_for_chance(
    outcomes: tuple[Outcome, ...], lapses: int, facts: dict[str, int]
) -> None:
    found = cause(failed(), row(3, passed_under=WAS, lapses=lapses), outcomes)
    assert found == Cause(CauseLabel.COIN, facts)
    assert cause(failed(), row(3, passed_under=WAS, lapses=1), (FAILED, FAILED)).label is CauseLabel.AGENT


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
    assert found == Cause(CauseLabel.MODEL, {"tested": "small-1", "now": ["large-2"]})
    assert cause(failed(model="large-2"), row(3, passed_under=was)).label is CauseLabel.AGENT


def test_the_selector_in_a_row_of_an_earlier_version_is_no_other_model() -> None:
    before = row(3, passed_under=WAS.replace(" model=small-1", ""), last_model="openai:small-1")
    assert cause(failed(model="small-1-2026-01-01"), before).label is CauseLabel.AGENT
    assert cause(failed(model="small-2"), before).label is CauseLabel.MODEL


ALSO = (Cause(CauseLabel.CASE),)
SAME = Cause(CauseLabel.AGENT, {"same": ["case"]}, ALSO)


@pytest.mark.parametrize(("kind", "label"), [("agent", CauseLabel.CODE), ("judge", CauseLabel.CHANGE)])
def test_a_change_that_touched_it_is_to_blame_where_the_conditions_are_as_they_were(
    kind: str, label: CauseLabel
) -> None:
    found = narrowed(SAME, failed(WAS, Call(kind, "live")), ("12",), 1)
    assert found == Cause(label, {"same": ["case"], "touched": ["12"]}, ALSO)


@pytest.mark.parametrize(
    ("count", "label"), [(1, CauseLabel.OUTSIDE), (2, CauseLabel.OUTSIDE), (3, CauseLabel.PROVIDER)]
)
def test_what_no_change_has_touched_is_not_the_code(count: int, label: CauseLabel) -> None:
    assert narrowed(SAME, failed(), (), count) == Cause(label, {"failed": count}, ALSO)


def test_what_the_conditions_say_stands() -> None:
    for label in CauseLabel:
        found = Cause(label, {"same": ["case"]})
        assert (narrowed(found, failed(), (), 1) == found) == (label not in (CauseLabel.AGENT, CauseLabel.UNKNOWN))
        assert (narrowed(found, failed(), ("12",), 1) == found) == (label is not CauseLabel.AGENT)


def test_other_code_of_a_judge_is_a_change_of_people_as_others_are() -> None:
    before, code = row(3, passed_under=WAS), [("fair", "eval/conftest.py")]
    facts = {"code": [["fair", "eval/conftest.py"]]}
    assert cause(failed(), before, judge_code=code) == Cause(CauseLabel.JUDGE, facts)
    edited = cause(failed(WAS.replace("case=aaaaaa", "case=bbbbbb")), before, judge_code=code)
    assert edited == Cause(CauseLabel.CASE, {}, (Cause(CauseLabel.JUDGE, facts),))
    both = cause(failed(WAS.replace("judge=444444", "judge=eeeeee")), before, judge_code=code)
    assert both.facts == {**facts, "models": True}


@pytest.mark.parametrize("label", [CauseLabel.AGENT, CauseLabel.CODE, CauseLabel.UNKNOWN])
def test_the_answer_of_the_last_pass_that_fails_after_a_change_is_put_down_to_its_judge(label: CauseLabel) -> None:
    found, same = Cause(label, {"same": ["case"]}, ALSO), failed(answer=Answer(text="Paris"))
    assert narrowed(found, same, ("12",), 1, "Paris") == Cause(CauseLabel.JUDGE, {"touched": ["12"]}, ALSO)
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
    request = RequestChange(1, RequestDifference(DifferenceKind.CHANGED, "header x-variant"))
    before = row(3, passed_under=WAS)
    found = cause(failed(), before, request=request)
    assert found == Cause(CauseLabel.REQUEST, {"request": request.to_json()})
    assert narrowed(found, failed(), ["5"], 2) == found
    prompt = cause(failed(WAS.replace("system=111111", "system=eeeeee")), before, request=request)
    assert (prompt.label, prompt.also) == (CauseLabel.PROMPT, ())
