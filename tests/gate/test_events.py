"""Each event that starts the workflow, and each shape of a repository in which a change is compared with its base."""

from __future__ import annotations

import pytest

from tests.gate.conftest import Worlds
from tests.gate.model import Mode
from tests.gate.project import (
    BREAKS_THREE,
    BROKEN,
    CALLED,
    CALLER,
    NOTES,
    PROMPT,
    Replaced,
    Written,
    prompt_ends,
)
from tests.gate.world import REQUIRED, Check, Verdict

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


def test_a_merged_change_is_recorded_on_main_without_asking_again(world: Worlds) -> None:
    made = world()
    pull = made.open("feature", KINDER)
    first = made.check(pull, "opened")
    assert_green(first)
    assert len(first.live) == 12
    assert made.mergeable(pull)
    made.squash(pull)
    merged = made.pushed()
    assert_green(merged)
    assert merged.live == []
    notes = made.open("notes", NOTES)
    check = made.check(notes, "opened")
    assert_green(check)
    assert "0 of 12 cases affected" in check.report.replace("\\", "")


@pytest.mark.all
@pytest.mark.xfail(strict=True, reason="main takes the oldest recordings that fit")
def test_main_takes_the_recordings_of_what_was_merged(world: Worlds) -> None:
    """Another pull request had the same prompt on a day when the model knew less, and was closed."""
    made = world()
    made.model.mode = Mode(refuses=frozenset({7, 8, 9}))
    closed, merged = made.open("closed", KINDER), made.open("merged", KINDER)
    assert_broken(made.check(closed, "opened"))
    made.model.mode = Mode()
    assert_green(made.check(merged, "opened"))
    made.squash(merged)
    check = made.pushed()
    assert check.live == []
    assert_green(check)


@pytest.mark.all
def test_a_night_asks_live_and_opens_an_issue(world: Worlds) -> None:
    made = world()
    made.model.mode = Mode(refuses=frozenset({7, 8, 9}))
    check = made.night()
    assert len(check.live) >= 12
    assert check.jobs["report"].result == "success", check.output
    bodies = [one["body"] for one in made.host.issues.values()]
    assert any(all(case_id in body for case_id in BROKEN) for body in bodies), (bodies, check.output)


def test_a_merge_queue_is_held_to_what_the_pull_request_has_shown(world: Worlds) -> None:
    made = world(QUEUE)
    broken, sound = made.open("broken", BREAKS_THREE), made.open("sound", Written("src/desk/more.py", "X = 1\n"))
    assert_broken_in_queue(made.check(broken, "opened"), made.queued(broken))
    assert_green(made.check(sound, "opened"))
    queued = made.queued(sound)
    assert_green(queued)
    made.dequeue(queued)
    assert made.head() == queued.commit


def assert_broken_in_queue(check: Check, queued: Check) -> None:
    """Both checks are red, and the second one has asked about none of the broken cases."""
    assert_broken(check)
    assert_broken(queued)
    assert BROKEN.isdisjoint(queued.asked), queued


@pytest.mark.all
def test_two_changes_that_break_a_case_together_are_red_in_the_queue(world: Worlds) -> None:
    """Each alone is green: the model refuses what the second one asks once it has the number of the first."""
    made = world(QUEUE, Written("src/desk/limits.py", "LAST = 6\n"), SPLIT_PROMPT)
    first = made.open("first", Replaced("src/desk/limits.py", "6", "9"))
    second = made.open("second", Replaced(PROMPT, "Allow items 7", "Refuse items 7"))
    for pull in (first, second):
        assert_green(made.check(pull, "opened"))
    queued = made.queued(first)
    assert_green(queued)
    made.dequeue(queued)
    assert_broken(made.queued(second))


SPLIT_PROMPT = Written(
    PROMPT,
    "from desk.limits import LAST\n\n"
    'SYSTEM = f"You are a shop assistant. Be kind. Allow items 7 to {LAST}. Items 1 to {LAST} are new."\n',
)


