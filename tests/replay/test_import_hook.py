"""Code that is called as soon as a module is imported."""

from __future__ import annotations

import importlib
import sys
import threading
import time
from pathlib import Path
from types import ModuleType

import pytest

from pytest_recall.replay.import_hook import once_imported

PACKAGE = """
import threading

other = threading.Event()
other.wait(20)
from {name}.part import VALUE
"""


def test_a_part_of_a_package_that_another_thread_imports_is_not_waited_for_in_a_circle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "recall_of_two_threads"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text(PACKAGE.format(name=name))
    (tmp_path / name / "part.py").write_text("VALUE = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    seen: list[ModuleType] = []
    back = once_imported((f"{name}.part",), seen.append)
    values: list[int] = []
    threads = [
        threading.Thread(target=lambda module=module: values.append(importlib.import_module(module).VALUE), daemon=True)
        for module in (name, f"{name}.part")
    ]
    try:
        threads[0].start()
        while not hasattr(sys.modules.get(name), "other"):
            time.sleep(0.001)
        threads[1].start()
        time.sleep(0.1)
        sys.modules[name].other.set()
        for thread in threads:
            thread.join(10)
    finally:
        back()
        for one in (name, f"{name}.part"):
            monkeypatch.delitem(sys.modules, one, raising=False)
    assert values == [7, 7], "the threads wait for one another"
    assert [module.__name__ for module in seen] == [f"{name}.part"]
