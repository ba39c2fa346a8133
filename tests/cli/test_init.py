"""`recall init`: a first eval set that runs at once, and nothing overwritten."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from importlib.metadata import PathDistribution
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_recall.replay.exchange import Call
from pytest_recall.schedule.sizing import CONFIRM
from pytest_recall.trials.journal import write_journal
from pytest_recall.trials.record import Record
from tests.cli.conftest import Recall
from tests.cli.samples import files, python, recall, run_evals
from tests.helpers.repository import Repository
from tests.helpers.samples import header, trial
from tests.helpers.screens import assert_screen

WORKFLOWS = [".github/workflows/eval-recall.yml", ".github/workflows/recall.yml"]
WRITTEN = ["eval/cases.yaml", "eval/rubric.yaml", "eval/conftest.py", *WORKFLOWS]


def test_writes_an_eval_set(tmp_path: Path) -> None:
    done = recall(tmp_path, "init")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert [line.partition(": ")[0] for line in lines[:5]] == [f"wrote   {name}" for name in WRITTEN]
    assert "`pytest -p recall eval` runs it" in lines[-1]
    assert sorted(files(tmp_path)) == sorted(WRITTEN)
    assert "EVAL_DIR" not in "".join(text.decode() for text in files(tmp_path).values())
    assert yaml.safe_load((tmp_path / "eval/rubric.yaml").read_text(encoding="utf-8"))["blocks"] == "regression"


def test_what_it_writes_passes(tmp_path: Path, inside: Recall) -> None:
    inside(tmp_path, "init")
    done = run_evals(tmp_path)
    assert done.code == 0, done.out
    assert "4 passed" in done.out
    rows = yaml.safe_load((tmp_path / "eval" / "recall.yaml").read_text(encoding="utf-8"))["cases"]
    assert {row["box"] for row in rows.values()} == {1}
    assert inside(tmp_path, "check").out == "4 cases in 1 file, 2 scenarios, 3 dimensions: all in order\n"
    # Box 1 is run again and moves up; then nothing is due, and no change affects a case.
    assert "4 passed" in run_evals(tmp_path).out
    assert "0 of 4 cases; not run: 4 not due until 2026-03-13" in run_evals(tmp_path).out


def test_what_it_writes_is_on_no_schedule_yet(tmp_path: Path, inside: Recall) -> None:
    inside(tmp_path, "init")
    assert "never seen             4" in inside(tmp_path, "status").out


def test_the_workflow_calls_the_one_that_is_beside_it(tmp_path: Path, inside: Recall) -> None:
    inside(tmp_path, "init", "--dir", "checks")
    text = (tmp_path / WORKFLOWS[0]).read_text(encoding="utf-8")
    job = yaml.safe_load(text)["jobs"]["eval"]
    assert job["uses"] == f"./{WORKFLOWS[1]}"
    assert (job["with"]["directory"], job["with"]["state"]) == ("checks", "always")


def commands_in(path: Path) -> list[str]:
    """Return the steps that install, of a workflow for GitHub or a job for GitLab."""
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))
    if "jobs" in jobs:
        given = jobs["jobs"]["eval"]["with"]
        return [given["install"], given["install-recall"]]
    return [jobs["eval-recall"]["script"][0]]


URL = "https://git.example.org/us/recall"
INSTALLED = {
    "index": (None, "==0.1"),
    "git": (
        {"url": URL, "vcs_info": {"vcs": "git", "commit_id": "abc1", "requested_revision": "main"}},
        f" @ git+{URL}@abc1",
    ),
    "archive": (
        {"url": f"{URL}/a.whl", "archive_info": {"hashes": {"sha256": "9f"}}, "subdirectory": "py"},
        f" @ {URL}/a.whl#sha256=9f&subdirectory=py",
    ),
}
ON_THIS_MACHINE = {
    "folder": {"url": "file:///home/ann/recall", "dir_info": {"editable": True}},
    "wheel": {"url": "file:///home/ann/recall.whl", "archive_info": {}},
    "clone": {"url": "file:///home/ann/recall", "vcs_info": {"vcs": "git", "commit_id": "abc1"}},
}


def installed(monkeypatch: pytest.MonkeyPatch, record: dict[str, Any] | None) -> None:
    """Have the distribution say that it was installed so."""

    class Installed(PathDistribution):
        def read_text(self, filename: str | os.PathLike[str]) -> str | None:
            if str(filename) == "METADATA":
                return "Name: pytest-recall\nVersion: 0.1\n"
            return None if record is None else json.dumps(record)

    monkeypatch.setattr("pytest_recall.cases.commands.distribution", lambda name: Installed(Path("none")))


@pytest.mark.parametrize(("record", "release"), INSTALLED.values(), ids=INSTALLED)
def test_ci_installs_what_is_installed_here(
    tmp_path: Path, inside: Recall, monkeypatch: pytest.MonkeyPatch, record: dict[str, Any] | None, release: str
) -> None:
    installed(monkeypatch, record)
    assert "from a folder" not in inside(tmp_path, "init", "--github", "--gitlab").out
    assert [shlex.split(one) for one in commands_in(tmp_path / WORKFLOWS[0])] == [
        ["pip", "install", f"pytest-recall[all]{release}"],
        ["pip", "install", f"pytest-recall[ci]{release}"],
    ]
    (both,) = commands_in(tmp_path / "eval/gitlab-ci.yml")
    assert shlex.split(both) == ["pip", "install", f"pytest-recall[all,ci]{release}"]


@pytest.mark.parametrize("record", ON_THIS_MACHINE.values(), ids=ON_THIS_MACHINE)
def test_no_path_of_this_machine_gets_into_a_workflow(
    tmp_path: Path, inside: Recall, monkeypatch: pytest.MonkeyPatch, record: dict[str, Any]
) -> None:
    installed(monkeypatch, record)
    inside(tmp_path, "init", "--github", "--gitlab", "--dir", str(tmp_path / "evals"))
    assert not any(b"/home" in text or bytes(tmp_path) in text for text in files(tmp_path).values())
    paths = [tmp_path / WORKFLOWS[0], tmp_path / "evals/gitlab-ci.yml"]
    steps = [step for path in paths for step in commands_in(path)]
    for step in steps:
        done = subprocess.run(["bash", "-c", f"eval {shlex.quote(step)}"], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (1, "")
        assert len(done.stderr.splitlines()) == 1
        assert "`recall init --requirement RELEASE`" in done.stderr
    # What is filled is that alone, also in a file that was edited.
    edited = paths[0].read_text(encoding="utf-8").replace("17 3", "30 4")
    paths[0].write_text(edited, encoding="utf-8")
    filling = ("init", "--github", "--gitlab", "--dir", "evals", "--requirement", "pytest_recall == 0.2")
    assert inside(tmp_path, *filling, "--dry-run").out.count("would fill") == 2
    assert paths[0].read_text(encoding="utf-8") == edited
    assert inside(tmp_path, *filling).out.count("filled") == 2
    assert "30 4" in paths[0].read_text(encoding="utf-8")
    assert [step for path in paths for step in commands_in(path)] == [
        f"pip install 'pytest-recall[{extras}]==0.2'" for extras in ("all", "ci", "all,ci")
    ]
    assert inside(tmp_path, *filling).out.count("kept") == 3


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ({"pyproject.toml": "[project]\nname = 'desk'\n", "requirements.txt": ""}, ["-e", "."]),
        ({"setup.py": ""}, ["-e", "."]),
        ({"pyproject.toml": "[tool.ruff]\n", "requirements.txt": ""}, ["-r", "requirements.txt"]),
        ({"pyproject.toml": "not toml"}, []),
    ],
)
def test_ci_installs_the_project_under_test(
    tmp_path: Path, inside: Recall, given: dict[str, str], arguments: list[str]
) -> None:
    for name, text in given.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    inside(tmp_path, "init", "--requirement", f"pytest-recall @ git+{URL}@abc1")
    cases, report = map(shlex.split, commands_in(tmp_path / WORKFLOWS[0]))
    assert cases == ["pip", "install", f"pytest-recall[all] @ git+{URL}@abc1", *arguments]
    # The job that may write installs nothing of a pull request.
    assert report == ["pip", "install", f"pytest-recall[ci] @ git+{URL}@abc1"]


def cases_of(count: int) -> str:
    """Return a case file with so many cases."""
    return "".join(
        f"- {{id: c{number}, scenario: s, dimension: d, input: x, expected: x, judges: [exact]}}\n"
        for number in range(count)
    )


def test_sizes_are_proposed_for_the_cases_that_there_are(tmp_path: Path, inside: Recall) -> None:
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "cases.yaml").write_text(cases_of(800), encoding="utf-8")
    (tmp_path / "eval" / "rubric.yaml").write_text("owner: us\nmax_due_cases: 9\n", encoding="utf-8")
    done = inside(tmp_path, "init", "--github")
    assert "eval/rubric.yaml was not changed. Recommended for its 800 cases:" in done.out
    for line in (
        "new_traffic_sample: 5",
        "box_1_cases: 25",
        "nightly_cases: 134",
        f"confirm: {CONFIRM}",
        "# budget: 10",
    ):
        assert f"\n  {line} " in done.out
    assert "max_due_cases" not in done.out
    # A set without a rubric gets one with these sizes.
    (tmp_path / "eval" / "rubric.yaml").unlink()
    inside(tmp_path, "init")
    rubric = yaml.safe_load((tmp_path / "eval" / "rubric.yaml").read_text(encoding="utf-8"))
    assert rubric["nightly_cases"] == 134
    assert rubric["max_due_cases"] == 25
    assert "budget" not in rubric
    # A line that has to be filled in first is no reason to recommend again.
    done = inside(tmp_path, "init", "--github")
    assert (done.code, done.out.count("kept")) == (0, 2)
    assert "Recommended" not in done.out


def test_a_budget_is_proposed_by_what_runs_have_cost(tmp_path: Path, inside: Recall) -> None:
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "cases.yaml").write_text(cases_of(30), encoding="utf-8")
    calls = (Call("agent", "live", cost=0.25), Call("agent", "live", cost=0.25))
    trials = tuple(trial(f"c{number}", scenario="s", calls=calls) for number in range(10))
    write_journal(tmp_path / "eval" / "_artifacts" / "2026-03-10T120000", Record(header(), trials))
    inside(tmp_path, "init")
    rubric = yaml.safe_load((tmp_path / "eval" / "rubric.yaml").read_text(encoding="utf-8"))
    # Cases that no run has asked cost as much as the others of their scenario.
    assert rubric["budget"] == 15


@pytest.mark.parametrize(("option", "written"), [("--github", WORKFLOWS), ("--gitlab", ["eval/gitlab-ci.yml"])])
def test_the_files_for_ci_alone(tmp_path: Path, inside: Recall, option: str, written: list[str]) -> None:
    done = inside(tmp_path, "init", option)
    assert (done.code, done.err) == (0, "")
    *lines, then = done.out.splitlines()
    assert [line.partition(": ")[0] for line in lines[: len(written)]] == [f"wrote   {name}" for name in written]
    assert then == "Next: eval has no cases yet; `recall init` writes first ones."
    assert sorted(files(tmp_path)) == written
    (tmp_path / "eval").mkdir(exist_ok=True)
    (tmp_path / "eval" / "cases.yaml").touch()
    again = inside(tmp_path, "init", option).out
    assert again == "".join(f"kept    {name} (it is there already)\n" for name in written)


def test_overwrites_nothing(tmp_path: Path, inside: Recall) -> None:
    for number, name in enumerate(WRITTEN):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"mine \xff\r\n" * number)
    before = files(tmp_path)
    done = inside(tmp_path, "init")
    assert (done.code, done.err) == (0, "")
    assert done.out == "".join(f"kept    {name} (it is there already)\n" for name in WRITTEN)
    assert files(tmp_path) == before


@pytest.mark.parametrize("kept", WRITTEN)
def test_fills_in_what_is_missing(tmp_path: Path, kept: str, inside: Recall) -> None:
    (tmp_path / kept).parent.mkdir(parents=True)
    mine = b"- {id: mine, scenario: a, dimension: b, input: c, judges: [exact]}" if kept == WRITTEN[0] else b"mine"
    (tmp_path / kept).write_bytes(mine)
    done = inside(tmp_path, "init")
    assert f"kept    {kept} (it is there already)\n" in done.out
    assert done.out.count("wrote   ") == 4
    assert (tmp_path / kept).read_bytes() == mine
    assert sorted(files(tmp_path)) == sorted(WRITTEN)


PYTEST_SETTINGS: tuple[dict[str, str], ...] = (
    {"tests/test_a.py": ""},
    {"tests/test_a.py": "", "pyproject.toml": "[project]\nname = 'x'\n"},
    {"test/test_a.py": "", "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-q'\n"},
    {"pyproject.toml": "[tool.pytest]\nminversion = '9.0'\n"},
    {"setup.cfg": "[tool:pytest]\n"},
    {"tox.ini": "[pytest]\ntestpaths = a\n", "tests/test_a.py": ""},
    {"pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['a']\n"},
    {"pytest.ini": "[pytest]\ntestpaths =\n    a\n", "pyproject.toml": "[tool.pytest]\na = 1\n"},
    {"README.md": "mine"},
)


def test_testpaths_are_proposed_where_nothing_sets_them(
    tmp_path: Path, inside: Recall, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, None)
    parts = []
    for number, given in enumerate(PYTEST_SETTINGS):
        folder = tmp_path / str(number)
        for name, text in given.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        before = files(folder)
        parts.append(f"# {json.dumps(given)}\n{inside(folder, 'init').out}")
        assert before.items() <= files(folder).items()
    assert_screen(Path(__file__).parent / "screens" / "init.txt", "\n".join(parts))


def test_the_cases_of_another_tool_are_not_made_ours(tmp_path: Path, inside: Recall) -> None:
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval/cases.yaml").write_text('{"a": 1}', encoding="utf-8")
    done = inside(tmp_path, "init")
    assert (done.code, done.out) == (2, "")
    assert "eval/cases.yaml is there already and is not a case file of pytest-recall" in done.err
    assert "recall init --dir evals" in done.err
    assert list(files(tmp_path)) == ["eval/cases.yaml"]
    assert inside(tmp_path, "init", "--dir", "evals").code == 0


def test_dry_run_writes_nothing(tmp_path: Path, inside: Recall) -> None:
    done = inside(tmp_path, "init", "--dry-run")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()[: len(WRITTEN)]
    assert [line.partition(": ")[0] for line in lines] == [f"would write   {name}" for name in WRITTEN]
    assert list(tmp_path.iterdir()) == []


def test_another_directory(tmp_path: Path, inside: Recall) -> None:
    done = inside(tmp_path, "init", "--dir", "evals/agent")
    assert done.code == 0
    assert sorted(files(tmp_path)) == sorted(name.replace("eval/", "evals/agent/", 1) for name in WRITTEN)
    assert "`pytest -p recall evals/agent` runs it" in done.out
    assert "      directory: evals/agent\n" in (tmp_path / WORKFLOWS[0]).read_text(encoding="utf-8")
    assert inside(tmp_path, "check", "--dir", "evals/agent").code == 0


def test_a_directory_with_a_space_is_in_quotes_for_the_shell(tmp_path: Path, inside: Recall) -> None:
    done = inside(tmp_path, "init", "--dir", "my evals")
    assert "Next: `pytest -p recall 'my evals'` runs it" in done.out
    assert '      directory: "my evals"\n' in (tmp_path / WORKFLOWS[0]).read_text(encoding="utf-8")
    done = inside(tmp_path, "init", "--gitlab", "--dir", "my evals")
    assert "no cases yet" not in done.out
    (job,) = [
        one for one in yaml.safe_load((tmp_path / "my evals/gitlab-ci.yml").read_text()).values() if "script" in one
    ]
    assert job["artifacts"]["paths"] == ["my evals/_artifacts"]
    commands = [shlex.split(line) for script in job["script"] for line in script.splitlines() if "my evals" in line]
    assert commands
    assert all("my evals" in command or "my evals;" in command for command in commands)


def test_another_directory_runs_as_it_says(tmp_path: Path, inside: Recall) -> None:
    inside(tmp_path, "init", "--dir", "checks")
    done = run_evals(tmp_path, "checks")
    assert done.code == 0, done.out
    assert "4 passed" in done.out


def test_a_file_in_the_way(tmp_path: Path, inside: Recall) -> None:
    (tmp_path / "eval").write_text("mine", encoding="utf-8")
    done = inside(tmp_path, "init")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("recall: ")
    assert "File exists" in done.err
    assert files(tmp_path) == {"eval": b"mine"}


def test_what_it_writes_is_python_without_warnings(tmp_path: Path, inside: Recall) -> None:
    inside(tmp_path, "init")
    assert python(tmp_path, "-W", "error", "-m", "py_compile", "eval/conftest.py") == (0, "", "")


def test_a_workflow_says_which_branch_it_takes_for_the_default_one(tmp_path: Path, inside: Recall) -> None:
    """Where there are several, and nothing says it."""
    repository = Repository.at(tmp_path)
    repository.commit()
    repository.git("branch", "feature")
    assert "default branch" not in inside(tmp_path, "init", "--dry-run").out
    repository.git("symbolic-ref", "--delete", "refs/remotes/origin/HEAD")
    repository.git("switch", "-qc", "trunk")
    assert "takes `trunk` for the default branch" in inside(tmp_path, "init").out
