"""Samples for the importers: documents of plain values, and what of them is left out."""

from __future__ import annotations

from typing import Any

from pytest_recall.cases.importers.carry import Document, Import


def documented(value: Any, name: str = "config.yaml") -> Document:
    """Return plain values as a document whose lines are not known."""
    return Document(name=name, value=value, lines={(): 1})


def left(found: Import) -> list[str]:
    """Return what is left out."""
    return [remark.what for remark in found.remarks if remark.left]
