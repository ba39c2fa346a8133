"""The command `recall check`: validate cases, judges, datasets, rubric, state and calibrations, and print schemas.

Files of recordings are read as well: a damaged one stops every run, as a damaged state does.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

from pytest_recall.cases.case import Case
from pytest_recall.cases.case_file import CaseFile, check_unique
from pytest_recall.cases.gate import lost_gates
from pytest_recall.cases.settings import Settings
from pytest_recall.cases.settings_fields import JudgeKind
from pytest_recall.cases.settings_file import read_settings
from pytest_recall.cli.common import Commands, add_files, case_paths, command, marked_in, place_of, say
from pytest_recall.files import clock
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import DATASET_FILES, Place, find_files
from pytest_recall.files.wording import plural
from pytest_recall.registry import registry
from pytest_recall.runs.context import today_in
from pytest_recall.trials.trial import Row


def add_check(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "check",
        "validate the cases, their judges, the datasets, the rubric, the state, the calibrations and the files of"
        " recordings; nothing is asked",
        run_check,
        "A run reads large case files only as far as it needs; this reads all of every file, and of every dataset\n"
        "that a file `*.dataset.yaml` names. Judges are fixtures: they are found as pytest collects the directory, in\n"
        "a process of its own, which imports the conftest files. What a case gives a judge of your own is looked at\n"
        "when its fixture is set up, before the case is asked.\n\nExits with 0 if all is in order, with 1 if something"
        f" is wrong in the files, and with 2 if the command\ncannot look at them.\n\n{SCHEMA_DETAILS}",
    )
    add_files(parser)
    parser.add_argument("--schema", choices=SCHEMAS, help="only print the JSON Schema (2020-12) of such files")


def run_check(args: argparse.Namespace) -> int:
    """Run the command."""
    if args.schema is not None:
        print_schema(args.schema)
        return 0
    place = place_of(args)
    try:
        line = _check(place, args)
    except RecallError as error:
        for message in error.messages:
            say(message)
        return 1
    if line is None:
        raise RecallError(
            f"{place.name(place.eval_dir)}: there is no case in it; write cases.yaml, which `recall init` does, or name"
            " files of other names with --files"
        )
    print(line)
    return 0


def _check(place: Place, args: argparse.Namespace) -> str | None:
    """Return what there is, None where there is no case. Raises RecallError for what is wrong with it."""
    from pytest_recall.judges.calibration_file import read_calibrations
    from pytest_recall.runs.collection import collection_problems

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
        lambda: read_settings(place.rubric, place.name(place.rubric)),
        lambda: read_calibrations(place.calibration, place.name(place.calibration)),
        lambda: rows.update(_rows(place)),
        lambda: _check_recordings(place),
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
        return None
    rubric = read_settings(place.rubric, place.name(place.rubric))
    _check_selectors(rubric, place.name(place.rubric))
    _note_judges(rubric, place, cases)
    if cases and rubric.model_primary is None:
        _note_agent(place)
    _note_formats(files)
    if not (asked or args.files):  # Questions of datasets have rows of their own making.
        _note_rows(rows - {case.id for case in cases} - marked.keys(), place)
        _note_cassettes({case.id: case.scenario for case in cases}, {*rows, *marked}, place)
    if not asked:  # Questions of datasets have scenarios that are not read here.
        names = {*((case.scenario, case.dimension) for case in cases), *marked.values()}
        if lost := lost_gates(rubric.gates, names, place.name(place.rubric)):
            raise RecallError(*lost)
    scenarios, dimensions = {case.scenario for case in cases}, {case.dimension for case in cases}
    of_datasets = f", {plural(asked, 'question')} in {plural(len(datasets), 'dataset')}" if datasets else ""
    of_marks = f", {plural(len(marked), 'marked test')}" if marked else ""
    return (
        f"{plural(len(cases), 'case')} in {plural(len(files), 'file')}, {plural(len(scenarios), 'scenario')},"
        f" {plural(len(dimensions), 'dimension')}{of_datasets}{of_marks}: all in order"
    )


def _check_selectors(rubric: Settings, name: str) -> None:
    """Raise RecallError for what names no model or memory in a rubric."""
    from pytest_recall.models.model import parse

    appellate = [] if rubric.judge.appellate is None else [rubric.judge.appellate]
    named: list[tuple[str, str, Callable[[str], object]]] = [("judge.model", one, parse) for one in rubric.judge.model]
    named += [("judge.appellate", one, parse) for one in appellate]
    if rubric.memory is not None:
        named.append(("memory", rubric.memory, registry().memories().parse))
    problems = []
    for field, selector, read in named:
        try:
            read(selector)
        except RecallError as error:
            problems += [f"{name}: {field}: {message}" for message in error.messages]
    if problems:
        raise RecallError(*problems)


def _note_rows(orphans: set[str], place: Place) -> None:
    """Say which rows of the state are of no case, and which of these have a recording."""
    if not orphans:
        return
    first, *others = sorted(orphans)
    more = f" and {len(others)} more" if others else ""
    then = f"`recall state forget {first}` and `recall cassettes prune`, or `recall state move` if it was renamed"
    say(f"note: {place.name(place.state)}: no case is called `{first}`{more}; run {then}")


def _note_cassettes(scenarios: Mapping[str, str], others: Collection[str], place: Place) -> None:
    """Say which recordings are of no case: of none of these `scenarios`, by id, and of no row or marked test."""
    from pytest_recall.replay.cassette_file import read_header
    from pytest_recall.replay.cassette_library import Layer, Library
    from pytest_recall.replay.commands.listing import standing

    library = Library(place.cassettes, (Layer(place.cassettes, place.name(place.cassettes)),))
    gone: list[str] = []
    for path in library.files():
        with suppress(RecallError):  # A run and `recall cassettes verify` name what is damaged.
            header = read_header(path, library.name(path))
            if library.fits(path, header) and standing(header, scenarios, others) == "gone":
                gone.append(library.name(path))
    if gone:
        more = f", and {len(gone) - 1} more," if len(gone) > 1 else ""
        verb = "are recordings" if len(gone) > 1 else "is the recording"
        then = "`recall cassettes prune` deletes such, and `recall cassettes move` gives one to a case that was renamed"
        say(f"note: {gone[0]}{more} {verb} of no case; {then}")


def _note_formats(files: Iterable[CaseFile]) -> None:
    """Say which schemas have a `format` that their judge does not look at."""
    from pytest_recall.judges.built_in import formats_in

    for file in files:
        for case in file.cases():
            for call in case.judges:
                given = call.arguments
                if call.name != "json_schema" or given.get("formats"):
                    continue
                if formats := formats_in(given.get("schema", given.get("expected", case.expected))):
                    where = f"{file.name}:{file.lines[case.id]}: judges: json_schema"
                    instead = "give the judge `formats: true`, or take it away"
                    say(f"note: {where}: `format: {formats[0]}` has no effect; {instead}")


def _note_judges(rubric: Settings, place: Place, cases: Iterable[Case]) -> None:
    """Say which cases a model judges where the rubric names none: pytest refuses these without `--judge`."""
    kinds = set(get_args(JudgeKind))
    asking = [case for case in cases if any(call.name in kinds for call in case.judges)]
    if not asking or rubric.judge.model:
        return
    # A fixture of the project may judge in place of ours.
    own = list(_conftest_texts(place))
    wanted = {call.name for case in asking for call in case.judges if call.name in kinds}
    if left := sorted(kind for kind in wanted if not any(f"def judge_{kind}(" in text for text in own)):
        judges = " and ".join(f"`{kind}`" for kind in left)
        verb = "asks" if len(left) == 1 else "ask"
        say(
            f"note: {judges} {verb} a model, and {place.name(place.rubric)} names none; give --judge to each run, or"
            " write `judge: {model: SELECTOR}` there"
        )


def _conftest_texts(place: Place) -> Iterator[str]:
    """Yield the text of each conftest file of the project that can be read."""
    for path in find_files(place.root, lambda path: path.name == "conftest.py"):
        with suppress(OSError):
            yield path.read_text(encoding="utf-8", errors="replace")


def _note_agent(place: Place) -> None:
    """Say that no conftest file has an agent: pytest refuses cases without one, and without a model to ask."""
    if any("def agent(" in text for text in _conftest_texts(place)):
        return
    rubric = place.name(place.rubric)
    say(
        f"note: no conftest.py has a fixture `agent`, and {rubric} no `model_primary`; a run needs one of them, an"
        " agent of a plugin, or --model"
    )


def _rows(place: Place) -> Mapping[str, Row]:
    """Return the rows of the state. Raises RecallError, also for one of a day that is still to come."""
    from pytest_recall.schedule.state import check_dates, current

    state = current(place)
    today = clock.now().date()
    check_dates(place, state, max(today, today_in(os.environ, today)))
    return state.rows


def _check_recordings(place: Place) -> None:
    """Raise RecallError for each damaged file of recordings; a rubric that cannot be read is named elsewhere."""
    from pytest_recall.replay.cassette_check import check_files_of_runs

    try:
        rules = read_settings(place.rubric, place.name(place.rubric)).rules()
    except RecallError:
        return
    check_files_of_runs(place, rules)


def _names_dataset(path: Path) -> bool:
    return any(path.match(pattern) for pattern in DATASET_FILES)


def _questions(path: Path, place: Place) -> int:
    """Return how many questions a file that names a dataset asks. Raises RecallError for what is wrong with either."""
    # Imported here: most eval sets have none, and their cases need no dataset's modules.
    from pytest_recall.datasets.cases import read_bench

    name = place.name(path)
    bench = read_bench(path, name, registry().datasets())
    if bench.memory:
        try:
            registry().memories().parse(bench.memory)
        except RecallError as error:
            raise RecallError(*(f"{name}: memory: {message}" for message in error.messages)) from None
    return len(bench.cases())


SCHEMAS = ("cases", "rubric", "dataset")
SCHEMA_DETAILS = """\
For an editor with the YAML language server, keep the schema beside the cases
  recall check --schema cases > eval/cases.schema.json
and name it in the first line of eval/cases.yaml:
  # yaml-language-server: $schema=cases.schema.json
"""


def print_schema(what: str) -> None:
    """Print the schema of one of `SCHEMAS`."""
    print(json.dumps(schema_of(what), indent=2, ensure_ascii=False))


def schema_of(what: str) -> dict[str, Any]:
    """Return the schema of "cases", a list of them, of "rubric" or of "dataset"."""
    from pydantic import TypeAdapter

    from pytest_recall.cases.case import Case
    from pytest_recall.cases.settings import Settings
    from pytest_recall.datasets.questions import BenchFile

    kinds: dict[str, Any] = {"cases": list[Case], "rubric": Settings, "dataset": BenchFile}
    schema = TypeAdapter(kinds[what]).json_schema(mode="validation")
    if what == "dataset":  # Which there are, extensions say.
        schema["properties"]["dataset"]["enum"] = ["auto", *registry().datasets()]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
