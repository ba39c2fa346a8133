"""The ledger: what several processes add up, none of it lost or counted twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pytest_recall.replay.budget import Ledger

ADDING = """\
import sys
from pathlib import Path
from pytest_recall.replay.budget import Ledger
ledger = Ledger(Path(sys.argv[1]))
for number in range(200):
    ledger.add(0.25 if number % 10 else None)
    ledger.sums()
"""


def test_amounts_are_added_up(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "sub" / ".spent")
    assert ledger.sums() == (0.0, 0)
    ledger.add(0.5)
    ledger.add(None)
    assert ledger.sums() == (0.5, 1)
    ledger.add(0.25)
    assert ledger.sums() == (0.75, 1)
    assert (tmp_path / "sub" / ".gitignore").exists()


def test_four_processes_see_one_sum(tmp_path: Path) -> None:
    path = tmp_path / ".spent"
    running = [subprocess.Popen([sys.executable, "-c", ADDING, str(path)]) for _ in range(4)]
    assert [process.wait(60) for process in running] == [0] * 4
    assert Ledger(path).sums() == (4 * 180 * 0.25, 80)


def test_half_an_amount_is_none_yet(tmp_path: Path) -> None:
    path = tmp_path / ".spent"
    ledger = Ledger(path)
    ledger.add(0.5)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:3])
    assert ledger.sums() == (0.5, 0)
    path.write_bytes(whole + whole)
    assert ledger.sums() == (1.0, 0)


def test_it_can_be_forgotten(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / ".spent")
    ledger.remove()
    ledger.add(1.0)
    ledger.remove()
    assert not ledger.path.exists()
