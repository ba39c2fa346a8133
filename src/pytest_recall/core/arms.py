"""Arms: the agent under test and its baselines, side by side over the same cases of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pytest_recall.core.change import Change, Counts, change
from pytest_recall.core.series import graded
from pytest_recall.core.spend import Spend, spend_of
from pytest_recall.core.trial import Outcome, Trial
from pytest_recall.metrics.binomial import Interval, wilson

ALPHA = 0.05


class Arm(NamedTuple):
    """How one agent did. `counts` and `by_scenario` are by outcome; absent is not zero.

    `spend` is on the agent's own calls, without those of its judges, every attempt counted.
    `change` is from the agent under test to this one, over the cases with a verdict by both; None
    for the agent under test itself, and without such a case. `undecided` are the cases that came to
    no verdict, each with what it came to and why.
    """

    name: str
    counts: Mapping[str, int]
    by_scenario: Mapping[str, Mapping[str, int]]
    spend: Spend
    change: Change | None
    undecided: tuple[tuple[str, Outcome, str], ...]

    @property
    def passed(self) -> int:
        """How many cases passed."""
        return self.counts.get(Outcome.PASSED.value, 0)

    @property
    def verdicts(self) -> int:
        """How many cases came to a verdict."""
        return verdicts(self.counts)

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of the pass rate (Wilson); None without a verdict."""
        return wilson(self.passed, self.verdicts)


class SideBySide(NamedTuple):
    """The agent under test and its baselines, over the `cases` of which some baseline was asked.

    Of these, an agent has no count for those that were not put to it.
    """

    cases: int
    agent: Arm
    baselines: tuple[Arm, ...]

    @property
    def scenarios(self) -> list[str]:
        """The scenarios of all arms, sorted."""
        return sorted({scenario for arm in (self.agent, *self.baselines) for scenario in arm.by_scenario})


def verdicts(counts: Mapping[str, int]) -> int:
    """Return how many of these outcomes are verdicts."""
    return sum(count for name, count in counts.items() if Outcome(name).is_verdict)


def side_by_side(trials: Iterable[Trial], wanted: Iterable[str] = ()) -> SideBySide | None:
    """Return the agents of a run side by side; None if no baseline was asked.

    `wanted` are the baselines that were to be asked, in their order. Of several trials of a case
    the last one grades it, with a series all of it, as for the agent under test.
    """
    every = list(trials)
    asked = [trial.arm for trial in every if trial.arm]
    if not asked:
        return None
    names = list(dict.fromkeys([*wanted, *asked]))
    grading = {name: graded(every, name) for name in ("", *names)}
    cases = {case_id for name in names for case_id in grading[name]}
    own = {case_id: trial for case_id, trial in grading[""].items() if case_id in cases}

    def made(name: str) -> list[Trial]:
        return [trial for trial in every if trial.arm == name and trial.case_id in cases]

    return SideBySide(
        len(cases),
        _arm("", own, made(""), None),
        tuple(_arm(name, grading[name], made(name), _change(own, grading[name])) for name in names),
    )


def _arm(name: str, grading: Mapping[str, Trial], made: Sequence[Trial], changed: Change | None) -> Arm:
    scenarios: dict[str, Counter[str]] = {}
    for trial in grading.values():
        scenarios.setdefault(trial.scenario, Counter())[trial.outcome.value] += 1
    return Arm(
        name=name,
        counts=dict(Counter(trial.outcome.value for trial in grading.values())),
        by_scenario={scenario: dict(scenarios[scenario]) for scenario in sorted(scenarios)},
        spend=spend_of(call for trial in made for call in trial.calls if call.kind != "judge"),
        change=changed,
        undecided=tuple(
            (case_id, trial.outcome, trial.error)
            for case_id, trial in sorted(grading.items())
            if not trial.outcome.is_verdict
        ),
    )


def _change(own: Mapping[str, Trial], other: Mapping[str, Trial]) -> Change | None:
    pairs = [
        (trial.outcome is Outcome.PASSED, other[case_id].outcome is Outcome.PASSED)
        for case_id, trial in own.items()
        if case_id in other and trial.outcome.is_verdict and other[case_id].outcome.is_verdict
    ]
    counts = Counts(len(pairs), pairs.count((True, True)), pairs.count((True, False)), pairs.count((False, True)))
    return change(counts, ALPHA) if pairs else None
