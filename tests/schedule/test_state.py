"""The state of a checkout: what runs have written into files of their own counts, once."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.runs import finish
from pytest_recall.schedule import state
from pytest_recall.schedule.events import Apart, Events
from pytest_recall.schedule.run_file import run_files, write_run_file
from pytest_recall.schedule.state import REMEMBERED_DAYS, current, fold, unfolded
from pytest_recall.schedule.state_file import State, read_state, write_state
from pytest_recall.trials.journal import Journal
from pytest_recall.trials.trial import Outcome, Row
from tests.helpers.samples import FAILED, TODAY, costly, days, header, row, trial
from tests.runs.folding import NOON, journal, remember


def boxes(place: Place) -> dict[str, tuple[int, int]]:
    """Return box and streak of each case, run files included."""
    return {case_id: (r.box, r.pass_streak) for case_id, r in current(place).rows.items()}


def held(place: Place) -> dict[str, Row]:
    """Return the rows of the state file alone."""
    return read_state(place.state, "recall.yaml").rows


def waiting(place: Place) -> dict[str, Path]:
    """Return the run files."""
    return run_files(place.run_files)


def fold_all(place: Place, shared: Collection[str] | None = None) -> State:
    """Fold what waits, as a run on the default branch does; `shared` is what the state of everyone names."""
    known = read_state(place.state, "recall.yaml")
    return fold(place, known, unfolded(place, known), shared)


def runs(place: Place, *outcomes: str, folds: bool = False) -> list[Path]:
    """Apply a run of case `a` for each of the outcomes, a day after the other."""
    found = []
    for number, outcome in enumerate(outcomes):
        run = journal(place, trial("a", Outcome(outcome), pr=str(number)), date=(TODAY + days(number)).isoformat())
        finish.apply(place, run, folds=folds)
        found.append(run)
    return found


def test_a_run_on_a_branch_writes_a_file_and_leaves_the_state_file_alone(place: Place) -> None:
    remember(place, {"a": row(3, 3), "z": row(4, 4)})
    before = place.state.read_bytes()
    changed = finish.apply(place, journal(place, trial("a", FAILED, pr="7"), trial("b")), folds=False)
    assert sorted(changed or ()) == ["a", "b"]
    assert place.state.read_bytes() == before
    assert len(waiting(place)) == 1
    assert boxes(place) == {"a": (1, 0), "b": (1, 1), "z": (4, 4)}


@costly
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["passed", "failed", "error"]), st.booleans())))
def test_where_runs_are_written_makes_no_difference(found: list[tuple[str, str, bool]]) -> None:
    """Some write run files, and others rows, by which all files that wait are folded."""
    with tempfile.TemporaryDirectory() as folder:
        places = [Place(Path(folder), Path(folder, name)) for name in ("rows", "mixed")]
        for one in places:
            one.eval_dir.mkdir()
            remember(one, {"a": row(2, 2), "b": row(3, 3)})
            for day, (case_id, outcome, folds) in enumerate(found):
                done = journal(one, trial(case_id, Outcome(outcome)), date=(TODAY + days(day)).isoformat())
                finish.apply(one, done, folds=folds or one is places[0])
        rows, mixed = places
        assert current(mixed).rows == held(rows)
        assert current(mixed).unanswered == read_state(rows.state, "s").unanswered
        if any(folds for _, _, folds in found[-1:]):
            assert waiting(mixed) == {} or found[-1][1] == "error"
        fold_all(mixed)
        assert mixed.state.read_text(encoding="utf-8") == rows.state.read_text(encoding="utf-8")


def test_a_run_on_the_default_branch_folds_what_waits_and_deletes_it(place: Place) -> None:
    runs(place, "passed", "passed")
    finish.apply(place, journal(place, trial("b"), date=(TODAY + days(2)).isoformat()), folds=True)
    assert waiting(place) == {}
    assert {case_id: (r.box, r.pass_streak) for case_id, r in held(place).items()} == {"a": (2, 2), "b": (1, 1)}
    assert len(read_state(place.state, "s").folded) == 3, "those of both files, and its own"


@pytest.mark.parametrize("folds", [False, True])
def test_no_run_is_applied_twice(place: Place, folds: bool) -> None:
    run = journal(place, trial("a"))
    assert finish.apply(place, run, folds=folds) is not None
    before = {path: path.read_bytes() for path in place.eval_dir.rglob("*.yaml")}
    for again in (folds, not folds):
        assert finish.apply(place, run, folds=again) is None
    assert {path: path.read_bytes() for path in place.eval_dir.rglob("*.yaml")} == before
    assert boxes(place) == {"a": (1, 1)}


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("second", [False, True])
def test_a_run_that_goes_on_adds_its_news_alone(place: Place, first: bool, second: bool) -> None:
    """Also on another branch, and after its file was folded."""
    run = place.artifacts.new_run(NOON)
    with Journal(run, header(("a", "new"), ("b", "new"))) as written:
        written.append(trial("a"))
        finish.apply(place, run, folds=first)
        written.append(trial("b"))
        written.end(0)
    # The rows of `recall.yaml` lack what waits in a file as well.
    assert sorted(finish.apply(place, run, folds=second) or ()) == (["a", "b"] if second and not first else ["b"])
    assert len(waiting(place)) == (0 if second else 1 + (not first))
    assert boxes(place) == {"a": (1, 1), "b": (1, 1)}
    fold_all(place)
    assert finish.apply(place, run, folds=True) is None
    assert {case_id: r.pass_streak for case_id, r in held(place).items()} == {"a": 1, "b": 1}


def test_a_run_without_a_verdict_writes_nothing(place: Place) -> None:
    assert finish.apply(place, journal(place), folds=False) == {}
    assert finish.apply(place, journal(place), folds=True) == {}
    assert waiting(place) == {}
    assert not place.state.exists()


def test_a_dry_run_says_what_would_change_and_writes_nothing(place: Place) -> None:
    runs(place, "passed")
    before = {path: path.read_bytes() for path in place.eval_dir.rglob("*.yaml")}
    for folds in (False, True):
        run = journal(place, trial("a"), trial("b"), date=(TODAY + days(1)).isoformat())
        assert sorted(finish.apply(place, run, folds=folds, write=False) or ()) == ["a", "b"]
        assert {path: path.read_bytes() for path in place.eval_dir.rglob("*.yaml")} == before


def test_a_reset_waits_in_the_file(place: Place) -> None:
    remember(place, {"a": row(4, 4, last_model="m1"), "b": row(4, 4, last_model="m1")})
    finish.apply(place, journal(place, trial("a", model="m2"), model="m2", reset=True), folds=False)
    assert boxes(place) == {"a": (2, 1), "b": (1, 0)}


# The fold


def test_a_fold_changes_what_is_where_and_not_what_is_known(place: Place) -> None:
    runs(place, "passed", "passed", "failed", "passed")
    before = current(place).rows
    assert fold_all(place).rows == held(place) == before
    assert waiting(place) == {}
    text = place.state.read_bytes()
    fold_all(place)
    assert place.state.read_bytes() == text


def test_a_file_stays_until_the_state_of_everyone_names_it(place: Place) -> None:
    runs(place, "passed", "passed")
    first, second = waiting(place)
    before = current(place).rows
    fold_all(place, ())
    text = place.state.read_bytes()
    assert (list(waiting(place)), read_state(place.state, "s").folded) == ([first, second], (first, second))
    assert held(place) == current(place).rows == before
    fold_all(place, (first, "2026-03-10-pr9-of-somebody-else-1-aaaaaa"))
    assert list(waiting(place)) == [second]
    fold_all(place, (first, second))
    assert waiting(place) == {}
    assert (place.state.read_bytes(), current(place).rows) == (text, before)


def test_a_file_that_everyone_has_folded_is_deleted_and_one_that_came_since_is_not(place: Place) -> None:
    runs(place, "passed")
    [first] = waiting(place)
    fold_all(place, ())
    finish.apply(place, journal(place, trial("b"), date=(TODAY + days(1)).isoformat()), folds=False)
    [_, second] = waiting(place)
    fold_all(place, (first,))
    assert list(waiting(place)) == [second]
    assert held(place) == current(place).rows
    assert boxes(place) == {"a": (1, 1), "b": (1, 1)}


def test_a_fold_that_was_lost_is_made_again_from_the_files(place: Place) -> None:
    """As by whoever takes the other side of a conflict."""
    runs(place, "passed", "passed")
    fold_all(place, ())
    after = held(place)
    place.state.unlink()
    assert current(place).rows == after
    fold_all(place, ())
    assert held(place) == after


class Killed(BaseException):
    """Stands for SIGKILL."""


@pytest.mark.parametrize("step", ["before the state", "after the state", "halfway"])
def test_a_fold_that_is_killed_anywhere_folds_once(place: Place, step: str) -> None:
    runs(place, "passed", "passed", "passed")
    before = current(place).rows
    delete = Path.unlink

    def killed(*given: Any, **more: Any) -> None:
        if step == "after the state":
            write_state(*given)
        if step == "halfway":
            delete(*given, **more)
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        if step == "halfway":
            patch.setattr(Path, "unlink", killed)
        else:
            patch.setattr(state, "write_state", killed)
        with pytest.raises(Killed):
            fold_all(place)
    assert len(waiting(place)) == (2 if step == "halfway" else 3)
    assert current(place).rows == before
    fold_all(place)
    assert held(place) == before
    assert waiting(place) == {}


@pytest.mark.parametrize("step", ["run_files", "read_state", "read_run_file"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_who_reads_during_a_fold_reads_what_is_known(place: Place, step: str, when: str) -> None:
    runs(place, "passed", "passed", "failed")
    before = current(place).rows
    own = getattr(state, step)

    def folding(*given: Any) -> Any:
        patch.undo()  # One fold, at the first call.
        found = own(*given) if when == "after" else None
        fold_all(place)
        return own(*given) if when == "before" else found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state, step, folding)
        assert current(place).rows == before
    assert waiting(place) == {}


@pytest.mark.parametrize("own", [False, True])
def test_a_folded_file_that_comes_back_counts_once(place: Place, own: bool) -> None:
    """As with an old branch that is merged again after its commits were squashed; `own` files are of runs on main.

    Their run was on a branch in another checkout, as with a job that was run again on both.
    """
    done = runs(place, "passed", "passed")
    files = {path: path.read_bytes() for path in waiting(place).values()}
    if own:
        for path in files:
            path.unlink()
        for run in done:
            assert finish.apply(place, run, folds=True) is not None
    else:
        fold_all(place)
    before = held(place)
    text = place.state.read_bytes()
    for path, data in files.items():
        path.write_bytes(data)
    assert current(place).rows == before == {"a": before["a"]}
    assert (before["a"].box, before["a"].pass_streak) == (2, 2)
    fold_all(place)
    assert place.state.read_bytes() == text
    assert waiting(place) == {}


def test_a_damaged_file_that_is_folded_already_is_not_read_again(place: Place) -> None:
    runs(place, "passed")
    [path] = waiting(place).values()
    fold_all(place)
    path.write_text("cut", encoding="utf-8")
    assert boxes(place) == {"a": (1, 1)}
    fold_all(place)
    assert waiting(place) == {}


def test_names_of_folded_runs_are_forgotten_in_time(place: Place) -> None:
    runs(place, "passed", folds=True)
    runs(place, "passed", "passed")
    fold_all(place)
    assert len(read_state(place.state, "s").folded) == 3
    late = (TODAY + days(REMEMBERED_DAYS + 1)).isoformat()
    finish.apply(place, journal(place, trial("a"), date=late), folds=True)
    assert [name[:10] for name in read_state(place.state, "s").folded] == [(TODAY + days(1)).isoformat(), late]


def test_a_name_is_kept_as_long_as_its_file_is_there(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    runs(place, "passed")
    [name] = waiting(place)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", lambda *given, **more: None)
        fold_all(place)
        late = (TODAY + days(9 * REMEMBERED_DAYS)).isoformat()
        finish.apply(place, journal(place, trial("b"), date=late), folds=True)
    assert name in read_state(place.state, "s").folded
    assert {case_id: r.pass_streak for case_id, r in current(place).rows.items()} == {"a": 1, "b": 1}


def test_a_part_of_a_run_that_is_folded_whole_counts_once(place: Place) -> None:
    """Its file comes back with an old branch."""
    run = place.artifacts.new_run(NOON)
    with Journal(run, header(("a", "new"), ("b", "new"))) as written:
        written.append(trial("a"))
        finish.apply(place, run, folds=False)
        [part] = waiting(place)
        parted = waiting(place)[part].read_bytes()
        waiting(place)[part].unlink()
        written.append(trial("b"))
        written.end(0)
    finish.apply(place, run, folds=False)
    [whole] = waiting(place)
    wholly = waiting(place)[whole].read_bytes()
    waiting(place)[whole].unlink()
    for name, data in ((whole, wholly), (part, parted)):
        (place.run_files / f"{name}.yaml").write_bytes(data)
        fold_all(place, ())
    assert current(place).rows == held(place)
    assert {case_id: (r.box, r.pass_streak) for case_id, r in held(place).items()} == {"a": (1, 1), "b": (1, 1)}
    # The part is held by the whole, and is not even read.
    text = place.state.read_bytes()
    (place.run_files / f"{part}.yaml").write_text("cut", encoding="utf-8")
    assert boxes(place) == {"a": (1, 1), "b": (1, 1)}
    fold_all(place, ())
    assert place.state.read_bytes() == text
    assert finish.apply(place, run, folds=True) is None


def test_a_run_whose_verdicts_are_all_older_is_named_in_folded(place: Place) -> None:
    remember(place, {"a": row(3, 3, tested=TODAY + days(5), due=TODAY + days(12))})
    before = held(place)
    run = journal(place, trial("a", FAILED))
    assert finish.apply(place, run, folds=True) == {}
    assert held(place) == before
    assert [name[:10] for name in read_state(place.state, "s").folded] == [TODAY.isoformat()]
    assert finish.apply(place, run, folds=True) is None


def test_a_run_on_the_default_branch_without_a_verdict_folds_what_waits(place: Place) -> None:
    runs(place, "passed", "passed")
    names, before = list(waiting(place)), current(place).rows
    changed = finish.apply(place, journal(place), folds=True)
    assert changed == held(place) == before
    assert (list(read_state(place.state, "s").folded), waiting(place)) == (names, {})


def test_a_pull_request_that_merges_late_finds_its_place(place: Place) -> None:
    remember(place, {"a": row(3, 3)})
    late = journal(place, trial("a", FAILED, pr="7"), date=TODAY.isoformat())
    finish.apply(place, journal(place, trial("a", pr="8"), date=(TODAY + days(1)).isoformat()), folds=False)
    finish.apply(place, late, folds=False)
    assert boxes(place) == {"a": (2, 1)}
    fold_all(place)
    assert boxes(place) == {"a": (2, 1)}


# Mistakes


def damage(path: Path, how: str) -> None:
    """Cut a run file short, or edit it."""
    text = path.read_text(encoding="utf-8")
    if how == "cut in a line":
        text = text[:-9]
    elif how == "cut at a line":
        text = text[: text.index("cases:\n")]
    elif how == "edited":
        text = text.replace("outcome: passed", "outcome: failed")
    else:
        text = ""
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("how", ["cut in a line", "cut at a line", "edited", "empty"])
def test_a_damaged_file_is_named_and_stays(place: Place, how: str) -> None:
    runs(place, "passed", "passed")
    path = next(iter(waiting(place).values()))
    damage(path, how)
    run = journal(place, trial("b"))
    before = {one: one.read_bytes() for one in waiting(place).values()}
    calls = (
        lambda: current(place),
        lambda: fold_all(place),
        lambda: finish.apply(place, run, folds=True),
        lambda: finish.apply(place, run, folds=False),
    )
    for call in calls:
        with pytest.raises(RecallError) as refused:
            call()
        assert re.match(rf"eval/runs/{re.escape(path.name)}:[1-9][0-9]*: \S", refused.value.messages[0])
    assert {one: one.read_bytes() for one in waiting(place).values()} == before
    assert not place.state.exists()
    path.unlink()
    assert boxes(place) == {"a": (1, 1)}


def test_run_files_that_are_no_folder_are_one_sentence(place: Place) -> None:
    place.run_files.touch()
    with pytest.raises(RecallError, match=r"runs: cannot be read \(Not a directory\); check that it is a readable fol"):
        current(place)


def test_a_folded_file_without_a_day_is_remembered(place: Place) -> None:
    runs(place, "passed", "passed")
    first, _ = waiting(place).values()
    path = first.rename(first.with_name("by-hand.yaml"))
    fold_all(place)
    late = (TODAY + days(2 * REMEMBERED_DAYS)).isoformat()
    finish.apply(place, journal(place, trial("a"), date=late), folds=True)
    assert path.stem in read_state(place.state, "recall.yaml").folded


@pytest.mark.parametrize("rows", [{"a": row(2, 2)}, {}])
def test_a_case_with_verdicts_that_wait_is_neither_moved_nor_forgotten(place: Place, rows: dict[str, Row]) -> None:
    if rows:
        remember(place, rows)
    runs(place, "passed")
    said = "eval/runs: a run file has a verdict on `a` that"
    with pytest.raises(RecallError, match=said):
        state.move(place, [("a", "b")], write=True)
    with pytest.raises(RecallError, match=said):
        state.forget(place, ["a"], write=True)
    with pytest.raises(RecallError, match="no row of `aa`; did you mean `a`"):
        state.move(place, [("aa", "b")], write=True)
    assert held(place) == rows
    fold_all(place)
    state.move(place, [("a", "b")], write=True)
    assert list(held(place)) == ["b"]


@pytest.mark.parametrize(
    "told",
    [
        {"apart": (Apart("a", TODAY),)},
        {"unanswered": ("a",)},
        {"behind": (("a", "k"),)},
        {"change": "pr7", "affected": ("a",)},
    ],
)
def test_what_else_waits_for_a_case_keeps_it_as_well(place: Place, told: dict[str, Any]) -> None:
    remember(place, {"a": row(2, 2)})
    write_run_file(place.run_files, Events("noon", TODAY, "pr7", **told), held(place))
    with pytest.raises(RecallError, match="a run file has a verdict on `a` that"):
        state.move(place, [("a", "b")], write=True)


def test_days_to_come_are_told_of_what_waits_as_well(place: Place) -> None:
    runs(place, "passed", "passed", "passed")
    state.check_dates(place, current(place), TODAY + days(1))
    with pytest.raises(RecallError, match=r"eval/runs/2026-03-12-.* is of 2026-03-12, which is after 2026-03-10"):
        state.check_dates(place, current(place), date(2026, 3, 10))
