"""The ledger: what several processes add up and reserve, none of it lost, counted twice or promised twice."""

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
    assert ledger.sums()[:2] == (0.0, 0)
    ledger.add(0.5)
    ledger.add(None)
    assert ledger.sums()[:2] == (0.5, 1)
    ledger.add(0.25)
    assert ledger.sums()[:2] == (0.75, 1)
    assert (tmp_path / "sub" / ".gitignore").exists()


def test_four_processes_see_one_sum(tmp_path: Path) -> None:
    path = tmp_path / ".spent"
    running = [subprocess.Popen([sys.executable, "-c", ADDING, str(path)]) for _ in range(4)]
    assert [process.wait(60) for process in running] == [0] * 4
    assert Ledger(path).sums()[:2] == (4 * 180 * 0.25, 80)


def test_half_an_amount_is_none_yet(tmp_path: Path) -> None:
    path = tmp_path / ".spent"
    ledger = Ledger(path)
    ledger.add(0.5)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:3])
    assert ledger.sums()[:2] == (0.5, 0)
    path.write_bytes(whole + whole)
    assert ledger.sums()[:2] == (1.0, 0)


def test_it_can_be_forgotten(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / ".spent")
    ledger.remove()
    ledger.add(1.0)
    ledger.remove()
    assert not ledger.path.exists()


RESERVING = """\
import sys
from pathlib import Path
from pytest_recall.replay.budget import Ledger
ledger = Ledger(Path(sys.argv[1]))
ledger.hold_to(10.0)
for _ in range(100):
    number = ledger.reserve(0.3)
    state = ledger.state()
    assert state.spent + sum(state.reserved.values()) <= 10.0 + 1e-6, state
    if number is not None:
        ledger.add(0.2, number)
"""


def test_four_processes_reserve_no_more_than_there_is(tmp_path: Path) -> None:
    path = tmp_path / ".spent"
    running = [subprocess.Popen([sys.executable, "-c", RESERVING, str(path)]) for _ in range(4)]
    assert [process.wait(60) for process in running] == [0] * 4
    # 49 calls leave 0.2, in which 0.3 do not fit; a reservation that came last and was refused leaves no trace.
    assert round(Ledger(path).sums().usd, 6) == 9.8


def test_what_is_reserved_is_not_there_for_others_until_it_is_settled(tmp_path: Path) -> None:
    one, other = Ledger(tmp_path / ".spent"), Ledger(tmp_path / ".spent")
    one.hold_to(1.0)
    number = one.reserve(0.7)
    assert number is not None
    assert other.reserve(0.4) is None
    one.add(0.1, number)
    assert other.reserve(0.9) is not None
    assert one.sums().usd == 0.1


def test_a_run_that_goes_on_takes_what_was_reserved_for_spent(tmp_path: Path) -> None:
    """A call that was cut off with its run may have cost as much."""
    ledger = Ledger(tmp_path / ".spent")
    ledger.hold_to(1.0)
    ledger.add(0.25, ledger.reserve(0.25) or 0)
    ledger.reserve(0.5)
    ledger.close(0.5)
    resumed = Ledger(ledger.path)
    resumed.resume()
    resumed.hold_to(2.0)
    assert resumed.sums() == (0.75, 0, True, 0.0)
    assert resumed.reserve(1.25) is not None
