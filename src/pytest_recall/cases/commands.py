"""The commands `recall init` and `import`: write a first eval set, or convert one of another tool."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_recall.cases.case import Case
from pytest_recall.cases.case_file import CaseFile
from pytest_recall.cases.requirement import (
    EXAMPLE,
    NAME,
    Requirement,
    install_command,
    read_requirement,
    recorded,
)
from pytest_recall.cases.settings_file import read_settings
from pytest_recall.cli.common import Commands, command, job_here, journals, placeless, say
from pytest_recall.files.disk import write_bytes, write_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Artifacts, find_case_files, own_case_file, patterns_in
from pytest_recall.files.wording import plural
from pytest_recall.registry import registry

if TYPE_CHECKING:
    from pytest_recall.cases.imports import ImportedSet, Importer

FIRST_CASES = 4
"""Cases in the template."""
SCHEDULE = "# SCHEDULE"
"""Stands in the template of the rubric for what runs."""
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
GITHUB = {"workflow.yml": ".github/workflows/eval-recall.yml", "recall.yml": ".github/workflows/recall.yml"}
GITLAB = {"gitlab-ci.yml": "eval/gitlab-ci.yml"}
EXTRAS = {"INSTALL_CASES": ("all",), "INSTALL_REPORT": ("ci",), "INSTALL_BOTH": ("all", "ci")}
"""Stand in the templates for CI for a step that installs pytest-recall, with these extras."""
ALONE = "INSTALL_REPORT"
"""The step that installs it without the project under test: its job may write, and runs none of the project's code."""

INIT_DETAILS = """\
Without --github and --gitlab, the workflows for GitHub are written as well: ten lines, which are yours, and recall.yml,
which they call. With one of them, only what it names is written; the eval set is left alone, and
settings are proposed with sizes for its cases.

What they install is the release that is installed here, with the project of this folder. Where that is installed
from a folder, the step that installs it fails until `--requirement` fills it, also in a file that is there already.
"""


