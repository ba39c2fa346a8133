"""`recall bench rescore`, `rebuild`, `merge` and `report`: folders of runs, by the installed command."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Recall
from tests.cli.samples import recall
from tests.helpers.horizon_runs import SMALL, write_run


def test_a_run_that_is_right_is_rescored(tmp_path: Path) -> None:
    write_run(tmp_path / "run", SMALL)
    done = recall(tmp_path, "bench", "rescore", "run")
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("numbers compared, all are what the answers come to\n")


def test_a_wrong_number_is_told_and_is_exit_code_1(tmp_path: Path, inside: Recall) -> None:
    path = write_run(tmp_path / "run", SMALL) / "result.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"overallScore": 5.0', '"overallScore": 5.5'), encoding="utf-8")
    done = inside(tmp_path, "bench", "rescore", "run")
    assert done.code == 1
    assert done.out.splitlines()[0] == ("result.json: 30d, overallScore: written 5.5, but the answers come to 5.0")
    done = inside(tmp_path, "bench", "rescore", "run", "--json")
    assert done.code == 1
    plain = json.loads(done.out)
    assert plain["differences"] == [{"place": "result.json: 30d, overallScore", "written": 5.5, "computed": 5.0}]


def test_a_killed_run_is_rebuilt_and_nothing_is_replaced(tmp_path: Path, inside: Recall) -> None:
    folder = write_run(tmp_path / "run", SMALL)
    before = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    done = inside(tmp_path, "bench", "rebuild", "run")
    told = "recall: run/result.json: is there already; name another file with --out, or remove it first\n"
    assert done == (2, "", told)
    (folder / "result.json").unlink()
    done = inside(tmp_path, "bench", "rebuild", "run")
    assert done == (0, "run/result.json: 11 answers at 3 checkpoints\n", "")
    after = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert after["heatmap"] == before["heatmap"]
    assert inside(tmp_path, "bench", "rescore", "run").code == 0


def test_answers_after_the_last_checkpoint_are_told(tmp_path: Path, inside: Recall) -> None:
    folder = write_run(tmp_path / "run", SMALL)
    lines = (folder / "progress.jsonl").read_text(encoding="utf-8").splitlines()
    (folder / "progress.jsonl").write_text("\n".join(lines[:2]), encoding="utf-8")
    done = inside(tmp_path, "bench", "rebuild", "run", "-o", "other.json")
    assert done == (
        0,
        "other.json: 3 answers at 1 checkpoint\n",
        "recall: 8 answers after the last checkpoint left out\n",
    )


def test_parts_are_merged(tmp_path: Path, inside: Recall) -> None:
    write_run(tmp_path / "a", {10: SMALL[10], 20: SMALL[20]})
    write_run(tmp_path / "b", {20: SMALL[20], 30: SMALL[30]})
    done = inside(tmp_path, "bench", "merge", "a", "b", "-o", "whole")
    assert done == (0, "whole: 11 answers at 3 checkpoints\n", "recall: in several, the last one counts: 20d\n")
    assert inside(tmp_path, "bench", "rescore", "whole").code == 0
    done = inside(tmp_path, "bench", "merge", "a", "b", "-o", "whole")
    assert (done.code, done.err) == (2, "recall: whole: is there already; name a folder that is new\n")


def test_a_report_of_two_runs(tmp_path: Path, inside: Recall) -> None:
    write_run(tmp_path / "a", SMALL)
    write_run(tmp_path / "b", {10: SMALL[10]}, adapterName="Another")
    done = inside(tmp_path, "bench", "report", "a", "b")
    assert (done.code, done.err) == (0, "")
    assert "Run a (A memory):\n" in done.out
    assert "Run b against a:\n" in done.out
    plain = json.loads(inside(tmp_path, "bench", "report", "a", "b", "--json").out)
    assert [one["adapterName"] for one in plain["runs"]] == ["A memory", "Another"]
    assert plain["pairings"][0]["pairs"] == 3
    assert inside(tmp_path, "bench", "report", "a", "--markdown").out.startswith("# ")
