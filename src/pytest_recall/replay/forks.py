"""Hear in the process of a case what the processes that were forked from it were refused, have asked, and started.

A forked process has a copy of the open tapes, and what it adds to one is not known where the verdict is made. So it
appends a line to a file without a name, which all of them have open, and which is read before a verdict is made.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from typing import Literal, NamedTuple
from weakref import WeakSet, finalize

Kind = Literal["refused", "unrecorded", "started"]


class Note(NamedTuple):
    """What a forked process says: `tape` is the `id` of the tape that was open for it, 0 if there was none."""

    kind: Kind
    tape: int
    text: str


class ForkNotes:
    """The notes of all processes that are forked from this one, in the order in which they were written.

    Unless they `are_kept`, there are none.
    """

    def __init__(self, are_kept: bool) -> None:
        self._process = os.getpid()
        self._file: int | None = None
        self._read = 0
        if are_kept:
            _opened.add(self)
            _register()

    @property
    def is_forked(self) -> bool:
        """Whether this is a process that was forked."""
        return self._process != os.getpid()

    def open(self) -> None:
        """Make the file, before the first fork."""
        if self._file is None and not self.is_forked:
            # Each write goes to the end of the file, whichever process makes it.
            with tempfile.TemporaryFile("ab+") as made:
                self._file = os.dup(made.fileno())
            finalize(self, os.close, self._file)

    def write(self, kind: Kind, tape: int, text: str) -> None:
        """Leave a note, in a process that was forked."""
        if self._file is not None:
            os.write(self._file, json.dumps([kind, tape, text]).encode() + b"\n")

    def read(self) -> Iterator[Note]:
        """Yield the notes that were not read yet, in the process that has made the file."""
        if self._file is None or self.is_forked:
            return
        lines = os.pread(self._file, os.fstat(self._file).st_size - self._read, self._read)
        whole = lines[: lines.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            yield Note(*json.loads(line))


_opened: WeakSet[ForkNotes] = WeakSet()
_registered = False


def _register() -> None:
    global _registered
    if not _registered and hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before)  # For good: there is no way to take it back.
        _registered = True


def _before() -> None:
    for notes in list(_opened):
        notes.open()
