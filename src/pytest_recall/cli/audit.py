"""`recall judges audit`: verdicts of a run for a second look, and what the run comes to after it."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

from pytest_recall.cases.case import Case
from pytest_recall.cases.case_file import CaseFile
from pytest_recall.cli.common import Commands, add_files, case_paths, command, place_of
from pytest_recall.files.disk import locked, write_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.json_lines import as_lines
from pytest_recall.files.wording import plural
from pytest_recall.judges.audit import GRADES, Grading, Only, grading, picks
from pytest_recall.judges.audit_file import append_grades, export, labels, read_grades, read_import
from pytest_recall.judges.calibration_file import append_labels
from pytest_recall.judges.judges_text import audit_lines
from pytest_recall.runs import finish
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.record import Record

SAMPLE = 5
DETAILS = (
    f"""\
Prints JSON Lines for a person or an agent to grade: first what it is, then an item for each verdict
that deserves a second look. These are verdicts on which judges disagree, fails by models, and
{SAMPLE} drawn passes. Fill in `grade`, and `why`, and hand the file back with --import:
"""
    + "".join(f"  {name:<21} {meaning}\n" for name, meaning in GRADES.items())
    + """
The grades lie beside the run, in grades.jsonl; of a case the newest counts. The scorecard then has
both numbers, as judged and as re-graded, without cases that are at fault. The schedule does not
change, and neither does the journal.

--to-labels appends what is graded to a labels file, for `recall judges calibrate`.
"""
)


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "audit", "export verdicts for a second look, and take in the grades", run, DETAILS)
    parser.add_argument("run_name", metavar="RUN", help="a run's name or folder, `latest` or `previous`")
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="write the items to FILE, and print none")
    parser.add_argument("--only", choices=get_args(Only), help="only these; `all` are all verdicts of the run")
    parser.add_argument(
        "--sample", type=_count, metavar="N", help=f"how many passes by models are drawn (default: {SAMPLE})"
    )
    parser.add_argument("--seed", metavar="SEED", help="what they are drawn by (default: the run's)")
    parser.add_argument("--import", dest="graded", type=Path, metavar="FILE", help="take in the grades in FILE")
    parser.add_argument("--to-labels", type=Path, metavar="FILE", help="append what is graded to a labels file")
    add_files(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    _check(args)
    place = place_of(args, args.run_name)
    folder = place.artifacts.find(args.run_name)
    record = read_journal(folder)
    if args.graded is None and args.to_labels is None:
        known = read_grades(folder)
        sample = SAMPLE if args.sample is None else args.sample
        seed = record.header.seed if args.seed is None else args.seed
        found = export(record.header.run, picks(record.trials, args.only, sample, seed), _cases(place, args), known)
        text = as_lines(found)
        if args.out is None:
            sys.stdout.write(text)
        else:
            write_text(args.out, text)
            print(f"{args.out}: {plural(len(found) - 1, 'item')} to grade")
        return 0
    if args.graded is not None:
        _take(args, place, folder, record)
    if args.to_labels is not None:
        _label(args, place, record, read_grades(folder))
    return 0


def _check(args: argparse.Namespace) -> None:
    """Refuse options that would have no effect."""
    takes = args.graded is not None or args.to_labels is not None
    for option in ("out", "only", "sample", "seed"):
        if takes and getattr(args, option) is not None:
            raise RecallError(f"--{option} is for an export, and has no effect with --import or --to-labels; remove it")
        if option in ("sample", "seed") and args.only not in (None, "passes") and getattr(args, option) is not None:
            raise RecallError(f"--{option} has no effect with --only {args.only}, which draws nothing; remove it")


def _take(args: argparse.Namespace, place: Place, folder: Path, record: Record) -> None:
    given = read_import(args.graded, str(args.graded), record.header.run, grading(record.trials))
    with locked(place.lock):
        news = append_grades(folder, given, datetime.now(UTC).isoformat(timespec="seconds"))
        card = finish.scorecard(record, place, folder)
        newest = place.artifacts.runs()[-1:] == [folder]
        finish.write_scorecard(place, folder, record, card, newest=newest)
    print(f"{args.graded}: {plural(len(given), 'grade')}, {news} of them new")
    print("nothing is graded yet" if card.regraded is None else "\n".join(audit_lines(card.regraded)))


def _label(args: argparse.Namespace, place: Place, record: Record, gradings: dict[str, Grading]) -> None:
    found, without = labels(record.header.run, grading(record.trials), gradings, _cases(place, args))
    news = append_labels(args.to_labels, str(args.to_labels), found)
    known = f", {len(found) - news} were there" if len(found) > news else ""
    print(f"{args.to_labels}: {plural(news, 'label')} added{known}")
    if without:
        print(
            f"{plural(without, 'graded case')} without a label: at fault, changed since the run, or of no model's judge"
        )


def _cases(place: Place, args: argparse.Namespace) -> dict[str, Case]:
    files = (CaseFile(path, place.name(path)) for path in case_paths(place, args))
    return {case.id: case for file in files for case in file.cases()}


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a count; write a whole number such as 10")
    return int(text)
