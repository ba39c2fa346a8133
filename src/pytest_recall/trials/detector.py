"""Compute from a case's trials the likelihood ratio of a lower pass rate to its usual one.

The ratio runs over all trials of a case: of passing 40 % as often against passing at the case's own rate, and never
under 1 (the cumulative sum of Page 1954, Biometrika 41:100, in other units). A rubric calls it `evidence`. A case with
no fail on record is assumed to fail in 0.5 % of its trials.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from pytest_recall.trials.trial import Outcome, Row, WeighedTrials

SHARE = 0.4
"""How often a case that has regressed is taken to pass, as a share of how often it did."""
ASSUMED = 0.005
"""How often a case is taken to fail of which no fail is on record."""
WEIGHT = 5
"""As how many trials the assumed rate counts beside those on record."""
MOST_FLAKY = 0.5
"""No case is taken for sound that fails more often than this."""
RERUNS = 3
"""How often a fail is asked again in a run, at most."""
MOST_RATIO = 1e6
"""A higher ratio than this is not kept: it says nothing more."""

_RULE = re.compile(
    r"evidence ([1-9][0-9]{0,5}) from ([0-9]{1,9}(?:\.[0-9]{1,2})?), ([0-9]{1,9}) of ([0-9]{1,9}) failed"
)


class CaseLikelihood(NamedTuple):
    """What the trials of a case say.

    Those of a case that is known to fail are not on record: they say nothing of how often it fails while it is sound.
    """

    ratio: float = 1.0
    """The likelihood ratio that the case has regressed."""
    failed: int = 0
    """How many trials on record failed."""
    tried: int = 0
    """How many trials are on record."""

    @classmethod
    def of(cls, row: Row | None) -> CaseLikelihood:
        """Return what a row has."""
        return NOTHING if row is None else cls(row.evidence, row.failed, row.tried)

    @property
    def fields(self) -> dict[str, Any]:
        """The same as the fields of a row, which has the ratio by its name in files."""
        return {"evidence": self.ratio, "failed": self.failed, "tried": self.tried}

    @property
    def flake(self) -> float:
        """How often the case fails while it is sound, 0..1."""
        found = (self.failed + ASSUMED * WEIGHT) / (self.tried + WEIGHT)
        return min(max(found, ASSUMED), MOST_FLAKY)

    def after(self, passes: Iterable[bool], needed: float) -> CaseLikelihood:
        """Return what is known after the trials of a run, in their order.

        The case's own rate is that before them: they are not to explain themselves. One fail is worth half of what
        is needed at most, so that none is enough by itself.
        """
        rate = 1 - self.flake
        fail = min((1 - SHARE * rate) / (1 - rate), needed / 2)
        ratio, failed, tried = self
        for passed in passes:
            ratio = max(ratio * (SHARE if passed else fail), 1.0)
            failed, tried = failed + (not passed), tried + 1
        return CaseLikelihood(round(min(ratio, MOST_RATIO), 2), failed, tried)


NOTHING = CaseLikelihood()
"""What is known of a case that was never asked."""


def had_passed(failed: int, tried: int) -> str:
    """Return how many of the trials of a case had passed while it was sound."""
    return f"it had passed {tried - failed:,} of {tried:,}"


class RatioRule(NamedTuple):
    """How the trials of a case come to a verdict by its likelihood ratio.

    A pass at first is one. A fail is asked again: it is a fail once the ratio is reached, and a pass once it is 1
    again. If neither is so after `RERUNS`, the fail is not confirmed.
    """

    needed: int
    """The ratio that a fail needs."""
    known: CaseLikelihood = NOTHING
    """What is known of the case at the beginning."""

    @property
    def ends(self) -> str:
        """What a series ends with before all its trials: a fail has to be confirmed, and a pass counts."""
        return "fail"

    @property
    def tries(self) -> int:
        """How often a case is asked at most."""
        return 1 + RERUNS

    @property
    def written(self) -> str:
        """The rule as a person writes it."""
        return f"evidence:{self.needed}"

    def about(self, row: Row | None) -> RatioRule:
        """Return the rule for the case with this row; one that is known to fail has nothing to confirm."""
        known = CaseLikelihood.of(row)
        return self._replace(
            known=known._replace(ratio=float(self.needed)) if row is not None and row.failing else known
        )

    @property
    def name(self) -> str:
        """The rule as messages name it."""
        return "confirmation"

    def summary(self, failed: int, trials: int) -> str:
        """Return how many of its trials failed, and how many had passed before while the case was sound."""
        now = f"failed {failed:,} of {trials:,}"
        if not self.known.tried:
            return now
        return f"{now}; {had_passed(self.known.failed, self.known.tried)}"

    def __str__(self) -> str:
        ratio, failed, tried = self.known
        return f"evidence {self.needed} from {ratio:.2f}, {failed} of {tried} failed"

    @classmethod
    def parse(cls, text: str) -> RatioRule:
        """Return the rule that `str` gave. Raises ValueError."""
        if (match := _RULE.fullmatch(text)) is None:
            raise ValueError(f"{text!r} is not a rule for a series")
        needed, ratio, failed, tried = match.groups()
        return cls(int(needed), CaseLikelihood(float(ratio), int(failed), int(tried)))

    def after(self, outcomes: Iterable[Outcome]) -> CaseLikelihood:
        """Return what is known of the case after `outcomes`; those that are no verdict say nothing."""
        return self.known.after((one is Outcome.PASSED for one in outcomes if one.is_verdict), self.needed)

    def decided(self, outcomes: Sequence[Outcome]) -> Outcome | None:
        """Return the verdict after `outcomes`, in their order; None while the case has to be asked again.

        It is a fail also where that is not confirmed.
        """
        if not outcomes:
            return None
        if outcomes[0] is not Outcome.FAILED:
            return outcomes[0]
        if self._confirms(outcomes):
            return Outcome.FAILED
        if len(outcomes) > 1 and self.after(outcomes).ratio <= 1:
            return Outcome.PASSED
        if len(outcomes) <= RERUNS:
            return None
        return Outcome.FAILED if all(one.is_verdict for one in outcomes) else Outcome.ERROR

    def weighed(self, outcomes: Sequence[Outcome]) -> WeighedTrials:
        """Return what the row of the case is to hear of the trials, beside their verdict."""
        passes = tuple(one is Outcome.PASSED for one in outcomes if one.is_verdict)
        return WeighedTrials(passes, self.needed, self.is_unconfirmed(outcomes))

    def is_unconfirmed(self, outcomes: Sequence[Outcome]) -> bool:
        """Whether a series that is decided, and began with a fail, is none."""
        return self.decided(outcomes) is Outcome.FAILED and not self._confirms(outcomes)

    def _confirms(self, outcomes: Sequence[Outcome]) -> bool:
        return outcomes[-1] is Outcome.FAILED and self.after(outcomes).ratio >= self.needed
