"""The plan of a run over real files: what is chosen, from which state, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_recall.cases.settings import DEFAULT_SETTINGS, Settings
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.runs.affordable import within_budget
from pytest_recall.runs.base import NO_BASE, Base
from pytest_recall.runs.context import CommandLine, Filters, resolve
from pytest_recall.runs.job import NO_JOB
from pytest_recall.runs.plan import Plan, check_names, make_plan
from pytest_recall.schedule.changes import Changes, ReplayFinding, ReplayState
from pytest_recall.schedule.selection import Pick, Remainder
from pytest_recall.schedule.state_file import State
from pytest_recall.trials.record import NotCompared
from pytest_recall.trials.trial import Row
from tests.helpers.samples import TODAY, days, failing, row


def cases_file(place: Place, *ids: str, name: str = "cases.yaml", scenario: str = "fees", **more: Any) -> Path:
    """Write a case file and return its path."""
    path = place.eval_dir / name
    plain = {"scenario": scenario, "dimension": "facts", "input": "x", "judges": ["exact"], "expected": "y", **more}
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps({"id": case_id, **plain}) + "\n" for case_id in ids), encoding="utf-8")
    else:
        path.write_text("".join(f"- {json.dumps({'id': case_id, **plain})}\n" for case_id in ids), encoding="utf-8")
    return path


def state_file(path: Path, rows: Mapping[str, Row]) -> Path:
    """Write a state file and return its path."""
    path.write_text(State({}, "").updated(rows), encoding="utf-8")
    return path


def plan_of(
    place: Place,
    paths: Iterable[Path],
    wanted: Filters = Filters(),  # noqa: B008 - frozen
    rubric: Settings = DEFAULT_SETTINGS,
    *,
    complete: bool = True,
    base: Base = NO_BASE,
    changes: Changes | None = None,
    reset_on_swap: bool = False,
    **asked: str,
) -> Plan:
    """Return the plan of a run on the sample day with seed 1."""
    context = resolve(CommandLine(**{"seed": "1", **asked}), NO_JOB, rubric, TODAY)
    return make_plan(
        place,
        paths,
        context,
        rubric,
        wanted,
        complete=complete,
        base=base,
        changes=changes,
        reset_on_swap=reset_on_swap,
    )


def ids(plan: Plan) -> list[str]:
    """Return the chosen ids in their order."""
    return [pick.case_id for pick in plan.picks]


ROWS = {
    "a": row(1, 1, due=TODAY + days(1)),
    "b": row(3, 3, due=TODAY - days(2)),
    "c": row(2, 2, due=TODAY + days(2)),
}


# The slice


def test_the_schedule_chooses(place: Place) -> None:
    state_file(place.state, ROWS)
    plan = plan_of(place, [cases_file(place, "a", "b", "c", "d")])
    assert plan.picks == (Pick("a", "box 1"), Pick("b", "due"), Pick("d", "new"))
    assert plan.reasons == {"a": "box 1", "b": "due", "d": "new"}
    assert (plan.scheduled, plan.writes, plan.mode) == (True, True, "pr")
    assert (plan.left.not_due, plan.left.next_due) == (1, TODAY + days(2))


def test_the_mode_of_the_context_decides(place: Place) -> None:
    state_file(place.state, ROWS)
    path = cases_file(place, "a", "b", "c", "d")
    assert ids(plan_of(place, [path], mode="nightly")) == ["b", "d"]
    assert ids(plan_of(place, [path], mode="all")) == ["a", "b", "c", "d"]


def test_the_knobs_of_the_rubric_decide(place: Place) -> None:
    state_file(place.state, ROWS)
    rubric = Settings(owner="x", max_due_cases=0, new_traffic_sample=0)
    assert ids(plan_of(place, [cases_file(place, "a", "b", "c", "d")], rubric=rubric)) == ["a"]


def test_several_files_are_one_set(place: Place) -> None:
    paths = [cases_file(place, "a", "b"), cases_file(place, "c", name="more.cases.jsonl")]
    assert sorted(ids(plan_of(place, paths))) == ["a", "b", "c"]


def test_without_a_state_every_case_is_new(place: Place) -> None:
    plan = plan_of(place, [cases_file(place, *(f"c{number}" for number in range(9)))])
    assert [pick.reason for pick in plan.picks] == ["new"] * 5
    assert plan.left.unseen == 4
    assert not place.artifacts.folder.exists()


def test_choosing_from_the_slice_and_more_is_choosing_from_all(place: Place) -> None:
    """A worker knows the slice only, and finds marked tests by itself."""
    state_file(place.state, ROWS)
    path = cases_file(place, "a", "b", "c", *(f"n{number}" for number in range(20)))
    marked = [f"test_{number}" for number in range(20)]
    controller = plan_of(place, [path])
    worker = plan_of(place, [], complete=False)
    worker = replace(worker, cases=frozenset(ids(controller)))
    controller = controller.choosing(marked)
    worker = worker.choosing(marked)
    assert worker.picks == controller.picks
    assert worker.reasons == controller.reasons
    assert any(case_id in marked for case_id in ids(worker))


def test_reasons_follow_the_picks(place: Place) -> None:
    plan = plan_of(place, [cases_file(place, "a")])
    assert plan.reasons == {"a": "new"}
    plan = plan.choosing(["b"])
    assert plan.reasons == {"a": "new", "b": "new"}
    plan = plan.restricted(["b"])
    assert plan.reasons == {"b": "new"}


# Explicit beats scheduled


def test_an_explicit_run_takes_what_pytest_leaves(place: Place) -> None:
    state_file(place.state, ROWS)
    plan = plan_of(place, [cases_file(place, "a", "b", "c", "d")], Filters(explicit="-k"))
    assert list(plan.picks) == [Pick(case_id, "explicit") for case_id in "abcd"]
    assert (plan.scheduled, plan.writes, plan.mode) == (False, False, "explicit")
    plan = plan.restricted(["c", "a"])
    assert ids(plan) == ["a", "c"]
    plan = plan.choosing(["test_x"])
    assert ids(plan) == ["a", "c", "test_x"]


def test_an_explicit_run_writes_if_told(place: Place) -> None:
    wanted = Filters(explicit="node ids", update=True)
    assert plan_of(place, [cases_file(place, "a")], wanted).writes is True


# Filters


def two_scenarios(place: Place) -> list[Path]:
    """Write cases of two scenarios and two dimensions."""
    return [
        cases_file(place, "a", "b", scenario="fees"),
        cases_file(place, "c", name="opening.cases.yaml", scenario="opening"),
        cases_file(place, "d", name="tone.cases.yaml", scenario="opening", dimension="tone"),
    ]


@pytest.mark.parametrize(
    ("scenarios", "dimensions", "kept"),
    [
        ((), (), "abcd"),
        (("fees",), (), "ab"),
        (("fees", "opening"), (), "abcd"),
        ((), ("tone",), "d"),
        (("opening",), ("facts",), "c"),
        (("fees",), ("tone",), ""),
    ],
)
def test_filters_narrow_what_is_chosen_from(
    place: Place, scenarios: tuple[str, ...], dimensions: tuple[str, ...], kept: str
) -> None:
    wanted = Filters(scenarios=scenarios, dimensions=dimensions)
    plan = plan_of(place, two_scenarios(place), wanted)
    assert plan.cases == set(kept)
    assert sorted(ids(plan)) == list(kept)
    explicit = Filters(scenarios=scenarios, dimensions=dimensions, explicit="--scenarios")
    assert ids(plan_of(place, two_scenarios(place), explicit)) == list(kept)
    check_names(plan, {})


def test_a_filter_leaves_no_orphans(place: Place) -> None:
    state_file(place.state, {"a": row(), "c": row()})
    assert plan_of(place, two_scenarios(place), Filters(scenarios=("fees",))).orphans == []


def test_an_unknown_name_is_said_with_the_nearest(place: Place) -> None:
    wanted = Filters(scenarios=("fee", "fees", "xyz"), dimensions=("tune",))
    plan = plan_of(place, two_scenarios(place), wanted)
    with pytest.raises(RecallError) as caught:
        check_names(plan, {})
    assert caught.value.messages == (
        "--scenarios: 'fee' is in no case; did you mean `fees`?",
        "--scenarios: 'xyz' is in no case; known: fees, opening",
        "--dimensions: 'tune' is in no case; did you mean `tone`?",
    )


def test_marked_tests_have_names_too(place: Place) -> None:
    plan = plan_of(place, two_scenarios(place), Filters(scenarios=("returns",), dimensions=("speed",)))
    check_names(plan, {"test_x": ("returns", ""), "test_y": ("", "speed")})
    with pytest.raises(RecallError, match="'speed' is in no case"):
        check_names(plan, {"test_x": ("returns", "")})


# The state


def test_orphans_are_listed_and_not_chosen(place: Place) -> None:
    state_file(place.state, {**ROWS, "gone": row(1, 0)})
    plan = plan_of(place, [cases_file(place, "a", "b", "c")])
    assert plan.orphans == ["gone"]
    assert "gone" not in ids(plan)


def test_only_a_run_over_all_case_files_knows_its_orphans(place: Place) -> None:
    state_file(place.state, ROWS)
    some = plan_of(place, [cases_file(place, "a")], complete=False)
    assert (some.orphans, some.header("run-1", "").orphans) == ([], ())
    every = plan_of(place, [cases_file(place, "a")], complete=True)
    assert (every.orphans, every.header("run-1", "").orphans) == (["b", "c"], ("b", "c"))


def test_without_case_files_every_row_is_an_orphan(place: Place) -> None:
    state_file(place.state, ROWS)
    assert plan_of(place, [], complete=False).orphans == []
    assert plan_of(place, [], complete=True).orphans == ["a", "b", "c"]


def test_verdicts_are_compared_with_the_base_and_the_schedule_goes_on(place: Place) -> None:
    """What runs of the change have written moves its boxes, and excuses nothing."""
    at_base = {"a": row(2, 2, due=TODAY), "b": row(3, 3)}
    state_file(place.state, {"a": failing(due=TODAY + days(1)), "b": row(4, 4, due=TODAY + days(14))})
    path = cases_file(place, "a", "b")
    plan = plan_of(place, [path], base=Base("main", "c0ffee", is_change=True, rows=at_base))
    assert (plan.before, dict(plan.picks)) == (at_base, {"a": "box 1"})
    header = plan.header("run-1", "")
    assert (header.base, header.verdicts, header.passing) == ("c0ffee", 2, 2)
    # What has no state at the base is new, and not what a push before this one made of it.
    assert plan_of(place, [path], base=Base("main", "c0ffee", is_change=True)).before == {}
    plain = plan_of(place, [path])
    assert plain.before == plain.rows
    assert plan_of(place, [path], base=Base("main", "c0ffee")).before == plain.rows


@pytest.mark.parametrize("broken", ["version: 9\ncases:\n", "<<<<<<< ours\n", "- a\n"])
def test_a_broken_state_stops_the_run_before_it_starts(place: Place, broken: str) -> None:
    place.state.write_text(broken, encoding="utf-8")
    with pytest.raises(RecallError, match=r"^eval/recall\.yaml:1: "):
        plan_of(place, [cases_file(place, "a")], base=Base("main", "c0ffee", rows=ROWS))


def test_a_new_model_is_reported(place: Place) -> None:
    state_file(place.state, {"a": row(4, 4, last_model="m1", due=TODAY + days(9)), "b": row(2, 2, last_model="m2")})
    plan = plan_of(place, [cases_file(place, "a", "b")], model="m2")
    assert (plan.swapped, plan.reset, plan.rows["a"].box) == (1, False, 4)
    assert plan.picks == (Pick("b", "due"),)


def test_a_new_model_resets_if_told(place: Place) -> None:
    before = {"a": row(4, 4, last_model="m1", due=TODAY + days(9)), "b": row(2, 2, last_model="m2")}
    path = state_file(place.state, before)
    text = path.read_text(encoding="utf-8")
    plan = plan_of(place, [cases_file(place, "a", "b")], model="m2", reset_on_swap=True)
    assert (plan.swapped, plan.reset, plan.rows["a"].box, plan.rows["a"].next_due) == (1, True, 1, TODAY)
    assert plan.picks == (Pick("a", "box 1"), Pick("b", "due"))
    assert path.read_text(encoding="utf-8") == text, "a plan writes nothing"


# Mistakes in the files


def test_two_files_with_one_id(place: Place) -> None:
    paths = [cases_file(place, "a", "b"), cases_file(place, "c", "b", name="more.cases.yaml")]
    with pytest.raises(RecallError) as caught:
        plan_of(place, paths)
    assert str(caught.value) == (
        "eval/more.cases.yaml:2: id: `b` is already the case at eval/cases.yaml:2; choose another"
    )


def test_a_mistake_in_a_case_that_is_not_chosen(place: Place) -> None:
    state_file(place.state, {"a": row(5, 5, due=TODAY + days(9))})
    with pytest.raises(RecallError, match=r"^eval/cases\.yaml:1: expeted: unknown field; did you mean `expected`\?$"):
        plan_of(place, [cases_file(place, "a", expeted="y")])


# What is written down


# What a replay has found of the change


def found_of(**states: ReplayFinding) -> Changes:
    """Return what a replay of these cases found."""
    return Changes(states, len(states))


SAME, OTHER = ReplayFinding(ReplayState.UNAFFECTED), ReplayFinding(ReplayState.CHANGED, usd=0.25)
REJUDGED = ReplayFinding(ReplayState.UNJUDGED)
BROKEN = ReplayFinding(ReplayState.RECORDED, outcome="failed", before="passed")


def test_what_a_change_affects_comes_first_and_alone_decides(place: Place) -> None:
    state_file(place.state, ROWS)
    path = cases_file(place, "a", "b", "c", "d", "e")
    changes = found_of(a=SAME, b=SAME, c=OTHER, d=REJUDGED, e=BROKEN)
    plan = plan_of(place, [path], changes=changes)
    assert plan.picks == (Pick("c", "affected"), Pick("d", "judged again"), Pick("a", "box 1"), Pick("b", "due"))
    assert plan.knows_change
    assert {case_id: plan.decides(case_id) for case_id in "abcde"} == {
        "a": False, "b": False, "c": True, "d": True, "e": True,
    }  # fmt: skip
    header = plan.header("run-1", "")
    assert (header.knows_change, header.unaffected, header.affected) == (True, 2, ("c", "d"))
    assert all(map(plan_of(place, [path]).decides, "abcde"))


def test_a_case_that_the_replay_has_answered_is_not_left_out(place: Place) -> None:
    """Its trial counts it among those that wait, since a recorded answer moves no box; no case waits twice."""
    state_file(place.state, ROWS)
    own = ReplayFinding(ReplayState.RECORDED, outcome="passed", own=True)
    overdue = [
        plan_of(place, [cases_file(place, "a", "b", "c")], changes=found_of(a=SAME, b=one, c=SAME))
        .header("r", "")
        .overdue
        for one in (own, own._replace(trials=({"case_id": "b"},)))
    ]
    assert overdue == [1, 0]


def test_the_header_says_of_which_cases_the_run_is(place: Place) -> None:
    paths = [cases_file(place, "a"), cases_file(place, "b", name="more.cases.yaml")]

    def told(paths: list[Path], **more: Any) -> tuple[bool, tuple[str, ...]]:
        header = plan_of(place, paths, **more).header("run-1", "")
        return header.whole, header.files

    assert told(paths) == (True, ())
    assert told(paths, wanted=Filters(scenarios=("fees",))) == (False, ())
    assert told(paths[:1], complete=False) == (False, ("eval/cases.yaml",))


def test_without_its_base_a_check_asks_nothing(place: Place) -> None:
    state_file(place.state, ROWS)
    lost = Base("main", not_compared=NotCompared("no-commit", "main"), is_change=True)
    plan = plan_of(place, [cases_file(place, "a", "b", "d")], base=lost)
    assert (plan.picks, plan.not_compared) == ((), lost.not_compared)
    assert plan.left == Remainder(not_due=0, over_cap=0, unseen=0, next_due=None, without_base=len(plan.cases))
    assert plan.header("run-1", "").without_base == len(plan.cases)
    assert plan_of(place, [cases_file(place, "a", "b", "d")], mode="nightly", base=lost).picks


def test_a_recording_begins_an_affected_case_unless_a_live_verdict_would_move_its_box(place: Place) -> None:
    soon = TODAY + days(3)
    rows = {"first": row(1, due=soon), "due": row(3), "later": row(3, due=soon), "same": row(3, due=soon)}
    state_file(place.state, rows)
    path = cases_file(place, "first", "due", "later", "same", "new")
    changes = found_of(first=OTHER, due=OTHER, later=OTHER, new=OTHER, same=SAME)
    begins = {mode: plan_of(place, [path], changes=changes, mode=mode).begins_as_recorded for mode in ("pr", "main")}
    assert [case_id for case_id in plan_of(place, [path]).cases if begins["pr"](case_id)] == ["later"]
    assert not any(map(begins["main"], rows))


def test_a_budget_leaves_out_what_it_does_not_reach_and_says_so(place: Place) -> None:
    path = cases_file(place, "a", "b", "c")
    plan = plan_of(place, [path], changes=found_of(a=OTHER, b=OTHER, c=SAME))
    assert within_budget(plan) is plan
    assert within_budget(replace(plan, budget=0.5)).unaffordable == frozenset()
    short = within_budget(replace(plan, budget=0.3))
    (left,) = short.unaffordable
    assert {left, *ids(short)} == {"a", "b", "c"}
    assert dict(short.picks)["c"] == "new"
    assert short.header("run-1", "").unaffordable == (left,)
    (entry,) = yaml.safe_load(short.today())["not_evaluated"]
    assert entry == {"id": left, "reason": "budget", "why": "asks something else than is recorded"}
    explicit = plan_of(place, [path], Filters(explicit="-k"), changes=found_of(a=OTHER))
    assert within_budget(replace(explicit, budget=0.01)).unaffordable == frozenset()


def test_a_night_asks_in_its_own_order_until_its_budget_ends_it(place: Place) -> None:
    plan = replace(plan_of(place, [cases_file(place, "a")], changes=found_of(a=OTHER), mode="nightly"), budget=0.01)
    assert within_budget(plan) is plan


def test_today_says_what_was_chosen_and_why(place: Place) -> None:
    state_file(place.state, ROWS)
    plan = plan_of(place, [cases_file(place, "a", "b", "c", "d")])
    found = yaml.safe_load(plan.today())
    assert found == {
        "mode": "pr",
        "date": "2026-03-10",
        "seed": "1",
        "state": f"sha256:{plan.digest}",
        "chosen": 3,
        "of": 4,
        "cases": [
            {"id": "a", "reason": "box 1", "box": 1, "next_due": "2026-03-11"},
            {"id": "b", "reason": "due", "box": 3, "next_due": "2026-03-08"},
            {"id": "d", "reason": "new"},
        ],
    }
    assert len(plan.digest) == 64


def test_today_of_nothing_due(place: Place) -> None:
    state_file(place.state, {"a": row(5, 5, due=TODAY + days(9))})
    found = yaml.safe_load(plan_of(place, [cases_file(place, "a")]).today())
    assert (found["chosen"], found["of"], found["cases"]) == (0, 1, [])


def test_the_digest_is_that_of_the_state_chosen_from(place: Place) -> None:
    path = cases_file(place, "a")
    empty = plan_of(place, [path]).digest
    state_file(place.state, ROWS)
    base = Base("main", "c0ffee", is_change=True, rows={})
    assert plan_of(place, [path]).digest == plan_of(place, [path], base=base).digest != empty


def test_the_header_has_all_that_the_scorecard_needs(place: Place) -> None:
    state_file(place.state, {**ROWS, "gone": row(1, 0, last_model="m1")})
    rubric = Settings(owner="anna", model_primary="m2", max_due_cases=0)
    plan = plan_of(place, [cases_file(place, "a", "b", "c", "d")], rubric=rubric, pr="41")
    header = plan.header("run-1", "2026-03-10T12:00:00+00:00")
    assert (header.run, header.started, header.date, header.mode, header.seed) == (
        "run-1",
        "2026-03-10T12:00:00+00:00",
        "2026-03-10",
        "pr",
        "1",
    )
    assert (header.pr, header.model, header.owner, header.state) == ("41", "m2", "anna", plan.digest)
    assert (header.scheduled, header.writes, header.reset) == (True, True, False)
    assert header.picks == (("a", "box 1"), ("d", "new"))
    assert (header.total, header.not_due, header.over_cap, header.unseen) == (4, 1, 1, 0)
    assert (header.next_due, header.orphans, header.swapped) == ("2026-03-12", ("gone",), 1)


@pytest.mark.parametrize("mode", ["pr", "nightly", "all"])
def test_the_same_plan_on_another_day_of_work(place: Place, mode: str) -> None:
    """Date, seed and state decide, not the order of files or of cases in them."""
    names = [f"c{number}" for number in range(30)]
    state_file(
        place.state, {name: row(1 + index % 3, 1, due=TODAY - days(index % 4)) for index, name in enumerate(names[:20])}
    )
    forth = [cases_file(place, *names[:15]), cases_file(place, *names[15:], name="more.cases.jsonl")]
    first = plan_of(place, forth, mode=mode).today()
    back = [cases_file(place, *reversed(names[15:]), name="more.cases.jsonl"), cases_file(place, *reversed(names[:15]))]
    assert plan_of(place, back, mode=mode).today() == first