def add_init(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "init", "write a first eval set; asks nothing and overwrites nothing", run_init, INIT_DETAILS
    )
    parser.add_argument("--github", action="store_true", help="write the workflows for GitHub only")
    parser.add_argument(
        "--gitlab", action="store_true", help="write a job for GitLab only, which .gitlab-ci.yml includes"
    )
    parser.add_argument(
        "--requirement",
        metavar="RELEASE",
        help=f"what CI installs, such as `{NAME}==VERSION` or `{EXAMPLE}` (default: what is installed here)",
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would be written, and change nothing")


def run_init(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.runs.base import lacks_default

    folder = _below_here(args.dir or Path("eval"))
    requirement = _installed() if args.requirement is None else read_requirement(args.requirement)
    written = unfilled = 0
    cases = _cases(folder)
    chosen = {**(GITHUB if args.github else {}), **(GITLAB if args.gitlab else {})} or {**TEMPLATES, **GITHUB}
    if "cases.yaml" in chosen:
        _check_cases(folder)
    for template, target in chosen.items():
        path = folder / Path(target).name if target.startswith("eval/") else Path(target)
        if path.exists():
            if requirement is not None and _fill(path, requirement, dry_run=args.dry_run):
                done = "would fill" if args.dry_run else "filled"
                print(f"{done}  {path.as_posix()}: it installs {NAME}{requirement.release}")
            else:
                print(f"kept    {path.as_posix()} (it is there already)")
            continue
        text = files("pytest_recall").joinpath("templates", template).read_text(encoding="utf-8")
        if not args.dry_run:
            if SCHEDULE in text:
                text = text.replace(SCHEDULE, _schedule(folder, cases))
            write_text(path, filled(text, folder.as_posix(), requirement))
        written += 1
        unfilled += requirement is None and any(name in text for name in EXTRAS)
        print(f"{'would write' if args.dry_run else 'wrote'}   {path.as_posix()}: {ABOUT[template]}")
    if written and "workflow.yml" in chosen and lacks_default(Path.cwd(), job_here()):
        print(
            f"\n{GITHUB['workflow.yml']} takes `{_default_branch()}` for the default branch, which nothing here says;"
            " correct `branches` there if it is another."
        )
    if unfilled:
        print(
            f"\n{NAME} is installed from a folder here, which CI does not have: the steps that install it fail until"
            "\n`recall init --requirement RELEASE` fills them."
        )
    if args.github or args.gitlab:
        _recommend(folder, cases)
    elif written:
        _propose_testpaths()
    if written and not args.dry_run and not (args.github or args.gitlab):
        where = folder.as_posix()
        run = f"pytest -p recall {shlex.quote(where)}"
        print(f"\nNext: `{run}` runs it; then put your own agent into {where}/conftest.py.")
    elif not args.dry_run and not _case_files(folder):
        again = "recall init" if args.dir is None else f"recall init --dir {shlex.quote(folder.as_posix())}"
        print(f"\nNext: {folder.as_posix()} has no cases yet; `{again}` writes first ones.")
    return 0


def filled(text: str, folder: str, requirement: Requirement | None) -> str:
    """Return a template with the eval directory and what is installed, in quotes where a shell or YAML needs them."""

    def in_yaml(path: str) -> str:
        return path if re.fullmatch(r"[\w./-]+", path) else json.dumps(path, ensure_ascii=False)

    known = {
        "EVAL_ARGUMENT": shlex.quote(folder),
        "EVAL_ARTIFACTS": in_yaml(f"{folder}/_artifacts"),
        "EVAL_YAML": in_yaml(folder),
        "EVAL_DIR": folder,
        "DEFAULT_BRANCH": in_yaml(_default_branch()),
        **{step: _install_step(step, requirement) for step in EXTRAS},
    }
    return re.sub("|".join(known), lambda found: known[found[0]], text)


def _below_here(folder: Path) -> Path:
    """Return an eval directory as it is named in files: by its path from here. Raises RecallError if it has none."""
    whole = Path(os.path.normpath(Path.cwd() / folder))
    if not whole.is_relative_to(Path.cwd()):
        raise RecallError(f"--dir: {folder.as_posix()} is not below this folder; run it in the folder of the project")
    return whole.relative_to(Path.cwd())


def _installed() -> Requirement | None:
    """Return what installs the release that runs, or None if that is a folder of this machine."""
    try:
        ours = distribution(NAME)
    except PackageNotFoundError:  # A source tree on the path.
        return None
    return recorded(ours.read_text("direct_url.json"), ours.version)


def _install_step(step: str, requirement: Requirement | None) -> str:
    """Return what stands for a step of the templates that installs, as YAML."""
    return json.dumps(install_command(requirement, EXTRAS[step], () if step == ALONE else _project()))


def _project() -> tuple[str, ...]:
    """Return the arguments by which pip installs the project of this folder; none where nothing says how."""
    try:
        tables = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    except (FileNotFoundError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        tables = {}
    if "project" in tables or "build-system" in tables or Path("setup.py").exists():
        return ("-e", ".")
    return ("-r", "requirements.txt") if Path("requirements.txt").exists() else ()


def _fill(path: Path, requirement: Requirement, *, dry_run: bool) -> bool:
    """Put a requirement into the steps of a file that wait for one, and return whether there are any."""
    before = path.read_bytes()
    after = before
    for step in EXTRAS:
        after = after.replace(_install_step(step, None).encode(), _install_step(step, requirement).encode())
    if after != before and not dry_run:
        write_bytes(path, after)
    return after != before


def _default_branch() -> str:
    """Return the branch that changes are merged into: as the clone knows it, else the one that is checked out."""
    from pytest_recall.files.git import Repository
    from pytest_recall.runs.base import default_branch

    try:
        repository = Repository(Path.cwd())
        return default_branch(repository, job_here()) or repository.branch() or "main"
    except RecallError:
        return "main"


def _case_files(folder: Path) -> list[Path]:
    """Return the case files in an eval directory, whatever its name is."""
    return list(find_case_files(folder, patterns_in(folder)))


def _cases(folder: Path) -> list[Case]:
    """Return the cases that are there already; none where they cannot be read, which is for others to say."""
    try:
        return [case for path in _case_files(folder) for case in CaseFile(path, path.as_posix()).cases()]
    except RecallError:
        return []


def _price(folder: Path, cases: list[Case]) -> float | None:
    """Return what all `cases` cost once in US dollars, by the runs on record; None where these do not say."""
    from pytest_recall.trials.cost import estimate, seen

    records = list(journals([Artifacts(folder).folder]))
    amount = estimate({case.id: case.scenario for case in cases}, seen(reversed(records))).usd
    priced = len(cases) - amount.unknown
    return amount.total * len(cases) / priced if priced else None


def _schedule(folder: Path, cases: list[Case]) -> str:
    """Return the part of a rubric that says what runs, with sizes for `cases`, or for the first set."""
    from pytest_recall.schedule.sizing import block

    return block(len(cases) or FIRST_CASES, _price(folder, cases))


def _recommend(folder: Path, cases: list[Case]) -> None:
    """Print the settings that a rubric which is there lacks, with sizes for its cases."""
    from pytest_recall.schedule.sizing import aligned, recommended

    path = folder / "rubric.yaml"
    if not path.exists() or not cases:
        return
    given = read_settings(path, path.as_posix()).model_fields_set
    lines = [line for line in recommended(len(cases), _price(folder, cases)) if line.name not in given]
    if all(line.is_comment for line in lines):
        return
    print(f"\n{path.as_posix()} was not changed. Recommended for its {plural(len(cases), 'case')}:\n")
    for line in aligned(lines):
        print(f"  {line}")


def _check_cases(folder: Path) -> None:
    """Refuse a folder whose cases are of another tool: with a rubric beside them, a run would take them for ours."""
    path = own_case_file(folder)
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


IMPORT_DETAILS = """\
Files that FILE names are read if they are in its folder. No code is run, and nothing is fetched.
Packages add tools: docs/reference/extensions.md says how.

Without -o, the cases go to standard output and the report to standard error. Exits with 0 if all was
carried over, with 1 if something was left out, which the report names, and with 2 if no case was made.
"""


class Importers(NamedTuple):
    """The importers of all extensions."""

    by_name: dict[str, Importer]
    """By the name of the tool."""
    refused: dict[str, str]
    """Why a tool of this name is not imported: that two packages would."""
    left_out: tuple[str, ...]
    """The extensions that are not used, and why."""


@cache
def importers() -> Importers:
    """Return the importers that this environment has. One with a fault takes no other with it."""
    from pytest_recall.cases.imports import Importer

    loaded, homes = registry(), dict[str, list[str]]()
    by_name: dict[str, Importer] = {}
    for package, importer in loaded.things("pytest_recall_importers", Importer):
        by_name[importer.name] = importer
        homes.setdefault(importer.name, []).append(package)
    refused = {
        name: f"`{name}` is imported by {' and by '.join(packages)}; uninstall one of them"
        for name, packages in homes.items()
        if len(packages) > 1
    }
    kept = {name: one for name, one in by_name.items() if name not in refused}
    return Importers(kept, refused, tuple(dict.fromkeys(map(str, loaded.left_out))))


def add_import(commands: Commands) -> None:
    """Add the command."""
    found = importers()
    about = {**{name: one.about for name, one in found.by_name.items()}, **found.refused}
    width = max(map(len, about), default=0)
    listed = "".join(f"  {name:<{width}}  {about[name]}\n" for name in about)
    listed += "".join(f"\n{why}\n" for why in found.left_out)
    parser = placeless(
        commands,
        "import",
        "turn an eval set of another tool into cases, and say what is left out",
        run_import,
        f"tools:\n{listed}\n{IMPORT_DETAILS}",
    )
    parser.add_argument("tool", choices=tuple(about), help="the tool that the set is of")
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
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="KEY=COLUMN",
        help="the column of a table, or the key of goldens and samples, that holds what the tool calls KEY, such as"
        " input=question; may be repeated",
    )
    parser.add_argument(
        "--delimiter", default=",", metavar="CHAR", help="what parts the cells of a table (default: `,`); `tab` is one"
    )
    parser.add_argument("--scenario", metavar="NAME", help="the scenario of the cases (default: by the file)")
    parser.add_argument("--dimension", metavar="NAME", help="their dimension (default: correctness)")
    parser.add_argument("--dry-run", action="store_true", help="print what would become of the set, and write nothing")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run_import(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.cases.import_file import (
        ENDINGS,
        as_json,
        delimiter_of,
        import_set,
        judge_of,
        lines,
        names_of,
        put,
        text_of,
    )
    from pytest_recall.cases.imports import ImportOptions

    output: Path | None = args.out
    if output is not None and output.suffix not in ENDINGS:
        raise RecallError(f"{output}: a case file ends in .yaml, .yml or .jsonl; give such a name")
    if args.append and output is None:
        raise RecallError("--append: to which file? name it with -o")
    options = ImportOptions(
        scenario=_word("--scenario", args.scenario),
        dimension=_word("--dimension", args.dimension) or "correctness",
        judges=tuple(judge_of(text) for text in args.default_judge),
        names=names_of(args.map),
        delimiter=delimiter_of(args.delimiter),
    )
    found = importers()
    for why in found.left_out:
        say(why)
    if args.tool in found.refused:
        raise RecallError(found.refused[args.tool])
    made = import_set(found.by_name[args.tool], Path.cwd() / args.file, args.file.as_posix(), options)
    _check_judges(made)
    rows = [case.row for case in made.cases]
    shown = output is None and not args.dry_run
    if rows and output is not None and not args.dry_run:
        put(rows, Path.cwd() / output, output.as_posix(), append=args.append)
    if shown:
        print(text_of(rows), end="")
    report = json.dumps(as_json(made), indent=2, ensure_ascii=False) if args.json else "\n".join(lines(made))
    print(report, file=sys.stderr if shown else sys.stdout)
    if not rows:
        why = "see why above" if made.remarks else "it holds no test"
        raise RecallError(f"{args.file.as_posix()}: no case was made of it; {why}")
    if output is not None and not args.json:
        done = "would write" if args.dry_run else "wrote"
        print(f"\n{done} {plural(len(rows), 'case')} to {output.as_posix()}")
    return int(any(remark.left for remark in made.remarks))


def _check_judges(made: ImportedSet) -> None:
    """Note for each case what a built-in judge of it lacks, as `recall check` would say."""
    from pytest_recall.cases.imports import Remark
    from pytest_recall.cases.settings import DEFAULT_SETTINGS
    from pytest_recall.judges.rehearsal import BUILT_IN, mistakes, rehearsal

    judges = {name: rehearsal(name, DEFAULT_SETTINGS) for name in BUILT_IN}
    for imported in made.cases:
        for sentence in mistakes(Case.model_validate(imported.row), judges, {}):
            made.remarks.append(
                Remark(place=imported.place, what=sentence, advice="complete the case", case=imported.id)
            )


def _word(option: str, text: str | None) -> str | None:
    from pytest_recall.cases.imports import word

    if text is None:
        return None
    if word(text) != text.lower():
        raise RecallError(f"{option}: {text!r} is not a word; start with a letter, and use letters, digits and `-`")
    return text
