"""The public interface for extensions: what a package adds to pytest-recall, and what it is given.

An extension is a module with functions that are marked as `hookimpl`; `pytest_recall.hookspec` says which there are. A
package names the module in its entry points:

    [project.entry-points.pytest_recall]
    mine = "my_package.recall"

What the package ships in `pytest_recall.extensions`, importers and code hosts, uses nothing else of it.
"""

from __future__ import annotations

import pluggy

from pytest_recall.cases.case import MAX_COUNT as MAX_TRIALS
from pytest_recall.cases.case import Case
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
from pytest_recall.files.disk import read_text
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.sections import Section, TextTable
from pytest_recall.files.subcommand import Subcommand
from pytest_recall.forge.client import RefusedError, RestClient
from pytest_recall.forge.host import Comment, Host, Issue
from pytest_recall.runs.job import Job
from pytest_recall.trials.measure import Measure
from pytest_recall.trials.run_end import FinishedRun
from pytest_recall.trials.trial import Answer, Outcome, Passage, Trial, Verdict

__all__ = [
    "MAX_CASES",
    "MAX_TRIALS",
    "Answer",
    "Case",
    "Comment",
    "Document",
    "FinishedRun",
    "Host",
    "ImportOptions",
    "ImportedCase",
    "ImportedSet",
    "ImportedTest",
    "Importer",
    "Issue",
    "Job",
    "Judge",
    "Measure",
    "Node",
    "Outcome",
    "Passage",
    "RecallError",
    "RefusedError",
    "Remark",
    "RestClient",
    "Section",
    "Subcommand",
    "TextTable",
    "Trial",
    "Verdict",
    "hookimpl",
    "nearest",
    "read_text",
    "slug",
    "word",
]

hookimpl = pluggy.HookimplMarker("pytest")
"""Marks a function as the implementation of a hook."""
