"""Warm-up: how long it takes until a new set has been asked once, and the schedule can go by its verdicts."""

from __future__ import annotations

import math
from datetime import date, timedelta
from typing import NamedTuple

from pytest_recall.core.rubric import Rubric

MANY = 10
"""Pull requests that a set may take to be known before another way is proposed."""


class WarmUp(NamedTuple):
    """What a set takes to be known: of `total` cases `unseen` have no verdict.

    `runs` is for pull requests alone, and `nights` for nights alone, which are over on the day `until`; None for never.
    """

    unseen: int
    total: int
    runs: int | None
    nights: int | None
    until: date | None


def warm_up(unseen: int, total: int, rubric: Rubric, today: date) -> WarmUp | None:
    """Return what it takes until all cases are known; None where most are, or soon will be."""
    if rubric.policy == "lottery":
        a_run, a_night = rubric.slice_cases, rubric.nightly_cases or unseen
    else:
        a_run = a_night = rubric.new_traffic_sample
    runs, nights = (math.ceil(unseen / count) if count else None for count in (a_run, a_night))
    if 2 * unseen <= total or (runs is not None and runs <= MANY):
        return None
    return WarmUp(unseen, total, runs, nights, None if nights is None else today + timedelta(days=nights))
