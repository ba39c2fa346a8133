"""The plugins that a run of the end-to-end tests loads by their entry points: ours, and pytest-xdist.

pytest loads every one that is installed, in each worker too, though the command line says `-p no:`
of it, and rewrites what it imports. Two thirds of what two workers cost was for plugins that no
test asks for, and which ones these are should not depend on what else a machine has installed.

PYTEST_DONT_REWRITE: it is imported before pytest is.
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

FEW = {"xdist": "pytest-xdist", "recall": "pytest-recall"}
"""Entry points, and the distributions that they are of: to look through all that are installed is a tenth of a run."""
LISTING = "distributions"


class Known:
    """A distribution whose files are read once: a run asks five times for its entry points, name and version."""

    def __init__(self, name: str) -> None:
        found = importlib.import_module("importlib.metadata").distribution(name)
        self.entry_points, self.metadata, self.version = found.entry_points, found.metadata, found.version


@functools.cache
def known() -> list[Known]:
    """Return the distributions of the few."""
    return [Known(name) for name in FEW.values()]


def pytest_plugin_registered(plugin_name: str, manager: pytest.PytestPluginManager) -> None:
    """Load them as pytest does, at the point at which it does: `-p no:recall` holds, conftest files come later."""
    if plugin_name == __name__:
        original = manager.load_setuptools_entrypoints

        def load_setuptools_entrypoints(group: str, name: str | None = None) -> int:
            if name not in FEW:
                return original(group, name=name)
            metadata = importlib.import_module("importlib.metadata")  # Processes that are not runs have no use for it.
            every = metadata.distributions
            setattr(metadata, LISTING, known)
            try:
                return original(group, name=name)
            finally:
                setattr(metadata, LISTING, every)

        setattr(manager, load_setuptools_entrypoints.__name__, load_setuptools_entrypoints)
        for name in FEW:
            load_setuptools_entrypoints("pytest11", name=name)
    elif plugin_name == "dsession":
        importlib.import_module("nursery").take()  # It stands beside this, where no package is.
