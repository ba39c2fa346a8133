"""Moved: cases that have another id now, known by what they do, and the row that one of them goes on with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from pytest_recall.core.conditions import DIGITS
from pytest_recall.core.inferred import last_step, replayed
from pytest_recall.core.row import Row

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
    return replayed(old, [last_step(new)]) or old
