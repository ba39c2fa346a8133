"""Whether this thread runs an event loop of asyncio."""

from __future__ import annotations

import asyncio
import sys
from types import ModuleType

import pytest

from pytest_recall.files.event_loop import running_asyncio


def test_asyncio_is_given_where_its_loop_runs() -> None:
    async def within() -> object:
        return running_asyncio()

    assert running_asyncio() is None
    assert asyncio.run(within()) is asyncio


@pytest.mark.parametrize("imported", [[], ["asyncio"], ["asyncio", "asyncio.events"]])
def test_an_import_that_another_thread_is_in_the_middle_of_is_no_loop(
    imported: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("asyncio", "asyncio.events"):
        monkeypatch.delitem(sys.modules, name)
    for name in imported:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    assert running_asyncio() is None
