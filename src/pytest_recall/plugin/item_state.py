"""Hold what is known of an item that runs a case, from its collection to its last report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_recall.cases.case import Case
    from pytest_recall.plugin.prefetch import Prefetch
    from pytest_recall.replay.tape import Tape
    from pytest_recall.trials.execution import Result
    from pytest_recall.trials.run_stop import RunStop
    from pytest_recall.trials.series import AnyRule
    from pytest_recall.trials.trial import Answer, Outcome, Row, Trial


@dataclass(slots=True)
class ItemState:
    """The state of one item."""

    case_id: str
    outcome: Outcome
    """What its last attempt came to; an error from its begin until that is known."""
    case: Case | None = None
    """The row of a case file; None of a test with the mark."""
    arm: str = ""
    """The baseline that is asked; empty for the agent under test."""
    rule: AnyRule | None = None
    """How its trials come to one verdict; None where it is asked once."""
    outcomes: list[Outcome] | None = None
    """What the trials of its series came to so far; None where its case is asked once."""
    missed: bool = False
    """Whether a trial of its series asked for what is not recorded; of an item that asks a baseline."""
    prefetch: Prefetch | None = None
    """What was begun before its turn, with `--recall-concurrency`, from then to its end."""
    unpaid: bool = False
    """Whether there was no money for it."""
    unasked: RunStop | None = None
    """Why its provider was not asked any more."""
    tape: Tape | None = None
    """The cassette of its last attempt, until its protocol has ended."""
    calling: bool = False
    """Whether it is being called, so that what is reported of it is a subtest."""
    subtests: list[Result] = field(default_factory=list)
    """What the subtests of its last call came to that did not pass."""
    imposed: list[BaseException] = field(default_factory=list)
    """What pytest or a plugin has failed its last call with, and not the test itself."""
    answer: Answer | None = None
    """The answer of its last call, as soon as there is one, also if no judge came to a verdict on it."""
    result: Result | None = None
    """What its last call came to, if it got as far as a verdict."""
    trial: Trial | None = None
    """The trial of its last attempt, until its protocol has ended."""
    unreported: bool = False
    """Whether its call has ended, and no report was made of it yet."""
    raised: BaseException | None = None
    """What that call raised."""
    apart: str = ""
    """Why its last fail does not fail the run; empty if it does."""
    unproven: str = ""
    """Why its last fail counts for nothing; empty if it counts."""
    pending: list[str] = field(default_factory=list)
    """Its trials, as JSON, that are on no report yet that pytest has shown."""
    reported: str = ""
    """The outcome on the report of its call when its trial was put there; empty without a trial."""

    def is_regression(self, row: Row) -> bool:
        """Whether its last trial, if that failed, counts as a fail of a case that passed at the verdict in the row."""
        if self.trial is None or row.failing or row.quarantined is not None or self.trial.unproven:
            return False
        return self.rule is None or not self.rule.is_unconfirmed([*(self.outcomes or ()), self.trial.outcome])
