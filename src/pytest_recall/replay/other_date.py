"""Let a process live at another date, in which what depends on the date shows itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from importlib.util import find_spec

from pytest_recall.files import clock

LATER = timedelta(days=400, hours=5, minutes=13, seconds=7)
"""How much later the other date is: the year, the month, the day of the week and of the month are others as well."""
INSTALL = "pip install 'pytest-recall[varying]'"


def is_installed() -> bool:
    """Whether there is a package that sets the date of a process."""
    return find_spec("time_machine") is not None


def live_later(seconds: float) -> Callable[[], None]:
    """Set the clock of this process so many seconds ahead, and return what sets it back. Raises ImportError.

    The clock goes on from there, in all threads; what counts seconds alone, as the loops of asyncio do, stays as it is.
    """
    import time_machine

    travel = time_machine.travel(clock.wall() + seconds, tick=True)
    travel.start()
    return travel.stop
