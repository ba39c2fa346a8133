"""Models: those that are asked by selector, from the project's root and by its cassettes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from pytest_recall.core.call import Kind
from pytest_recall.providers.provider import Provider, Settings
from pytest_recall.providers.resolve import resolve
from pytest_recall.replay.player import Player
from pytest_recall.replay.programs import through

# A client is built with some key, also where nothing is sent.
_NO_KEYS = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY"), "replayed")


def model_of(
    selector: str, kind: Kind, *, player: Player, root: Path, say: Callable[[str], None], ready: bool = True
) -> Provider:
    """Return the model that `selector` names, for calls of `kind` that go by `player`.

    Raises RecallError, before anything is spent, if there is none, or something is missing here,
    which is not looked for if it need not be `ready`.
    """
    replayed = player.mode == "replay" and player.ways[kind] == "cassette"
    model = resolve(
        selector,
        settings=Settings(say=say),
        environ={**_NO_KEYS, **os.environ} if replayed else os.environ,
        root=root,
        channel=through(player),
    )
    if ready and not replayed:
        model.ready()
    return model
