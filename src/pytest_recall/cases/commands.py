"""`recall init`: a first eval set, which runs offline at once; what runs it in CI; a clone that merges its state."""

from __future__ import annotations

import argparse
from importlib.resources import files
from pathlib import Path

from pytest_recall.cases.case import Case
from pytest_recall.cases.case_file import CaseFile
from pytest_recall.cases.settings import DEFAULT_RUBRIC, LITERAL
from pytest_recall.cases.settings_file import read_rubric
from pytest_recall.cli.common import Commands, command
from pytest_recall.files.disk import write_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.find import find_case_files
from pytest_recall.files.wording import plural
from pytest_recall.runs.pytest_ini import pytest_ini
from pytest_recall.schedule.merge_file import teach
from pytest_recall.schedule.simulate import World
from pytest_recall.schedule.simulated import parts
from pytest_recall.schedule.sizing import LEAST, Proposal, block, proposal, settings

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

DETAILS = """\
Without --github and --gitlab, the workflows for GitHub are written as well: ten lines, which are yours, and recall.yml,
which they call. With one of them, only what it names is written; the eval set is left alone, and
settings are proposed with sizes for its cases.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "init", "write a first eval set; asks nothing and overwrites nothing", run, DETAILS)
    parser.add_argument(
        "--git", action="store_true", help="write no eval set, but tell git in this clone how to merge eval/recall.yaml"
    )
    parser.add_argument("--github", action="store_true", help="write the workflows for GitHub only")
    parser.add_argument(
        "--gitlab", action="store_true", help="write a job for GitLab only, which .gitlab-ci.yml includes"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be written")


def run(args: argparse.Namespace) -> int:
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
    tags, _ = parts(cases)
    return block(_sizes(cases), len(cases), tags)


def _sizes(cases: list[Case]) -> Proposal:
    tags, _ = parts(cases)
    return proposal(tags, len(cases) or LEAST, World.breaks, World.recall, DEFAULT_RUBRIC.near_share)


def _recommend(folder: Path, cases: list[Case]) -> None:
    """Print the settings that a rubric which is there lacks, with sizes for its cases."""
    path = folder / "rubric.yaml"
    if not path.exists() or not cases:
        return
    rubric = read_rubric(path, path.as_posix())
    given = rubric.model_dump(mode="json", exclude_unset=True)
    lines = [line for line in settings(_sizes(cases), len(cases)) if line.name not in given]
    if rubric.policy == "literal":
        lines = settings(_sizes(cases), len(cases))
    if not lines:
        return
    print(f"\n{path.as_posix()} was not changed. Recommended for its {plural(len(cases), 'case')}:\n")
    for line in lines:
        print(f"  {line.text:<20}  # {line.why}")
    idle = [name for name in LITERAL if name in given]
    if idle:
        print(f"\nin place of {', '.join(f'`{name}`' for name in idle)}, which have no effect then.")
    print(
        "`recall schedule simulate` says what either comes to. The boxes alone: `policy: literal`, and in the workflow"
    )
    print("`state: always`.")


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
    done = teach(Path.cwd() / folder, write=write)
    for name, changed in done.items():
        told = ("wrote   " if write else "would write   ") if changed else "kept    "
        print(f"{told}{name}{'' if changed else ' (it is there already)'}")
    print(f"\nNext: commit .gitattributes. {EVERY_CLONE}")
    return 0
