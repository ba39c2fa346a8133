"""Load what packages add to the command, by their entry points."""

from __future__ import annotations

from functools import cache

import pluggy

from pytest_recall import hookspec
from pytest_recall.files.errors import RecallError


@cache
def extensions() -> pluggy.PluginManager:
    """Return the extensions of this environment. Raises RecallError for one that cannot be loaded."""
    manager = pluggy.PluginManager("pytest")
    manager.add_hookspecs(hookspec)
    try:
        manager.load_setuptools_entrypoints(hookspec.GROUP)
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise RecallError(f"an extension is not valid: {error}; correct it, or uninstall its package") from None
    except ImportError as error:
        raise RecallError(
            f"an extension cannot be imported ({error}); install what it needs, or uninstall it"
        ) from None
    return manager
