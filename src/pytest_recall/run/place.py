"""Place: where the eval directory of a run is, and how messages name its files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_recall.store.artifacts import Artifacts, relative
from pytest_recall.store.find import find_files

SETTLED = ("recall.yaml", "rubric.yaml")
CASES = ("cases.yaml", "cases.jsonl", "*.cases.yaml", "*.cases.jsonl")


@dataclass(frozen=True)
class Place:
    """The eval directory, and the project root that messages are relative to."""

    root: Path
    eval_dir: Path

    @property
    def state(self) -> Path:
        """The schedule's state file."""
        return self.eval_dir / "recall.yaml"

    @property
    def events(self) -> Path:
        """Where runs write what is not in the state file yet, if the rubric says so."""
        return self.eval_dir / "events"

    @property
    def rubric(self) -> Path:
        """The team's knobs."""
        return self.eval_dir / "rubric.yaml"

    @property
    def calibration(self) -> Path:
        """How well judging models agree with people."""
        return self.eval_dir / "calibration.yaml"

    @property
    def lock(self) -> Path:
        """The lock that writers of the state hold; it lies among the ignored files."""
        return self.artifacts.folder / ".lock"

    @property
    def cassettes(self) -> Path:
        """Where recorded calls are, unless another folder is named."""
        return self.eval_dir / "cassettes"

    @property
    def artifacts(self) -> Artifacts:
        """Where runs leave what they did."""
        return Artifacts(self.eval_dir)

    def name(self, path: Path) -> str:
        """Return `path` as messages show it."""
        return relative(path, self.root)


def settled(root: Path, named: Iterable[Path]) -> Path | None:
    """Return the nearest directory at or above one of `named`, up to `root`, with a state or a rubric."""
    for path in named:
        for folder in _up_to(root, path):
            if any((folder / name).is_file() for name in SETTLED):
                return folder
    return None


def find_place(root: Path, cwd: Path, named: Iterable[Path] = (), given: Path | None = None) -> Place:
    """Return the place of a run over the paths `named` on the command line.

    In order: the directory that was `given`; the nearest directory at or above a named
    path, up to `root`, that holds a state or a rubric; the only one below that holds one, and case files; the nearest
    above that holds case files;
    `eval` under `cwd`; `eval` under `root`.
    """
    if given is not None:
        return Place(root, given)
    paths = list(named)
    if (folder := settled(root, paths)) is not None or (folder := _below(paths)) is not None:
        return Place(root, folder)
    for path in paths:
        for folder in _up_to(root, path):
            if any(next(folder.glob(kind), None) for kind in CASES):
                return Place(root, folder)
    for folder in (cwd / "eval", root / "eval"):
        if folder.is_dir():
            return Place(root, folder)
    return Place(root, root / "eval")


def _below(named: Iterable[Path]) -> Path | None:
    """Return the one eval directory below the paths, such as that of a service whose folder is named."""
    found = {
        path.parent
        for folder in named
        if folder.is_dir()
        for path in find_files(folder, lambda path: path.name in SETTLED)
        if any(next(path.parent.glob(kind), None) for kind in CASES)
    }
    return found.pop() if len(found) == 1 else None


def _up_to(root: Path, path: Path) -> Iterator[Path]:
    for folder in (path, *path.parents):
        if folder.is_dir():
            yield folder
        if folder == root:
            return
