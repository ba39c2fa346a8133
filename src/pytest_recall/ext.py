"""The public interface for extensions: what a package adds to pytest-recall, and what it is given.

An extension is a module with functions that are marked as `hookimpl`; `pytest_recall.hookspec` says which there are. A
package names the module in its entry points:

    [project.entry-points.pytest_recall]
    mine = "my_package.recall"

What the package ships in `pytest_recall.extensions`, importers, code hosts and memories, uses nothing else of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
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
    from pytest_recall.forge.host import Comment, Host, HostClient, Issue
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
    "HostClient",
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

_HOMES = {
    "Answer": "trials.trial",
    "Ask": "models.model",
    "Case": "cases.case",
    "Channel": "models.waiting",
    "Comment": "forge.host",
    "Conversation": "datasets.dataset",
    "DatasetLayout": "datasets.file",
    "DatasetRow": "datasets.rows",
    "Document": "cases.imports",
    "FinishedRun": "trials.run_end",
    "Host": "forge.host",
    "HostClient": "forge.host",
    "ImportOptions": "cases.imports",
    "ImportedCase": "cases.imports",
    "ImportedSet": "cases.imports",
    "ImportedTest": "cases.imports",
    "Importer": "cases.imports",
    "Issue": "forge.host",
    "Job": "runs.job",
    "Judge": "cases.imports",
    "MAX_CASES": "cases.imports",
    "MAX_TRIALS": "cases.case:MAX_COUNT",
    "Measure": "trials.measure",
    "MemoryAdapter": "memory.client",
    "MemoryContext": "memory.kind",
    "MemoryFault": "cases.memory_part",
    "MemoryForm": "memory.kind",
    "MemoryKind": "memory.kind",
    "MemoryOption": "memory.kind",
    "MemorySelector": "memory.kind",
    "Message": "models.model",
    "ModelError": "models.model",
    "Node": "cases.imports",
    "Outcome": "trials.trial",
    "Passage": "trials.trial",
    "Provider": "models.provider",
    "QueryContext": "cases.memory_part",
    "Question": "datasets.dataset",
    "RecallError": "files.errors",
    "RefusedError": "forge.client",
    "Remark": "cases.imports",
    "Reply": "models.model",
    "Request": "replay.exchange",
    "Response": "replay.exchange",
    "RestClient": "forge.client",
    "Sample": "datasets.dataset",
    "Section": "files.sections",
    "Session": "datasets.dataset",
    "Subcommand": "files.subcommand",
    "TIMEOUT_OPTION": "memory.kind",
    "TextTable": "files.sections",
    "Trial": "trials.trial",
    "Utterance": "datasets.dataset",
    "Verdict": "trials.trial",
    "embed": "memory.dense",
    "embedded": "memory.dense",
    "nearest": "files.errors",
    "one_line": "files.wording",
    "patience": "memory.client",
    "read_text": "files.disk",
    "slug": "cases.imports",
    "word": "cases.imports",
}
"""The module of each name, and what it is called there if that is another name."""

hookimpl = pluggy.HookimplMarker("pytest")
"""Marks a function as the implementation of a hook."""

if not TYPE_CHECKING:  # Else type checkers would let a misspelt name pass.

    def __getattr__(name: str) -> object:
        # Every run and most commands load the extensions, each of which uses a few names.
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, _, original = _HOMES[name].partition(":")
        value = globals()[name] = getattr(import_module(f"pytest_recall.{module}"), original or name)
        return value
