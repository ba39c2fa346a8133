"""Build the texts that a reader gets as floors and ceiling: none, random, newest, and the evidence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from pytest_recall.cases.memory_part import Unit
from pytest_recall.datasets.floors import sized_units
from pytest_recall.datasets.membench import HANDED_OUT, TOKENS
from pytest_recall.files.errors import CaseError
from pytest_recall.memory.client import MemoryAdapter
from pytest_recall.memory.window import Null
from pytest_recall.metrics.answers import CHARACTERS
from pytest_recall.metrics.floors import ORACLE, READ_FROM, handed_out
from pytest_recall.trials.trial import ANSWERED, Answer, Passage, Trial

NO_EVIDENCE = "the dataset names no evidence"
_DIGITS = 16


class ReaderFloor(NamedTuple):
    """A floor or the ceiling."""

    name: str
    memory: str
    budgets: Mapping[str, float]
    """The tokens that it may return, by question."""

    @property
    def title(self) -> str:
        """What tables and journals call it."""
        return f"{self.name} (as many tokens as {self.memory})"

    @property
    def digest(self) -> str:
        """A digest of the tokens that it may return, so that a run notes where they are others."""
        told = "\n".join(f"{id} {tokens:g}" for id, tokens in sorted(self.budgets.items()))
        return f"{TOKENS}{sha256(told.encode()).hexdigest()[:_DIGITS]}"

    def answer(self, question: str, units: Sequence[Unit], evidence: Sequence[str]) -> Answer:
        """Return the passages, of which the last one may be cut; of random ones the first draw.

        `units` are what the memory was told, in that order, and `evidence` names what the answer is in. Raises
        CaseError where it is not known how many tokens the memory returned.
        """
        if question not in self.budgets:
            raise CaseError("floor", "it is not known how many tokens the memory returned; --fresh asks it again")
        left = self.budgets[question]
        told, gold = sized_units(units, evidence)
        texts = {unit.id: unit.content for unit in units}
        passages = []
        for id in handed_out(told, gold, left, question)[self.name][0]:
            text = texts[id][: round(left * CHARACTERS)]
            passages.append(Passage(text=text, source=id))
            left -= len(text) / CHARACTERS
        usage: dict[str, float] = {"memory_recall_seconds": 0.0, ANSWERED: 0}
        return Answer(text="\n\n".join(one.text for one in passages), passages=tuple(passages), usage=usage)


def is_unknown(name: str, evidence: Collection[str] | None, unanswerable: bool) -> bool:
    """Return whether it is not known what a floor returns, as no `evidence` is named for an answer that there is."""
    return name == ORACLE and not evidence and not unanswerable


class FloorClient(Null):
    """Stands for a floor where a run has a memory: it is told nothing, and no number of passages bounds it."""

    namespaces = True
    whole = True

    def in_namespace(self, name: str) -> MemoryAdapter:
        """Return itself."""
        return self


def reader_floors(memory: str, trials: Iterable[Trial]) -> list[ReaderFloor]:
    """Return the floors and the ceiling for the questions that a memory was asked, of which these are the trials."""
    budgets = {
        trial.case_id: trial.answer.usage[HANDED_OUT]
        for trial in trials
        if trial.answer is not None and HANDED_OUT in trial.answer.usage
    }
    return [ReaderFloor(name, memory, budgets) for name in READ_FROM]
