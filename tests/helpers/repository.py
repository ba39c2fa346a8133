"""Real git repositories, in the folders of tests."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

NOBODY = {
    "user.name": "Nobody",
    "user.email": "nobody@example.invalid",
    "init.defaultBranch": "main",
    "commit.gpgsign": "false",
}


def git(folder: Path, *command: str) -> str:
    """Run git in `folder` as nobody in particular, and return what it prints."""
    settings = [part for name, value in NOBODY.items() for part in ("-c", f"{name}={value}")]
    done = subprocess.run(["git", *settings, *command], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def commit(folder: Path, message: str = "Change") -> str:
    """Make a repository of `folder` if it is none, commit all that is in it, and return the commit."""
    if not (folder / ".git").exists():
        git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD").strip()


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write files by path."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
