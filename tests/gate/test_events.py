"""Each event that starts the workflow, and each shape of a repository in which a change is compared with its base."""

from __future__ import annotations

import tarfile
from datetime import timedelta
from io import BytesIO
from pathlib import Path

import pytest
import yaml

from pytest_recall.files.eval_directory import Place
from pytest_recall.forge.comment import recollect
from pytest_recall.schedule.state import current
from pytest_recall.schedule.state_file import parse_state
from pytest_recall.trials.trial import Row
from tests.gate.conftest import Worlds
from tests.gate.model import REFUSED, Mode, good_answer
from tests.gate.project import (
    AGENT,
    BREAKS_THREE,
    BROKEN,
    CALLED,
    CALLER,
    CASES,
    NOTES,
    PROMPT,
    Replaced,
    Written,
    case_id,
    prompt_ends,
    record_all,
)
from tests.gate.world import REQUIRED, Check, Verdict, World

QUEUE = Replaced(CALLER, "  workflow_dispatch: null\n", "  workflow_dispatch: null\n  merge_group: null\n")
KINDER = prompt_ends("Be kind and brief.")


def assert_broken(check: Check) -> None:
    """The check is red, and names what the change has broken."""
    assert check.verdict is Verdict.RED, check
    assert check.named(BROKEN) == sorted(BROKEN), check.report
    assert "Traceback" not in check.output, check.output


def assert_green(check: Check) -> None:
    """The check is green, and so are the jobs that report it."""
    assert check.verdict is Verdict.GREEN, check
    assert check.jobs["report"].result in ("success", "skipped"), check.output
    assert "Traceback" not in check.output, check.output


def test_a_merged_change_is_recorded_on_main_without_asking_again(worlds: Worlds) -> None:
    world = worlds()
    pull = world.open("feature", KINDER)
    first = world.check(pull, "opened")
    assert_green(first)
    assert len(first.live) == 12
    assert world.mergeable(pull)
    world.squash(pull)
    merged = world.pushed()
    assert_green(merged)
    assert merged.live == []
    notes = world.open("notes", NOTES)
    check = world.check(notes, "opened")
    assert_green(check)
    assert "0 of 12 cases affected" in check.report.replace("\\", "")


@pytest.mark.all
def test_main_takes_the_recordings_of_what_was_merged(worlds: Worlds) -> None:
    """Another pull request had the same prompt on a day when the model knew less, and was closed."""
    world = worlds()
    world.model.mode = Mode(refuses=frozenset({7, 8, 9}))
    closed, merged = world.open("closed", KINDER), world.open("merged", KINDER)
    assert_broken(world.check(closed, "opened"))
    world.model.mode = Mode()
    assert_green(world.check(merged, "opened"))
    world.squash(merged)
    check = world.pushed()
    assert check.live == []
    assert_green(check)


@pytest.mark.all
def test_a_night_asks_live_and_opens_an_issue(worlds: Worlds) -> None:
    world = worlds()
    world.model.mode = Mode(refuses=frozenset({7, 8, 9}))
    check = world.night()
    assert len(check.live) >= 12
    assert check.jobs["report"].result == "success", check.output
    bodies = [one["body"] for one in world.host.issues.values()]
    assert any(all(case_id in body for case_id in BROKEN) for body in bodies), (bodies, check.output)


