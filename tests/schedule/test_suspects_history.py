"""On the history of a real project: how many changes are left as suspects of a case that broke."""

from __future__ import annotations

import gzip
import json
import os
from datetime import date
from math import comb
from pathlib import Path
from statistics import median

import pytest

from pytest_recall.schedule.suspects import Touches, with_touches
from pytest_recall.trials.trial import Row
from tests.helpers.samples import row

FOLDER = os.environ.get("RECALL_EVAL_HISTORY")
DAYS = 7


def fisher(before: tuple[int, int], after: tuple[int, int]) -> float:
    """Return how likely so few passes are after the change, of as many passes in all (Fisher's exact test, one-sided).

    Each is a count of passes and one of fails.
    """
    trials, others, passes = sum(before), sum(after), before[0] + after[0]
    ways = [comb(others, one) * comb(trials, passes - one) for one in range(after[0] + 1) if passes - one <= trials]
    return sum(ways) / comb(trials + others, passes)


@pytest.mark.parametrize(
    ("before", "after", "broke"),
    [((10, 0), (3, 7), True), ((10, 0), (4, 6), False), ((9, 1), (2, 8), True), ((9, 1), (3, 7), False)],
)
def test_what_a_broken_case_is(before: tuple[int, int], after: tuple[int, int], broke: bool) -> None:
    assert (fisher(before, after) < 0.005) is broke


@pytest.mark.skipif(not FOLDER, reason="RECALL_EVAL_HISTORY does not name the folder of the histories")
def test_most_broken_cases_have_one_suspect() -> None:
    """A pass on the main branch at least every seven days clears what is older, as the longest intervals are not."""
    rows: dict[str, Row] = {}
    days: dict[str, date] = {}
    found: list[tuple[str, ...]] = []
    others: list[int] = []
    with gzip.open(Path(FOLDER or "") / "copilot-chat.jsonl.gz", "rt", encoding="utf-8") as file:
        for plain in map(json.loads, file):
            change, today = plain["commit"], date.fromisoformat(plain["date"])
            if plain["source"]:
                days[change] = today
            changed = {str(case): rest for case, *rest in plain.get("changed", ())}
            affected = [case for case, (was, now, *_) in changed.items() if was != now and plain["source"]]
            rows |= {case: row() for case in changed if case not in rows}
            old = tuple(one for one, day in days.items() if (today - day).days >= DAYS)
            rows |= with_touches(rows, Touches(change, tuple(affected), dict.fromkeys(changed, old)))
            for case, (_, _, before, after) in changed.items():
                sound = before is not None and after is not None and before[0] >= 9 and sum(before) == 10
                if sound and fisher(before, after) < 0.005:
                    found.append(rows[case].touched)
                    others.append(len(days) - len(old))
                    assert change in rows[case].touched
    counts = [len(touched) for touched in found]
    print(f"{len(found)} broken cases: {median(counts):g} suspects in the median, {median(others):g} changes in {DAYS}")
    print(f"days; exactly one suspect: {counts.count(1) / len(counts):.0%}")
    assert len(found) >= 30
    assert median(counts) == 1
    assert counts.count(1) / len(counts) >= 0.75
    assert 0 not in counts
