"""Programs that are started in a case: noted, and refused in a replay unless they are named."""

from __future__ import annotations

import _posixsubprocess
import asyncio
import multiprocessing
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_recall.files.context_values import assigned
from pytest_recall.files.errors import MissError
from pytest_recall.files.own_programs import OWN
from pytest_recall.replay import interrupt, unrecorded
from pytest_recall.replay.player import Player
from pytest_recall.replay.tape import CassetteMode, Tape
from pytest_recall.replay.watch import Watch
from tests.replay.test_tape import tape_of

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the programs of the tests are scripts of a shell")


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Put `claude`, `curl`, `git` and `uname` on the PATH; returns which of them were run, in that order."""
    log, folder = tmp_path / "log", tmp_path / "bin"
    folder.mkdir()
    for name in ("claude", "curl", "git", "uname"):
        (folder / name).write_text(f"#!/bin/sh\necho {name} >> {log}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return lambda: log.read_text().split() if log.exists() else []


Watched = Callable[..., Player]


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    """Make a player that watches, by its mode and its settings; with a tape of a case, unless `tape` is None."""
    watches: list[Watch] = []

    def make(
        mode: CassetteMode, *, case: str | None = "a", ways: dict[str, str] | None = None, **settings: object
    ) -> Player:
        player = Player(mode, ways, **settings)  # type: ignore[arg-type]
        watches.append(Watch(player))
        if case is not None:
            player.push(in_case(tmp_path, mode, case))
        return player

    yield make
    for watch in reversed(watches):
        watch.player.clear()
        watch.call_off() if watch.player.mode == "replay" else watch.close()


def in_case(folder: Path, mode: CassetteMode, case: str) -> Tape:
    tape = tape_of(folder, mode=mode)
    tape.header = {"case": case}
    return tape


def by_popen(name: str, *args: str) -> None:
    subprocess.run([name, *args], check=True)


def by_shell(name: str, *args: str) -> None:
    subprocess.run(" ".join(["cd / &&", name, *args]), shell=True, check=True)


def by_system(name: str, *args: str) -> None:
    assert os.system(" ".join([name, *args])) == 0


def by_asyncio(name: str, *args: str) -> None:
    async def run() -> None:
        assert await (await asyncio.create_subprocess_exec(name, *args)).wait() == 0

    asyncio.run(run())


def by_posix_spawn(name: str, *args: str) -> None:
    assert os.waitpid(os.posix_spawnp(name, [name, *args], os.environ), 0)[1] == 0


def by_spawn(name: str, *args: str) -> None:
    assert os.spawnvp(os.P_WAIT, name, [name, *args]) == 0


def by_inherited_files(name: str, *args: str) -> None:
    """As `subprocess` starts programs by `posix_spawn`, which has an event of its own."""
    found = next(path for path in os.environ["PATH"].split(os.pathsep) if Path(path, name).exists())
    assert subprocess.Popen([f"{found}/{name}", *args], close_fds=False).wait() == 0


def by_thread(name: str, *args: str) -> None:
    errors: list[BaseException] = []

    def run() -> None:
        try:
            by_popen(name, *args)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


WAYS = (*(by_popen, by_asyncio, by_posix_spawn, by_spawn, by_inherited_files, by_thread),)
BY_SHELL = (by_shell, by_system)


def started(player: Player) -> list[str]:
    """Return what was started while the tape was open, as a rubric names it."""
    assert player.tape is not None
    return list(player.tape.started)


@pytest.mark.parametrize("start", [*WAYS, *BY_SHELL])
def test_a_recording_notes_what_is_started(
    start: Callable[..., None], ran: Callable[[], list[str]], watched: Watched
) -> None:
    player = watched("record")
    start("claude")
    lines = {by_shell: ["sh -c 'cd / && claude'"], by_system: ["sh -c claude"]}
    assert started(player) == lines.get(start, ["claude"])
    assert player.tape is not None
    assert player.tape.misses == []
    assert ran() == ["claude"]


@pytest.mark.parametrize("start", [*WAYS, *BY_SHELL])
def test_a_replay_does_not_start_what_is_not_named(
    start: Callable[..., None], ran: Callable[[], list[str]], watched: Watched
) -> None:
    player = watched("replay", programs=["rg"])
    with pytest.raises(MissError, match=r"case `a`: `.*` was not started, since nothing records what a program"):
        start("git")
    assert player.tape is not None
    assert len(player.tape.misses) == 1
    assert "have in rubric.yaml: replay: {programs: [rg, " in player.tape.misses[0]
    assert (started(player), ran()) == ([], [])


@pytest.mark.parametrize("start", WAYS)
@pytest.mark.parametrize("named", [["git"], ["any"]])
def test_a_replay_starts_what_is_named(
    named: list[str], start: Callable[..., None], ran: Callable[[], list[str]], watched: Watched
) -> None:
    player = watched("replay", programs=named)
    start("git", "log")
    assert (started(player), ran()) == (["git"], ["git"])


def test_what_no_rubric_can_name_is_said_to_be_so(watched: Watched) -> None:
    player = watched("replay")
    with pytest.raises(MissError, match="does not say what it runs, so that no rubric can name it"):
        subprocess.run(["sh"], input=b"claude", check=False)
    assert "rubric.yaml" not in player.tape.misses[0]  # type: ignore[union-attr]


def test_live_calls_may_take_programs(ran: Callable[[], list[str]], watched: Watched) -> None:
    player = watched("replay", ways={"judge": "live"})
    with player.asking("judge"):
        by_popen("claude")
    assert ran() == ["claude"]
    with pytest.raises(MissError):
        by_popen("claude")


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_of_multiprocessing_are_programs(method: str, watched: Watched) -> None:
    """Neither raises an event, and a server may run since before the case."""
    context: Any = multiprocessing.get_context(method)
    context.Process(target=time.sleep, args=(0,)).start()
    player = watched("replay")
    with pytest.raises(MissError, match="`multiprocessing` was not started"):
        context.Process(target=time.sleep, args=(0,)).start()
    player.clear()
    player = watched("replay", programs=["multiprocessing"])
    process = context.Process(target=time.sleep, args=(0,))
    process.start()
    process.join()
    assert (process.exitcode, started(player)) == (0, ["multiprocessing"])


def test_outside_of_a_case_programs_are_nobodys_business(ran: Callable[[], list[str]], watched: Watched) -> None:
    player = watched("replay", case=None)
    by_popen("claude")
    assert (player.strays, ran()) == ([], ["claude"])


@pytest.mark.parametrize("waits", [False, True])
def test_a_thread_that_outlives_its_case_starts_none_in_the_next(
    ran: Callable[[], list[str]], watched: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    """It is held back until that is over, which has no verdict if it waits for the program."""
    monkeypatch.setattr(interrupt, "LONG", 0.2 if waits else 20.0)
    player = watched("replay")
    go, errors = threading.Event(), list[BaseException]()

    def late() -> None:
        go.wait(10)
        try:
            by_popen("claude")
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=late)
    thread.start()
    player.clear()
    after = in_case(tmp_path, "replay", "b")
    player.push(after)
    go.set()
    while not after.left_behind:
        thread.join(0.01)
    assert errors == []
    after.passed = not waits
    thread.join()
    assert len(errors) == 1
    assert (after.misses, ran()) == (after.left_behind if waits else [], [])


def test_our_own_programs_are_none_of_the_case(ran: Callable[[], list[str]], watched: Watched) -> None:
    player = watched("replay")
    with assigned(OWN, True):
        by_popen("claude")
        by_asyncio("git")
    assert (started(player), ran()) == ([], ["claude", "git"])


def test_what_python_asks_of_the_machine_is_no_program_of_a_case(
    ran: Callable[[], list[str]], watched: Watched
) -> None:
    """The SDKs of OpenAI and Anthropic say in a header what `platform` says, which runs `uname`."""
    player = watched("replay")
    platform._Processor.get()  # type: ignore[attr-defined]  # What `processor()` keeps for the process.
    assert (started(player), ran()) == ([], ["uname"])
    with pytest.raises(MissError):
        by_popen("uname")


def test_a_session_that_is_over_knows_of_nothing(ran: Callable[[], list[str]], tmp_path: Path) -> None:
    before = os._spawnvef, _posixsubprocess.fork_exec  # type: ignore[attr-defined]
    for mode in ("record", "replay"):
        player = Player(mode)
        watch = Watch(player)
        player.push(in_case(tmp_path, "replay", mode))
        watch.close() if mode == "record" else watch.call_off()
        by_popen("claude")
        assert started(player) == []
    assert ran() == ["claude", "claude"]
    assert (os._spawnvef, _posixsubprocess.fork_exec) == before  # type: ignore[attr-defined]


def test_each_of_two_sessions_knows_of_its_own(ran: Callable[[], list[str]], watched: Watched) -> None:
    outer = watched("record")
    inner = watched("replay", programs=["git"])
    by_popen("git")
    assert (started(outer), started(inner)) == (["git"], ["git"])
    with pytest.raises(MissError):
        by_popen("claude")
    assert started(outer) == ["git"]


def test_a_forked_child_starts_none_either(ran: Callable[[], list[str]], watched: Watched) -> None:
    player = watched("replay")
    child = os.fork()
    if child == 0:
        try:
            os.execvp("claude", ["claude"])
        except MissError:
            os._exit(3)
        os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    assert (started(player), ran()) == ([], [])


HOOKS = """\
import sys
added = []
real = sys.addaudithook
sys.addaudithook = lambda hook: added.append(hook) or real(hook)

