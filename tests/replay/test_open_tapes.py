"""Whose a call is: of which tape, of which kind, and of which of the cases that run at once."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.files.errors import MissError
from pytest_recall.replay.call_recorder import CallStep
from pytest_recall.replay.hooks import carry
from pytest_recall.replay.open_tapes import CURRENT_CASE, CaseContext, carried
from pytest_recall.replay.player import Player
from tests.replay.test_tape import ask, body_of, call, tape_of


@pytest.fixture
def carrying() -> Iterator[None]:
    """Let threads take along whose they are."""
    undo = carry(carried)
    yield
    for step in undo:
        step()


class TestKinds:
    """Who asks."""

    def test_the_innermost_counts(self) -> None:
        player = Player("off")
        kinds = [player.kind]
        with player.asking("judge"):
            with player.asking("worker"):
                kinds.append(player.kind)
            kinds.append(player.kind)
        assert [*kinds, player.kind] == ["agent", "worker", "judge", "agent"]

    @pytest.mark.usefixtures("carrying")
    def test_it_holds_for_threads_that_are_started_within(self) -> None:
        player = Player("off")
        found = []
        with player.asking("agent"), player.asking("worker"):
            with player.asking("agent"):
                pass
            thread = threading.Thread(target=lambda: found.append(player.kind))
            thread.start()
            thread.join()
        assert found == ["worker"]

    def test_two_threads_have_their_own(self) -> None:
        player = Player("off")
        both = threading.Barrier(2)

        def ask_as(kind: str) -> str:
            with player.asking(kind):
                both.wait(20)
                found = player.kind
                both.wait(20)
                return found

        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(ask_as, ["judge", "worker"])) == ["judge", "worker"]
        assert player.kind == "agent"


class TestTapes:
    """Which tape a call belongs to."""

    @pytest.mark.usefixtures("carrying")
    @pytest.mark.parametrize("header", [{"case": "a"}, {"fixture": "client"}])
    def test_a_thread_is_of_the_case_that_begins_it_and_one_of_a_fixture_of_all(
        self, tmp_path: Path, header: dict[str, str]
    ) -> None:
        player, begin, found = Player("replay"), threading.Event(), []

        def look() -> None:
            begin.wait(20)
            found.append(player.tape)

        first, second = tape_of(tmp_path / "a"), tape_of(tmp_path / "b")
        first.header = header
        thread = threading.Thread(target=look)
        with player.playing(first):
            thread.start()
        with player.playing(second):
            begin.set()
            thread.join()
        assert found == [second if "fixture" in header else None]

    @pytest.mark.usefixtures("carrying")
    @pytest.mark.parametrize("way", ["to_thread", "thread", "executor"])
    def test_a_context_of_its_own_is_of_the_case_that_begins_it(self, tmp_path: Path, way: str) -> None:
        """What runs there until the next case is open is none of that one's."""
        player, over, found = Player("replay"), threading.Event(), list[str]()

        def work() -> None:
            over.wait(20)
            found.append(player.left_by)

        with ThreadPoolExecutor(1) as pool:
            with player.playing(left := tape_of(tmp_path / "one")):
                if way == "thread":
                    thread = threading.Thread(target=copy_context().run, args=(work,))
                    thread.start()
                elif way == "executor":
                    pool.submit(partial(copy_context().run, work))
                else:

                    async def begin() -> None:
                        asyncio.get_running_loop().set_default_executor(pool)
                        task = asyncio.create_task(asyncio.to_thread(work))
                        await asyncio.sleep(0)
                        task.cancel()

                    loop = asyncio.new_event_loop()
                    loop.run_until_complete(begin())
            with player.playing(tape_of(tmp_path / "two")):
                over.set()
                if way == "thread":
                    thread.join()
                pool.shutdown()
            if way == "to_thread":
                loop.close()
        assert found == [left.label]

    @pytest.mark.usefixtures("carrying")
    @pytest.mark.parametrize("kept", ["loop", "runner", "loop of a thread"])
    def test_a_task_is_of_the_case_that_begins_it(self, tmp_path: Path, kept: str) -> None:
        """What it leaves on an event loop is none of the next one's, and what that one runs there is its own."""
        player, found, left = Player("replay"), list[object](), list[asyncio.Task[None]]()

        async def look(over: asyncio.Event) -> None:
            await over.wait()
            found.append((player.left_by, player.tape))

        async def one(over: asyncio.Event) -> None:
            left.append(asyncio.create_task(look(over)))
            await asyncio.sleep(0)

        async def two(over: asyncio.Event) -> None:
            over.set()
            await left[0]
            await asyncio.create_task(look(over))

        with asyncio.Runner() as runner:
            loop, thread = runner.get_loop(), None
            if kept == "loop of a thread":
                thread = threading.Thread(target=loop.run_forever)
                thread.start()

            def run(work: Coroutine[Any, Any, None]) -> None:
                if kept == "runner":
                    runner.run(work)
                elif kept == "loop":
                    loop.run_until_complete(work)
                else:
                    asyncio.run_coroutine_threadsafe(work, loop).result(20)

            over, first, last = asyncio.Event(), tape_of(tmp_path / "one"), tape_of(tmp_path / "two")
            with player.playing(first):
                run(one(over))
            with player.playing(last):
                run(two(over))
            if thread is not None:
                loop.call_soon_threadsafe(loop.stop)
                thread.join()
        assert found == [(first.label, None), ("", last)]

    def test_a_context_is_left_where_its_tape_is_closed(self, tmp_path: Path) -> None:
        player, around, outside = Player("replay"), Player("replay"), CURRENT_CASE.get()
        with around.playing(tape_of(tmp_path / "around")):
            before = CURRENT_CASE.get()
            with player.playing(tape_of(tmp_path / "one")), player.playing(tape_of(tmp_path / "two")):
                assert around.tape is not None
                player.clear()
                assert CURRENT_CASE.get() is before
        assert CURRENT_CASE.get() is outside

    @pytest.mark.usefixtures("carrying")
    def test_a_thread_that_a_fixture_begins_is_its_own_until_it_is_there(self, tmp_path: Path) -> None:
        """Also while other cases run."""
        player, found, steps = Player("replay"), list[object](), threading.Barrier(2)
        for name in "ab":
            player.push(tape_of(tmp_path / name), player.lane())

        def look() -> None:
            for _ in range(2):
                steps.wait(20)
                found.append(player.possible())
                steps.wait(20)

        shared = tape_of(tmp_path / "shared")
        shared.header = {"fixture": "client"}
        thread = threading.Thread(target=look)
        with player.playing(shared):
            thread.start()
            steps.wait(20)
            steps.wait(20)
        steps.wait(20)
        steps.wait(20)
        thread.join()
        assert found == [[shared], player.opened()]
        assert len(player.opened()) == 2

    def test_the_one_that_was_opened_last(self, tmp_path: Path) -> None:
        player = Player("replay")
        wide, narrow = tape_of(tmp_path, call("a")), tape_of(tmp_path, call("a"))
        with player.playing(narrow):
            player.push(wide)
            assert player.tape is wide
            player.pop(wide)
            assert player.tape is narrow
        assert player.tape is None

    def test_closing_one_twice_closes_no_other(self, tmp_path: Path) -> None:
        player = Player("replay")
        one, two = tape_of(tmp_path), tape_of(tmp_path)
        player.push(one)
        player.push(two)
        player.pop(one)
        player.pop(one)
        assert player.tape is two
        assert player.clear() == [two]
        assert player.tape is None

    def test_32_threads_get_1000_answers(self, tmp_path: Path) -> None:
        player = Player("replay")
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            with (
                player.playing(tape_of(tmp_path, *(call("a", str(number), number) for number in range(1000)))),
                ThreadPoolExecutor(32) as pool,
            ):
                found = list(pool.map(lambda _: player.ask(ask("a")).served, range(1000)))
        finally:
            sys.setswitchinterval(before)
        assert {int(body_of(exchange)) for exchange in found} == set(range(1000))


