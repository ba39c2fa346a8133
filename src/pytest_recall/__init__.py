"""pytest-recall: an evaluation harness for LLM agents, on a spaced-repetition schedule."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_recall.core.case import Case as Case
    from pytest_recall.core.errors import RecallError as RecallError
    from pytest_recall.core.memory import MemoryClient as MemoryClient
    from pytest_recall.core.memory import QueryContext as QueryContext
    from pytest_recall.core.trial import Answer as Answer
    from pytest_recall.core.trial import Passage as Passage
    from pytest_recall.core.trial import Trial as Trial
    from pytest_recall.core.trial import Verdict as Verdict

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
    "Answer": "core.trial",
    "Case": "core.case",
    "MemoryClient": "core.memory",
    "Passage": "core.trial",
    "QueryContext": "core.memory",
    "RecallError": "core.errors",
    "Trial": "core.trial",
    "Verdict": "core.trial",
}


def __getattr__(name: str) -> object:
    # The plugin is imported in every project of an environment: names load when used.
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
