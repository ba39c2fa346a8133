"""A miss of a case without a recording names the recordings of cases that are in no case file, and how to move one."""

from __future__ import annotations

import pytest

from tests.helpers.project import Checkout
from tests.helpers.talking import agent, asking, talking, trial
from tests.helpers.upstream import Upstream

BODY = "return httpx2_sync('recorded')"


def recorded(pytester: pytest.Pytester, upstream: Upstream, *ids: str) -> Checkout:
    """Return a project with a recording of each of these cases."""
    checkout = talking(upstream, agent(BODY)).with_cases(*map(asking, ids)).at(pytester)
    checkout.run("eval", "--record").assert_outcomes(passed=len(ids))
    return checkout


def missed(checkout: Checkout, upstream: Upstream, *ids: str, body: str = BODY, workers: tuple[str, ...] = ()) -> str:
    """Replay these cases in place of those that were recorded, and return the line with the error of the first."""
    talking(upstream, agent(body)).with_cases(*map(asking, ids)).at(checkout.pytester)
    lines = checkout.run("eval", "--replay", "--recall-mode=all", *workers).outlines
    return next(line for line in lines if line.startswith(f"  error: {ids[0]}: "))


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_the_command_and_what_is_there_are_named(
    pytester: pytest.Pytester, upstream: Upstream, workers: tuple[str, ...]
) -> None:
    checkout = recorded(pytester, upstream, "b", "a")
    assert missed(checkout, upstream, "c", "b", workers=workers).endswith(
        " records it; if the case had another id, `recall cassettes move OLD c` keeps its recording; recorded, and in"
        " no case file, is `a`"
    )


def test_what_is_named_moves(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = recorded(pytester, upstream, "a")
    assert "`recall cassettes move OLD c`" in missed(checkout, upstream, "c")
    assert checkout.recall("cassettes", "move", "a", "c").ret == 0
    checkout.run("eval", "--replay", "--recall-mode=all").assert_outcomes(passed=1)


def test_at_most_three_are_named(pytester: pytest.Pytester, upstream: Upstream) -> None:
    assert missed(recorded(pytester, upstream, *"edbca"), upstream, "f").endswith("are `a`, `b`, `c` and 2 more")


def test_a_case_that_is_in_another_file_is_not_named(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = recorded(pytester, upstream, "a")
    (checkout.path / "eval" / "cases.yaml").rename(checkout.path / "eval" / "more.cases.yaml")
    talking(upstream, agent(BODY)).with_cases(asking("c")).at(pytester)
    checkout.run("eval/cases.yaml", "--replay")
    assert trial(checkout, "c").error.endswith(" records it")


def test_a_case_with_a_recording_is_none_that_was_renamed(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = recorded(pytester, upstream, "a", "b")
    assert "cassettes move" not in missed(checkout, upstream, "b", body="return httpx2_sync('other')")


def test_a_case_that_was_recorded_elsewhere_cannot_be_moved(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = recorded(pytester, upstream, "a")
    (checkout.path / "eval" / "cassettes").rename(checkout.path / "other")
    talking(upstream, agent(BODY)).with_cases(asking("c")).at(pytester)
    checkout.run("eval", "--replay=other", "--recall-mode=all")
    assert trial(checkout, "c").error.endswith(" --record=other` records it")
