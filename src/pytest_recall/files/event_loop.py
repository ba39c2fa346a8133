"""Tell whether this thread runs an event loop of asyncio, and wait in one, without importing asyncio."""

from __future__ import annotations

import sys
from typing import Any


def running_asyncio() -> Any:
    """Return the module asyncio where a loop of it runs in this thread, else None.

    While another thread imports asyncio, `sys.modules` already has the module, and the function is not in it yet. No
    loop can run before that import is complete.
    """
    get_running_loop = getattr(sys.modules.get("asyncio.events"), "_get_running_loop", None)
    return None if get_running_loop is None or get_running_loop() is None else sys.modules["asyncio"]


def current_task() -> Any:
    """Return the task of asyncio that runs in this thread, or None."""
    asyncio = running_asyncio()
    return None if asyncio is None else asyncio.current_task()


async def sleep(seconds: float) -> None:
    """Wait in a task while the others of its loop run on. trio's is the only other loop that the clients know."""
    await (running_asyncio() or sys.modules["trio"]).sleep(seconds)
