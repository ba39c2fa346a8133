"""The commands `recall status` and `recall state`: show the state of the schedule, change it, merge it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

from pytest_recall.cases.case_file import CaseFile, check_unique
from pytest_recall.cases.settings import LAYOUTS
from pytest_recall.cases.settings_file import read_settings, with_layout
from pytest_recall.cli.common import (
    Commands,
    add_files,
    case_paths,
    command,
    context_of,
    days,
    marked_in,
    place_of,
    placeless,
    say,
    whole,
)
from pytest_recall.files import clock
from pytest_recall.files.disk import locked
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.wording import plural
from pytest_recall.runs.context import LONGEST, CommandLine, parse_date, today_in
from pytest_recall.schedule.boxes import released
from pytest_recall.schedule.forecast import forecast
from pytest_recall.schedule.state import (
    KEEP_DAYS,
    check_layout,
    committed_state,
    compact,
    current,
    forget,
    move,
    told_by_newest_run,
    unfolded,
    write_events,
)
from pytest_recall.trials.record import Record


def add_status(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "status", "show how many cases are in each box, and how many fall due on each day", run_status
    )
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="the first day (default: today in UTC)")
    parser.add_argument("--days", type=days, default=30, metavar="N", help="how many days ahead (default: 30)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_files(parser)


def run_status(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.schedule.schedule_text import terminal

    place = place_of(args)
    context, _ = context_of(place, CommandLine(date=args.date))
    files = [CaseFile(path, place.name(path)) for path in case_paths(place, args)]
    check_unique(files)
    state = current(place)
    known = {case_id for file in files for case_id in file.lines} | marked_in(place).keys()
    found = forecast(known, state.rows, context.date, args.days, state.unanswered)
    print(json.dumps(found.to_json(), indent=2) if args.json else "\n".join(terminal(found)))
    return 0


SHOW = """\
  recall state show --at main    the state in a commit
"""
LAYOUT = """\
  recall state layout events    from now on each run writes a file of its own
  recall state layout rows      runs change eval/recall.yaml again
"""
MOVE = """\
  recall state move             cases that the newest run has found renamed keep their history
  recall state move OLD NEW     a case has another id, and keeps its row

`recall cassettes move OLD NEW` does the same for its recordings.
"""
FORGET = """\
  recall state forget CASE-ID   its row is deleted, as of a case that is gone
