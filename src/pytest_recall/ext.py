"""The public interface for extensions: what a package adds to pytest-recall, and what it is given.

An extension is a module with functions that are marked as `hookimpl`; `pytest_recall.hookspec` says which there are. A
package names the module in its entry points:

    [project.entry-points.pytest_recall]
    mine = "my_package.recall"

The importers that the package ships, in `pytest_recall.extensions`, use nothing else of it.
"""

from __future__ import annotations

import pluggy

from pytest_recall.cases.case import MAX_COUNT as MAX_TRIALS
from pytest_recall.cases.imports import (
    MAX_CASES,
    Document,
    ImportedCase,
    ImportedSet,
    ImportedTest,
    Importer,
    ImportOptions,
    Judge,
    Node,
    Remark,
    slug,
    word,
)
from pytest_recall.files.errors import RecallError, nearest

__all__ = [
    "MAX_CASES",
    "MAX_TRIALS",
    "Document",
    "ImportOptions",
    "ImportedCase",
    "ImportedSet",
    "ImportedTest",
    "Importer",
    "Judge",
    "Node",
    "RecallError",
    "Remark",
    "hookimpl",
    "nearest",
    "slug",
    "word",
]

hookimpl = pluggy.HookimplMarker("pytest")
"""Marks a function as the implementation of a hook."""
