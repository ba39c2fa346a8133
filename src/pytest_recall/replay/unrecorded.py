"""Detect calls that cannot be recorded, by programs and native clients, and refuse them in a replay.

What such a program or client asks is neither recorded nor replayed, so that a replay would send it again.
"""

from __future__ import annotations

import errno
import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pytest_recall.files.own_programs import OWN
from pytest_recall.replay import audit
from pytest_recall.replay.clients import native
from pytest_recall.replay.hooks import Undo, once_imported
from pytest_recall.replay.hosts import place_of, without_query
from pytest_recall.replay.player import NO_TELEMETRY, UNKNOWN_CLIENT, Player
from pytest_recall.replay.programs import (
    MULTIPROCESSING,
    Command,
    can_be_named,
    command_of,
    entry_of,
    is_look_up,
    of_multiprocessing,
)
from pytest_recall.replay.tape import APART, LET_THROUGH, Tape

_STARTS = frozenset(
    (
        *("_winapi.CreateProcess", "ctypes.dlsym", "os.exec", "os.posix_spawn", "os.startfile", "os.startfile/2"),
        *("os.system", "pty.spawn", "subprocess.Popen"),
    )
)
"""The audit events of the interpreter that come before a program is started."""

_last = threading.local()


def watch_unrecorded(player: Player) -> list[Undo]:
    """Let `player` know of programs that are started, and of clients whose calls it does not see.

    What is returned takes it back, and grows with what is imported.
    """
    undo = [audit.listen({event: partial(_starts, player, event) for event in _STARTS})]

    def patch(module: Any) -> None:
        undo.extend(native.patch(module, partial(asks, player)))

    undo.append(once_imported(native.MODULES, patch))
    undo.append(once_imported(("uvloop",), lambda module: undo.extend(patch_uvloop(module, player))))
    undo.extend(
        _patch_forking(
            os, "_spawnvef", lambda mode, file, args, *rest: starts(player, command_of("os.exec", (file, args)))
        )
    )
    undo.append(once_imported(("_posixsubprocess",), lambda module: undo.extend(_patch_fork_exec(module, player))))
    undo.append(once_imported((_FORKSERVER,), lambda module: undo.extend(_patch_forkserver(module, player))))
    return undo


_FORKSERVER = "multiprocessing.forkserver"


def _starts(player: Player, event: str, *args: Any) -> None:
    if os.name == "nt":
        if event == "_winapi.CreateProcess" and args[1] == getattr(_last, "line", None):
            return  # That of the Popen before, in one string.
        _last.line = _command_line(args[1]) if event == "subprocess.Popen" else None
    starts(player, of_multiprocessing(command_of(event, args)))


def _command_line(args: Any) -> str:
    """Return what `subprocess.Popen` hands to Windows for its arguments."""
    return args if isinstance(args, str) else subprocess.list2cmdline(args)


def starts(player: Player, command: Command) -> None:
    """Note a program that is started in a case. Raises MissError for one that a replay must not start."""
    if OWN.get() or not command or is_look_up(command):
        return
    tapes = player.possible()
    entry = entry_of(command, str(Path.cwd()))
    if player.mode == "replay" and not player.is_live and not player.programs.has(command):
        refused = f"`{entry}` was not started"
        if tapes:
            why = f"since nothing records what a program asks; {_advice(player, command, entry)}"
            raise player.refuse(f"{_where(tapes)}: {refused}, {why}")
        if (left := player.left_behind(refused)) is not None:
            raise left.wait()
    for tape in tapes:
        tape.start(entry)


def _advice(player: Player, command: Command, entry: str) -> str:
    if not can_be_named(command):
        return "its command does not say what it runs, so that no rubric can name it: start it with a script"
    return (
        f"if it asks no model and a replay may start it, have in rubric.yaml: {player.programs.with_entries([entry])}"
    )


def patch_uvloop(module: Any, player: Player) -> list[Undo]:
    """Let uvloop's loop say what it starts, which raises no audit event. What is returned takes it back."""
    loop = module.Loop
    if {"subprocess_exec", "subprocess_shell"} & vars(loop).keys():
        return []

    def subprocess_exec(self: Any, protocol: Any, program: Any, *args: Any, **kwargs: Any) -> Any:
        starts(player, command_of("subprocess.Popen", (kwargs.get("executable") or program, [program, *args])))
        return super(loop, self).subprocess_exec(protocol, program, *args, **kwargs)

    def subprocess_shell(self: Any, protocol: Any, line: Any, **kwargs: Any) -> Any:
        starts(player, command_of("os.system", (line,)))
        return super(loop, self).subprocess_shell(protocol, line, **kwargs)

    loop.subprocess_exec, loop.subprocess_shell = subprocess_exec, subprocess_shell
    return [partial(delattr, loop, name) for name in ("subprocess_exec", "subprocess_shell")]


def _patch_fork_exec(module: Any, player: Player) -> list[Undo]:
    """See what multiprocessing and loky start beneath `subprocess`, which raises no audit event."""

    def before(args: Sequence[Any], executables: Sequence[Any], *rest: Any) -> None:
        starts(player, of_multiprocessing(command_of("subprocess.Popen", (executables[0], list(args)))))

    return _patch_forking(module, "fork_exec", before)


def _patch_forkserver(module: Any, player: Player) -> list[Undo]:
    """See processes that multiprocessing begins by a server, which may run since before the case."""
    return _patch_forking(module, "connect_to_new_process", lambda *args: starts(player, MULTIPROCESSING))


def _patch_forking(module: Any, name: str, before: Callable[..., None]) -> list[Undo]:
    """Call `before` with the arguments of a function of a module; Windows has none of these."""
    original = getattr(module, name, None)
    if original is None:
        return []

    def start(*args: Any, **kwargs: Any) -> Any:
        before(*args, **kwargs)
        return original(*args, **kwargs)

    setattr(module, name, start)
    return [partial(setattr, module, name, original)]


def asks(player: Player, client: str, url: str) -> None:
    """Note that `url` is asked by a native client. Raises MissError where a replay must not, or ConnectionRefusedError.

    An empty `url` is one that is not known.
    """
    tape = player.tape
    if OWN.get() or player in LET_THROUGH.get() or APART.get() or (tape is None and player.mode != "replay"):
        return
    host, port = place_of(url)
    if player.ignores(host, port):
        player.count_ignored(host)
        return
    if player.may_connect(host, port):
        return
    if player.leaves_aside(host, port, url if url.startswith(("http://", "https://")) else ""):
        if player.mode == "replay":
            raise ConnectionRefusedError(errno.ECONNREFUSED, NO_TELEMETRY)
        return
    if player.mode == "replay":
        asked = (without_query(url) if url else "") or "a host"
        raise player.refuse(
            f"{_where(player.possible())}: {client} did not ask {asked}, which is neither recorded nor replayed;"
            f" {UNKNOWN_CLIENT}"
        )
    if tape is not None:
        player.notice_client(client)


def _where(tapes: Sequence[Tape]) -> str:
    if len(tapes) != 1:
        return "outside of any case" if not tapes else "one of the cases that run at once"
    return tapes[0].label
