"""Recommended: the settings of a rubric that are proposed to a team, with sizes for its own cases."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from pytest_recall.core.sizing import Proposal

SHOWN = 8
"""Tags that are listed, each with a place for its paths."""


class Line(NamedTuple):
    """A setting as it is written, and why it is recommended."""

    name: str
    value: str
    why: str

    @property
    def text(self) -> str:
        """The line in a rubric."""
        return f"{self.name}: {self.value}"


def settings(sizes: Proposal, cases: int) -> list[Line]:
    """Return the settings that are recommended for so many `cases`."""
    known = f" of {cases:,}" if cases > sizes.slice else ""
    return [
        Line("policy", "lottery", "a pull request runs a fixed number of cases, those first that its change touches"),
        Line("slice_cases", str(sizes.slice), f"cases{known} in a pull request"),
        Line("nightly_cases", str(sizes.nightly), f"cases{known} in a night"),
        Line("max_verdict_age", str(sizes.stalest), "days; a night runs what is older first, and has room for it"),
        Line(
            "confirm", "2of3", "a fail is asked again, so that a verdict that is now and then wrong turns nothing red"
        ),
    ]


def near(tags: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield the lines, commented out, that say which paths belong to which tag."""
    yield "# Which paths belong to which tags of the cases, as in .gitignore; what a change touches is told by it."
    yield "# near:"
    largest = sorted(tags, key=lambda tag: (-len(tags[tag]), tag))
    for tag in largest[:SHOWN] or ["fees"]:
        yield f"#   {tag}: [src/{tag}/]"


def block(sizes: Proposal, cases: int, tags: Mapping[str, Collection[str]]) -> str:
    """Return the part of a rubric that says what runs, and how to get the boxes alone."""
    lines = settings(sizes, cases)
    width = max(len(line.text) for line in lines)
    told = [f"{line.text:<{width}}  # {line.why}" for line in lines]
    return "\n".join(
        [
            "# What runs; `recall simulate` says what it comes to. For the boxes alone, as first published, write",
            "# `policy: literal` in place of these five lines, and `state: always` under `with:` in the workflow.",
            *told,
            *near(tags),
        ]
    )
