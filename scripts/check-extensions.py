#!/usr/bin/env python3
"""Check that a stranger's extension works, and that the core works without those that are shipped.

Each example below `examples/extensions` is built as a wheel and installed beside pytest-recall in a fresh environment,
and its commands are run. Then `pytest_recall/extensions` is deleted there, and our own eval set is replayed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples" / "extensions"


def run(*command: str | Path, cwd: Path, code: int = 0, env: Mapping[str, str] | None = None) -> str:
    """Run a command and return what it printed; SystemExit where it ends with another exit code."""
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False, env=env)
    if done.returncode != code:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    return done.stdout


def check_importer(bin_: Path, work: Path) -> str:
    """Import the testset of the example; the row without a question is named."""
    testset = EXAMPLES / "ragas-importer" / "testset.csv"
    shutil.copy(testset, work)
    report = run(
        *(
            bin_ / "recall",
            "import",
            "ragas",
            "testset.csv",
            "--default-judge",
            "token_f1",
            "-o",
            "cases.yaml",
            "--json",
        ),
        cwd=work,
        code=1,
    )
    found = json.loads(report)
    assert (found["found"], found["carried"], found["no_case"]) == (3, 2, 1), found
    assert [one["what"] for one in found["remarks"]] == ["its `user_input` is empty"], found
    return f"{found['carried']} of {found['found']} rows of {testset.name} became cases"


def check_dataset(bin_: Path, work: Path) -> str:
    """Ask the sample of the example's dataset, which is recognised by its first row; one question abstains."""
    (work / "beam.jsonl").write_text(run(bin_ / "recall", "memory", "sample", "beam", cwd=work), encoding="utf-8")
    counts = json.loads(run(bin_ / "recall", "memory", "dataset", "beam.jsonl", "--json", cwd=work))
    assert (counts["format"], counts["questions"], counts["unanswerable"]) == ("beam", 3, 1), counts
    run(bin_ / "recall", "memory", "run", "beam.jsonl", "--out", "beam-run", cwd=work)
    trials = (work / "beam-run" / "trials.jsonl").read_text(encoding="utf-8").splitlines()[1:]
    outcomes = [json.loads(line).get("outcome") for line in trials]
    return f"{outcomes.count('passed')} of {counts['questions']} questions of its sample passed"


def check_host(bin_: Path, work: Path) -> str:
    """A scheduled job of the example's system begins a nightly run, and the run says so."""
    project = work / "nightly"
    project.mkdir()
    run(bin_ / "recall", "init", cwd=project)
    build = {"BUILDKITE": "true", "BUILDKITE_SOURCE": "schedule"}
    env = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "CI_", "GITLAB_"))}
    run(bin_ / "pytest", "-q", "-p", "recall", "eval", cwd=project, env={**env, **build})
    journal = next((project / "eval" / "_artifacts").glob("*/trials.jsonl"))
    header = json.loads(journal.read_text(encoding="utf-8").splitlines()[0])
    assert header["mode"] == "nightly", header["mode"]
    return f"a scheduled job runs in mode {header['mode']}"


def check_memory(bin_: Path, work: Path) -> str:
    """Ask the memory of the example, by a command and in a run of pytest."""
    listed = run(bin_ / "recall", "memory", "list", cwd=work)
    assert any(line.startswith("difflib ") for line in listed.splitlines()), listed
    found = json.loads(run(bin_ / "recall", "memory", "check", "difflib;least=0.1", "--json", cwd=work))
    assert (found["stored"], found["same"], found["held"]) == (3, 3, 3), found
    done = subprocess.run(
        [str(bin_ / "recall"), "memory", "check", "difflib;least=2"],
        cwd=work,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n"), "is no ratio" in done.stderr) == (2, 1, True), done.stderr
    case = {"id": "bees", "scenario": "facts", "dimension": "recall", "memory": {"facts": ["Alice keeps bees"]}}
    case |= {"input": "Who keeps bees?", "expected": "Alice", "judges": ["contains"]}
    project = work / "project"
    (project / "eval").mkdir(parents=True)
    (project / "eval" / "cases.yaml").write_text(json.dumps([case]), encoding="utf-8")
    (project / "eval" / "rubric.yaml").write_text("owner: us\n", encoding="utf-8")
    run(bin_ / "pytest", "-q", "-p", "recall", "eval", "--memory", "difflib", cwd=project)
    return f"{found['same']} of {found['stored']} facts came back as they were, and a case passed"


def check_run(bin_: Path, work: Path) -> str:
    """Run the eval set of `recall init`, which both examples about runs take part in."""
    project = work / "run"
    project.mkdir()
    run(bin_ / "recall", "init", cwd=project)
    run(bin_ / "pytest", "-q", "-p", "recall", "eval", cwd=project)
    card = json.loads((project / "eval" / "_artifacts" / "scorecard.json").read_text(encoding="utf-8"))
    mean = card["measures"]["answer_words"]
    lengths = next((project / "eval" / "_artifacts").glob("*/extensions/recall-answer-lengths/lengths.csv"))
    assert len(lengths.read_text(encoding="utf-8").splitlines()) == mean["cases"] + 1, mean
    slow = run(bin_ / "recall", "slow-cases", cwd=project).splitlines()
    assert [line.split()[0] for line in slow] == list(card["extensions"]["slow_cases"]), slow
    assert "slow-cases" in run(bin_ / "recall", "--help", cwd=project)
    return f"{mean['cases']} answers were measured, and `recall slow-cases` names {len(slow)}"


def main() -> int:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        venv.create(work / "env", with_pip=True)
        bin_ = work / "env" / ("Scripts" if sys.platform == "win32" else "bin")
        run("git", "clone", "-q", ROOT, work / "checkout", cwd=work)
        examples = [path.parent for path in sorted(EXAMPLES.glob("*/pyproject.toml"))]
        for example in examples:
            # A copy, since building leaves files.
            shutil.copytree(example, work / "sources" / example.name)
            run(bin_ / "pip", "wheel", "-q", "--no-deps", "-w", work, work / "sources" / example.name, cwd=work)
        wheels = sorted(work.glob("*.whl"))
        run(bin_ / "pip", "install", "-q", f"{work / 'checkout'}[all]", *wheels, cwd=work)
        print(f"{', '.join(one.name for one in wheels)}: built and installed")
        print(f"ragas-importer: {check_importer(bin_, work)}")
        print(f"beam-dataset: {check_dataset(bin_, work)}")
        print(f"buildkite-host: {check_host(bin_, work)}")
        print(f"difflib-memory: {check_memory(bin_, work)}")
        print(f"answer-lengths, slow-cases: {check_run(bin_, work)}")
        shipped = run(bin_ / "python", "-c", "import pytest_recall as r; print(r.__path__[0])", cwd=work).strip()
        shutil.rmtree(Path(shipped) / "extensions")
        last = run(
            *(bin_ / "pytest", "-q", "-p", "recall", "eval", "--replay", "--recall-mode", "all"), cwd=work / "checkout"
        ).splitlines()[-1]
        print(f"without the extensions that are shipped, our own eval set: {last}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
