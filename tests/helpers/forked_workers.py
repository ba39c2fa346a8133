"""The workers of a run over whole folders of tests: forked from one process that has imported all of these.

Each of them would import the same modules, which is two thirds of what a worker does before its first test.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import logging
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from tests.helpers.autoload import nursery

ROOT = Path(__file__).parents[2]


def files_of(arguments: Iterable[str]) -> list[Path]:
    """Return the files of tests in folders."""
    return sorted(path for folder in arguments for path in Path(folder).rglob("test_*.py"))


def import_tests(files: Iterable[Path]) -> None:
    """Import the modules of tests; what cannot be imported is told when it is collected."""
    for path in files:
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(path.resolve().relative_to(ROOT).with_suffix("").parts))


def open_one(config: pytest.Config) -> None:
    """Start the process for the workers of this run; it ends with this one."""
    measured = config.pluginmanager.hasplugin("_cov") or any(name.startswith("COV") for name in os.environ)
    if measured or not hasattr(os, "fork"):  # What is imported in another process is not measured.
        return
    path = str(Path(tempfile.mkdtemp(prefix="workers-")) / "s")
    env = {name: value for name, value in os.environ.items() if name != nursery.UNKEPT}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), env.get("PYTHONPATH"))))
    command = [sys.executable, "-m", __name__, path, *config.args]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    atexit.register(started.communicate)
    assert started.stdout is not None
    if started.stdout.readline():
        nursery.take(lambda: path)


def _preload(arguments: Sequence[str]) -> None:
    gc.set_threshold(200_000)
    # Assertions are rewritten as a worker would have them, and a warning is an error, so that a worker tells of it.
    config = importlib.import_module("_pytest.config")._prepareconfig([*arguments])
    # What is logged meanwhile has to find a handler, as it does while pytest collects: else one to stderr is made.
    logging.root.addHandler(handler := logging.NullHandler())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        import_tests(files_of(arguments))
    logging.root.removeHandler(handler)
    config._ensure_unconfigure()
    gc.collect()
    gc.freeze()


if __name__ == "__main__" and (todo := nursery.serve(sys.argv[1], functools.partial(_preload, sys.argv[2:]))):
    nursery.end(todo)
