"""Dataset: a file of a public memory benchmark, read sample by sample and never as a whole."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from pytest_recall.core.dataset import Sample
from pytest_recall.core.errors import RecallError
from pytest_recall.datasets.recognise import LAYOUTS, Format, recognise
from pytest_recall.datasets.rows import opened, rows

_SAMPLES: dict[Format, str] = {"locomo": "locomo.json", "longmemeval": "longmemeval.json", "dmr": "dmr.jsonl"}


class Dataset(NamedTuple):
    """A file, and the format in which it is read; messages call it `name`."""

    path: Path
    name: str
    format: Format

    def samples(self) -> Iterator[Sample]:
        """Yield each conversation with its questions, in the order of the file; it is read anew each time.

        Raises RecallError at the first row that does not fit, and for a file that has none.
        """
        layout = LAYOUTS[self.format]
        seen: dict[str, int] = {}
        for number, row in rows(self.path, self.name, lines=layout.lines):
            sample = layout.read(row, self.name, number)
            # Its questions have it in their ids, by which everything that is kept of them is found again.
            first = seen.setdefault(sample.conversation.id, number)
            if first != number:
                id = sample.conversation.id
                raise RecallError(f"{self.name}: row {number}: `{id}` is already row {first}; choose another id")
            yield sample
        if not seen:
            raise RecallError(f"{self.name}: has no rows; {layout.title} is {layout.shape}")

    def scenario(self, sample: Sample) -> str:
        """Return the scenario of the sample's questions: the conversation if they share one, else the dataset."""
        return sample.conversation.id if self.format == "locomo" else self.format


class Reader:
    """Hands out the samples of a dataset by row. It holds one, and reads on from there; going back begins anew."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._rows: Iterator[tuple[int, Any]] = iter(())
        self._sample: Sample | None = None

    def at(self, row: int) -> Sample:
        """Return the sample of the row. Raises RecallError."""
        if self._sample is not None and self._sample.row == row:
            return self._sample
        layout = LAYOUTS[self._dataset.format]
        if self._sample is None or self._sample.row > row:
            self._rows = rows(self._dataset.path, self._dataset.name, lines=layout.lines)
        self._sample = None  # What is let go of must not be there beside what is read next.
        for number, given in self._rows:
            if number == row:
                self._sample = layout.read(given, self._dataset.name, number)
                return self._sample
        raise RecallError(f"{self._dataset.name}: row {row} is gone; leave the file alone while it is in use")


def open_dataset(path: Path, name: str | None = None, format: Format | None = None) -> Dataset:
    """Return the dataset in the file, which messages call `name`; without a `format` it is recognised.

    Raises RecallError for a file that cannot be read or is of no known format.
    """
    shown = name or str(path)
    if path.exists() and not path.is_file():
        raise RecallError(f"{shown}: is no regular file; it is read more than once, so write it to one")
    return Dataset(path, shown, format or recognise(path, shown))


class Digest(NamedTuple):
    """How large a file is, in bytes, and its SHA-256."""

    size: int
    sha256: str


def digest(dataset: Dataset) -> Digest:
    """Return the digest of the file. Raises RecallError."""
    with opened(dataset.path, dataset.name) as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
        return Digest(file.tell(), found)


def sample_path(format: Format) -> Path:
    """Return where the small file of the format is."""
    return Path(str(files("pytest_recall").joinpath("datasets", "samples", _SAMPLES[format])))


def sample_text(format: Format) -> str:
    """Return a small file of the format, written for tests and demonstrations; it has nothing of the real one."""
    return sample_path(format).read_text(encoding="utf-8")
