"""`recall check`: read and collect all of an eval directory, and say what is wrong with it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from pytest_recall.cases.case import Case
from pytest_recall.cases.case_file import CaseFile, check_unique
from pytest_recall.cases.settings import Rubric
from pytest_recall.cases.settings_file import read_rubric
from pytest_recall.cli import schema
from pytest_recall.cli.common import Commands, add_files, case_paths, command, marked_in, place_of
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.find import DATASET_FILES, find_files
from pytest_recall.files.wording import plural
from pytest_recall.judges.calibration_file import read_calibrations
from pytest_recall.runs.collection import collection_problems
from pytest_recall.runs.context import today_in
from pytest_recall.schedule.near import unmatched
from pytest_recall.schedule.row import Row
from pytest_recall.schedule.state import check_dates, current


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "check",
        "validate the cases, their judges, the datasets, the rubric, the state and the calibrations; nothing is asked",
        run,
        "A run reads large case files only as far as it needs; this reads all of every file, and of every dataset\n"
        "that a file `*.dataset.yaml` names. Judges are fixtures: they are found as pytest collects the directory, in\n"
        "a process of its own, which imports the conftest files. What a case gives a judge of your own is looked at\n"
        f"when its fixture is set up, before the case is asked.\n\n{schema.DETAILS}",
    )
    add_files(parser)
    parser.add_argument("--schema", choices=schema.SCHEMAS, help="only print the JSON Schema (2020-12) of such files")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    if args.schema is not None:
        schema.print_schema(args.schema)
        return 0
    place = place_of(args)
    problems: list[str] = []
    files: list[CaseFile] = []
    broken: list[Path] = []
    paths = case_paths(place, args)
    for path in paths:
        try:
            file = CaseFile(path, place.name(path))
            file.cases()
            files.append(file)
        except RecallError as error:
            problems += error.messages
            broken.append(path)
    asked = 0
    datasets = [path for path in find_files(place.eval_dir, _names_dataset) if path not in paths]
    for path in datasets:
        try:
            asked += _questions(path, place)
        except RecallError as error:
            problems += error.messages
    # With one of these, pytest would not begin to collect.
    of_run: list[str] = []
    rows: set[str] = set()
    for read in (
        lambda: check_unique(files),
        lambda: read_rubric(place.rubric, place.name(place.rubric)),
        lambda: read_calibrations(place.calibration, place.name(place.calibration)),
        lambda: rows.update(_rows(place)),
    ):
        try:
            read()
        except RecallError as error:
            of_run += error.messages
    problems += of_run or collection_problems(place.eval_dir, place.root, args.files, broken)
    if problems:
        raise RecallError(*problems)
    cases = [case for file in files for case in file.cases()]
    marked = marked_in(place)
    if not (cases or asked or rows or marked):
        raise RecallError(
            f"{place.name(place.eval_dir)}: there is no case in it; write cases.yaml, which `recall init` does, or name"
            " files of other names with --files"
        )
    rubric = read_rubric(place.rubric, place.name(place.rubric))
    _check_near(rubric, place, cases)
    scenarios, dimensions = {case.scenario for case in cases}, {case.dimension for case in cases}
    of_datasets = f", {plural(asked, 'question')} in {plural(len(datasets), 'dataset')}" if datasets else ""
    of_marks = f", {plural(len(marked), 'marked test')}" if marked else ""
    print(
        f"{plural(len(cases), 'case')} in {plural(len(files), 'file')}, {plural(len(scenarios), 'scenario')},"
        f" {plural(len(dimensions), 'dimension')}{of_datasets}{of_marks}: all in order"
    )
    return 0


def _rows(place: Place) -> Mapping[str, Row]:
    """Return the rows of the state. Raises RecallError, also for one of a day that is still to come."""
    state = current(place)
    today = datetime.now(UTC).date()
    check_dates(state, max(today, today_in(os.environ, today)), place.name(place.state))
    return state.rows


def _check_near(rubric: Rubric, place: Place, cases: Iterable[Case]) -> None:
    """Say which paths of the rubric's `near` fit no file. Raises RecallError for tags that no case has."""
    if not rubric.near:
        return
    name = f"{place.name(place.rubric)}: near"
    tags = {tag for case in cases for tag in case.tags}
    lost = [tag for tag in rubric.near if tag not in tags]
    if lost:
        raise RecallError(*(f"{name}: `{tag}` is the tag of no case{nearest(tag, tags)}" for tag in lost))
    # Imported here: most eval sets map nothing, and need no git.
    from pytest_recall.files.git_changes import Repository

    try:
        paths = Repository(place.root).files()
    except RecallError as error:
        print(f"recall: {name}: its paths were not looked for, since {error}", file=sys.stderr)
        return
    for tag, glob in unmatched(rubric.near, paths):
        print(f"recall: {name}: {tag}: `{glob}` fits no file of the repository", file=sys.stderr)


def _names_dataset(path: Path) -> bool:
    return any(path.match(pattern) for pattern in DATASET_FILES)


def _questions(path: Path, place: Place) -> int:
    """Return how many questions a file that names a dataset asks. Raises RecallError for what is wrong with either."""
    # Imported here: most eval sets have none, and their cases need no dataset's modules.
    from pytest_recall.datasets.cases import read_bench
    from pytest_recall.memory.selector import parse

    name = place.name(path)
    bench = read_bench(path, name)
    if bench.memory:
        try:
            parse(bench.memory)
        except RecallError as error:
            raise RecallError(*(f"{name}: memory: {message}" for message in error.messages)) from None
    return len(bench.cases())
