"""Models: those that a session asks by selector, from the project's root and by its cassettes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pytest_recall.core.call import Kind
from pytest_recall.plugin import start
from pytest_recall.plugin.stash import DECK

if TYPE_CHECKING:
    from pytest_recall.core.model import Model

# A client is built with some key, also where nothing is sent.
_NO_KEYS = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY"), "replayed")


def model_of(config: pytest.Config, selector: str, kind: Kind) -> Model:
    """Return the model that `selector` names, for calls of `kind`.

    Raises RecallError, before anything is spent, if there is none, or something is missing here.
    """
    from pytest_recall.providers.provider import Settings
    from pytest_recall.providers.resolve import resolve
    from pytest_recall.replay.programs import through

    run = start.run_of(config)
    deck = config.stash[DECK]
    replayed = deck.mode == "replay" and deck.player.ways[kind] == "cassette"
    model = resolve(
        selector,
        settings=Settings(say=run.note),
        environ={**_NO_KEYS, **os.environ} if replayed else os.environ,
        root=run.plan.place.root,
        channel=through(deck.player),
    )
    if not replayed and not config.option.collectonly:
        model.ready()
    return model
