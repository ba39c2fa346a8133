"""Repositories with a bare remote, in which pushes are real."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

PERSON = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "A"), ("EMAIL", "a@example.org"))
}
ALONE = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


def git(folder: Path, *arguments: str) -> str:
    """Run git in `folder` as a person and return what it prints."""
    env = {**os.environ, **PERSON, **ALONE}
    done = subprocess.run(["git", *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip("\n")


def with_remote(folder: Path) -> Path:
    """Commit all of `folder` to main, push it to a bare repository beside it, and return that."""
    bare = folder.parent / f"{folder.name}.git"
    git(folder.parent, "init", "--quiet", "--bare", "--initial-branch=main", str(bare))
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Begin")
    git(folder, "remote", "add", "origin", str(bare))
    git(folder, "push", "--quiet", "--set-upstream", "origin", "main")
    git(folder, "remote", "set-head", "origin", "--auto")
    return bare


def clone(bare: Path, name: str, *options: str) -> Path:
    """Clone a bare repository into a folder beside it."""
    git(bare.parent, "clone", "--quiet", *options, bare.as_uri(), name)
    return bare.parent / name


def file_at(bare: Path, path: str, branch: str = "main") -> str:
    """Return a file as the newest commit of a branch has it."""
    return git(bare, "show", f"{branch}:{path}")


def refuse_first_push(bare: Path, rival: Path) -> None:
    """Let `rival` push its newest commit while the first push of anybody else is on its way."""
    (bare / "hooks").mkdir(exist_ok=True)
    flag = bare / "raced"
    hook = bare / "hooks" / "pre-receive"
    hook.write_text(
        "#!/bin/sh\n"
        f"[ -e '{flag}' ] && exit 0\n"
        f"touch '{flag}'\n"
        "unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_DIR\n"
        f"git -C '{rival}' push --quiet origin HEAD:main\n",
        encoding="utf-8",
    )
    hook.chmod(0o755)
