"""The workflows: their form, what is unsafe in them, and their shell, which is run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_recall.cases.commands import filled
from pytest_recall.cases.requirement import Requirement
from pytest_recall.trials.journal import read_journal
from tests.cli.samples import CASES, environment, fill
from tests.helpers import programs
from tests.helpers.github import REPO, GitHub
from tests.helpers.remotes import ALONE, clone, file_at, git, with_remote
from tests.helpers.scripts import loaded as script_at
from tests.helpers.workflow import TEMPLATES, Job, loaded

ROOT = Path(__file__).resolve().parent.parent
GITHUB = ROOT / ".github"
CALLED = GITHUB / "workflows" / "recall.yml"
ACTION = GITHUB / "actions" / "recall" / "action.yml"
WORKFLOWS = [*sorted((GITHUB / "workflows").glob("*.yml")), TEMPLATES / "workflow.yml", TEMPLATES / "recall.yml"]
PINNED = re.compile(r"^ *(?:- )?uses: ([\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\./[\w./-]+)$")

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the steps are written for bash")


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tool(name: str) -> str:
    """Return a program that comes with the packages for development."""
    found = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


# Their form


def test_what_init_writes_is_what_runs_here() -> None:
    assert (TEMPLATES / "recall.yml").read_bytes() == CALLED.read_bytes()


@pytest.mark.parametrize(
    ("schema", "paths"),
    [("github-workflows", WORKFLOWS), ("github-actions", [ACTION]), ("gitlab-ci", [TEMPLATES / "gitlab-ci.yml"])],
    ids=["github", "action", "gitlab"],
)
def test_they_fit_their_schema(schema: str, paths: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    check = pytest.importorskip("check_jsonschema").main
    with pytest.raises(SystemExit) as ended:
        check(["--builtin-schema", f"vendor.{schema}", *map(str, paths)])
    assert ended.value.code == 0, capsys.readouterr().out


def test_nothing_in_them_is_known_to_be_unsafe() -> None:
    program = [
        tool("zizmor"),
        "--offline",
        "--no-progress",
        "--quiet",
        "--min-severity",
        "medium",
        "--persona",
        "auditor",
    ]
    done = subprocess.run([*program, *WORKFLOWS, ACTION], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", [*WORKFLOWS, ACTION], ids=named)
def test_what_they_use_is_pinned(path: Path) -> None:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if re.match(r" *(- )?uses:", line)]
    assert lines
    assert [line for line in lines if not PINNED.match(line)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=named)
def test_every_job_says_what_it_may(path: Path) -> None:
    workflow = loaded(path)
    jobs = workflow["jobs"]
    assert [name for name, job in jobs.items() if "permissions" not in job] == []
    # What runs the code of a pull request may write nothing; nothing runs with the rights of the base branch.
    assert "pull_request_target" not in path.read_text(encoding="utf-8")
    for job in jobs.values():
        if any("pytest" in step.get("run", "") or "INSTALL" in step.get("run", "") for step in job.get("steps", ())):
            runs_cases = any("pytest -p" in step.get("run", "") for step in job["steps"])
            assert not runs_cases or set(job["permissions"].values()) == {"read"}


def runs(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the steps of a workflow or an action that are shell."""
    content = loaded(path)
    groups = [content["runs"]] if "runs" in content else content["jobs"].values()
    for group in groups:
        yield from (step for step in group.get("steps", ()) if "run" in step)


@pytest.mark.parametrize("path", [*WORKFLOWS, ACTION], ids=named)
def test_no_shell_is_put_together_from_values(path: Path) -> None:
    assert [step["run"] for step in runs(path) if "${{" in step["run"]] == []


def test_the_action_does_what_the_workflow_does() -> None:
    shell = {step["name"]: step["run"] for step in loaded(CALLED)["jobs"]["run"]["steps"] if "run" in step}
    assert {step["name"]: step["run"] for step in runs(ACTION)} == {
        name: text for name, text in shell.items() if name != "Install"
    }


# Their shell


INPUTS = {"inputs.install": "true", "inputs.arguments": "-q --recall-date '2026-03-10'", "inputs.fail-on": "rubric"}
KEYS = {"secrets.OPENAI_API_KEY": "", "secrets.ANTHROPIC_API_KEY": ""}
TOKEN = {"secrets.push-token || github.token": "", "inputs.state": "always"}
WAITS_FOR = {"needs.run.outputs.waivable == 'true' && inputs.waivers || ''": ""}