def test_what_fails_outside_of_a_change_opens_the_issue_and_does_not_block(worlds: Worlds) -> None:
    world = worlds()
    world.day += timedelta(days=30)
    world.model.mode = Mode(refuses=frozenset({7, 8, 9}))
    pull = world.open("notes", NOTES)
    check = world.check(pull, "opened")
    assert_green(check)
    (comment,) = check.comments
    heading, advice = comment.splitlines()[1], comment.splitlines()[3]
    shown = comment.partition("<details>")[0]
    for number in (7, 8, 9):
        named = case_id(number)
        assert named in heading
        assert named in advice
        assert f"What does item {number} cost?" in shown
        assert f"~~{good_answer(number)}~~ **{REFUSED}**" in shown
        assert f"pytest -p recall eval/cases.jsonl::{named}" in shown
    ((number, issue),) = world.host.issues.items()
    issue = dict(issue)
    assert set(recollect(issue["body"], "the issue") or ()) == BROKEN
    assert issue["state"] == "open"
    world.push(pull, BREAKS_THREE)
    world.model.mode = Mode()
    assert_broken(world.check(pull))
    sound = world.check(world.open("more", Written("MORE.md", "More.\n")), "opened")
    assert_green(sound)
    assert list(world.host.issues) == [number]
    assert world.host.issues[number] == issue, "neither a pass nor a regression of a pull request is news of it"
    assert_green(world.night())
    assert world.host.issues[number]["state"] == "closed"


@pytest.mark.all
def test_a_merge_queue_is_held_to_what_the_pull_request_has_shown(worlds: Worlds) -> None:
    world = worlds(QUEUE)
    broken, sound = world.open("broken", BREAKS_THREE), world.open("sound", Written("src/desk/more.py", "X = 1\n"))
    assert_broken_in_queue(world.check(broken, "opened"), world.queued(broken))
    assert_green(world.check(sound, "opened"))
    queued = world.queued(sound)
    assert_green(queued)
    world.dequeue(queued)
    assert world.head() == queued.commit


def assert_broken_in_queue(check: Check, queued: Check) -> None:
    """Both checks are red, and the second one has asked about none of the broken cases."""
    assert_broken(check)
    assert_broken(queued)
    assert BROKEN.isdisjoint(queued.asked_cases), queued


@pytest.mark.all
def test_two_changes_that_break_a_case_together_are_red_in_the_queue(worlds: Worlds) -> None:
    """Each alone is green: the model refuses what the second one asks once it has the number of the first."""
    world = worlds(QUEUE, Written("src/desk/limits.py", "LAST = 6\n"), SPLIT_PROMPT)
    first = world.open("first", Replaced("src/desk/limits.py", "6", "9"))
    second = world.open("second", Replaced(PROMPT, "Allow items 7", "Refuse items 7"))
    for pull in (first, second):
        assert_green(world.check(pull, "opened"))
    queued = world.queued(first)
    assert_green(queued)
    world.dequeue(queued)
    assert_broken(world.queued(second))


SPLIT_PROMPT = Written(
    PROMPT,
    "from desk.limits import LAST\n\n"
    'SYSTEM = f"You are a shop assistant. Be kind. Allow items 7 to {LAST}. Items 1 to {LAST} are new."\n',
)


@pytest.mark.parametrize("needed", [False, True], ids=["no-key-needed", "key-needed"])
@pytest.mark.all
def test_a_fork_without_a_key(worlds: Worlds, needed: bool) -> None:
    """Its agent does not start without a text in the place of the key, and nothing is sent."""
    world = worlds(
        Replaced(AGENT, '(os.environ.get("OPENAI_API_KEY") or "none")', '(os.environ["OPENAI_API_KEY"] or 1)')
    )
    notes, change = world.open("notes", NOTES, fork=True), world.open("change", BREAKS_THREE, fork=True)
    world.model.mode = Mode(needs_key=True)
    if not needed:
        check = world.check(notes, "opened")
        assert_green(check)
        assert check.live == []
        assert world.host.comments == {}
        return
    check = world.check(change, "opened")
    assert check.verdict is Verdict.NOT_EVALUATED, check
    assert check.live == []
    assert "needs an answer from a maintainer" in check.output
    assert "Traceback" not in check.output
    before = world.head("change")
    assert world.check(change).verdict is Verdict.NOT_EVALUATED
    assert world.head("change") == before


@pytest.mark.all
def test_a_pull_request_for_a_release_branch(worlds: Worlds) -> None:
    world = worlds()
    world.commit("release", start="origin/main", message="Release")
    world.commit("main", KINDER)
    pull = world.open("backport", BREAKS_THREE, base="release")
    assert_broken(world.check(pull, "opened"))
    notes = world.open("notes", NOTES, base="release")
    check = world.check(notes, "opened")
    assert_green(check)
    assert "0 of 12 cases affected" in check.report.replace("\\", "")


