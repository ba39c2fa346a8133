"""An exit waits for threads that may wait for a refused call only for a while, and for all others as ever."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import atexit, sys, threading
from concurrent.futures import ThreadPoolExecutor
from pytest_recall.replay import interrupt, process_end

interrupt.LONG = 0.1
begins = {"executor": ThreadPoolExecutor(1).submit, "thread": lambda wait: threading.Thread(target=wait).start()}
before, stuck, go = set(threading.enumerate()), threading.Event(), threading.Event()
begins[sys.argv[1]](stuck.wait)
left = set(threading.enumerate()) - before
process_end.end_without(left, lambda message: print("told", [one.name for one in left if one.name in message] != []))

def other():
    threading.main_thread().join(0.5)
    print("other")

atexit.register(print, "atexit")
if "other" in sys.argv:
    threading.Thread(target=other).start()
if "ends" in sys.argv:
    stuck.set()
sys.exit(7)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("way", ["executor", "thread"])
@pytest.mark.parametrize(
    ("more", "printed"),
    [
        ((), "told True\natexit\n"),
        (("other",), "other\ntold True\natexit\n"),
        (("ends",), "atexit\n"),
    ],
    ids=["stuck", "other", "ends"],
)
def test_a_process_ends_with_its_own_code(way: str, more: tuple[str, ...], printed: str) -> None:
    command = [sys.executable, "-c", SCRIPT, way, *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (7, printed, "")
