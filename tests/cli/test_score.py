"""`recall score`: the scorecard of a run, again, and when it fails a build."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Recall
from tests.cli.samples import DATE, files, recall, run_evals


def artifacts(folder: Path) -> Path:
    """Return where the runs of a project are."""
    return folder / "eval" / "_artifacts"


def run_of(folder: Path) -> Path:
    """Return the folder of the only run."""
    (journal,) = artifacts(folder).glob("*/trials.jsonl")
    return journal.parent


def rewrite(run: Path, *cases: str) -> None:
    """Leave only the trials of `cases` in the journal, as if these had been all."""
    path = run / "trials.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lines[0]["picks"] = [pick for pick in lines[0]["picks"] if pick[0] in cases]
    kept = [line for line in lines if line["kind"] != "trial" or line["case_id"] in cases]
    path.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")


BLOCKS = (
    "recall: this run blocks: {}: worse; 2 of 4 cases without a verdict, 0 allowed: 1 error, 1 skipped"
    " (agent: TimeoutError: no answer)\n"
)


def test_text(ran: Path, inside: Recall) -> None:
    before = files(ran)
    done = inside(ran, "score")
    assert (done.code, done.err) == (1, BLOCKS.format("regressed"))
    lines = done.out.splitlines()
    assert lines[0].startswith("1 of 2 cases regressed; 1 regression, 1 error, 1 passed, 1 skipped; 66 % ")
    assert lines[2:4] == ["regressions (1):", "  worse (box 3 → 1)"]
    assert re.match(r"      eval/cases.yaml:\d+: contains: ", lines[4])
    assert f"pull request, {DATE}, seed {DATE}" in inside(ran, "score", "-v").out.splitlines()
    assert "no verdict (2), no box moved:" in lines
    assert any(line.startswith("  error: crash: eval/") and "agent: TimeoutError: no answer" in line for line in lines)
    assert any(line.startswith("  skipped: skipped: ") and "no key" in line for line in lines)
    assert any("without a case" in line and line.endswith("gone") for line in lines)
    assert "With 2 of 5 cases tested" in lines[-1]
    assert files(ran) == before


def test_it_is_what_the_run_has_shown_but_for_what_only_pytest_knows(project: Path, inside: Recall) -> None:
    shown = run_evals(project).out.splitlines()
    again = inside(project, "score").out.splitlines()
    head = again[: again.index("no verdict (2), no box moved:") + 1]
    assert [line for line in head if line not in shown and not line.startswith("      eval/")] == []


@pytest.mark.parametrize("arguments", [["--markdown"], ["latest", "--markdown"]])
def test_markdown_is_the_run_s_file(ran: Path, arguments: list[str], inside: Recall) -> None:
    done = inside(ran, "score", *arguments)
    assert done.out.rstrip("\n") == (artifacts(ran) / "scorecard.md").read_text(encoding="utf-8").rstrip("\n")
    assert done.out.startswith("# 1 of 2 cases regressed\n")


def test_json_is_the_run_s_file(ran: Path, inside: Recall) -> None:
    done = inside(ran, "score", "--json")
    found = json.loads(done.out)
    assert found == json.loads((artifacts(ran) / "scorecard.json").read_text(encoding="utf-8"))
    assert found["counts"] == {"passed": 1, "failed": 1, "error": 1, "skipped": 1}
    assert (found["regressions"], found["orphans"]) == (["worse"], ["gone"])
    assert (found["chosen"], found["total"], found["complete"]) == (4, 5, True)


def test_a_run_by_its_name_or_place(ran: Path, inside: Recall) -> None:
    run = run_of(ran)
    texts = {
        inside(ran, "score", given).out
        for given in ("latest", run.name, str(run), f"eval/_artifacts/{run.name}", str(run / "trials.jsonl"))
    }
    assert len(texts) == 1


@pytest.mark.parametrize(
    ("cases", "codes"),
    [
        (["right"], {"never": 0, "regression": 0, "failure": 0, "incomplete": 0}),
        (["right", "worse"], {"never": 0, "regression": 1, "failure": 1, "incomplete": 1}),
        (["right", "crash"], {"never": 0, "regression": 1, "failure": 1, "incomplete": 1}),
        (["right", "skipped"], {"never": 0, "regression": 1, "failure": 1, "incomplete": 1}),
    ],
)
def test_fail_on(ran: Path, cases: list[str], codes: dict[str, int], inside: Recall) -> None:
    rewrite(run_of(ran), *cases)
    assert {kind: inside(ran, "score", "--fail-on", kind).code for kind in codes} == codes
    assert inside(ran, "score").code == codes["regression"]
    assert inside(ran, "score", "--fail-on", "rubric").code == codes["regression"]


def test_fail_on_a_known_failure_is_no_regression(project: Path, inside: Recall) -> None:
    for day in ("2026-03-10", "2026-03-11"):
        run_evals(project, "eval", "--recall-date", day)
    rewrite(sorted(artifacts(project).glob("*/trials.jsonl"))[-1].parent, "right", "worse")
    assert inside(project, "score", "--fail-on", "regression").code == 0
    assert inside(project, "score", "--fail-on", "failure").code == 1


def test_fail_on_cases_that_were_not_run(ran: Path, inside: Recall) -> None:
    run = run_of(ran)
    rewrite(run, "right", "crash")
    text = (run / "trials.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "trials.jsonl").write_text("".join(line for line in text if "TimeoutError" not in line), encoding="utf-8")
    assert "chosen but not run (1): crash" in inside(ran, "score").out
    assert inside(ran, "score", "--fail-on", "failure").code == 1
    with (ran / "eval" / "rubric.yaml").open("a", encoding="utf-8") as rubric:
        rubric.write("no_verdict_allowed: 1\n")
    assert inside(ran, "score", "--fail-on", "failure").code == 1, "what the run was held to counts"
    first, rest = (run / "trials.jsonl").read_text(encoding="utf-8").split("\n", 1)
    (run / "trials.jsonl").write_text(json.dumps({**json.loads(first), "allowed": 1}) + "\n" + rest, encoding="utf-8")
    assert inside(ran, "score", "--fail-on", "failure").code == 0
    assert inside(ran, "score", "--fail-on", "incomplete").code == 1


def test_fail_on_is_an_exit_code_of_the_process(ran: Path) -> None:
    done = recall(ran, "score", "--fail-on", "failure", "--json")
    assert (done.code, done.err) == (1, BLOCKS.format("failed"))
    assert json.loads(done.out)["counts"]["failed"] == 1


@pytest.mark.parametrize("command", [("score",), ("state", "apply")], ids=["score", "apply"])
def test_no_such_run(ran: Path, command: tuple[str, ...], inside: Recall) -> None:
    name = run_of(ran).name
    done = inside(ran, *command, name[:-1] + "x")
    assert done == (2, "", f"recall: no run '{name[:-1]}x'; did you mean `{name}`?\n")


@pytest.mark.parametrize("command", [("score",), ("state", "apply")], ids=["score", "apply"])
@pytest.mark.parametrize(
    "content",
    [b"", b"hello\n", b"\xff\n", b"{}\n", b"[]\n", b'{"kind":"run","version":9}\n', b"\x00\n", b"[" * 99_999 + b"\n"],
)
def test_not_a_journal(ran: Path, command: tuple[str, ...], content: bytes, inside: Recall) -> None:
    (run_of(ran) / "trials.jsonl").write_bytes(content)
    done = inside(ran, *command, "latest")
    assert (done.code, done.out) == (2, "")
    assert "trials.jsonl" in done.err
    assert len(done.err.splitlines()) == 1


def test_a_directory_in_place_of_a_journal(ran: Path, inside: Recall) -> None:
    run = run_of(ran)
    shutil.rmtree(run)
    (run / "trials.jsonl").mkdir(parents=True)
    assert inside(ran, "score", run.name).code == 2


def test_what_the_slices_would_have_missed_is_told_of_runs_of_everything(ran: Path, inside: Recall) -> None:
    journal = run_of(ran) / "trials.jsonl"
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    lines[0] |= {"mode": "observe", "picks": [[case_id, "all"] for case_id, _ in lines[0]["picks"]]}
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    broken = artifacts(ran) / "2099-01-01T000000"
    broken.mkdir()
    (broken / "trials.jsonl").write_text("{", encoding="utf-8")
    done = inside(ran, "score", "--observed", "--json")
    assert done.code == 0
    assert done.err.startswith(f"recall: left out: {broken / 'trials.jsonl'}: no whole line; ")
    found = json.loads(done.out)
    (one,) = found["runs"]
    assert (one["slice"], one["regressions"], one["missed"]) == (0, 1, ["worse"])
    assert (found["together"]["run"], found["together"]["missed"]) == (f"{one['run']} to {one['run']}", ["worse"])
