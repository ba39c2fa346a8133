"""Wanted: what the command line narrows a run to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_recall.files.errors import RecallError, nearest


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What the command line narrows a run to; empty is everything.

    `explicit` says that the person chose the cases, so that the schedule stands aside;
    `update` that the state is written all the same.
    """

    scenarios: tuple[str, ...] = ()
    dimensions: tuple[str, ...] = ()
    explicit: str = ""
    update: bool = False

    @property
    def narrows(self) -> bool:
        """Whether a case must be read to know if it is wanted."""
        return bool(self.scenarios or self.dimensions)

    def keeps(self, scenario: str, dimension: str) -> bool:
        """Whether a case of this scenario and dimension is wanted."""
        return (not self.scenarios or scenario in self.scenarios) and (
            not self.dimensions or dimension in self.dimensions
        )

    def check(self, scenarios: Iterable[str], dimensions: Iterable[str]) -> None:
        """Raise RecallError for a wanted name that no case has, with the nearest ones."""
        problems = [
            f"{option}: {name!r} is in no case{nearest(name, known)}"
            for option, names, known in (
                ("--scenarios", self.scenarios, set(scenarios)),
                ("--dimensions", self.dimensions, set(dimensions)),
            )
            for name in names
            if name not in known
        ]
        if problems:
            raise RecallError(*problems)
