"""Tell the time by the clock of the machine, also while a test has set another one.

What a run writes down and measures is true however a test fakes the time. The functions of the standard library are
taken when this module is imported, and the plugin imports it before any conftest file. All other modules ask here.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

# freezegun looks for the functions by themselves in what modules hold, and passes by what is wrapped.
monotonic = partial(time.monotonic)
"""Seconds from anywhere, which only increase."""
perf_counter = partial(time.perf_counter)
"""Seconds from anywhere, as finely as the machine counts them."""
_wall_ns = partial(time.time_ns)
_of_timestamp = datetime.fromtimestamp


def wall_ns() -> int:
    """Return the nanoseconds since 1970."""
    # time-machine changes the functions themselves, and has a way past that. Another thread may end the travel.
    travel = getattr(sys.modules.get("time_machine"), "escape_hatch", None)
    if travel is not None and travel.is_travelling():
        with suppress(ValueError):
            return int(travel.time.time_ns())
    return _wall_ns()


def wall() -> float:
    """Return the seconds since 1970."""
    return wall_ns() / 1e9


def now() -> datetime:
    """Return the date and the time of day, in UTC."""
    return _of_timestamp(wall(), UTC)


def seen_by_tests() -> float:
    """Return the seconds since 1970 by the clock that a test has set, or else by that of the machine."""
    return time.time()
