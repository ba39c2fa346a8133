"""Finding case files; cheap to import, since every pytest session looks for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from fnmatch import fnmatch
from pathlib import Path

DEFAULT_PATTERNS = ("eval/cases.yaml", "eval/cases.jsonl", "*.cases.yaml", "*.cases.jsonl")
DATASET_FILES = ("*.dataset.yaml", "*.dataset.yml")
PROFILE_FILES = ("*.profile.yaml", "*.profile.yml")
SUFFIXES = (".yaml", ".yml", ".jsonl")
SKIPPED_FOLDERS = ("_artifacts", ".*", "__pycache__", "node_modules", "venv", "build", "dist")


def is_case_file(path: Path, patterns: Iterable[str] = DEFAULT_PATTERNS) -> bool:
    """Whether the end of `path` fits one of the glob `patterns`, which use `/` between folders."""
    return path.suffix in SUFFIXES and any(path.match(pattern) for pattern in patterns)


def meant_for(path: Path, folder: Path, patterns: Iterable[str] = DEFAULT_PATTERNS) -> str:
    """Return how a file at or below the eval directory `folder` should be called for a run to see it.

    Empty for a file that a run sees, and for one whose name is not near one that it looks for.
    """
    if path.suffix not in SUFFIXES:
        return ""
    before, dot, last = path.stem.rpartition(".")
    suffix = path.suffix.replace("yml", "yaml")
    # A name without a dot before its ending is looked for in the eval directory itself.
    wanted = ("cases",) if dot else ("cases", "rubric", "recall", "calibration") if path.parent == folder else ()
    near = get_close_matches(last.lower(), wanted, n=1, cutoff=0.8)
    if not near or is_case_file(path, patterns):
        return ""
    meant = f"{before}{dot}{near[0]}{suffix if near[0] == 'cases' else '.yaml'}"
    return "" if meant == path.name else meant


def is_profile(path: Path) -> bool:
    """Whether `path` is called like a profile of the long-horizon benchmark."""
    return any(path.match(pattern) for pattern in PROFILE_FILES)


def find_case_files(
    root: Path,
    patterns: Iterable[str] = DEFAULT_PATTERNS,
    skipped: Iterable[str] = SKIPPED_FOLDERS,
) -> Iterator[Path]:
    """Yield the case files at or below `root`, in the order of their paths."""
    wanted = tuple(patterns)
    return find_files(root, lambda path: is_case_file(path, wanted), skipped)


def find_files(root: Path, fits: Callable[[Path], bool], skipped: Iterable[str] = SKIPPED_FOLDERS) -> Iterator[Path]:
    """Yield the files at or below `root` that `fits` accepts, in the order of their paths.

    Folders whose name fits one of the globs `skipped` are passed over, and none is entered twice.
    """
    if root.is_file():
        if fits(root):
            yield root
        return
    closed = tuple(skipped)
    entered: set[str] = set()
    for folder, below, names in os.walk(root, followlinks=True):
        real = os.path.realpath(folder)
        if real in entered:
            below.clear()
            continue
        entered.add(real)
        below[:] = sorted(name for name in below if not any(fnmatch(name, pattern) for pattern in closed))
        for name in sorted(names):
            if fits(path := Path(folder, name)):
                yield path
