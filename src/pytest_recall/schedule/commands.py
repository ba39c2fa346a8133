"""The commands `recall status` and `recall state`: show the state of the schedule, and change it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

from pytest_recall.cases.case_file import CaseFile, check_unique
from pytest_recall.cases.settings_fields import QUARANTINE_DAYS
from pytest_recall.cases.settings_file import read_settings
from pytest_recall.cli.common import (
    Commands,
    add_files,
    case_paths,
    command,
    context_of,
    days,
    job_here,
    marked_in,
    place_of,
    say,
)
from pytest_recall.files import clock
from pytest_recall.files.disk import locked
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.git import is_repository
from pytest_recall.files.wording import plural
from pytest_recall.runs.checkout import folds_here, head_of, lost_names, of_this_branch, shared_names
from pytest_recall.runs.context import CommandLine, today_in
from pytest_recall.runs.job import Job
from pytest_recall.schedule.boxes import released
from pytest_recall.schedule.forecast import forecast
from pytest_recall.schedule.run_file import name_of, run_files
from pytest_recall.schedule.state import (
    committed_state,
    current,
    fold,
    forget,
    move,
    told_by_newest_run,
    unfolded,
)
from pytest_recall.schedule.state_file import parse_state, read_state
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
    show = command(commands, "show", "show where the state is", run_show, SHOW)
    show.add_argument("--at", metavar="REVISION", help="print the state in a commit, its run files included")
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
    for parser in (move, forget_):
        parser.add_argument("--dry-run", action="store_true", help="print what would be changed, and change nothing")


def run_show(args: argparse.Namespace) -> int:
    """Run `recall state show`."""
    place = place_of(args)
    if args.at is not None:
        state = committed_state(place, args.at)
        sys.stdout.write((parse_state("", args.at) if state is None else state).to_text())
        return 0
    state = read_state(place.state, place.name(place.state))
    waiting = unfolded(place, state)
    print(f"{place.name(place.state)}: {plural(len(state.rows), 'row')}")
    if waiting:
        verdicts = plural(sum(len(events.verdicts) for events in waiting.values()), "verdict")
        print(f"{place.name(place.run_files)}: {plural(len(waiting), 'run file')} newer than it, {verdicts}")
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
A run updates the state at its end, also after -x and Ctrl-C. This is for one that was killed, whose finished trials are
in its journal, and for a conflict in eval/recall.yaml: take the target branch's file, then apply what it lacks. What
the state holds already changes nothing.

  recall state apply            all that eval/recall.yaml lacks: runs of this checkout on this branch, and, on the
                                default branch, the run files that merges have brought
  recall state apply latest     one run
  recall state apply --dry-run  what would change
"""


