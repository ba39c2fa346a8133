"""A memory that returns the texts most like the question, by the characters that they share."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher

from pytest_recall.ext import MemoryAdapter, MemoryForm, MemoryKind, MemoryOption, Passage, QueryContext, hookimpl


class Difflib(MemoryAdapter):
    """Keeps texts in a list, and compares each with the question."""

    private = True

    def __init__(self, name: str, least: float) -> None:
        super().__init__(name)
        self.least = least
        self.units: list[Passage] = []

    def reset(self) -> None:
        """Forget everything."""
        self.units.clear()

    def store(self, content: str, metadata: Mapping[str, str]) -> None:
        """Keep a text."""
        self.units.append(Passage(text=content, source=metadata["id"]))

    def recall(self, query: str, limit: int, context: QueryContext) -> list[Passage]:
        """Return the texts with the highest ratios, the best first."""
        matcher = SequenceMatcher(b=query.lower(), autojunk=False)
        scored = []
        for unit in self.units:
            matcher.set_seq1(unit.text.lower())
            scored.append(Passage(text=unit.text, source=unit.source, score=matcher.ratio()))
        fitting = [one for one in scored if one.score >= self.least]
        return sorted(fitting, key=lambda one: -one.score)[:limit]

    def count(self) -> int:
        """Return how many texts it holds."""
        return len(self.units)


def least_fault(value: str) -> str:
    """Return what is wrong with the value of the option `least`; empty if nothing is."""
    try:
        return "" if 0 <= float(value) <= 1 else f"{value!r} is no ratio; write a number from 0 to 1"
    except ValueError:
        return f"{value!r} is no number"


@hookimpl
def pytest_recall_memories() -> list[MemoryKind]:
    """Return the kind of memory, which `--memory difflib` selects, and `--memory 'difflib;least=0.5'`."""
    return [
        MemoryKind(
            name="difflib",
            forms=(MemoryForm(about="the texts that share the most characters with the question"),),
            options=(MemoryOption(name="least", check=least_fault),),
            make=lambda selector, context: Difflib(selector.text, float(selector.options.get("least", 0))),
        )
    ]
