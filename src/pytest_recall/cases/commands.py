"""The commands `recall init`, `import` and `check`: write a first eval set, convert one, validate what is there."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_recall.cases.case import Case
from pytest_recall.cases.case_file import CaseFile, check_unique
from pytest_recall.cases.gate import lost_gates
from pytest_recall.cases.settings import DEFAULT_SETTINGS, LITERAL, Settings
from pytest_recall.cases.settings_file import read_settings
from pytest_recall.cli.common import Commands, add_files, case_paths, command, marked_in, place_of, placeless, say
from pytest_recall.files import clock
from pytest_recall.files.disk import write_text
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.eval_directory import DATASET_FILES, Place, find_case_files, find_files
from pytest_recall.files.wording import plural
from pytest_recall.runs.context import today_in
from pytest_recall.trials.trial import Row

if TYPE_CHECKING:
    from pytest_recall.schedule.sizing import Proposal

# From the template's name to its place; a path that starts with `eval` moves with --dir.
TEMPLATES = {
    "cases.yaml": "eval/cases.yaml",
    "rubric.yaml": "eval/rubric.yaml",
    "conftest.py.txt": "eval/conftest.py",
}
ABOUT = {
    "cases.yaml": "four first cases",
    "rubric.yaml": "what a run may spend, and what blocks a merge",
    "conftest.py.txt": "the agent under test, for now one that looks up facts",
    "workflow.yml": "runs them at GitHub, once it is pushed",
    "recall.yml": "does the work for it",
    "gitlab-ci.yml": "runs them at GitLab, once .gitlab-ci.yml includes it",
}
EVERY_CLONE = """\
Every clone has to run `recall init --git` for itself; git takes no programs from a repository.
The merge button of a hosting site ignores all this: where it finds a conflict, merge the main branch into
yours in a clone, or let runs write events (`recall state layout events`), which do not conflict."""
GITHUB = {"workflow.yml": ".github/workflows/eval-recall.yml", "recall.yml": ".github/workflows/recall.yml"}
GITLAB = {"gitlab-ci.yml": "eval/gitlab-ci.yml"}

INIT_DETAILS = """\
Without --github and --gitlab, the workflows for GitHub are written as well: ten lines, which are yours, and recall.yml,
which they call. With one of them, only what it names is written; the eval set is left alone, and
settings are proposed with sizes for its cases.
"""


def add_init(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "init", "write a first eval set; asks nothing and overwrites nothing", run_init, INIT_DETAILS
    )
    parser.add_argument(
        "--git", action="store_true", help="write no eval set, but tell git in this clone how to merge eval/recall.yaml"
    )
    parser.add_argument("--github", action="store_true", help="write the workflows for GitHub only")
    parser.add_argument(
        "--gitlab", action="store_true", help="write a job for GitLab only, which .gitlab-ci.yml includes"
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would be written, and change nothing")


def run_init(args: argparse.Namespace) -> int:
    """Run the command."""
    folder = args.dir or Path("eval")
    if args.git:
        if args.github or args.gitlab:
            raise RecallError("--git is about this clone, and --github and --gitlab are about CI; give them one by one")
        return _tell_git(folder, write=not args.dry_run)
    written = 0
    cases = _cases(folder)
    chosen = {**(GITHUB if args.github else {}), **(GITLAB if args.gitlab else {})} or {**TEMPLATES, **GITHUB}
    if "cases.yaml" in chosen:
        _check_cases(folder)
    for template, target in chosen.items():
        path = folder / Path(target).name if target.startswith("eval/") else Path(target)
        if path.exists():
            print(f"kept    {path.as_posix()} (it is there already)")
            continue
        text = files("pytest_recall").joinpath("templates", template).read_text(encoding="utf-8")
        if not args.dry_run:
            write_text(path, text.replace("EVAL_DIR", folder.as_posix()).replace("# SCHEDULE", _schedule(cases)))
        written += 1
        print(f"{'would write' if args.dry_run else 'wrote'}   {path.as_posix()}: {ABOUT[template]}")
    if args.github or args.gitlab:
        _recommend(folder, cases)
    elif written:
        _propose_testpaths()
    if written and not args.dry_run and not (args.github or args.gitlab):
        where = folder.as_posix()
        print(f"\nNext: `pytest -p recall {where}` runs it; then put your own agent into {where}/conftest.py.")
    elif not args.dry_run and next(find_case_files(folder), None) is None:
        again = "recall init" if args.dir is None else f"recall init --dir {folder.as_posix()}"
        print(f"\nNext: {folder.as_posix()} has no cases yet; `{again}` writes first ones.")
    return 0


def _cases(folder: Path) -> list[Case]:
    """Return the cases that are there already; none where they cannot be read, which is for others to say."""
    try:
        return [case for path in find_case_files(folder) for case in CaseFile(path, path.as_posix()).cases()]
    except RecallError:
        return []


def _schedule(cases: list[Case]) -> str:
    """Return the part of a rubric that says what runs, with sizes for `cases`, or for a first set."""
    from pytest_recall.schedule.simulated import parts
    from pytest_recall.schedule.sizing import block

    tags, _ = parts(cases)
    return block(_sizes(cases), len(cases), tags)


def _sizes(cases: list[Case]) -> Proposal:
    from pytest_recall.schedule.simulate import World
    from pytest_recall.schedule.simulated import parts
    from pytest_recall.schedule.sizing import LEAST, proposal

    tags, _ = parts(cases)
    return proposal(tags, len(cases) or LEAST, World.breaks, World.recall, DEFAULT_SETTINGS.near_share)


def _recommend(folder: Path, cases: list[Case]) -> None:
    """Print the settings that a rubric which is there lacks, with sizes for its cases."""
    from pytest_recall.schedule.sizing import aligned, settings

    path = folder / "rubric.yaml"
    if not path.exists() or not cases:
        return
    rubric = read_settings(path, path.as_posix())
    given = rubric.model_dump(mode="json", exclude_unset=True)
    lines = [line for line in settings(_sizes(cases), len(cases)) if line.name not in given]
    if rubric.policy == "literal":
        lines = settings(_sizes(cases), len(cases))
    if not lines:
        return
    print(f"\n{path.as_posix()} was not changed. Recommended for its {plural(len(cases), 'case')}:\n")
    for line in aligned(lines):
        print(f"  {line}")
    idle = [name for name in LITERAL if name in given]
    if idle:
        print(f"\nin place of {', '.join(f'`{name}`' for name in idle)}, which have no effect then.")
    print(
        "`recall schedule simulate` says what they come to. `policy: lottery` draws a fixed number of cases; the boxes"
    )
    print(
        "alone: `policy: literal`. With any of them the workflow's `state: always` keeps what pull requests have run."
    )


def _check_cases(folder: Path) -> None:
    """Refuse a folder whose cases are of another tool: with a rubric beside them, a run would take them for ours."""
    path = next((folder / name for name in ("cases.yaml", "cases.jsonl") if (folder / name).exists()), None)
    if path is None or (folder / "rubric.yaml").exists():
        return
    try:
        CaseFile(path, path.as_posix()).cases()
    except RecallError as error:
        raise RecallError(
            f"{error.messages[0]}; {path.as_posix()} is there already and is not a case file of pytest-recall, so that"
            " nothing was written; choose another folder, such as `recall init --dir evals`"
        ) from None


def _propose_testpaths() -> None:
    """Print the lines that keep `pytest` without arguments to the tests, where there are some and nothing says so."""
    from pytest_recall.runs.collection import pytest_ini

    ini = pytest_ini(Path.cwd())
    tests = next((name for name in ("tests", "test") if Path(name).is_dir()), None)
    if ini.sets_testpaths or (ini.file is None and tests is None):
        return
    value = f'["{tests or "tests"}"]' if ini.is_toml else tests or "tests"
    where = f"to the section {ini.section} of {ini.file}" if ini.has_section else f"to {ini.file or 'pytest.ini'}"
    head = "" if ini.has_section else f"{ini.section}\n"
    print(
        "\nNothing of yours was changed. pytest's `testpaths` is not set: with `-p recall` in `addopts`, `pytest` alone"
        f" would run the cases as well.\nSo that it keeps to your tests, add {where}:\n\n{head}testpaths = {value}"
    )


def _tell_git(folder: Path, *, write: bool) -> int:
    from pytest_recall.schedule.merge_file import teach

    done = teach(Path.cwd() / folder, write=write)
    for name, changed in done.items():
        told = ("wrote   " if write else "would write   ") if changed else "kept    "
        print(f"{told}{name}{'' if changed else ' (it is there already)'}")
    print(f"\nNext: commit .gitattributes. {EVERY_CLONE}")
    return 0


IMPORT_DETAILS = """\
FILE is a config of promptfoo (.yaml, .json), goldens that deepeval has saved (.json, .jsonl, .csv), or
samples or a log of inspect_ai (.json, .jsonl, .csv). Files that it names are read if they are in its
folder. No code is run, and nothing is fetched.

