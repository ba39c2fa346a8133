"""The public interface for extensions: what a package adds to pytest-recall, and what it is given.

An extension is a module with functions that are marked as `hookimpl`; `pytest_recall.hookspec` says which there are. A
package names the module in its entry points:

    [project.entry-points.pytest_recall]
    mine = "my_package.recall"

What the package ships in `pytest_recall.extensions`, importers, code hosts and memories, uses nothing else of it.
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
from pytest_recall.cases.memory_part import MemoryFault, QueryContext
from pytest_recall.datasets.dataset import Conversation, Question, Sample, Session, Utterance
from pytest_recall.datasets.file import DatasetLayout
from pytest_recall.datasets.rows import DatasetRow
from pytest_recall.files.disk import read_text
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.sections import Section, TextTable
from pytest_recall.files.subcommand import Subcommand
from pytest_recall.files.wording import one_line
from pytest_recall.forge.client import RefusedError, RestClient
from pytest_recall.forge.host import Comment, Host, Issue
from pytest_recall.memory.client import MemoryAdapter, patience
from pytest_recall.memory.dense import embed, embedded
from pytest_recall.memory.kind import (
    TIMEOUT_OPTION,
    MemoryContext,
    MemoryForm,
    MemoryKind,
    MemoryOption,
    MemorySelector,
)
from pytest_recall.models.model import Ask, Message, ModelError, Reply
from pytest_recall.models.provider import Provider
from pytest_recall.models.waiting import Channel
from pytest_recall.replay.exchange import Request, Response
from pytest_recall.runs.job import Job
from pytest_recall.trials.measure import Measure
from pytest_recall.trials.run_end import FinishedRun
from pytest_recall.trials.trial import Answer, Outcome, Passage, Trial, Verdict

__all__ = [
    "MAX_CASES",
    "MAX_TRIALS",
    "TIMEOUT_OPTION",
    "Answer",
    "Ask",
    "Case",
    "Channel",
    "Comment",
    "Conversation",
    "DatasetLayout",
    "DatasetRow",
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
    "MemoryAdapter",
    "MemoryContext",
    "MemoryFault",
    "MemoryForm",
    "MemoryKind",
    "MemoryOption",
    "MemorySelector",
    "Message",
    "ModelError",
    "Node",
    "Outcome",
    "Passage",
    "Provider",
    "QueryContext",
    "Question",
    "RecallError",
    "RefusedError",
    "Remark",
    "Reply",
    "Request",
    "Response",
    "RestClient",
    "Sample",
    "Section",
    "Session",
    "Subcommand",
    "TextTable",
    "Trial",
    "Utterance",
    "Verdict",
    "embed",
    "embedded",
    "hookimpl",
    "nearest",
    "one_line",
    "patience",
    "read_text",
    "slug",
    "word",
]

hookimpl = pluggy.HookimplMarker("pytest")
"""Marks a function as the implementation of a hook."""
