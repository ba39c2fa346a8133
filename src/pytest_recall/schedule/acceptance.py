"""Have a failed answer count as a pass, once a person has accepted it as what the case expects."""

from __future__ import annotations

from pytest_recall.schedule.events import Event
from pytest_recall.schedule.suspects import change_of
from pytest_recall.trials.conditions import DIGITS, Conditions
from pytest_recall.trials.record import Header
from pytest_recall.trials.trial import Outcome, Trial

REASON = "accepted"


def acceptance(trial: Trial, header: Header, fingerprint: str, note: str) -> Event:
    """Return the event of an accepted answer: of a failed `trial`, of a case that has this `fingerprint` now.

    `note` says who has accepted it, and when. The fail is taken back: the lapse that it was, and the quarantine that
    the case was put into for it.
    """
    before = trial.row
    known = () if before is None or header.pr is not None else (*before.touched, change_of(header))
    under = Conditions.parse(trial.under)._replace(case=(fingerprint[:DIGITS],))
    return Event(
        trial.case_id,
        Outcome.PASSED,
        reason=REASON,
        pr=trial.pr,
        model=trial.model,
        under=str(under),
        cleared=tuple(filter(None, known)),
        accepted=note,
        lapses=0 if before is None else before.lapses,
    )
