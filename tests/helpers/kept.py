"""Projects after runs that several tests begin with: run for the first of them, and copied for the others."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.project import Checkout, Project

_KEPT: dict[str, Path] = {}
_SAID: dict[str, pytest.RunResult] = {}


def after(pytester: pytest.Pytester, name: str, begin: Callable[[], Checkout]) -> Checkout:
    """Return the project as `begin` leaves it, which is what every other `begin` of this name would do."""
    if name in _KEPT:
        shutil.copytree(_KEPT[name], pytester.path, dirs_exist_ok=True)
        return Checkout(pytester)
    checkout = begin()
    folder = tempfile.mkdtemp(prefix="kept-")
    atexit.register(shutil.rmtree, folder)
    _KEPT[name] = Path(folder) / "project"
    # What is compiled names the files that it was compiled from.
    shutil.copytree(checkout.path, _KEPT[name], ignore=shutil.ignore_patterns("__pycache__"))
    return checkout


def ran(pytester: pytest.Pytester, project: Project, *args: str) -> tuple[Checkout, pytest.RunResult]:
    """Return the project after a run with `args`, and what the run said: made once for all tests that begin so."""
    name = repr((sorted(project.files.items()), args))

    def begin() -> Checkout:
        checkout = project.at(pytester)
        _SAID[name] = checkout.run(*args)
        return checkout

    return after(pytester, name, begin), _SAID[name]


def recorded(pytester: pytest.Pytester, project: Project) -> Checkout:
    """Return the project with a recording of all its cases, made once for all tests that begin with these files.

    The files have the address of the upstream, which has to be one that lasts: the fixture `lasting`.
    """
    checkout, result = ran(pytester, project, "eval", "--record", "--recall-mode=all")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    return checkout
