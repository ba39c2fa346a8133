"""Hook: put the player before the HTTP clients that there are, whenever they are imported."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from pytest_recall.replay.finder import once_imported
from pytest_recall.replay.player import Player

HTTPX_FAMILY = ("httpx2", "httpx")
Undo = Callable[[], None]


def install(player: Player) -> list[Undo]:
    """Patch the clients that are loaded, and each other one as soon as an agent imports it.

    What is returned takes it back, called from the last to the first; it grows with what is imported.
    """
    return install_httpx(player, install_others(player))


def install_others(player: Player) -> list[Undo]:
    """Patch the clients that vcrpy knows, if anything is done with their calls."""
    if player.mode == "off" and player.limits is None and player.batches is None:
        return []
    from pytest_recall.replay import vcr_stubs

    return vcr_stubs.install(player)


def install_httpx(player: Player, undo: list[Undo] | None = None) -> list[Undo]:
    """Patch httpx and its family alone, which can be done once more above what is patched already."""
    undo = [] if undo is None else undo
    patched: set[type] = set()

    def patch(module: ModuleType) -> None:
        from pytest_recall.replay import httpx_family  # It brings ssl, which an agent without HTTP does not need.

        undo.extend(httpx_family.patch(module, player, patched))

    undo.append(once_imported(HTTPX_FAMILY, patch))
    return undo
