"""Find cases that have another id now, and have their rows go on under it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from pytest_recall.schedule.boxes import review
from pytest_recall.schedule.suspects import joined
from pytest_recall.trials.conditions import DIGITS
from pytest_recall.trials.detector import MOST_RATIO
from pytest_recall.trials.execution import assumed_trial
from pytest_recall.trials.trial import Outcome, Row

_CASE = re.compile(r"\bcase=([0-9a-f]+)")


def moved(rows: Mapping[str, Row], gone: Iterable[str], fingerprints: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return which of the ids that are `gone` are likely new ones now, as (old, new).

    `fingerprints` are those of cases without a row, by id. A row knows that of its last pass. Where several have the
    same one, as copies do, nothing is told.
    """
    old = {case_id: found[1] for case_id in gone if (found := _CASE.search(rows[case_id].passed_under or ""))}
    new = {case_id: text[:DIGITS] for case_id, text in fingerprints.items() if text}
    often = Counter(old.values()), Counter(new.values())
    by_print = {text: case_id for case_id, text in new.items()}
    return sorted(
        (case_id, by_print[text])
        for case_id, text in old.items()
        if text in by_print and often[0][text] == often[1][text] == 1
    )


def continued(old: Row, new: Row | None) -> Row:
    """Return the row of a case under its new id: that under the old one, and the verdict that it has had since."""
    if new is None or new.last_tested < old.last_tested:
        return old
    outcome = Outcome.FAILED if new.failing else Outcome.PASSED
    verdict = assumed_trial("", outcome, new.failure_note or "", pr=new.last_pr, model=new.last_model)
    row = review(old, verdict, new.last_tested) or old
    tried, failed = old.tried + new.tried, old.failed + new.failed
    # What is known to fail has nothing left to confirm.
    evidence = 1.0 if row.failing else round(min(old.evidence * new.evidence, MOST_RATIO), 2)
    touched = joined(old.touched, new.touched)
    return row._replace(touched=touched, evidence=evidence, failed=failed, tried=tried)
