"""Early: a replay sends nothing from the moment on at which conftest files are read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recall.plugin.stash import WATCH

if TYPE_CHECKING:
    from pytest_recall.replay.call import Kind, Way
    from pytest_recall.replay.player import Player


@contextmanager
def guarded(config: pytest.Config) -> Iterator[None]:
    """Watch what is done within if this is a replay, and go on watching. Raises pytest.UsageError for a call."""
    known = config.known_args_namespace
    if known.help or known.version or (known.recall_replay is None and not known.recall_dry_run):
        yield
        return
    from pytest_recall.cases.settings_file import read_rubric
    from pytest_recall.plugin.options import place_of, usage_errors
    from pytest_recall.plugin.recording import live_kinds
    from pytest_recall.replay.player import Player
    from pytest_recall.replay.redaction import Redactor
    from pytest_recall.replay.secrets import secret_names
    from pytest_recall.replay.watch import Watch

    with usage_errors():
        place = place_of(_seen(config))
        rubric = read_rubric(place.rubric, place.name(place.rubric))
    redactor = Redactor(secret_names(os.environ, rubric.secrets), rubric.kept_headers())
    ways: dict[Kind, Way] = {**rubric.cassette_kinds}
    ways.update(dict.fromkeys(live_kinds(known.recall_live, "replay"), "live"))
    player = Player("replay", ways, ignored=rubric.ignore_hosts, redact=redactor.text)
    watch = config.stash[WATCH] = Watch(player)
    config.add_cleanup(watch.close)
    try:
        yield
    finally:
        # Even if a conftest file or pytest made another error of it.
        refuse_strays(player)


def refuse_strays(player: Player) -> None:
    """Raise pytest.UsageError for calls that were refused before the session had begun."""
    if player.strays:
        raise pytest.UsageError(*dict.fromkeys(player.strays)) from None


def _seen(config: pytest.Config) -> Any:
    """Return what is known of the configuration before pytest has parsed all of its arguments."""
    known = config.known_args_namespace
    cwd = config.invocation_params.dir
    default = config.getini("testpaths") if cwd == config.rootpath else []
    return SimpleNamespace(
        option=known,
        args=known.file_or_dir or default or [str(cwd)],
        rootpath=config.rootpath,
        invocation_params=config.invocation_params,
        getini=config.getini,
    )
