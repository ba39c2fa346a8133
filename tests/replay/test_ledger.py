"""The ledger: what several processes add up and reserve, none of it lost, counted twice or promised twice."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    number = ledger.ask(0.3)
    while number in ledger.state().waiting and not ledger.state().is_beyond(0.3):
        pass
    state = ledger.state()
    assert state.spent + sum(state.reserved.values()) <= 10.0 + 1e-6, state
    ledger.add(0.2 if number in state.reserved else 0.0, number)
"""


def test_four_processes_reserve_no_more_than_there_is(tmp_path: Path) -> None:
    path = tmp_path / ".spent"
    running = [subprocess.Popen([sys.executable, "-c", RESERVING, str(path)]) for _ in range(4)]
    assert [process.wait(60) for process in running] == [0] * 4
    # 49 calls leave 0.2, in which 0.3 do not fit; a call that came last and was refused leaves no trace.
    state = Ledger(path).state()
    assert (round(state.spent, 6), state.reserved, state.waiting) == (9.8, {}, {})


def test_what_is_reserved_is_not_there_for_others_until_it_is_settled(tmp_path: Path) -> None:
    one, other = Ledger(tmp_path / ".spent"), Ledger(tmp_path / ".spent")
    one.hold_to(1.0)
    first, second = one.ask(0.7), other.ask(0.4)
    assert (one.state().reserved, other.state().waiting) == ({first: 0.7}, {second: 0.4})
    one.add(0.1, first)
    assert (one.state().reserved, other.state().waiting) == ({second: 0.4}, {})
    assert one.sums().usd == 0.1


def test_a_call_that_has_room_waits_behind_one_that_came_before_and_has_none(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / ".spent")
    ledger.hold_to(1.0)
    first, large, small = ledger.ask(0.5), ledger.ask(0.9), ledger.ask(0.2)
    assert set(ledger.state().reserved) == {first}
    ledger.ask(0.8, large)  # Answers to other calls have changed what it may cost, and not its place.
    assert list(ledger.state().waiting) == [large, small]
    ledger.add(0.1, first)
    assert set(ledger.state().reserved) == {large}
    ledger.add(0.1, large)
    assert set(ledger.state().reserved) == {small}


@pytest.mark.parametrize("ends", ["refused", "given up"])
def test_who_leaves_or_can_never_begin_holds_nobody_up(tmp_path: Path, ends: str) -> None:
    ledger = Ledger(tmp_path / ".spent")
    ledger.hold_to(1.0)
    first, large, small = ledger.ask(0.5), ledger.ask(0.8), ledger.ask(0.3)
    if ends == "given up":
        ledger.add(0.0, large)
    else:
        ledger.add(0.4, first)
        assert ledger.state().is_beyond(0.8)
    assert small in ledger.state().reserved


DYING = """\
import os
import sys
from pathlib import Path
from pytest_recall.replay.budget import Ledger
ledger = Ledger(Path(sys.argv[1]))
ledger.ask(0.6)
ledger.ask(0.5)
os._exit(1)
"""


@pytest.mark.skipif(os.name != "posix", reason="whether a process lives is not known here")
def test_what_a_dead_process_has_reserved_is_spent_once_and_what_it_waited_for_is_free(tmp_path: Path) -> None:
    one, other = Ledger(tmp_path / ".spent"), Ledger(tmp_path / ".spent")
    one.hold_to(1.0)
    subprocess.run([sys.executable, "-c", DYING, str(one.path)], check=False)
    number = one.ask(0.3)
    assert number in one.state().waiting
    other.state()
    one.end_dead()
    other.end_dead()
    state = other.state()
    assert (state.spent, state.reserved, state.waiting, state.estimated) == (0.6, {number: 0.3}, {}, True)


def test_a_run_that_goes_on_takes_what_was_reserved_for_spent(tmp_path: Path) -> None:
    """A call that was cut off with its run may have cost as much."""
    ledger = Ledger(tmp_path / ".spent")
    ledger.hold_to(1.0)
    ledger.add(0.25, ledger.ask(0.25))
    ledger.ask(0.5)
    ledger.ask(0.5)
    ledger.close(0.5)
    resumed = Ledger(ledger.path)
    resumed.resume()
    resumed.hold_to(2.0)
    assert resumed.sums() == (0.75, 0, True, None)
    assert resumed.ask(1.25) in resumed.state().reserved


# A call: what it asks for, what share of that it costs, and after how many other calls it ends.
CALLS = st.lists(st.tuples(st.floats(0.01, 8), st.floats(0, 1), st.integers(0, 4)), min_size=1, max_size=30)


@given(CALLS, st.floats(1, 20))
def test_calls_begin_in_their_order_within_the_budget_and_none_waits_for_ever(
    calls: list[tuple[float, float, int]], budget: float
) -> None:
    """Two processes take turns. Each call asks, ends after some others if it has begun, or leaves if it is beyond."""
    with tempfile.TemporaryDirectory() as name:
        ledgers = [Ledger(Path(name) / ".spent"), Ledger(Path(name) / ".spent")]
        ledgers[0].hold_to(budget)
        asked: dict[int, tuple[float, float, int]] = {}
        begun: dict[int, int] = {}
        refused: set[int] = set()

        def turn(now: int) -> bool:
            """Let calls begin, end and leave, and return whether one did."""
            state = ledgers[now % 2].state()
            assert state.spent + sum(state.reserved.values()) <= budget * (1 + 1e-6)
            news = [number for number in asked if number in state.reserved and number not in begun]
            begun.update(dict.fromkeys(news, now))
            gone = [number for number, usd in state.waiting.items() if state.is_beyond(usd)]
            refused.update(gone)
            for number in gone:
                ledgers[now % 2].add(0.0, number)
            ended = [number for number in state.reserved if begun[number] + asked[number][2] <= now]
            for number in ended:
                ledgers[now % 2].add(asked[number][0] * asked[number][1], number)
            return bool(news or gone or ended)

        for now, call in enumerate(calls):
            asked[ledgers[now % 2].ask(call[0])] = call
            turn(now)
        for now in range(len(calls), 4 * len(calls) + 20):
            turn(now)
        state = ledgers[0].state()
        assert (state.reserved, state.waiting) == ({}, {})
        assert begun.keys() | refused == asked.keys()
        assert begun.keys().isdisjoint(refused)
        assert list(begun) == [number for number in asked if number in begun]
        assert state.spent <= budget * (1 + 1e-6)
        assert all(asked[number][0] + state.spent > budget for number in refused)
