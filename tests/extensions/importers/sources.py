"""Samples for the importers: documents of plain values, and what of them is left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pytest_recall.cases.imports import Document, ImportedSet
from pytest_recall.files.errors import RecallError

Files = Callable[[str, Document], Document]


def nothing(reference: str, beside: Document) -> Document:
    """Refuse every file."""
    raise RecallError(f"{beside.name}: `{reference}` is outside of its folder; copy it into it")


def documented(value: Any, name: str = "config.yaml", files: Files = nothing) -> Document:
    """Return plain values as a document whose lines are not known, and that names these files, as they do."""

    def read(reference: str, beside: Document) -> Document:
        return replace(files(reference, beside), files=read)

    return Document(name=name, value=value, lines={(): 1}, files=read)


def left(found: ImportedSet) -> list[str]:
    """Return what is left out."""
    return [remark.what for remark in found.remarks if remark.left]
