"""See what a memory or a model here opens, lists, reads of the environment, starts and connects to, by audit events."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import source_from_cache
from pathlib import Path
from types import FunctionType
from typing import Any, cast

from pytest_recall.models.inputs import (
    ABSENT,
    NAMES,
    Inputs,
    content_digest,
    digest_key,
    key_id,
    names_digest,
    names_in,
    variable_digest,
)
from pytest_recall.replay import audit, sockets
from pytest_recall.replay.hooks import Undo, once_imported, put_beneath_function
from pytest_recall.replay.programs import command_of, is_look_up, program_name

Places = Collection[tuple[str, int | None]]
"""Hosts with their ports."""
_NEW = os.O_TRUNC | os.O_EXCL
_WRITES = os.O_WRONLY | os.O_RDWR | _NEW


class InputLog:
    """What a memory or a model has read so far, each thing as it was when it was first read; and what it has made."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.folders: dict[str, list[str]] = {}
        self.variables: dict[str, str] = {}
        self.unknown: dict[str, None] = {}
        self.connections: dict[tuple[str, int], None] = {}
        self.outputs: set[str] = set()
        self.own_variables: set[str] = set()
        self.code: frozenset[str] | None = None

    def read(self, path: str) -> None:
        """Note that a file is read, or looked for."""
        if path in self.files or path in self.outputs:
            return
        digest = content_digest(path)
        if digest is not None:
            self.files[path] = digest

    def written(self, path: str) -> None:
        """Note that it makes or changes a file: what it reads of that is from itself."""
        if self.files.pop(path, None) is not None:
            self.unknown[f"it changes {_shown(path)}, which it reads"] = None
        self.outputs.add(path)

    def listed(self, path: str) -> None:
        """Note that it looks at which names are in a folder."""
        # Where modules are looked for Python lists them itself.
        if path not in self.folders and path not in sys.path_importer_cache:
            self.folders[path] = names_in(path)

    def inputs(self, models: Places) -> Inputs:
        """Return what it has read so far; a connection to one of the `models` is for a call that was heard."""
        unheard = [
            f"it connects to {min(_names.get(host, {host}))}:{port}"
            for host, port in list(self.connections)
            if not any((name, port) in models for name in (host, *_names.get(host, ())))
        ]
        files, folders, outputs = dict(self.files), dict(self.folders), set(self.outputs)
        made = {path: tuple(sorted(_names_below(path, outputs))) for path in folders}
        secret = digest_key()
        return Inputs(
            {_shown(path): digest for path, digest in files.items()},
            {_shown(path): names_digest(names, made[path]) for path, names in folders.items()},
            dict(self.variables),
            {_shown(path): names for path, names in made.items() if names},
            (*self.unknown, *unheard),
            key_id(secret) if secret and self.variables else "",
        )


def _names_below(folder: str, paths: Iterable[str]) -> Iterator[str]:
    return (os.path.basename(one) for one in paths if os.path.dirname(one) == folder)  # noqa: PTH119, PTH120


def _shown(path: str) -> str:
    """Return a path as it is from the current folder, if it is below that."""
    folder = os.getcwd() + os.sep  # noqa: PTH109
    return path.removeprefix(folder)


_logs: dict[str, InputLog] | None = None
_names: dict[str, set[str]] = {}
"""The names that were looked up, by each address that they have."""
_announced: list[Undo] = []
_working: list[InputLog] = []
_lock = threading.Lock()


class _Thread(threading.local):
    """Whether this thread is within a call of a memory, was in one before, and is at work for the log itself."""

    within = 0
    seen = False
    busy = False


_thread = _Thread()


def watch() -> None:
    """Note from now on, in place of before, what memories read."""
    global _logs
    with _lock:
        if _logs is None:
            audit.listen(_EVENTS)
            once_imported(("urllib.request",), _read_proxies)
            put_beneath_function(cast(FunctionType, os.get_exec_path), _unnoted)
        _logs = {}
    digest_key()


def log_of(name: str) -> InputLog | None:
    """Return the log of the memory or model of this name, None where none is kept."""
    if _logs is None:
        return None
    with _lock:
        return _logs.setdefault(name, InputLog())


