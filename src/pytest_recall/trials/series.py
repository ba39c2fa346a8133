"""Bring several trials of one case to one verdict, and estimate how much of it is chance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from pytest_recall.cases.case import Case, k_of_n
from pytest_recall.cases.settings_fields import ratio_needed
from pytest_recall.files.wording import plural
from pytest_recall.metrics.intervals import Interval, pass_at_k, pass_hat_k, wilson
from pytest_recall.trials.detector import RatioRule
from pytest_recall.trials.execution import grading, undecided
from pytest_recall.trials.trial import Outcome, Row, SeriesTally, Trial, WeighedTrials


def graded(trials: Iterable[Trial], arm: str = "") -> dict[str, Trial]:
    """Return the trial that grades each case, by case id, in the order in which they began.

    That is the last one; of a series the last with the outcome that all of it comes to. A
    series that was cut off before it was decided has no verdict. `arm` is whose trials they are:
    those of a baseline say nothing of the agent under test, and are left out where it is empty.
    """
    return {case_id: _grade(last) for case_id, last in series(trials, arm).items()}


def series(trials: Iterable[Trial], arm: str = "") -> dict[str, list[Trial]]:
    """Return the trials of `arm` that count for each case: all of the last series, or the last one."""
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.arm != arm:
            continue
        known = found.get(trial.case_id)
        if not trial.rule or trial.repeat == 1 or known is None:
            found[trial.case_id] = [trial]
        elif known[-1].repeat == trial.repeat:
            known[-1] = trial  # Its end had something to say against it.
        else:
            known.append(trial)
    return found


def _grade(trials: list[Trial]) -> Trial:
    last = trials[-1]
    if not last.rule:
        return last
    rule = parse_rule(last.rule)
    outcomes = [trial.outcome for trial in trials]
    verdict = rule.decided(outcomes)
    if verdict is None or not verdict.is_verdict:
        counts = tuple((kind.value, outcomes.count(kind)) for kind in Outcome if kind in outcomes)
        ended = [trial for trial in trials if trial.error or trial.ended_by]
        tally = None if len(trials) == 1 and ended else SeriesTally(counts, cut_off=verdict is None)
        return undecided(last, verdict or Outcome.ERROR, ended[-1] if ended else None, tally)
    one = [trial for trial in trials if trial.outcome is verdict][-1]
    return grading(
        one,
        weighed=rule.weighed(outcomes),
        counts_for_schedule=all(trial.counts_for_schedule for trial in trials),
    )


class Repeats(NamedTuple):
    """The trials of one case.

    A trial without a verdict is not a fail: it is left out of all that follows.
    """

    case_id: str
    trials: int
    """How many came to a verdict."""
    passed: int
    """How many of these are passes."""
    undecided: int = 0
    """How many trials came to no verdict."""

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
    """All cases together: pass@k and pass^k as means over those that have `k` verdicts."""

    k: int
    cases: int
    """How many cases have `k` verdicts."""
    short: int
    """How many cases have fewer."""
    pass_at_1: float | None
    """Their mean pass rate; None if no case has `k` verdicts."""
    pass_at_k: float | None
    """None if no case has `k` verdicts."""
    pass_hat_k: float | None
    """None if no case has `k` verdicts."""
    coin_flips: int
    """How many of all cases neither always passed nor always failed."""


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


class Rule(NamedTuple):
    """How trials come to a verdict: `needed` of `tries` have to do what `ends` says.

    `pass 4of5` runs all five, and four of them must pass. `fail 2of3` takes the first pass for
    an answer, and asks up to three times whether a fail is one: two of them must fail.
    """

    ends: Literal["pass", "fail"]
    needed: int
    tries: int

    def __str__(self) -> str:
        return f"{self.ends} {self.written}"

    @property
    def name(self) -> str:
        """The rule as messages name it."""
        return str(self)

    def summary(self, failed: int, trials: int) -> str:
        """Return how many of its trials passed, and how many have to."""
        if self.ends == "fail":
            return f"failed {failed} of {plural(trials, 'trial')}"
        return f"{trials - failed} of {trials} trials passed ({self})"

    def decided(self, outcomes: Sequence[Outcome]) -> Outcome | None:
        """Return the verdict after `outcomes`, in their order; None while the case has to be asked again.

        Trials without a verdict decide nothing: where they leave it open, the series has none.
        """
        passes, fails = outcomes.count(Outcome.PASSED), outcomes.count(Outcome.FAILED)
        left = self.tries - len(outcomes)
        spare = self.tries - self.needed
        if self.ends == "pass":
            may_pass, may_fail = passes + left >= self.needed, fails + left > spare
            if left > 0 and (may_pass or may_fail):
                return None  # Also where it is decided: how often it passes is what was asked for.
            won, lost = passes >= self.needed, fails > spare
        else:
            won = passes > spare or (len(outcomes) == passes == 1)
            lost = fails >= self.needed
            may_win, may_lose = passes + left > spare, fails + left >= self.needed
            confirms = Outcome.FAILED in outcomes[:1]
            if not (won or lost) and left > 0 and confirms and (may_win or may_lose):
                return None
        if won or lost:
            return Outcome.PASSED if won else Outcome.FAILED
        rest = {outcome for outcome in outcomes if not outcome.is_verdict}
        return Outcome.SKIPPED if rest == {Outcome.SKIPPED} else Outcome.ERROR

    def weighed(self, outcomes: Sequence[Outcome]) -> WeighedTrials | None:
        """Return what the row of the case is to hear of the trials, beside their verdict: nothing."""
        return None

    def is_unconfirmed(self, outcomes: Sequence[Outcome]) -> bool:
        """Whether a fail is not confirmed: one that is not is none under this rule."""
        return False

    @property
    def written(self) -> str:
        """The rule as a person writes it."""
        return f"{self.needed}of{self.tries}"

    def about(self, row: Row | None) -> Rule:
        """Return the rule for the case with this row; one that is known to fail has nothing to confirm."""
        known = self.ends == "fail" and row is not None and row.failing
        return self._replace(needed=1, tries=1) if known else self

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Return the rule that `str` gave. Raises ValueError."""
        ends, _, counts = text.partition(" ")
        if ends not in ("pass", "fail"):
            raise ValueError(f"{text!r} is not a rule for a series")
        return cls(ends, *k_of_n(counts))  # type: ignore[arg-type]


