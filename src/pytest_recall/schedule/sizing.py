"""Propose how many cases a pull request and a nightly run take, with settings for a team."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

STALE_DAYS = 14
"""A night takes one in so many cases, so that no verdict is older, also if pull requests had no part in it."""
ENOUGH = 0.9
"""How likely a proposed slice is to have a broken case, if the tags tell the part that is broken."""
LEAST, MOST = 25, 100
"""The smallest and the largest slice that is proposed; a larger one is for the team to decide on."""
LEAST_NIGHT = 10
BUDGET = "{per_day: 1, carry_days: 7}"
"""What affected cases may cost, as `docs/schedule.md` has measured it: 20 trials a day, and a week's worth for one."""
WRONG = 0.006
"""The share of confirmed fails of sound cases that is let be: of 800, of which a night asks 58, 0.35 a day go back."""


class Proposal(NamedTuple):
    """Sizes for a rubric with `policy: lottery`, and what they come to.

    `caught` is the share of bad pull requests, 0..1, that are expected to fail by themselves, and `most` what no
    larger slice exceeds by much, since tags do not tell all that a change touches.
    """

    slice: int
    nightly: int
    stalest: int
    caught: float
    most: float


def proposal(
    tags: Mapping[str, Collection[str]], cases: int, breaks: int, recall: float, near_share: float
) -> Proposal:
    """Return sizes for so many `cases`, of which `tags` has those that a change of a part of the code touches.

    A bad pull request breaks `breaks` cases of a part, all parts alike, that the tags tell with the chance `recall`.
    The slice is the smallest, in steps of 5, that is `ENOUGH` where they do.
    """
    sizes = range(LEAST, MOST + 1, 5)
    enough = (size for size in sizes if _told(tags, size, breaks, near_share) >= ENOUGH)
    size = next(enough, MOST) if tags else LEAST
    told, blind = _told(tags, size, breaks, near_share), _hit(size, cases, breaks)
    recall = recall if tags else 0.0
    nightly = max(math.ceil(cases / STALE_DAYS), LEAST_NIGHT)
    return Proposal(size, nightly, STALE_DAYS, recall * told + (1 - recall) * blind, recall + (1 - recall) * blind)


def _told(tags: Mapping[str, Collection[str]], size: int, breaks: int, near_share: float) -> float:
    """Return the chance that a slice has a broken case of a part that is told, over all parts."""
    chances = [_hit(round(size * near_share), len(ids), breaks) for ids in tags.values()]
    return sum(chances) / len(chances) if chances else 0.0


def _hit(drawn: int, of: int, broken: int) -> float:
    """Return the chance that of `drawn` cases one at least is among the `broken` ones `of` all."""
    drawn, broken = min(drawn, of), min(broken, of)
    if not of or not broken:
        return 0.0
    return 1 - math.comb(of - broken, drawn) / math.comb(of, drawn)


def proposed_confirm(flaky: float) -> str:
    """Return how a fail should be confirmed, where `flaky` is the share of verdicts on sound cases that are wrong.

    `2of3` is wrong with a fail and another one of up to two more; where that is too often, `3of3`, which finds a case
    later that fails half of the time.
    """
    return "2of3" if flaky * (1 - (1 - flaky) ** 2) <= WRONG else "3of3"


SHOWN = 8
"""Tags that are listed, each with a place for its paths."""


class RecommendedLine(NamedTuple):
    """A setting as it is written, and why it is recommended."""

    name: str
    value: str
    why: str

    @property
    def text(self) -> str:
        """The line in a rubric."""
        return f"{self.name}: {self.value}"


def settings(sizes: Proposal, cases: int) -> list[RecommendedLine]:
    """Return the settings that are recommended for so many `cases`."""
    known = f" of {cases:,}" if cases > sizes.slice else ""
    return [
        RecommendedLine(
            "policy", "affected", "a pull request runs all cases that a replay finds affected by its change"
        ),
        RecommendedLine(
            "budget", BUDGET, "US dollars a day for these, and for how many days the rest is kept; others are deferred"
        ),
        RecommendedLine(
            "slice_cases", str(sizes.slice), f"cases{known} in a pull request, drawn ones where fewer are affected"
        ),
        RecommendedLine("nightly_cases", str(sizes.nightly), f"cases{known} in a night"),
        RecommendedLine(
            "max_verdict_age", str(sizes.stalest), "days; a nightly run asks cases with older verdicts first"
        ),
        RecommendedLine(
            "state", "events", "each run adds a file, so that branches which keep their state do not conflict"
        ),
        RecommendedLine(
            "confirm", "evidence", "a failed case is asked again; the fail counts if chance is an unlikely cause"
        ),
    ]


def near(tags: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield the lines, commented out, that say which paths belong to which tag."""
    yield "# Maps paths, as in .gitignore, to the tags of the cases; a change of such a path touches those cases."
    yield "# near:"
    largest = sorted(tags, key=lambda tag: (-len(tags[tag]), tag))
    for tag in largest[:SHOWN] or ["fees"]:
        yield f"#   {tag}: [src/{tag}/]"


def aligned(lines: Sequence[RecommendedLine]) -> list[str]:
    """Return the lines of a rubric, each with why behind it."""
    width = max((len(line.text) for line in lines), default=0)
    return [f"{line.text:<{width}}  # {line.why}" for line in lines]


def block(sizes: Proposal, cases: int, tags: Mapping[str, Collection[str]]) -> str:
    """Return the part of a rubric that says what runs, and how to get the boxes alone."""
    return "\n".join(
        [
            "# What runs; `recall schedule simulate` shows the effect. `policy: lottery` draws a fixed number of",
            "# cases instead, by tags if `near` names their paths. For the boxes alone, as first published, write",
            "# `policy: literal` in place of these seven lines.",
            *aligned(settings(sizes, cases)),
            *near(tags),
        ]
    )
