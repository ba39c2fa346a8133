"""Propose the sizes of a rubric from a team's own set: how many cases it has, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from pytest_recall.files.wording import plural

SWEEP_NIGHTS = 6
"""Nights in which every case is asked, so that one that breaks by itself is noticed after half as many days."""
LEAST_NIGHT = 10
"""Cases that a night takes at least, as far as there are so many."""
MAX_DUE_CASES, NEW_TRAFFIC_SAMPLE, BOX_1_CASES = 25, 5, 25
CONFIRM = "evidence"
"""The rule that confirms fails; `benchmarks/schedule/play.py confirm` compares it with others."""
EXAMPLE_BUDGET = 10
"""US dollars in the line of a budget that is not proposed, because no price is known."""


class RecommendedLine(NamedTuple):
    """A setting as it is written, and why it is recommended."""

    name: str
    value: str
    why: str
    is_comment: bool = False
    """Whether it has to be filled in first."""

    @property
    def text(self) -> str:
        """The line in a rubric."""
        return f"{'# ' * self.is_comment}{self.name}: {self.value}"


def nightly_cases(cases: int) -> int:
    """Return how many of so many `cases` a night asks: a `SWEEP_NIGHTS`th, and `LEAST_NIGHT` at least."""
    return max(math.ceil(cases / SWEEP_NIGHTS), LEAST_NIGHT)


def recommended(cases: int, usd: float | None) -> list[RecommendedLine]:
    """Return the settings for so many `cases`; `usd` is what a trial of each costs together, None if not known."""
    nightly = nightly_cases(cases)
    nights = plural(math.ceil(cases / nightly), "night")
    return [
        RecommendedLine(
            "max_due_cases", str(MAX_DUE_CASES), "due cases in a pull request, beside those that its change affects"
        ),
        RecommendedLine("new_traffic_sample", str(NEW_TRAFFIC_SAMPLE), "never-seen cases in a run"),
        RecommendedLine(
            "box_1_cases", str(BOX_1_CASES), "cases in a pull request that failed lately or are new to the schedule"
        ),
        RecommendedLine("nightly_cases", str(nightly), f"of {cases:,} cases: each is asked within {nights}"),
        RecommendedLine(
            "confirm", CONFIRM, "a failed case is asked again; the fail counts if chance is an unlikely cause"
        ),
        _budget(cases, usd),
    ]


def _budget(cases: int, usd: float | None) -> RecommendedLine:
    if not usd:
        why = "US dollars that a run may spend; write what all cases cost once, which no run has shown yet"
        return RecommendedLine("budget", str(EXAMPLE_BUDGET), why, is_comment=True)
    amount = math.ceil(usd) if usd > 10 else math.ceil(usd * 100) / 100
    return RecommendedLine("budget", f"{amount:g}", f"US dollars that a run may spend: what {cases:,} cases cost once")


def aligned(lines: Sequence[RecommendedLine]) -> list[str]:
    """Return the lines of a rubric, each with why behind it."""
    width = max((len(line.text) for line in lines), default=0)
    return [f"{line.text:<{width}}  # {line.why}" for line in lines]


def block(cases: int, usd: float | None) -> str:
    """Return the part of a rubric that says what runs."""
    return "\n".join(["# What runs, and what it may cost.", *aligned(recommended(cases, usd))])
