"""Compare: which cases are paired, what flipped, and what is beside the verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.judges.calibration import Calibration, JudgeKey
from pytest_recall.metrics.agreement import Confusion
from pytest_recall.metrics.change import ChangeSummary
from pytest_recall.metrics.intervals import wilson
from pytest_recall.replay.exchange import Call, Tokens
from pytest_recall.results.comparison import compare, unit_of
from pytest_recall.trials.record import Record
from pytest_recall.trials.trial import Judgement, Outcome, Trial, Verdict, Vote
from tests.helpers.samples import ERROR, FAILED, PASSED, SKIPPED, WEAK, case_ids, header, outcomes, trial, unhurried


def record(trials: Iterable[Trial], exit_code: int | None = 0, **more: Any) -> Record:
    """Return the record of a run of all cases."""
    every = tuple(trials)
    picks = [(one.case_id, "all") for one in every]
    return Record(header=header(*picks, **{"mode": "all", **more}), trials=every, exit_code=exit_code)


def run(verdicts: Mapping[str, Outcome], **more: Any) -> Record:
    """Return the record of a run by what its cases came to."""
    return record((trial(case_id, outcome) for case_id, outcome in verdicts.items()), **more)


def numbered(count: int, outcome: Outcome, **more: Any) -> list[Trial]:
    """Return so many trials of cases 0, 1, …"""
    return [trial(f"{more.get('scenario', 'c')}-{i:03}", outcome, **more) for i in range(count)]


# Clusters


def asked(outcomes: Mapping[str, Outcome], **more: Any) -> Record:
    """Return the record of a run over a persona by what its questions came to."""
    score = {PASSED: 1.0, FAILED: 0.0}
    return record(
        trial(
            id,
            outcome,
            scenario="ana",
            verdicts=(Verdict(passed=outcome is PASSED, score=score[outcome], judge="horizon"),),
            **more,
        )
        for id, outcome in outcomes.items()
    )


@pytest.mark.parametrize("stops", [1, 3])
def test_a_persona_s_question_at_several_checkpoints_is_one(stops: int) -> None:
    """Seven questions fall, at each checkpoint alike: as many as one checkpoint, and not as many as three, show."""
    ids = [f"{10 * (stop + 1)}d/q{number:03}" for stop in range(stops) for number in range(20)]
    worse = {id: FAILED if int(id[-3:]) < 7 else PASSED for id in ids}
    found = compare(asked(dict.fromkeys(ids, PASSED), reason="profile"), asked(worse, reason="profile"), alpha=0.01)
    one = found.overall
    assert (one.pairs, one.lost) == (20 * stops, 7 * stops)
    assert one.p == pytest.approx(2 / 2**7)
    assert found.shown is ChangeSummary.NOTHING
    assert one.interval[1] == 0.0
    assert (
        one.smallest
        == compare(
            asked(dict.fromkeys(ids[:20], PASSED)), asked({id: worse[id] for id in ids[:20]}), alpha=0.01
        ).overall.smallest
    )
    assert one.rates[1] == pytest.approx(wilson(13, 20, 0.99))
    assert found.scores["horizon"].clusters == (None if stops == 1 else 20)


@pytest.mark.parametrize(("stops", "groups"), [(1, None), (3, 20)])
def test_a_corrected_rate_counts_answers_to_one_question_as_a_group(stops: int, groups: int | None) -> None:
    said = Verdict(passed=True, judge="rubric", model="m", judgement=Judgement((Vote(model="m", passed=True),)))
    ids = [f"{10 * (stop + 1)}d/q{number:03}" for stop in range(stops) for number in range(20)]
    both = record(trial(id, PASSED, scenario="ana", reason="profile", verdicts=(said,)) for id in ids)
    labels = Confusion(right_passes=30, right_fails=30)
    known = {JudgeKey("rubric", "m", said.version): Calibration(0.9, 60, 0.5, labels)}
    found = compare(both, both, calibrations=known)
    assert [[one.groups for one in rates] for rates in found.rates] == [[groups], [groups]]


def test_conversations_of_a_dataset_and_plain_cases_are_units() -> None:
    assert unit_of(trial("conv-1:q7", reason="dataset", scenario="conv-1")) == "conv-1"
    assert unit_of(trial("20d/q7", reason="profile", scenario="ana")) == "ana/q7"
    assert unit_of(trial("20d/q7", reason="due", scenario="desk")) == "20d/q7"


# Pairs


def test_cases_are_paired_or_listed_by_why_not() -> None:
    base = {"a": PASSED, "b": PASSED, "c": FAILED, "d": FAILED, "e": ERROR, "f": PASSED, "only": PASSED}
    head = {"a": PASSED, "b": FAILED, "c": PASSED, "d": FAILED, "e": PASSED, "f": SKIPPED, "new": PASSED}
    found = compare(run(base), run(head))
    assert [pair.case_id for pair in found.pairs] == ["a", "b", "c", "d"]
    assert found.left == (("only",), ("new",), ("e", "f"), (), ())
    assert [pair.case_id for pair in found.lost] == ["b"]
    assert [pair.case_id for pair in found.gained] == ["c"]
    one = found.overall
    assert (one.pairs, one.both, one.lost, one.gained, one.base, one.head) == (4, 1, 1, 1, 2, 2)


@given(st.dictionaries(case_ids, outcomes, max_size=20), st.dictionaries(case_ids, outcomes, max_size=20))
@unhurried
def test_every_case_is_in_one_place_and_the_order_of_runs_mirrors(
    base: dict[str, Outcome], head: dict[str, Outcome]
) -> None:
    try:
        found = compare(run(base), run(head))
    except RecallError:
        assert not any(base[i].is_verdict and head[i].is_verdict for i in base.keys() & head.keys())
        return
    places = [[pair.case_id for pair in found.pairs], *found.left]
    assert sorted(case_id for place in places for case_id in place) == sorted(base.keys() | head.keys())
    back = compare(run(head), run(base))
    assert (back.overall.lost, back.overall.gained) == (found.overall.gained, found.overall.lost)
    assert back.overall.p == found.overall.p
    assert (back.left.only_base, back.left.only_head) == (found.left.only_head, found.left.only_base)


def test_the_last_trial_of_a_case_grades_it() -> None:
    base = record([trial("a", FAILED), trial("a", PASSED, attempt=2), trial("b", PASSED), trial("b", ERROR, attempt=2)])
    found = compare(base, run({"a": PASSED, "b": PASSED}))
    assert found.overall.both == 1
    assert found.left.no_verdict == ("b",)


def test_a_case_whose_text_changed_is_another_question() -> None:
    base = record([trial("a", PASSED, fingerprint="1"), trial("b", PASSED, fingerprint="1"), trial("c", PASSED)])
    head = record([trial("a", FAILED, fingerprint="2"), trial("b", PASSED, fingerprint="1"), trial("c", PASSED)])
    found = compare(base, head)
    assert ([pair.case_id for pair in found.pairs], found.left.changed, found.lost) == (["b", "c"], ("a",), [])
    asked = compare(base, head, include_changed=True)
    assert (len(asked.pairs), asked.left.changed, len(asked.lost)) == (3, (), 1)


def test_a_fingerprint_that_is_not_known_is_no_change() -> None:
    found = compare(record([trial("a", PASSED)]), record([trial("a", PASSED, fingerprint="2")]))
    assert len(found.pairs) == 1


def test_nothing_in_common() -> None:
    with pytest.raises(RecallError, match=r"1 are only in BASE, 0 only in HEAD, 1 have no verdict, 0 .*; run the same"):
        compare(run({"a": PASSED, "b": ERROR}), run({"b": PASSED}))
    changed = record([trial("a", PASSED, fingerprint="1")]), record([trial("a", PASSED, fingerprint="2")])
    with pytest.raises(RecallError, match=r"1 have another text\); --include-changed compares them"):
        compare(*changed)


def test_scenarios_and_dimensions_narrow_it() -> None:
    places = {"a": ("fees", "facts"), "b": ("fees", "tone"), "c": ("loans", "tone")}
    both = record(trial(i, PASSED, scenario=scenario, dimension=of) for i, (scenario, of) in places.items())
    assert [pair.case_id for pair in compare(both, both, scenarios=["fees"]).pairs] == ["a", "b"]
    assert [pair.case_id for pair in compare(both, both, scenarios=["fees"], dimensions=["tone"]).pairs] == ["b"]
    with pytest.raises(RecallError, match="no scenario 'fee' in these runs; did you mean `fees`"):
        compare(both, both, scenarios=["fee"])
    with pytest.raises(RecallError, match="no dimension 'x' in these runs; known: facts, tone"):
        compare(both, both, dimensions=["x"])


def test_a_case_that_moved_to_another_scenario_is_still_the_same() -> None:
    found = compare(record([trial("a", scenario="old")]), record([trial("a", scenario="new")]), scenarios=["new"])
    assert found.overall.pairs == 1


# Fails by judges that fall short

UNPROVEN = {"unproven": (WEAK,)}


def test_a_fail_by_an_unproven_judge_is_no_verdict() -> None:
    base = record([trial("a", PASSED), trial("b", PASSED), trial("c", FAILED, **UNPROVEN), trial("d", PASSED)])
    head = record([trial("a", FAILED, **UNPROVEN), trial("b", FAILED), trial("c", PASSED), trial("d", ERROR)])
    found = compare(base, head)
    assert [pair.case_id for pair in found.pairs] == ["b"]
    assert (found.left.unproven, found.left.no_verdict) == (("a", "c"), ("d",))
    assert [pair.case_id for pair in found.lost] == ["b"]


def test_a_pass_that_rests_on_an_unproven_judge_is_a_pass() -> None:
    """As it blocks no one: what fails afterwards by a judge that is believed is a loss."""
    found = compare(record([trial("a", PASSED, **UNPROVEN)]), run({"a": FAILED}))
    assert [pair.case_id for pair in found.lost] == ["a"]


def test_where_only_unproven_fails_are_left_it_is_said() -> None:
    with pytest.raises(
        RecallError, match=r"0 have another text, 1 fail by judges that fall short of the required agreement\)"
    ):
        compare(record([trial("a", FAILED, **UNPROVEN)]), run({"a": PASSED}))


# Series


def tried(case_id: str, outcomes: Iterable[Outcome], rule: str = "pass 3of5", **more: Any) -> list[Trial]:
    """Return the trials of a series."""
    return [trial(case_id, one, repeat=n, rule=rule, **more) for n, one in enumerate(outcomes, 1)]


def times(passed: int, of: int) -> list[Outcome]:
    """Return so many passes, and then fails."""
    return [PASSED] * passed + [FAILED] * (of - passed)


def test_a_series_is_compared_by_how_often_it_passed() -> None:
    base = record([*tried("a", times(5, 5)), *tried("b", times(4, 5)), *tried("c", times(3, 5)), trial("d", PASSED)])
    head = record([*tried("a", times(4, 5)), *tried("b", times(2, 5)), *tried("c", times(3, 5)), trial("d", PASSED)])
    found = compare(base, head)
    assert [pair.tried for pair in found.pairs] == [(5, 4, 5), (4, 2, 5), (3, 3, 5), None]
    assert [pair.case_id for pair in found.lost] == ["b"], "whose verdict flips"
    assert [pair.case_id for pair in found.fell] == ["a"]
    assert found.rose == []
    one = found.overall
    assert (one.base, one.head, one.lost, one.gained) == pytest.approx((3.4, 2.8, 0.6, 0))
    assert (one.fell, one.rose, one.p) == (2, 0, 0.5)


def test_as_many_trials_are_taken_of_both_runs() -> None:
    base = record([*tried("a", times(4, 5)), *tried("b", [FAILED, PASSED, PASSED], "pass 1of3"), trial("c", PASSED)])
    head = record(
        [*tried("a", [FAILED, ERROR, PASSED, PASSED], "pass 1of4"), trial("b", PASSED), *tried("c", times(0, 5))]
    )
    assert [pair.tried for pair in compare(base, head).pairs] == [(3, 2, 3), (0, 1, 1), (1, 0, 1)]


def test_a_fail_that_was_asked_again_is_compared_by_its_verdict() -> None:
    confirmed = tried("a", [FAILED, PASSED, PASSED], "fail 2of3")
    (pair,) = compare(record(confirmed), run({"a": PASSED})).pairs
    assert (pair.tried, pair.passed) == (None, (True, True))
    (pair,) = compare(record(confirmed), record(tried("a", times(5, 5)))).pairs
    assert pair.tried == (0, 1, 1)


def test_a_fail_that_is_not_confirmed_is_no_verdict() -> None:
    doubted = tried("a", [FAILED, PASSED, PASSED, PASSED], "evidence 70 from 1.00, 0 of 0 failed")
    found = compare(run({"a": PASSED, "b": PASSED}), record([*doubted, trial("b", PASSED)]))
    assert [pair.case_id for pair in found.pairs] == ["b"]
    assert (found.left.no_verdict, found.left.unproven) == (("a",), ())


def test_unproven_fails_of_a_series_are_none() -> None:
    unproven = [trial("a", FAILED, repeat=4, rule="pass 3of4", **UNPROVEN)]
    base = record([*tried("a", times(3, 3), "pass 3of4"), *unproven])
    (pair,) = compare(base, record(tried("a", times(4, 4), "pass 3of4"))).pairs
    assert pair.tried == (3, 3, 3)


def test_a_small_fall_in_every_case_is_shown_where_no_verdict_flips() -> None:
    base, head = (record(one for i in range(12) for one in tried(f"c{i}", times(passed, 5))) for passed in (5, 3))
    found = compare(base, head)
    assert (found.lost, len(found.fell), found.drops) == ([], 12, ["all cases"])


# Groups


def test_groups_are_tested_as_one_family() -> None:
    loans = numbered(20, PASSED, scenario="loans", dimension="tone")
    base, head = (
        record([*numbered(20, outcome, scenario="fees", dimension="facts"), *loans]) for outcome in (PASSED, FAILED)
    )
    found = compare(base, head)
    assert list(found.by_scenario) == ["fees", "loans"]
    assert list(found.by_dimension) == ["facts", "tone"]
    assert {one.tests for one in (*found.by_scenario.values(), *found.by_dimension.values())} == {4}
    assert found.drops == ["all cases", "scenario fees", "dimension facts"]


def test_a_drop_in_one_scenario_may_show_where_all_cases_do_not() -> None:
    fees, rest = numbered(12, PASSED, scenario="fees"), numbered(80, PASSED, scenario="loans")
    flipping = numbered(80, FAILED, scenario="visits")
    base = record([*fees, *rest, *flipping])
    head = record(
        [*numbered(12, FAILED, scenario="fees"), *rest[30:], *numbered(30, FAILED, scenario="loans")]
        + [one._replace(outcome=PASSED) if i < 36 else one for i, one in enumerate(flipping)]
    )
    found = compare(base, head)
    assert found.shown is ChangeSummary.NOTHING
    assert "scenario fees" in found.drops


def test_one_scenario_is_all_cases_and_no_group() -> None:
    found = compare(run({"a": PASSED}), run({"a": PASSED}))
    assert (found.by_scenario, found.by_dimension) == ({}, {})


# The choice of the cases

FAILING = {"a": FAILED, "b": FAILED, "c": PASSED}


def test_a_slice_that_was_chosen_by_the_verdicts_of_the_other_run_shows_nothing() -> None:
    base = record([*numbered(12, FAILED), trial("x", PASSED)], state="1", started="2026-03-10T12:00:00+00:00")
    head = record(numbered(12, PASSED), mode="pr", state="2", started="2026-03-11T12:00:00+00:00")
    found = compare(base, head)
    assert found.overall.shown is ChangeSummary.RISE
    assert (found.shown, found.chosen_after) == (ChangeSummary.NOTHING, ("x",))
    assert compare(head, base).drops == []


@pytest.mark.parametrize(
    ("more", "chosen_after"),
    [
        ({"mode": "pr", "state": "2"}, ("c",)),
        ({"mode": "nightly", "state": ""}, ("c",)),
        ({"mode": "all", "state": "2"}, ()),
        ({"mode": "pr", "state": "1"}, ()),
        ({"mode": "explicit", "scheduled": False, "state": "2"}, ()),
        ({"mode": "pr", "state": "2", "scenarios": ("fees",)}, ()),
        ({"mode": "pr", "state": "2", "dimensions": ("tone",)}, ()),
    ],
)
def test_when_the_choice_may_have_known(more: dict[str, Any], chosen_after: tuple[str, ...]) -> None:
    base = run(FAILING, state="1", started="2026-03-10T12:00:00+00:00")
    head = run({"a": PASSED, "b": PASSED}, started="2026-03-11T12:00:00+00:00", **more)
    assert compare(base, head).chosen_after == chosen_after


def test_a_case_that_was_chosen_but_not_run_was_not_left_out() -> None:
    base = run(FAILING, state="1", started="2026-03-10T12:00:00+00:00")
    picks = header(("a", "due"), ("b", "due"), ("c", "due"), state="2", started="2026-03-11T12:00:00+00:00")
    found = compare(base, Record(header=picks, trials=(trial("a", PASSED),)))
    assert (found.chosen_after, found.cut_off) == ((), (False, True))


# Beside the verdicts


def scored(case_id: str, *scores: float | None, judge: str = "f1") -> Trial:
    """Return a passed trial with these scores of one judge."""
    return trial(case_id, PASSED, verdicts=tuple(Verdict(passed=True, score=s, judge=judge) for s in scores))


def test_scores_where_both_runs_have_them() -> None:
    base = record([scored("a", 0.5), scored("b", 0.7), scored("c", None), scored("d", 0.1, 0.3), scored("e", 0.1)])
    head = record([scored("a", 0.7), scored("b", 0.7), scored("c", 0.9), scored("d", 0.3, 0.5), scored("e", 0.1, 0.2)])
    found = compare(base, head).scores
    assert list(found) == ["f1"]
    assert found["f1"].pairs == 3
    assert (found["f1"].base, found["f1"].head) == pytest.approx((1.4 / 3, 0.6))
    assert found["f1"].interval is None


def test_the_interval_of_scores_needs_ten_of_them() -> None:
    base, head = (record(scored(f"c{i}", 0.1 * (i % 3 + more)) for i in range(10)) for more in (0, 1))
    odd = record([*base.trials[:-1], scored("c9", 0.9)])
    assert compare(base, head).scores["f1"].interval is None, "each is higher by the same"
    interval = compare(odd, head).scores["f1"].interval
    assert interval is not None
    assert -0.8 < interval[0] < 0 < interval[1] <= 0.1 + 1e-9
    assert compare(odd, head).scores == compare(odd, head).scores


def test_a_score_that_is_no_number_is_none() -> None:
    odd = record([scored("a", float("nan"))])
    assert compare(odd, odd).scores == {}


def test_judges_are_not_mixed() -> None:
    found = compare(record([scored("a", 0.5, judge="x")]), record([scored("a", 0.5, judge="y")]))
    assert found.scores == {}


def test_time_is_of_live_answers() -> None:
    base = record(
        [trial("a", seconds=1.0), trial("b", seconds=3.0), trial("c", seconds=9.0, source="replayed"), trial("d")]
    )
    head = record([trial("a", seconds=2.0), trial("b", seconds=6.0), trial("c", seconds=1.0), trial("d", seconds=1.0)])
    assert compare(base, head).seconds == (2, 2.0, 4.0)
    assert compare(record([trial("a")]), record([trial("a", seconds=1.0)])).seconds is None


def test_cost_is_of_the_compared_cases_with_every_attempt() -> None:
    call = Call("agent", "live", "m", "p", Tokens(1, 1), 0.5)
    base = record([trial("a", calls=(call,)), trial("a", calls=(call,), attempt=2), trial("only", calls=(call,))])
    head = record([trial("a", calls=(call._replace(cost=None),))])
    first, second = compare(base, head).spent
    assert (first.calls, first.recording.known) == (2, 1.0)
    assert (second.calls, second.recording.known) == (1, None)


def test_replays_are_counted() -> None:
    sources = {
        "a": ("live", "live"),
        "b": ("replayed", "replayed"),
        "c": ("replayed", "live"),
        "d": ("mixed", "replayed"),
    }
    base, head = (record(trial(i, PASSED, source=source[side]) for i, source in sources.items()) for side in (0, 1))
    found = compare(base, head)
    assert (found.replays, found.half) == (1, 2)
