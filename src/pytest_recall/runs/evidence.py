"""Find the recordings that CI made for a pull request, where no push to its branch drops them.

They stand in a ref of the pull request, beside its branch: `refs/recall/pull/N`, with a folder for each run. A force
push, a rebase or a deleted file of the branch leaves them alone, and a job that runs again finds what it has asked.
"""

from __future__ import annotations

from pathlib import Path

from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import CASSETTES, Place
from pytest_recall.files.git import Repository

RECORDINGS = "recordings"
"""The folder in `_artifacts` into which the run of a pull request records what it asks."""


def ref_of(number: int | str) -> str:
    """Return the ref with the recordings of a pull or merge request."""
    return f"refs/recall/pull/{number}"


def recordings_of(place: Place, number: int | str | None, scratch: Path) -> list[Path]:
    """Return folders with the recordings of earlier runs of a pull request, the oldest first, written into `scratch`.

    None where the clone does not have them. Raises RecallError where git cannot read them.
    """
    if number is None:
        return []
    try:
        repository = Repository(place.root)
    except RecallError:
        return []
    if not (ref := repository.first_of([ref_of(number)])):
        return []
    there = scratch / "pull"
    repository.check_out(ref, place.eval_dir, there, scratch / "pull-index")
    return sorted(path for run in there.iterdir() if (path := run / CASSETTES).is_dir()) if there.is_dir() else []
