"""`recall bench audit`: from a run to verdicts, and from these to both numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_recall.horizon.audit import FOLDER
from pytest_recall.horizon.commands.reports import AUDIT_DETAILS
from pytest_recall.horizon.regrade import GRADES
from pytest_recall.judges.audit import GRADES as CASE_GRADES
from tests.cli.conftest import Recall
from tests.cli.samples import recall
from tests.helpers.horizon_runs import SMALL, WRONG, Asked, fill, read_lines, write_run
from tests.helpers.persona import write_persona


def test_the_help_explains_the_grades_which_are_those_of_all_audits() -> None:
    assert GRADES.keys() == CASE_GRADES.keys()
    assert all(f"  {name:<21} {meaning}\n" in AUDIT_DETAILS for name, meaning in GRADES.items())


def test_an_audit_from_end_to_end(tmp_path: Path, inside: Recall) -> None:
    folder = write_run(tmp_path / "run", SMALL)
    done = recall(tmp_path, "bench", "audit", "run")
    assert (done.code, done.err) == (0, "recall: without --persona the items hold no texts of the days\n")
    assert done.out == (
        "run/audit/10d.jsonl: 3 answers to look at again\n"
        "run/audit/20d.jsonl: 3 answers to look at again\n"
        "run/audit/30d.jsonl: 2 answers to look at again\n"
    )
    done = inside(tmp_path, "bench", "audit", "run", "--apply")
    assert (done.code, done.err) == (2, "recall: no item has a grade yet\n")
    right = {"correctness": 3, "completeness": 2, "hallucination": 1}
    fill(
        folder,
        "10d",
        q001={"grade": "agree"},
        q002={"grade": "judge_false_negative", "corrected": right},
        q003={"grade": "system_failure", "cause": "src/rank.py:88"},
    )
    done = inside(tmp_path, "bench", "audit", "run", "--apply")
    assert done.code == 1  # One of three points is wrong.
    assert done.out.splitlines()[:2] == [
        "as judged: 4.500 of 6, hallucination 10.0 %, 10 answers",
        "as re-graded: 4.700 of 6, hallucination 10.0 %, 10 answers",
    ]
    assert "  src/rank.py:88: 1 answer to 1 question\n" in done.out
    assert done.err.startswith("recall: run/notes.md: `Analysis` names no cause as file:line yet")
    written = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    plain = json.loads(inside(tmp_path, "bench", "audit", "run", "--apply", "--json").out)
    assert plain["grades"]["case_defect"] == plain["verdicts"]["qa-defect"] == 0
    assert plain["grades"]["agree"] == plain["verdicts"]["judge-right"] == 1
    assert plain == json.loads((folder / FOLDER / "audited.json").read_text(encoding="utf-8"))
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == written
    notes = folder / "notes.md"
    notes.write_text(notes.read_text(encoding="utf-8") + "Ranked last: src/rank.py:88.\n", encoding="utf-8")
    done = inside(tmp_path, "bench", "audit", "run", "--apply")
    assert (done.code, done.err) == (1, "")
    assert notes.read_text(encoding="utf-8").endswith("Ranked last: src/rank.py:88.\n")


def test_the_points_of_the_run_stay_as_they_were_judged(tmp_path: Path, inside: Recall) -> None:
    folder = write_run(tmp_path / "run", SMALL)
    before = (folder / "result.json").read_bytes()
    inside(tmp_path, "bench", "audit", "run")
    fill(folder, "10d", q002={"grade": "case_defect"})
    inside(tmp_path, "bench", "audit", "run", "--apply")
    assert (folder / "result.json").read_bytes() == before


def test_one_checkpoint_is_exported_alone(tmp_path: Path, inside: Recall) -> None:
    write_run(tmp_path / "run", SMALL)
    done = inside(tmp_path, "bench", "audit", "run", "--checkpoint", "20d", "--seed", "3")
    assert done.out == "run/audit/20d.jsonl: 3 answers to look at again\n"
    assert sorted(path.name for path in (tmp_path / "run" / FOLDER).iterdir()) == ["20d.jsonl", "20d.md"]


def test_what_was_exported_without_a_persona_or_before_is_told(tmp_path: Path, inside: Recall) -> None:
    write_run(tmp_path / "run", SMALL)
    done = inside(tmp_path, "bench", "audit", "run", "--apply")
    assert done == (2, "", "recall: run/audit: holds no items; `recall bench audit run` writes them\n")
    done = inside(tmp_path, "bench", "audit", "run", "--persona", "unknown")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("recall: unknown/memories-1000d: is not there")


def test_mistakes_in_verdicts_are_told_all_at_once(tmp_path: Path, inside: Recall) -> None:
    folder = write_run(tmp_path / "run", SMALL)
    inside(tmp_path, "bench", "audit", "run")
    fill(folder, "10d", q002={"grade": "defect"})
    fill(folder, "30d", q001={"grade": "system_failure", "cause": "somewhere"})
    done = inside(tmp_path, "bench", "audit", "run", "--apply")
    assert (done.code, done.out) == (2, "")
    assert [line.split(": ")[1] for line in done.err.splitlines()] == ["run/audit/10d.jsonl:2", "run/audit/30d.jsonl:1"]
    assert not (folder / "notes.md").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--apply", "--seed", "1"], "--seed is for exporting, and --apply imports what is there"),
        (["--apply", "--checkpoint", "10d"], "--checkpoint is for exporting"),
        (["--json"], "--json is for --apply"),
        (["--arcs", "arcs.yaml"], "--arcs is a file in the folder of --persona; give that too"),
        (["--checkpoint", "11d"], "--checkpoint: `11d` is unknown; did you mean"),
    ],
)
def test_options_without_effect_are_refused(tmp_path: Path, options: list[str], told: str, inside: Recall) -> None:
    write_run(tmp_path / "run", SMALL)
    done = inside(tmp_path, "bench", "audit", "run", *options)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"recall: {told}")


def test_the_only_story_of_a_persona_is_the_one(tmp_path: Path, inside: Recall) -> None:
    write_run(tmp_path / "run", {4: [Asked(id="q001", score=WRONG)]})
    write_persona(tmp_path)
    done = inside(tmp_path, "bench", "audit", "run", "--persona", "clerk")
    assert (done.code, done.err) == (0, "")
    (item,) = read_lines(tmp_path / "run" / FOLDER / "4d.jsonl")
    assert item["evidence"]