@pytest.mark.parametrize("needed", [False, True], ids=["no-key-needed", "key-needed"])
@pytest.mark.all
def test_a_fork_without_a_key(world: Worlds, needed: bool) -> None:
    made = world()
    notes, change = made.open("notes", NOTES, fork=True), made.open("change", BREAKS_THREE, fork=True)
    made.model.mode = Mode(needs_key=True)
    if not needed:
        assert_green(made.check(notes, "opened"))
        assert made.host.comments == {}
        return
    check = made.check(change, "opened")
    assert check.verdict is Verdict.NOT_EVALUATED, check
    assert "needs an answer from a maintainer" in check.output
    assert "Traceback" not in check.output
    before = made.head("change")
    assert made.check(change).verdict is Verdict.NOT_EVALUATED
    assert made.head("change") == before


@pytest.mark.all
def test_a_pull_request_for_a_release_branch(world: Worlds) -> None:
    made = world()
    made.commit("release", start="origin/main", message="Release")
    made.commit("main", KINDER)
    pull = made.open("backport", BREAKS_THREE, base="release")
    assert_broken(made.check(pull, "opened"))
    notes = made.open("notes", NOTES, base="release")
    check = made.check(notes, "opened")
    assert_green(check)
    assert "0 of 12 cases affected" in check.report.replace("\\", "")


@pytest.mark.all
def test_stacked_pull_requests_and_the_edited_base_of_the_upper_one(world: Worlds) -> None:
    made = world()
    lower = made.open("lower", BREAKS_THREE)
    assert_broken(made.check(lower, "opened"))
    upper = made.open("upper", NOTES, base="lower")
    check = made.check(upper, "opened")
    assert check.verdict is Verdict.GREEN, "what is broken below it is no matter of this change"
    upper.base = "main"
    assert_broken(made.check(upper, "edited"))


@pytest.mark.all
@pytest.mark.parametrize("depth", ["1", "2"])
def test_a_shallow_checkout_without_the_base_is_not_green(world: Worlds, depth: str) -> None:
    made = world(Replaced(CALLED, "fetch-depth: 0", f"fetch-depth: {depth}"))
    check = made.check(made.open("feature", BREAKS_THREE), "opened")
    assert check.verdict is not Verdict.GREEN, check
    assert "Traceback" not in check.output, check.output
    if check.verdict is Verdict.RED:
        assert_broken(check)


@pytest.mark.all
def test_a_branch_that_takes_no_push(world: Worlds) -> None:
    made = world()
    pull = made.open("feature", BREAKS_THREE)
    made.protect("refs/heads/feature")
    check = made.check(pull, "opened")
    assert check.verdict is Verdict.RED, check
    assert check.named(BROKEN), check.report
    made.protect()
    made.push(pull, NOTES)
    made.protect("refs/heads/feature")
    again = made.check(pull)
    assert again.verdict is Verdict.RED, again
    assert BROKEN.isdisjoint(again.asked), again


@pytest.mark.all
def test_a_ref_that_takes_no_push_leaves_the_check_red(world: Worlds) -> None:
    made = world()
    pull = made.open("feature", BREAKS_THREE)
    made.protect("refs/recall/*")
    for _ in range(2):
        check = made.check(pull)
        assert check.verdict is Verdict.RED, check
        assert check.named(BROKEN) == sorted(BROKEN)


@pytest.mark.all
def test_an_outage_is_not_evaluated_and_the_job_that_runs_again_is(world: Worlds) -> None:
    made = world()
    pull = made.open("feature", KINDER)
    made.model.mode = Mode(status=503)
    check = made.check(pull, "opened")
    assert check.verdict is Verdict.NOT_EVALUATED, check
    made.model.mode = Mode()
    assert_green(made.again(check))
    assert_green(made.check(pull))


def test_the_status_of_the_commit_of_the_state_is_that_of_the_check(world: Worlds) -> None:
    made = world()
    pull = made.open("feature", BREAKS_THREE)
    check = made.check(pull, "opened")
    pushed = made.head("feature")
    assert pushed != check.commit
    (status,) = made.host.statuses[pushed]
    assert (status["context"], status["state"]) == (REQUIRED, "failure")
    assert not made.mergeable(pull)
