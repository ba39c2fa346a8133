"""`recall check`: read every file of an eval directory, and say what is wrong with it."""

from __future__ import annotations

import argparse

from pytest_recall.cli.common import Commands, add_files, case_paths, command, place_of
from pytest_recall.core.errors import RecallError
from pytest_recall.render.sentences import plural
from pytest_recall.store.calibration import read_calibrations
from pytest_recall.store.casefile import CaseFile, check_unique
from pytest_recall.store.rubric import read_rubric
from pytest_recall.store.state import read_state


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "check",
        "validate the case files, the rubric, the state and the calibrations, without running anything",
        run,
        "A run reads large case files only as far as it needs; this reads all of every file.",
    )
    add_files(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    problems: list[str] = []
    files: list[CaseFile] = []
    for path in case_paths(place, args):
        try:
            file = CaseFile(path, place.name(path))
            file.cases()
            files.append(file)
        except RecallError as error:
            problems += error.messages
    for read in (
        lambda: check_unique(files),
        lambda: read_rubric(place.rubric, place.name(place.rubric)),
        lambda: read_calibrations(place.calibration, place.name(place.calibration)),
        lambda: read_state(place.state, place.name(place.state)),
    ):
        try:
            read()
        except RecallError as error:
            problems += error.messages
    if problems:
        raise RecallError(*problems)
    cases = [case for file in files for case in file.cases()]
    scenarios, dimensions = {case.scenario for case in cases}, {case.dimension for case in cases}
    print(
        f"{plural(len(cases), 'case')} in {plural(len(files), 'file')}, {plural(len(scenarios), 'scenario')},"
        f" {plural(len(dimensions), 'dimension')}: all in order"
    )
    return 0
