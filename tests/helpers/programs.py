"""`recall`, `pytest` and `python -m` for shells, git and our own code: they come from the nursery, where all is there.

What is about the start of a process, or about what it imports, takes those of the installation.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from pytest_recall.runs import collection
from tests.helpers.autoload import nursery

_HELD: list[tempfile.TemporaryDirectory[str]] = []
_CLIENT = """\
# It imports modules of the interpreter alone, and so starts in a hundredth of a second.
import _json, _signal, _socket, os, sys

text = _json.encode_basestring_ascii
if not module and sys.argv[1] != "-m":
    os.execv(program, [program, *sys.argv[1:]])
python = {name: value for name, value in os.environ.items() if name.startswith("PYTHON") and name not in known}
line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
try:
    if os.getsid(0) != session or python != interpreter:
        raise OSError
    line.connect(path)
except OSError:
    os.execv(program, [program, *sys.argv[1:]])
_signal.signal(_signal.SIGINT, _signal.SIG_IGN)  # What is run gets it as well, and decides.
env = ",".join(f"{text(name)}:{text(value)}" for name, value in os.environ.items())
argv = ",".join(map(text, [module, *sys.argv[1:]] if module else sys.argv[2:]))
first = os.path.dirname(program) if module else os.getcwd()
told = '{"env":{%s},"argv":[%s],"cwd":%s,"first":%s,"executable":%s,"parent":%d,"group":%d}' % (
    env, argv, text(os.getcwd()), text(first), text(executable), os.getppid(), os.getpgid(0)
)
files = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
line.sendmsg([len(told).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
line.sendall(told.encode())
read = b""
while len(read) < 8:
    if not (more := line.recv(8 - len(read))):
        sys.exit("the nursery is gone")
    read += more
code = int.from_bytes(read[4:], "big", signed=True)
if code < 0:
    if -code != _signal.SIGKILL:
        _signal.signal(-code, _signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


@functools.cache
def folder() -> Path:
    """Return a folder with programs of these names, which is to stand first in PATH; it ends with this process."""
    installed = Path(sys.executable).parent
    nursery.open_one()
    path, session, interpreter = json.loads(os.environ.get(nursery.ADDRESS) or "[null, null, null]")
    if path is None:
        return installed
    _HELD.append(tempfile.TemporaryDirectory(prefix="programs-"))
    made = Path(_HELD[-1].name)
    common = {"path": path, "session": session, "interpreter": interpreter, "known": nursery.KNOWN}
    common |= {"executable": str(made / "python")}
    for name, module in (("recall", "pytest_recall"), ("pytest", "pytest"), ("python", "")):
        given = {**common, "program": str(installed / name) if module else sys.executable, "module": module}
        lines = [f"#!{sys.executable} -IS", *(f"{key} = {value!r}" for key, value in given.items()), _CLIENT]
        (made / name).write_text("\n".join(lines), encoding="utf-8")
        (made / name).chmod(0o755)
    return made


def recall(*arguments: str, module: str = "pytest_recall") -> list[str]:
    """Return the command line of `recall` in a process that ends by itself, and has all imports at its start."""
    return [str(folder() / "python"), "-m", module, *arguments]


def begin(
    where: Path, *arguments: str, env: Mapping[str, str] = os.environ, module: str = "pytest_recall"
) -> subprocess.Popen[str]:
    """Begin `recall`, or another module, in a process group of its own, to which signals for it are sent.

    Its end is not waited for.
    """
    pipe = subprocess.PIPE
    command = recall(*arguments, module=module)
    return subprocess.Popen(
        command, cwd=where, env=env, stdin=pipe, stdout=pipe, stderr=pipe, encoding="utf-8", process_group=0
    )


def kill(process: subprocess.Popen[str]) -> None:
    """Kill what was begun with SIGKILL, and wait until no process of its group runs, so that it holds no file."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    while any(_runs_in(process.pid, stat) for stat in Path("/proc").glob("[0-9]*/stat")):
        time.sleep(0.001)


def _runs_in(group: int, stat: Path) -> bool:
    try:
        state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
    except OSError:  # It has ended meanwhile.
        return False
    return int(its_group) == group and state not in "ZX"


@contextlib.contextmanager
def collecting() -> Iterator[None]:
    """Let the pytest that `recall check` and others ask, in a process of its own, start at once."""
    python = folder() / "python"
    if not python.exists():
        yield
        return
    with mock.patch.object(collection, "sys", SimpleNamespace(executable=str(python))):
        yield
