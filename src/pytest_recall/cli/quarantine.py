"""`recall state quarantine`: which cases are set apart, since when and for whom; set one apart, or take it back."""

from __future__ import annotations

import argparse
import os
from datetime import UTC, datetime, timedelta

from pytest_recall.cases.settings_file import read_rubric
from pytest_recall.cli.common import Commands, command, days, place_of
from pytest_recall.files.disk import locked
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.wording import plural
from pytest_recall.runs.context import today_in
from pytest_recall.schedule.boxes import released
from pytest_recall.schedule.events import Apart, Events
from pytest_recall.schedule.events_file import write_events
from pytest_recall.schedule.state import check_layout, current
from pytest_recall.schedule.state_file import write_state

DETAILS = """\
A case in quarantine is asked as before, and its boxes move; but its fail turns no run red.
Every scorecard lists it. Runs set a case apart at its `quarantine_lapses`-th fall from a
higher box, and take it back when it has passed three times in a row, or after
`quarantine_days`: from then on its fails count again.

  recall state quarantine                       list them
  recall state quarantine late-fee --owner ana  set one apart
  recall state quarantine late-fee --days 90    for longer, from today on
  recall state quarantine late-fee --release    take it back, its lapses forgotten
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "quarantine", "list the cases whose failures do not fail the run, or change that", run, DETAILS
    )
    parser.add_argument("case_id", nargs="?", metavar="CASE-ID", help="the case to set apart or to take back")
    parser.add_argument("--release", action="store_true", help="take the case back")
    parser.add_argument("--days", type=days, metavar="N", help="for how long, from today on (default: by rubric.yaml)")
    parser.add_argument("--owner", metavar="NAME", help="who looks at the case (default: the owner of rubric.yaml)")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    if args.case_id is None:
        if args.release or args.owner or args.days:
            raise RecallError("name the case: `recall state quarantine CASE-ID`")
        return _list(place)
    if args.release and (args.owner or args.days):
        option = "--owner" if args.owner else "--days"
        raise RecallError(f"--release and {option} exclude each other: a case that is taken back has none")
    with locked(place.lock):
        return _change(place, args)


def _list(place: Place) -> int:
    rows, today = current(place).rows, today_in(os.environ, datetime.now(UTC).date())
    found = {case_id: row for case_id, row in sorted(rows.items()) if row.quarantined is not None}
    for case_id, row in found.items():
        lapses = plural(row.lapses, "lapse")
        ended = ", which is over" if released(row, today).quarantined is None else ""
        until = f" until {row.until}" if row.until else ""
        print(
            f"{case_id}: since {row.quarantined}{until}{ended}, {row.owner or 'no owner'} looks at it, {lapses},"
            f" box {row.box}"
        )
    print(f"{plural(len(found), 'case')} of {len(rows)} in quarantine")
    return 0


def _change(place: Place, args: argparse.Namespace) -> int:
    name = place.name(place.state)
    rubric = read_rubric(place.rubric, place.name(place.rubric))
    state = current(place)
    check_layout(place, rubric.state)
    now = datetime.now(UTC)
    today = today_in(os.environ, now.date())
    row = state.rows.get(args.case_id)
    if row is None:
        raise RecallError(f"{name}: no row of `{args.case_id}`{nearest(args.case_id, state.rows)}")
    if args.release:
        if row.quarantined is None:
            raise RecallError(f"{name}: `{args.case_id}` is not in quarantine; `recall state quarantine` lists who is")
        row = row._replace(quarantined=None, until=None, owner=None, lapses=0)
        told = f"{args.case_id}: taken back, its lapses forgotten"
    else:
        owner = args.owner or rubric.owner
        since = row.quarantined or today
        until = today + timedelta(days=args.days or rubric.quarantine_days)
        row = row._replace(quarantined=since, until=until, owner=owner)
        told = f"{args.case_id}: in quarantine since {since} until {until}, {owner} looks at it"
    if rubric.state == "events":
        apart = Apart(args.case_id, row.quarantined, row.until, row.owner)
        write_events(place.events, Events(f"{now:%Y-%m-%dT%H%M%S.%f}", today, "quarantine", apart=(apart,)))
    else:
        write_state(place.state, state.updated({args.case_id: row}))
    print(told)
    return 0
