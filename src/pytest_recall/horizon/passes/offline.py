"""Offline: the author who asks no model; a seed decides all that is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_recall.core.horizon.brief import Brief
from pytest_recall.core.horizon.persona import Persona
from pytest_recall.core.model import ModelError
from pytest_recall.horizon.passes.author import Attempt, Done, Job, Wish
from pytest_recall.horizon.passes.dice import Dice
from pytest_recall.horizon.passes.offline_entry import offline_entry
from pytest_recall.horizon.passes.offline_persona import offline_persona
from pytest_recall.horizon.passes.offline_story import offline_story
from pytest_recall.store.yamltext import block


class OfflineAuthor:
    """Writes from templates. The same seed writes the same, and a day's text follows from its brief."""

    def __init__(self, seed: str = "0") -> None:
        self._dice = Dice(seed)

    def persona(self, wish: Wish, last: Attempt | None) -> str:
        """Return the persona of the ferry office."""
        return block(offline_persona(self._dice))

    def story(self, wish: Wish, persona: Persona, last: Attempt | None) -> str:
        """Return the story of the ferry office, spread over the days that are wanted."""
        return block(offline_story(self._dice, wish.days, wish.epoch))

    def entry(self, persona: Persona, brief: Brief) -> str:
        """Return the entry of a session; it fits any persona."""
        return offline_entry(self._dice, persona, brief)

    def each(self, jobs: Sequence[Job], do: Callable[[Job], Done]) -> list[Done | ModelError]:
        """Return what `do` makes of each job, one after the other."""
        return [do(job) for job in jobs]
