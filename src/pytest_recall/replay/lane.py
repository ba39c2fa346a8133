"""Lane: the tapes of one case while others run beside it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_recall.replay.player import Player
    from pytest_recall.replay.tape import Tape


class Lane:
    """The tapes of one case while others run beside it. While it is `over`, calls of its threads are refused."""

    __slots__ = ("over", "player", "tapes")

    def __init__(self, player: Player) -> None:
        self.player = player
        self.tapes: list[Tape] = []
        self.over = False

    def call_off(self) -> None:
        """Refuse its calls from now on, and let none wait for a batch."""
        self.over = True
        if self.player.batches is not None:
            self.player.batches.call_off(self)


LANE: ContextVar[Lane | None] = ContextVar("recall_lane", default=None)
"""The lane of the case that runs here, if others run beside it."""
