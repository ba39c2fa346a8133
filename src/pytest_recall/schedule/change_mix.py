"""Take a simulation's changes, the cases that each affects and the flake of cases from real histories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import NamedTuple

from pytest_recall.files.wording import percent, plural
from pytest_recall.schedule.change_history import ChangeHistory, flake_of, sized
from pytest_recall.schedule.history import Setting

ALWAYS_PASSED = 0.005
"""How often a case is taken to fail that always passed in its history: ten passes do not say never."""


class Reach(NamedTuple):
    """What a change did: the share of all cases that it affected, 0..1, and how many sound ones it broke."""

    affected: float
    broken: int


class ChangeMix(NamedTuple):
    """The changes of some histories, of which each is as often drawn from, and how often cases fail that are sound.

    `counted` says that all of them know what a change broke. `flakes` has a share, 0..1, for each sound case of the
    counted ones; empty without any.
    """

    histories: tuple[tuple[Reach, ...], ...]
    counted: bool
    flakes: tuple[float, ...]

    @property
    def touching(self) -> float:
        """The share of changes, 0..1, that touch a request."""
        return _mean([_mean([one.affected > 0 for one in history]) for history in self.histories])

    def reaching(self, least: int, cases: int) -> float:
        """Return the share of changes, 0..1, that affect at `least` so many of so many `cases`."""
        return _mean([_mean([ceil(one.affected * cases) >= least for one in history]) for history in self.histories])

    @property
    def bad(self) -> float:
        """The share of changes, 0..1, that broke sound cases."""
        return _mean([_mean([one.broken > 0 for one in history]) for history in self.histories])

    @property
    def breaks(self) -> float | None:
        """How many cases a bad change broke, in the mean; None if none did."""
        broken = [one.broken for history in self.histories for one in history if one.broken]
        return _mean(broken) if broken else None


def mix_of(histories: Sequence[ChangeHistory]) -> ChangeMix:
    """Return the mix of `histories`, of which there has to be one at least; changes that play no part are left out."""
    reaches = []
    for history in histories:
        told = [
            Reach(min(len(change.affected) / size, 1.0) if size else 0.0, sum(one.is_broken for one in change.changed))
            for change, size in sized(history)
            if change.is_played
        ]
        reaches.append(tuple(told))
    flakes = [max(share, ALWAYS_PASSED) for history in histories for share in flake_of(history).values()]
    return ChangeMix(tuple(reaches), all(history.counted for history in histories), tuple(sorted(flakes)))


TAKEN: Mapping[str, str] = {"bad": "--bad", "breaks": "--breaks", "flaky": "--flaky"}
"""What a mix may know, and the option for it."""


def taken(mix: ChangeMix) -> dict[str, Setting]:
    """Return what holds by the mix, by the names in `TAKEN`; what it does not know is left out."""
    found = {}
    changes = plural(sum(map(len, mix.histories)), "change")
    if mix.counted:
        found["bad"] = Setting(mix.bad, "measured", changes)
        found["breaks"] = Setting(mix.breaks, "measured", "the mean; each bad change breaks as many as it did")
    if mix.flakes:
        cases = plural(len(mix.flakes), "sound case")
        told = f"the mean of {cases}, {percent(ALWAYS_PASSED)} for those that always passed"
        found["flaky"] = Setting(_mean(mix.flakes), "measured", told)
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
