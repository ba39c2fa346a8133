"""A thread that waits for another one is ended by what that one has missed."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest

from pytest_recall.files.errors import MissError
from pytest_recall.replay import interrupt
from pytest_recall.replay.open_tapes import CURRENT_CASE
from pytest_recall.replay.player import Player
from tests.replay.test_tape import tape_of


class Ended:
    """A thread that waits, and the miss by which that ended."""

    def __init__(self, player: Player) -> None:
        self.raised: list[BaseException] = []
        self.waits = threading.Event()
        self._player = player
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            with self._player.waiting():
                self.waits.set()
                for _ in range(2000):
                    time.sleep(0.01)
        except MissError as error:
            self.raised.append(error)


def wait_for_another(player: Player) -> None:
    with player.waiting():
        threading.Thread(target=player.refuse, args=("missed",)).start()
        threading.Event().wait(20)


def test_one_that_is_not_the_main_one_ends_at_its_next_step(tmp_path: Path) -> None:
    player = Player("replay")
    ended = Ended(player)
    with player.playing(tape_of(tmp_path)) as tape:
        ended.thread.start()
        ended.waits.wait(20)
        player.refuse("missed")
        ended.thread.join(20)
    assert not ended.thread.is_alive()
    assert len(ended.raised) == 1
    assert tape.misses == ["missed"]


def test_the_main_one_ends_though_it_waits_for_a_lock(tmp_path: Path) -> None:
    player = Player("replay")
    undo = player.interrupter.listen()
    try:
        with player.playing(tape_of(tmp_path)) as tape:
            with pytest.raises(MissError, match="missed"):
                wait_for_another(player)
            # Its time is over: what comes now does not reach it.
            threading.Thread(target=player.refuse, args=("late",)).start()
            time.sleep(0.6)
    finally:
        for back in undo:
            back()
    assert tape.misses == ["missed", "late"]


def test_one_that_ends_by_itself_is_left_alone(tmp_path: Path) -> None:
    player = Player("replay")
    with player.playing(tape_of(tmp_path)):
        with player.waiting():
            other = threading.Thread(target=player.refuse, args=("missed",))
            other.start()
            other.join()
        time.sleep(0.6)


def test_a_handler_that_cannot_be_put_back_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the main thread may set one, and one that is not Python's cannot be read."""
    before, found = signal.getsignal(signal.SIGURG), list[object]()
    thread = threading.Thread(target=lambda: found.append(Player("replay").interrupter.listen()))
    thread.start()
    thread.join()
    monkeypatch.setattr(signal, "getsignal", lambda number: None)
    found.append(Player("replay").interrupter.listen())
    monkeypatch.undo()
    assert (found, signal.getsignal(signal.SIGURG)) == ([[], []], before)


def test_a_thread_that_ends_by_a_miss_ends_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[type[BaseException]] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: told.append(args.exc_type))
    undo = Player("replay").interrupter.hear_ends()

    def end(error: BaseException) -> None:
        raise error

    for error in (MissError("missed"), ValueError("wrong")):
        thread = threading.Thread(target=end, args=(error,))
        thread.start()
        thread.join()
    undo()
    assert told == [ValueError]


def test_a_thread_that_a_refused_call_has_ended_ends_the_cases_that_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ones that run now, and those that are asked later."""
    monkeypatch.setattr(interrupt, "LONG", 0.0)
    player, waits = Player("replay"), (Waiting(), Waiting())
    lanes = [player.lane(), player.lane()]
    for lane, wait in zip(lanes, waits, strict=True):
        lane.wait = wait
    tapes = [tape_of(tmp_path), tape_of(tmp_path)]
    player.push(tapes[0], lanes[0])
    undo = player.interrupter.hear_ends()
    thread = threading.Thread(target=end_by_an_answer, args=(player,))
    thread.start()
    thread.join()
    undo()
    player.push(tapes[1], lanes[1])
    token = CURRENT_CASE.set(lanes[1])
    try:
        with player.asking("agent"):
            pass
    finally:
        CURRENT_CASE.reset(token)
    for wait in waits:
        assert wait.ended.wait(20)
        assert "which has missed a recording for another case" in str(wait.error)
    assert [len(tape.misses) for tape in tapes] == [1, 1]


def end_by_an_answer(player: Player) -> None:
    player.interrupter.answered()
    raise ValueError("it cannot be read")


class Waiting:
    """A case that runs in another thread."""

    thread_id = -1

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.ended = threading.Event()

    def is_over(self, seconds: float) -> bool:
        """It is not."""
        return False

    def give_up(self, error: BaseException) -> None:
        """Take in by what it ends."""
        self.error = error
        self.ended.set()
