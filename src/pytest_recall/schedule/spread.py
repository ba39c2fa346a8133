"""Order the cases that a change affects, so that money that is short reaches each difference of requests first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from pytest_recall.files.wording import dollars
from pytest_recall.schedule.selection import shuffle_key

if TYPE_CHECKING:
    from pytest_recall.schedule.changes import Changes

_MICRO = 1_000_000  # Amounts are added up as whole millionths of a dollar, so that no order of them differs.


def in_turns(cases: Mapping[str, str], seed: str) -> list[str]:
    """Return `cases`, which map to the difference of their requests, in rounds of one case of each difference.

    Differences of more cases come first; the rest is drawn by `seed`.
    """
    groups: dict[str, list[str]] = {}
    for case_id in sorted(cases, key=lambda case_id: shuffle_key(seed, case_id)):
        groups.setdefault(cases[case_id] or case_id, []).append(case_id)
    order = sorted(groups, key=lambda key: (-len(groups[key]), shuffle_key(seed, key)))
    longest = max(map(len, groups.values()), default=0)
    return [groups[key][turn] for turn in range(longest) for key in order if turn < len(groups[key])]


def beyond(changes: Changes, case_ids: Collection[str], budget: float, seed: str) -> dict[str, str]:
    """Return the affected cases for which `budget` US dollars do not suffice, each with why.

    A case costs what its recording has cost, and one without a price what the others do in the mean. None is beyond
    the budget where no price is known.
    """
    asked = {case_id: changes.found[case_id].key for case_id in changes.reasons if case_id in case_ids}
    prices = {case_id: usd for case_id in asked if (usd := changes.found[case_id].usd) is not None}
    if not prices:
        return {}
    mean = _micro(prices.values()) // len(prices)
    left, reached = round(budget * _MICRO), set[str]()
    for case_id in in_turns(asked, seed):
        left -= _micro([prices[case_id]]) if case_id in prices else mean
        if left < 0:
            break
        reached.add(case_id)
    why = f"the budget of {dollars(budget)} does not reach it"
    return {case_id: why for case_id in asked if case_id not in reached}


def _micro(amounts: Iterable[float]) -> int:
    return sum(round(amount * _MICRO) for amount in amounts)
