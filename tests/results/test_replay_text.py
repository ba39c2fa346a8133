"""The words for what a replay of all recordings found."""

from __future__ import annotations

from pytest_recall.replay.differences import DifferenceKind, RequestDifference
from pytest_recall.results.replay_text import counts, details
from pytest_recall.trials.record import FrequentChange, ReplaySummary, RequestChange

FOUND = ReplaySummary(
    of=20,
    cases=18,
    affected=12,
    states={"changed": 6, "not recorded": 2, "unknown": 1, "other judging": 1, "recorded": 2, "unaffected": 4},
    live=True,
    behind=1,
    twice=3,
    varying=("a", "b"),
    changes=(
        FrequentChange("c", 4, RequestChange(1, RequestDifference(DifferenceKind.CHANGED, "model", "x", "y"), more=1)),
        FrequentChange("d", 1, RequestChange(of_judge=True)),
    ),
    more_changes=2,
    lacking_headers=2,
)


def test_a_replay_in_words() -> None:
    assert counts(FOUND) == (
        "12 of 18 cases affected (6 ask something else, 2 not recorded, 1 did not end, 1 to be judged again,"
        " 2 decided by recorded answers, 4 as recorded, 1 checked live, 1 behind on the target branch,"
        " 2 cases not replayed)"
    )
    assert list(details(FOUND)) == [
        "  send something new each time, of 3 cases replayed twice: a, b",
        "  4 cases, such as c: call 1: model: “x” → “y” and 1 more",
        "  1 case, such as d: judged otherwise: asks something else than is recorded",
        "  and 2 other differences",
        "  2 cases are compared without the headers that their recordings lack; --record them again",
    ]


def test_nothing_found_is_one_line() -> None:
    none = ReplaySummary(of=1, cases=1, affected=0, states={})
    assert (counts(none), list(details(none))) == ("0 of 1 case affected", [])
