"""Where the processes of tests come from: one that has imported what each of them would, and forks.

These are workers of pytest-xdist, and runs in a process of their own. Each is a process like any
other, with the same pipes, environment and exit; only what it imports is there. That is two thirds
of what a run with two workers costs.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import inspect
import io
import json
import os
import pkgutil
import platform
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

ADDRESS = "RECALL_TESTS_NURSERY"
"""The variable with the socket, and the session of processes that it is good for."""
UNKEPT = "PYTHONDONTWRITEBYTECODE"
KNOWN = ("PYTHONPATH", "PYTHONIOENCODING", "PYTHONUNBUFFERED", UNKEPT)
"""Variables of the interpreter that a process may have as it likes: they are heeded, or of no consequence."""
_HELD: list[socket.socket] = []
"""In a worker: what closes when it ends, and so tells `Worker.wait`."""
_REMEMBERED = contextlib.ExitStack()
"""Holds what is remembered of pytest as long as there is this process: it ends with what holds it."""
PRELOADED = ("_pytest", "xdist", "pytest_recall")
LATE = (
    *("pdb", "readline", "faulthandler", "encodings.utf_8_sig"),
    *("httpx", "openai.resources.chat.completions", "anthropic.resources.messages", "genai_prices.data"),
    *("httpcore", "httpcore2", "h11", "anyio._backends._asyncio", "truststore", "stringprep"),
    *("nltk", "jsonschema", "filelock"),
)
"""What runs import late, where it is installed."""


HOME = {key: value for key, value in os.environ.items() if key == "HOME"}
"""The user's; pytester gives each test a HOME of its own."""