"""


def add_state(commands: Commands) -> None:
    """Add the commands."""
    show = command(commands, "show", "show where the state is, and how runs write it", run_show, SHOW)
    show.add_argument("--at", metavar="REVISION", help="print the state in a commit, its event files included")
    layout = command(commands, "layout", "change how runs write the state", run_layout, LAYOUT)
    layout.add_argument("layout", choices=LAYOUTS, help="what `state:` in rubric.yaml is to be, and nothing else of it")
    move = command(commands, "move", "keep the rows of renamed cases", run_move, MOVE)
    move.add_argument(
        "names",
        nargs="*",
        metavar="OLD NEW",
        help="a case and its new id (default: those that the newest run has found)",
    )
    add_files(move)
    forget_ = command(commands, "forget", "delete the rows of cases", run_forget, FORGET)
    forget_.add_argument("cases", nargs="+", metavar="CASE-ID", help="the cases")
    for parser in (layout, move, forget_):
        parser.add_argument("--dry-run", action="store_true", help="print what would be changed, and change nothing")


def run_show(args: argparse.Namespace) -> int:
    """Run `recall state show`."""
    place = place_of(args)
    if args.at is not None:
        from pytest_recall.schedule.state_file import parse_state

        state = committed_state(place, args.at)
        sys.stdout.write((parse_state("", args.at) if state is None else state).to_text())
        return 0
    from pytest_recall.schedule.state_file import read_state

    layout = read_settings(place.rubric, place.name(place.rubric)).state
    state = read_state(place.state, place.name(place.state))
    waiting = unfolded(place, state)
    print(f"layout: {layout}")
    print(f"{place.name(place.state)}: {plural(len(state.rows), 'row')}")
    if waiting or layout == "events":
        verdicts = plural(sum(len(events.verdicts) for events in waiting.values()), "verdict")
        print(f"{place.name(place.events)}: {plural(len(waiting), 'event file')} newer than it, {verdicts}")
    return 0


def run_layout(args: argparse.Namespace) -> int:
    """Run `recall state layout`."""
    place = place_of(args)
    name = place.name(place.rubric)
    if read_settings(place.rubric, name).state == args.layout:
        print(f"{name}: `state: {args.layout}` holds already; nothing to do")
        return 0
    check_layout(place, args.layout)
    with_layout(place.rubric, name, args.layout, write=not args.dry_run)
    print(f"{name}: {'would get' if args.dry_run else 'has'} `state: {args.layout}`")
    if args.layout == "events":
        print(f"Next: commit it. Each run adds a file to {place.name(place.events)}; commit these with their branch,")
        print("and let one job on the main branch run `recall state fold`.")
    return 0


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
        if not args.names:
            rows = current(place).rows
            pairs, found = [(old, new) for old, new in pairs if old in rows], pairs
            if not pairs:
                gone = ", ".join(f"{old} → {new}" for old, new in found)
                print(f"{gone}: no row is left under the old {'ids' if found[1:] else 'id'}; nothing to do")
                return 0
        move(place, pairs, write=False)  # What the state refuses is told first.
        if args.names:
            _check_renamed(place, args, *args.names)
        move(place, pairs, write=not args.dry_run)
    would = "would be " if args.dry_run else ""
    for old, new in pairs:
        print(f"{old} {would or 'is '}{new}{'' if would else ' now, with its history'}")
    return 0


def _check_renamed(place: Place, args: argparse.Namespace, old: str, new: str) -> None:
    """Raise RecallError if a case has its old id still, or none has the new one: the row of a case would be lost."""
    files = [CaseFile(path, place.name(path)) for path in case_paths(place, args)]
    known = {case_id: f"{file.name}:{line}" for file in files for case_id, line in file.lines.items()}
    if old in known:
        raise RecallError(f"{known[old]}: `{old}` is still a case, and keeps its row; rename it there first")
    if new in known:
        return
    marked = marked_in(place)
    if old in marked:
        raise RecallError(f"`{old}` is still a marked test, and keeps its row; rename that first")
    if new not in marked:
        raise RecallError(f"no case has the id `{new}`, to which the row would go{nearest(new, known)}")


def run_forget(args: argparse.Namespace) -> int:
    """Run `recall state forget`."""
    place = place_of(args)
    with locked(place.lock):
        forget(place, args.cases, write=not args.dry_run)
    would = "would be " if args.dry_run else ""
    print(f"{plural(len(set(args.cases)), 'row')} {would}deleted: {', '.join(sorted(set(args.cases)))}")
    return 0


APPLY_DETAILS = """\
A run updates the state at its end, also after -x and Ctrl-C. This is for one that was
killed: what it had finished is in its journal. Applying a run twice changes nothing.
"""


def add_apply(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "apply", "apply the finished trials of a run to eval/recall.yaml", run_apply, APPLY_DETAILS
    )
    parser.add_argument("run_name", metavar="RUN", help="a run's name or folder, `latest` or `previous`")
    parser.add_argument("--explicit", action="store_true", help="also a run of cases that someone chose by hand")


def run_apply(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.trials.journal import read_journal

    place = place_of(args)
    folder = place.artifacts.find(args.run_name)
    record = read_journal(folder)
    check_writes(record, folder, explicit=args.explicit)
    apply_run(place, folder, record)
    return 0


def check_writes(record: Record, folder: Path, *, explicit: bool) -> None:
    """Raise RecallError for a run whose trials do not belong in the state, unless it is `explicit` that they do."""
    if record.header.shard:
        raise RecallError(
            f"{folder.name}: is shard {record.header.shard} of a run; join all of them with `recall ci merge --apply`"
        )
    if not record.header.of_cases:
        raise RecallError(
            f"{folder.name}: questions of a {record.header.source_kind} are on no schedule; there is nothing to apply"
        )
    if not record.header.writes and not explicit:
        raise RecallError(
            f"{folder.name}: its cases were chosen by hand, so it moves no box; add --explicit to apply it"
        )


def apply_run(place: Place, folder: Path, record: Record) -> None:
    """Apply the run to the state, write its scorecard, and say what came of it. Raises RecallError or OSError."""
    from pytest_recall.runs import finish

    changed = finish.apply(place, folder, record)
    name = finish.target(place, read_settings(place.rubric, place.name(place.rubric)).state)
    if changed is None:
        print(f"{folder.name}: already in {name}")
        return
    card = finish.scorecard(record, place, folder)
    finish.write_scorecard(place, folder, record, card)
    trials, rows = plural(len(record.trials), "finished trial"), plural(len(changed), "row")
    print(f"{folder.name}: {trials}; {rows} of {name} changed")
    if card.not_run:
        print(f"not finished, and left as before: {plural(len(card.not_run), 'chosen case')}")


QUARANTINE_DETAILS = """\
A case in quarantine is run as before and its box moves, but its failures do not fail the run.
Every scorecard lists it. A run puts a case into quarantine at its `quarantine_lapses`-th lapse, and
releases it when it has passed three times in a row, or after `quarantine_days`: from then on its
failures count again.

  recall state quarantine                       list them
  recall state quarantine late-fee --owner ana  put one in
  recall state quarantine late-fee --days 90    for longer, from today on
  recall state quarantine late-fee --release    release it, and forget its lapses
