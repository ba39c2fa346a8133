"""Dataset files for tests: the shipped samples as plain data, changed, and written out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_recall.datasets.dataset import Oddity, Sample
from pytest_recall.datasets.file import LAYOUTS, open_dataset
from tests.helpers.dataset_samples import sample_text

FORMATS: tuple[str, ...] = tuple(LAYOUTS)


def plain(format: str) -> list[Any]:
    """Return the rows of the sample."""
    text = sample_text(format)
    rows: list[Any] = list(map(json.loads, text.splitlines())) if LAYOUTS[format].lines else json.loads(text)
    return rows


def text_of(format: str, rows: Any) -> str:
    """Return rows as a file of the format has them."""
    return "".join(f"{json.dumps(row)}\n" for row in rows) if LAYOUTS[format].lines else json.dumps(rows)


def write(path: Path, format: str, rows: Any) -> Path:
    """Write rows as a file of the format, and return its path."""
    path.write_text(text_of(format, rows), encoding="utf-8")
    return path


def load(path: Path, format: str, rows: Any) -> list[Sample]:
    """Write rows and return what is read from them, the file being called `file`."""
    return list(open_dataset(write(path, format, rows), "file").samples())


def odd(samples: list[Sample]) -> list[Oddity]:
    """Return what is odd in all samples."""
    return [oddity for sample in samples for oddity in sample.oddities]


def few() -> list[Any]:
    """Return LoCoMo's sample with 12 and 6 turns, and 4 and 3 questions, 5 of which can be answered."""
    rows = plain("locomo")
    for row, sessions, numbers in zip(rows, (2, 1), ((1, 2, 5, 11), (1, 4, 11)), strict=True):
        dropped = tuple(f"session_{number}" for number in range(sessions + 1, 5))
        row["conversation"] = {key: one for key, one in row["conversation"].items() if not key.startswith(dropped)}
        row["qa"] = [row["qa"][number - 1] for number in numbers]
    return rows


def write_few(folder: Path) -> None:
    """Write these as `few.json`."""
    write(folder / "few.json", "locomo", few())
