"""Artifacts: the folder `eval/_artifacts`, where each run leaves what it did."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from pytest_recall.core.errors import RecallError, nearest
from pytest_recall.store.files import make_ignored, write_text

FOLDER = "_artifacts"
_WHY = "# What runs leave behind; nothing here belongs in git.\n"


class Artifacts:
    """The artifacts of one eval directory; `folder` is made when something is written."""

    def __init__(self, eval_dir: Path) -> None:
        self.folder = eval_dir / FOLDER

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
        for count in range(1, 10_000):
            run = self.folder / (stamp if count == 1 else f"{stamp}-{count}")
            try:
                run.mkdir()
            except FileExistsError:
                continue
            return run
        raise RecallError(f"{self.folder}: 10,000 runs in one second; empty the folder")

    def runs(self) -> list[Path]:
        """Return the run folders, oldest first."""
        return runs_in([self.folder])

    def find(self, run: str) -> Path:
        """Return the folder of `run`: "latest", "previous", a run's name, or a path to its folder or journal.

        Raises RecallError, naming the nearest runs.
        """
        runs = self.runs()
        if run == "latest":
            if not runs:
                raise RecallError(f"{self.folder}: no run yet; run `pytest -p recall` first")
            return runs[-1]
        if run == "previous":
            if len(runs) < 2:
                raise RecallError(f"{self.folder}: no run before the latest; run `pytest -p recall` again first")
            return runs[-2]
        named = Path(run)
        for path in (self.folder / run, named.parent if named.name == "trials.jsonl" else named):
            if (path / "trials.jsonl").is_file():
                return path
        raise RecallError(f"no run {run!r}{nearest(run, [path.name for path in runs])}")

    def write(self, name: str, text: str) -> None:
        """Replace the file `name` of the newest run, such as today.yaml. Raises OSError."""
        self.make()
        write_text(self.folder / name, text)


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


def today_yaml(fields: Mapping[str, Any], cases: Iterable[Mapping[str, Any]]) -> str:
    """Return the text of today.yaml: what a run was asked to do, one line per chosen case."""
    # Imported here: every pytest session asks where its artifacts would be.
    from pytest_recall.store import strictyaml

    head = "".join(f"{key}: {strictyaml.flow(value)}\n" for key, value in fields.items())
    rows = "".join(f"  - {strictyaml.flow(case)}\n" for case in cases)
    return (
        "# The slice of the newest run, and why each case is in it. Written by pytest-recall.\n"
        + head
        + ("cases:\n" + rows if rows else "cases: []\n")
    )


def relative(path: Path, base: Path) -> str:
    """Return `path` as messages show it: relative to `base` with `/`, or absolute if elsewhere."""
    try:
        return Path(os.path.realpath(path)).relative_to(os.path.realpath(base)).as_posix()
    except ValueError:
        return os.fspath(path)