"""


def add_quarantine(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "quarantine",
        "list the cases whose failures do not fail the run, or change that",
        run_quarantine,
        QUARANTINE_DETAILS,
    )
    parser.add_argument("case_id", nargs="?", metavar="CASE-ID", help="the case")
    parser.add_argument("--release", action="store_true", help="end the quarantine of the case")
    parser.add_argument("--days", type=days, metavar="N", help="for how long, from today on (default: by rubric.yaml)")
    parser.add_argument("--owner", metavar="NAME", help="who looks at the case (default: the owner of rubric.yaml)")


def run_quarantine(args: argparse.Namespace) -> int:
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
        return _change_quarantine(place, args)


def _list(place: Place) -> int:
    rows, today = current(place).rows, today_in(os.environ, clock.now().date())
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


def _change_quarantine(place: Place, args: argparse.Namespace) -> int:
    from pytest_recall.schedule.events import Apart, Events
    from pytest_recall.schedule.state_file import write_state

    name = place.name(place.state)
    rubric = read_settings(place.rubric, place.name(place.rubric))
    state = current(place)
    check_layout(place, rubric.state)
    now = clock.now()
    today = today_in(os.environ, now.date())
    row = state.rows.get(args.case_id)
    if row is None:
        raise RecallError(f"{name}: no row of `{args.case_id}`{nearest(args.case_id, state.rows)}")
    if args.release:
        if row.quarantined is None:
            raise RecallError(
                f"{name}: `{args.case_id}` is not in quarantine; `recall state quarantine` lists the cases that are"
            )
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


FOLD_DETAILS = f"""\
For one writer, such as the nightly run on the main branch; commit eval/recall.yaml and eval/events
together after it. The events of the last {KEEP_DAYS} days stay, so that a pull request which merges late
is applied in its place among them: a verdict that is older than its row in eval/recall.yaml changes nothing.
"""


def add_fold(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "fold", "move older event files into eval/recall.yaml, exactly once", run_fold, FOLD_DETAILS
    )
    parser.add_argument(
        "--keep-days",
        type=whole(f"a number of days from 0 to {LONGEST.days}", 0, LONGEST.days),
        default=KEEP_DAYS,
        metavar="N",
        help=f"leave the events of so many days as they are (default: {KEEP_DAYS}); 0 moves all",
    )
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="the day (default: today in UTC)")
    parser.add_argument("--dry-run", action="store_true", help="print what would be moved, and change nothing")


def run_fold(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    today = parse_date(args.date) if args.date else today_in(os.environ, clock.now().date())
    place.artifacts.make()
    with locked(place.lock):
        done = compact(place, today, args.keep_days, write=not args.dry_run)
    would = "would be " if args.dry_run else ""
    print(
        f"{place.name(place.events)}: {plural(done.files, 'event file')} {would}folded into {place.name(place.state)},"
        f" {plural(done.rows, 'row')} changed; {done.left} left"
    )
    return 0


RESOLVE_DETAILS = """\
In the middle of a merge or a rebase the versions come from git's index, else from between the
markers. Rows that both sides have changed get the verdicts of both, in the order of their days.
Markers that do not show the common version (merge.conflictStyle is not diff3) say less: then
the last verdict of the later side counts, and the lower box.
"""


def add_resolve(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "resolve", "merge a state file that git has left with conflicts", run_resolve, RESOLVE_DETAILS
    )
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the file (default: eval/recall.yaml)")
    parser.add_argument("--dry-run", action="store_true", help="print what would be done, and change nothing")


def run_resolve(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.schedule.merge_file import resolve

    if args.file is not None and args.dir is not None:
        raise RecallError("--dir has no effect with FILE; give one of them")
    if args.file is None:
        place = place_of(args)
        path, name = place.state, place.name(place.state)
    else:
        path, name = Path.cwd() / args.file, args.file.as_posix()
        place = Place(Path.cwd(), path.parent)
    if not path.exists():
        raise RecallError(f"{name}: no such file; give the path of the state file with the conflict")
    # A file elsewhere is no one's state, and needs no folder for a lock beside it.
    shared = path.name == place.state.name
    if shared:
        place.artifacts.make()
    with locked(place.lock) if shared else nullcontext():
        merged = resolve(path, name, clock.now().date(), write=not args.dry_run)
    if merged is None:
        print(f"{name}: no conflict; nothing to do")
        return 0
    told = f"{plural(len(merged.state.rows), 'row')}, {merged.both} of them changed on both sides"
    if args.dry_run:
        print(f"{name}: would be merged: {told}")
    else:
        print(f"{name}: merged: {told}; next: `git add {name}`")
    return 0


MERGE_DRIVER_DETAILS = """\
git calls this in the middle of a merge with %O %A %B %P, once `recall init --git` has told it to. Rows that both
sides have changed get the verdicts of both. Exit code 0 says that the file is merged. A file that
is not a state is left with conflict markers, as git leaves any other, and the exit code is 1.
"""


def add_merge_driver(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands,
        "merge-driver",
        "merge eval/recall.yaml row by row; git calls it",
        run_merge_driver,
        MERGE_DRIVER_DETAILS,
    )
    parser.add_argument("base", type=Path, metavar="BASE", help="what both sides began with")
    parser.add_argument("ours", type=Path, metavar="OURS", help="our side, which is replaced by the merged state")
    parser.add_argument("theirs", type=Path, metavar="THEIRS", help="the other side")
    parser.add_argument("name", metavar="PATH", help="where the file is in the working tree")


def run_merge_driver(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.schedule.merge_file import drive

    try:
        drive(args.base, args.ours, args.theirs, args.name, clock.now().date())
    except RecallError as error:
        for message in error.messages:
            say(message)
        return 1
    return 0
