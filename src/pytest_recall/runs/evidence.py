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


REFS = "refs/recall/pull/"
"""What the names of these refs begin with."""


def ref_of(number: int | str) -> str:
    """Return the ref with the recordings of a pull or merge request."""
    return f"{REFS}{number}"


def recordings_of(place: Place, number: int | str | None, scratch: Path) -> list[Path]:
    """Return folders with the recordings of earlier runs of a pull request, the oldest first, written into `scratch`.

    None where the clone does not have them. Raises RecallError where git cannot read them.
    """
    return [] if number is None else _recordings(place, [ref_of(number)], scratch)


def recordings_of_all(place: Place, scratch: Path) -> list[Path]:
    """Return the same of all pull requests that the clone has recordings of, the newest request last."""
    repository = _repository(place)
    refs = [] if repository is None else repository.refs(REFS)
    return _recordings(place, sorted(refs, key=lambda ref: (len(ref), ref)), scratch)


def _recordings(place: Place, refs: list[str], scratch: Path) -> list[Path]:
    if (repository := _repository(place)) is None:
        return []
    found: list[Path] = []
    for number, ref in enumerate(ref for ref in refs if repository.first_of([ref])):
        there = scratch / f"pull-{number}"
        repository.check_out(ref, place.eval_dir, there, scratch / f"index-{number}")
        if there.is_dir():
            found += sorted(path for run in there.iterdir() if (path := run / CASSETTES).is_dir())
    return found


def _repository(place: Place) -> Repository | None:
    try:
        return Repository(place.root)
    except RecallError:
        return None
