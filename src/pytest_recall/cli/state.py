"""`recall state`: where the state is, what it was in a commit, and how runs write it."""

from __future__ import annotations

import argparse
import sys

from pytest_recall.cases.settings import LAYOUTS
from pytest_recall.cases.settings_file import read_rubric, with_layout
from pytest_recall.cli.common import Commands, command, place_of
from pytest_recall.files.disk import locked
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.wording import plural
from pytest_recall.schedule.state import check_layout, committed_state, forget, move, told_by_newest_run, unfolded
from pytest_recall.schedule.state_file import read_state

DETAILS = """\
  recall state                          what there is
  recall state --at main > base.yaml    the state in a commit, for --recall-base-state
  recall state --layout events          from now on each run writes a file of its own
  recall state --layout rows            runs change eval/recall.yaml again
  recall state --moved                  cases that the newest run has found renamed keep their history
  recall state --move OLD NEW           a case has another id, and goes on with its row
  recall state --forget CASE-ID         its row is deleted, as of a case that is gone
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "state", "show where the state is, or change how runs write it", run, DETAILS)
    parser.add_argument("--layout", choices=LAYOUTS, help="write `state:` into rubric.yaml, and nothing else of it")
    parser.add_argument("--at", metavar="REVISION", help="print the state in a commit, its event files included")
    parser.add_argument("--moved", action="store_true", help="renamed cases of the newest run keep their rows")
    parser.add_argument("--move", nargs=2, metavar=("OLD", "NEW"), help="have a case go on under another id")
    parser.add_argument("--forget", nargs="+", metavar="CASE-ID", help="delete the rows of cases")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be changed")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    given = [name for name in ("layout", "at", "moved", "move", "forget") if getattr(args, name)]
    if given[1:]:
        raise RecallError(f"--{given[0]} and --{given[1]} exclude each other; give them one by one")
    if args.dry_run and given in ([], ["at"]):
        raise RecallError("--dry-run has no effect where nothing would be changed")
    if args.moved or args.move or args.forget:
        return _change_rows(place, args)
    if args.at is not None:
        sys.stdout.write(committed_state(place, args.at).text)
        return 0
    return _show(place) if args.layout is None else _change(place, args)


def _change_rows(place: Place, args: argparse.Namespace) -> int:
    would = "would be " if args.dry_run else ""
    with locked(place.lock):
        if args.forget:
            forget(place, args.forget, write=not args.dry_run)
            print(f"{plural(len(set(args.forget)), 'row')} {would}deleted: {', '.join(sorted(set(args.forget)))}")
            return 0
        pairs = [(args.move[0], args.move[1])] if args.move else told_by_newest_run(place)
        if not pairs:
            print("the newest run has found no case that was renamed; nothing to do")
            return 0
        move(place, pairs, write=not args.dry_run)
    for old, new in pairs:
        print(f"{old} {would or 'is '}{new}{'' if would else ' now, with its history'}")
    return 0


def _show(place: Place) -> int:
    layout = read_rubric(place.rubric, place.name(place.rubric)).state
    state = read_state(place.state, place.name(place.state))
    waiting = unfolded(place, state)
    print(f"layout: {layout}")
    print(f"{place.name(place.state)}: {plural(len(state.rows), 'row')}")
    if waiting or layout == "events":
        verdicts = plural(sum(len(events.verdicts) for events in waiting.values()), "verdict")
        print(f"{place.name(place.events)}: {plural(len(waiting), 'event file')} newer than it, {verdicts}")
    return 0


def _change(place: Place, args: argparse.Namespace) -> int:
    name = place.name(place.rubric)
    if read_rubric(place.rubric, name).state == args.layout:
        print(f"{name}: `state: {args.layout}` holds already; nothing to do")
        return 0
    check_layout(place, args.layout)
    with_layout(place.rubric, name, args.layout, write=not args.dry_run)
    print(f"{name}: {'would get' if args.dry_run else 'has'} `state: {args.layout}`")
    if args.layout == "events":
        print(f"Next: commit it. Each run adds a file to {place.name(place.events)}; commit these with their branch,")
        print("and let one job on the main branch run `recall fold`.")
    return 0
