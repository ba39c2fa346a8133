"""The hooks that extensions implement.

A package names the module with its implementations in the entry-point group `pytest_recall`, by which the command
`recall` finds it. pytest knows the hooks as well, so that a `conftest.py` and any of its plugins may implement them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_recall.ext import Importer

GROUP = "pytest_recall"
"""The group of entry points."""
hookspec = pluggy.HookspecMarker("pytest")


@hookspec
def pytest_recall_importers() -> Iterable[Importer]:  # type: ignore[empty-body]
    """Return importers, each of which reads the eval sets of a tool for `recall import`.

    The command alone asks for them, so that an importer in a conftest.py is not found.
    """
