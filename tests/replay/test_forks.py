"""What forked processes do to the tapes that they were forked with."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_recall.files.errors import MissError
from pytest_recall.replay import interrupt
from pytest_recall.replay.budget import Ledger, Meter, Pricing
from pytest_recall.replay.exchange import Call, Request, Tokens
from pytest_recall.replay.forks import ForkLog, is_in_turn, lock
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.open_tapes import CURRENT_CASE
from pytest_recall.replay.player import Player
from pytest_recall.replay.redaction import Redactor
from pytest_recall.replay.repeatable_calls import RepeatableCalls
from pytest_recall.replay.tape import CassetteMode, Tape
from tests.replay.recordings import JSON, call, opened, request, response, write

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


def tape(name: str, mode: CassetteMode, tmp_path: Path, *recorded: str, **more: Any) -> Tape:
    """Return a tape whose cassette has a call for each of these questions, with answers `1 to …`, `2 to …`."""
    calls = [
        call(question, seq=seq, response=response(f"{recorded[:seq].count(question) + 1} to {question}"))
        for seq, question in enumerate(recorded)
    ]
    cassette = opened(write(tmp_path / f"{name}.ndjson", *calls)) if recorded else None
    draft = tmp_path / name
    made = Tape(name, mode, Rules(), Redactor({"KEY": "sk-1234567"}), "record it", cassette, draft_path=draft, **more)
    _tapes.append(made)
    return made


_tapes: list[Tape] = []


@pytest.fixture(autouse=True)
def closed_tapes() -> Iterator[None]:
    yield
    while _tapes:
        _tapes.pop().close()


def asked(player: Player, question: str) -> str:
    """Ask a question and return what is said, or `-` for a miss; a live call is answered by its question."""
    step = player.ask(request(question))
    if step.recorder is not None:
        step.recorder.started(200, "OK", JSON)
        step.recorder.chunk(response(f"live to {question}").body)
        step.recorder.ended()
        return "live"
    if step.served is None:
        return "let through"
    assert step.served.response is not None
    said = json.loads(step.served.response.body)
    return "-" if "error" in said else str(said["choices"][0]["message"]["content"])


def in_child(work: Callable[[], object]) -> Any:
    """Return what a forked process comes to; None if it ends before."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = os.fork()
        if child == 0:
            try:
                theirs.sendall(json.dumps(work()).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        theirs.close()
        said = b"".join(iter(lambda: ours.recv(65536), b""))
    return json.loads(said) if said else None


@contextmanager
def child(player: Player) -> Iterator[Callable[[str], str]]:
    """Fork a process and yield what asks a question there."""
    ours, theirs = socket.socketpair()
    process = os.fork()
    if process == 0:
        try:
            ours.close()
            while question := theirs.recv(1000):
                theirs.sendall(asked(player, question.decode()).encode())
        finally:
            os._exit(0)
    theirs.close()

    def ask(question: str) -> str:
        ours.sendall(question.encode())
        return ours.recv(1000).decode()

    with ours:
        yield ask
    os.waitpid(process, 0)


@contextmanager
def heard(player: Player) -> Iterator[None]:
    """Hear at once what a child is refused, as where a session runs."""
    taken_back = player.interrupter.listen()
    try:
        yield
    finally:
        for undo in taken_back:
            undo()


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class TestReplay:
    @given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc")), max_size=12))
    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_the_nth_call_of_a_key_gets_the_nth_answer_in_whichever_process(
        self, tmp_path: Path, steps: list[tuple[int, str]]
    ) -> None:
        player, recorded = Player("replay"), "aaabbc"
        one = tape("one", "replay", tmp_path, *recorded)
        times: Counter[str] = Counter()
        with player.playing(one), ExitStack() as stack:
            first = stack.enter_context(child(player))
            second = stack.enter_context(child(player))
            third = stack.enter_context(child(player))
            for process, question in steps:
                times[question] += 1
                if times[question] > recorded.count(question):
                    if process:
                        assert (first, second, third)[process - 1](question) == "-"
                    continue
                ask = (lambda text: asked(player, text), first, second, third)[process]
                assert ask(question) == f"{times[question]} to {question}"
            player.hear_forked()
            made = [made.exchange().request for made in sorted(one.made, key=lambda made: made.seq)]
            served = {question: min(count, recorded.count(question)) for question, count in times.items()}
            assert Counter(json.loads(asked.body)["messages"][0]["content"] for asked in made) == served
            assert len(one.unused()) == len(recorded) - sum(served.values())

    def test_a_grandchild_and_a_thread_are_in_turn_as_well(self, tmp_path: Path) -> None:
        player = Player("replay")
        one = tape("one", "replay", tmp_path, *"aaaaaa")

        def below() -> object:
            return [asked(player, "a"), in_child(lambda: asked(player, "a")), asked(player, "a")]

        with player.playing(one):
            said: list[Any] = [asked(player, "a"), in_child(below)]
            thread = threading.Thread(target=lambda: said.append(in_child(lambda: asked(player, "a"))))
            thread.start()
            thread.join()
            said.append(asked(player, "a"))
            player.hear_forked()
        assert said == ["1 to a", ["2 to a", "3 to a", "4 to a"], "5 to a", "6 to a"]
        assert one.left_over() == []

    def test_a_miss_is_one_of_the_case_with_the_same_message(self, tmp_path: Path) -> None:
        player = Player("replay")
        one, another = (tape(name, "replay", tmp_path, "known") for name in ("same", "same"))
        with player.playing(one), pytest.raises(MissError):
            player.ask(request("unknown"))
        with player.playing(another):
            assert in_child(lambda: [asked(player, "unknown"), asked(player, "known")]) == ["-", "1 to known"]
            player.hear_forked()
            player.hear_forked()
        assert another.misses == one.misses
        assert another.difference == one.difference

    def test_who_waits_for_it_is_called_until_that_hears_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A signal right before a thread begins to wait for a lock does not end that wait."""
        player, times = Player("replay"), list[int]()
        monkeypatch.setattr(ForkLog, "call_home", lambda log: times.append(log.home))
        with player.playing(tape("one", "replay", tmp_path, "known")) as one:
            assert set(in_child(lambda: [asked(player, "unknown"), *times][1:])) == {os.getpid()}
            with child(player) as ask:
                threading.Timer(0.1, player.hear_forked).start()
                assert ask("unknown") == "-"
            assert in_child(lambda: len([asked(player, "unknown"), *times]) - 1) > 1
            player.hear_forked()
        assert len(one.misses) == 3

    def test_what_was_asked_is_compared(self, tmp_path: Path) -> None:
        player = Player("replay")
        one = tape("one", "replay", tmp_path, "known", requests=[])
        with player.playing(one):
            in_child(lambda: [asked(player, "unknown"), asked(player, "known")])
            player.hear_forked()
        assert one.requests == [request("unknown"), request("known")]

    def test_the_first_call_chooses_the_recording_for_all(self, tmp_path: Path) -> None:
        player = Player("replay")
        older = tape("older", "replay", tmp_path, *"bb").cassette
        assert older is not None
        one = tape("one", "replay", tmp_path, "a", older=(older,))
        with player.playing(one), child(player) as ask:
            assert in_child(lambda: asked(player, "b")) == "1 to b"
            assert (ask("a"), ask("b")) == ("-", "2 to b")
            player.hear_forked()
        assert (one.cassette, one.left_over()) == (older, [])

    def test_a_repeatable_call_gets_its_last_answer_again(self, tmp_path: Path) -> None:
        player = Player("replay")
        player.repeat(["*/chat/completions"], lambda: tape("shared", "replay", tmp_path))
        one = tape("one", "replay", tmp_path, *"aa", repeatable=player.repeatable)
        with player.playing(one):
            assert in_child(lambda: [asked(player, "a"), asked(player, "a")]) == ["1 to a", "2 to a"]
            assert [asked(player, "a"), in_child(lambda: asked(player, "a"))] == ["2 to a", "2 to a"]
        assert one.misses == []

    @pytest.mark.parametrize("mode", ["replay", "record"])
    def test_a_child_that_outlives_its_case_counts_for_no_other(self, mode: CassetteMode, tmp_path: Path) -> None:
        player = Player(mode)
        one, later = tape("one", mode, tmp_path, "a"), tape("later", mode, tmp_path, "a")
        with ExitStack() as stack, heard(player):
            with player.playing(one):
                ask = stack.enter_context(child(player))
            with player.playing(later):
                later.passed = True
                assert ask("a") == ("-" if mode == "replay" else "let through")
                player.hear_forked()
        assert (later.made, later.recorded(), later.misses, later.problems) == ([], [], [], [])
        assert len(player.strays) == 1
        assert later.is_partial == (mode == "record")

    def test_a_case_that_waits_for_the_child_of_another_one_has_no_verdict(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(interrupt, "LONG", 0.1)
        player = Player("replay")
        one, later = tape("one", "replay", tmp_path, "a"), tape("later", "replay", tmp_path, "a")
        with ExitStack() as stack, heard(player):
            with player.playing(one):
                ask = stack.enter_context(child(player))
            with player.playing(later):
                assert ask("a") == "-"
        assert later.misses == later.left_behind == player.strays

    def test_no_child_waits_when_the_session_is_over(self, tmp_path: Path) -> None:
        player = Player("replay")
        said: list[str] = []
        with ExitStack() as stack:
            with player.playing(tape("one", "replay", tmp_path, "a")):
                ask = stack.enter_context(child(player))
            player.end(lambda: True, said.append)
            assert ask("a") == "-"
            player.hear_forked()
        assert len(said) == 1

    def test_of_cases_that_run_at_once_each_has_its_own_children(self, tmp_path: Path) -> None:
        player, said = Player("replay"), dict[str, object]()

        def run(name: str) -> None:
            lane, one = player.lane(), tape(name, "replay", tmp_path, *"aa")
            player.push(one, lane)
            CURRENT_CASE.set(lane)
            said[name] = [in_child(lambda: asked(player, "a")), asked(player, "a"), one.left_over()]
            player.leave(lane)

        threads = [threading.Thread(target=run, args=(name,)) for name in ("one", "another")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert said["one"] == said["another"] == ["1 to a", "2 to a", []]

    def test_without_a_tape_it_is_said_at_the_end(self) -> None:
        player = Player("replay")
        in_child(lambda: asked(player, "a"))
        player.hear_forked()
        assert len(player.strays) == 1

    def test_each_player_hears_its_own(self, tmp_path: Path) -> None:
        outer, inner = Player("replay"), Player("replay")
        of_outer, of_inner = tape("outer", "replay", tmp_path), tape("inner", "replay", tmp_path)
        with outer.playing(of_outer), inner.playing(of_inner):
            in_child(lambda: asked(inner, "a"))
            outer.hear_forked()
            inner.hear_forked()
        assert (of_outer.misses, len(of_inner.misses)) == ([], 1)

    def test_a_tape_that_a_child_opens_is_its_own(self, tmp_path: Path) -> None:
        """As where a plugin runs each test in a forked process."""
        player = Player("replay")

        def work() -> object:
            own = tape("own", "replay", tmp_path, *"aa")
            with player.playing(own):
                said = [asked(player, "a"), in_child(lambda: asked(player, "a"))]
                with pytest.raises(MissError):
                    player.ask(request("b"))
                player.hear_forked()
            return [*said, len(own.misses), own.left_over()]

        with player.playing(tape("one", "replay", tmp_path, "a")):
            assert in_child(work) == ["1 to a", "2 to a", 1, []]

    def test_without_a_fork_there_is_no_log(self, tmp_path: Path) -> None:
        player = Player("replay")
        one = tape("one", "replay", tmp_path, "a")
        with player.playing(one):
            asked(player, "a")
            assert (one.log, player.notes.log) == (None, None)
            in_child(lambda: None)
            assert one.log is not None
        assert one.log is None


class TestRecording:
    @pytest.mark.parametrize("mode", ["record", "missing"])
    def test_calls_are_recorded_in_their_order_by_the_process_of_the_case(
        self, mode: CassetteMode, tmp_path: Path
    ) -> None:
        player = Player(mode)
        one = tape("one", mode, tmp_path)
        with player.playing(one):
            said = [asked(player, "a"), in_child(lambda: [asked(player, "sk-1234567"), asked(player, "a")])]
            said.append(asked(player, "c"))
            player.hear_forked()
        assert said == ["live", ["live", "live"], "live"]
        assert [json.loads(one.request.body)["messages"][0]["content"] for one in one.recorded()] == [
            "a",
            "[KEY]",
            "a",
            "c",
        ]
        assert [exchange.seq for exchange in one.recorded()] == [0, 1, 2, 3]
        assert [made.source for made in one.made] == ["live"] * 4
        one.close()
        assert all(b"sk-1234567" not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())

    def test_what_is_missing_is_recorded_beside_what_there_is(self, tmp_path: Path) -> None:
        player = Player("missing")
        one = tape("one", "missing", tmp_path, *"ab")
        with player.playing(one):
            assert in_child(lambda: [asked(player, text) for text in "aac"]) == ["1 to a", "live", "live"]
            assert [asked(player, "b"), asked(player, "b")] == ["1 to b", "live"]
        assert [exchange.seq for exchange in one.recorded()] == [1, 2, 4]
        assert (one.unused(), [exchange.seq for exchange in one.served()]) == ([], [0, 3])

    def test_a_child_that_is_killed_leaves_what_it_had_recorded(self, tmp_path: Path) -> None:
        player = Player("record")
        one = tape("one", "record", tmp_path)

        def amid_a_call() -> None:
            asked(player, "a")
            player.ask(request("b"))
            kill()

        with player.playing(one):
            in_child(amid_a_call)
            asked(player, "c")
        assert len(one.recorded()) == 2
        [problem] = one.problems
        assert "was not recorded" in problem

    def test_a_call_that_ends_after_its_case_is_said(self, tmp_path: Path) -> None:
        player = Player("record")
        one = tape("one", "record", tmp_path)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            with player.playing(one):
                process = os.fork()
                if process == 0:
                    try:
                        step = player.ask(request("a"))
                        theirs.sendall(b"!")
                        theirs.recv(1)
                        assert step.recorder is not None
                        step.recorder.ended()
                    finally:
                        os._exit(0)
                ours.recv(1)
            ours.sendall(b"!")
        os.waitpid(process, 0)
        player.hear_forked()
        assert (len(one.problems), one.recorded()) == (1, [])

    def test_one_in_flight_belongs_to_the_process_that_has_begun_it(self, tmp_path: Path) -> None:
        player = Player("record")
        one = tape("one", "record", tmp_path)
        with player.playing(one):
            step = player.ask(request("a"))
            assert step.recorder is not None
            in_child(step.recorder.ended)
            player.hear_forked()
            assert one.recorded() == []
            step.recorder.started(200, "OK", JSON)
            step.recorder.ended()
        assert len(one.recorded()) == 1

    def test_the_end_of_a_fixture_is_one_for_its_children_as_well(self, tmp_path: Path) -> None:
        player = Player("record")
        one = tape("one", "record", tmp_path)
        with player.playing(one), child(player) as ask:
            ask("a")
            player.hear_forked()
            one.teardown = True
            ask("b")
        assert [exchange.phase for exchange in one.recorded()] == ["", "teardown"]

    def test_where_there_are_no_files_in_memory_nothing_is_recorded(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delattr(os, "memfd_create")
        player, replay = Player("record"), Player("replay")
        one, known = tape("one", "record", tmp_path), tape("known", "replay", tmp_path, *"aa")
        with player.playing(one):
            assert in_child(lambda: asked(player, "a")) == "let through"
            player.hear_forked()
        assert (one.recorded(), len(one.problems)) == ([], 1)
        with replay.playing(known):
            assert [in_child(lambda: asked(replay, "a")), asked(replay, "a")] == ["1 to a", "2 to a"]

    def test_a_shared_call_outside_of_any_case_is_not_recorded_and_said(self, tmp_path: Path) -> None:
        player, shared = Player("record"), tape("shared", "record", tmp_path)
        player.repeatable = RepeatableCalls(["*"], lambda: shared)
        assert asked(player, "a") == "live"
        assert in_child(lambda: asked(player, "a")) == "let through"
        player.hear_forked()
        assert (len(shared.recorded()), len(player.strays)) == (1, 1)

    def test_what_goes_past_the_player_is_said(self, tmp_path: Path) -> None:
        player = Player("record", telemetry=["t.example"], ignored=["i.example"])

        def work() -> None:
            player.ask(Request("POST", "https://i.example/v1/messages"))
            player.notice_ignored("i.example", 5432)
            player.notice_socket("h.example", 80, "a.py:1")
            player.notice_client("grpc")
            player.ask(Request("POST", "https://t.example/v1/traces"))
            one.note_unpaid()

        with player.playing(tape("one", "record", tmp_path)) as one:
            in_child(work)
            player.hear_forked()
        assert (len(player.strays), player.unseen, dict(player.telemetry_calls)) == (1, ["grpc"], {"t.example": 1})
        assert (dict(player.ignored_calls), [*player.ignored_places]) == ({"i.example": 1}, ["i.example:5432"])
        assert (one.is_partial, one.lacks_money) == (True, True)

    def test_what_calls_cost_is_learned(self, tmp_path: Path) -> None:
        unpriced = Call("agent", "live", "m", "openai", Tokens(12, 6), None)
        pricing = Pricing(lambda exchange: unpriced, lambda request, tokens: None)
        player = Player("record")
        player.meter = Meter(1.0, Ledger(tmp_path / "spent"), pricing)
        one = tape("one", "record", tmp_path)
        with player.playing(one):
            in_child(lambda: asked(player, "a"))
            player.hear_forked()
            assert [made.call for made in one.made] == [unpriced]
            assert player.meter.sums().unknown == 1
            with pytest.raises(MissError):
                player.ask(request("b"))


class TestForkLog:
    def test_an_entry_that_is_not_whole_is_overwritten(self) -> None:
        log = ForkLog()
        log.add(("one",))
        for torn in (b"\1", b"\xff" * 12, bytes(12) + b"!", b"\5" + bytes(11) + b"12345"):
            end = os.fstat(log._file).st_size
            os.pwrite(log._file, torn, end)
            assert list(log.news()) == []
            log.add(("two",))
        other = ForkLog()
        os.pwrite(other._file, os.pread(log._file, 10_000, 0), 0)
        assert list(other.news()) == [("one",), *[("two",)] * 4]

    def test_one_that_is_killed_while_it_holds_the_lock_holds_up_nobody(self, tmp_path: Path) -> None:
        player = Player("replay")
        one = tape("one", "replay", tmp_path, "a")

        def work() -> None:
            with one:
                assert one.log is not None
                os.pwrite(one.log._file, b"\xff" * 20, os.fstat(one.log._file).st_size)
                kill()

        with player.playing(one):
            in_child(work)
            assert asked(player, "a") == "1 to a"

    def test_who_takes_a_turn_is_not_interrupted(self, tmp_path: Path) -> None:
        """An exception would leave the lock to nobody."""
        said: list[bool] = []

        class Noticing(Tape):
            def _follow(self, kind: str, *args: Any) -> None:
                said.append(is_in_turn(sys._getframe()))

        one = Noticing("one", "replay", Rules(), Redactor({}), "")
        with Player("replay").playing(one):
            in_child(lambda: one.start("git"))
            with one:
                said.append(is_in_turn(sys._getframe()))
        assert said == [True, False]

    def test_a_process_that_closes_its_files_is_followed(self, tmp_path: Path) -> None:
        player = Player("replay")
        one = tape("one", "replay", tmp_path, *"aa")

        def work() -> object:
            assert one.log is not None
            assert player.notes.log is not None
            for log in (one.log, player.notes.log):
                os.close(log._file)
            return asked(player, "a")

        with player.playing(one):
            if not Path("/proc/self/fd").exists():
                pytest.skip("no file can be opened again here")
            assert [in_child(work), asked(player, "a")] == ["1 to a", "2 to a"]

    def test_a_module_that_another_thread_imports_can_be_imported_in_a_child(self, tmp_path: Path) -> None:
        (tmp_path / "slow_module.py").write_text("import time\nimport __main__\n__main__.begun.set()\ntime.sleep(1)\n")
        script = tmp_path / "script.py"
        script.write_text(
            "import os, threading\n"
            "from pytest_recall.replay import forks\n"
            "begun = threading.Event()\n"
            "threading.Thread(target=lambda: __import__('slow_module')).start()\n"
            "begun.wait(20)\n"
            "if not (child := os.fork()):\n"
            "    import slow_module\n"
            "    os._exit(7)\n"
            "raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        )
        process = subprocess.Popen([sys.executable, script], start_new_session=True)
        try:
            assert process.wait(20) == 7
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def test_locks_are_free_in_a_child_whoever_holds_them(self, tmp_path: Path) -> None:
        made, player = lock(), Player("replay")
        one = tape("one", "replay", tmp_path, "a")
        held, over = threading.Event(), threading.Event()

        def hold() -> None:
            with made, player._lock:
                held.set()
                over.wait(20)

        thread = threading.Thread(target=hold)
        with player.playing(one):
            thread.start()
            held.wait(20)
            said = in_child(lambda: [made.acquire(timeout=5), player._lock.acquire(timeout=5), asked(player, "a")])
            over.set()
            thread.join()
        assert said == [True, True, "1 to a"]
