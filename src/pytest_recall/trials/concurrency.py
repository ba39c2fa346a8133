"""Run trials at once, each on a thread and in a context of its own, and their coroutines on one event loop."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import Context, ContextVar
from typing import TYPE_CHECKING, Any

from pytest_recall.files import clock
from pytest_recall.files.interruptible import result_of, wait_for
from pytest_recall.replay.interrupt import GRACE

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


def run_awaitable(runner: asyncio.Runner, awaitable: Awaitable[Any]) -> Any:
    """Run `awaitable` on the loop of `runner` and return what it gives; an interruption cancels what is left of it."""
    import asyncio

    tasks: list[asyncio.Task[Any]] = []

    async def done() -> Any:
        task = asyncio.current_task()
        assert task is not None
        tasks.append(task)
        return await awaitable

    try:
        return runner.run(done())
    except BaseException:
        left = [task for task in tasks if not task.done()]
        for task in left:
            task.cancel()
        if left:
            # It would go on while the next case runs, and ask in its name.
            with suppress(BaseException):
                runner.get_loop().run_until_complete(asyncio.wait(left, timeout=PATIENCE))
        for task in left:
            if task.done() and not task.cancelled():
                task.exception()  # Else asyncio tells of an error that no code has looked at.
        raise


class Loop:
    """The event loop. A client that several trials share is used from this one, whichever of them waits."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._stop: asyncio.Event | None = None

    def begin(self) -> None:
        """Be there before someone waits: what asyncio takes to load is theirs otherwise."""
        self._started()

    def wait(self, awaitable: Awaitable[Any]) -> Any:
        """Run `awaitable` to its end and return what it gives; the calling thread waits, in its own context."""
        import asyncio

        tasks = TASKS.get() or Tasks()
        future = asyncio.run_coroutine_threadsafe(tasks.run(awaitable), self._started())
        try:
            return result_of(future)
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
                wait_for(ready)
            assert self._loop is not None
            return self._loop

    def _serve(self, ready: threading.Event) -> None:
        import asyncio

        with asyncio.Runner() as runner:
            self._loop = runner.get_loop()
            self._stop = asyncio.Event()
            stopped = self._loop.create_task(self._stop.wait())
            ready.set()
            while not stopped.done():
                # A task that raises one of these stops its loop, and has noted it for who waits for the task.
                with suppress(SystemExit, KeyboardInterrupt):
                    self._loop.run_until_complete(stopped)

    def close(self) -> None:
        """Cancel what is left, and end the thread; a task that will not end is left behind."""
        if self._thread is not None and self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(PATIENCE)
            self._thread = None


class Cancelled(BaseException):
    """The job was called off before it began."""


class TrialJob:
    """One trial that was handed to a pool. `begin` and `end` are times since the epoch, `seconds` what it took."""

    def __init__(self, work: Callable[[], Any], context: Context, name: str) -> None:
        self.begin = self.end = self.seconds = 0.0
        self._work = work
        self._context = context
        self._tasks = Tasks()
        self._done = threading.Event()
        self._result: Any = None
        self._error: BaseException | None = None
        self._ending = threading.Lock()
        self.is_left = False
        """Whether its thread was left behind."""
        # A daemon: Python does not wait at its exit for an agent that never comes back.
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.ended: Callable[[TrialJob], None] = lambda job: None

    def _run(self) -> None:
        start, self.begin = clock.perf_counter(), clock.wall()
        result, raised = None, None
        try:
            self._context.run(TASKS.set, self._tasks)
            result = self._context.run(self._work)
        except BaseException as error:
            raised = error
        self._finish(result, raised, clock.perf_counter() - start)
        del result, raised  # A traceback holds this frame.

    def _finish(self, result: Any, error: BaseException | None, seconds: float, *, is_left: bool = False) -> None:
        with self._ending:
            if self.is_done:
                return
            self.is_left = is_left
            self._result, self._error, self.seconds = result, error, seconds
            self.end = self.begin + self.seconds
            self._done.set()
        self.ended(self)

    @property
    def is_done(self) -> bool:
        """Whether it has come to its end."""
        return self._done.is_set()

    def result(self) -> Any:
        """Wait for the end, and return what the work returned or raise what it raised."""
        __tracebackhide__ = True
        wait_for(self._done)
        if self._error is not None:
            error, self._error = self._error, None
            try:
                raise error
            finally:
                del error  # Its traceback holds this frame.
        return self._result

    def call_off(self) -> None:
        """End it without a thread, as it never began."""
        self._error = Cancelled()
        self._done.set()

    @property
    def thread_id(self) -> int | None:
        """The thread that it runs on; None before that begins."""
        return self.thread.ident

    def is_over(self, seconds: float) -> bool:
        """Wait up to some seconds for its end, and return whether it has come."""
        return self._done.wait(seconds)

    def give_up(self, error: BaseException) -> None:
        """End it by `error`, unless it ends by itself soon; its thread may wait for ever, and is left behind."""
        threading.Thread(target=self._give_up, args=(error,), name="recall-miss", daemon=True).start()

    def _give_up(self, error: BaseException) -> None:
        if not self._done.wait(GRACE):
            self.cancel()
        if not self._done.wait(PATIENCE):
            self._finish(None, error, clock.wall() - self.begin, is_left=True)

    def cancel(self) -> None:
        """Cancel its tasks. A thread cannot be cancelled: it is told by what it calls next."""
        self._tasks.cancel()

    def join(self, deadline: float) -> bool:
        """Wait until `deadline`, by the monotonic clock, and return whether it has ended."""
        return self._done.wait(max(0.0, deadline - clock.monotonic()))


class Pool:
    """Runs up to `limit` jobs at once, first come, first served."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: deque[TrialJob] = deque()
        self._running: set[TrialJob] = set()
        self._lock = threading.Lock()

    def submit(self, work: Callable[[], Any], context: Context, name: str) -> TrialJob:
        """Run `work` in `context` as soon as there is room."""
        return self.enter(TrialJob(work, context, name))

    def enter(self, job: TrialJob) -> TrialJob:
        """Run a job as soon as there is room, and return it."""
        job.ended = self._ended
        with self._lock:
            self._waiting.append(job)
        self._fill()
        return job

    def _fill(self) -> None:
        with self._lock:
            while self._waiting and len(self._running) < self._limit:
                job = self._waiting.popleft()
                self._running.add(job)
                job.thread.start()

    def _ended(self, job: TrialJob) -> None:
        with self._lock:
            self._running.discard(job)
        self._fill()

    def cancel(self, jobs: list[TrialJob]) -> None:
        """Call off what waits, cancel what runs, and give it a moment; what does not end by then is left behind."""
        with self._lock:
            for job in jobs:
                if job in self._waiting:
                    self._waiting.remove(job)
                    job.call_off()
        for job in jobs:
            if not job.is_done:
                job.cancel()
        deadline = clock.monotonic() + PATIENCE
        for job in jobs:
            if not job.join(deadline):
                self._ended(job)
