"""Observed: what a slice would have missed and saved, as lines, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_recall.core.observed import Observed, together
from pytest_recall.core.spend import Bill
from pytest_recall.render.cost import price
from pytest_recall.render.sentences import listed, plural

CAVEAT = (
    "Each slice was chosen from a state that knows the verdicts of all cases in the runs before it, which a slice would"
    " not have had."
)


def line(one: Observed) -> str:
    """Return what one run says of the slice."""
    seen = len(one.caught) + len(one.missed)
    told = f"observed, policy {one.policy}: the slice would have run {one.sliced} of {plural(one.cases, 'case')}"
    if not seen:
        told += ", and there was no regression to miss"
    elif one.missed:
        told += f" and missed {len(one.missed)} of {plural(seen, 'regression')} ({listed(one.missed)})"
    else:
        told += f" and missed none of {plural(seen, 'regression')}"
    return f"{told}; it would have saved {plural(one.cases - one.sliced, 'case')}{_money(one)}"


def lines(runs: Sequence[Observed]) -> Iterator[str]:
    """Yield what each run says, oldest first, and all of them together."""
    for one in runs:
        yield f"{one.run}: {line(one).removeprefix('observed, ')}"
    if len(runs) > 1:
        yield f"together, {plural(len(runs), 'run')}: {line(together(runs)).removeprefix('observed, ')}"
    yield CAVEAT


def as_json(one: Observed) -> dict[str, Any]:
    """Return plain JSON types; amounts are in US dollars, null where nothing is known of them."""
    return {
        "run": one.run,
        "date": one.date,
        "policy": one.policy,
        "cases": one.cases,
        "slice": one.sliced,
        "regressions": len(one.caught) + len(one.missed),
        "caught": list(one.caught),
        "missed": list(one.missed),
        "saved": _plain(one.saved),
        "spent": _plain(one.spent),
    }


def _money(one: Observed) -> str:
    if not one.spent.calls:
        return ""
    if one.spent.known is None or one.saved.known is None:
        return ", at a price that is unknown"
    return f" and {price(one.saved)} of {price(one.spent)}"


def _plain(bill: Bill) -> dict[str, Any]:
    return {"usd": bill.known, "unpriced_calls": bill.unpriced}
