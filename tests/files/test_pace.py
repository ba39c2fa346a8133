"""How fast something goes, and when it ends."""

from __future__ import annotations

import pytest

from pytest_recall.files.pace import BRIEF, FEW, Pace, ProgressLines, about


@pytest.mark.parametrize(
    ("seconds", "done", "left", "told"),
    [
        (100, 200, 1000, ", 2.0 per second, about 8 min left"),
        (600, 20, 100, ", 2.0 per minute, about 50 min left"),
        (BRIEF / 2, 200, 1000, ""),
        (100, FEW - 1, 1000, ""),
        (100, 200, 0, ""),
    ],
)
def test_a_rate_and_the_time_that_is_left(seconds: float, done: int, left: int, told: str) -> None:
    times = iter([5.0, 5.0 + seconds])
    assert Pace(lambda: next(times)).text(done, left) == told


def test_a_line_in_each_ten_seconds_has_what_was_done_before_and_the_rate_of_now() -> None:
    time, told = [0.0], list[str]()
    progress = ProgressLines("answers judged", 10, 6, told.append, lambda: time[0])
    for time[0] in (4, 9, 11, 12, 20, 40):
        progress.step()
    assert told == [
        "7 of 10 answers judged, 16.4 per minute, less than 1 min left",
        "10 of 10 answers judged",
    ]


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(20, "less than 1 min"), (60, "about 1 min"), (3600, "about 1 h"), (5400, "about 1 h 30 min")],
)
def test_an_estimate_is_in_whole_minutes(seconds: float, told: str) -> None:
    assert about(seconds) == told
