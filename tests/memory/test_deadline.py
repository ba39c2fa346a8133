"""Deadlines: all calls that a question takes end in the time that it has."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from pytest_recall.cases.memory_part import MemoryFault, QueryContext
from pytest_recall.memory.built_in import BUILT_IN
from pytest_recall.memory.client import deadline, patience
from pytest_recall.memory.resolve import resolve


def test_without_a_deadline_a_call_has_its_own_limit() -> None:
    assert patience(30.0) == 30.0


def test_with_one_it_has_what_is_left() -> None:
    with deadline(5.0):
        assert 4.0 < patience(30.0) <= 5.0
        assert patience(0.5) == 0.5
    with deadline(-1.0):
        assert 0 < patience(30.0) < 0.1
    assert patience(30.0) == 30.0


def test_a_program_is_ended_with_the_time_of_its_question(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(60)\n")
    client = resolve(f"command:{sys.executable} slow.py", BUILT_IN, root=tmp_path)
    begin = time.monotonic()
    with deadline(0.3), pytest.raises(MemoryFault, match="it did not finish within"):
        client.recall("What?", 5, QueryContext())
    assert time.monotonic() - begin < 20
