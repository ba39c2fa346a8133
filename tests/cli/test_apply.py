"""`recall state apply`: a run that was killed is folded in, exactly once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_recall.schedule.state_file import State, read_state
from tests.cli.conftest import Recall
from tests.cli.samples import ROWS, TODAY, environment, files, run_evals
from tests.cli.test_score import run_of
from tests.helpers import programs


def without_names(state: State) -> str:
    """Return the text of a state without the names of the runs that are folded into it."""
    return state.updated({}, folded=())


def state_of(folder: Path) -> State:
    """Return the state of a project."""
    return read_state(folder / "eval" / "recall.yaml", "recall.yaml")


def kill(folder: Path, *, trials: int, rest: int = 0) -> Path:
    """Make the run one that was killed after `trials` trials and `rest` bytes of the next; return its folder."""
    run = run_of(folder)
    lines = (run / "trials.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) == 6
    (run / "trials.jsonl").write_bytes(b"".join(lines[: 1 + trials]) + lines[1 + trials][:rest])
    for name in ("scorecard.md", "scorecard.json"):
        (run / name).unlink()
    (folder / "eval" / "recall.yaml").write_text(State({}, "").updated(ROWS), encoding="utf-8")
    return run


def test_a_killed_run_is_folded_in_once(ran: Path, inside: Recall) -> None:
    whole = without_names(state_of(ran))
    run = kill(ran, trials=4, rest=9)
    done = inside(ran, "state", "apply", "latest")
    assert done == (0, f"{run.name}: 4 finished trials; 2 rows of eval/recall.yaml changed\n", "")
    assert without_names(state_of(ran)) == whole
    rows = state_of(ran).rows
    assert (rows["right"].box, rows["right"].pass_streak, rows["right"].last_tested) == (3, 2, TODAY)
    assert (rows["worse"].box, rows["worse"].pass_streak, rows["worse"].last_tested) == (1, 0, TODAY)
    assert (rows["later"], rows["gone"]) == (ROWS["later"], ROWS["gone"])
    assert "crash" not in rows
    before = files(ran)
    assert inside(ran, "state", "apply", "latest") == (0, f"{run.name}: already in eval/recall.yaml\n", "")
    assert inside(ran, "state", "apply", run.name).code == 0
    assert files(ran) == before


def test_a_run_that_ended_is_in_the_state_already(ran: Path, inside: Recall) -> None:
    before = files(ran)
    assert inside(ran, "state", "apply", "latest").out == f"{run_of(ran).name}: already in eval/recall.yaml\n"
    assert files(ran) == before


@pytest.mark.parametrize(("trials", "rest"), [(0, 0), (0, 30), (1, 0), (1, 1), (2, 50), (3, 5)])
def test_only_finished_trials_count(ran: Path, trials: int, rest: int, inside: Recall) -> None:
    run = kill(ran, trials=trials, rest=rest)
    lines = (run / "trials.jsonl").read_text(encoding="utf-8").splitlines()[1 : 1 + trials]
    verdicts = {trial["case_id"] for trial in map(json.loads, lines) if trial["outcome"] in ("passed", "failed")}
    done = inside(ran, "state", "apply", "latest")
    assert done.code == 0
    first, *more = done.out.splitlines()
    assert first.startswith(f"{run.name}: {trials} finished trial")
    assert more == [f"not finished, and left as before: {4 - trials} chosen case{'s' * (trials != 3)}"]
    after = state_of(ran).rows
    assert {case_id for case_id, row in after.items() if row != ROWS.get(case_id)} == verdicts
    again = inside(ran, "state", "apply", "latest")
    # A run that has told nothing yet is named nowhere.
    assert again.out == (f"{run.name}: already in eval/recall.yaml\n" if trials else done.out)
    assert state_of(ran).rows == after


def test_scorecard_of_a_killed_run(ran: Path, inside: Recall) -> None:
    run = kill(ran, trials=2)
    inside(ran, "state", "apply", "latest")
    card = json.loads((run / "scorecard.json").read_text(encoding="utf-8"))
    assert (card["complete"], card["exit_code"], len(card["not_run"])) == (False, None, 2)
    assert "2 of 4 chosen cases not run: it was cut off before its end" in inside(ran, "score").out
    assert (run.parent / "scorecard.json").read_bytes() == (run / "scorecard.json").read_bytes()


def test_a_run_that_was_cut_off_before_it_began(ran: Path, inside: Recall) -> None:
    run = kill(ran, trials=0)
    before = state_of(ran).text
    (run / "trials.jsonl").write_bytes((run / "trials.jsonl").read_bytes()[:40])
    done = inside(ran, "state", "apply", run.name)
    assert (done.code, done.out) == (2, "")
    assert "the run was cut off before its first case; delete its folder" in done.err
    assert state_of(ran).text == before


def test_rows_that_others_have_changed_since_are_kept(ran: Path, inside: Recall) -> None:
    kill(ran, trials=2)
    theirs = ROWS["later"]._replace(box=5, last_pr="99")
    state = state_of(ran)
    (ran / "eval" / "recall.yaml").write_text(state.updated({"later": theirs}), encoding="utf-8")
    inside(ran, "state", "apply", "latest")
    assert state_of(ran).rows["later"] == theirs
    assert state_of(ran).rows["right"].box == 3


def test_a_killed_first_run_makes_the_state(ran: Path, inside: Recall) -> None:
    kill(ran, trials=4)
    (ran / "eval" / "recall.yaml").unlink()
    assert inside(ran, "state", "apply", "latest").code == 0
    assert {case_id: row.box for case_id, row in state_of(ran).rows.items()} == {"right": 1, "worse": 1}


@pytest.mark.parametrize("kind", ["dataset", "persona"])
def test_questions_that_are_on_no_schedule_are_refused(kind: str, ran: Path, inside: Recall) -> None:
    journal = run_of(ran) / "trials.jsonl"
    head, *rest = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    plain = json.loads(head)
    plain |= {"source_kind": kind, "writes": False, "scheduled": False}
    journal.write_text(json.dumps(plain) + "\n" + "".join(rest), encoding="utf-8")
    told = f"recall: {run_of(ran).name}: "
    for more in ((), ("--explicit",)):
        assert inside(ran, "state", "apply", "latest", *more) == (
            2,
            "",
            f"{told}questions of a {kind} are on no schedule; there is nothing to apply\n",
        )
    assert inside(ran, "accept", "latest") == (
        2,
        "",
        f"{told}asked questions of a {kind}, whose expected answers are in no case file; there is nothing to accept\n",
    )


def test_chosen_by_hand_is_refused(project: Path, inside: Recall) -> None:
    run_evals(project, "eval/cases.yaml::worse")
    run = run_of(project)
    before = files(project)
    done = inside(project, "state", "apply", "latest")
    assert done == (
        2,
        "",
        f"recall: {run.name}: its cases were chosen by hand, so it moves no box; add --explicit to apply it\n",
    )
    assert files(project) == before
    done = inside(project, "state", "apply", "latest", "--explicit")
    assert done.out == f"{run.name}: 1 finished trial; 1 row of eval/recall.yaml changed\n"
    assert state_of(project).rows["worse"].box == 1
    assert inside(project, "state", "apply", "latest", "--explicit").out == f"{run.name}: already in eval/recall.yaml\n"


@pytest.mark.parametrize(
    "text", ["<<<<<<< ours\n", "version: 2\n", "version: 1\ncases:\n  right: {box: 9}\n", "- a\n", "\x00"]
)
def test_a_broken_state_is_left_alone(ran: Path, text: str, inside: Recall) -> None:
    run = kill(ran, trials=4)
    (ran / "eval" / "recall.yaml").write_text(text, encoding="utf-8")
    before = files(ran)
    done = inside(ran, "state", "apply", "latest")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("recall: eval/recall.yaml")
    assert files(ran) == before
    (ran / "eval" / "recall.yaml").write_text(State({}, "").updated(ROWS), encoding="utf-8")
    assert inside(ran, "state", "apply", "latest").out.startswith(f"{run.name}: 4 finished trials; 2 rows")


def test_two_at_once_fold_it_in_once(ran: Path) -> None:
    whole = without_names(state_of(ran))
    run = kill(ran, trials=4)
    processes = [programs.begin(ran, "state", "apply", "latest", env=environment()) for _ in range(3)]
    said = sorted(process.communicate()[0] for process in processes)
    assert said[0] == f"{run.name}: 4 finished trials; 2 rows of eval/recall.yaml changed\n"
    assert said[1:] == [f"{run.name}: already in eval/recall.yaml\n"] * 2
    assert without_names(state_of(ran)) == whole