def inputs_of(name: str, code: Callable[[], Iterable[Path]], models: Places) -> Inputs:
    """Return what a memory has read; `code` returns the files of its code, with all that these import.

    Where a call to one of the `models` was heard, a connection to that place is no other service.

    A module that another memory has loaded before is not loaded again, so that what it reads is not seen here: all that
    the other one has read counts.
    """
    own = log_of(name)
    if own is None or _logs is None:
        return Inputs()
    inputs = own.inputs(models)
    for other in [one for one in list(_logs.values()) if one is not own]:
        if own.code is None:
            own.code = frozenset(map(str, code()))
        if not own.code.isdisjoint(map(os.path.realpath, list(other.files))):
            inputs = inputs.joined(other.inputs(models))
    return inputs


@contextmanager
def observed(name: str) -> Iterator[None]:
    """Note what is read within, also by threads of the memory's own."""
    log = log_of(name)
    if log is None:
        yield
        return
    with _lock:
        if not _working:
            _swap_environ(watched=True)
            _announced.extend(sockets.announce_names())
        _working.append(log)
    _thread.within += 1
    _thread.seen = True
    try:
        yield
    finally:
        _thread.within -= 1
        with _lock:
            _working.remove(log)
            if not _working:
                _swap_environ(watched=False)
                while _announced:
                    _announced.pop()()


def _listening() -> list[InputLog]:
    """Return the logs of the memories that are at work, as far as what this thread does may be of them."""
    if not _working or _thread.busy or (_thread.seen and not _thread.within):
        return []
    return _working[:]


# Variables


_plain = type(os.environ)


class _Watched(_plain):  # type: ignore[misc, valid-type]
    """The environment, which notes what is read of it; it takes the class's place for the time of a call.

    Its methods name the class that they extend: a call of another thread may have gone in here before the environment
    has its own class again, and `super()` refuses an object that is none of this class any more.
    """

    def __getitem__(self, name: Any) -> Any:
        _variable(name)
        return _plain.__getitem__(self, name)

    def __iter__(self) -> Iterator[Any]:
        _variable(NAMES)
        names: Iterator[Any] = _plain.__iter__(self)
        return names


def _swap_environ(*, watched: bool) -> None:
    for environ in (os.environ, getattr(os, "environb", os.environ)):
        if type(environ) is (_plain if watched else _Watched):
            environ.__class__ = _Watched if watched else _plain


def _variable(name: object) -> None:
    if not isinstance(name, str | bytes):
        return
    for log in _listening():
        variable = os.fsdecode(name)
        if variable in log.variables or variable in log.own_variables:
            continue
        _thread.busy = True
        try:
            secret = digest_key()
            others = {one: value for one, value in os.environ.items() if one not in log.own_variables}
            log.variables[variable] = variable_digest(variable, secret, others) if secret else ABSENT
        finally:
            _thread.busy = False


def _sets_variable(name: str | bytes, *_: object) -> None:
    for log in _listening():
        if os.fsdecode(name) not in log.variables:
            log.own_variables.add(os.fsdecode(name))


_SCHEMES = ("http", "https", "all", "ftp", "ws", "wss", "socks", "no")
_PROXIES = ("REQUEST_METHOD", *(f"{name}_proxy" for name in _SCHEMES), *(f"{name}_PROXY".upper() for name in _SCHEMES))
"""The variables that name a proxy, or where none is used; the first one is of CGI scripts, which use none."""


def _read_proxies(module: Any) -> None:
    """Have what looks for proxies note the variables that name them: it goes through all that there are.

    Each client does so as it is made, and the shell has variables that are others in each terminal.
    """

    def wrap(original: Callable[[], dict[str, str]]) -> Callable[[], dict[str, str]]:
        def getproxies_environment() -> dict[str, str]:
            for name in _PROXIES:
                _variable(name)
            return _unnoted(original)()  # type: ignore[no-any-return]

        return getproxies_environment

    put_beneath_function(module.getproxies_environment, wrap)


def _unnoted(original: Callable[..., Any]) -> Callable[..., Any]:
    """Do not note what a function reads: of a look-up of programs it is enough that those that start are noted."""

    def call(*args: Any, **kwargs: Any) -> Any:
        busy, _thread.busy = _thread.busy, True
        try:
            return original(*args, **kwargs)
        finally:
            _thread.busy = busy

    return call


# Files

