"""Models: those that a session asks by selector."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_recall.core.call import Kind
from pytest_recall.plugin import start
from pytest_recall.plugin.stash import DECK

if TYPE_CHECKING:
    from pytest_recall.core.model import Model


def model_of(config: pytest.Config, selector: str, kind: Kind) -> Model:
    """Return the model that `selector` names, for calls of `kind`.

    Raises RecallError, before anything is spent, if there is none, or something is missing here.
    """
    from pytest_recall.run import models

    run = start.run_of(config)
    return models.model_of(
        selector,
        kind,
        player=config.stash[DECK].player,
        root=run.plan.place.root,
        say=run.note,
        ready=not config.option.collectonly,
    )
