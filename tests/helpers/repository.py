"""Repositories: real git in a folder, apart from the settings of anyone who runs the tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


@dataclass(frozen=True)
class Repository:
    """A working tree on the branch `main`, which it knows as the default one, as a clone does."""

    path: Path

    @classmethod
    def at(cls, path: Path) -> Repository:
        """Make one."""
        path.mkdir(parents=True, exist_ok=True)
        made = cls(path)
        made.git("init", "-q", "--initial-branch", "main")
        made.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
        return made

    def git(self, *arguments: str, code: int = 0) -> str:
        """Run git, which must end with `code`, and return what it printed."""
        done = subprocess.run(
            ["git", *arguments], cwd=self.path, env=ENVIRONMENT, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, (arguments, done)
        return done.stdout

    def commit(self, message: str = "Change") -> str:
        """Commit all that has changed, and return the commit."""
        self.git("add", "-A")
        self.git("commit", "-qm", message, "--allow-empty")
        return self.git("rev-parse", "HEAD").strip()

    def merge(self, branch: str) -> bool:
        """Merge a branch; return whether git could."""
        done = subprocess.run(
            ["git", "merge", "-q", "--no-edit", branch],
            cwd=self.path,
            env=ENVIRONMENT,
            capture_output=True,
            check=False,
        )
        assert done.returncode in (0, 1), done
        return done.returncode == 0


def git(folder: Path, *command: str) -> str:
    """Run git in `folder`, and return what it prints."""
    return Repository(folder).git(*command)


def commit(folder: Path, message: str = "Change") -> str:
    """Make a repository of `folder` if it is none, commit all that is in it, and return the commit."""
    repository = Repository(folder) if (folder / ".git").exists() else Repository.at(folder)
    return repository.commit(message)


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write files by path."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
