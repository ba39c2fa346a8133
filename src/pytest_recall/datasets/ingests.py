"""Count what a memory was told for the questions of a run: each conversation once, however often it was told."""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum
from typing import NamedTuple

from pytest_recall.datasets.model_usage import ModelUsage, together
from pytest_recall.memory.session import Readback, readback_of


class StoredConversations(NamedTuple):
    """What a memory was told at a time."""

    conversations: int
    seconds: float
    """How long this took."""
    readback: Readback
    """What came of asking units back."""
    place: int | None = None
    """That of the last of these conversations among all that one store holds; None where each has a store of its
    own."""
    tokens: int | None = None
    """Those of the texts, by an estimate; None in a journal that does not say them."""
    models: ModelUsage = ModelUsage()
    """What the calls of the memory's own models took for it."""

    @property
    def last(self) -> int:
        """The place of the last of them in one store; where that has only the first one, none is said."""
        return 1 if self.place is None else self.place

    @property
    def rank(self) -> tuple[float, ...]:
        """What of two tellings of the same is the one to take: that of which less was kept."""
        held = self.readback.stored if self.readback.held is None else self.readback.held
        return self.readback.stored - held, self.readback.missing, self.readback.changed, self.seconds


def stored_before(usage: Mapping[str, float]) -> StoredConversations | None:
    """Return what the usage of an answer says of what was told before it; None if that was nothing."""
    seconds = usage.get("memory_store_seconds")
    if seconds is None:
        return None
    place = usage.get("memory_place")
    conversations = int(usage.get("memory_stages", 1))
    tokens = usage.get("memory_told_tokens")
    return StoredConversations(
        conversations,
        seconds,
        readback_of(usage),
        None if place is None else int(place),
        None if tokens is None else int(tokens),
        ModelUsage.of(usage, "memory_store"),
    )


class IngestCounter:
    """Adds up what a memory was told in one run, which tells a conversation again where it resumes."""

    def __init__(self) -> None:
        self._found: dict[str, list[StoredConversations]] = {}

    def add(self, conversation: str, told: StoredConversations) -> None:
        """Take what was told before a question about a conversation."""
        self._found.setdefault(conversation, []).append(told)

    def counted(self) -> StoredConversations | None:
        """Return what all of it comes to, each conversation once; None if nothing was told."""
        taken = (
            self._chained()
            if self._is_one_store
            else [max(one, key=lambda told: told.rank) for one in self._found.values()]
        )
        if not taken:
            return None
        first, *more = (one.readback for one in taken)
        tokens = [one.tokens for one in taken if one.tokens is not None]
        return StoredConversations(
            sum(one.conversations for one in taken),
            fsum(one.seconds for one in taken),
            sum(more, start=first),
            tokens=sum(tokens) if len(tokens) == len(taken) else None,
            models=together(one.models for one in taken),
        )

    @property
    def _is_one_store(self) -> bool:
        return any(one.place is not None for every in self._found.values() for one in every)

    def _chained(self) -> list[StoredConversations]:
        """Return tellings each of which begins where the one before it has ended, up to the last conversation.

        One that resumes a run has all conversations before it as well, which are not counted twice.
        """
        every = sorted((one for found in self._found.values() for one in found), key=lambda one: (one.last, one.rank))
        chains: dict[int, list[StoredConversations]] = {0: []}
        for one in every:
            before = one.last - one.conversations
            # Where what was told in between is not known, it begins after what is.
            start = before if before in chains else max(at for at in chains if at <= before)
            chains[one.last] = [*chains[start], one]
        return chains[max(chains)]
