"""Models whose waits take no time."""

from __future__ import annotations

from time import monotonic

import pytest

from pytest_recall.models import resolve
from pytest_recall.models.waiting import Breaks, Waiter


def no_wait(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let models asked in this process wait by a clock that jumps ahead; return the seconds of its jumps."""
    jumps: list[float] = []
    made = Breaks(Waiter(clock=lambda: monotonic() + sum(jumps), sleep=jumps.append))
    monkeypatch.setattr(resolve, "_breaks_of_the_process", lambda: made)
    return jumps
