"""`recall state apply`: fold a run into the state, exactly once."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_recall.cases.settings_file import read_rubric
from pytest_recall.cli.common import Commands, command, place_of
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.wording import plural
from pytest_recall.runs import finish
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.record import Record

DETAILS = """\
A run folds itself in at its end, also after -x and Ctrl-C. This is for one that was
killed: what it had finished is in its journal. Applying a run twice changes nothing.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "apply", "fold the finished trials of a run into eval/recall.yaml", run, DETAILS)
    parser.add_argument("run_name", metavar="RUN", help="a run's name or folder, `latest` or `previous`")
    parser.add_argument("--explicit", action="store_true", help="also a run of cases that someone chose by hand")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    folder = place.artifacts.find(args.run_name)
    record = read_journal(folder)
    check_writes(record, folder, explicit=args.explicit)
    fold(place, folder, record)
    return 0


def check_writes(record: Record, folder: Path, *, explicit: bool) -> None:
    """Raise RecallError for a run whose trials do not belong in the state, unless it is `explicit` that they do."""
    if record.header.shard:
        raise RecallError(
            f"{folder.name}: is shard {record.header.shard} of a run; join all of them with `recall ci merge --apply`"
        )
    if not record.header.writes and not explicit:
        raise RecallError(
            f"{folder.name}: its cases were chosen by hand, so that it moves no box; add --explicit to apply it"
        )


def fold(place: Place, folder: Path, record: Record) -> None:
    """Fold the run into the state, write its scorecard, and say what came of it. Raises RecallError or OSError."""
    changed = finish.apply(place, folder, record)
    name = finish.target(place, read_rubric(place.rubric, place.name(place.rubric)).state)
    if changed is None:
        print(f"{folder.name}: already in {name}")
        return
    card = finish.scorecard(record, place, folder)
    finish.write_scorecard(place, folder, record, card)
    trials, rows = plural(len(record.trials), "finished trial"), plural(len(changed), "row")
    print(f"{folder.name}: {trials}; {rows} of {name} changed")
    if card.not_run:
        print(f"not finished, and left as before: {plural(len(card.not_run), 'chosen case')}")
