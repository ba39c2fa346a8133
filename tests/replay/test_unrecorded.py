"""Programs that are started in a case: noted, and refused in a replay where they ask models."""

from __future__ import annotations

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

import pytest

from pytest_recall.files.errors import MissError
from pytest_recall.replay import unrecorded
from pytest_recall.replay.player import Player
from pytest_recall.replay.tape import AS_ONE, CassetteMode, Tape
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


WAYS = (*(by_popen, by_shell, by_system, by_asyncio, by_posix_spawn, by_spawn, by_inherited_files, by_thread),)


@pytest.mark.parametrize("start", WAYS)
def test_a_program_is_counted_once_however_it_is_started(
    start: Callable[..., None], ran: Callable[[], list[str]], watched: Watched
) -> None:
    for mode in ("record", "missing"):
        player = watched(mode)
        start("claude")
        assert player.started == ["claude"]
        assert player.tape is not None
        assert player.tape.misses == []
        player.clear()
    assert ran() == ["claude", "claude"]


@pytest.mark.parametrize("start", WAYS)
def test_a_replay_does_not_start_what_asks_models(
    start: Callable[..., None], ran: Callable[[], list[str]], watched: Watched
) -> None:
    player = watched("replay")
    with pytest.raises(MissError, match="case `a`: `claude` was not started, since it asks models by itself"):
        start("claude")
    assert player.tape is not None
    assert len(player.tape.misses) == 1
    assert "`allow_unrecorded: [claude]`" in player.tape.misses[0]
    start("git", "log")
    assert player.started == ["git"]
    assert ran() == ["git"]


def test_one_of_several_in_a_shell_stops_them_all(ran: Callable[[], list[str]], watched: Watched) -> None:
    player = watched("replay")
    with pytest.raises(MissError):
        subprocess.run("git log; claude", shell=True, check=False)
    assert (player.started, ran()) == ([], [])


def test_what_the_rubric_allows_is_started(ran: Callable[[], list[str]], watched: Watched) -> None:
    player = watched("replay", allowed=["claude"])
    by_popen("claude")
    assert (player.started, ran()) == (["claude"], ["claude"])


def test_live_calls_may_take_programs(ran: Callable[[], list[str]], watched: Watched) -> None:
    player = watched("replay", ways={"judge": "live"})
    with player.asking("judge"):
        by_popen("claude")
    assert ran() == ["claude"]
    with pytest.raises(MissError):
        by_popen("claude")


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://api.example.com/v1", "api.example.com"),
        ("--url=http://api.example.com:81/v1", "api.example.com"),
        ("http://127.0.0.1:81/", ""),
        ("http://localhost/", ""),
        ("http://[::1]:81/", ""),
        ("https://db.example.com/", ""),
        ("--version", ""),
    ],
)
def test_curl_is_refused_by_the_hosts_of_its_urls(
    url: str, host: str, ran: Callable[[], list[str]], watched: Watched
) -> None:
    player = watched("replay", ignored=["db.example.com"])
    if host:
        with pytest.raises(MissError, match=f"`curl` was not started, since it asks {host}, which"):
            by_popen("curl", "-s", url)
    else:
        by_popen("curl", "-s", url)
    assert player.started == ([] if host else ["curl"])
    assert ran() == ([] if host else ["curl"])


def test_a_process_that_multiprocessing_spawns_is_named(watched: Watched) -> None:
    player = watched("record")
    process = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(0,))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert player.started == [Path(sys.executable).name]


def test_outside_of_a_case_nothing_is_counted_and_models_are_refused(
    ran: Callable[[], list[str]], watched: Watched
) -> None:
    player = watched("record", case=None)
    by_popen("claude")
    assert player.started == []
    player = watched("replay", case=None)
    by_popen("git", "log", "claude")
    with pytest.raises(MissError, match="outside of any case: `claude` was not started"):
        by_popen("claude")
    assert (len(player.strays), player.started) == (1, [])
    assert ran() == ["claude", "git"]


def test_what_is_recorded_as_one_call_may_start_programs(ran: Callable[[], list[str]], watched: Watched) -> None:
    player = watched("record")
    token = AS_ONE.set(True)
    try:
        by_popen("claude")
    finally:
        AS_ONE.reset(token)
    assert (player.started, ran()) == ([], ["claude"])


def test_what_python_asks_of_the_machine_is_no_program_of_a_case(
    ran: Callable[[], list[str]], watched: Watched
) -> None:
    """The SDKs of OpenAI and Anthropic say in a header what `platform` says, which runs `uname`."""
    player = watched("record")
    platform._Processor.get()  # type: ignore[attr-defined]  # What `processor()` keeps for the process.
    assert (player.started, ran()) == ([], ["uname"])
    by_popen("uname")
    assert player.started == ["uname"]


def test_a_session_that_is_over_knows_of_nothing(ran: Callable[[], list[str]], tmp_path: Path) -> None:
    for mode in ("record", "replay"):
        player = Player(mode)
        watch = Watch(player)
        player.push(in_case(tmp_path, "replay", mode))
        watch.close() if mode == "record" else watch.call_off()
        by_popen("claude")
        assert player.started == []
    assert ran() == ["claude", "claude"]


def test_each_of_two_sessions_knows_of_its_own(ran: Callable[[], list[str]], watched: Watched) -> None:
    outer = watched("record")
    inner = watched("replay")
    by_popen("git")
    assert (outer.started, inner.started) == (["git"], ["git"])
    with pytest.raises(MissError):
        by_popen("claude")
    assert outer.started == ["git"]


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
    assert (player.started, ran()) == ([], [])


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


def test_a_process_has_one_hook_and_none_without_a_recording() -> None:
    """There is no way to take one away, and each is asked for every file that is opened."""
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
            player = Player(mode, ignored=["db.example.com"])
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
        self.start(loop, "claude -p hi; curl https://a.example/")
        assert player.started == ["git", "claude", "curl"]
        assert ran() == ["git", "claude", "curl"]

    def test_a_replay_starts_none_that_asks(
        self, loop: asyncio.AbstractEventLoop, asked: Watched, ran: Callable[[], list[str]]
    ) -> None:
        asked("replay", fixture="agent")
        with pytest.raises(MissError, match="fixture `agent`: `claude` was not started, since it asks models by"):
            self.start(loop, "claude", "-p")
        with pytest.raises(MissError, match=r"`curl` was not started, since it asks a\.example, which"):
            self.start(loop, "curl https://db.example.com/ http://localhost/ https://a.example/")
        self.start(loop, "curl", "https://db.example.com/")
        self.start(loop, "git", "log")
        assert ran() == ["curl", "git"]


def test_where_multiprocessing_starts_by_an_event_nothing_is_patched() -> None:
    assert unrecorded.patch_multiprocessing(SimpleNamespace(), Player("replay")) == []
