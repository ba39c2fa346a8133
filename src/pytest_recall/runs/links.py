"""Links: where the files of a checkout stand on the web, as the environment of a build says it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from pytest_recall.files.eval_directory import relative


def links(env: Mapping[str, str], root: Path) -> str:
    """Return the address below which the files of `root` stand at the commit of this build; empty if none is known."""
    repository, commit = env.get("GITHUB_REPOSITORY"), env.get("GITHUB_SHA")
    if not repository or not commit:
        return ""
    server = env.get("GITHUB_SERVER_URL", "https://github.com").rstrip("/")
    base = f"{server}/{quote(repository)}/blob/{quote(commit)}"
    below = within(env, root)
    return f"{base}/{quote(below)}" if below else base


def within(env: Mapping[str, str], root: Path) -> str:
    """Return the folder of the repository that `root` is; empty for the repository itself, or where it is unknown."""
    workspace = env.get("GITHUB_WORKSPACE")
    below = relative(root, Path(workspace)) if workspace else "."
    return "" if below == "." or below.startswith(("/", "..")) else below
