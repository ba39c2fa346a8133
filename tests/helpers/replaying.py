"""Runs that replay all cases first, in processes of their own that are forked."""

from __future__ import annotations

import os

import pytest

from tests.helpers import programs
from tests.helpers.project import Checkout
from tests.helpers.repository import ENVIRONMENT, Repository
from tests.helpers.talking import finished, talking
from tests.helpers.upstream import Upstream

QUICK = {"conftest.py": "import os\nimport sys\n\nsys.executable = os.environ.get('QUICK', sys.executable)\n"}
"""A file of a project for `quick_run`."""


def quick_run(checkout: Checkout, *options: str) -> pytest.RunResult:
    """Run `eval` in a process of its own, whose replays come from the nursery as it does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUICK", str(programs.folder() / "python"))
        return checkout.run_apart("eval", *options)


DRY = ("--record=missing", "--recall-dry-run")
"""The options of a dry run."""


def changed(checkout: Checkout, upstream: Upstream, text: str) -> Checkout:
    """Return the checkout with this source of its agent."""
    talking(upstream, text).at(checkout.pytester)
    return checkout


def push_recordings(checkout: Checkout, repository: Repository, number: int) -> None:
    """Keep what the newest run has recorded in the ref of a pull request, as `recall ci push` does."""
    recordings, index = "eval/_artifacts/recordings", checkout.path / ".git/of-recordings"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ENVIRONMENT, "GIT_INDEX_FILE", os.fspath(index))
        for name in finished(checkout, recordings):
            blob = repository.git("hash-object", "-w", f"{recordings}/{name}").strip()
            place = f"eval/2026-03-10T1/cassettes/{name}"
            repository.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{place}")
        commit = repository.git("commit-tree", "-m", "Recordings", repository.git("write-tree").strip()).strip()
    repository.git("update-ref", f"refs/recall/pull/{number}", commit)