@pytest.fixture(scope="module")
def _remote(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("remote")
    fill(folder / "work")
    (folder / "work" / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")
    bare = with_remote(folder / "work")
    git(bare, "branch", "feature", "main")
    return bare


@pytest.fixture
def bare(_remote: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(_remote, tmp_path / _remote.name))


@pytest.fixture
def host() -> Iterator[GitHub]:
    served = GitHub()
    yield served
    served.close()


def pull_request(tmp_path: Path, host: GitHub, source: str = REPO) -> dict[str, str]:
    """Return the environment of a job of pull request 7."""
    event = tmp_path / "event.json"
    head = {"sha": "b" * 40, "repo": {"full_name": source}}
    event.write_text(json.dumps({"pull_request": {"number": 7, "head": head}}), encoding="utf-8")
    told = {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_HEAD_REF": "feature", "GITHUB_EVENT_PATH": str(event)}
    return host.env(GITHUB_RUN_ID="12", **told)


def night(host: GitHub) -> dict[str, str]:
    """Return the environment of a scheduled job on main."""
    told = {"GITHUB_EVENT_NAME": "schedule", "GITHUB_REF": "refs/heads/main", "GITHUB_REF_NAME": "main"}
    return host.env(GITHUB_RUN_ID="13", **told)


def evaluated(bare: Path, name: str, env: Mapping[str, str], **inputs: str) -> Job:
    """Return a job that has run the cases in a checkout as of actions/checkout."""
    folder = clone(bare, name)
    git(folder, "checkout", "--quiet", "--detach")
    job = Job("run", folder, {**INPUTS, **KEYS, **{f"inputs.{key}": value for key, value in inputs.items()}}, **env)
    assert job.step("Install").returncode == 0
    done = job.step("Run")
    assert done.returncode == 0, done.stdout + done.stderr
    return job


def reporting(bare: Path, run: Job, env: Mapping[str, str]) -> Job:
    """Return the job after it, with its artifact."""
    folder = clone(bare, f"{run.folder.name}-report", "--depth=1")
    git(folder, "checkout", "--quiet", "--detach")
    shutil.copytree(
        run.folder / "eval" / "_artifacts", folder / "eval" / "_artifacts", ignore=shutil.ignore_patterns(".*")
    )
    return Job("report", folder, {**TOKEN, **WAITS_FOR}, **env)


def boxes(bare: Path, branch: str) -> dict[str, int]:
    """Return the boxes in the rows of a branch, and in its run file, if it has one."""
    state = yaml.safe_load(file_at(bare, "eval/recall.yaml", branch))
    rows = state["cases"]
    for path in run_files(bare, branch):
        if Path(path).stem not in state.get("folded", ()):
            told = yaml.safe_load(file_at(bare, path, branch))["cases"]
            rows |= {name: one["after"] for name, one in told.items()}
    return {name: row["box"] for name, row in rows.items()}


OF_STATE = (
    "needs.run.result == 'success' && 'success' ||"
    " inputs.waivers != '' && needs.run.outputs.waivable == 'true' && 'pending' || 'failure'"
)
"""What comes to the status of the commit of the state."""


def run_files(bare: Path, branch: str) -> list[str]:
    """Return the run files of a branch."""
    return git(bare, "ls-tree", "--name-only", branch, "eval/runs/").split()


def test_a_pull_request_from_its_cases_to_its_check(tmp_path: Path, bare: Path, host: GitHub) -> None:
    env = pull_request(tmp_path, host)
    run = evaluated(bare, "pull", env)
    assert "## Regressions (1)" in Path(run.env["GITHUB_STEP_SUMMARY"]).read_text(encoding="utf-8")
    assert run.step("Decide").returncode == 1
    report = reporting(bare, run, env)
    done = report.step("Commit the state")
    assert done.returncode == 0, done.stderr
    assert boxes(bare, "feature") == {"gone": 2, "later": 4, "right": 3, "worse": 1}
    # A pull request leaves the rows as they are, and adds a file.
    [file] = run_files(bare, "feature")
    assert git(bare, "diff", "--name-only", "main", "feature").split() == [file]
    assert run_files(bare, "main") == []
    assert boxes(bare, "main")["right"] == 2
    commit = git(bare, "rev-parse", "feature")
    assert report.outputs == {"commit": commit}
    given = {
        "steps.push.outputs.commit": report.outputs["commit"],
        OF_STATE: "failure",
        "inputs.check": "eval / result",
    }
    assert report.step("Report the check on the commit of the state", **given).returncode == 0
    assert [(one["context"], one["state"]) for one in host.statuses[commit]] == [("eval / result", "failure")]
    assert report.step("Comment on the pull request").returncode == 0
    assert host.bodies(7)[0].startswith("<!-- recall:recall -->\n# 1 of 2 cases regressed")
    # The job is run again: nothing is pushed on top of our own commit, and nothing is said twice.
    again = reporting(bare, evaluated(bare, "again", env), env)
    done = again.step("Commit the state")
    assert "the newest commit of feature is eval-bot's own" in done.stdout
    assert git(bare, "rev-parse", "feature") == commit
    again.step("Comment on the pull request")
    assert len(host.bodies(7)) == 1


def test_a_run_that_is_refused_has_its_comment_too(tmp_path: Path, bare: Path, host: GitHub) -> None:
    env = {**pull_request(tmp_path, host), "CI": "true"}
    run = Job("run", clone(bare, "pull"), {**INPUTS, **KEYS}, **env)
    with (run.folder / "eval" / "rubric.yaml").open("a", encoding="utf-8") as rubric:
        rubric.write("bloks: never\n")
    assert run.step("Run").returncode == 1
    report = reporting(bare, run, env)
    for name in ("Commit the state", "Comment on the pull request"):
        assert report.step(name).returncode == 0
    (body,) = host.bodies(7)
    assert body.startswith("<!-- recall:recall -->\n# Not evaluated: ")
    assert "bloks: unknown field" in body


def test_a_fork_writes_nothing_and_is_green_for_it(tmp_path: Path, bare: Path, host: GitHub) -> None:
    host.read_only = True
    env = pull_request(tmp_path, host, "mallory/desk")
    report = reporting(bare, evaluated(bare, "pull", env), env)
    for name in ("Commit the state", "Comment on the pull request"):
        assert report.step(name).returncode == 0
    assert boxes(bare, "feature")["right"] == 2
    assert "# 1 of 2 cases regressed" in Path(report.env["GITHUB_STEP_SUMMARY"]).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("source", "actor", "given"),
    [
        ("mallory/desk", "mallory", "[OPENAI_API_KEY] [ANTHROPIC_API_KEY]"),
        (REPO, "dependabot[bot]", "[OPENAI_API_KEY] [ANTHROPIC_API_KEY]"),
        (REPO, "ann", " "),
    ],
    ids=["fork", "dependabot", "own"],
)
def test_a_fork_has_a_text_in_the_place_of_each_key(
    tmp_path: Path, bare: Path, host: GitHub, source: str, actor: str, given: str
) -> None:
    """Where a key is only missing, nothing takes its place: a client says so."""
    work = clone(bare, "work")
    answer = "lambda question: f\"{os.environ['OPENAI_API_KEY']} {os.environ['ANTHROPIC_API_KEY']}\""
    agent = f"import os\n\nimport pytest\n\n\n@pytest.fixture\ndef agent():\n    return {answer}\n"
    (work / "eval" / "conftest.py").write_text(agent, encoding="utf-8")
    git(work, "commit", "--quiet", "--all", "--message", "Keys")
    git(work, "push", "--quiet")
    run = evaluated(bare, "pull", {**pull_request(tmp_path, host, source), "GITHUB_ACTOR": actor})
    (journal,) = (run.folder / "eval" / "_artifacts").glob("*/trials.jsonl")
    answers = {one.answer.text for one in read_journal(journal.parent).trials if one.answer is not None}
    assert answers == {given}


def test_nights_that_push_at_the_same_time_keep_each_others_rows(bare: Path, host: GitHub) -> None:
    first = evaluated(bare, "first", night(host))
    work = clone(bare, "work")
    (work / "eval" / "cases.yaml").write_text(CASES.replace("id: right", "id: fresh"), encoding="utf-8")
    git(work, "commit", "--quiet", "--all", "--message", "Other cases")
    git(work, "push", "--quiet")
    second = evaluated(bare, "second", night(host))
    jobs = [reporting(bare, run, night(host)) for run in (first, second)]
    done: dict[int, subprocess.CompletedProcess[str]] = {}
    threads = [
        threading.Thread(target=lambda at=at, job=job: done.update({at: job.step("Commit the state")}))
        for at, job in enumerate(jobs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [done[at].returncode for at in range(2)] == [0, 0], done
    assert boxes(bare, "main") == {"fresh": 1, "gone": 2, "later": 4, "right": 3, "worse": 1}
    assert len(git(bare, "log", "--format=%s", "--author=eval-bot", "main").split("\n")) == 2
    for job in jobs:
        assert job.step("Keep the issue about what fails").returncode == 0
    assert len(host.issues) == 1


def test_a_night_on_a_protected_branch_is_red_and_says_why(bare: Path, host: GitHub) -> None:
    """With the secret `push-token`, of an app that the rule lets through, the same step works."""
    run = evaluated(bare, "night", night(host))
    hook = bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'error: GH006: Protected branch update failed' >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    report = reporting(bare, run, night(host))
    done = report.step("Commit the state")
    assert done.returncode == 2
    assert "GH006: Protected branch update failed" in done.stderr
    # What fails is told all the same, and nothing of the state has changed.
    assert report.step("Keep the issue about what fails").returncode == 0
    assert len(host.issues) == 1
    assert boxes(bare, "main")["right"] == 2
    hook.unlink()
    assert report.step("Commit the state").returncode == 0
    assert boxes(bare, "main")["right"] == 3


@pytest.mark.parametrize(
    ("result", "waived", "code"),
    [
        ("success", "skipped", 0),
        ("failure", "skipped", 1),
        ("failure", "failure", 1),
        ("failure", "success", 0),
        ("cancelled", "skipped", 1),
        ("skipped", "skipped", 1),
    ],
)
def test_the_check(tmp_path: Path, result: str, waived: str, code: int) -> None:
    (tmp_path / "checkout").mkdir()
    results = {"needs.run.result": result, "needs.waive.result": waived}
    assert Job("result", tmp_path / "checkout", results).step("Report").returncode == code


@pytest.mark.parametrize(("arguments", "code"), [("--recall-mode nowhere", 1), ("--collect-only -q", 0)])
def test_a_mistake_in_the_arguments_is_no_result(bare: Path, arguments: str, code: int) -> None:
    folder = clone(bare, "checkout")
    job = Job("run", folder, {**INPUTS, **KEYS, "inputs.arguments": arguments})
    assert job.step("Run").returncode == code


# GitLab's


def test_pull_requests_of_one_branch_name_do_not_cancel_each_other() -> None:
    for path in (TEMPLATES / "recall.yml", *WORKFLOWS):
        text = path.read_text(encoding="utf-8")
        assert "head_ref" not in text, path
    group = loaded(TEMPLATES / "recall.yml")["concurrency"]["group"]
    assert "github.event.pull_request.number" in group


def test_the_job_that_may_write_installs_nothing_of_a_pull_request() -> None:
    for path in WORKFLOWS:
        for job in loaded(path)["jobs"].values():
            installs = str(job.get("with", {}).get("install-recall", ""))
            assert '".' not in installs, path


@pytest.mark.parametrize("event", ["schedule", "merge_request_event"])
def test_the_job_for_gitlab(bare: Path, event: str) -> None:
    folder = clone(bare, "checkout", "--depth=1")
    git(folder, "checkout", "--quiet", "--detach")
    release = Requirement(release="==1.2")
    text = filled((TEMPLATES / "gitlab-ci.yml").read_text(encoding="utf-8"), "eval", release)
    install, *script = yaml.safe_load(text)["eval-recall"]["script"]
    assert install.startswith("pip install 'pytest-recall[all,ci]==1.2'")
    # A merge request of a fork has no token.
    told = {"CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "feature"}
    if event == "schedule":
        told = {"CI_COMMIT_BRANCH": "main", "GITLAB_TOKEN": "glpat-1"}
    env = {
        **environment(),
        **ALONE,
        **told,
        "GITLAB_CI": "true",
        "CI_PIPELINE_SOURCE": event,
        "RECALL_DATE": "2026-03-10",
        "PATH": f"{programs.folder()}{os.pathsep}{os.environ['PATH']}",
        "PYTEST_PLUGINS": "few_plugins",
    }
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", "\n".join(script)],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    # The last line finds the regression, after everything else has been done.
    assert done.returncode == 1
    assert done.stderr.startswith("recall: this run blocks: regressed: worse; 2 of ")
    assert "worse" in done.stdout
    moved = boxes(bare, "main")["right"] == 3
    assert moved == (event == "schedule")
    assert boxes(bare, "feature")["right"] == 2


def test_the_oldest_pytest_that_is_tried_is_the_oldest_that_is_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    script = script_at(ROOT / "scripts" / "oldest-requirements.py")
    script.main()
    found = capsys.readouterr().out.split()
    (oldest,) = [one for one in found if one.startswith("pytest==")]
    assert f'pytest: ["{oldest}"]' in (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert [script.oldest(one) for one in ("a>=1.2", "a>=1.2.3,<2")] == ["a==1.2.*", "a==1.2.3"]
    with pytest.raises(SystemExit, match="'a' has no lower bound; write it as NAME>=VERSION"):
        script.oldest("a")