@pytest.mark.all
def test_a_push_to_a_release_branch_is_a_change_of_what_that_was(worlds: Worlds) -> None:
    """By a workflow that someone has changed: the one that is shipped runs for pushes to the default branch alone."""
    world = worlds(Replaced(CALLER, "push: {branches: [main]}", "push: {branches: [main, release]}"))
    world.commit("release", start="origin/main", message="Release")
    before = world.commit("release", BREAKS_THREE)
    check = world.pushed("release", before=world.git(world.origin, "rev-parse", f"{before}^"))
    assert_broken(check)
    written = world.git(world.origin, "diff", "--name-only", before, "release").splitlines()
    assert {Path(path).parent.as_posix() for path in written} == {"eval/runs"}
    assert sorted(Path(path).suffix for path in written) == [".ndjson", ".yaml"]
    before = world.head("release")
    world.commit("release", NOTES)
    check = world.pushed("release", before=before)
    assert check.verdict is Verdict.GREEN, "what is broken before the push is no matter of it"
    assert check.live == []
    assert "3 of 12 cases affected (3 decided by recorded answers, 9 as recorded)" in check.output
    assert "no row of release changes; nothing was pushed" in check.output
    check = world.pushed("release")
    assert check.verdict is Verdict.GREEN, "nothing is said of what a new branch changes"


@pytest.mark.all
def test_stacked_pull_requests_and_the_edited_base_of_the_upper_one(worlds: Worlds) -> None:
    world = worlds()
    lower = world.open("lower", BREAKS_THREE)
    assert_broken(world.check(lower, "opened"))
    upper = world.open("upper", NOTES, base="lower")
    check = world.check(upper, "opened")
    assert check.verdict is Verdict.GREEN, "what is broken below it is no matter of this change"
    upper.base = "main"
    assert_broken(world.check(upper, "edited"))


@pytest.mark.all
@pytest.mark.parametrize("depth", ["1", "2"])
def test_a_shallow_checkout_without_the_base_is_not_green(worlds: Worlds, depth: str) -> None:
    world = worlds(Replaced(CALLED, "fetch-depth: 0", f"fetch-depth: {depth}"))
    check = world.check(world.open("feature", BREAKS_THREE), "opened")
    assert check.verdict is not Verdict.GREEN, check
    assert "Traceback" not in check.output, check.output
    if check.verdict is Verdict.RED:
        assert_broken(check)


@pytest.mark.all
def test_a_branch_that_takes_no_push(worlds: Worlds) -> None:
    world = worlds()
    pull = world.open("feature", BREAKS_THREE)
    world.protect("refs/heads/feature")
    check = world.check(pull, "opened")
    assert check.verdict is Verdict.RED, check
    assert check.named(BROKEN), check.report
    world.protect()
    world.push(pull, NOTES)
    world.protect("refs/heads/feature")
    again = world.check(pull)
    assert again.verdict is Verdict.RED, again
    assert BROKEN.isdisjoint(again.asked_cases), again


@pytest.mark.all
def test_a_ref_that_takes_no_push_leaves_the_check_red(worlds: Worlds) -> None:
    world = worlds()
    pull = world.open("feature", BREAKS_THREE)
    world.protect("refs/recall/*")
    for _ in range(2):
        check = world.check(pull)
        assert check.verdict is Verdict.RED, check
        assert check.named(BROKEN) == sorted(BROKEN)