class TestLanes:
    """Cases that run at once: each has tapes of its own."""

    def test_a_call_belongs_to_the_tape_of_its_lane(self, tmp_path: Path) -> None:
        player = Player("replay")
        lanes = [player.lane(), player.lane()]
        for name, lane in zip("ab", lanes, strict=True):
            player.push(tape_of(tmp_path / name, call(name)), lane)

        def asked(lane: CaseContext, prompt: str) -> CallStep:
            CURRENT_CASE.set(lane)
            return player.ask(ask(prompt))

        for name, lane in zip("ab", lanes, strict=True):
            assert body_of(copy_context().run(asked, lane, name).served) == b"fine"
        with pytest.raises(MissError):
            copy_context().run(asked, lanes[0], "b")
        assert [len(lane.tapes[0].misses) for lane in lanes] == [1, 0]
        assert player.tape is None

    def test_what_is_asked_in_no_context_is_for_the_one_that_has_it(self, tmp_path: Path) -> None:
        player = Player("replay")
        lanes = [player.lane(), player.lane()]
        for name, lane in zip("ab", lanes, strict=True):
            player.push(tape_of(tmp_path / name, call(name), call("both")), lane)
        with ThreadPoolExecutor(1) as pool:
            assert body_of(pool.submit(player.ask, ask("b")).result().served) == b"fine"
            for prompt, known in (("both", "2 of them"), ("c", "none of them"), ("b", "none of them")):
                assert b"not_sent" in body_of(pool.submit(player.ask, ask(prompt)).result().served)
                assert [known in lane.tapes[0].misses[-1] for lane in lanes] == [True, True]

    def test_outside_of_lanes_all_is_as_ever(self, tmp_path: Path) -> None:
        player = Player("off")
        mine, shared = tape_of(tmp_path / "a", mode="off"), tape_of(tmp_path / "b", mode="off")
        lane = player.lane()
        player.push(mine, lane)

        def inside() -> list[object]:
            CURRENT_CASE.set(lane)
            with player.outside(), player.playing(shared):
                found = [player.tape]
            return [*found, player.tape]

        assert copy_context().run(inside) == [shared, mine]

    def test_a_lane_is_that_of_its_own_player(self, tmp_path: Path) -> None:
        player, around = Player("record"), Player("off")
        lane, tape = player.lane(), tape_of(tmp_path, mode="record")
        player.push(tape, lane)

        def inside() -> tuple[CallStep, CallStep]:
            CURRENT_CASE.set(lane)
            return player.ask(ask("a")), around.ask(ask("a"))

        inner, outer = copy_context().run(inside)
        assert (inner.record, outer) == (True, CallStep())

    def test_a_tape_is_closed_from_anywhere(self, tmp_path: Path) -> None:
        player, tape = Player("off"), tape_of(tmp_path, mode="off")
        lane = player.lane()
        player.push(tape, lane)
        player.pop(tape)
        assert lane.tapes == []
        player.push(tape, lane)
        assert player.clear() == [tape]
        assert lane.tapes == []

    def test_calls_of_a_case_that_was_called_off_are_refused(self) -> None:
        player = Player("off")
        lane = player.lane()
        lane.over = True

        def inside() -> None:
            CURRENT_CASE.set(lane)
            player.ask(ask("a"))

        with pytest.raises(MissError, match="not asked, since its case was called off"):
            copy_context().run(inside)
        assert player.strays == []

    def test_a_call_of_nobody_is_told_of_while_cases_run_at_once(self, tmp_path: Path) -> None:
        player = Player("record")
        assert player.ask(ask("a")) == CallStep()
        assert player.strays == []
        lanes = [player.lane(), player.lane()]
        for name, lane in zip("ab", lanes, strict=True):
            player.push(tape_of(tmp_path / name, mode="record"), lane)
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(player.ask, ask("a")).result() == CallStep()
        assert [stray.partition(": ")[2][:16] for stray in player.strays] == ["was not recorded"]
        player.leave(lanes[0])
        assert player.ask(ask("a")).record
        assert len(player.strays) == 1

    def test_a_kind_holds_in_its_lane_alone(self) -> None:
        player = Player("off")
        lane = player.lane()

        def inside() -> list[str]:
            CURRENT_CASE.set(lane)
            found = [player.kind]
            with player.asking("judge"):
                found.append(player.kind)
            return [*found, player.kind]

        with player.asking("worker"):
            assert copy_context().run(inside)[1:] == ["judge", "worker"]
        assert copy_context().run(inside) == ["agent", "judge", "agent"]
