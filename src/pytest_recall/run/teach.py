"""Teach: tell git, in one clone, to merge the state file row by row."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

from pytest_recall.core.errors import RecallError
from pytest_recall.store.files import read_text, write_text
from pytest_recall.store.gitmerge import set_setting, setting, top

ATTRIBUTES = ".gitattributes"
DRIVER = "recall"


def teach(eval_dir: Path, *, write: bool) -> dict[str, bool]:
    """Give the state file its merge driver: in .gitattributes, and in the settings of the clone.

    Returns what was looked at, and whether it had to be changed. Without `write` nothing is. Raises RecallError
    where there is no clone, or the state file has another driver.
    """
    around = next(folder for folder in (eval_dir, *eval_dir.parents) if folder.is_dir())
    root = top(around)
    if root is None:
        raise RecallError(f"{eval_dir}: not in a git repository; run `git init` first")
    state = (eval_dir.resolve() / "recall.yaml").relative_to(root.resolve()).as_posix()
    done = {ATTRIBUTES: _attribute(root / ATTRIBUTES, state, write=write)}
    # The command first: with a name and no command git refuses to merge at all.
    settings = {
        f"merge.{DRIVER}.driver": driver(),
        f"merge.{DRIVER}.name": "pytest-recall: the rows of a state file",
    }
    for name, value in settings.items():
        changed = setting(root, name) != value
        if changed and write:
            set_setting(root, name, value)
        done[f"git config {name}"] = changed
    return done


def _attribute(path: Path, state: str, *, write: bool) -> bool:
    text = read_text(path, ATTRIBUTES) if path.exists() else ""
    pattern = f'"{state}"' if re.search(r'[\s"]', state) else state
    for number, line in enumerate(text.splitlines(), start=1):
        given = line.split()
        if line.startswith((f"{pattern} ", f"/{pattern} ", f"{pattern}\t")):
            if f"merge={DRIVER}" in given:
                return False
            if any(one.startswith(("merge", "-merge", "!merge")) for one in given[1:]):
                raise RecallError(
                    f"{ATTRIBUTES}:{number}: {state} is merged in another way; write `{pattern} merge={DRIVER}`"
                )
    if write:
        gap = "" if not text or text.endswith("\n") else "\n"
        write_text(path, f"{text}{gap}{pattern} merge={DRIVER}\n")
    return True


def driver() -> str:
    """Return the command for git: this installation's, or git's own merge by lines once that is gone."""
    program = Path(sys.executable).with_name("recall")
    given = [program.as_posix()] if program.exists() else [Path(sys.executable).as_posix(), "-m", "pytest_recall"]
    first, whole = shlex.quote(given[0]), shlex.join(given)
    return f"if test -x {first}; then {whole} merge-driver %O %A %B %P; else git merge-file %A %O %B; fi"
