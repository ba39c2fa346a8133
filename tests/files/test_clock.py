"""The clock of the machine, while another one is in the place of the standard library's."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime

import freezegun
import pytest
import time_machine

from pytest_recall.files import clock

LONG_AGO = datetime(2012, 1, 14, tzinfo=UTC)
READERS: tuple[Callable[[], float], ...] = (clock.wall, clock.wall_ns, clock.monotonic, clock.perf_counter)


Faked = Callable[[datetime], AbstractContextManager[object]]


def freeze(at: datetime) -> AbstractContextManager[object]:
    # It looks through each module that is imported, and the SDKs that other tests have imported are thousands.
    return freezegun.freeze_time(at, ignore=["anthropic", "openai"])


def travel(at: datetime) -> AbstractContextManager[object]:
    return time_machine.travel(at, tick=False)


@pytest.fixture(params=[freeze, travel], ids=["freezegun", "time-machine"])
def faked(request: pytest.FixtureRequest) -> Faked:
    """What sets the clock of a test."""
    made: Faked = request.param
    return made


def test_it_goes_on_while_that_of_a_test_stands(faked: Faked) -> None:
    before, moment = [read() for read in READERS], clock.now()
    with faked(LONG_AGO):
        assert time.time() == LONG_AGO.timestamp()
        assert all(read() > first for read, first in zip(READERS, before, strict=True))
        within = clock.now()
    assert moment <= within <= clock.now()
    assert within.tzinfo is UTC
    assert clock.now() <= datetime.now(UTC)


def test_threads_have_it_as_well(faked: Faked) -> None:
    found: list[datetime] = []
    with faked(LONG_AGO):
        thread = threading.Thread(target=lambda: found.append(clock.now()))
        thread.start()
        thread.join()
    assert found[0].year > LONG_AGO.year


def test_functions_that_a_test_replaces_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("time", "time_ns", "monotonic", "perf_counter"):
        monkeypatch.setattr(time, name, lambda: -1)
    assert all(read() > 0 for read in READERS)


def test_it_agrees_with_the_machine() -> None:
    before = time.time_ns()
    assert before <= clock.wall_ns() <= time.time_ns()
    assert abs(clock.wall() - time.time()) < 60
    assert abs(clock.monotonic() - time.monotonic()) < 60
