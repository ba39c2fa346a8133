"""Word why a run ended before all that it was to ask was asked."""

from __future__ import annotations

from typing import cast

from pytest_recall.files.wording import plural, same_command
from pytest_recall.models.outage import Outage, OutageKind, outage_text
from pytest_recall.replay.budget import SpentBudget, spent_text
from pytest_recall.trials.record import FailedItem
from pytest_recall.trials.run_stop import RunStop

ENDED_EARLY = "the run ended before their turn"
_FAILED = {
    "call": "failed",
    "collect": "could not be collected",
    "setup": "failed in its setup",
    "teardown": "failed in its teardown",
}


def stop_text(stop: RunStop, item: str = "trial") -> str:
    """Return why a run was stopped; `item` names one of what it asks, or judges. Empty where a plugin alone knows."""
    match stop.cause:
        case "budget":
            spent = SpentBudget(stop.usd or 0.0, is_spent=stop.kind == "spent", unpriced=stop.detail)
            return spent_text(spent) + (" in an ingest, which begins again" if stop.in_ingest else "")
        case "outage":
            return outage_line(stop)
        case "undecided":
            return f"{stop.in_a_row} {item}s in a row came to no verdict, the last one because of `{stop.detail}`"
        case "uncollected":
            first = stop.detail or f"{stop.files[0]} could not be collected"
            return f"{first}; and {plural(len(stop.files) - 1, 'more file')}" if stop.files[1:] else first
        case "interrupted":
            return "interrupted"
    return stop.detail


def outage_line(stop: RunStop, arm: str = "") -> str:
    """Return that trials of the agent under test, or of the baseline `arm`, ended alike, and how."""
    whose = f" of the baseline `{arm}`" if arm else ""
    outage = Outage(cast(OutageKind, stop.kind), stop.host, stop.detail)
    return f"{stop.in_a_row} trials{whose} in a row ended alike: {outage_text(outage)}"


def open_text(left: int, item: str, stop: RunStop | None, verb: str = "ask", more: str = "") -> str:
    """Return that a run has left so many to ask or to judge, each an `item`, why, and how it is resumed.

    `more` is what users may do as well where too many in a row came to no verdict.
    """
    since = "" if stop is None else f", since {stop_text(stop, item)}"
    first = "correct that" + more if stop is not None and stop.cause == "undecided" else ""
    return f"{plural(left, item)} not {verb.removesuffix('e')}ed{since}; {same_command(verb, left, first=first)}"


def left_text(stop: RunStop | None, left: int) -> str:
    """Return why `left` chosen cases were not run; empty where that is not known."""
    if stop is None:
        return ""
    words = stop_text(stop)
    if not stop.deselected:
        return words
    if stop.deselected >= left:
        return f"deselected; {words}" if words else "deselected"
    return f"{stop.deselected:,} deselected; the others: {words or ENDED_EARLY}"


def failed_item_text(failed: FailedItem) -> str:
    """Return what failed beside the cases, and when."""
    return f"{failed.id or 'the session'} {_FAILED.get(failed.phase, 'crashed')}"
