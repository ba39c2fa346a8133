"""Run a program to its end or to its time limit, and stop every process that it has started.

Input and output are files, and no pipes: a program that does not read cannot break one, and
a process that it leaves behind cannot keep one open. The program leads a process group of its
own, which is ended with it. Windows has no such groups: there the program alone is ended.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from types import FrameType
from typing import IO, Literal, NamedTuple

from pytest_recall.files import clock
from pytest_recall.files.context_values import assigned
from pytest_recall.files.own_programs import OWN
from pytest_recall.models.model import ModelError

LIMIT = 32 * 2**20
"""Bytes that a program may print."""
GRACE = 2.0
"""Seconds that a program has to end after it was told to."""
_LOOK = 0.2


Exceeded = Literal["", "time", "size"]


class Finished(NamedTuple):
    """What a program left behind."""

    code: int
    """A negative one is the signal that ended it."""
    stdout: bytes
    stderr: bytes
    seconds: float
    exceeded: Exceeded = ""
    """What it did not keep to, so that it was ended from here, and nothing of what it printed is a reply."""


def split(command_line: str) -> list[str]:
    """Return the program and its arguments. Raises ModelError if there are none."""
    try:
        # Elsewhere a backslash quotes; on Windows it separates folders.
        argv = shlex.split(command_line, posix=os.name == "posix")
    except ValueError as error:
        raise ModelError("the command line ends within quotes; close them") from error
    if not argv or not argv[0]:
        raise ModelError("the command line is empty; name a program")
    return argv


def find(name: str, root: Path, env: Mapping[str, str]) -> str:
    """Return the absolute path of the program `name`; a path is one from `root`. Raises ModelError."""
    wanted = str(root / name) if Path(name).name != name else name
    found = shutil.which(wanted, path=env.get("PATH"))
    if found is None:
        where = "at that path" if wanted != name else "on PATH"
        raise ModelError(f"there is no program `{name}` {where}; install it, or correct the selector")
    return str(Path(found).absolute())


def run(
    argv: Sequence[str],
    stdin: bytes,
    *,
    folder: Path,
    env: Mapping[str, str],
    timeout: float,
    check: Callable[[], object],
) -> Finished:
    """Run a program in `folder` for at most `timeout` seconds.

    `check` is called every now and then, and ends the program with what it raises; so does
    Ctrl-C. Raises ModelError for a program that does not start.
    """
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        start = clock.monotonic()
        process: subprocess.Popen[bytes] | None = None
        try:
            with _ctrl_c_after(), assigned(OWN, True):
                process = subprocess.Popen(
                    argv, stdin=given, stdout=out, stderr=err, cwd=folder, env=dict(env), start_new_session=True
                )
            exceeded = _wait(process, out, start + timeout, check)
        except BaseException as error:
            if process is not None:
                _end(process, GRACE)
            elif isinstance(error, OSError | ValueError):
                reason = getattr(error, "strerror", None) or str(error)
                raise ModelError(f"{argv[0]} cannot be started: {reason}; check the program") from error
            raise
        _end(process, GRACE if exceeded else 0.0)
        seconds = clock.monotonic() - start
        return Finished(process.returncode, _read(out), _read(err, last=True), seconds, exceeded)


@contextmanager
def _ctrl_c_after() -> Iterator[None]:
    """Let Ctrl-C end this block once it is over: a program that is started in it would run on, known to no caller."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield  # Python handles signals in the main thread alone.
        return
    came: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    for number, frame in came[:1]:
        handler(number, frame)


def _wait(process: subprocess.Popen[bytes], out: IO[bytes], end: float, check: Callable[[], object]) -> Exceeded:
    """Wait for the program; return what it has exceeded, if it has to be ended."""
    while True:
        rest = end - clock.monotonic()
        _look(process, min(_LOOK, rest))
        if os.fstat(out.fileno()).st_size > LIMIT:
            return "size"
        if process.returncode is not None:
            return ""
        if rest <= 0:
            return "time"
        check()


def _look(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait for the program, at most so many seconds by the clock of the machine: `subprocess` may be given another."""
    end, pause = clock.monotonic() + seconds, 0.0005
    while process.poll() is None and (rest := end - clock.monotonic()) > 0:
        pause = min(2 * pause, 0.05)
        time.sleep(min(pause, rest))


def _read(file: IO[bytes], *, last: bool = False) -> bytes:
    """Return the first bytes of a file up to the limit, or the `last` ones: of errors the last line is shown."""
    file.seek(max(0, os.fstat(file.fileno()).st_size - LIMIT) if last else 0)
    return file.read(LIMIT)


def _end(process: subprocess.Popen[bytes], grace: float) -> None:
    """End the program and all that it has started, after `grace` seconds by force."""
    if sys.platform == "win32":
        process.kill()
        process.wait()
        return
    if grace and _signal(process.pid, signal.SIGTERM):
        end = clock.monotonic() + grace
        while clock.monotonic() < end and _signal(process.pid, 0):
            process.poll()  # An ended leader that no one has asked for still counts as there.
            time.sleep(0.02)
    _signal(process.pid, signal.SIGKILL)
    process.wait()


def _signal(group: int, number: int) -> bool:
    """Send a signal to a process group; return whether a process is there."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
        return True
    return False
