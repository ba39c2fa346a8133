"""What is read of the environment is what it is now."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from unittest import mock

import pytest

from pytest_recall.files import clock
from pytest_recall.replay import environment
from pytest_recall.replay.environment import once_read

NAME = "RECALL_TEST_OF_ENVIRONMENT"


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what was read each time, of changes that have settled at once."""
    monkeypatch.setattr(environment, "_SETTLED", 0.0)
    monkeypatch.delenv(NAME, raising=False)
    return []


def test_it_is_read_once_until_it_changes(times: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def read(variables: Mapping[str, str]) -> str:
        times.append(variables.get(NAME, ""))
        return times[-1]

    value = once_read(read)
    assert (value(), value(), value()) == ("", "", "")
    monkeypatch.setenv(NAME, "a")
    assert (value(), value()) == ("a", "a")
    with mock.patch.dict(os.environ, {NAME: "b"}):
        assert value() == "b"
    assert value() == "a"
    threading.Thread(target=os.environ.pop, args=(NAME,)).start()
    while NAME in os.environ:
        pass
    assert value() == ""
    assert times.count("") == 2
    monkeypatch.setattr(os, "environ", {NAME: "c"})
    assert value() == "c"


def test_a_change_that_was_only_announced_is_read_when_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event comes before the change, and another thread may read in between."""
    monkeypatch.setenv(NAME, "a")
    value = once_read(lambda variables: variables[NAME])
    assert value() == "a"
    encoded = os.environ.encodevalue("b")
    os.putenv(NAME, "b")  # As os.environ does first, which does not know it yet.
    assert value() == "a"
    with mock.patch.dict(os.environ._data, {os.environ.encodekey(NAME): encoded}):  # type: ignore[attr-defined]
        assert value() == "b"
        now = clock.monotonic()
        monkeypatch.setattr(clock, "monotonic", lambda: now + 10)
        assert value() == "b"
