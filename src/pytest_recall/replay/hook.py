"""Hook: put the player before the HTTP clients that there are, whenever they are imported."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from pytest_recall.replay import httpx_family, vcr_stubs
from pytest_recall.replay.finder import once_imported
from pytest_recall.replay.player import Player

Undo = Callable[[], None]


def install(player: Player) -> list[Undo]:
    """Patch the clients that are loaded, and each other one as soon as an agent imports it.

    What is returned takes it back, called from the last to the first; it grows with what is imported.
    """
    undo = vcr_stubs.install(player)
    patched: set[type] = set()

    def patch(module: ModuleType) -> None:
        undo.extend(httpx_family.patch(module, player, patched))

    undo.append(once_imported(httpx_family.MODULES, patch))
    return undo
