"""A change that breaks three cases stays red until it is corrected, whatever else is pushed, and is not asked again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.gate.conftest import Worlds
from tests.gate.model import KEY, Mode
from tests.gate.project import (
    AGENT,
    BREAKS_THREE,
    BROKEN,
    NOTES,
    PROMPT,
    Change,
    Removed,
    Replaced,
    Written,
    run,
)
from tests.gate.world import Check, Pull, Verdict, World

EVIDENCE = Removed(("eval/cassettes", "eval/runs", "eval/recall.yaml"))


class First(NamedTuple):
    """A pull request that breaks three cases, after the check of its first push."""

    world: World
    pull: Pull
    check: Check


@pytest.fixture
def first(worlds: Worlds) -> First:
    """The pull request, whose first check has asked about all cases."""
    world = worlds()
    pull = world.open("feature", BREAKS_THREE)
    check = world.check(pull, "opened")
    assert_red(check)
    assert set(check.asked_cases) >= BROKEN
    return First(world, pull, check)


def assert_red(check: Check) -> None:
    """The check is red for what the change broke, and says so."""
    assert check.verdict is Verdict.RED, check
    assert check.named(BROKEN) == sorted(BROKEN), check.report
    assert "Traceback" not in check.output, check.output
    assert check.jobs["report"].result == "success", check.output


def assert_red_unasked(check: Check) -> None:
    """The check is red by what the first one asked: none of the broken cases was asked again."""
    assert_red(check)
    assert BROKEN.isdisjoint(check.asked_cases), check


def forced(world: World, pull: Pull) -> None:
    world.force_push(pull, BREAKS_THREE)


def without_evidence(world: World, pull: Pull) -> None:
    world.push(pull, EVIDENCE)


def with_main(world: World, pull: Pull) -> None:
    world.commit("main", Written("CHANGES.md", "Something else.\n"))
    world.merge_base_into(pull)


def rebased(world: World, pull: Pull) -> None:
    world.commit("main", Written("CHANGES.md", "Something else.\n"))
    world.rebase(pull)


def notes(world: World, pull: Pull) -> None:
    world.push(pull, NOTES, message="Address a nit in the notes")


def commented(world: World, pull: Pull) -> None:
    world.push(pull, Replaced(AGENT, "return text", "return text  # as it is"))


Push = Callable[[World, Pull], None]


@pytest.mark.parametrize("pushes", [(notes, forced, without_evidence), (with_main, rebased)], ids=["pushed", "main"])
def test_a_push_that_corrects_nothing_stays_red(first: First, pushes: tuple[Push, ...]) -> None:
    for push in pushes:
        push(first.world, first.pull)
        assert_red_unasked(first.world.check(first.pull))


@pytest.mark.all
@pytest.mark.parametrize("push", [commented, forced, without_evidence, with_main, rebased])
def test_each_such_push_alone_stays_red(first: First, push: Push) -> None:
    push(first.world, first.pull)
    assert_red_unasked(first.world.check(first.pull))


def test_a_job_that_runs_again_is_red_again(first: First) -> None:
    assert_red_unasked(first.world.again(first.check))
    first.world.push(first.pull, NOTES)
    assert_red_unasked(first.world.check(first.pull))


@pytest.mark.all
def test_the_check_of_an_edited_base_is_red_as_well(first: First) -> None:
    first.world.commit("release", start="origin/main")
    first.pull.base = "release"
    assert_red_unasked(first.world.check(first.pull, "edited"))


def test_what_is_corrected_is_green(first: First) -> None:
    first.world.push(first.pull, Replaced(PROMPT, "Refuse items 7 to 9.", "Be brief."), message="Mend it")
    check = first.world.check(first.pull)
    assert check.verdict is Verdict.GREEN, check
    assert set(check.asked_cases) >= BROKEN


# On the machine of a developer

RUN = "pytest -p recall eval --record=missing --recall-date 2026-11-21"
DECIDE = "recall score latest --fail-on rubric"
SWAP = Replaced(AGENT, 'MODEL = "m-1"', 'MODEL = "m-2"')


def on_a_branch(world: World, *changes: Change) -> dict[str, str]:
    """Make the changes on a branch in the developer's clone; return the environment of a shell there."""
    world.git(world.dev, "switch", "--quiet", "--create", "feature")
    for change in changes:
        change(world.dev)
    return world.programs.env(LLM_URL=world.model.url, OPENAI_API_KEY=KEY)


def test_a_second_run_after_another_model_is_red_as_well(worlds: Worlds) -> None:
    world = worlds()
    world.model.mode = Mode(weaker=frozenset({"m-2"}))
    env = on_a_branch(world, SWAP)
    for number in range(2):
        before = len(world.model.calls)
        done = run(world.dev, RUN, env)
        assert done.returncode == 1, (number, done.stdout)
        assert "price-010" in done.stdout
        assert (len(world.model.calls) == before) == bool(number), "what is recorded is asked again"
        decided = run(world.dev, DECIDE, env)
        assert decided.returncode == 1, (number, decided)
        assert "regressed: price-010" in decided.stderr


def test_a_run_that_a_developer_commits_does_not_turn_the_check_green(worlds: Worlds) -> None:
    """The rows in it say that the cases fail, and its recordings that they always did; the base says neither."""
    world = worlds()
    env = on_a_branch(world, BREAKS_THREE)
    assert run(world.dev, RUN, env).returncode == 1
    world.git(world.dev, "add", "--all")
    world.git(world.dev, "commit", "--quiet", "--message", "Record it")
    paths = world.git(world.dev, "diff", "--name-only", "HEAD~1", "--", "eval/runs", "eval/recall.yaml").splitlines()
    # What it found, and what it recorded.
    assert sorted((path.rpartition("/")[0], Path(path).suffix) for path in paths) == [
        ("eval/runs", ".ndjson"),
        ("eval/runs", ".yaml"),
    ]
    world.push_dev("feature")
    pull = Pull(5, "feature")
    for _ in range(2):
        assert_red(world.check(pull))
