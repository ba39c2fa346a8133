"""Run files: what a run on a branch leaves beside the rows, and how runs on the default branch fold it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pytest_recall.files import strict_yaml
from pytest_recall.files.eval_directory import Place
from pytest_recall.schedule.run_file import read_run_file
from pytest_recall.schedule.state import current
from pytest_recall.schedule.state_file import read_state, row_of
from pytest_recall.trials.trial import Outcome, Row
from tests.helpers.project import BARE, DAY, IN, RUBRIC, Checkout, case, row
from tests.helpers.repository import Repository

STATE = "eval/recall.yaml"
AGENT = """\
@pytest.fixture
def agent():
    def answer(question):
        asked(question)
        reply = (pathlib.Path(__file__).parents[1] / "reply").read_text()
        return reply if question == "hours" else question

    return answer
"""
FILES = {
    RUBRIC: "owner: us\nblocks: regression\n",
    "reply": "hours",
    ".gitignore": "__pycache__/\n.pytest_cache/\neval/asked.txt\nrunpytest-*\nstdout\nstderr\n",
}
PROJECT = BARE.with_agent(AGENT).with_cases(case("hours"), case("fees")).with_files(FILES)
ROWS = {"hours": row(3, 3), "fees": row(2, 2, due=IN[14])}
ALL = "--recall-mode=all"


def begun(pytester: pytest.Pytester) -> tuple[Checkout, Repository]:
    """Return a clone in which `main` is checked out, with a row of each case."""
    checkout = PROJECT.with_state(**ROWS).at(pytester)
    repository = Repository.at(checkout.path)
    repository.commit("Begin")
    return checkout, repository


def files(checkout: Checkout) -> list[Path]:
    """Return the run files of the checkout, the oldest first."""
    return sorted((checkout.path / "eval/runs").glob("*"))


def rows(checkout: Checkout) -> dict[str, Row]:
    """Return the state with what the run files add, but for what its passes were given under."""
    found = current(Place(checkout.path, checkout.path / "eval")).rows
    return {case_id: one._replace(passed_under=None) for case_id, one in found.items()}


def told_of(file: Path, case_id: str) -> tuple[int, int]:
    """Return the boxes of a case before and after a run, as its file has them."""
    told = strict_yaml.load(file.read_text(encoding="utf-8"), file.name)["cases"][case_id]
    return row_of(told["before"]).box, row_of(told["after"]).box


def folded(checkout: Checkout) -> list[str]:
    """Return the names of the runs that the rows hold."""
    return list(read_state(checkout.path / STATE, STATE).folded)


def reply(checkout: Checkout, text: str) -> None:
    """Have the agent answer so about the hours."""
    (checkout.path / "reply").write_text(text, encoding="utf-8")


def written(repository: Repository) -> list[str]:
    """Return the files in which the checkout differs from its commit."""
    told = repository.git("status", "--porcelain", "--untracked-files=all").splitlines()
    return sorted(line[3:] for line in told if not line[3:].startswith("eval/_artifacts"))


def test_a_laptop_from_the_branch_to_the_fold_on_main(pytester: pytest.Pytester) -> None:
    checkout, repository = begun(pytester)
    before = (checkout.path / STATE).read_bytes()
    repository.git("switch", "-qc", "feature")
    reply(checkout, "closed")
    repository.commit("Break it")

    result = checkout.run_afresh("eval", ALL)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert (checkout.path / STATE).read_bytes() == before
    (first,) = files(checkout)
    assert written(repository) == [first.relative_to(checkout.path).as_posix()]
    told = read_run_file(first, first.name)
    assert {event.case_id: event.outcome for event in told.verdicts} == {
        "hours": Outcome.FAILED,
        "fees": Outcome.PASSED,
    }
    assert checkout.scorecard()["regressions"] == ["hours"]
    repository.commit("Run")

    # The second run reads the first one, by which `hours` is in box 1, and it is a regression against the base still.
    result = checkout.run_afresh("eval", day=IN[1])
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert checkout.scorecard()["regressions"] == ["hours"]
    assert checkout.recall_apart("score", "latest", "--fail-on", "rubric").ret == 1
    assert (checkout.path / STATE).read_bytes() == before
    second = files(checkout)[-1]
    assert files(checkout) == [first, second]
    boxes = [told_of(file, "hours") for file in files(checkout)]
    assert boxes == [(3, 1), (1, 1)]
    repository.commit("Run again")
    waiting = rows(checkout)
    assert {case_id: (one.box, one.lapses) for case_id, one in waiting.items()} == {"hours": (1, 1), "fees": (2, 0)}

    repository.git("switch", "-q", "main")
    assert repository.merge("feature")
    assert (checkout.path / STATE).read_bytes() == before
    assert rows(checkout) == waiting
    reply(checkout, "hours")
    result = checkout.run_afresh("eval", day=IN[3])
    assert result.ret == pytest.ExitCode.OK
    # They are named, and stay until a commit has that.
    assert files(checkout) == [first, second]
    assert checkout.boxes() == {"hours": 2, "fees": 2}
    assert checkout.state()["hours"].lapses == 1
    assert checkout.state()["fees"] == waiting["fees"]
    assert len(folded(checkout)) == 3
    assert {first.stem, second.stem} < set(folded(checkout))
    assert rows(checkout)["fees"] == waiting["fees"]
    known = checkout.state()
    repository.commit("Fold")
    checkout.run_afresh("eval", day=IN[3])
    assert checkout.slice() == {}
    assert (files(checkout), checkout.state(), len(folded(checkout))) == ([], known, 3)


ORDERS = pytest.mark.parametrize("order", [("one", "two"), ("two", "one")], ids="-".join)


def diverged(pytester: pytest.Pytester) -> tuple[Checkout, Repository]:
    """Return `main` beside two branches with a run each: `one` fails a case, and `two` passes it a day later."""
    checkout, repository = begun(pytester)
    for name, text, day in (("one", "closed", DAY), ("two", "hours", IN[1])):
        repository.git("switch", "-qc", name, "main")
        reply(checkout, text)
        checkout.run("eval", ALL, day=day)
        reply(checkout, "hours")
        repository.commit("Run")
    repository.git("switch", "-q", "main")
    return checkout, repository


@ORDERS
def test_branches_that_are_merged_in_either_order_give_the_same_rows(
    order: tuple[str, str], pytester: pytest.Pytester
) -> None:
    checkout, repository = diverged(pytester)
    for name in order:
        assert repository.merge(name)
    hours = row(2, 1, tested=IN[1], due="2026-03-14", lapses=1)
    assert rows(checkout)["hours"] == hours
    assert rows(checkout)["fees"].last_tested.isoformat() == IN[1]
    known, there = rows(checkout), files(checkout)
    names = [path.stem for path in there]
    assert checkout.recall("state", "apply").ret == 0
    assert (checkout.state(), folded(checkout), files(checkout)) == (known, names, there)
    assert rows(checkout) == known
    repository.commit("Fold")
    checkout.run("eval", "--recall-mode=nightly", day=IN[1])
    assert checkout.slice() == {}
    assert (checkout.state(), folded(checkout), files(checkout)) == (known, names, [])


@ORDERS
def test_a_fold_between_two_merges_keeps_the_newest_verdict(order: tuple[str, str], pytester: pytest.Pytester) -> None:
    checkout, repository = diverged(pytester)
    for name in order:
        before = set(files(checkout))
        assert repository.merge(name)
        news = set(files(checkout)) - before
        assert checkout.recall("state", "apply").ret == 0
        repository.commit("Fold")
        # The second fold deletes what a commit has named since the first one.
        assert (len(news), set(files(checkout))) == (1, news)
    assert len(folded(checkout)) == 2
    hours = checkout.state()["hours"]
    assert (hours.last_tested.isoformat(), hours.failing) == (IN[1], False)


def test_the_file_of_a_squashed_branch_that_comes_back_changes_nothing(pytester: pytest.Pytester) -> None:
    checkout, repository = begun(pytester)
    repository.git("switch", "-qc", "feature")
    reply(checkout, "closed")
    checkout.run("eval", ALL)
    repository.commit("Run")
    (file,) = files(checkout)
    repository.git("switch", "-q", "main")
    repository.git("merge", "-q", "--squash", "feature")
    repository.commit("Squashed")
    assert checkout.recall("state", "apply").ret == 0
    repository.commit("Fold")
    assert folded(checkout) == [file.stem]
    assert files(checkout) == [file]
    checkout.run("eval", "--recall-mode=nightly")
    assert (checkout.slice(), files(checkout)) == ({}, [])
    repository.commit("Deleted")
    text, known = checkout.state_text(), rows(checkout)
    assert known["hours"].box == 1

    repository.git("switch", "-q", "feature")
    (checkout.path / "NOTES.md").write_text("It goes on.\n", encoding="utf-8")
    repository.commit("Go on")
    repository.git("switch", "-q", "main")
    repository.git("merge", "-q", "--squash", "feature")
    repository.commit("Squashed again")
    repository.git("checkout", "-q", "feature", "--", "eval/runs")
    assert files(checkout) == [file]
    assert rows(checkout) == known
    assert checkout.recall("state", "apply").ret == 0
    assert checkout.state_text() == text
    # The next run deletes it, and adds its own verdict alone.
    reply(checkout, "hours")
    checkout.run("eval", "--recall-mode=nightly", day=IN[1])
    assert checkout.slice() == {"hours": "due"}
    assert files(checkout) == []
    assert checkout.state() == {**known, "hours": row(2, 1, tested=IN[1], due="2026-03-14", lapses=1)}
    assert len(folded(checkout)) == 2


def test_a_run_on_main_without_a_case_folds_what_waits(pytester: pytest.Pytester) -> None:
    checkout, repository = begun(pytester)
    repository.git("switch", "-qc", "feature")
    checkout.run("eval", ALL)
    repository.commit("Run")
    repository.git("switch", "-q", "main")
    assert repository.merge("feature")
    known, (file,) = rows(checkout), files(checkout)
    for left in ([file], []):
        result = checkout.run("eval", "--recall-mode=nightly")
        assert checkout.slice() == {}
        assert (checkout.state(), folded(checkout), files(checkout)) == (known, [file.stem], left)
        # The rows of `recall.yaml` that the file changed are those that the run has changed.
        assert any("2 rows changed" in line for line in result.outlines) == bool(left)
        repository.commit("Fold")


def test_a_run_goes_on_only_on_the_branch_where_it_began(pytester: pytest.Pytester) -> None:
    """Its first trials are in a run file of that branch, and would count twice after a merge."""
    checkout, repository = begun(pytester)
    repository.git("switch", "-qc", "one")
    checkout.run("eval", ALL)
    (whole,) = files(checkout)
    journal = checkout.artifacts.runs()[-1] / "trials.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    whole.unlink()
    journal.write_bytes(b"".join(lines[:2]))
    assert checkout.recall("state", "apply", "latest").ret == 0
    (part,) = files(checkout)
    repository.commit("Killed")
    repository.git("switch", "-qc", "two", "main")
    asked = (checkout.path / "eval/asked.txt").read_text(encoding="utf-8")
    refused = checkout.run_afresh("eval", "--recall-resume")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert "one" in refused.errlines[0]
    assert (checkout.path / "eval/asked.txt").read_text(encoding="utf-8") == asked
    repository.git("switch", "-q", "one")
    assert checkout.run_afresh("eval", "--recall-resume").ret == pytest.ExitCode.OK
    first, second = (read_run_file(file, file.name) for file in files(checkout))
    assert len(first.verdicts) == len(second.verdicts) == 1
    assert part in files(checkout)


def test_main_takes_nothing_of_a_branch_that_no_merge_has_brought(pytester: pytest.Pytester) -> None:
    """Neither a run file that was not committed and came along, nor a run that someone names."""
    checkout, repository = begun(pytester)
    repository.git("switch", "-qc", "feature")
    reply(checkout, "closed")
    checkout.run("eval", ALL)
    (file,) = files(checkout)
    run = checkout.artifacts.runs()[-1].name
    repository.git("switch", "-q", "main")
    before = checkout.state_text()
    for arguments in (("state", "apply"), ("state", "apply", "--dry-run")):
        done = checkout.recall(*arguments)
        assert (done.ret, checkout.state_text()) == (0, before)
        assert any(file.name in line for line in done.outlines)
    file.unlink()
    assert checkout.recall("state", "apply", run).ret == 2
    assert checkout.state_text() == before
    assert checkout.recall("state", "apply", run, "--explicit").ret == 0
    assert rows(checkout)["hours"].failing


def test_a_state_that_is_gone_is_no_new_one(pytester: pytest.Pytester) -> None:
    checkout, repository = begun(pytester)
    (checkout.path / STATE).unlink()
    assert checkout.run_afresh("eval", ALL).ret == pytest.ExitCode.USAGE_ERROR
    assert not (checkout.path / STATE).exists()
    repository.commit("Begin anew")
    assert checkout.run_afresh("eval", ALL).ret == pytest.ExitCode.OK
    assert {case_id: one.box for case_id, one in checkout.state().items()} == {"hours": 1, "fees": 1}


def test_runs_that_a_commit_before_has_and_nobody_else_are_told(pytester: pytest.Pytester) -> None:
    """As where a side of a conflict was taken in a clone that has no journals of the other."""
    checkout, repository = begun(pytester)
    before = checkout.state_text()
    assert before is not None
    checkout.run("eval", ALL)
    repository.commit("Run")
    (checkout.path / STATE).write_text(before, encoding="utf-8")
    repository.commit("Take the other side")
    assert checkout.recall("state", "apply", "--dry-run").ret == 0
    shutil.rmtree(checkout.path / "eval/_artifacts")
    lost = checkout.recall("state", "apply")
    assert (lost.ret, checkout.state_text()) == (1, before)


@pytest.mark.parametrize("branch", ["feature", "main"])
def test_accepting_an_answer_folds_what_waits_on_the_default_branch_alone(
    branch: str, pytester: pytest.Pytester
) -> None:
    checkout, repository = begun(pytester)
    repository.git("switch", "-qc", "feature")
    reply(checkout, "closed")
    checkout.run("eval", ALL)
    repository.commit("Run")
    if branch == "main":
        repository.git("switch", "-q", "main")
        assert repository.merge("feature")
    before = checkout.state_text()
    (file,) = files(checkout)
    assert checkout.recall("accept", "latest", "--by", "Ana").ret == 0
    hours = rows(checkout)["hours"]
    assert (hours.failing, bool(hours.accepted)) == (False, True)
    if branch == "main":
        assert checkout.state().keys() == {"hours", "fees"}
        assert (len(folded(checkout)), file.stem in folded(checkout), files(checkout)) == (2, True, [file])
    else:
        assert checkout.state_text() == before
        assert len(files(checkout)) == 2


def test_a_run_file_is_named_by_the_commit_that_was_checked_out(pytester: pytest.Pytester) -> None:
    checkout, repository = begun(pytester)
    repository.git("switch", "-qc", "feature")
    commit = repository.commit("Change")
    checkout.run("eval", ALL)
    (file,) = files(checkout)
    events = read_run_file(file, file.name)
    assert file.stem.startswith(f"{DAY}-all-{events.run}-{commit[:7]}-2-")
    assert events.commit == commit


@pytest.mark.parametrize("event", ["pull_request", "push"])
def test_a_job_of_a_pull_request_writes_a_run_file_and_one_of_main_folds(
    event: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkout of a pull request is of no branch, and the one that its job names may be called `main` in a fork."""
    checkout, repository = begun(pytester)
    repository.git("switch", "-q", "--detach")
    is_pull = event == "pull_request"
    content = {"repository": {"default_branch": "main"}, **({"pull_request": {"number": 7}} if is_pull else {})}
    (checkout.path / "eval/_artifacts").mkdir(parents=True)
    told = checkout.path / "eval/_artifacts/event.json"
    told.write_text(json.dumps(content), encoding="utf-8")
    of_pull = {"GITHUB_REF": "refs/pull/7/merge", "GITHUB_BASE_REF": "main", "GITHUB_HEAD_REF": "main"}
    of_main = {"GITHUB_REF": "refs/heads/main"}
    for name, value in {
        "GITHUB_ACTIONS": "true",
        "GITHUB_RUN_ID": "1",
        "GITHUB_EVENT_NAME": event,
        "GITHUB_EVENT_PATH": str(told),
        **(of_pull if is_pull else of_main),
    }.items():
        monkeypatch.setenv(name, value)
    if event == "push":
        repository.git("switch", "-q", "main")
    checkout.run("eval", "--recall-mode=nightly")
    assert len(files(checkout)) == int(is_pull)
    assert (written(repository) == [STATE]) is not is_pull
    assert rows(checkout)["hours"].box == 4