def add_apply(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "apply", "apply the finished trials of runs to eval/recall.yaml", run_apply, APPLY_DETAILS
    )
    parser.add_argument(
        "run_name", nargs="?", metavar="RUN", help="a run's name or folder, `latest` or `previous` (default: all)"
    )
    parser.add_argument(
        "--explicit", action="store_true", help="also a run of cases that someone chose by hand, or of another branch"
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would change, and change nothing")


def run_apply(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.trials.journal import read_journal

    place = place_of(args)
    if args.run_name is None:
        if args.explicit:
            raise RecallError("--explicit is about one run; name it")
        return _apply_all(place, write=not args.dry_run)
    folder = place.artifacts.find(args.run_name)
    record = read_journal(folder)
    check_writes(record, folder, explicit=args.explicit)
    job = job_here()
    here = head_of(place.root, job)[1]
    if here and record.header.branch not in ("", here) and not args.explicit:
        raise RecallError(
            f"{folder.name}: ran on the branch `{record.header.branch}`, and `{here}` is checked out; switch to that"
            " branch, or add --explicit to apply it here"
        )
    apply_run(place, folder, record, job, write=not args.dry_run)
    return 0


def _apply_all(place: Place, *, write: bool) -> int:
    """Apply the runs that the state lacks, and fold the run files that wait where the checkout does that."""
    from pytest_recall.runs import finish
    from pytest_recall.schedule.events import events_of

    job = job_here()
    lacking = finish.lacking(place, job)
    names = {name_of(events_of(record.header, record.trials, len(record.trials))) for _, record in lacking}
    for folder, record in lacking:
        apply_run(place, folder, record, job, write=write)
    if write:
        place.artifacts.make()
    with locked(place.lock) if write else nullcontext():
        state = read_state(place.state, place.name(place.state))
        waiting = unfolded(place, state)
        folds = folds_here(place, job)
        waiting, every = of_this_branch(place, waiting) if folds else waiting, waiting
        if folds and waiting and write:
            fold(place, state, waiting, shared_names(place, job))
        known = {*state.folded, *run_files(place.run_files), *waiting, *names}
    files = f"{place.name(place.run_files)}: {plural(len(waiting), 'run file')}"
    if waiting and not folds:
        print(f"{files}; a run or `recall state apply` on the default branch folds them")
    elif waiting:
        print(f"{files} {'' if write else 'would be '}folded into {place.name(place.state)}")
    elif not lacking:
        print(f"{place.name(place.state)}: lacks no run of this checkout; nothing to do")
    for name in every.keys() - waiting.keys():
        print(
            f"{place.name(place.run_files)}/{name}.yaml: left out, since git does not know it; commit it on its branch"
        )
    if is_repository(place.root) and not head_of(place.root, job)[1]:
        print("no branch is checked out, so that runs of a branch are left out; end the rebase, then run this again")
    if lost := lost_names(place, known):
        say(
            f"{place.name(place.state)}: lacks {plural(len(lost), 'run')} that a commit before has, such as {lost[0]};"
            " neither a run file nor a journal of them is here: apply them in the checkout that ran them"
        )
        return 1
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


def apply_run(place: Place, folder: Path, record: Record, job: Job, *, write: bool = True) -> None:
    """Apply the run to the state, write its scorecard, and say what came of it. Raises RecallError or OSError."""
    from pytest_recall.runs import finish

    folds = folds_here(place, job)
    changed = finish.apply(place, folder, record, job=job, folds=folds, write=write)
    name = finish.target(place, folds=folds)
    if changed is None:
        print(f"{folder.name}: already in {name}")
        return
    card = finish.scorecard(record, place, folder)
    if write:
        finish.write_scorecard(place, folder, record, card, job)
    trials, rows = plural(len(record.trials), "finished trial"), plural(len(changed), "row")
    print(f"{folder.name}: {trials}; {rows} of {name} {'' if write else 'would be '}changed")
    if card.not_run:
        print(f"not finished, and left as before: {plural(len(card.not_run), 'chosen case')}")


QUARANTINE_DETAILS = """\
A case in quarantine is run as before and its box moves, but its failures do not fail the run.
Every scorecard lists it. A run puts a case into quarantine at its `quarantine_lapses`-th lapse, and
releases it when it has passed three times in a row, or after 30 days: from then on its
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
    parser.add_argument("--days", type=days, metavar="N", help="for how long, from today on (default: 30)")
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
    from pytest_recall.schedule.run_file import name_of, write_run_file

    name = place.name(place.state)
    rubric = read_settings(place.rubric, place.name(place.rubric))
    state = current(place)
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
        until = today + timedelta(days=args.days or QUARANTINE_DAYS)
        row = row._replace(quarantined=since, until=until, owner=owner)
        told = f"{args.case_id}: in quarantine since {since} until {until}, {owner} looks at it"
    apart = Apart(args.case_id, row.quarantined, row.until, row.owner)
    events = Events(f"{now:%Y-%m-%dT%H%M%S.%f}", today, "quarantine", apart=(apart,))
    job = job_here()
    if folds_here(place, job):
        known = read_state(place.state, name)
        fold(
            place,
            known,
            {**of_this_branch(place, unfolded(place, known)), name_of(events): events},
            shared_names(place, job),
        )
    else:
        write_run_file(place.run_files, events, state.rows)
    print(told)
    return 0
