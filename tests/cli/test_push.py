"""`recall ci push`: the state of a branch moves on, no one's rows are lost, and no run counts twice."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
import yaml

from pytest_recall.replay.cassette_library import Library
from pytest_recall.runs.evidence import RECORDINGS
from tests.cli.conftest import Recall
from tests.cli.samples import DATE, fill, recall, run_evals
from tests.helpers.loopback import Loopback
from tests.helpers.remotes import ALONE, clone, file_at, git, refuse_first_push, with_remote
from tests.replay.recordings import AT, call, write

NAMES = ("right", "worse", "later", "gone")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ALONE.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def _pushed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the remote `work.git` and the checkout `work`, in which a case passed and another one failed."""
    folder = tmp_path_factory.mktemp("pushed")
    fill(folder / "work")
    (folder / "work" / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")
    with_remote(folder / "work")
    assert run_evals(folder / "work").code == 1
    return folder


@pytest.fixture
def bare(_pushed: Path, tmp_path: Path) -> Path:
    """The remote, which knows nothing of the run."""
    return Path(shutil.copytree(_pushed / "work.git", tmp_path / "work.git"))


@pytest.fixture
def work(_pushed: Path, tmp_path: Path, bare: Path) -> Path:
    """The checkout after the run."""
    folder = Path(shutil.copytree(_pushed / "work", tmp_path / "work"))
    git(folder, "remote", "set-url", "origin", str(bare))
    return folder


def boxes(bare: Path, branch: str = "main") -> dict[str, int]:
    rows = yaml.safe_load(file_at(bare, "eval/recall.yaml", branch))["cases"]
    return {name: rows[name]["box"] for name in NAMES}


def run_files(bare: Path, branch: str = "main") -> list[str]:
    """Return the paths of the run files on a branch."""
    return git(bare, "ls-tree", "--name-only", branch, "eval/runs/").split()


BEFORE = {"right": 2, "worse": 3, "later": 4, "gone": 2}
AFTER = {**BEFORE, "right": 3, "worse": 1}


def test_a_run_is_committed_by_eval_bot_and_not_pushed_twice(
    work: Path, bare: Path, inside: Recall, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = git(work, "status", "--porcelain")
    with monkeypatch.context() as patch:  # The environment names another author.
        for role in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{role}_NAME", "Somebody")
            patch.setenv(f"GIT_{role}_EMAIL", "somebody@example.org")
        patch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
        done = inside(work, "ci", "push")
    commit = git(bare, "rev-parse", "main")
    run = max(path.name for path in (work / "eval" / "_artifacts").glob("2*"))
    assert done == (0, f"{run}: 2 rows changed; pushed {commit[:12]} to main\n", "")
    assert (tmp_path / "output").read_text(encoding="utf-8") == f"commit={commit}\n"
    assert boxes(bare) == AFTER
    about = git(bare, "log", "-1", "--format=%an <%ae>%n%B", "main").split("\n")
    assert about[0] == "eval-bot <eval-bot@users.noreply.github.com>"
    assert about[1] == "Update the eval schedule"
    assert about[3] == f"pr {DATE}: 4 trials, 2 rows changed"
    assert about[5].startswith(f"Recall-Run: {run} ")
    assert about[5].endswith(" 4")
    assert git(bare, "diff", "--name-only", "main~1", "main") == "eval/recall.yaml"
    # The checkout is as it was, and git knows of no further one.
    assert git(work, "status", "--porcelain") == status
    assert len(git(work, "worktree", "list").split("\n")) == 1
    assert git(work, "log", "--format=%s", "HEAD") == "Begin"
    assert git(bare, "log", "-1", "--format=%an %cn %ae", "main") == (
        "eval-bot eval-bot eval-bot@users.noreply.github.com"
    )
    assert inside(work, "ci", "push").out.endswith(": already in the state of main\n")
    assert git(bare, "rev-parse", "main") == commit


def test_what_the_repository_ignores_is_no_obstacle(work: Path, bare: Path, inside: Recall) -> None:
    ignored = ("__pycache__/", "_artifacts/", "/eval/_artifacts/*", "*.jsonl", ".recall.lock")
    (work / ".gitignore").write_text("".join(f"{line}\n" for line in ignored), encoding="utf-8")
    git(work, "add", ".gitignore")
    git(work, "commit", "--quiet", "--message", "Ignore what runs leave")
    git(work, "push", "--quiet", "origin", "HEAD:main")
    done = inside(work, "ci", "push")
    assert (done.code, done.err) == (0, "")
    assert boxes(bare) == AFTER
    assert git(bare, "show", "--format=", "--name-only", "main").split() == ["eval/recall.yaml"]


def test_a_run_that_went_on_is_pushed_with_what_is_new(work: Path, bare: Path, inside: Recall) -> None:
    (run,) = (work / "eval" / "_artifacts").glob("2*")
    journal = (run / "trials.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "trials.jsonl").write_text("".join(journal[:2]), encoding="utf-8")
    assert "1 row changed" in inside(work, "ci", "push").out
    (run / "trials.jsonl").write_text("".join(journal), encoding="utf-8")
    assert "1 row changed" in inside(work, "ci", "push").out
    assert boxes(bare) == AFTER


def test_whoever_pushes_second_folds_into_what_the_first_pushed(work: Path, bare: Path, inside: Recall) -> None:
    """Both runs tested the same cases: a textual merge would conflict, or lose one of the two."""
    other = clone(bare, "other")
    run_evals(other, "eval", "--recall-date", "2026-03-11")
    assert inside(work, "ci", "push").code == 0
    assert inside(other, "ci", "push").code == 0
    assert boxes(bare) == AFTER
    rows = yaml.safe_load(file_at(bare, "eval/recall.yaml"))["cases"]
    assert rows["right"]["last_tested"] == date(2026, 3, 11)
    assert rows["worse"]["lapses"] == 1
    assert len(git(bare, "log", "--format=%s").split("\n")) == 3


def test_a_push_that_is_overtaken_is_made_again(work: Path, bare: Path, inside: Recall) -> None:
    rival = clone(bare, "rival")
    path = rival / "eval" / "recall.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("box: 4", "box: 5"), encoding="utf-8")
    git(rival, "commit", "--quiet", "--all", "--message", "Rival")
    refuse_first_push(bare, rival)
    done = inside(work, "ci", "push")
    assert done.code == 0, done
    assert boxes(bare) == {**AFTER, "later": 5}
    assert git(bare, "log", "--format=%s").split("\n") == ["Update the eval schedule", "Rival", "Begin"]


def test_a_branch_that_takes_no_push(work: Path, bare: Path, inside: Recall) -> None:
    hook = bare / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho 'error: GH006: Protected branch update failed' >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    before = (work / "eval" / "recall.yaml").read_bytes()
    done = inside(work, "ci", "push")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("recall: git push: remote: error: GH006: Protected branch update failed")
    assert (work / "eval" / "recall.yaml").read_bytes() == before
    assert len(git(work, "worktree", "list").split("\n")) == 1
    # Nothing is lost: as soon as the branch takes it, the same command works.
    hook.unlink()
    assert inside(work, "ci", "push").code == 0
    assert boxes(bare) == AFTER


def test_a_shallow_clone_that_is_behind(work: Path, bare: Path, tmp_path: Path) -> None:
    """As actions/checkout makes it: one commit, and no branch."""
    shallow = clone(bare, "shallow", "--depth=1")
    git(shallow, "checkout", "--quiet", "--detach")
    shutil.copytree(work / "eval" / "_artifacts", shallow / "eval" / "_artifacts")
    git(work, "commit", "--quiet", "--allow-empty", "--message", "More")
    git(work, "push", "--quiet")
    done = recall(shallow, "ci", "push")
    assert done == (2, "", "recall: git: no branch is checked out; give --branch\n")
    outputs = tmp_path / "outputs"
    job = {"GITHUB_ACTIONS": "true", "GITHUB_REF": "refs/heads/main", "GITHUB_REF_NAME": "main", "GITHUB_RUN_ID": "12"}
    done = recall(shallow, "ci", "push", GITHUB_OUTPUT=str(outputs), **job)
    assert done.code == 0, done
    assert boxes(bare) == AFTER
    assert outputs.read_text(encoding="utf-8") == f"commit={git(bare, 'rev-parse', 'main')}\n"
    # The job is run again, in a new checkout.
    again = clone(bare, "again", "--depth=1")
    shutil.copytree(work / "eval" / "_artifacts", again / "eval" / "_artifacts")
    assert recall(again, "ci", "push", **job).out.endswith("already in the state of main\n")


def test_once_is_not_on_top_of_a_commit_of_eval_bot(work: Path, bare: Path, inside: Recall) -> None:
    git(work, "push", "--quiet", "origin", "main:feature")
    given = ("ci", "push", "--once", "--branch", "feature")
    assert inside(work, *given).code == 0
    # On another branch than the default one the run has a file of its own.
    assert boxes(bare, "feature") == BEFORE
    [name] = run_files(bare, "feature")
    assert name.startswith(f"eval/runs/{DATE}-pr-")
    verdicts = yaml.safe_load(file_at(bare, name, "feature"))["cases"]
    assert {case_id: one["after"]["box"] for case_id, one in verdicts.items()} == {"right": 3, "worse": 1}
    run_evals(work, "eval", "--recall-date", "2026-03-12")
    said = "the newest commit of feature is eval-bot's own; nothing was pushed\n"
    assert inside(work, *given) == (0, said, "")
    assert inside(work, "ci", "push", "--branch", "feature").code == 0


def test_a_dry_run_pushes_nothing(work: Path, bare: Path, inside: Recall) -> None:
    assert inside(work, "ci", "push", "--dry-run").out.endswith(": would change 2 rows of main\n")
    assert boxes(bare) == BEFORE


def test_a_run_that_changes_no_row(work: Path, bare: Path, inside: Recall) -> None:
    # What it found is there by other ways, as after a squash.
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message", "By hand")
    git(work, "push", "--quiet")
    assert inside(work, "ci", "push").out.endswith(": no row of main changes; nothing was pushed\n")
    run_evals(work, "eval/cases.yaml::right")
    assert inside(work, "ci", "push").out.endswith(
        "its cases were chosen by hand, so it moves no box; nothing was pushed\n"
    )


def test_a_fork_is_pushed_nowhere(
    work: Path, bare: Path, inside: Recall, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its branch may be called main, as ours."""
    event = {"pull_request": {"number": 7, "head": {"sha": "a" * 40, "repo": {"full_name": "mallory/desk"}}}}
    (tmp_path / "event.json").write_text(json.dumps(event), encoding="utf-8")
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(tmp_path / "event.json"))
    monkeypatch.setenv("GITHUB_REPOSITORY", "museum/desk")
    monkeypatch.setenv("GITHUB_HEAD_REF", "main")
    said = "a pull request from a fork has no branch that can be written to; nothing was pushed\n"
    assert inside(work, "ci", "push") == (0, said, "")
    assert boxes(bare) == BEFORE


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--branch", "nowhere"],
            "recall: git: origin has no branch `nowhere`; push it first, or name another with --",
        ),
        (["--branch", "a b"], "recall: git: origin has no branch `a b`"),
        (["--branch", "--upload-pack=touch x"], "recall: git: origin has no branch `--upload-pack=touch x`"),
        (["--remote", "nowhere"], "recall: git ls-remote: fatal: 'nowhere'"),
        (["nowhere"], "recall: no run 'nowhere'"),
    ],
)
def test_mistakes(work: Path, inside: Recall, arguments: list[str], said: str) -> None:
    given = [f"{arguments[0]}={arguments[1]}"] if len(arguments) > 1 else arguments
    done = inside(work, "ci", "push", *given)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(said), done.err
    assert not (work / "x").exists()


def test_outside_of_git(ran: Path, inside: Recall) -> None:
    done = inside(ran, "ci", "push")
    assert done.code == 2
    assert done.err.startswith("recall: git rev-parse: fatal: not a git repository")


# The token


@pytest.fixture
def server() -> Iterator[tuple[Loopback, list[list[str]]]]:
    """A server that lets no one in, and what it was shown."""
    shown: list[list[str]] = []

    def refuse(handler: BaseHTTPRequestHandler) -> None:
        shown.append(handler.headers.get_all("authorization") or [])
        handler.send_response(403)
        handler.send_header("content-length", "0")
        handler.end_headers()

    served = Loopback(refuse)
    yield served, shown
    served.close()


def test_the_token_is_shown_to_the_server_and_to_nobody_else(
    work: Path, inside: Recall, monkeypatch: pytest.MonkeyPatch, server: tuple[Loopback, list[list[str]]]
) -> None:
    served, shown = server
    git(work, "remote", "set-url", "origin", f"{served.url}/museum/desk")
    # What actions/checkout leaves there unless it is told not to.
    git(work, "config", f"http.{served.url}/.extraheader", "AUTHORIZATION: basic b2xk")
    monkeypatch.setenv("GITHUB_SERVER_URL", served.url)
    monkeypatch.setenv("GITHUB_TOKEN", "ghs_SECRET")
    done = inside(work, "ci", "push")
    assert done.code == 2
    assert "403" in done.err
    basic = base64.b64encode(b"x-access-token:ghs_SECRET").decode()
    assert shown == [[f"basic {basic}"]]
    assert "SECRET" not in done.err + done.out + (work / ".git" / "config").read_text(encoding="utf-8")
    # GitLab puts the token of the job, which may not write, into the address.
    old = served.url.replace("://", "://gitlab-ci-token:old@")
    git(work, "remote", "set-url", "origin", f"{old}/museum/desk")
    inside(work, "ci", "push")
    assert shown[1:] == [[f"basic {basic}"]]
    git(work, "remote", "set-url", "origin", f"{served.url}/museum/desk")
    del shown[1:]
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.example")
    git(work, "config", "--unset-all", f"http.{served.url}/.extraheader")
    inside(work, "ci", "push")
    assert shown[1:] == [[]]


def test_a_run_on_the_default_branch_folds_what_branches_have_brought(work: Path, bare: Path, inside: Recall) -> None:
    git(work, "push", "--quiet", "origin", "main:feature")
    assert inside(work, "ci", "push", "--branch", "feature").code == 0
    git(work, "fetch", "--quiet", "origin", "feature")
    git(work, "push", "--quiet", "origin", "FETCH_HEAD:main")
    [file] = run_files(bare)
    assert boxes(bare) == BEFORE
    # The run itself is in the state by its file already, so that pushing it adds nothing.
    assert inside(work, "ci", "push").out.endswith("already in the state of main\n")
    assert run_evals(work, "eval", "--recall-mode", "nightly", "--recall-date", "2026-03-20").code == 1
    assert inside(work, "ci", "push").code == 0
    state = yaml.safe_load(file_at(bare, "eval/recall.yaml"))
    assert boxes(bare) == {**AFTER, "right": 4}
    assert state["cases"]["worse"]["lapses"] == 1
    assert sorted(name[:10] for name in state["folded"]) == [DATE, "2026-03-20"]
    # The tip that it was built on did not name the file, so that whoever loses this push still has it.
    assert run_files(bare) == [file]
    assert Path(file).stem in state["folded"]
    assert run_evals(work, "eval", "--recall-mode", "nightly", "--recall-date", "2026-03-21").code == 1
    assert inside(work, "ci", "push").code == 0
    assert run_files(bare) == []
    after = yaml.safe_load(file_at(bare, "eval/recall.yaml"))
    assert boxes(bare) == {**AFTER, "right": 4}
    assert after["cases"]["worse"]["lapses"] == 1
    assert after["cases"]["right"] == state["cases"]["right"]
    assert sorted(name[:10] for name in after["folded"]) == [DATE, "2026-03-20", "2026-03-21"]


def test_a_run_without_a_verdict_folds_what_branches_have_brought(work: Path, bare: Path, inside: Recall) -> None:
    """The next one on the default branch then deletes the file."""
    git(work, "push", "--quiet", "origin", "main:feature")
    assert inside(work, "ci", "push", "--branch", "feature").code == 0
    git(work, "fetch", "--quiet", "origin", "feature")
    git(work, "push", "--quiet", "origin", "FETCH_HEAD:main")
    [file] = run_files(bare)
    for left in ([file], []):
        run_evals(work, "eval", "--recall-mode", "nightly", "--recall-date", DATE)
        counts = json.loads((work / "eval/_artifacts/scorecard.json").read_text(encoding="utf-8"))["counts"]
        assert {"passed", "failed"}.isdisjoint(counts)
        assert inside(work, "ci", "push").code == 0
        assert (boxes(bare), run_files(bare)) == (AFTER, left)
        assert Path(file).stem in yaml.safe_load(file_at(bare, "eval/recall.yaml"))["folded"]


@pytest.mark.parametrize("branch", ["main", "feature"])
def test_a_pull_request_never_folds(
    branch: str, work: Path, bare: Path, inside: Recall, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its branch is called."""
    git(work, "push", "--quiet", "origin", "main:feature")
    repo = "museum/desk"
    event = {"pull_request": {"number": 7, "head": {"sha": "a" * 40, "ref": branch, "repo": {"full_name": repo}}}}
    (tmp_path / "event.json").write_text(json.dumps(event), encoding="utf-8")
    for name, value in {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_REPOSITORY": repo,
        "GITHUB_REF": "refs/pull/7/merge",
        "GITHUB_HEAD_REF": branch,
        "GITHUB_RUN_ID": "12",
    }.items():
        monkeypatch.setenv(name, value)
    assert inside(work, "ci", "push", "--branch", branch).code == 0
    assert boxes(bare, branch) == BEFORE
    [file] = run_files(bare, branch)
    told = yaml.safe_load(file_at(bare, file, branch))["cases"]
    assert {case_id: one["after"]["box"] for case_id, one in told.items()} == {"right": 3, "worse": 1}
    assert git(bare, "diff", "--name-only", f"{branch}~1", branch).split() == [file]


def record_right(work: Path) -> None:
    """Write what the newest run would have recorded of a case."""
    path = Library(work / "eval/_artifacts" / RECORDINGS).of_case("right", "loans")
    write(path, call(), case="right", scenario="loans", run="r", recorded_at=AT)


@pytest.mark.parametrize("branch", ["main", "release"])
def test_only_the_default_branch_takes_what_a_run_has_recorded_into_the_cassettes(
    branch: str, work: Path, bare: Path, inside: Recall
) -> None:
    git(work, "push", "--quiet", "origin", "main:release")
    assert run_evals(work, "eval", "--recall-mode", "main", "--recall-date", "2026-03-20").code == 0
    record_right(work)
    assert inside(work, "ci", "push", "--branch", branch).code == 0
    there = git(bare, "ls-tree", "-r", "--name-only", branch, "eval/cassettes", "eval/runs").splitlines()
    recordings = [name for name in there if name.endswith(".ndjson")]
    if branch == "main":
        assert recordings == ["eval/cassettes/loans/right.ndjson"]
        return
    [name] = recordings
    assert name.startswith("eval/runs/2026-03-20-")
    # What the branch has is not pushed again by its next run.
    git(work, "fetch", "--quiet", "origin", branch)
    git(work, "checkout", "--quiet", "FETCH_HEAD", "--", "eval/runs")
    run_evals(work, "eval", "--recall-mode", "main", "--recall-date", "2026-03-21")
    record_right(work)
    inside(work, "ci", "push", "--branch", branch)
    there = git(bare, "ls-tree", "-r", "--name-only", branch, "eval/cassettes", "eval/runs").splitlines()
    assert [one for one in there if one.endswith(".ndjson")] == [name]
