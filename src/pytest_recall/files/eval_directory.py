"""Find the eval directory and its files: case files by their names, the state, cassettes and artifacts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from pytest_recall.files.disk import make_ignored, write_text
from pytest_recall.files.errors import RecallError, nearest

DEFAULT_PATTERNS = ("eval/cases.yaml", "eval/cases.jsonl", "*.cases.yaml", "*.cases.jsonl")
DATASET_FILES = ("*.dataset.yaml", "*.dataset.yml")
PROFILE_FILES = ("*.profile.yaml", "*.profile.yml")
OWN_FILES = ("cases.yaml", "cases.jsonl")
SUFFIXES = (".yaml", ".yml", ".jsonl")
SKIPPED_FOLDERS = ("_artifacts", ".*", "__pycache__", "node_modules", "venv", "build", "dist")


def is_case_file(path: Path, patterns: Iterable[str] = DEFAULT_PATTERNS) -> bool:
    """Whether the end of `path` fits one of the glob `patterns`, which use `/` between folders."""
    return path.suffix in SUFFIXES and any(path.match(pattern) for pattern in patterns)


def check_bundle(named: str) -> None:
    """Raise RecallError for a bundle of runs where the folder of a run is wanted: its journals may have no texts."""
    if named.endswith(".zip") and Path(named).is_file():
        raise RecallError(
            f"{named}: is a bundle of runs, and no folder of one; `recall memory verify {named}` prints the tables that"
            " its journals come to"
        )


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


def patterns_in(folder: Path) -> tuple[str, ...]:
    """Return the patterns of case files in an eval directory; its own cases.yaml is one, whatever its name is."""
    name = folder.absolute().name
    return (*DEFAULT_PATTERNS, *(f"{name}/{file}" for file in OWN_FILES)) if name else DEFAULT_PATTERNS


def own_case_file(folder: Path) -> Path | None:
    """Return the case file in `folder` that needs no pattern if that is an eval directory; None without one."""
    return next((folder / name for name in OWN_FILES if (folder / name).is_file()), None)


def find_case_files(
    root: Path,
    patterns: Iterable[str] = DEFAULT_PATTERNS,
    skipped: Iterable[str] = SKIPPED_FOLDERS,
) -> Iterator[Path]:
    """Yield the case files at or below `root`, in the order of `find_files`."""
    wanted = tuple(patterns)
    return find_files(root, lambda path: is_case_file(path, wanted), skipped)


def find_files(root: Path, fits: Callable[[Path], bool], skipped: Iterable[str] = SKIPPED_FOLDERS) -> Iterator[Path]:
    """Yield the files at or below `root` that `fits` accepts: by name, those of a folder before those below it.

    Folders whose name fits one of the globs `skipped` are passed over, and none is entered twice: links come last.
    Passed over as well are artifacts and whatever is called like a cassette, which may be thousands of files.
    """
    if root.is_file():
        if fits(root):
            yield root
        return
    for folder, names in _folders(root, skipped):
        for name in sorted(names):
            if not name.endswith(CASSETTE_SUFFIX) and fits(path := Path(folder, name)):
                yield path


def _folders(root: Path, skipped: Iterable[str] = SKIPPED_FOLDERS) -> Iterator[tuple[str, list[str]]]:
    """Yield the folders at or below `root` that may have files of ours, each with the names of its files."""
    closed = tuple(skipped)
    entered: set[str] = set()
    for folder, below, names in os.walk(root, followlinks=True):
        real = os.path.realpath(folder)
        if real in entered:
            below.clear()
            continue
        entered.add(real)
        below[:] = sorted(
            (
                name
                for name in below
                if not any(fnmatch(name, pattern) for pattern in closed)
                and not (name == FOLDER and is_left_by_runs(Path(folder, name)))
            ),
            key=lambda name: (os.path.islink(os.path.join(folder, name)), name),  # noqa: PTH114, PTH118
        )
        yield folder, names


FOLDER = "_artifacts"
CASSETTES = "cassettes"
CASSETTE_SUFFIX = ".ndjson"
"""The ending of the name of a cassette."""
BENCHES = "membench"
"""The folder in it for runs of `recall memory run`."""
PERSONAS = "bench"
"""The folder in it for runs of `recall bench run`."""
JOURNAL = "trials.jsonl"
_WHY = "# What runs leave behind; nothing here belongs in git.\n"


def is_left_by_runs(path: Path) -> bool:
    """Whether `path` is a folder of artifacts, or a cassette in the folder for them: neither has cases or tests.

    A folder that is only called so lacks the .gitignore that a run writes there.
    """
    if path.suffix == CASSETTE_SUFFIX:
        return CASSETTES in path.parts
    if path.name != FOLDER:
        return False
    try:
        return (path / ".gitignore").read_text(encoding="utf-8").startswith(_WHY)
    except (OSError, ValueError):
        return False


class Artifacts:
    """The artifacts of one eval directory, in it or in another `folder`, which is made when something is written."""

    def __init__(self, eval_dir: Path, folder: Path | None = None) -> None:
        self.folder = folder or eval_dir / FOLDER

    def make(self) -> None:
        """Make the folder, and let git pass over it. Raises OSError."""
        make_ignored(self.folder, _WHY)

    def calibration(self, kind: str) -> Path:
        """Return the file of the replies that calibrations of the judge `kind` have got."""
        return self.folder / "calibration" / f"{kind}.ndjson"

    def new_run(self, now: datetime) -> Path:
        """Make and return the folder of a new run, named after the time; no two runs share one."""
        self.make()
        stamp = now.strftime("%Y-%m-%dT%H%M%S")
        count, run = 1, self.folder / stamp
        while True:
            try:
                run.mkdir()
            except FileExistsError:
                count += 1
                run = self.folder / f"{stamp}-{count}"
            else:
                return run

    def runs(self) -> list[Path]:
        """Return the run folders, oldest first."""
        return runs_in([self.folder])

    def find(self, run: str) -> Path:
        """Return the folder of `run`: "latest", "previous", a run's name, or a path to its folder or journal.

        "latest" and "previous" are runs of pytest; those over datasets and personas, which are not named after the
        time, are found by their names. Raises RecallError, naming the nearest runs.
        """
        runs = self.runs()
        if run == "latest":
            if not runs:
                raise RecallError(self._none("no run", "yet", "run `pytest -p recall` first"))
            return runs[-1]
        if run == "previous":
            if len(runs) < 2:
                raise RecallError(self._none("no run", "before the latest", "run `pytest -p recall` again first"))
            return runs[-2]
        for path in (self.folder / run, *(folder / run for folder in self._beside), named_journal(run)):
            if path is not None and (path / JOURNAL).is_file():
                return path
        check_bundle(run)
        raise RecallError(f"no run {run!r}{nearest(run, [path.name for path in (*runs, *runs_in(self._beside))])}")

    @property
    def _beside(self) -> tuple[Path, Path]:
        """The folders of the runs over datasets and personas."""
        return self.folder / BENCHES, self.folder / PERSONAS

    def _none(self, what: str, when: str, first: str) -> str:
        """Return that there is no such run of pytest, and where the newest one of another kind is, or what to do."""
        others = runs_in(self._beside)
        if not others:
            return f"{self.folder}: {what} {when}; {first}"
        newest = max(others, key=lambda path: (path / JOURNAL).stat().st_mtime_ns)
        kind = "memory" if newest.parent.name == BENCHES else "bench"
        return f"{self.folder}: {what} of pytest {when}; name one of `recall {kind} run`, the newest is {newest.name}"

    def write(self, name: str, text: str) -> None:
        """Replace the file `name` of the newest run, such as today.yaml. Raises OSError."""
        self.make()
        write_text(self.folder / name, text)


def named_journal(run: str) -> Path | None:
    """Return the folder of the journal that is named by a path to either of them; None if there is none."""
    named = Path(run)
    folder = named.parent if named.name == JOURNAL else named
    return folder if (folder / JOURNAL).is_file() else None


def runs_in(folders: Iterable[Path]) -> list[Path]:
    """Return the run folders that are in any of `folders`, oldest first. Raises OSError."""
    found = {
        path: None
        for folder in folders
        if folder.is_dir()
        for path in folder.iterdir()
        if (path / "trials.jsonl").is_file()
    }
    return sorted(found, key=lambda path: _order(path.name))


def _order(name: str) -> tuple[str, int]:
    day, _, time = name.partition("T")
    clock, _, count = time.partition("-")
    return f"{day}T{clock}", int(count) if count.isdigit() else 1


def today_yaml(
    fields: Mapping[str, Any], cases: Iterable[Mapping[str, Any]], left: Iterable[Mapping[str, Any]] = ()
) -> str:
    """Return the text of today.yaml: what a run was asked to do, a line for each case chosen, or not evaluated."""
    # Imported here: every pytest session asks where its artifacts would be.
    from pytest_recall.files import strict_yaml

    head = "".join(f"{key}: {strict_yaml.flow(value)}\n" for key, value in fields.items())
    rows = "".join(f"  - {strict_yaml.flow(case)}\n" for case in cases)
    others = "".join(f"  - {strict_yaml.flow(case)}\n" for case in left)
    return (
        "# The slice of the newest run, and why each case is in it. Written by pytest-recall.\n"
        + head
        + (f"not_evaluated:\n{others}" if others else "")
        + ("cases:\n" + rows if rows else "cases: []\n")
    )


def relative(path: Path, base: Path) -> str:
    """Return `path` as messages show it: relative to `base` with `/`, or absolute if elsewhere."""
    try:
        return Path(os.path.realpath(path)).relative_to(os.path.realpath(base)).as_posix()
    except ValueError:
        return os.fspath(path)


SETTLED = ("recall.yaml", "rubric.yaml")
CASES = (*OWN_FILES, "*.cases.yaml", "*.cases.jsonl")


@dataclass(frozen=True)
class Place:
    """The eval directory, the project root that messages are relative to, and a folder for artifacts elsewhere."""

    root: Path
    eval_dir: Path
    artifacts_folder: Path | None = None

    @property
    def state(self) -> Path:
        """The schedule's state file."""
        return self.eval_dir / "recall.yaml"

    @property
    def run_files(self) -> Path:
        """Where runs on other branches than the default one write what they found, a file each."""
        return self.eval_dir / "runs"

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
        return self.eval_dir / CASSETTES

    @property
    def artifacts(self) -> Artifacts:
        """Where runs leave what they did."""
        return Artifacts(self.eval_dir, self.artifacts_folder)

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
    path, up to `root`, that holds a state or a rubric; `eval` under `cwd`, if `cwd` is named and that holds case files;
    the only one below that holds a state or a rubric, and case files; the nearest above that holds case files;
    `eval` under `cwd`; `eval` under `root`.
    """
    if given is not None:
        return Place(root, given)
    paths = list(named)
    if (folder := settled(root, paths)) is not None:
        return Place(root, folder)
    if cwd in paths and _has_cases(cwd / "eval"):
        return Place(root, cwd / "eval")  # Not that of another project below, which alone has a state so far.
    if (folder := _below(paths)) is not None:
        return Place(root, folder)
    for path in paths:
        for folder in _up_to(root, path):
            if _has_cases(folder):
                return Place(root, folder)
    for folder in (cwd / "eval", root / "eval"):
        if folder.is_dir():
            return Place(root, folder)
    return Place(root, root / "eval")


def _below(named: Iterable[Path]) -> Path | None:
    """Return the one eval directory below the paths, such as that of a service whose folder is named."""
    places = set()
    for folder in named:
        for count, (below, names) in enumerate(_folders(folder)):
            if count == MOST_FOLDERS:
                return None
            if not set(SETTLED).isdisjoint(names) and _has_cases(Path(below)):
                places.add(Path(below))
    return places.pop() if len(places) == 1 else None


MOST_FOLDERS = 3_000
"""Below a folder that has more, such as the root of a file system, none is looked for."""


def _has_cases(folder: Path) -> bool:
    return any(next(folder.glob(kind), None) for kind in CASES)


def _up_to(root: Path, path: Path) -> Iterator[Path]:
    for folder in (path, *path.parents):
        if folder.is_dir():
            yield folder
        if folder == root:
            return
