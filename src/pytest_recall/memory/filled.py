"""Record in a file what a memory stores, so that a resumed run knows that it holds nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_recall.files.disk import read_text

FILLED = ".memory-filled"
"""The name of the file, in the folder of a run."""


class FilledMark:
    """A file that is there while a memory holds what a run has told it.

    A run that resumes one that was killed may empty such a memory. The file of one `owner`, where it is given, says
    nothing of a memory of another name.
    """

    def __init__(self, path: Path, owner: str = "") -> None:
        self._path = path
        self._owner = owner
        self._first = f"of {owner}" if owner else ""

    @property
    def is_there(self) -> bool:
        """Whether the memory holds what this run has told it."""
        return self._path.exists() and (not self._first or self.lines[:1] == [self._first])

    @property
    def lines(self) -> list[str]:
        """What the file says."""
        return read_text(self._path).splitlines()

    def of(self, part: int) -> FilledMark:
        """Return the file of a part of the run that has a store of its own."""
        return FilledMark(self._path.with_name(f"{self._path.name}-{part}"), self._owner)

    @property
    def parts(self) -> set[int]:
        """The parts of the run whose stores hold what it has told them."""
        paths = self._path.parent.glob(f"{self._path.name}-*")
        numbers = {path.name.removeprefix(f"{self._path.name}-") for path in paths}
        return {int(one) for one in numbers if one.isdecimal() and self.of(int(one)).is_there}

    def begin(self) -> None:
        """Say that it holds nothing of this run yet."""
        self._path.write_bytes(f"{self._first}\n".encode() if self._first else b"")

    @contextmanager
    def telling(self, name: str) -> Iterator[None]:
        """Say that it is told what is called `name`, and that it was; nothing where no `begin` was called."""
        self._say(f"telling {name}")
        yield
        self._say(f"told {name}")

    def end(self) -> None:
        """Say that it holds nothing any more."""
        self._path.unlink(missing_ok=True)

    def _say(self, line: str) -> None:
        if self.is_there:
            # Not synced: it has to outlive the process, not the machine, of which the memory would not know either.
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
