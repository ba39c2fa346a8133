"""What a run of a pull request has found live holds: neither a job that runs again nor a push brings a second draw."""

from __future__ import annotations

import re

from tests.gate.conftest import Worlds
from tests.gate.holes.clients import by_program
from tests.gate.model import REFUSED, Mode
from tests.gate.project import BREAKS_THREE, BROKEN, NOTES, RUBRIC, Written
from tests.gate.world import Verdict

ASKED_BEFORE = re.compile(r"asked in an earlier run of this pull request, ([\d-]+T\d+), whose verdict holds")
OFF = Written(RUBRIC, "recording: 'off'\n", append=True)
REFUSES = Mode(refuses=frozenset({7, 8, 9}))


def test_a_case_that_cannot_be_recorded_is_asked_once_for_each_commit(worlds: Worlds) -> None:
    world = worlds(by_program("curl", "-s", "-d", "@-"))
    pull = world.open("feature", BREAKS_THREE)
    check = world.check(pull, "opened")
    assert check.verdict is Verdict.RED, check
    assert set(check.asked_cases) >= BROKEN
    world.model.mode = Mode(lucky=True)
    again = world.again(check)
    assert (again.verdict, again.live) == (Verdict.RED, []), again
    assert again.named(BROKEN) == sorted(BROKEN), again.report
    assert len(ASKED_BEFORE.findall(again.comments[0])) == len(BROKEN)
    assert "answered:" not in again.comments[0]
    assert "recall ci fetch" not in again.comments[0]
    world.push(pull, NOTES)
    assert len(set(world.check(pull).asked_cases)) == 12, "another commit is another change of it"


def test_where_nothing_is_recorded_each_push_is_asked_what_the_base_has_due(worlds: Worlds) -> None:
    world = worlds(OFF, record=False)
    world.night()
    pull = world.open("feature", NOTES)
    assert world.check(pull, "opened").verdict is Verdict.GREEN
    world.push(pull, BREAKS_THREE)
    check = world.check(pull)
    assert check.verdict is Verdict.RED, check
    assert check.named(BROKEN) == sorted(BROKEN), check.report
    again = world.again(check)
    assert (again.verdict, again.live) == (Verdict.RED, []), again


def test_what_is_due_is_asked_once_a_day(worlds: Worlds) -> None:
    world = worlds()
    world.model.mode = REFUSES
    pull = world.open("feature", NOTES)
    check = world.check(pull, "opened")
    assert check.verdict is Verdict.GREEN, check
    assert set(check.asked_cases) >= BROKEN
    world.push(pull, Written("MORE.md", "More.\n"))
    more = world.check(pull)
    assert (more.verdict, more.live) == (Verdict.GREEN, []), more
    assert more.named(BROKEN) == sorted(BROKEN), "what was found today is still told"
    (comment,) = more.comments
    (run,) = set(ASKED_BEFORE.findall(comment))
    assert comment.count(f"answered: {REFUSED}") == len(BROKEN)
    assert comment.count(f"recall ci fetch --pr {pull.number}") == len(BROKEN)
    world.push(pull, Written("EVEN_MORE.md", "More.\n"))
    assert set(ASKED_BEFORE.findall(world.check(pull).comments[0])) == {run}, (
        "the run that asked, and not one that told"
    )


def test_where_the_repository_is_public_no_recording_is_named_that_is_not_published(worlds: Worlds) -> None:
    world = worlds()
    world.repository = {**world.repository, "private": False}
    check = world.check(world.open("feature", BREAKS_THREE), "opened")
    assert check.verdict is Verdict.RED, check
    assert "recordings are not kept" in check.output
    assert "recall ci fetch" not in check.comments[0]
    assert "to repeat it, which asks the model" in check.comments[0]
