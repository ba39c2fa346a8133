"""`recall state fold`: move event files into the state file."""

from __future__ import annotations

import argparse
import os
from datetime import UTC, datetime

from pytest_recall.cli.common import Commands, command, place_of
from pytest_recall.files.disk import locked
from pytest_recall.files.wording import plural
from pytest_recall.runs.context import LONGEST, parse_date, today_in
from pytest_recall.schedule.state import KEEP_DAYS, compact

DETAILS = f"""\
For one writer, such as the nightly run on the main branch; commit eval/recall.yaml and eval/events
together after it. The events of the last {KEEP_DAYS} days stay, so that a pull request which merges late
finds its place among them: a verdict that is older than its row in eval/recall.yaml is no news.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "fold", "move older event files into eval/recall.yaml, exactly once", run, DETAILS)
    parser.add_argument(
        "--keep-days",
        type=_days,
        default=KEEP_DAYS,
        metavar="N",
        help=f"leave the events of so many days as they are (default: {KEEP_DAYS}); 0 moves all",
    )
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="the day (default: today in UTC)")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be moved")


def _days(text: str) -> int:
    if not text.isdecimal() or int(text) > LONGEST.days:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days from 0 to {LONGEST.days}")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    today = parse_date(args.date) if args.date else today_in(os.environ, datetime.now(UTC).date())
    place.artifacts.make()
    with locked(place.lock):
        done = compact(place, today, args.keep_days, write=not args.dry_run)
    would = "would be " if args.dry_run else ""
    print(
        f"{place.name(place.events)}: {plural(done.files, 'event file')} {would}folded into {place.name(place.state)},"
        f" {plural(done.rows, 'row')} changed; {done.left} left"
    )
    return 0
