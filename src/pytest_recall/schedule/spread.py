"""Price the cases that a change affects, and order them, so that a small budget reaches each difference first."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from pytest_recall.schedule.selection import shuffle_key
from pytest_recall.trials.series import TrialCount

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


class AffectedCost(NamedTuple):
    """What asking affected cases costs in US dollars."""

    cases: int
    usd: float | None = None
    """What it costs if verdicts come again; None where no price is known."""
    most: float | None = None
    """What it costs at most; None where no price is known."""
    borrowed: int = 0
    """How many cases have no price of their own, and cost what the others do in the mean."""
    estimated: bool = False
    """Whether tokens were counted from texts."""
    swapped: tuple[str, ...] = ()
    """The recorded models at the price of another one."""
    unpriced: tuple[str, ...] = ()
    """The models without a price."""


Counts = Mapping[str, TrialCount]
"""How many trials each case takes, by id; one where it says nothing."""


def affected_cost(changes: Changes, case_ids: Collection[str], counts: Counts) -> AffectedCost:
    """Return what asking those of these cases costs that the change affects."""
    asked = [case_id for case_id in sorted(changes.reasons) if case_id in case_ids]
    findings = [changes.findings[case_id] for case_id in asked]
    prices = _prices(changes, asked, counts)
    most = [
        price * _count(counts, case_id).most / _count(counts, case_id).expected for case_id, price in prices.items()
    ]
    return AffectedCost(
        cases=len(asked),
        usd=sum(prices.values()) / _MICRO if prices else None,
        most=sum(most) / _MICRO if prices else None,
        borrowed=sum(one.usd is None for one in findings) if prices else 0,
        estimated=any(one.estimated and one.usd is not None for one in findings),
        swapped=tuple(sorted({one.swapped for one in findings if one.swapped})),
        unpriced=tuple(sorted({model for one in findings for model in one.unpriced})),
    )


def beyond(
    changes: Changes,
    case_ids: Collection[str],
    budget: float,
    seed: str,
    counts: Counts = MappingProxyType({}),
) -> frozenset[str]:
    """Return the affected cases for which `budget` US dollars do not suffice.

    A case costs what a trial of its recording has cost, as often as it is expected to be asked, and one without a price
    what the others do in the mean. Its last call begins only while there is room for what that reserves. None is beyond
    the budget where no price is known.
    """
    asked = {case_id: changes.findings[case_id].key for case_id in changes.reasons if case_id in case_ids}
    prices = _prices(changes, asked, counts)
    if not prices:
        return frozenset()
    left, reached = round(budget * _MICRO), set[str]()
    for case_id in in_turns(asked, seed):
        left -= prices[case_id]
        if left < round(changes.findings[case_id].headroom * _MICRO):
            break
        reached.add(case_id)
    return frozenset(asked.keys() - reached)


def _prices(changes: Changes, case_ids: Collection[str], counts: Counts) -> dict[str, int]:
    """Return what each case is expected to cost, in millionths of a dollar; nothing where no price is known."""
    known = {case_id: usd for case_id in case_ids if (usd := changes.findings[case_id].usd) is not None}
    if not known:
        return {}
    mean = sum(known.values()) / len(known)
    return {
        case_id: round(known.get(case_id, mean) * _MICRO) * _count(counts, case_id).expected for case_id in case_ids
    }


def _count(counts: Counts, case_id: str) -> TrialCount:
    return counts.get(case_id, TrialCount())
