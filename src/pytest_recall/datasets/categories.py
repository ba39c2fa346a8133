"""Name the categories of questions for tables, those of LoCoMo with their number in its file."""

from __future__ import annotations

from pytest_recall.metrics.answers import CATEGORIES

_TITLES = {name: f"{number} {name}" for number, name in CATEGORIES.items()}
"""Those of LoCoMo, whose names no other dataset has. Publications swap these; the number says which one is meant."""
_NAMES = {title: name for name, title in _TITLES.items()}


def category_title(name: str) -> str:
    """Return what a table calls a category, such as `1 multi-hop`."""
    return _TITLES.get(name, name)


def category_name(written: str) -> str:
    """Return the name of a category that is written as that, or as a table has it."""
    return _NAMES.get(written, written)
