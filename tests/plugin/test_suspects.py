"""Suspects: the changes that touched a case which falls are named, with no call; in rows and in run files."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime

import pytest

from pytest_recall.files.eval_directory import Place
from pytest_recall.schedule.state import current
from pytest_recall.schedule.state_file import read_state
from pytest_recall.trials.journal import Journal
from tests.helpers.github import REPO, GitHub
from tests.helpers.project import BARE, DAY, IN, RUBRIC, Checkout, case, row
from tests.helpers.repository import Repository, commit
from tests.helpers.samples import header
from tests.helpers.talking import asks
from tests.helpers.upstream import Upstream

AGENT = """\
from pathlib import Path


@pytest.fixture
def agent():
    return lambda question: Path("reply").read_text()
"""
HOURS = case("hours", input="When?", expected="16:00", judges=["contains"])
SET = BARE.with_agent(AGENT).with_cases(HOURS, case("fees", input="Fees?", expected="none", judges=["contains"]))
BRANCHES = pytest.mark.parametrize("branch", ["main", "feature"])
"""On which the runs of pull requests are applied: into the rows, or into run files that a merge brings."""


def begun(branch: str, pytester: pytest.Pytester, reply: str = "closed") -> tuple[Checkout, Repository]:
    """Commit the project with two cases in higher boxes, whose agent answers with `reply`, and switch to a branch."""
    files = {RUBRIC: "owner: us\nblocks: failure\n", "reply": reply, ".gitignore": "__pycache__/\n"}
    checkout = SET.with_files(files).with_state(hours=row(3, 3), fees=row(3, 3)).at(pytester)
    repository = Repository.at(checkout.path)
    repository.commit("Begin")
    if branch != "main":
        repository.git("switch", "-qc", branch)
    return checkout, repository


def to_main(repository: Repository, branch: str) -> None:
    """Commit what the runs have written, and merge the branch as one commit."""
    repository.commit("Runs")
    if branch != "main":
        repository.git("switch", "-q", "main")
        repository.git("merge", "-q", "--squash", branch)
        repository.commit("Squashed")


def merged(checkout: Checkout, pr: str, *affected: str, day: str = DAY) -> None:
    """Apply the run of a pull request that touched these cases, and asked none of them."""
    folder = checkout.artifacts.new_run(datetime.now(UTC))
    about = header(run=folder.name, pr=pr, affected=affected, date=day)
    with Journal(folder, about) as journal:
        journal.end(0)
    applied = checkout.recall("state", "apply", folder.name)
    assert (applied.ret, applied.errlines) == (0, [])


def touched(checkout: Checkout) -> dict[str, tuple[str, ...]]:
    """Return the suspects of each case."""
    rows = current(Place(checkout.path, checkout.path / "eval")).rows
    return {case_id: one.touched for case_id, one in rows.items()}


def waiting(checkout: Checkout) -> int:
    """Return how many run files there are."""
    return len(list(checkout.path.glob("eval/runs/*")))


@BRANCHES
def test_a_case_that_falls_names_them(branch: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout, repository = begun(branch, pytester)
    for pr, cases in (("12", ["hours"]), ("13", ["fees"]), ("15", ["hours", "new"])):
        merged(checkout, pr, *cases)
    assert touched(checkout) == {"hours": ("12", "15"), "fees": ("13",)}
    to_main(repository, branch)
    assert waiting(checkout) == (0 if branch == "main" else 3)
    assert checkout.recall("status").ret == 0
    result = checkout.run("eval", "--recall-mode", "nightly", day=IN[1])
    # All are folded, and stay until a commit says so.
    assert touched(checkout) == {"hours": ("12", "15"), "fees": ("13",)}
    state = read_state(checkout.path / "eval/recall.yaml", "recall.yaml")
    assert {case_id: one.touched for case_id, one in state.rows.items()} == touched(checkout)
    assert (waiting(checkout), len(state.folded)) == (0 if branch == "main" else 3, 4)
    assert [line.partition("suspect")[2][:11] for line in result.outlines if "touched it" in line] == [
        *(": #13 (the ", "s: #12, #15")
    ]
    told = {one["id"]: one["suspects"] for one in checkout.scorecard()["failed"]}
    assert told == {"hours": ["12", "15"], "fees": ["13"]}
    # So says an issue, again later, whose references call no one.
    host = GitHub()
    try:
        for name, value in host.env(GITHUB_RUN_ID="12").items():
            monkeypatch.setenv(name, value)
        posted = checkout.recall("ci", "post", "issue")
        assert posted.outlines == [f"{REPO}: opened issue 101 about 2 cases"]
        body = str(host.issues[101]["body"])
        hours, fees = body.index("- **`hours`**"), body.index("- **`fees`**")
        assert fees < body.index("  - suspect: \\#\u200b13 ") < hours
        assert hours < body.index("  - suspects: \\#\u200b12, \\#\u200b15 \\(changes since")
    finally:
        host.close()


@BRANCHES
def test_a_pass_on_the_main_branch_clears_them(branch: str, pytester: pytest.Pytester) -> None:
    checkout, repository = begun(branch, pytester, "none before 16:00")
    merged(checkout, "12", "hours")
    checkout.run("eval", "--recall-mode", "pr", "--recall-pr", "15", day=IN[1])
    assert touched(checkout) == {"hours": ("12",), "fees": ()}
    merged(checkout, "15", "hours", "fees", day=IN[1])
    assert touched(checkout) == {"hours": ("12", "15"), "fees": ("15",)}
    to_main(repository, branch)
    checkout.run("eval", "--recall-mode", "nightly", day=IN[30])
    assert touched(checkout) == {"hours": (), "fees": ()}


@BRANCHES
def test_a_run_that_touches_nothing_leaves_every_byte(branch: str, pytester: pytest.Pytester) -> None:
    checkout, _ = begun(branch, pytester)
    before = checkout.state_text() or ""
    merged(checkout, "12")
    assert waiting(checkout) == 0
    assert checkout.state_text() == before
    # What is no case that is known is remembered, and changes no row.
    merged(checkout, "13", "unknown")
    if branch == "main":
        assert (checkout.state_text() or "").partition("\ncases:\n")[2] == before.partition("\ncases:\n")[2]
    else:
        assert checkout.state_text() == before
    assert touched(checkout) == {"hours": (), "fees": ()}


def test_where_no_change_is_known_to_have_touched_it(pytester: pytest.Pytester, upstream: Upstream) -> None:
    """That is said of a case with a recording, where changes are replayed at all, as the row of another case shows."""
    pytest.importorskip("httpx2")
    cases = [case("a", input="echo right", expected="wrong"), case("b", input="echo b", expected="b")]
    project = asks(upstream, "httpx2_sync").with_cases(*cases)
    checkout = project.with_state(a=row(3, 3), b=row(3, 3, touched=("12",))).at(pytester)
    commit(checkout.path)
    checkout.run("eval", "--record", "--recall-mode", "nightly")
    assert len([line for line in checkout.recall("score", "latest").outlines if "touched it" in line]) == 1
    assert checkout.scorecard()["failed"][0]["suspects"] == []
    shutil.rmtree(checkout.path / "eval/cassettes")
    assert not any("touched it" in line for line in checkout.recall("score", "latest").outlines)


@pytest.mark.parametrize(("under", "touched"), [(None, ()), ("case=ffffff", ("12",))], ids=["not-replayed", "edited"])
def test_where_that_is_not_known_nothing_is_said(
    under: str | None, touched: tuple[str, ...], pytester: pytest.Pytester, upstream: Upstream
) -> None:
    pytest.importorskip("httpx2")
    cases = [case("a", input="echo right", expected="wrong"), case("b", input="echo b", expected="b")]
    project = asks(upstream, "httpx2_sync").with_cases(*cases)
    checkout = project.with_state(a=row(3, 3, passed_under=under), b=row(3, 3, touched=touched)).at(pytester)
    commit(checkout.path)
    result = checkout.run("eval", "--record", "--recall-mode", "nightly")
    assert "  a (box 3 → 1)" in result.outlines
    assert not any("touched it" in line for line in result.outlines)
    assert checkout.scorecard()["failed"][0]["suspects"] is None


def test_an_edit_that_no_replay_has_looked_at_may_have_touched_it(
    pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    cases = [case("a", input="echo right", expected="wrong"), case("b", input="echo b", expected="b")]
    project = asks(upstream, "httpx2_sync").with_cases(*cases)
    checkout = project.with_state(a=row(3, 3), b=row(3, 3, touched=("12",))).at(pytester)
    commit(checkout.path)
    (checkout.path / "prompt.txt").write_text("an edit", encoding="utf-8")
    result = checkout.run("eval", "--record", "--recall-mode", "nightly")
    assert "  a (box 3 → 1)" in result.outlines
    assert not any("touched it" in line for line in result.outlines)
    # What a job leaves beside the files of git is no edit.
    monkeypatch.setenv("CI", "true")
    checkout.run("eval", "--recall-mode", "all")
    assert checkout.scorecard()["failed"][0]["suspects"] == []
