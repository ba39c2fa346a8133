"""`recall schedule select`: the slice of a day, printed and written, but not run."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pytest_recall.schedule.state_file import State
from pytest_recall.trials.trial import Row
from tests.cli.conftest import Recall
from tests.cli.samples import DATE, TODAY, files, recall, run_evals

ON = ("schedule", "select", "--date", DATE)


def ids(text: str) -> list[str]:
    """Return the chosen cases of a printed slice."""
    return [case["id"] for case in yaml.safe_load(text)["cases"]]


def test_prints_and_writes_the_same(project: Path) -> None:
    before = files(project)
    done = recall(project, *ON, "--seed", "7")
    assert done.code == 0
    assert done.err == f"recall: pr {DATE}, seed 7: 4 of 5 cases (2 due, 2 new); not run: 1 not due until 2026-03-22\n"
    slice_ = yaml.safe_load(done.out)
    digest = slice_.pop("state")
    assert digest == f"sha256:{State({}, before['eval/recall.yaml'].decode()).digest}"
    cases = slice_.pop("cases")
    assert slice_ == {"mode": "pr", "date": DATE, "seed": "7", "chosen": 4, "of": 5}
    assert cases[:2] == [
        {"id": "worse", "reason": "due", "box": 3, "next_due": "2026-03-09"},
        {"id": "right", "reason": "due", "box": 2, "next_due": DATE},
    ]
    assert sorted(case["id"] for case in cases[2:]) == ["crash", "skipped"]
    assert all(case["reason"] == "new" and len(case) == 2 for case in cases[2:])
    after = files(project)
    assert after.pop("eval/_artifacts/today.yaml").decode() == done.out
    assert sorted(after.keys() - before.keys()) == ["eval/_artifacts/.gitignore"]
    assert {name: after[name] for name in before} == before


def test_a_run_chooses_the_same(project: Path, inside: Recall) -> None:
    chosen = inside(project, *ON).out
    run_evals(project)
    assert (project / "eval" / "_artifacts" / "today.yaml").read_text(encoding="utf-8") == chosen


def test_ids_only(project: Path, inside: Recall) -> None:
    done = inside(project, *ON, "--ids")
    assert done.out.splitlines() == ids((project / "eval" / "_artifacts" / "today.yaml").read_text(encoding="utf-8"))
    assert done.out.endswith("\n")


@pytest.mark.parametrize(
    ("arguments", "chosen"),
    [
        (["--mode", "pr"], {"right", "worse", "crash", "skipped"}),
        (["--mode", "nightly"], {"right", "worse", "crash", "skipped"}),
        (["--mode", "all"], {"right", "worse", "crash", "skipped", "later"}),
        (["--scenarios", "loans"], {"right", "worse"}),
        (["--scenarios", "loans, trouble", "--dimensions", "tone"], {"skipped"}),
        (["--mode", "all", "--dimensions", "tone"], {"skipped", "later"}),
    ],
)
def test_chosen(project: Path, arguments: list[str], chosen: set[str], inside: Recall) -> None:
    assert set(ids(inside(project, *ON, *arguments).out)) == chosen


@pytest.mark.parametrize("command", ["select", "estimate"])
def test_it_says_that_only_a_run_knows_what_a_change_affects(project: Path, command: str, inside: Recall) -> None:
    asked = ("schedule", command, "--date", DATE)
    said = "recall: what the change affects is left out: a run finds it by a replay"
    assert said not in inside(project, *asked).err
    (project / "eval/cassettes").mkdir()
    assert said in inside(project, *asked).err
    assert said not in inside(project, *asked, "--mode", "all").err
    (project / "eval/rubric.yaml").write_text("owner: us\nrecording: off\n", encoding="utf-8")
    assert said not in inside(project, *asked).err


def test_another_day(project: Path, inside: Recall) -> None:
    assert "later" in ids(inside(project, "schedule", "select", "--date", "2026-03-22").out)
    early = inside(project, "schedule", "select", "--date", "2026-03-01")
    assert set(ids(early.out)) == {"crash", "skipped"}
    assert "not run: 3 not due until 2026-03-09" in early.err


def test_nothing_due(project: Path, inside: Recall) -> None:
    rows = dict.fromkeys(["right", "worse", "crash", "skipped", "later"], Row(5, 5, TODAY, TODAY.replace(day=30)))
    (project / "eval" / "recall.yaml").write_text(State({}, "").updated(rows), encoding="utf-8")
    done = inside(project, *ON)
    assert done.code == 0
    assert ids(done.out) == []
    assert "0 of 5 cases; not run: 5 not due until 2026-03-30" in done.err


def test_ids_of_an_empty_slice(project: Path, inside: Recall) -> None:
    done = inside(project, *ON, "--scenarios", "loans", "--dimensions", "tone", "--ids")
    assert done.out == ""


def test_seed_draws_the_new_cases(project: Path, inside: Recall) -> None:
    (project / "eval" / "rubric.yaml").write_text("owner: me\nnew_traffic_sample: 1\n", encoding="utf-8")
    drawn = {inside(project, *ON, "--seed", str(seed), "--ids").out.splitlines()[-1] for seed in range(20)}
    assert drawn == {"crash", "skipped"}
    once = [inside(project, *ON, "--seed", "3").out for _ in range(2)]
    assert once[0] == once[1]


def test_seed_and_mode_come_from_github(project: Path, monkeypatch: pytest.MonkeyPatch, inside: Recall) -> None:
    monkeypatch.setenv("GITHUB_REF", "refs/pull/41/merge")
    monkeypatch.setenv("GITHUB_EVENT_NAME", "schedule")
    assert f"nightly {DATE}, seed 41: " in inside(project, *ON).err
    assert f"pr {DATE}, seed 7: " in inside(project, *ON, "--mode", "pr", "--seed", "7").err


def test_a_broken_state(project: Path, inside: Recall) -> None:
    (project / "eval" / "recall.yaml").write_text("<<<<<<< ours\n", encoding="utf-8")
    done = inside(project, *ON)
    assert done.code == 2
    assert done.err.startswith("recall: eval/recall.yaml:1: merge-conflict marker")


def test_an_id_that_is_no_unicode_in_a_large_file(project: Path, inside: Recall) -> None:
    rows = ['{"id": "\\ud800"}', '{"id": "b", "notes": "' + "x" * 2**20 + '"}']
    (project / "eval" / "cases.jsonl").write_text("\n".join(rows), encoding="utf-8")
    done = inside(project, *ON)
    assert done.code == 2
    assert done.err.startswith("recall: eval/cases.jsonl:1: id: ")


def test_artifacts_that_cannot_be_written(project: Path, inside: Recall) -> None:
    (project / "eval" / "_artifacts").write_text("mine", encoding="utf-8")
    done = inside(project, *ON)
    assert (done.code, done.out) == (2, "")
    path = project / "eval" / "_artifacts"
    then = "a file is where a folder has to be; move it away, and run the same command again"
    assert done.err == f"recall: {path}: File exists; {then}\n"
