"""Waits of the main thread: a signal that is handled nowhere else ends them, and results are those of the calls."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Queue

import pytest

from pytest_recall.files.interruptible import first_of, next_of, result_of, wait_for

PROGRAM = """
import signal, threading, time
from concurrent.futures import Future
from queue import Queue
from pytest_recall.files.interruptible import first_of, next_of, result_of, wait_for

def interrupt():
    time.sleep(0.2)
    # The kernel hands the signal to this thread, and the wait of the main thread goes on.
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    time.sleep(60)

signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Thread(target=interrupt, daemon=True).start()
try:
    WAIT
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    "wait", ["wait_for(threading.Event())", "result_of(Future())", "first_of([Future()])", "next_of(Queue())"]
)
def test_a_signal_that_another_thread_got_ends_the_wait(wait: str) -> None:
    program = PROGRAM.replace("WAIT", wait)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "interrupted\n"


def test_what_a_call_raises_is_raised_as_a_time_limit_of_its_own() -> None:
    future: Future[int] = Future()
    future.set_exception(TimeoutError("its own"))
    with pytest.raises(TimeoutError, match="its own"):
        result_of(future)


def test_waits_take_longer_than_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_recall.files.interruptible.STEP", 0.01)
    event, queue, begun = threading.Event(), Queue[int](), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(begun.wait, 30)
        threading.Timer(0.1, begun.set).start()
        assert first_of([future, Future()]) == {future}
        assert result_of(future)
    threading.Timer(0.1, queue.put, [7]).start()
    assert next_of(queue) == 7
    threading.Timer(0.1, event.set).start()
    wait_for(event)
    assert event.is_set()
