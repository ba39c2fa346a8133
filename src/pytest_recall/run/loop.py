"""Loop: one event loop on a thread of its own, for the coroutines of trials that run at once."""

from __future__ import annotations

import threading
from collections.abc import Awaitable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

PATIENCE = 2.0
"""Seconds that whatever was cancelled gets to come to its end."""


class Tasks:
    """The tasks of one trial. Those that begin after it was cancelled are cancelled as well."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._running: set[asyncio.Task[Any]] = set()
        self._cancelled = False

    async def run(self, awaitable: Awaitable[Any]) -> Any:
        """Wait for `awaitable` in the task that this is called from."""
        import asyncio

        task = asyncio.current_task()
        assert task is not None
        self._loop = asyncio.get_running_loop()
        self._running.add(task)
        try:
            if self._cancelled:
                task.cancel()
            return await awaitable
        finally:
            self._running.discard(task)

    def cancel(self) -> None:
        """Cancel what runs, from any thread."""
        self._cancelled = True
        loop = self._loop
        if loop is not None and loop.is_running():
            loop.call_soon_threadsafe(lambda: [task.cancel() for task in self._running])


TASKS: ContextVar[Tasks | None] = ContextVar("recall_tasks", default=None)
"""The tasks of the trial that runs here."""


class Loop:
    """The event loop. A client that several trials share is used from this one, whichever of them waits."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._stop: asyncio.Event | None = None

    def begin(self) -> None:
        """Be there before somebody waits: what asyncio takes to load is theirs otherwise."""
        self._started()

    def wait(self, awaitable: Awaitable[Any]) -> Any:
        """Run `awaitable` to its end and return what it gives; the calling thread waits, in its own context."""
        import asyncio

        tasks = TASKS.get() or Tasks()
        future = asyncio.run_coroutine_threadsafe(tasks.run(awaitable), self._started())
        try:
            return future.result()
        except BaseException:
            # Ctrl-C or a timeout ended the waiting, and not the task.
            future.cancel()
            raise

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._thread is None:
                ready = threading.Event()
                self._thread = threading.Thread(target=self._serve, args=(ready,), name="recall-loop", daemon=True)
                self._thread.start()
                ready.wait()
            assert self._loop is not None
            return self._loop

    def _serve(self, ready: threading.Event) -> None:
        import asyncio

        with asyncio.Runner() as runner:
            self._loop = runner.get_loop()
            self._stop = asyncio.Event()
            ready.set()
            runner.run(_until(self._stop))

    def close(self) -> None:
        """Cancel what is left, and end the thread; a task that will not end is left behind."""
        if self._thread is not None and self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(PATIENCE)
            self._thread = None


async def _until(event: asyncio.Event) -> None:
    await event.wait()
