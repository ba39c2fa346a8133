"""Repeats: a case that was tried several times, and how much of a verdict on it is a coin flip."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pytest_recall.core.trial import Outcome
from pytest_recall.metrics.binomial import Interval, wilson
from pytest_recall.metrics.passes import pass_at_k, pass_hat_k


class Repeats(NamedTuple):
    """The trials of one case: of `trials` verdicts `passed` are passes, `undecided` trials came to none.

    A trial without a verdict is no fail: it is left out of all that follows.
    """

    case_id: str
    trials: int
    passed: int
    undecided: int = 0

    @property
    def coin_flip(self) -> bool:
        """Whether the case neither always passed nor always failed."""
        return 0 < self.passed < self.trials

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of the case's pass rate (Wilson); None without a verdict."""
        return wilson(self.passed, self.trials)

    def at(self, k: int) -> float | None:
        """Return pass@k: the probability that one of `k` tries passes; None with fewer verdicts than `k`."""
        return pass_at_k(self.trials, self.passed, k)

    def hat(self, k: int) -> float | None:
        """Return pass^k: the probability that all of `k` tries pass; None with fewer verdicts than `k`."""
        return pass_hat_k(self.trials, self.passed, k)


class RepeatSummary(NamedTuple):
    """All cases together: pass@k and pass^k as means over the `cases` that have `k` verdicts.

    They are None if no case has, as is `pass_at_1`, their mean pass rate; `short` cases have
    fewer. `coin_flips` counts the cases, among all, that neither always passed nor always failed.
    """

    k: int
    cases: int
    short: int
    pass_at_1: float | None
    pass_at_k: float | None
    pass_hat_k: float | None
    coin_flips: int


def repeats(outcomes: Mapping[str, Iterable[Outcome]]) -> list[Repeats]:
    """Return the repeats of each case, by id, from the outcomes of its trials."""
    found = []
    for case_id in sorted(outcomes):
        every = list(outcomes[case_id])
        passed, failed = every.count(Outcome.PASSED), every.count(Outcome.FAILED)
        found.append(Repeats(case_id, passed + failed, passed, len(every) - passed - failed))
    return found


def summarize_repeats(found: Iterable[Repeats], k: int) -> RepeatSummary:
    """Return the summary of several cases for `k` tries. Raises ValueError for a `k` below 1."""
    every = list(found)
    at = [value for one in every if (value := one.at(k)) is not None]
    hat = [value for one in every if (value := one.hat(k)) is not None]
    return RepeatSummary(
        k=k,
        cases=len(at),
        short=len(every) - len(at),
        pass_at_1=sum(one.passed / one.trials for one in every if one.trials >= k) / len(at) if at else None,
        pass_at_k=sum(at) / len(at) if at else None,
        pass_hat_k=sum(hat) / len(hat) if hat else None,
        coin_flips=sum(one.coin_flip for one in every),
    )
