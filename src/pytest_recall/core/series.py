"""Series: several trials of one case in one run, and the one verdict that they come to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from pytest_recall.core.trial import Outcome, Trial

MAX_COUNT = 100
_WRITTEN = re.compile(r"([1-9][0-9]{0,2})of([1-9][0-9]{0,2})")


class Rule(NamedTuple):
    """How trials come to a verdict: `needed` of `tries` have to do what `ends` says.

    `pass 4of5` runs all five, and four of them must pass. `fail 2of3` takes the first pass for
    an answer, and asks up to three times whether a fail is one: two of them must fail.
    """

    ends: Literal["pass", "fail"]
    needed: int
    tries: int

    def __str__(self) -> str:
        return f"{self.ends} {self.needed}of{self.tries}"

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

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Return the rule that `str` gave. Raises ValueError."""
        ends, _, counts = text.partition(" ")
        if ends not in ("pass", "fail"):
            raise ValueError(f"{text!r} is no rule for a series")
        return cls(ends, *k_of_n(counts))  # type: ignore[arg-type]


def k_of_n(text: str) -> tuple[int, int]:
    """Return the numbers of `2of3`. Raises ValueError."""
    match = _WRITTEN.fullmatch(text)
    needed, count = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= needed <= count <= MAX_COUNT:
        raise ValueError(f"write `2of3`: how many of how many, at most {MAX_COUNT}")
    return needed, count


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
    rule = Rule.parse(last.rule)
    outcomes = [trial.outcome for trial in trials]
    verdict = rule.decided(outcomes)
    if verdict is None or not verdict.is_verdict:
        told = ", ".join(f"{outcomes.count(kind)} {kind}" for kind in Outcome if kind in outcomes)
        ended = "was cut off" if verdict is None else "came to no verdict"
        told = f"{rule} {ended}: {told}"
        reasons = [trial.error for trial in trials if trial.error]
        error = f"{told} ({reasons[-1]})" if reasons else told
        return last._replace(outcome=verdict or Outcome.ERROR, verdicts=(), error=error, evidence=False)
    one = [trial for trial in trials if trial.outcome is verdict][-1]
    return one._replace(evidence=all(trial.evidence for trial in trials))
