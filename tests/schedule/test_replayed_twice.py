"""A case varies by itself if a second replay of the same code asks something else again."""

from __future__ import annotations

import pytest

from pytest_recall.replay.differences import DifferenceKind, RequestDifference
from pytest_recall.schedule.changes import Changes, ReplayFinding, ReplayState, from_text, to_text

CHANGED = ReplayState.CHANGED


def finding(request: str = "1", call: int = 1, state: ReplayState = CHANGED, key: str = "") -> ReplayFinding:
    """Return what a replay came to that asked a request of this key."""
    return ReplayFinding(
        state, call=call, request=request, key=key, differences=(RequestDifference(DifferenceKind.REORDERED, "a"),)
    )


def compared(second: ReplayFinding) -> Changes:
    """Return what is known of a case that asked the request 1 in place of call 1, and then did this."""
    return Changes({"a": finding(), "b": finding()}, 2).compared(Changes({"a": second}, 1))


@pytest.mark.parametrize(
    ("second", "varies"),
    [
        (finding("1"), False),
        (finding("2"), True),
        (finding("2", call=2), False),
        (finding("", state=ReplayState.UNAFFECTED, call=0), True),
        (finding("", state=ReplayState.UNKNOWN, call=0), False),
    ],
    ids=["the same", "another request", "in another order", "as recorded", "did not end"],
)
def test_what_differs_otherwise_the_second_time_varies(second: ReplayFinding, varies: bool) -> None:
    found = compared(second)
    assert found.varying == (["a"] if varies else [])
    assert found.findings["a"] == finding()._replace(varies=varies)
    assert found.findings["b"] == finding()
    assert found.touched == found.only(["a", "b"]).touched == ("a", "b")


def test_it_is_told_with_the_cases_and_of_how_many() -> None:
    found = compared(finding("2"))
    assert (found.summary.varying, found.summary.twice) == (("a",), 1)
    assert found.varying_of == 1
    assert found.compared(Changes({"b": finding("1"), "a": finding("2")})).varying_of == 0
    assert compared(finding("1")).summary.varying == ()
    assert from_text(to_text(found, "2026-11-28"), "it").varying == ["a"]
