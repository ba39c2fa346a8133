"""Options for the sizes of the lottery and for how a fail is confirmed, which several commands share."""

from __future__ import annotations

import argparse

from pytest_recall.cases.settings import Settings
from pytest_recall.schedule.policies import SliceSizes, confirmation, usual_sizes
from pytest_recall.trials.detector import RERUNS, RatioRule
from pytest_recall.trials.series import AnyRule, confirming

NEVER = "never"


def add_sizes(parser: argparse.ArgumentParser) -> None:
    """Add the options for the sizes of the lottery; those of the boxes are the rubric's."""
    parser.add_argument("--slice", type=count, metavar="N", help="the lottery's cases in a pull request")
    parser.add_argument("--nightly", type=count, metavar="N", help="the lottery's cases in a night")
    parser.add_argument(
        "--stalest", type=_days, metavar="DAYS", help=f"a case that old comes first in the lottery's nights, or {NEVER}"
    )


def add_confirm(parser: argparse.ArgumentParser) -> None:
    """Add the option for how a fail is confirmed."""
    parser.add_argument(
        "--confirm",
        type=_rule,
        metavar="RULE",
        help=f"how a fail is confirmed: 2of3, evidence:70, or {NEVER} (default: as in the rubric)",
    )


def count(text: str) -> int:
    """Return a whole number from 1 up, as an option takes it."""
    if not text.isdecimal() or not 1 <= int(text) <= 10**6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 1,000,000")
    return int(text)


def _days(text: str) -> int | str:
    return text if text == NEVER else count(text)


def _rule(text: str) -> AnyRule | str:
    if text == NEVER:
        return text
    try:
        return confirming(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}; or `{NEVER}`") from None


def sizes_of(args: argparse.Namespace, rubric: Settings, cases: int) -> SliceSizes:
    """Return the sizes of the lottery over so many `cases`: the usual ones, where no option says otherwise."""
    usual = usual_sizes(rubric, cases)
    stalest = usual.stalest if args.stalest is None else None if args.stalest == NEVER else args.stalest
    return SliceSizes(args.slice or usual.slice, args.nightly or usual.nightly, stalest)


def counting(rule: AnyRule | None) -> str:
    """Return when a fail counts, to be read after "a fail"."""
    if rule is None:
        return "counts at once"
    if isinstance(rule, RatioRule):
        return f"counts at a likelihood ratio of {rule.needed:,}, and is asked again up to {RERUNS} times"
    return f"counts if {rule.needed} of up to {rule.tries} trials fail"


def confirm_of(args: argparse.Namespace, rubric: Settings) -> AnyRule | None:
    """Return how a fail is confirmed, or None if it counts at once."""
    if args.confirm is None:
        return confirmation(rubric)
    return None if args.confirm == NEVER else args.confirm
