"""What is read of the environment is what it is now."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from unittest import mock

import pytest

from pytest_recall.replay import environment
from pytest_recall.replay.environment import once_read

NAME = "RECALL_TEST_OF_ENVIRONMENT"


@pytest.fixture(autouse=True)
def unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with a variable that is not set, and that nothing has changed."""
    monkeypatch.delenv(NAME, raising=False)
    environment._changed.cache_clear()


def test_it_is_read_once_until_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[str] = []

    def read(variables: Mapping[str, str]) -> str:
        times.append(variables.get(NAME, ""))
        return times[-1]

    value = once_read([NAME], read)
    monkeypatch.setenv(f"{NAME}_2", "z")
    assert (value(), value(), value()) == ("", "", "")
    assert len(times) == 1
    monkeypatch.setenv(NAME, "a")
    assert (value(), value()) == ("a", "a")
    with mock.patch.dict(os.environ, {NAME: "b"}):
        assert value() == "b"
    assert value() == "a"
    threading.Thread(target=os.environ.pop, args=(NAME,)).start()
    while NAME in os.environ:
        pass
    assert value() == ""
    monkeypatch.setattr(os, "environ", {NAME: "c"})
    assert value() == "c"


def test_a_change_that_was_only_announced_is_read_when_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event comes before the change, and another thread may read in between."""
    value = once_read([NAME], lambda variables: variables.get(NAME, ""))
    assert value() == ""
    encoded = os.environ.encodevalue("b")
    os.putenv(NAME, "b")  # As os.environ does first, which does not know it yet.
    assert value() == ""
    with mock.patch.dict(os.environ._data, {os.environ.encodekey(NAME): encoded}):  # type: ignore[attr-defined]
        assert value() == "b"
