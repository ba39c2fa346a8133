"""Combine the votes of judging models, with an appeal and checks of passes, into one verdict."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import one_line
from pytest_recall.judges.judge_call import Inquiry, Seat, Undecided
from pytest_recall.models.model import Model
from pytest_recall.trials.trial import AppealCause, Judgement, Verdict, Vote, majority, middle

AUDITED = 0.05
"""The share of passes that an appellate judge checks in the runs of an eval set."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Who judges, and when someone else looks at it again."""

    judges: tuple[Model, ...]
    appellate: Model | None = None
    audit: float = 0.0
    """A share of the passes, drawn by `seed`."""
    seed: str = ""

    @property
    def name(self) -> str:
        """The primary judges in one text."""
        return " + ".join(judge.name for judge in self.judges)

    @property
    def roles(self) -> dict[str, Model]:
        """All models that may be asked, by their roles."""
        several = len(self.judges) > 1
        found = {f"judge {place}" if several else "judge": one for place, one in enumerate(self.judges, start=1)}
        return found if self.appellate is None else found | {"appellate judge": self.appellate}

    def decide(self, inquiry: Inquiry, case_id: str, judge: str) -> Verdict:
        """Return the verdict on what `inquiry` asks. Raises Undecided where there is none.

        More than half of the votes pass, so that a tie is a fail; the score is their median. A
        vote that came to nothing is missing, and there is no verdict while it could change the
        result. The appellate judge's verdict takes the place of the primary one. If it cannot be
        had, a primary that was appealed against is no verdict either; one that is only audited stands.
        """
        failures: list[RecallError] = []
        votes = tuple(heard(inquiry, Seat(model=model), failures) for model in self.judges)
        primary = majority(votes)
        if primary is None:
            raise Undecided(_missing(votes)) from failures[0]
        verdict = Verdict(
            passed=primary,
            score=middle(votes),
            reason=_reason(votes, primary),
            model=self.name,
            version=inquiry.version,
            judgement=Judgement(votes=votes),
        )
        cause = self._cause(primary, f"{judge}/{case_id}")
        if cause is None or self.appellate is None:
            return verdict
        appeal = heard(inquiry, Seat(model=self.appellate), failures)
        judgement = Judgement(votes=votes, appeal=appeal, cause=cause)
        if appeal.passed is None:
            if cause != "audit":
                first = f"{self.name} failed it ({one_line(verdict.reason, 120)})"
                raise Undecided(f"{first}, and the appeal gave no verdict: {appeal.error}") from failures[-1]
            return replace(verdict, judgement=judgement)
        before = f"{self.name} {'passed' if primary else 'failed'} it"
        said = "agrees" if appeal.passed is primary else "does not agree"
        return Verdict(
            passed=appeal.passed,
            score=appeal.score,
            reason=f"{appeal.reason} ({before}, and {self.appellate.name} {said})",
            model=self.appellate.name,
            version=inquiry.version,
            judgement=judgement,
        )

    def _cause(self, passed: bool, key: str) -> AppealCause | None:
        """Return why the appellate judge is asked, or None if it is not."""
        if not passed:
            return "failed"
        return "audit" if drawn(key, self.seed, self.audit) else None


def drawn(key: str, seed: str, share: float) -> bool:
    """Whether `key` is in a sample of `share`, in any order and any company."""
    digest = hashlib.sha256(f"{seed}\0{key}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64 < share


def heard(inquiry: Inquiry, seat: Seat, failures: list[RecallError]) -> Vote:
    """Return the vote, or one that came to nothing and says why, which `failures` are added to."""
    try:
        return seat.signed(inquiry.hear(seat))
    except RecallError as error:
        failures.append(error)
        return seat.signed(Vote(error=one_line(str(error), 300)))


def _missing(votes: Sequence[Vote]) -> str:
    lost = [vote for vote in votes if vote.passed is None]
    told = lost[0].error
    if len(votes) == 1:
        return told
    return f"{len(lost)} of {len(votes)} votes came to nothing, and they could decide: {told}"


def _reason(votes: Sequence[Vote], passed: bool) -> str:
    """Return the reason of the vote that stands for the majority, with the spread if there are several."""
    if len(votes) == 1:
        return votes[0].reason
    told = next(vote.reason for vote in votes if vote.passed is passed)
    scores = [vote.score for vote in votes if vote.score is not None]
    passes = sum(vote.passed is True for vote in votes)
    lost = sum(vote.passed is None for vote in votes)
    absent = f", {lost} came to nothing" if lost else ""
    return f"{passes} of {len(votes)} votes pass{absent}, scores {min(scores):.2f} to {max(scores):.2f}: {told}"