def test_what_was_merged_red_on_recorded_answers_is_asked_on_main_and_known_afterwards(worlds: Worlds) -> None:
    world = worlds()
    pull = world.open("feature", Replaced(AGENT, "return text", 'return text.replace("$", "EUR ")'))
    check = world.check(pull, "opened")
    assert (check.verdict, check.live) == (Verdict.RED, [])
    world.squash(pull)
    assert len(set(world.pushed().asked_cases)) == 12
    state = parse_state(world.text("eval/recall.yaml"), "eval/recall.yaml")
    assert [row.failing for row in state.rows.values()] == [True] * 12
    ((_, issue),) = world.host.issues.items()
    assert f"without a call of a model: `pytest -p recall eval/cases.jsonl::{case_id(1)} --replay`" in issue["body"]
    assert_green(world.check(world.open("other", NOTES), "opened"))
    assert not world.pushed().live
    mend = world.check(world.open("mend", Replaced(AGENT, 'text.replace("$", "EUR ")', "text")), "opened")
    assert_green(mend)


@pytest.mark.all
def test_an_outage_is_not_evaluated_and_the_job_that_runs_again_is(worlds: Worlds) -> None:
    world = worlds()
    pull = world.open("feature", KINDER)
    world.model.mode = Mode(status=503)
    check = world.check(pull, "opened")
    assert check.verdict is Verdict.NOT_EVALUATED, check
    world.model.mode = Mode()
    assert_green(world.again(check))
    assert world.mergeable(pull), "the status is reported on the commit of the state, which is not pushed again"
    assert_green(world.check(pull))


def test_the_status_of_the_commit_of_the_state_is_that_of_the_check(worlds: Worlds) -> None:
    world = worlds()
    pull = world.open("feature", BREAKS_THREE)
    check = world.check(pull, "opened")
    pushed = world.head("feature")
    assert pushed != check.commit
    (status,) = world.host.statuses[pushed]
    assert (status["context"], status["state"]) == (REQUIRED, "failure")
    assert not world.mergeable(pull)


def rows_of(world: World, folder: Path, branch: str = "main") -> dict[str, Row]:
    """Return the state of a branch with its run files, which are put into a new `folder`."""
    folder.mkdir()
    with tarfile.open(fileobj=BytesIO(world.archive(world.head(branch), "eval"))) as archive:
        archive.extractall(folder, filter="data")
    return current(Place(folder, folder / "eval")).rows


def run_files_of(world: World, branch: str = "main") -> list[str]:
    """Return the run files of a branch."""
    return world.git(world.origin, "ls-tree", "-r", "--name-only", branch, "--", "eval/runs/").splitlines()


@pytest.mark.parametrize("named", [True, False])
def test_a_check_leaves_the_rows_of_its_branch_and_adds_a_run_file(worlds: Worlds, named: bool) -> None:
    """The checkout of the job that pushes is shallow: if the event does not name the default branch, nothing does."""
    world = worlds()
    world.repository = world.repository if named else {}
    assert_broken(world.check(world.open("feature", BREAKS_THREE), "opened"))
    assert world.text("eval/recall.yaml", "feature") == world.text("eval/recall.yaml")
    assert len(run_files_of(world, "feature")) == 1


def test_pull_requests_that_are_merged_in_either_order_give_the_same_rows(worlds: Worlds, tmp_path: Path) -> None:
    world = worlds()
    first, second = world.open("first", BREAKS_THREE), world.open("second", Written(AGENT, "# as it is\n", append=True))
    assert_green(world.check(second, "opened"))
    assert_broken(world.check(first, "opened"))  # Both have asked all cases. This verdict is the newer one.
    before = world.head()
    files = [run_files_of(world, pull.branch) for pull in (first, second)]
    assert [len(one) for one in files] == [1, 1]
    found = []
    for number, order in enumerate([(first, second), (second, first)]):
        world.git(world.origin, "update-ref", "refs/heads/main", before)
        for pull in order:
            world.squash(pull)
        assert run_files_of(world) == sorted(files[0] + files[1])
        found.append(rows_of(world, tmp_path / f"waiting-{number}"))
        day = world.day
        night = world.night()
        assert night.jobs["report"].result == "success", night.output
        world.day = day
        assert_named(world, files[0] + files[1])
        found.append(rows_of(world, tmp_path / f"folded-{number}"))
        assert_green(world.pushed())
        assert_green(world.night())
        world.day = day
        assert run_files_of(world) == []
    assert found[0] == found[2]
    assert {case_id for case_id, row in found[0].items() if row.failing} == BROKEN
    known = [{case_id: row._replace(touched=()) for case_id, row in rows.items()} for rows in found]
    assert known[1] == known[3]


