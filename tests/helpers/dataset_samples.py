"""The small files of datasets that are shipped."""

from __future__ import annotations

from pytest_recall.datasets.file import LAYOUTS


def sample_text(name: str) -> str:
    """Return the file of a dataset."""
    return LAYOUTS[name].sample.read_text(encoding="utf-8")
