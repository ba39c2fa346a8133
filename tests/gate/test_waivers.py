"""A reviewer lets a change pass without missing verdicts: the check waits for one, and all name who it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.schedule.run_file import parse_run_file
from pytest_recall.schedule.state_file import parse_state
from tests.gate.conftest import Worlds
from tests.gate.model import Mode
from tests.gate.project import BREAKS_THREE, CALLER, NOTES, Replaced, case_id, prompt_ends
from tests.gate.world import Verdict, World

ENVIRONMENT = "eval-waivers"
WITH_WAIVERS = Replaced(CALLER, "state: always", f"state: always\n      waivers: {ENVIRONMENT}")
KINDER = prompt_ends("Be very kind.")
OUTAGE = Mode(status=503)
ALL = [case_id(item) for item in range(1, 13)]


@pytest.fixture
def world(worlds: Worlds) -> World:
    """A world whose workflow names the environment, which has required reviewers."""
    world = worlds()
    world.commit("main", WITH_WAIVERS, message="Let reviewers waive")
    world.environments.add(ENVIRONMENT)
    return world


def waived(world: World, branch: str = "main") -> dict[str, str]:
    """Return who has waived which case, by the state of a branch."""
    state = parse_state(world.text("eval/recall.yaml", branch), "eval/recall.yaml")
    return {case_id: one.waived for case_id, one in state.unanswered.items() if one.waived}


def test_the_check_waits_and_everything_names_who_has_waived(world: World) -> None:
    pull = world.open("feature", KINDER)
    world.model.mode = OUTAGE
    check = world.check(pull, "opened")
    assert check.verdict is Verdict.WAITS, check
    (comment,) = check.comments
    assert f"waits for a reviewer of `{ENVIRONMENT}`" in comment.splitlines()[1]
    of_state = world.head("feature")
    assert [one["state"] for one in world.host.statuses[of_state]] == ["pending"]
    assert not world.mergeable(pull)

    done = world.approve(check, ENVIRONMENT, "alice", "the provider is down until Monday")
    assert done.verdict is Verdict.GREEN, done.output
    assert not done.live
    (comment,) = done.comments
    assert f"waits for a reviewer of `{ENVIRONMENT}`" not in comment
    assert "alice" in comment
    assert "the provider is down until Monday" in comment
    assert world.mergeable(pull)
    branch = world.head("feature")
    assert branch != of_state
    (path,) = world.git(world.origin, "diff", "--name-only", f"{of_state}..{branch}").splitlines()
    found = parse_run_file(world.text(path, branch), Path(path).name)
    assert (found.waived, list(found.unanswered)) == (f"alice for #{pull.number}", ALL)

    world.squash(pull)
    world.pushed()
    assert waived(world) == dict.fromkeys(ALL, f"alice for #{pull.number}")
    night = world.night()
    assert "12 cases waived by alice" in night.report
    assert waived(world) == dict.fromkeys(ALL, f"alice for #{pull.number}")
    world.model.mode = Mode()
    assert sorted(set(world.night().asked_cases)) == ALL
    assert not waived(world)


def test_a_waiver_holds_for_its_run_and_what_is_evaluated_later_clears_it(world: World) -> None:
    pull = world.open("feature", KINDER)
    world.model.mode = OUTAGE
    check = world.check(pull, "opened")
    assert world.approve(check, ENVIRONMENT, "alice").verdict is Verdict.GREEN
    world.push(pull, NOTES)
    assert world.check(pull).verdict is Verdict.WAITS
    world.model.mode = Mode()
    world.push(pull, NOTES)
    assert world.check(pull).verdict is Verdict.GREEN
    world.squash(pull)
    world.pushed()
    assert not waived(world)


def test_a_change_that_breaks_cases_is_not_waived(world: World) -> None:
    pull = world.open("feature", BREAKS_THREE)
    check = world.check(pull, "opened")
    assert check.verdict is Verdict.RED, check
    assert check.jobs["waive"].skipped
    assert ENVIRONMENT not in "".join(check.comments)


def test_without_a_reviewer_nothing_is_waived(world: World) -> None:
    world.environments.clear()
    pull = world.open("feature", KINDER)
    world.model.mode = OUTAGE
    check = world.check(pull, "opened")
    assert check.verdict is Verdict.NOT_EVALUATED, check
    step = check.jobs["waive"].step("Waive")
    assert step is not None
    assert step.code == 2
    assert "reviewers" in step.output
    assert world.required(check.commit) is Verdict.NOT_EVALUATED
