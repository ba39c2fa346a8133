"""`recall view` within the process of the tests, on a port that is free."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pytest_recall.results.view_commands import Server


@contextmanager
def serving(date: str | None, *runs: str) -> Iterator[Server]:
    """Serve these runs, or the newest one of the project in the current directory."""
    args = argparse.Namespace(runs=list(runs), date=date, dir=None, files=[], cassettes=None, port=0)
    with Server(args) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()
