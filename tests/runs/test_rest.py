"""What a run that was cut off has left: what has no verdict, and nothing that has one."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.runs.resume import Rest, changes, rest_of
from pytest_recall.trials.record import Record, settings_of
from pytest_recall.trials.series import graded
from tests.helpers.samples import ERROR, FAILED, PASSED, SKIPPED, case_ids, header, outcomes, trial, unhurried


def cut_off(*trials: Any, baselines: tuple[str, ...] = (), also: tuple[str, ...] = ("z",)) -> Record:
    """Return a run that was cut off after `trials`, with further cases chosen."""
    ids = dict.fromkeys([*(one.case_id for one in trials), *also])
    return Record(header(*((case_id, "due") for case_id in ids), baselines=baselines), tuple(trials))


def test_what_has_no_verdict_is_left() -> None:
    record = cut_off(trial("a"), trial("b", FAILED), trial("c", ERROR), trial("d", SKIPPED))
    assert rest_of(record).cases == ["c", "d", "z"]


def test_a_question_that_nobody_can_judge_is_done_once_it_was_asked() -> None:
    assert rest_of(cut_off(trial("a", SKIPPED, reason="dataset"), trial("b", ERROR, reason="dataset"))).cases == [
        "b",
        "z",
    ]


def test_early_trials_are_kept_for_cases_without_a_verdict_that_did_not_change() -> None:
    rest = rest_of(cut_off(trial("a", fingerprint="1"), also=("b", "c", "d")))
    done = [trial(case_id, fingerprint="1") for case_id in "abc"] + [trial("d", ERROR, fingerprint="1")]
    kept = rest.with_early(done, lambda case_id: "2" if case_id == "c" else "1")
    assert kept.early.keys() == {("b", "")}
    assert kept.cases == ["b", "c", "d"]
    assert Rest.from_json(json.loads(json.dumps(kept.to_json()))) == kept


def test_the_last_trial_counts() -> None:
    assert rest_of(cut_off(trial("a"), trial("a", ERROR))).cases == ["a", "z"]
    assert rest_of(cut_off(trial("a", ERROR), trial("a"))).cases == ["z"]


def test_a_series_that_was_cut_off_goes_on_where_it_was() -> None:
    rule = "pass 2of3"
    record = cut_off(trial("a", rule=rule), trial("a", FAILED, rule=rule, repeat=2))
    rest = rest_of(record)
    assert rest.cases == ["a", "z"]
    assert rest.outcomes(("a", "")) == [PASSED, FAILED]
    assert rest.outcomes(("z", "")) == []


def test_a_series_without_a_verdict_begins_anew() -> None:
    rule = "pass 2of2"
    record = cut_off(trial("a", ERROR, rule=rule), trial("a", rule=rule, repeat=2))
    assert rest_of(record).cases == ["a", "z"]
    assert rest_of(record).outcomes(("a", "")) == []


def test_each_baseline_has_to_be_asked_as_well() -> None:
    record = cut_off(trial("a"), trial("a", arm="raw"), trial("b"), baselines=("raw",), also=())
    rest = rest_of(record)
    assert rest.cases == ["b"]
    assert ("b", "") in rest.done
    assert ("b", "raw") not in rest.done


def test_a_case_that_was_changed_is_asked_again() -> None:
    rule = "pass 2of2"
    record = cut_off(trial("a", fingerprint="1"), trial("b", fingerprint="1"), trial("c", fingerprint="1", rule=rule))
    rest = rest_of(record).with_cases({"a": "2", "b": "1", "c": "2"})
    assert rest.cases == ["a", "c", "z"]
    assert rest.outcomes(("c", "")) == []


@unhurried
@given(st.lists(st.tuples(case_ids, outcomes), max_size=20))
def test_what_is_left_and_what_has_a_verdict_is_all_of_it(told: list[Any]) -> None:
    record = cut_off(*(trial(case_id, outcome) for case_id, outcome in told))
    left = set(rest_of(record).cases)
    judged = {case_id for case_id, one in graded(record.trials).items() if one.outcome.is_verdict}
    assert left | judged == dict(record.header.picks).keys()
    assert not left & judged


def test_it_travels_to_a_worker() -> None:
    record = cut_off(trial("a", fingerprint="1"), trial("b", rule="pass 2of3"), baselines=("raw",))
    rest = rest_of(record)
    assert Rest.from_json(json.loads(json.dumps(rest.to_json()))) == rest


def test_settings_that_decide_verdicts_are_named_if_they_change() -> None:
    before = settings_of(rubric={"owner": "ana", "confirm": "2of3"}, model="m1", judge=("j1",), memory=None)
    assert before == {"judge": ["j1"], "model": "m1", "rubric": {"confirm": "2of3", "owner": "ana"}}
    now = settings_of(rubric={"owner": "bob", "max_due_cases": 3, "prices": {"m": 1}}, model="m2", judge=("j1",))
    assert changes(before, now) == ["model", "rubric.confirm", "rubric.max_due_cases"]
    assert changes(before, before) == []