Without -o, the cases go to standard output and the report to standard error. Exits with 0 if all was
carried over, with 1 if something was left out, which the report names, and with 2 if no case was made.
"""


def add_import(commands: Commands) -> None:
    """Add the command."""
    from pytest_recall.cases.importers.run import TOOLS

    parser = placeless(
        commands,
        "import",
        "turn an eval set of promptfoo, deepeval or inspect_ai into cases, and say what is left out",
        run_import,
        IMPORT_DETAILS,
    )
    parser.add_argument("tool", choices=TOOLS, help="the tool that the set is of")
    parser.add_argument("file", type=Path, metavar="FILE", help="the file of the set")
    parser.add_argument(
        "-o", "--out", type=Path, metavar="CASES", help="write a case file, .yaml or .jsonl, which is not there yet"
    )
    parser.add_argument("--append", action="store_true", help="put the cases below those of the file that -o names")
    parser.add_argument(
        "--default-judge",
        action="append",
        default=[],
        metavar="JUDGE",
        help="the judge of cases that have none, as in a case file, such as token_f1; may be repeated",
    )
    parser.add_argument("--scenario", metavar="NAME", help="the scenario of the cases (default: by the file)")
    parser.add_argument("--dimension", metavar="NAME", help="their dimension (default: correctness)")
    parser.add_argument("--dry-run", action="store_true", help="print what would become of the set, and write nothing")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run_import(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.cases.importers.carry import ImportOptions
    from pytest_recall.cases.importers.run import ENDINGS, as_json, bring_in, judge_of, lines, put, text_of

    output: Path | None = args.out
    if output is not None and output.suffix not in ENDINGS:
        raise RecallError(f"{output}: a case file ends in .yaml, .yml or .jsonl; give such a name")
    if args.append and output is None:
        raise RecallError("--append: to which file? name it with -o")
    wanted = ImportOptions(
        scenario=_word("--scenario", args.scenario),
        dimension=_word("--dimension", args.dimension) or "correctness",
        judges=tuple(judge_of(text) for text in args.default_judge),
    )
    made = bring_in(args.tool, Path.cwd() / args.file, args.file.as_posix(), wanted)
    rows = [case.row for case in made.cases]
    shown = output is None and not args.dry_run
    if rows and output is not None and not args.dry_run:
        put(rows, Path.cwd() / output, output.as_posix(), append=args.append)
    if shown:
        print(text_of(rows), end="")
    report = json.dumps(as_json(made), indent=2, ensure_ascii=False) if args.json else "\n".join(lines(made))
    print(report, file=sys.stderr if shown else sys.stdout)
    if not rows:
        raise RecallError(f"{args.file.as_posix()}: no case was made of it; see why above")
    if output is not None and not args.json:
        done = "would write" if args.dry_run else "wrote"
        print(f"\n{done} {plural(len(rows), 'case')} to {output.as_posix()}")
    return int(any(remark.left for remark in made.remarks))


def _word(option: str, text: str | None) -> str | None:
    from pytest_recall.cases.importers.carry import word

    if text is None:
        return None
    if word(text) != text.lower():
        raise RecallError(f"{option}: {text!r} is not a word; start with a letter, and use letters, digits and `-`")
    return text


def add_check(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "check",
        "validate the cases, their judges, the datasets, the rubric, the state and the calibrations; nothing is asked",
        run_check,
        "A run reads large case files only as far as it needs; this reads all of every file, and of every dataset\n"
        "that a file `*.dataset.yaml` names. Judges are fixtures: they are found as pytest collects the directory, in\n"
        "a process of its own, which imports the conftest files. What a case gives a judge of your own is looked at\n"
        f"when its fixture is set up, before the case is asked.\n\n{SCHEMA_DETAILS}",
    )
    add_files(parser)
    parser.add_argument("--schema", choices=SCHEMAS, help="only print the JSON Schema (2020-12) of such files")


def run_check(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.judges.calibration_file import read_calibrations
    from pytest_recall.runs.collection import collection_problems

    if args.schema is not None:
        print_schema(args.schema)
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
        lambda: read_settings(place.rubric, place.name(place.rubric)),
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
    rubric = read_settings(place.rubric, place.name(place.rubric))
    _check_near(rubric, place, cases)
    if not asked:  # Questions of datasets have scenarios that are not read here.
        names = {*((case.scenario, case.dimension) for case in cases), *marked.values()}
        if lost := lost_gates(rubric.gates, names, place.name(place.rubric)):
            raise RecallError(*lost)
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
    from pytest_recall.schedule.state import check_dates, current

    state = current(place)
    today = clock.now().date()
    check_dates(state, max(today, today_in(os.environ, today)), place.name(place.state))
    return state.rows


def _check_near(rubric: Settings, place: Place, cases: Iterable[Case]) -> None:
    """Say which paths of the rubric's `near` fit no file. Raises RecallError for tags that no case has."""
    from pytest_recall.schedule.selection import unmatched

    if not rubric.near:
        return
    name = f"{place.name(place.rubric)}: near"
    tags = {tag for case in cases for tag in case.tags}
    lost = [tag for tag in rubric.near if tag not in tags]
    if lost:
        raise RecallError(*(f"{name}: `{tag}` is the tag of no case{nearest(tag, tags)}" for tag in lost))
    # Imported here: most eval sets map nothing, and need no git.
    from pytest_recall.files.git import Repository

    try:
        paths = Repository(place.root).files()
    except RecallError as error:
        say(f"{name}: its paths were not looked for, since {error}")
        return
    for tag, glob in unmatched(rubric.near, paths):
        say(f"{name}: {tag}: `{glob}` fits no file of the repository")


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
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
