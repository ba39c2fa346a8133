"""The hooks that extensions implement.

A `conftest.py` and any plugin of pytest implement them as they do pytest's own. A package names its module in the
entry-point group `pytest_recall`, by which the command `recall` finds it, and pytest where the plugin is on.
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