AnyRule = Rule | RatioRule


def parse_rule(text: str) -> AnyRule:
    """Return the rule that `str` gave, of either kind. Raises ValueError."""
    return RatioRule.parse(text) if text.startswith("evidence ") else Rule.parse(text)


def confirming(confirm: str) -> AnyRule:
    """Return the rule that a rubric writes as `2of3` or `evidence:70`. Raises ValueError."""
    needed = ratio_needed(confirm)
    return Rule("fail", *k_of_n(confirm)) if needed is None else RatioRule(needed)


class TrialCount(NamedTuple):
    """How many trials a case takes in a run."""

    expected: int = 1
    """How many if its last verdict comes again."""
    most: int = 1
    """How many at most."""


def trial_count(rule: AnyRule | None, *, failing: bool) -> TrialCount:
    """Return how many trials a rule takes for a case whose last verdict was a fail, or was not."""
    if rule is None:
        return TrialCount()
    outcomes = [Outcome.FAILED if failing else Outcome.PASSED]
    while rule.decided(outcomes) is None:
        outcomes.append(outcomes[0])
    asks_again = rule.ends == "pass" or rule.decided([Outcome.FAILED]) is None
    return TrialCount(len(outcomes), rule.tries if asks_again else 1)


OF_CHANGE = Rule("fail", 2, 3)
"""How a fail of a case that a change affects is confirmed, under `confirm: evidence`.

The record of a case is about what it was before the change, and says nothing of how often it passes after it.
"""


def confirming_change(rule: AnyRule) -> AnyRule:
    """Return the rule for a case that a change affects, where `rule` is that of the others."""
    return OF_CHANGE if isinstance(rule, RatioRule) else rule


def rule_of(case: Case, confirm: str | None, row: Row | None, *, of_change: bool = False) -> AnyRule | None:
    """Return how several trials of a case come to a verdict, `confirm` being the rubric's; None if one is enough.

    `of_change` says that a change affects the case.
    """
    if case.trials != 1:
        count = case.trials
        needed, count = k_of_n(count) if isinstance(count, str) else (count, count)
        return Rule("pass", needed, count)
    if confirm is None:
        return None
    rule = confirming(confirm)
    return (confirming_change(rule) if of_change else rule).about(row)
