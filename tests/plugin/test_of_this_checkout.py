"""Whom a report blames, and which last pass it shows: what git knows of this checkout, and of no other branch."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.helpers.project import IN, Checkout, Project, case
from tests.helpers.replaying import QUICK, quick_run
from tests.helpers.repository import Repository
from tests.helpers.talking import agent, talking
from tests.helpers.upstream import Upstream

BEGUN = {**QUICK, "eval/rubric.yaml": "owner: us\n", ".gitignore": "__pycache__/\n"}


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be no job, which counts no file that git does not know."""
    monkeypatch.delenv("CI", raising=False)


def says(upstream: Upstream, word: str) -> Project:
    """Return the project whose agent puts a word before what it is asked, and passes with `say`."""
    source = agent(f"return plain_sync(f'echo {word} {{question}}')")
    return talking(upstream, source).with_cases(case("a", expected="say a")).with_files(BEGUN)


def recorded(pytester: pytest.Pytester, upstream: Upstream) -> tuple[Checkout, Repository]:
    """Return a repository whose one commit has the project, with the recording and the verdict of a pass."""
    checkout = says(upstream, "say").at(pytester)
    repository = Repository.at(checkout.path)
    repository.commit("Begin")
    checkout.run("eval", "--record", "--recall-mode=all").assert_outcomes(passed=1)
    repository.commit("Record")
    return checkout, repository


def suspected(result: pytest.RunResult) -> list[str]:
    """Return what the suspects are called, each by its first word."""
    lines = (line.strip() for line in result.outlines)
    found = (line for line in lines if line.startswith("suspect") or "touched it" in line)
    return [line.partition("suspect: ")[2].partition(" ")[0] for line in found]


def commit_readme(checkout: Checkout, repository: Repository) -> str:
    """Commit a change that no case can notice."""
    (checkout.path / "README").write_text(f"{len(repository.git('log', '--oneline'))}", encoding="utf-8")
    return repository.commit("Only a README")