from pytest_recall.replay.player import Player
from pytest_recall.replay.watch import Watch

Watch(Player("off")).close()
assert added == []
for _ in range(3):
    Watch(Player("record")).close()
    Watch(Player("replay")).call_off()
assert len(added) == 1
"""


def test_a_process_has_one_hook_for_programs_and_sockets_and_none_without_a_recording() -> None:
    """There is no way to take it away, and it is asked for every file that is opened."""
    done = subprocess.run([sys.executable, "-c", HOOKS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


class TestUvloop:
    """Its loops start programs by themselves, of which the interpreter tells nothing."""

    @pytest.fixture
    def loop(self) -> Iterator[asyncio.AbstractEventLoop]:
        """A loop like one of uvloop's: a class without methods of its own above one that has them."""

        class Loop(asyncio.SelectorEventLoop):
            pass

        made = Loop()
        yield made
        made.close()

    @pytest.fixture
    def asked(self, loop: asyncio.AbstractEventLoop, tmp_path: Path) -> Iterator[Watched]:
        """Patch the loop for a player in a mode, which hears of programs from it alone."""
        undo: list[Callable[[], None]] = []
        module = SimpleNamespace(Loop=type(loop))

        def make(mode: CassetteMode, **header: str) -> Player:
            player = Player(mode, programs=["git"])
            undo.extend(unrecorded.patch_uvloop(module, player))
            assert unrecorded.patch_uvloop(module, player) == []
            tape = tape_of(tmp_path, mode=mode)
            tape.header = header
            player.push(tape)
            return player

        yield make
        for back in undo:
            back()
        assert not {"subprocess_exec", "subprocess_shell"} & vars(type(loop)).keys()

    def start(self, loop: asyncio.AbstractEventLoop, *program: str) -> None:
        async def run() -> None:
            name, *args = program
            made = asyncio.create_subprocess_exec(name, *args) if args else asyncio.create_subprocess_shell(name)
            assert await (await made).wait() == 0

        loop.run_until_complete(run())

    def test_a_recording_names_them(
        self, loop: asyncio.AbstractEventLoop, asked: Watched, ran: Callable[[], list[str]]
    ) -> None:
        player = asked("record")
        self.start(loop, "git", "log")
        self.start(loop, "claude -p hi")
        assert started(player) == ["git", "sh -c 'claude -p hi'"]
        assert ran() == ["git", "claude"]

    def test_a_replay_starts_those_that_are_named(
        self, loop: asyncio.AbstractEventLoop, asked: Watched, ran: Callable[[], list[str]]
    ) -> None:
        asked("replay", fixture="agent")
        with pytest.raises(MissError, match="fixture `agent`: `claude` was not started"):
            self.start(loop, "claude", "-p")
        with pytest.raises(MissError, match="`sh -c 'git log'` was not started"):
            self.start(loop, "git log")
        self.start(loop, "git", "log")
        assert ran() == ["git"]


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("http://gateway.example/v1/traces", ConnectionRefusedError),
        ("http://gateway.example/v1/chat/completions", MissError),
        ("grpc://gateway.example:80", ConnectionRefusedError),
        ("grpc://gateway.example:81", MissError),
    ],
)
def test_what_a_native_client_asks_is_telemetry_by_its_path_or_without_http_by_its_place(
    url: str, error: type[BaseException], watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://gateway.example")
    player = watched("replay")
    with pytest.raises(error):
        unrecorded.asks(player, "native", url)
    assert player.telemetry_calls["gateway.example"] == (error is ConnectionRefusedError)