_PATHS = sysconfig.get_paths()
_PLACES = [_PATHS[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
_PLACES += [*site.getsitepackages(), site.getusersitepackages(), str(Path(__file__).parents[1])]
_INSTALLED = tuple({str(Path(path).resolve()) + os.sep for path in _PLACES})
"""The folders of what counts by its version: Python's own, installed packages, and this one."""


def _path(given: object) -> str | None:
    """Return the absolute path of what is opened; None for a descriptor, and for what counts by its version."""
    if isinstance(given, os.PathLike):
        given = os.fspath(given)
    if not isinstance(given, str | bytes):
        return None
    try:
        path = os.path.abspath(os.fsdecode(given))  # noqa: PTH100 - as it is named: a link may be led elsewhere.
        if path.startswith(_INSTALLED) or os.path.realpath(path).startswith(_INSTALLED):
            return None
    except (OSError, ValueError):  # The current folder is gone, or it has a null byte.
        return None
    return path


def _source(path: str) -> str:
    """Return the source of what Python has compiled, which it loads in place of that; any other path as it is."""
    try:
        return source_from_cache(path) if path.endswith(".pyc") else path
    except ValueError:
        return path


def _opens(given: object, mode: object = None, flags: object = 0, *_: object) -> None:
    logs = _listening()
    if not logs:
        return
    _thread.busy = True
    try:
        path = _path(given)
        if path is None:
            return
        bits = flags if isinstance(flags, int) else 0
        makes = bool(bits & _NEW) or (isinstance(mode, str) and ("w" in mode or "x" in mode))
        writes = makes or bool(bits & _WRITES) or (isinstance(mode, str) and ("a" in mode or "+" in mode))
        for log in logs:
            if not writes:
                log.read(_source(path))
            elif makes or not os.path.exists(path):  # noqa: PTH110
                log.written(path)
            elif not (isinstance(mode, str) and "a" in mode and "+" not in mode):
                log.read(path)
                log.written(path)
    finally:
        _thread.busy = False


def _moves(_: object, given: object, *__: object) -> None:
    _removes(given)


def _removes(given: object, *_: object) -> None:
    logs = _listening()
    if logs and (path := _path(given)) is not None:
        for log in logs:
            log.written(path)


def _lists(given: object = None, *_: object) -> None:
    logs = _listening()
    _thread.busy = True
    try:
        for log in logs:
            if (path := _path("." if given is None else given)) is not None:
                log.listed(path)
    finally:
        _thread.busy = False


def _imports(_: object, file: object = None, *__: object) -> None:
    if file is not None:
        _opens(file)


# What is not here


def _database(given: object, *_: object) -> None:
    logs = _listening()
    name = os.fsdecode(given) if isinstance(given, str | bytes | os.PathLike) else ""
    if logs and name and name != ":memory:" and not name.startswith("file::memory:"):
        path = _path(name.removeprefix("file:").partition("?")[0])
        for log in logs if path is not None else ():
            assert path is not None
            if path in log.outputs:
                continue
            if os.path.exists(path):  # noqa: PTH110
                log.unknown[f"it opens the database {_shown(path)}"] = None
            else:
                log.written(path)


def _connects(_: object, address: object, *__: object) -> None:
    for log in _listening():
        if isinstance(address, tuple):
            log.connections[str(address[0]), int(address[1])] = None
        else:
            log.unknown["it connects to a socket of this machine"] = None


def _looked_up(host: object, addresses: Iterable[str]) -> None:
    for address in addresses:
        _names.setdefault(address, set()).add(os.fsdecode(host) if isinstance(host, str | bytes) else address)


def _starts(event: str, *given: object) -> None:
    for log in _listening():
        command = command_of(event, given)
        if not command or not is_look_up(command):
            name = program_name(command[0]) if command else "another process"
            log.unknown[f"it starts {name}"] = None


def _forks(*_: object) -> None:
    for log in _listening():
        log.unknown["it starts another process"] = None


_EVENTS: dict[str, audit.Check] = {
    "open": _opens,
    "import": _imports,
    "os.listdir": _lists,
    "os.scandir": _lists,
    "os.rename": _moves,
    "os.remove": _removes,
    "os.mkdir": _removes,
    "os.putenv": _sets_variable,
    "os.unsetenv": _sets_variable,
    "sqlite3.connect": _database,
    "socket.connect": _connects,
    "socket.sendto": _connects,
    sockets.LOOKED_UP: _looked_up,
    "os.fork": _forks,
    "os.forkpty": _forks,
    **{event: partial(_starts, event) for event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn")},
}
