"""Place: where the eval directory of a run is, and how messages name its files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pytest_recall.store.artifacts import Artifacts, relative

MARKERS = ("rubric.yaml", "recall.yaml", "cases.yaml", "cases.jsonl")


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
    def rubric(self) -> Path:
        """The team's knobs."""
        return self.eval_dir / "rubric.yaml"

    @property
    def lock(self) -> Path:
        """The lock that writers of the state hold; it lies among the ignored files."""
        return self.artifacts.folder / ".lock"

    @property
    def artifacts(self) -> Artifacts:
        """Where runs leave what they did."""
        return Artifacts(self.eval_dir)

    def name(self, path: Path) -> str:
        """Return `path` as messages show it."""
        return relative(path, self.root)


def find_place(root: Path, cwd: Path, named: Iterable[Path] = (), given: Path | None = None) -> Place:
    """Return the place of a run over the paths `named` on the command line.

    In order: the directory that was `given`; the nearest directory at or above a named
    path, up to `root`, that holds an eval file; `eval` under `cwd`; `eval` under `root`.
    """
    if given is not None:
        return Place(root, given)
    for path in named:
        for folder in (path, *path.parents):
            if _holds_evals(folder):
                return Place(root, folder)
            if folder == root:
                break
    for folder in (cwd / "eval", root / "eval"):
        if folder.is_dir():
            return Place(root, folder)
    return Place(root, root / "eval")


def _holds_evals(folder: Path) -> bool:
    return folder.is_dir() and (
        any((folder / name).is_file() for name in MARKERS)
        or any(next(folder.glob(pattern), None) for pattern in ("*.cases.yaml", "*.cases.jsonl"))
    )
