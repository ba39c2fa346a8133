"""What the stack says: that a module is being imported, and which line has led to a connection."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.files.errors import MissError
from pytest_recall.replay import origin
from pytest_recall.replay.player import Player


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose modules count as installed packages."""
    monkeypatch.setattr(origin, "_FOLDERS", (*origin._FOLDERS, str(tmp_path)))
    monkeypatch.syspath_prepend(tmp_path)
    origin._is_library.cache_clear()
    before = set(sys.modules)
    yield tmp_path
    origin._is_library.cache_clear()
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


def test_an_import_is_not_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that an exception leaves half-done would be missing for all that comes after."""
    (tmp_path / "half_done.py").write_text("import sys\n\nFRAME = sys._getframe()\nsys.recall_check(FRAME)\n")
    monkeypatch.syspath_prepend(tmp_path)
    interrupter = Player("replay").interrupter
    with interrupter.block() as block:
        block.error = MissError("missed")
        monkeypatch.setattr(sys, "recall_check", interrupter.check, raising=False)
        importlib.import_module("half_done")
        with pytest.raises(MissError, match="missed"):
            interrupter.check(sys._getframe())
        block.error = None
    del sys.modules["half_done"]


def test_where_no_line_of_the_session_leads_here_it_is_that_of_the_package(installed: Path) -> None:
    (installed / "background.py").write_text("def run(what, found):\n    found.append(what())\n")
    background: Any = importlib.import_module("background")
    found: list[str] = []
    thread = threading.Thread(target=background.run, args=(origin.line_of_caller, found))
    thread.start()
    thread.join()
    background.run(origin.line_of_caller, found)
    assert found[0] == "background:2"
    assert "test_origin.py:" in found[1]
