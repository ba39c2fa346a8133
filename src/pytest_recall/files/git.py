"""What git knows of a repository: staged versions, committed texts and settings."""

from __future__ import annotations

import subprocess
from pathlib import Path

from pytest_recall.files.errors import RecallError, one_line

NO_GIT = "git: not found; install it, or put it on the PATH"


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=False)
    except OSError:
        raise RecallError(NO_GIT) from None


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    return one_line(done.stderr.decode("utf-8", "replace")) or f"exit code {done.returncode}"


def top(folder: Path) -> Path | None:
    """Return the root of the working tree around `folder`; None if there is none. Raises RecallError without git."""
    done = _git(folder, "rev-parse", "--show-toplevel")
    return Path(done.stdout.decode().rstrip("\n")) if done.returncode == 0 else None


def stages(path: Path) -> dict[int, str] | None:
    """Return the versions of an unmerged file: 1 the common one, 2 ours, 3 theirs. None if it is not unmerged.

    Raises RecallError for a version that is not UTF-8.
    """
    try:
        listed = _git(path.parent, "ls-files", "--unmerged", "-z", "--", f"./{path.name}")
    except RecallError:
        return None  # Without git there is no index either.
    if listed.returncode or not listed.stdout:
        return None
    found: dict[int, str] = {}
    for entry in listed.stdout.split(b"\0")[:-1]:
        _, name, stage = entry.partition(b"\t")[0].split()
        found[int(stage)] = _blob(path.parent, name.decode("ascii"), str(path))
    return found


def _blob(folder: Path, name: str, shown: str) -> str:
    done = _git(folder, "cat-file", "blob", name)
    if done.returncode:
        raise RecallError(f"{shown}: git cannot read it ({_said(done)})")
    return _text(done.stdout, shown)


def _text(data: bytes, shown: str) -> str:
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise RecallError(f"{shown}: a version in git is not UTF-8; resolve the conflict by hand") from None


def committed(folder: Path, revision: str) -> dict[str, str]:
    """Return the text of recall.yaml and of the event files below `folder` in a commit, by path from there.

    Raises RecallError for a revision that git does not know.
    """
    listed = _git(folder, "ls-tree", "-rz", revision, "--", "recall.yaml", "events/")
    if listed.returncode:
        raise RecallError(f"{revision}: git knows no such revision ({_said(listed)})")
    found: dict[str, str] = {}
    for entry in listed.stdout.split(b"\0")[:-1]:
        about, _, name = entry.partition(b"\t")
        path = name.decode("utf-8", "replace")
        found[path] = _blob(folder, about.split()[2].decode("ascii"), f"{revision}:{path}")
    return found


def merge_lines(ours: Path, base: Path, theirs: Path) -> bool:
    """Merge line by line into `ours`, as git does, with conflict markers; return whether it could.

    Raises RecallError without git.
    """
    labels = ("-L", "ours", "-L", "base", "-L", "theirs")
    done = _git(ours.parent, "merge-file", *labels, str(ours), str(base), str(theirs))
    return 0 <= done.returncode < 128


def setting(folder: Path, name: str) -> str | None:
    """Return a setting of the clone around `folder`. Raises RecallError without git."""
    done = _git(folder, "config", "--local", "--get", name)
    return done.stdout.decode("utf-8", "replace").rstrip("\n") if done.returncode == 0 else None


def set_setting(folder: Path, name: str, value: str) -> None:
    """Change a setting of the clone around `folder`. Raises RecallError."""
    done = _git(folder, "config", "--local", "--replace-all", name, value)
    if done.returncode:
        raise RecallError(f"git config {name}: not written ({_said(done)})")