WHERE: dict[str, tuple[tuple[str, ...], bool]] = {
    "no-git": ((), True),
    "no-commit": (("init -q -b feature",), True),
    "unknown-default": (("init -q -b topic", "add -A", "commit -qm Begin"), True),
    "detached": (("init -q -b main", "add -A", "commit -qm Begin", "switch -q --detach"), True),
    "main": (("init -q -b main", "add -A", "commit -qm Begin"), True),
    "branch-of-unknown-default": (("init -q -b main", "add -A", "commit -qm Begin", "switch -qc feature"), True),
    "branch": (
        (
            *("init -q -b main", "add -A", "commit -qm Begin", "switch -qc feature"),
            "symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main",
        ),
        False,
    ),
    "main-is-not-default": (
        (
            *("init -q -b main", "add -A", "commit -qm Begin", "update-ref refs/remotes/origin/develop HEAD"),
            "symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/develop",
        ),
        False,
    ),
    "default-of-another-name": (
        (
            *("init -q -b develop", "add -A", "commit -qm Begin", "update-ref refs/remotes/origin/develop HEAD"),
            "symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/develop",
            "branch main",
        ),
        True,
    ),
}
"""What git is told before a run, by what that is, and whether the run goes into the rows."""


@pytest.mark.parametrize("name", WHERE)
def test_only_a_branch_that_is_known_not_to_be_the_default_one_gets_a_run_file(
    name: str, pytester: pytest.Pytester
) -> None:
    checkout = PROJECT.with_state(**ROWS).at(pytester)
    commands, folds = WHERE[name]
    for line in commands:
        Repository(checkout.path).git(*line.split())
    before = checkout.state_text()
    checkout.run("eval", ALL)
    assert rows(checkout)["hours"].box == 4
    assert (checkout.state_text() == before) is not folds
    assert len(files(checkout)) == int(not folds)
    assert len(folded(checkout)) == int(folds)


def test_where_no_one_says_which_branch_is_the_default_one_a_run_says_so(pytester: pytest.Pytester) -> None:
    checkout = PROJECT.with_state(**ROWS).at(pytester)
    repository = Repository.at(checkout.path)
    repository.commit()
    repository.git("symbolic-ref", "--delete", "refs/remotes/origin/HEAD")
    assert "set-head" not in checkout.run("eval", ALL).stdout.str()
    repository.git("switch", "-qc", "feature")
    assert checkout.run("eval", ALL).stdout.str().count("git remote set-head origin --auto") == 1
    assert files(checkout) == []
