"""`recall init`: a first eval set, which runs offline at once; what runs it in CI; a clone that merges its state."""

from __future__ import annotations

import argparse
from importlib.resources import files
from pathlib import Path

from pytest_recall.cli.common import Commands, command
from pytest_recall.core.errors import RecallError
from pytest_recall.run.teach import teach
from pytest_recall.store.files import write_text
from pytest_recall.store.find import find_case_files

# From the template's name to its place; a path that starts with `eval` moves with --dir.
TEMPLATES = {
    "cases.yaml": "eval/cases.yaml",
    "rubric.yaml": "eval/rubric.yaml",
    "conftest.py.txt": "eval/conftest.py",
}
EVERY_CLONE = """\
Every clone has to run `recall init --git` for itself; git takes no programs from a repository.
The merge button of a hosting site ignores all this: where it finds a conflict, merge the main branch into
yours in a clone, or let runs write events (`recall state --layout events`), which do not conflict."""
GITHUB = {"workflow.yml": ".github/workflows/eval-recall.yml", "recall.yml": ".github/workflows/recall.yml"}
GITLAB = {"gitlab-ci.yml": "eval/gitlab-ci.yml"}

DETAILS = """\
Without --github and --gitlab, the workflows for GitHub are written as well: ten lines, which are yours, and recall.yml,
which they call. With one of them, only what it names is written; the eval set is left alone.
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
    chosen = {**(GITHUB if args.github else {}), **(GITLAB if args.gitlab else {})} or {**TEMPLATES, **GITHUB}
    for template, target in chosen.items():
        path = folder / Path(target).name if target.startswith("eval/") else Path(target)
        if path.exists():
            print(f"kept    {path.as_posix()} (it is there already)")
            continue
        text = files("pytest_recall").joinpath("templates", template).read_text(encoding="utf-8")
        if not args.dry_run:
            write_text(path, text.replace("EVAL_DIR", folder.as_posix()))
        written += 1
        print(f"{'would write' if args.dry_run else 'wrote'}   {path.as_posix()}")
    if written and not args.dry_run and not (args.github or args.gitlab):
        where = folder.as_posix()
        print(f"\nNext: `pytest -p recall {where}` runs it; then put your own agent into {where}/conftest.py.")
    elif not args.dry_run and next(find_case_files(folder), None) is None:
        again = "recall init" if args.dir is None else f"recall init --dir {folder.as_posix()}"
        print(f"\nNext: {folder.as_posix()} has no cases yet; `{again}` writes first ones.")
    return 0


def _tell_git(folder: Path, *, write: bool) -> int:
    done = teach(Path.cwd() / folder, write=write)
    for name, changed in done.items():
        told = ("wrote   " if write else "would write   ") if changed else "kept    "
        print(f"{told}{name}{'' if changed else ' (it is there already)'}")
    print(f"\nNext: commit .gitattributes. {EVERY_CLONE}")
    return 0
