"""From a journal to the state: exactly once, attempt by attempt, and beside other runs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.results.regressions import CauseLabel
from pytest_recall.runs import finish
from pytest_recall.runs.job import NO_JOB
from pytest_recall.schedule.selection import Unanswered
from pytest_recall.schedule.state_file import read_state
from pytest_recall.trials.journal import Journal, read_journal
from pytest_recall.trials.record import Record
from pytest_recall.trials.trial import Answer, Outcome, Row
from tests.helpers.samples import ERROR, FAILED, PASSED, TODAY, days, header, row, trial
from tests.runs.folding import NOON, boxes, journal, remember, rows

# Folding


def test_a_run_is_folded_into_the_state(place: Place) -> None:
    remember(place, {"a": row(2, 2), "b": row(3, 3), "z": row(4, 4)})
    run = journal(place, trial("a", pr="41", model="m1"), trial("b", FAILED), trial("c"), trial("d", ERROR))
    changed = finish.apply(place, run)
    assert changed is not None
    assert sorted(changed) == ["a", "b", "c"]
    assert changed["a"] == Row(3, 3, TODAY, TODAY + days(7), "41", "m1")
    assert boxes(place) == {"a": (3, 3), "b": (1, 0), "c": (1, 1), "z": (4, 4)}


def test_the_day_is_that_of_the_run(place: Place) -> None:
    finish.apply(place, journal(place, trial("a"), date="2026-01-31"))
    assert str(rows(place)["a"].next_due) == "2026-02-01"


def test_a_record_in_memory_is_as_good_as_the_journal(place: Place) -> None:
    run = journal(place, trial("a"))
    finish.apply(place, run, read_journal(run))
    assert boxes(place) == {"a": (1, 1)}


def test_applied_twice_is_applied_once(place: Place) -> None:
    run = journal(place, trial("a"))
    assert finish.apply(place, run) is not None
    text = place.state.read_bytes()
    assert finish.apply(place, run) is None
    assert finish.apply(place, run, read_journal(run)) is None
    assert place.state.read_bytes() == text


def test_a_run_without_verdicts_changes_no_row_and_notes_who_was_asked(place: Place) -> None:
    remember(place, {"a": row(2, 2)})
    run = journal(place, trial("a", ERROR))
    assert finish.apply(place, run) == {}
    state = read_state(place.state, "state")
    assert (state.rows, state.unanswered) == ({"a": row(2, 2)}, {"a": Unanswered(TODAY)})
    assert finish.apply(place, run) is None
    assert finish.apply(place, journal(place, trial("a", PASSED))) is not None
    assert read_state(place.state, "state").unanswered == {}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_an_older_run_of_the_same_day_overwrites_no_newer_verdict(place: Place, order: tuple[int, int]) -> None:
    remember(place, {"a": row(3, 3), "b": row(3, 3)})
    runs = [journal(place, trial("a", FAILED), trial("b")), journal(place, trial("a"))]
    for which in order:
        finish.apply(place, runs[which])
    found = rows(place)
    assert not found["a"].failing
    assert found["b"].box == 4


def test_a_run_of_nothing_makes_no_state(place: Place) -> None:
    assert finish.apply(place, journal(place)) == {}
    assert not place.state.exists()


def test_a_run_that_was_cut_off_counts_as_far_as_it_got(place: Place) -> None:
    run = journal(place, trial("a"), trial("b"), ended=False)
    with (run / "trials.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"kind":"trial","case_id":"c","outc')
    finish.apply(place, run)
    assert boxes(place) == {"a": (1, 1), "b": (1, 1)}


def test_a_run_that_goes_on_loses_nothing(place: Place) -> None:
    run = place.artifacts.new_run(NOON)
    with Journal(run, header(("a", "new"), ("b", "new"))) as written:
        written.append(trial("a"))
        assert sorted(finish.apply(place, run) or ()) == ["a"]
        assert finish.apply(place, run) is None
        written.append(trial("b"))
        written.end(0)
    assert sorted(finish.apply(place, run) or ()) == ["b"]
    assert finish.apply(place, run) is None
    assert boxes(place) == {"a": (1, 1), "b": (1, 1)}


def rerun_after_an_apply(
    place: Place, known: Row | None, first: Outcome, last: Outcome, between: Callable[[], object] = lambda: None
) -> dict[str, Row] | None:
    """Fold a run of case `a`, then its second attempt; return what the second fold changed."""
    remember(place, {"z": row(4, 4)} | ({"a": known} if known else {}))
    run = place.artifacts.new_run(NOON)
    with Journal(run, header(("a", "due"))) as written:
        written.append(trial("a", first, row=known))
        finish.apply(place, run)
        between()
        written.append(trial("a", last, row=known, attempt=2))
        written.end(0)
    return finish.apply(place, run)


def test_a_rerun_that_changes_nothing_says_so(place: Place) -> None:
    assert rerun_after_an_apply(place, row(3, 3), PASSED, PASSED) == {}


def test_a_rerun_does_not_undo_the_verdict_of_a_later_day(place: Place) -> None:
    def later() -> None:
        day = (TODAY + days(1)).isoformat()
        finish.apply(place, journal(place, trial("a", FAILED, pr="42"), date=day))

    rerun_after_an_apply(place, row(3, 3), PASSED, PASSED, later)
    assert (rows(place)["a"].last_tested, rows(place)["a"].last_pr) == (TODAY + days(1), "42")
    assert boxes(place) == {"a": (1, 0), "z": (4, 4)}


def test_a_run_that_is_applied_late_changes_no_newer_row(place: Place) -> None:
    late = journal(place, trial("a", FAILED), trial("b"), date="2026-03-01")
    finish.apply(place, journal(place, trial("a")))
    assert sorted(finish.apply(place, late) or ()) == ["b"]
    assert boxes(place) == {"a": (1, 1), "b": (1, 1)}
    assert finish.apply(place, late) is None


def test_the_state_names_the_run_and_its_trials_in_the_same_write(place: Place) -> None:
    run = journal(place, trial("a"), trial("b", ERROR))
    before = set(run.iterdir())
    finish.apply(place, run)
    [name] = read_state(place.state, "recall.yaml").folded
    assert re.fullmatch(rf"2026-03-10-pr-{run.name}-2-[0-9a-f]{{6}}", name)
    assert set(run.iterdir()) == before
    assert not place.run_files.exists()


def test_a_run_whose_folder_was_lost_and_came_back_is_folded_once(place: Place) -> None:
    """The rows say what they hold: nothing beside the journal has to be kept for it."""
    run = journal(place, trial("a"))
    copy = place.root / "copy"
    shutil.copytree(run, copy)
    finish.apply(place, run)
    shutil.rmtree(run)
    assert finish.apply(place, copy) is None
    assert boxes(place) == {"a": (1, 1)}


def test_a_reset_is_folded_before_the_trials(place: Place) -> None:
    old = {"a": row(4, 4, last_model="m1"), "b": row(4, 4, last_model="m1"), "c": row(4, 4, last_model="m2")}
    remember(place, old)
    run = journal(place, trial("a", model="m2"), model="m2", reset=True)
    assert sorted(finish.apply(place, run) or ()) == ["a", "b"]
    assert boxes(place) == {"a": (2, 1), "b": (1, 0), "c": (4, 4)}


def test_a_run_that_goes_on_resets_once(place: Place) -> None:
    remember(place, {"a": row(4, 4, last_model="m1"), "b": row(4, 4, last_model="m1")})
    run = place.artifacts.new_run(NOON)
    with Journal(run, header(("a", "box 1"), model="m2", reset=True)) as written:
        finish.apply(place, run)
        assert boxes(place) == {"a": (1, 0), "b": (1, 0)}
        finish.apply(place, journal(place, trial("b", model="m1"), model="m1"))
        written.append(trial("a", model="m2"))
        written.end(0)
    finish.apply(place, run)
    assert boxes(place) == {"a": (2, 1), "b": (2, 1)}


def test_without_a_reset_the_model_moves_nothing(place: Place) -> None:
    remember(place, {"a": row(4, 4, last_model="m1"), "b": row(4, 4, last_model="m1")})
    finish.apply(place, journal(place, trial("a", model="m2"), model="m2"))
    assert boxes(place) == {"a": (5, 5), "b": (4, 4)}


def test_a_broken_state_changes_nothing(place: Place) -> None:
    run = journal(place, trial("a"))
    place.state.write_text("<<<<<<< ours\n", encoding="utf-8")
    with pytest.raises(RecallError, match="merge-conflict marker"):
        finish.apply(place, run)
    assert place.state.read_text(encoding="utf-8") == "<<<<<<< ours\n"
    place.state.unlink()
    assert finish.apply(place, run) is not None


# Two runs at once


def test_runs_keep_each_others_rows(place: Place) -> None:
    first, second = journal(place, trial("a"), trial("c")), journal(place, trial("b"), trial("c"))
    records = read_journal(first), read_journal(second)
    finish.apply(place, second, records[1])
    finish.apply(place, first, records[0])
    assert boxes(place) == {"a": (1, 1), "b": (1, 1), "c": (1, 1)}


PROGRAM = """
import sys
from pathlib import Path
from pytest_recall.results.regressions import CauseLabel
from pytest_recall.runs import finish
from pytest_recall.files.eval_directory import Place

