"""Early: a replay sends nothing from the moment on at which conftest files are read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_recall.core.redact import Redactor
from pytest_recall.core.secrets import secret_names
from pytest_recall.plugin.start import place_of, usage_errors
from pytest_recall.plugin.stash import WATCH
from pytest_recall.replay.player import Player
from pytest_recall.replay.watch import Watch
from pytest_recall.store.rubric import read_rubric


@contextmanager
def watched(config: pytest.Config) -> Iterator[None]:
    """Watch the import of the conftest files, and go on watching. Raises pytest.UsageError for a call in one."""
    known = config.known_args_namespace
    if known.help or known.version:
        yield
        return
    with usage_errors():
        place = place_of(_seen(config))
        rubric = read_rubric(place.rubric, place.name(place.rubric))
    redactor = Redactor(secret_names(os.environ, rubric.secrets))
    player = Player("replay", rubric.cassette_kinds, ignored=rubric.ignore_hosts, redact=redactor.text)
    watch = config.stash[WATCH] = Watch(player)
    config.add_cleanup(watch.close)
    try:
        yield
    finally:
        # Whatever a conftest has made of it, or pytest of its error.
        refuse_strays(player)


def refuse_strays(player: Player) -> None:
    """Raise pytest.UsageError for calls that were refused before the session had begun."""
    if player.strays:
        raise pytest.UsageError(*dict.fromkeys(player.strays)) from None


def _seen(config: pytest.Config) -> Any:
    """Return what is known of the configuration before pytest has parsed all of its arguments."""
    known, cwd = config.known_args_namespace, config.invocation_params.dir
    default = config.getini("testpaths") if cwd == config.rootpath else []
    return SimpleNamespace(
        option=known,
        args=known.file_or_dir or default or [str(cwd)],
        rootpath=config.rootpath,
        invocation_params=config.invocation_params,
        getini=config.getini,
    )