def assert_named(world: World, files: list[str]) -> None:
    """These run files are still on the main branch, and its rows name them."""
    assert set(files) <= set(run_files_of(world))
    assert {Path(file).stem for file in files} <= set(yaml.safe_load(world.text("eval/recall.yaml"))["folded"])


def test_a_squashed_branch_that_goes_on_brings_its_run_file_back_and_changes_nothing(
    worlds: Worlds, tmp_path: Path
) -> None:
    world = worlds()
    pull = world.open("feature", KINDER)
    assert_green(world.check(pull, "opened"))
    (file,) = run_files_of(world, "feature")
    world.squash(pull)
    assert file in run_files_of(world)
    assert_green(world.night())
    assert_named(world, [file])
    assert_green(world.night())
    assert run_files_of(world) == []
    rows, text = rows_of(world, tmp_path / "rows"), world.text("eval/recall.yaml")
    assert Path(file).stem in text
    world.push(pull, NOTES)
    world.git(world.dev, "merge", "--quiet", "--no-edit", "origin/main")
    world.push_dev(pull.branch)
    assert_green(world.check(pull))
    assert file in run_files_of(world, "feature")
    world.squash(pull)
    assert file in run_files_of(world)
    assert rows_of(world, tmp_path / "back") == rows
    assert world.text("eval/recall.yaml") == text
    assert_green(world.pushed())
    assert rows_of(world, tmp_path / "after") == rows
    assert_green(world.night())
    assert run_files_of(world) == []


def recorded_by_developer(world: World, branch: str) -> list[str]:
    """Record all cases on a branch as a developer does, and push it; return the files of recordings that it has."""
    env = world.programs.env(LLM_URL=world.model.url)
    before = world.archive(world.head(), "eval/cassettes")
    record_all(world.dev, env, str(world.day))
    assert world.git(world.dev, "status", "--porcelain", "--", "eval/cassettes") == ""
    world.git(world.dev, "add", "--all")
    world.git(world.dev, "commit", "--quiet", "--message", "Recordings")
    world.push_dev(branch)
    world.model.calls.clear()
    assert world.archive(world.head(), "eval/cassettes") == before
    return [path for path in run_files_of(world, branch) if path.endswith(".ndjson")]


def test_what_a_developer_recorded_is_checked_merged_and_taken_over_at_no_call(worlds: Worlds) -> None:
    world = worlds()
    pull = world.open("feature", KINDER)
    (file,) = recorded_by_developer(world, "feature")
    check = world.check(pull, "opened")
    assert_green(check)
    assert (check.live, check.scorecard["counts"]) == ([], {"passed": 12})
    world.squash(pull)
    assert file in run_files_of(world)
    before = world.git(world.origin, "rev-parse", "main:eval/cassettes")
    notes = world.open("early", NOTES)
    waiting = world.check(notes, "opened")
    assert_green(waiting)
    assert waiting.live == [], "what waits at the base is of the base"
    merged = world.pushed()
    assert_green(merged)
    assert merged.live == []
    assert file not in run_files_of(world)
    after = world.git(world.origin, "rev-parse", "main:eval/cassettes")
    assert after != before
    night = world.open("late", Written("MORE.md", "More.\n"))
    check = world.check(night, "opened")
    assert_green(check)
    assert check.live == []
    assert world.git(world.origin, "rev-parse", "main:eval/cassettes") == after


@pytest.mark.all
def test_the_recordings_of_a_fork_decide_nothing(worlds: Worlds) -> None:
    world = worlds()
    pull = world.open("feature", KINDER, fork=True)
    assert len(recorded_by_developer(world, "feature")) == 1
    world.model.mode = Mode(needs_key=True)
    check = world.check(pull, "opened")
    assert check.verdict is Verdict.NOT_EVALUATED, check
    assert "Traceback" not in check.output, check.output


