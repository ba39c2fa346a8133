"""pytest-recall: an evaluation harness for LLM agents, on a spaced-repetition schedule."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_recall.cases.case import Case as Case
    from pytest_recall.cases.memory_part import MemoryClient as MemoryClient
    from pytest_recall.cases.memory_part import QueryContext as QueryContext
    from pytest_recall.files.errors import RecallError as RecallError
    from pytest_recall.trials.trial import Answer as Answer
    from pytest_recall.trials.trial import Passage as Passage
    from pytest_recall.trials.trial import Trial as Trial
    from pytest_recall.trials.trial import Verdict as Verdict

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "Case",
    "MemoryClient",
    "Passage",
    "QueryContext",
    "RecallError",
    "Trial",
    "Verdict",
    "__version__",
]

_HOMES = {
    "Answer": "trials.trial",
    "Case": "cases.case",
    "MemoryClient": "cases.memory_part",
    "Passage": "trials.trial",
    "QueryContext": "cases.memory_part",
    "RecallError": "files.errors",
    "Trial": "trials.trial",
    "Verdict": "trials.trial",
}


def __getattr__(name: str) -> object:
    # The plugin is imported in every project of an environment: names load when used.
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
