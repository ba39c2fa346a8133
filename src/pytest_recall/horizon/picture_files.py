"""Write the pictures of a run, and remove outdated ones of another format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pytest_recall.files.disk import open_file, remove, write_bytes
from pytest_recall.horizon.picture_data import DRAWN_BY
from pytest_recall.horizon.run_file import PROGRESS, QUESTIONS, RESULT
from pytest_recall.trials.journal import NAME

_HEAD = 4096
"""The mark of a picture is among so many bytes."""
_MARKS = {".png": f"tEXtSoftware\0{DRAWN_BY}".encode("latin-1"), ".svg": f">{DRAWN_BY}</".encode()}


def answered_at(folder: Path) -> int:
    """Return when the answers of the run in a folder were written last, in nanoseconds; 0 where nothing says so."""
    journal = folder / NAME
    # Without a new answer a run writes its other files again.
    files = [journal] if journal.is_file() else [folder / name for name in (RESULT, PROGRESS, QUESTIONS)]
    return _newest(files)


def write_pictures(drawn: Mapping[Path, tuple[bytes, int]]) -> list[str]:
    """Write pictures, each with the time of what it shows; return what became of older ones of the other format.

    One of ours is removed, since it would show the run before its last answers. Any other file is left.
    """
    said = []
    for path, (data, since) in drawn.items():
        write_bytes(path, data)
        other = path.with_suffix(".svg" if path.suffix == ".png" else ".png")
        if not other.is_file() or other.stat().st_mtime_ns > since:
            continue
        if _is_ours(other):
            remove(other)
            said.append(f"{other} is removed: it is older than what {path.name} shows")
        else:
            told = f"nothing in it says that {DRAWN_BY} drew it; delete it if it is a picture of this run"
            said.append(f"{other} is older than what {path.name} shows, and stays: {told}")
    return said


def _is_ours(picture: Path) -> bool:
    with open_file(picture, "rb") as file:
        return _MARKS[picture.suffix] in file.read(_HEAD)


def _newest(files: Iterable[Path]) -> int:
    return max((path.stat().st_mtime_ns for path in files if path.is_file()), default=0)