@pytest.mark.all
def test_what_main_has_not_recorded_is_not_of_a_fork(worlds: Worlds) -> None:
    world = worlds()
    world.model.mode = Mode(status=500)
    world.commit("main", BREAKS_THREE)
    assert world.pushed().verdict is Verdict.NOT_EVALUATED
    assert len(behind_on_main(world)) == 12
    notes, further = world.open("notes", NOTES, fork=True), world.open("further", KINDER, fork=True)
    check = world.check(notes, "opened")
    assert_green(check)
    assert check.live == []
    check = world.check(further, "opened")
    assert (check.verdict, check.live) == (Verdict.NOT_EVALUATED, [])


def test_what_main_has_not_recorded_is_not_of_a_pull_request(worlds: Worlds) -> None:
    """Main breaks three cases on a day of an outage: a later change of the notes is not held to them, nor told so."""
    world = worlds()
    world.model.mode = Mode(status=500)
    world.commit("main", BREAKS_THREE)
    assert world.pushed().verdict is Verdict.NOT_EVALUATED
    assert len(behind_on_main(world)) == 12
    notes, further = world.open("notes", NOTES), world.open("further", KINDER)
    assert world.check(notes, "opened").verdict is Verdict.NOT_EVALUATED
    world.model.mode = Mode()
    check = world.check(notes)
    assert_green(check)
    assert "0 of 12 cases affected (12 behind on the target branch)" in check.report.replace("\\", "")
    # What was recorded for the pull request says no more of it than the answers did.
    again = world.check(notes, "synchronize")
    assert_green(again)
    assert again.live == []
    assert_broken(world.check(further, "opened"))


@pytest.mark.all
def test_what_main_has_recorded_is_no_longer_behind(worlds: Worlds) -> None:
    world = merged_in_an_outage(worlds)
    assert len(behind_on_main(world)) == 12
    world.model.mode = Mode()
    world.night()
    assert behind_on_main(world) == {}
    check = world.check(world.open("notes", NOTES), "opened")
    assert_green(check)
    assert check.live == []


@pytest.mark.all
def test_a_prompt_that_main_takes_back_is_no_longer_behind(worlds: Worlds) -> None:
    world = merged_in_an_outage(worlds)
    world.commit("main", Replaced(PROMPT, " and brief.", "."))
    world.pushed()
    assert behind_on_main(world) == {}


@pytest.mark.all
def test_what_a_change_makes_of_equal_requests_is_its_own(worlds: Worlds) -> None:
    """Main has not recorded its prompt, and a change throws away the answers to that."""
    world = merged_in_an_outage(worlds)
    world.model.mode = Mode()
    answer = 'return response.json()["choices"][0]["message"]["content"]'
    check = world.check(world.open("silent", Replaced(AGENT, answer, f'{answer} and "Nothing."')), "opened")
    assert check.verdict is Verdict.RED, check


@pytest.mark.all
def test_what_a_change_expects_of_equal_requests_is_its_own(worlds: Worlds) -> None:
    """Main has not recorded its prompt, and a change expects another answer to that."""
    world = merged_in_an_outage(worlds)
    world.model.mode = Mode()
    check = world.check(world.open("expects", Replaced(CASES, '"expected": "$35"', '"expected": "$36"')), "opened")
    assert check.verdict is Verdict.RED, check
    assert check.named(BROKEN) == ["price-007"], check.report


def merged_in_an_outage(worlds: Worlds) -> World:
    """Return a world whose main has got another prompt while the model does not answer, and so has not recorded it."""
    world = worlds()
    world.model.mode = Mode(status=500)
    world.commit("main", KINDER)
    world.pushed()
    return world


def behind_on_main(world: World) -> dict[str, str]:
    """Return the cases that the state on the default branch names as behind, with their requests."""
    return dict(parse_state(world.text("eval/recall.yaml"), "eval/recall.yaml").behind)
