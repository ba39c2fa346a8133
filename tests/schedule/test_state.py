"""The state of a checkout: what runs have written into files of their own counts, once."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.runs import finish
from pytest_recall.schedule import state
from pytest_recall.schedule.events import Apart, Events
from pytest_recall.schedule.state import REMEMBERED_DAYS, compact, current, event_files
from pytest_recall.schedule.state_file import read_state
from pytest_recall.trials.journal import Journal
from pytest_recall.trials.trial import Outcome, Row
from tests.helpers.samples import FAILED, TODAY, days, header, row, trial
from tests.runs.folding import NOON, journal, remember


@pytest.fixture
def place(place: Place) -> Place:
    """An eval directory whose runs write events."""
    place.rubric.write_text("owner: ana\nstate: events\n", encoding="utf-8")
    return place


def boxes(place: Place) -> dict[str, tuple[int, int]]:
    """Return box and streak of each case, event files included."""
    return {case_id: (r.box, r.pass_streak) for case_id, r in current(place).rows.items()}


def held(place: Place) -> dict[str, Row]:
    """Return the rows of the state file alone."""
    return read_state(place.state, "recall.yaml").rows


def runs(place: Place, *outcomes: str) -> list[Path]:
    """Apply a run of case `a` for each of the outcomes, a day after the other."""
    found = []
    for number, outcome in enumerate(outcomes):
        run = journal(place, trial("a", Outcome(outcome), pr=str(number)), date=(TODAY + days(number)).isoformat())
        finish.apply(place, run)
        found.append(run)
    return found


def test_a_run_writes_a_file_and_leaves_the_state_file_alone(place: Place) -> None:
    remember(place, {"a": row(3, 3), "z": row(4, 4)})
    before = place.state.read_bytes()
    changed = finish.apply(place, journal(place, trial("a", FAILED, pr="7"), trial("b")))
    assert sorted(changed or ()) == ["a", "b"]
    assert place.state.read_bytes() == before
    assert len(event_files(place.events)) == 1
    assert boxes(place) == {"a": (1, 0), "b": (1, 1), "z": (4, 4)}


def test_the_sum_is_what_rows_would_have_held(place: Place, tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    rows = Place(tmp_path, tmp_path / "rows")
    for one in (place, rows):
        remember(one, {"a": row(2, 2), "b": row(3, 3)})
        for day, outcome in enumerate(["passed", "failed", "passed", "passed"]):
            finish.apply(
                one, journal(one, trial("a", Outcome(outcome)), trial("c"), date=(TODAY + days(day)).isoformat())
            )
    assert current(place).rows == held(rows)
    assert current(place).text == rows.state.read_text(encoding="utf-8")
    assert current(place).digest == current(rows).digest


def test_no_run_is_applied_twice(place: Place) -> None:
    run = journal(place, trial("a"))
    assert finish.apply(place, run) is not None
    assert finish.apply(place, run) is None
    # It died between its file and its mark.
    (run / finish.APPLIED).unlink()
    assert finish.apply(place, run) is None
    assert boxes(place) == {"a": (1, 1)}


def test_a_run_that_goes_on_adds_another_file(place: Place) -> None:
    run = place.artifacts.new_run(NOON)
    with Journal(run, header(("a", "new"), ("b", "new"))) as written:
        written.append(trial("a"))
        finish.apply(place, run)
        (run / finish.APPLIED).unlink()
        written.append(trial("b"))
        written.end(0)
    assert sorted(finish.apply(place, run) or ()) == ["b"]
    assert len(event_files(place.events)) == 2
    assert boxes(place) == {"a": (1, 1), "b": (1, 1)}


def test_a_run_without_a_verdict_writes_no_file(place: Place) -> None:
    assert finish.apply(place, journal(place)) == {}
    assert event_files(place.events) == {}


def test_a_reset_is_an_event(place: Place) -> None:
    remember(place, {"a": row(4, 4, last_model="m1"), "b": row(4, 4, last_model="m1")})
    finish.apply(place, journal(place, trial("a", model="m2"), model="m2", reset=True))
    assert boxes(place) == {"a": (2, 1), "b": (1, 0)}


# The fold


def test_a_fold_changes_what_is_where_and_not_what_is_known(place: Place) -> None:
    runs(place, "passed", "passed", "failed", "passed")
    before = current(place).rows
    done = compact(place, TODAY + days(4), 2, write=True)
    assert (done.files, done.rows, done.left) == (3, 1, 1)
    assert (held(place)["a"].box, current(place).rows) == (1, before)
    assert compact(place, TODAY + days(4), 0, write=True) == (1, 1, 0)
    assert held(place) == before
    assert event_files(place.events) == {}
    assert compact(place, TODAY + days(4), 0, write=True) == (0, 0, 0)


def test_a_dry_run_changes_nothing(place: Place) -> None:
    runs(place, "passed", "failed")
    assert compact(place, TODAY + days(9), 0, write=False) == (2, 1, 0)
    assert not place.state.exists()
    assert len(event_files(place.events)) == 2


class Killed(BaseException):
    """Stands for SIGKILL."""


@pytest.mark.parametrize("step", ["write_state", "delete"])
@pytest.mark.parametrize("part", ["before", "halfway", "after"])
def test_a_fold_that_is_killed_anywhere_folds_once(place: Place, step: str, part: str) -> None:
    runs(place, "passed", "passed", "passed")
    before = current(place).rows
    own = getattr(state, step)

    def killed(*given: Any) -> None:
        if part == "after":
            own(*given)
        if part == "halfway" and step == "delete":
            next(iter(given[0])).unlink()
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state, step, killed)
        with pytest.raises(Killed):
            compact(place, TODAY + days(9), 0, write=True)
    assert current(place).rows == before
    compact(place, TODAY + days(9), 0, write=True)
    assert held(place) == before
    assert event_files(place.events) == {}


@pytest.mark.parametrize("step", ["event_files", "read_state", "read_events"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_who_reads_during_a_fold_reads_what_is_known(place: Place, step: str, when: str) -> None:
    runs(place, "passed", "passed", "failed")
    before = current(place).rows
    own = getattr(state, step)

    def folding(*given: Any) -> Any:
        patch.undo()  # One fold, at the first call.
        found = own(*given) if when == "after" else None
        compact(place, TODAY + days(9), 0, write=True)
        return own(*given) if when == "before" else found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state, step, folding)
        assert current(place).rows == before
    assert event_files(place.events) == {}


def test_a_folded_file_that_comes_back_counts_once(place: Place) -> None:
    """As with an old branch that is merged again after its commits were squashed."""
    runs(place, "passed", "passed")
    files = {path: path.read_bytes() for path in event_files(place.events).values()}
    compact(place, TODAY + days(9), 0, write=True)
    before = held(place)
    for path, data in files.items():
        path.write_bytes(data)
    assert current(place).rows == before
    assert compact(place, TODAY + days(9), 0, write=True) == (0, 0, 0)
    assert event_files(place.events) == {}


def test_names_of_folded_files_are_forgotten_in_time(place: Place) -> None:
    runs(place, "passed", "passed")
    compact(place, TODAY + days(9), 0, write=True)
    assert len(read_state(place.state, "s").folded) == 2
    late = (TODAY + days(REMEMBERED_DAYS + 1)).isoformat()
    finish.apply(place, journal(place, trial("a"), date=late))
    compact(place, date.fromisoformat(late), 0, write=True)
    assert [name[:10] for name in read_state(place.state, "s").folded] == [(TODAY + days(1)).isoformat(), late]


def test_a_pull_request_that_merges_late_finds_its_place(place: Place) -> None:
    remember(place, {"a": row(3, 3)})
    late = journal(place, trial("a", FAILED, pr="7"), date=TODAY.isoformat())
    finish.apply(place, journal(place, trial("a", pr="8"), date=(TODAY + days(1)).isoformat()))
    compact(place, TODAY + days(2), 7, write=True)
    finish.apply(place, late)
    assert boxes(place) == {"a": (2, 1)}


# Mistakes


def test_a_damaged_file_is_one_sentence_and_stays(place: Place) -> None:
    runs(place, "passed", "passed")
    path = next(iter(event_files(place.events).values()))
    path.write_text(path.read_text(encoding="utf-8")[:-9], encoding="utf-8")
    before = {one: one.read_bytes() for one in event_files(place.events).values()}
    said = rf"^eval/events/{path.name}:2: not what a run has written \(it was cut off\); restore"
    for call in (lambda: current(place), lambda: compact(place, TODAY + days(9), 0, write=True)):
        with pytest.raises(RecallError, match=said):
            call()
    assert {one: one.read_bytes() for one in event_files(place.events).values()} == before
    assert not place.state.exists()


@pytest.mark.parametrize(
    ("line", "key", "value", "said"),
    [
        (1, "weighed", "pfx", "weighed: 'pfx' are not trials, p or f"),
    ],
)
def test_an_event_that_no_run_writes_is_one_sentence(
    place: Place, line: int, key: str, value: object, said: str
) -> None:
    runs(place, "passed")
    path = next(iter(event_files(place.events).values()))
    told = [json.loads(one) for one in path.read_text(encoding="utf-8").splitlines()]
    told[line][key] = value
    path.write_text("".join(json.dumps(one) + "\n" for one in told), encoding="utf-8")
    with pytest.raises(RecallError, match=re.escape(f"not what a run has written ({said})")):
        current(place)


def test_events_that_are_no_folder_are_one_sentence(place: Place) -> None:
    place.events.touch()
    with pytest.raises(
        RecallError, match=r"events: cannot be read \(Not a directory\); check that it is a readable fol"
    ):
        current(place)


def test_a_folded_file_without_a_day_is_remembered(place: Place) -> None:
    runs(place, "passed", "passed")
    first, _ = event_files(place.events).values()
    path = first.rename(first.with_name("by-hand.jsonl"))
    compact(place, TODAY + days(2 * REMEMBERED_DAYS), 0, write=True)
    assert path.stem in read_state(place.state, "recall.yaml").folded


@pytest.mark.parametrize("rows", [{"a": row(2, 2)}, {}])
def test_a_case_with_verdicts_that_wait_is_neither_moved_nor_forgotten(place: Place, rows: dict[str, Row]) -> None:
    if rows:
        remember(place, rows)
    runs(place, "passed")
    said = "has events of `a` that .* lacks; run `recall state fold --keep-days 0` first"
    with pytest.raises(RecallError, match=said):
        state.move(place, [("a", "b")], write=True)
    with pytest.raises(RecallError, match=said):
        state.forget(place, ["a"], write=True)
    with pytest.raises(RecallError, match="no row of `aa`; did you mean `a`"):
        state.move(place, [("aa", "b")], write=True)
    assert held(place) == rows


@pytest.mark.parametrize(
    "told",
    [
        {"apart": (Apart("a", TODAY),)},
        {"unanswered": ("a",)},
        {"change": "pr7", "affected": ("a",)},
    ],
)
def test_what_else_waits_for_a_case_keeps_it_as_well(place: Place, told: dict[str, Any]) -> None:
    remember(place, {"a": row(2, 2)})
    state.write_events(place.events, Events("noon", TODAY, "pr7", **told))
    with pytest.raises(RecallError, match="has events of `a` that"):
        state.move(place, [("a", "b")], write=True)


def test_rows_are_not_changed_below_events_that_wait(place: Place) -> None:
    runs(place, "passed")
    place.rubric.write_text("owner: ana\n", encoding="utf-8")
    run = journal(place, trial("b"))
    with pytest.raises(RecallError, match=r"^eval/events: 1 event file is .*run `recall state fold --keep-days 0`"):
        finish.apply(place, run)
    compact(place, TODAY, 0, write=True)
    finish.apply(place, run)
    assert boxes(place) == {"a": (1, 1), "b": (1, 1)}
