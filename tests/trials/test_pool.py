"""The pool: trials at once up to a number, in the order in which they came."""

from __future__ import annotations

import asyncio
import threading
import time
from contextvars import ContextVar, copy_context

import pytest

from pytest_recall.trials.concurrency import Cancelled, Loop, Pool, Tasks, TrialJob

WHO: ContextVar[str] = ContextVar("who", default="unknown")


def test_a_job_gives_what_its_work_returned_or_raised() -> None:
    pool = Pool(1)
    assert pool.submit(lambda: 7, copy_context(), "seven").result() == 7
    with pytest.raises(ZeroDivisionError):
        pool.submit(lambda: 1 // 0, copy_context(), "broken").result()


def test_a_job_runs_in_its_own_context() -> None:
    context = copy_context()
    context.run(WHO.set, "me")
    job = Pool(1).submit(lambda: (WHO.get(), WHO.set("you")), context, "job")
    assert job.result()[0] == "me"
    assert (WHO.get(), context[WHO]) == ("unknown", "you")


def test_no_more_than_the_limit_run_and_each_in_its_order() -> None:
    pool, lock, go = Pool(3), threading.Lock(), threading.Barrier(3)
    begun: list[int] = []
    here = [0, 0]

    def work(number: int) -> None:
        with lock:
            begun.append(number)
            here[0] += 1
            here[1] = max(here)
        go.wait(10)
        with lock:
            here[0] -= 1

    jobs = [pool.submit(lambda number=number: work(number), copy_context(), str(number)) for number in range(9)]  # type: ignore[misc]
    for job in jobs:
        job.result()
    assert here == [0, 3]
    assert [sorted(begun[place : place + 3]) for place in (0, 3, 6)] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_what_has_not_begun_is_called_off() -> None:
    pool, go = Pool(1), threading.Event()
    first = pool.submit(lambda: go.wait(10), copy_context(), "first")
    later = [pool.submit(lambda: pytest.fail("was run"), copy_context(), "later") for _ in range(2)]
    pool.cancel(later)
    go.set()
    assert first.result() is True
    for job in later:
        with pytest.raises(Cancelled):
            job.result()


def test_a_coroutine_that_is_cancelled_comes_to_its_end_before_its_job() -> None:
    loop, pool, waits, said = Loop(), Pool(1), threading.Event(), list[str]()

    async def wait() -> None:
        import asyncio

        try:
            waits.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)
            said.append("over")

    job = pool.submit(lambda: loop.wait(wait()), copy_context(), "waiting")
    assert waits.wait(10)
    pool.cancel([job])
    assert job.is_done
    assert said == ["over"]
    loop.close()


def test_what_does_not_end_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_recall.trials.concurrency.PATIENCE", 0.05)
    pool, go = Pool(1), threading.Event()
    stuck = pool.submit(lambda: go.wait(10), copy_context(), "stuck")
    following = pool.submit(lambda: "ran", copy_context(), "following")
    pool.cancel([stuck])
    assert not stuck.is_done
    assert following.result() == "ran"
    go.set()
    stuck.thread.join(10)


def test_a_job_knows_what_it_took_itself() -> None:
    def work() -> None:
        time.sleep(0.05)

    job: TrialJob = Pool(1).submit(work, copy_context(), "job")
    job.result()
    assert job.seconds >= 0.05
    assert job.end - job.begin == pytest.approx(job.seconds, abs=0.01)


def test_what_begins_after_its_trial_was_cancelled_is_cancelled_as_well() -> None:
    tasks = Tasks()
    tasks.cancel()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(tasks.run(asyncio.sleep(30)))