def open_one() -> None:
    """Start one, for this process and what it starts, unless there is one; it ends with this process."""
    if ADDRESS in os.environ or not hasattr(os, "fork"):
        return
    path = str(Path(tempfile.mkdtemp(prefix="nursery-")) / "s")
    env = {key: value for key, value in os.environ.items() if key != UNKEPT} | HOME
    # What is beside this is imported before anything else; of us, what this process has imported.
    given = [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]
    env["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(Path(__file__).parent), *given]))
    started = subprocess.Popen([sys.executable, __file__, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    atexit.register(started.communicate)
    assert started.stdout is not None
    if started.stdout.readline():
        os.environ[ADDRESS] = json.dumps([path, os.getsid(0), _interpreter(os.environ)])


def _interpreter(env: Mapping[str, str]) -> dict[str, str]:
    # What Python looks at before anything runs. xdist gives its workers the path, and the tests keep bytecode.
    return {key: value for key, value in env.items() if key.startswith("PYTHON") and key not in KNOWN}


class Worker:
    """A worker as execnet wants it: the ends of its pipes, and its end."""

    def __init__(self, path: str) -> None:
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        self._line = _asked(path, [theirs_in, theirs_out, 2], Path.cwd(), dict(os.environ))
        os.close(theirs_in)
        os.close(theirs_out)
        self.pid = int.from_bytes(self._line.recv(4), "big")
        self.stdin, self.stdout = os.fdopen(ours_out, "wb"), os.fdopen(ours_in, "rb")

    def wait(self) -> None:
        """Wait for its end: it holds the other end of this, and no one else does."""
        with self._line:
            self._line.recv(1)

    def kill(self) -> None:
        """Kill it."""
        os.kill(self.pid, signal.SIGKILL)


def run_module(name: str, *arguments: str, cwd: Path, env: dict[str, str], files: Sequence[int]) -> int | None:
    """Run `python -m name …` with these for its input, output and errors; return its exit code.

    None is returned, and nothing was run, if there is no nursery for such a process.
    """
    if (path := _fit(env)) is None:
        return None
    try:
        line = _asked(path, files, cwd, env, [name, *arguments])
    except OSError:
        return None
    with line:
        _exactly(line, 4)  # Who it is; it is waited for, and not spoken to.
        return int.from_bytes(_exactly(line, 4), "big", signed=True)


def _fit(env: dict[str, str]) -> str | None:
    path, session, interpreter = json.loads(env.get(ADDRESS) or "[null, null, null]")
    return path if path and session == os.getsid(0) and interpreter == _interpreter(env) else None


def _asked(path: str, files: Sequence[int], cwd: Path, env: dict[str, str], argv: Sequence[str] = ()) -> socket.socket:
    line = socket.socket(socket.AF_UNIX)
    try:
        line.connect(path)
    except OSError:
        line.close()
        raise
    told = {"cwd": str(cwd), "env": env, "argv": argv, "parent": os.getpid(), "group": os.getpgid(0)}
    text = json.dumps(told).encode()
    socket.send_fds(line, [len(text).to_bytes(4, "big")], list(files))
    line.sendall(text)
    return line


def few_loaded() -> str | None:
    """Return where workers of this process come from, as long as few plugins are loaded."""
    return _fit(dict(os.environ)) if "PYTEST_DISABLE_PLUGIN_AUTOLOAD" in os.environ else None


def take(asked: Callable[[], str | None] = few_loaded) -> None:
    """Let execnet take workers of this process from the socket that it is told, if it is told one."""
    from execnet import gateway_base, gateway_io

    original = gateway_io.create_io
    if original.__module__ == __name__:
        return

    def create_io(spec: Any, execmodel: Any) -> Any:
        if (path := asked()) is None or not spec.popen or spec.python:
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


class _Children:
    """The processes that were forked, each waited for by the one that forked it, and who is told how they end."""

    def __init__(self) -> None:
        self._told: dict[int, socket.socket] = {}
        self.woken, self._wakes = os.pipe()
        for end in (self.woken, self._wakes):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)

    def tell(self, pid: int, line: socket.socket) -> None:
        """Tell the exit code of a process on `line` once it has ended."""
        self._told[pid] = line

    def reap(self) -> None:
        """Wait for those that have ended."""
        os.read(self.woken, 4096)
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if line := self._told.pop(ended[0], None):
                    with line, contextlib.suppress(OSError):  # Who asked may be gone.
                        line.sendall(os.waitstatus_to_exitcode(ended[1]).to_bytes(4, "big", signed=True))

    def forget(self) -> None:
        """In a child, close what is its parent's."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(self.woken)
        os.close(self._wakes)
        for line in self._told.values():
            line.close()


def _born(listening: socket.socket, children: _Children) -> Callable[[], object] | None:
    line, _ = listening.accept()
    length, files, _, _ = socket.recv_fds(line, 4, 3)
    told = json.loads(_exactly(line, int.from_bytes(length, "big")))
    if pid := os.fork():
        for file in files:
            os.close(file)
        with contextlib.suppress(OSError):
            line.sendall(pid.to_bytes(4, "big"))
        if told["argv"]:
            children.tell(pid, line)
        else:
            line.close()
        return None
    listening.close()
    children.forget()
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
    if not (argv := told["argv"]):
        _HELD.append(line)
        return _work
    line.close()
    path = told["env"].get("PYTHONPATH", "").split(os.pathsep)
    # A program has the folder in which it stands first, a module that is run the one in which it runs.
    sys.path[:1] = [told.get("first", told["cwd"]), *filter(None, path)]
    sys.argv[1:] = argv[1:]
    # What a program starts with the Python that it runs with comes from here as well.
    sys.executable = told.get("executable", sys.executable)
    sys.dont_write_bytecode = bool(told["env"].get(UNKEPT))
    for name, number in (("stdout", 1), ("stderr", 2)):
        # New ones: those of before know whether they could seek, and a pipe cannot.
        made = io.TextIOWrapper(
            io.BufferedWriter(io.FileIO(number, "wb", closefd=False)),
            encoding="utf-8",
            errors=getattr(sys, name).errors,
            line_buffering=name == "stderr",
            write_through="PYTHONUNBUFFERED" in os.environ,
        )
        setattr(sys, name, made)
    return functools.partial(runpy.run_module, argv[0], run_name="__main__", alter_sys=True)


def _work() -> None:
    sys.argv = ["-c"]
    sys.modules["__main__"] = ModuleType("__main__")
    exec(eval(sys.stdin.readline()), vars(sys.modules["__main__"]))


def _preload() -> None:
    for package in PRELOADED:
        for found in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)
    for name in LATE:
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(name)
    _found_out()
    gc.freeze()
    # It walks, and all that its callers ask is whether there are many; a run that found few would let all of them go.
    setattr(gc, "get_freeze_count", lambda: sys.maxsize)  # noqa: B010


def _found_out() -> None:
    remembered = importlib.import_module("remembered")
    _REMEMBERED.enter_context(remembered.in_this_process())
    atexit.register(_REMEMBERED.close)  # Later the modules have lost their names, which Python 3.12 and 3.13 report.
    remembered.ask_ahead()
    importlib.import_module("few_plugins").known()
    _ = platform.uname().processor  # It is kept, and a program is started for it.
    inspect.getmodule(compile("", "", "exec"))  # For a traceback it asks each module for its file; that is kept.
    # A worker is sent the source of what it runs, and compiles it.
    gateway, remote = map(importlib.import_module, ("execnet.gateway_base", "xdist.remote"))
    setattr(gateway, "compile", functools.cache(compile))  # noqa: B010
    gateway.compile(f"{inspect.getsource(remote)}\n", remote.__file__, "exec")
    for model in _under(importlib.import_module("pydantic").BaseModel):
        if model.__module__.startswith("pytest_recall."):
            model.model_rebuild()  # Some are built when they are first used.


def _under(base: type) -> set[Any]:
    return {base}.union(*map(_under, base.__subclasses__()))


def serve(path: str, preload: Callable[[], None]) -> Callable[[], object] | None:
    """Import what processes need, and fork them until the input ends; in such a process, return what it has to do."""
    # Those who press Ctrl-C end it by ending themselves.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    children = _Children()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen(64)
        os.write(1, b"ready\n")  # Connections from now on wait until all is imported.
        preload()
        while True:
            ready, _, _ = select.select([listening.fileno(), 0, children.woken], [], [])
            if children.woken in ready:
                children.reap()
            if 0 in ready:
                Path(path).unlink()
                Path(path).parent.rmdir()
                return None
            if listening.fileno() in ready and (todo := _born(listening, children)):
                return todo


def end(todo: Callable[[], object]) -> NoReturn:
    """Do it and end as a process does, but leave what is in memory to the system.

    To free all that was imported, object by object, would copy each page of it: that is most of what a short run costs.
    """
    code: str | int | None = 0
    try:
        todo()
    except SystemExit as error:
        code = error.code
    except Exception:
        traceback.print_exc()
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    getattr(threading, "_shutdown")()  # noqa: B009 - it waits for threads that are no daemons
    getattr(atexit, "_run_exitfuncs")()  # noqa: B009
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit((code or 0) & 0xFF)


if __name__ == "__main__" and (todo := serve(sys.argv[1], _preload)):
    end(todo)
