"""`recall state show`: where the state is, what it was in a commit, and how runs write it."""

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

SHOW = """\
  recall state show --at main > base.yaml    the state in a commit, for --recall-base-state
"""
LAYOUT = """\
  recall state layout events    from now on each run writes a file of its own
  recall state layout rows      runs change eval/recall.yaml again
"""
MOVE = """\
  recall state move             cases that the newest run has found renamed keep their history
  recall state move OLD NEW     a case has another id, and keeps its row
"""
FORGET = """\
  recall state forget CASE-ID   its row is deleted, as of a case that is gone
"""


def add(commands: Commands) -> None:
    """Add the commands."""
    show = command(commands, "show", "show where the state is, and how runs write it", run_show, SHOW)
    show.add_argument("--at", metavar="REVISION", help="print the state in a commit, its event files included")
    layout = command(commands, "layout", "change how runs write the state", run_layout, LAYOUT)
    layout.add_argument("layout", choices=LAYOUTS, help="what `state:` in rubric.yaml is to be, and nothing else of it")
    move = command(commands, "move", "have cases that were renamed keep their rows", run_move, MOVE)
    move.add_argument(
        "names",
        nargs="*",
        metavar="OLD NEW",
        help="a case and its new id (default: those that the newest run has found)",
    )
    forget_ = command(commands, "forget", "delete the rows of cases", run_forget, FORGET)
    forget_.add_argument("cases", nargs="+", metavar="CASE-ID", help="the cases")
    for parser in (layout, move, forget_):
        parser.add_argument("--dry-run", action="store_true", help="only say what would be changed")


def run_show(args: argparse.Namespace) -> int:
    """Run `recall state show`."""
    place = place_of(args)
    if args.at is not None:
        sys.stdout.write(committed_state(place, args.at).text)
        return 0
    return _show(place)


def run_layout(args: argparse.Namespace) -> int:
    """Run `recall state layout`."""
    return _change(place_of(args), args)


def run_move(args: argparse.Namespace) -> int:
    """Run `recall state move`."""
    place = place_of(args)
    if len(args.names) not in (0, 2):
        raise RecallError("give the id that a case had and the one that it has now, or neither for the newest run's")
    with locked(place.lock):
        pairs = [(args.names[0], args.names[1])] if args.names else told_by_newest_run(place)
        if not pairs:
            print("the newest run has found no case that was renamed; nothing to do")
            return 0
        move(place, pairs, write=not args.dry_run)
    would = "would be " if args.dry_run else ""
    for old, new in pairs:
        print(f"{old} {would or 'is '}{new}{'' if would else ' now, with its history'}")
    return 0


def run_forget(args: argparse.Namespace) -> int:
    """Run `recall state forget`."""
    place = place_of(args)
    with locked(place.lock):
        forget(place, args.cases, write=not args.dry_run)
    would = "would be " if args.dry_run else ""
    print(f"{plural(len(set(args.cases)), 'row')} {would}deleted: {', '.join(sorted(set(args.cases)))}")
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
        print("and let one job on the main branch run `recall state fold`.")
    return 0