import filelock, pytest_recall.schedule.state_file  # so that nothing is loaded between the signal and the race

place, runs = Place(Path(sys.argv[1]), Path(sys.argv[1], "eval")), sys.argv[2:]
print("ready", flush=True)
sys.stdin.readline()
for run in runs:
    assert finish.apply(place, Path(run)) is not None
"""


def test_four_processes_lose_nothing(place: Place) -> None:
    remember(place, {f"old-{number}": row(2, 2) for number in range(4)})
    processes = []
    for number in range(4):
        runs = [
            journal(place, trial(f"old-{number}"), *(trial(f"{number}-{n}-{i}") for i in range(3))) for n in range(3)
        ]
        processes.append(
            subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(place.root), *map(str, runs)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        _, errors = process.communicate()
        assert (process.returncode, errors) == (0, "")
    # An old case is promoted by the first of its three runs; the others come early that day.
    assert boxes(place) == {f"old-{number}": (3, 3) for number in range(4)} | {
        f"{number}-{n}-{i}": (1, 1) for number in range(4) for n in range(3) for i in range(3)
    }


# The scorecard


def test_the_scorecard_comes_from_the_journal_alone(place: Place) -> None:
    remember(place, {"a": row(3, 3)})
    run = journal(place, trial("a", FAILED, reason="due", row=row(3, 3)), trial("b", reason="new"))
    before = finish.scorecard(read_journal(run))
    finish.apply(place, run)
    assert finish.scorecard(read_journal(run)) == before
    assert [(r.trial.case_id, r.before, r.after, r.regression) for r in before.results] == [
        ("a", 3, 1, True),
        ("b", None, 1, False),
    ]


def test_the_scorecard_is_written_for_the_run_and_as_the_newest(place: Place) -> None:
    run = journal(place, trial("a", FAILED), trial("b"))
    record = read_journal(run)
    finish.write_scorecard(place, run, record, finish.scorecard(record), NO_JOB)
    for name in ("scorecard.md", "scorecard.json"):
        assert (run / name).read_bytes() == (place.artifacts.folder / name).read_bytes()
    assert json.loads((run / "scorecard.json").read_text(encoding="utf-8"))["counts"] == {"failed": 1, "passed": 1}
    assert (run / "scorecard.md").read_text(encoding="utf-8").startswith("# No regression: 1 of 2 cases pass\n")


def test_a_baseline_that_comes_after_a_fold_folds_nothing_twice(place: Place) -> None:
    remember(place, {"a": row(1, 1)})
    run = journal(place, trial("a"))
    finish.apply(place, run)
    assert boxes(place) == {"a": (2, 2)}
    record = read_journal(run)
    finish.apply(place, run, record._replace(trials=(*record.trials, trial("a", FAILED, arm="raw"))))
    assert boxes(place) == {"a": (2, 2)}


def test_code_of_a_judge_that_the_change_alters_is_the_cause() -> None:
    code = (("a", "own", "judges.py"),)
    fails = tuple(trial(name, FAILED, row=row(3, 3)) for name in ("a", "b"))
    card = finish.scorecard(Record(header(judge_code=code), fails))
    labels = {one.trial.case_id: one.cause and one.cause.label for one in card.results}
    assert labels == {"a": CauseLabel.JUDGE, "b": CauseLabel.UNKNOWN}


def test_what_fails_now_with_the_answer_of_its_last_pass_is_put_down_to_its_judge(place: Place) -> None:
    """After a change that touched the case, as this run says."""
    answer = Answer(text="Paris")
    journal(place, trial("a", answer=answer))
    run = journal(place, trial("a", FAILED, answer=answer, pr="12", row=row(3, 3)), affected=("a",), pr="12")
    (only,) = finish.scorecard(read_journal(run), place).results
    assert only.cause is not None
    assert only.cause.label is CauseLabel.JUDGE
