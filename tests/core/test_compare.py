"""Compare: which cases are paired, what flipped, and what is beside the verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.core.call import Call, Tokens
from pytest_recall.core.change import Shown
from pytest_recall.core.compare import compare
from pytest_recall.core.errors import RecallError
from pytest_recall.core.record import Record
from pytest_recall.core.trial import Outcome, Trial, Verdict
from tests.core.samples import ERROR, FAILED, PASSED, SKIPPED, case_ids, header, outcomes, trial, unhurried


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


# Pairs


def test_cases_are_paired_or_listed_by_why_not() -> None:
    base = {"a": PASSED, "b": PASSED, "c": FAILED, "d": FAILED, "e": ERROR, "f": PASSED, "only": PASSED}
    head = {"a": PASSED, "b": FAILED, "c": PASSED, "d": FAILED, "e": PASSED, "f": SKIPPED, "new": PASSED}
    found = compare(run(base), run(head))
    assert [pair.case_id for pair in found.pairs] == ["a", "b", "c", "d"]
    assert found.left == (("only",), ("new",), ("e", "f"), ())
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
    assert found.shown is Shown.NOTHING
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
    assert found.overall.shown is Shown.RISE
    assert (found.shown, found.chosen_after) == (Shown.NOTHING, ("x",))
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
