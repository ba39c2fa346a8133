"""Covered: which days questions have been written about, kept beside the persona's files so that a pass goes on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_recall.core.horizon.layout import KEPT
from pytest_recall.store.files import locked, make_ignored
from pytest_recall.store.lines import Appended, read_appended

_WHY = "# What passes keep to go on; nothing here belongs in git.\n"


def kept_in(persona: Path) -> Path:
    """Make and return the folder in which passes keep what they need. Raises OSError."""
    make_ignored(persona / KEPT, _WHY)
    return persona / KEPT


@contextmanager
def alone(persona: Path, folder: Path) -> Iterator[None]:
    """Hold the `folder` of a persona's files that a pass writes: two at once would pay for the same twice.

    Raises RecallError if another pass is at it.
    """
    busy = f"{folder}: another pass is writing there; wait until it is done, then give the same command again"
    with locked(kept_in(persona) / f"{folder.name}.lock", busy):
        yield


class Covered:
    """The windows that questions have been written about, by the session, which is empty for all of a day.

    A window is noted with the ids of its questions before these are in their file, and counts once one of them
    is there: so that a pass that is killed in between neither repeats a window nor leaves one out. Who deletes
    all questions of a window has them written anew. Raises RecallError if the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._notes = [note for note in read_appended(path) if _is_note(note)] if path.exists() else []

    @property
    def ids(self) -> list[str]:
        """All ids that were ever given."""
        return [id for note in self._notes for id in note["ids"]]

    def days(self, session: str, there: Collection[str]) -> set[int]:
        """Return the days of a session that are covered, where these questions are `there`."""
        return {
            day
            for note in self._notes
            if note["session"] == session and any(id in there for id in note["ids"])
            for day in note["days"]
        }

    def note(self, session: str, checkpoint: int, days: Sequence[int], ids: Sequence[str], by: str) -> None:
        """Note a window, and who writes its questions. Raises OSError."""
        note = {"session": session, "checkpoint": checkpoint, "days": list(days), "ids": list(ids), "by": by}
        with Appended(self._path) as file:
            file.append(note)
        self._notes.append(note)


def _is_note(note: dict[str, Any]) -> bool:
    return (
        isinstance(note.get("session"), str)
        and isinstance(note.get("ids"), list)
        and isinstance(note.get("days"), list)
    )