class TestSuspects:
    """Each run replays all cases first, in processes of its own."""

    def test_an_edit_that_is_not_committed_is_not_blamed_on_the_commit_below_it(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        checkout, repository = recorded(pytester, upstream)
        head = commit_readme(checkout, repository)
        says(upstream, "tell").at(pytester)
        result = quick_run(checkout)
        assert suspected(result) == ["your"], "the edits that are not committed"
        assert head[:12] not in result.stdout.str()
        assert checkout.scorecard()["failed"][0]["suspects"] == ["uncommitted"]
        assert checkout.journal().header.uncommitted
        # The row names no commit either: the edit is in none.
        assert checkout.state()["a"].touched == ()

    def test_on_the_main_branch_the_newest_commit_is_not_blamed_for_one_before_it(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        checkout, repository = recorded(pytester, upstream)
        says(upstream, "tell").at(pytester)
        repository.commit("Tell")
        commit_readme(checkout, repository)
        result = quick_run(checkout)
        assert checkout.journal().header.affected == ("a",)
        assert suspected(result) == []
        assert checkout.scorecard()["failed"][0]["suspects"] is None

    def test_of_a_branch_all_commits_since_its_base_are_named(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        checkout, repository = recorded(pytester, upstream)
        base = repository.git("rev-parse", "HEAD").strip()
        repository.git("checkout", "-qb", "topic")
        says(upstream, "tell").at(pytester)
        first = repository.commit("Tell")
        result = quick_run(checkout)
        assert suspected(result) == [first[:12]]
        repository.git("checkout", "-q", "--", ".")
        head = commit_readme(checkout, repository)
        result = quick_run(checkout)
        assert suspected(result) == [f"{base[:12]}..{head[:12]}"]
        assert len(repository.git("rev-list", f"{base[:12]}..{head[:12]}").split()) == 2

    @pytest.mark.parametrize("merged", [True, False])
    def test_a_pull_request_is_a_suspect_if_a_commit_of_the_history_names_it(
        self, merged: bool, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        checkout, repository = recorded(pytester, upstream)
        repository.git("checkout", "-qb", "topic")
        state = checkout.path / "eval/recall.yaml"
        text = state.read_text(encoding="utf-8")
        state.write_text(text.replace("passed_under:", "touched: [12], passed_under:"), encoding="utf-8")
        assert checkout.state()["a"].touched == ("12",)
        repository.commit("Its run")
        repository.git("checkout", "-q", "main")
        if merged:
            repository.git("merge", "-q", "--squash", "topic")
            repository.commit("Squashed (#12)")
        else:  # As when another branch is tried out, and its state is left lying about.
            repository.git("checkout", "topic", "--", "eval/recall.yaml")
        upstream.says = "no"
        result = checkout.run("eval", "--recall-mode=nightly", day=IN[1])
        result.assert_outcomes(failed=1)
        assert suspected(result) == (["#12"] if merged else [])

    def test_a_commit_that_was_thrown_away_is_no_suspect(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        checkout, repository = recorded(pytester, upstream)
        repository.git("checkout", "-qb", "topic")
        gone = commit_readme(checkout, repository)
        repository.git("checkout", "-q", "main")
        state = checkout.path / "eval/recall.yaml"
        text = state.read_text(encoding="utf-8")
        state.write_text(text.replace("passed_under:", f'touched: ["{gone[:12]}"], passed_under:'), encoding="utf-8")
        repository.commit("A state that names it")
        upstream.says = "no"
        result = checkout.run("eval", "--recall-mode=nightly", day=IN[1])
        assert suspected(result) == []
        assert repository.merge("topic")
        result = checkout.run("eval", "--recall-mode=nightly", day=IN[3])
        assert suspected(result) == [gone[:12]]


def last_pass(checkout: Checkout) -> tuple[str, str] | None:
    """Return the answer at the last pass of the one case that failed, and the run or whose recording has it."""
    found = checkout.scorecard()["failed"][0]["last_pass"]
    return found and (found["answer"], found["run"] or found["recording"])


def passing_elsewhere(checkout: Checkout, repository: Repository, upstream: Upstream) -> None:
    """Let another branch pass with an answer of its own, in the same `_artifacts`."""
    repository.git("checkout", "-qb", "other")
    says(upstream, "we say").with_cases(case("a", expected="say a", judges=["contains"])).at(checkout.pytester)
    repository.commit("Another answer")
    checkout.run("eval", "--recall-mode=all", day=IN[1]).assert_outcomes(passed=1)
    repository.git("checkout", "-qf", "main")


class TestLastPass:
    """Runs of all branches leave their journals in one folder."""

    def test_a_run_of_another_branch_is_not_shown(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        checkout, repository = recorded(pytester, upstream)
        own = checkout.artifacts.runs()[-1].name
        passing_elsewhere(checkout, repository, upstream)
        says(upstream, "tell").at(pytester)
        repository.commit("Tell")
        result = checkout.run("eval", "--recall-mode=all", day=IN[3])
        assert last_pass(checkout) == ("say a", own)
        told = f"      at its last pass, in the run {own}, and now: [-say-] {{+tell+}} a"
        assert told in result.outlines
        # Once the branch is merged it counts for later runs, and the report of this one stays what it was.
        repository.git("checkout", "-q", "--", ".")
        repository.git("merge", "-q", "-s", "ours", "other")
        assert told in checkout.recall("score", "latest").outlines
        checkout.run("eval", "--recall-mode=all", day=IN[7])
        assert (last_pass(checkout) or ("",))[0] == "we say a"

    def test_an_edit_counts_at_its_commit_alone_and_as_it_was(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        checkout, repository = recorded(pytester, upstream)
        shutil.rmtree(checkout.artifacts.folder)
        shutil.rmtree(checkout.path / "eval/cassettes")
        repository.commit("Without recordings")
        (checkout.path / "notes.txt").write_text("an edit", encoding="utf-8")
        checkout.run("eval", "--recall-mode=all", day=IN[1]).assert_outcomes(passed=1)
        upstream.says = "no"
        checkout.run("eval", "--recall-mode=all", day=IN[3]).assert_outcomes(failed=1)
        assert last_pass(checkout) is not None
        (checkout.path / "notes.txt").write_text("another edit", encoding="utf-8")
        checkout.run("eval", "--recall-mode=all", day=IN[3]).assert_outcomes(failed=1)
        assert last_pass(checkout) is None
        (checkout.path / "notes.txt").write_text("an edit", encoding="utf-8")
        repository.git("checkout", "-q", "--", ".")
        repository.commit("The run does not say that this was its edit")
        checkout.run("eval", "--recall-mode=all", day=IN[3]).assert_outcomes(failed=1)
        assert last_pass(checkout) is None

    def test_a_recording_is_the_one_of_the_base_or_of_this_checkout_and_it_says_which(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        checkout, repository = recorded(pytester, upstream)
        shutil.rmtree(checkout.artifacts.folder)
        upstream.says = "no"
        checkout.run("eval", "--recall-mode=all", day=IN[1]).assert_outcomes(failed=1)
        answer, told = last_pass(checkout) or ("", "")
        assert (answer, told) == ("say a", "checkout")
        repository.git("checkout", "-q", "--", ".")
        repository.git("checkout", "-qb", "topic")
        commit_readme(checkout, repository)
        checkout.run("eval", "--recall-mode=all", day=IN[3]).assert_outcomes(failed=1)
        answer, told = last_pass(checkout) or ("", "")
        assert (answer, told) == ("say a", "base")
        # A branch that records its own answer is still compared with what there was before it.
        repository.git("checkout", "-q", "--", ".")
        cassette = Path("eval/cassettes/one/a.ndjson")
        text = (checkout.path / cassette).read_text(encoding="utf-8")
        (checkout.path / cassette).write_text(text.replace('"answer":"say a"', '"answer":"of the branch"'))
        assert "of the branch" in (checkout.path / cassette).read_text(encoding="utf-8")
        repository.commit("Another recording")
        checkout.run("eval", "--recall-mode=all", day=IN[3]).assert_outcomes(failed=1)
        answer, told = last_pass(checkout) or ("", "")
        assert (answer, told) == ("say a", "base")
