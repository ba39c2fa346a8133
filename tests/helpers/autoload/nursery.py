"""Where the workers of pytest-xdist come from: a process that has imported what each of them would, and forks.

A worker is a process like any other, with the same pipes, environment and exit; only what it
imports is there. That is two thirds of what a run with two workers costs.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import Any

ADDRESS = "RECALL_TESTS_NURSERY"
"""The variable with the socket, and the session of processes that it is good for."""
_HELD: list[socket.socket] = []
"""In a worker: what closes when it ends, and so tells `Worker.wait`."""
PRELOADED = ("_pytest", "xdist", "pytest_recall.plugin")


def open_one() -> None:
    """Start one, for this process and what it starts, unless there is one; it ends with this process."""
    if ADDRESS in os.environ or not hasattr(os, "fork"):
        return
    path = str(Path(tempfile.mkdtemp(prefix="nursery-")) / "s")
    started = subprocess.Popen([sys.executable, __file__, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(started.communicate)
    assert started.stdout is not None
    if started.stdout.readline():
        os.environ[ADDRESS] = json.dumps([path, os.getsid(0), _interpreter()])


def _interpreter() -> dict[str, str]:
    # What Python looks at before anything runs. xdist gives its workers the path.
    return {key: value for key, value in os.environ.items() if key.startswith("PYTHON") and key != "PYTHONPATH"}


class Worker:
    """A worker as execnet wants it: the ends of its pipes, and its end."""

    def __init__(self, path: str) -> None:
        self._line = socket.socket(socket.AF_UNIX)
        try:
            self._line.connect(path)
        except OSError:
            self._line.close()
            raise
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        where = {"cwd": str(Path.cwd()), "env": dict(os.environ)}
        told = json.dumps({**where, "parent": os.getpid(), "group": os.getpgid(0)}).encode()
        socket.send_fds(self._line, [len(told).to_bytes(4, "big")], [theirs_in, theirs_out, 2])
        self._line.sendall(told)
        os.close(theirs_in)
        os.close(theirs_out)
        self.pid = int.from_bytes(self._line.recv(4), "big")
        self.stdin, self.stdout = os.fdopen(ours_out, "wb"), os.fdopen(ours_in, "rb")

    def wait(self) -> None:
        """Wait for its end: it holds the other end of this, and nobody else does."""
        with self._line:
            self._line.recv(1)

    def kill(self) -> None:
        """Kill it."""
        os.kill(self.pid, signal.SIGKILL)


def take() -> None:
    """Let execnet take workers of this process from here, as long as few plugins are loaded."""
    from execnet import gateway_base, gateway_io

    original = gateway_io.create_io
    if original.__module__ == __name__:
        return

    def create_io(spec: Any, execmodel: Any) -> Any:
        path, session, interpreter = json.loads(os.environ.get(ADDRESS, "[null, null, null]"))
        like = path and session == os.getsid(0) and interpreter == _interpreter() and "PYTEST_PLUGINS" in os.environ
        if not like or not spec.popen or spec.python:
            return original(spec, execmodel=execmodel)
        made = gateway_io.Popen2IOMaster.__new__(gateway_io.Popen2IOMaster)
        try:
            made.popen = worker = Worker(path)
        except (ConnectionError, FileNotFoundError):  # It is gone; what the test has to show is not that.
            return original(spec, execmodel=execmodel)
        gateway_base.Popen2IO.__init__(made, worker.stdin, worker.stdout, execmodel=execmodel)
        return made

    gateway_io.create_io = create_io


def _exactly(line: socket.socket, count: int) -> bytes:
    read = b""
    while len(read) < count:
        if not (more := line.recv(count - len(read))):
            raise EOFError("who asked for a worker is gone")
        read += more
    return read


def _born(listening: socket.socket) -> bool:
    line, _ = listening.accept()
    length, files, _, _ = socket.recv_fds(line, 4, 3)
    told = json.loads(_exactly(line, int.from_bytes(length, "big")))
    if pid := os.fork():
        line.sendall(pid.to_bytes(4, "big"))
        line.close()
        for file in files:
            os.close(file)
        return False
    listening.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(told["cwd"])
    os.environ.clear()
    os.environ.update(told["env"])
    time.tzset()
    setattr(os, "getppid", lambda: told["parent"])  # noqa: B010 - a test kills the run from a worker of it
    with contextlib.suppress(OSError):
        os.setpgid(0, told["group"])
    _HELD.append(line)
    return True


def _serve(path: str) -> bool:
    for package in PRELOADED:
        for found in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)
    for package in ("httpx","openai", "anthropic"):
        importlib.import_module(package)
    gc.freeze()
    setattr(gc, "get_freeze_count", lambda: 1)  # noqa: B010 - it walks, to see whether it is zero
    # Those who press Ctrl-C end it by ending themselves; nobody waits for its children but who asked for them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen(64)
        os.write(1, b"ready\n")
        while True:
            ready, _, _ = select.select([listening.fileno(), 0], [], [])
            if 0 not in ready:
                if _born(listening):
                    return True
            else:
                Path(path).unlink()
                Path(path).parent.rmdir()
                return False


if __name__ == "__main__" and _serve(sys.argv[1]):
    sys.argv = ["-c"]
    sys.modules["__main__"] = ModuleType("__main__")
    exec(eval(sys.stdin.readline()), vars(sys.modules["__main__"]))
