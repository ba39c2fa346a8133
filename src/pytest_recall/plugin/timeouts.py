"""Note that a case ran out of time: what the timer of pytest-timeout raises is no verdict."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from typing import Any

import pytest

from pytest_recall.plugin.stash import is_case, state_of


class Timeouts:
    """Listens to the timer of a case; registered where pytest-timeout is."""

    @pytest.hookimpl(wrapper=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: Any) -> Generator[None, object, object]:
        """Note what the timer raises, which has just been set for the item."""
        result = yield
        if not is_case(item):
            return result
        if settings.method != "signal" or threading.current_thread() is not threading.main_thread():
            return result  # Its other timer ends the process.
        handler = signal.getsignal(signal.SIGALRM)
        if not callable(handler):
            return result

        def alarm(*args: Any) -> Any:
            __tracebackhide__ = True
            try:
                return handler(*args)
            except BaseException as error:
                state_of(item).imposed.append(error)
                raise

        signal.signal(signal.SIGALRM, alarm)
        return result
