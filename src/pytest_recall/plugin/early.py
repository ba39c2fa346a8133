"""Early: a replay sends nothing from the moment on at which conftest files are read."""

from __future__ import annotations

import argparse
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recall.plugin import names, options
from pytest_recall.plugin.start import place_of, usage_errors
from pytest_recall.plugin.stash import WATCH

if TYPE_CHECKING:
    from pytest_recall.replay.player import Player


def guarded(config: pytest.Config, parser: pytest.Parser, args: list[str]) -> Generator[None, object, object]:
    """Load the conftest files, watched if this is a replay. Raises pytest.UsageError for a call in one.

    `--replay` may turn out to be an option of one of them. Where that is likely, the watch
    begins after them; where it happens all the same, the watch is called off.
    """
    known = names.reading(config, parser, args)
    if known.recall_dry_run:
        with _watched(config, known):
            return (yield)
    certain = getattr(config.known_args_namespace, "recall_replay", None) is not None
    if not certain and (known.recall_replay is None or _disputed(config, known)):
        result = yield
        known = names.reading(config, parser, args)
        if known.recall_replay is not None:
            with _watched(config, known):
                pass
        return result
    with _watched(config, known):
        result = yield
        if names.reading(config, parser, args).recall_replay is None and WATCH in config.stash:
            config.stash[WATCH].call_off()
            del config.stash[WATCH]
    return result


@contextmanager
def _watched(config: pytest.Config, known: argparse.Namespace) -> Iterator[None]:
    """Watch what is done within, and go on watching."""
    if known.help or known.version:
        yield
        return
    from pytest_recall.core.redact import Redactor
    from pytest_recall.core.secrets import secret_names
    from pytest_recall.replay.player import Player
    from pytest_recall.replay.watch import Watch
    from pytest_recall.store.rubric import read_rubric

    with usage_errors():
        place = place_of(_seen(config, known))
        rubric = read_rubric(place.rubric, place.name(place.rubric))
    redactor = Redactor(secret_names(os.environ, rubric.secrets))
    player = Player("replay", rubric.cassette_kinds, ignored=rubric.ignore_hosts, redact=redactor.text)
    watch = config.stash[WATCH] = Watch(player)
    config.add_cleanup(watch.close)
    try:
        yield
    finally:
        # Whatever a conftest has made of it, or pytest of its error.
        if WATCH in config.stash:
            refuse_strays(player)


def refuse_strays(player: Player) -> None:
    """Raise pytest.UsageError for calls that were refused before the session had begun."""
    if player.strays:
        raise pytest.UsageError(*dict.fromkeys(player.strays)) from None


def _disputed(config: pytest.Config, known: argparse.Namespace) -> bool:
    """Whether `--replay` may well be an option of a conftest that is not loaded yet, which nobody can know.

    A project without an eval directory has hardly meant us, and who adds an option writes its name down.
    """
    seen = _seen(config, known)
    with usage_errors():
        if not place_of(seen).eval_dir.is_dir():
            return True
    paths = [config.invocation_params.dir]
    paths += (options.argument_path(config, path) for path in (*seen.args, *config.known_args_namespace.file_or_dir))
    folders = {folder for path in paths for folder in (path, *path.parents, *path.glob("test*"))}
    return any(_adds_replay(folder / "conftest.py") for folder in folders)


def _adds_replay(conftest: Path) -> bool:
    try:
        source = conftest.read_bytes()
    except OSError:
        return False
    return b"addoption" in source and (b'"--replay"' in source or b"'--replay'" in source)


def _seen(config: pytest.Config, known: argparse.Namespace) -> Any:
    """Return what is `known` of the configuration before pytest has parsed all of its arguments."""
    cwd = config.invocation_params.dir
    default = config.getini("testpaths") if cwd == config.rootpath else []
    return SimpleNamespace(
        option=known,
        args=known.file_or_dir or default or [str(cwd)],
        rootpath=config.rootpath,
        invocation_params=config.invocation_params,
        getini=config.getini,
    )
