"""Detect calls that cannot be recorded, by child processes and native clients, and refuse them in a replay.

What such a program or client asks is neither recorded nor replayed, so that a replay would send it again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import FrameType
from typing import Any

from pytest_recall.replay import programs
from pytest_recall.replay.hosts import is_this_machine, place_of, without_query
from pytest_recall.replay.origin import origin
from pytest_recall.replay.player import Player
from pytest_recall.replay.tape import AS_ONE, Tape

STARTS = frozenset(
    (
        *("_winapi.CreateProcess", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.startfile"),
        *("os.startfile/2", "os.system", "pty.spawn", "subprocess.Popen"),
    )
)
"""The audit events of the interpreter that come before a program is started."""


def starts(player: Player, event: str, args: Sequence[Any], frame: FrameType) -> None:
    """Note a program that the session's code starts in a case. Raises MissError for one that a replay must not start.

    `frame` is where the audit event `event` was raised, with `args`.
    """
    if event != "subprocess.Popen" and frame.f_globals.get("__name__") == "subprocess":
        return  # An event of its own came before.
    if event == "os.fork":
        if frame.f_code.co_name != "_spawnvef" or frame.f_globals.get("__name__") != "os":
            return
        # Of `os.spawnv` and the like, whose child would be refused where it is not known here.
        event, args = "os.exec", (frame.f_locals["file"], frame.f_locals["args"])
    if AS_ONE.get() or _is_about_the_machine(frame) or origin() != "session":
        return
    tape = player.tape
    found = programs.arguments_of(event, args, _decoded)
    if player.mode == "replay" and not player.may_connect("", None):
        for one in found:
            if one.name not in player.allowed and (why := _asks(player, one)):
                raise player.refuse(
                    f"{_where(tape)}: `{one.name}` was not started, since it asks {why}, {_UNSEEN}; let a replay do"
                    f" without it, or allow it by `allow_unrecorded: [{one.name}]` in rubric.yaml"
                )
    if tape is not None and tape.process == os.getpid():
        player.started += (one.title for one in found)


def patch_uvloop(module: Any, player: Player) -> list[Callable[[], None]]:
    """Let uvloop's loop say what it starts, which raises no audit event. What is returned takes it back."""
    loop = module.Loop
    if {"subprocess_exec", "subprocess_shell"} & vars(loop).keys():
        return []

    def subprocess_exec(self: Any, protocol: Any, program: Any, *args: Any, **kwargs: Any) -> Any:
        starts(player, "subprocess.Popen", (program, [program, *args]), sys._getframe(1))
        return super(loop, self).subprocess_exec(protocol, program, *args, **kwargs)

    def subprocess_shell(self: Any, protocol: Any, line: Any, **kwargs: Any) -> Any:
        starts(player, "os.system", (line,), sys._getframe(1))
        return super(loop, self).subprocess_shell(protocol, line, **kwargs)

    loop.subprocess_exec, loop.subprocess_shell = subprocess_exec, subprocess_shell
    return [partial(delattr, loop, name) for name in ("subprocess_exec", "subprocess_shell")]


def patch_multiprocessing(module: Any, player: Player) -> list[Callable[[], None]]:
    """Let `multiprocessing.util` say what it starts, which raises no audit event. What is returned takes it back."""
    original = getattr(module, "spawnv_passfds", None)  # Windows has an event, and no such function.
    if original is None:
        return []

    def spawnv_passfds(path: Any, args: Any, passfds: Any) -> Any:
        # One process that cleans up for all others asks nothing.
        if not any("resource_tracker" in _decoded(word) for word in args):
            starts(player, "subprocess.Popen", (path, list(args)), sys._getframe(1))
        return original(path, args, passfds)

    module.spawnv_passfds = spawnv_passfds
    return [partial(setattr, module, "spawnv_passfds", original)]


def _is_about_the_machine(frame: FrameType | None) -> bool:
    """Whether Python itself starts a program to learn about the machine, such as `uname`, as SDKs ask it to."""
    while frame is not None and frame.f_globals.get("__name__") in ("subprocess", "os"):
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") in ("_osx_support", "ctypes.util", "platform", "uuid")


def _asks(player: Player, one: programs.Started) -> str:
    """Return what a program asks over the network, as far as its name and its arguments say; empty if nothing."""
    if one.asks_models:
        return "models by itself"
    if one.name not in programs.FETCHING:
        return ""
    places = [(host, port) for host, port in map(place_of, one.urls) if host and not is_this_machine(host)]
    return next((host for host, port in places if not player.ignores(host, port)), "")


def asks(player: Player, client: str, url: str) -> None:
    """Note that the session's code asks `url` by a native client. Raises MissError where a replay must not.

    An empty `url` is one that is not known.
    """
    tape = player.tape
    if AS_ONE.get() or (tape is None and player.mode != "replay") or origin() != "session":
        return
    if player.may_connect(*place_of(url)):
        return
    if player.mode == "replay" and client not in player.allowed:
        asked = (without_query(url) if url else "") or "a host"
        raise player.refuse(
            f"{_where(tape)}: {client} did not ask {asked}, {_UNSEEN}; ask by a client that is"
            " recorded (httpx, aiohttp; with pytest-recall[replay] also requests, urllib3 and botocore), name the host"
            f" under `ignore_hosts`, or allow it by `allow_unrecorded: [{client}]` in rubric.yaml"
        )
    if tape is not None and tape.process == os.getpid():
        player.unseen.append(client)


_UNSEEN = "which is neither recorded nor replayed"


def _where(tape: Tape | None) -> str:
    if tape is None:
        return "outside of any case"
    case = tape.header.get("case")
    return f"case `{case}`" if case else f"fixture `{tape.header.get('fixture', tape.name)}`"


def _decoded(word: object) -> str:
    try:
        return os.fsdecode(word)  # type: ignore[arg-type]
    except TypeError:
        return str(word)
