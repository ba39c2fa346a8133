"""The loop: coroutines of all threads on one, each in the context of who waits for it."""

from __future__ import annotations

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context

import pytest

from pytest_recall.trials.concurrency import Loop, run_awaitable

WHO: ContextVar[str] = ContextVar("who", default="unknown")


def test_all_threads_wait_for_the_same_loop_in_their_own_contexts() -> None:
    loop = Loop()

    async def answer() -> tuple[int, str]:
        return id(asyncio.get_running_loop()), WHO.get()

    def ask(name: str) -> tuple[int, str]:
        context = copy_context()
        context.run(WHO.set, name)
        given: tuple[int, str] = context.run(loop.wait, answer())
        return given

    with ThreadPoolExecutor(4) as pool:
        given = list(pool.map(ask, "abcd"))
    assert [who for _, who in given] == list("abcd")
    assert len({number for number, _ in given}) == 1
    loop.close()


def test_it_may_begin_before_anybody_waits() -> None:
    loop = Loop()
    loop.begin()
    loop.begin()

    async def thread() -> str:
        return threading.current_thread().name

    assert [one.name for one in threading.enumerate()].count("recall-loop") == 1
    assert loop.wait(thread()) == "recall-loop"
    loop.close()
    assert "recall-loop" not in [one.name for one in threading.enumerate()]


def test_what_a_coroutine_raises_is_raised_where_it_is_waited_for() -> None:
    loop = Loop()

    async def broken() -> None:
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        loop.wait(broken())
    loop.close()


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("within", [False, True], ids=["itself", "in a task"])
def test_it_outlives_what_ends_a_loop(error: type[BaseException], within: bool) -> None:
    loop = Loop()

    async def leave() -> None:
        raise error

    async def asking() -> None:
        await (asyncio.gather(leave(), asyncio.sleep(0)) if within else leave())

    async def answer() -> str:
        return "here"

    with pytest.raises(error):
        loop.wait(asking())
    assert loop.wait(answer()) == "here"
    loop.close()
    assert "recall-loop" not in [one.name for one in threading.enumerate()]


def test_without_a_thread_what_a_task_raises_is_looked_at(caplog: pytest.LogCaptureFixture) -> None:
    async def leave() -> None:
        raise SystemExit

    async def asking() -> None:
        await asyncio.gather(leave(), asyncio.sleep(0))

    with asyncio.Runner() as runner, pytest.raises(SystemExit):
        run_awaitable(runner, asking())
    gc.collect()
    assert not caplog.records


def test_closing_ends_what_is_left() -> None:
    loop, ended = Loop(), threading.Event()

    async def behind() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    tasks: list[asyncio.Task[None]] = []

    async def leave() -> None:
        tasks.append(asyncio.create_task(behind()))
        await asyncio.sleep(0)

    loop.wait(leave())
    loop.close()
    assert ended.is_set()
    assert not [thread for thread in threading.enumerate() if thread.name == "recall-loop"]


def test_a_loop_that_nobody_needed_costs_no_thread() -> None:
    before = threading.active_count()
    Loop().close()
    assert threading.active_count() == before
