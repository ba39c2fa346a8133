"""Let processes that were forked from one another follow what each of them has done, in the order in which it was done.

A forked process has a copy of the open tapes, and what it does to one is not known to the others. So once a process has
forked, everything that changes a tape is added to a log, which is read to its end before the next thing is decided: by
whichever process, under a lock that the operating system frees with the process that holds it. No process waits for
another but for this lock, and one that is killed leaves at most an entry that is not whole, which the next one
overwrites. As long as nobody forks, there is no log.
"""

from __future__ import annotations

import errno
import importlib
import itertools
import os
import pickle
import signal
import struct
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from types import FrameType
from typing import Any, Literal, NamedTuple, Protocol
from weakref import WeakSet, finalize

from pytest_recall.files import clock
from pytest_recall.files.errors import MissError

_HEAD = struct.Struct("<QI")
"""What stands before an entry: the number of its bytes, and their checksum."""
_PAUSE = 0.001
_POLL, _AGAIN = 0.02, 0.25
_ALL = ""
"""The key that answers all notes."""
_IMPORT_SECONDS = 10.0


class ForkLog:
    """The log of a process, `home`, and of all that are forked from it. Only who holds the lock reads and writes it.

    It is a file without a name, which is `in_memory` unless this system has none such.
    """

    def __init__(self) -> None:
        self.home = os.getpid()
        self._file, self.in_memory = _new_file()
        self._number, self._identity = self._file, _identity_of(self._file)
        self._end = 0
        self.close = finalize(self, _close, self._file, self._identity)
        self.close.atexit = False

    @property
    def is_forked(self) -> bool:
        """Whether this is a process that was forked from the one that made it."""
        return self.home != os.getpid()

    def lock(self) -> None:
        """Wait until no other process is at it."""
        import fcntl

        self._reopen()
        while True:
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX)
            except OSError as error:
                if error.errno != errno.EDEADLK:
                    raise
                # The system takes the threads of a process for one, of which no two can wait for each other.
                time.sleep(_PAUSE)
            else:
                return

    def unlock(self) -> None:
        """Let others be at it."""
        import fcntl

        with suppress(OSError):
            fcntl.lockf(self._file, fcntl.LOCK_UN)

    def news(self) -> Iterator[tuple[Any, ...]]:
        """Yield the entries that were not read here yet."""
        size = os.fstat(self._file).st_size
        while self._end + _HEAD.size <= size:
            length, checksum = _HEAD.unpack(self._read(_HEAD.size, self._end))
            begin = self._end + _HEAD.size
            if not length or begin + length > size:
                return
            entry = self._read(length, begin)
            if zlib.crc32(entry) != checksum:
                return
            self._end = begin + length
            yield pickle.loads(entry)

    def add(self, entry: tuple[Any, ...]) -> None:
        """Write an entry behind those that were read, which are all."""
        plain = pickle.dumps(entry)
        if os.fstat(self._file).st_size > self._end:
            os.ftruncate(self._file, self._end)  # Who was to write this has died meanwhile.
        rest, end = memoryview(_HEAD.pack(len(plain), zlib.crc32(plain)) + plain), self._end
        while rest:
            written = os.pwrite(self._file, rest, end)
            rest, end = rest[written:], end + written
        self._end = end

    def call_home(self) -> None:
        """Have the process that made it read it soon: it may wait for one that has nothing more to say."""
        with suppress(OSError):
            os.kill(self.home, signal.SIGURG)

    def _read(self, length: int, offset: int) -> bytes:
        pieces = []
        while length and (piece := os.pread(self._file, length, offset)):
            pieces.append(piece)
            length, offset = length - len(piece), offset + len(piece)
        return b"".join(pieces)

    def _reopen(self) -> None:
        """Have the file again in a process that has closed whatever it had open, as daemons do."""
        if _identity_of(self._file) != self._identity:
            self.close.detach()
            try:
                self._file = os.open(f"/proc/{self.home}/fd/{self._number}", os.O_RDWR | os.O_CLOEXEC)
            except OSError:
                raise MissError(_CLOSED) from None
            if _identity_of(self._file) != self._identity:
                os.close(self._file)
                raise MissError(_CLOSED)
            self.close = finalize(self, _close, self._file, self._identity)
            self.close.atexit = False


def _new_file() -> tuple[int, bool]:
    """Return a file without a name, and whether it is in memory alone."""
    with suppress(AttributeError, OSError):
        return os.memfd_create("pytest-recall"), True
    with tempfile.TemporaryFile() as made:
        return os.dup(made.fileno()), False


def _identity_of(file: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _close(file: int, identity: tuple[int, int] | None) -> None:
    if _identity_of(file) == identity:
        os.close(file)


_CLOSED = (
    "a child process has closed the files that it was forked with, so that nobody hears what it asks; let it close only"
    " what it has opened"
)


class ErrorOutput:
    """The standard error of the process that makes it, also in one that is forked where pytest captures its own."""

    def __init__(self) -> None:
        self.home = os.getpid()
        self._file, self._identity = -1, None
        with suppress(OSError):
            self._file = os.dup(2)
            self._identity = _identity_of(self._file)

    @property
    def is_forked(self) -> bool:
        """Whether this is a process that was forked from the one that made it."""
        return self.home != os.getpid()

    def write(self, text: str) -> None:
        """Write a text, unless the file was closed here."""
        if self._identity is not None and _identity_of(self._file) == self._identity:
            with suppress(OSError):
                os.write(self._file, text.encode("utf-8", "backslashreplace"))

    def close(self) -> None:
        """Let go of the file in this process, and in those that are forked from it later."""
        if self._identity is not None:
            _close(self._file, self._identity)
            self._identity = None


class Following:
    """What threads share, and forked processes: `with` it, nobody else changes it, and all that others did is known.

    `log` is None as long as no process was forked while it was open.
    """

    __slots__ = ("_lock", "log")
    log: ForkLog | None
    _lock: threading.Lock

    def _follow(self, kind: str, *args: Any) -> None:
        """Take in what another process has added to the log."""
        raise NotImplementedError

    def __enter__(self) -> None:
        self._lock.acquire()
        if self.log is not None:
            try:
                self._catch_up(self.log)
            except BaseException:
                self.__exit__()
                raise

    def __exit__(self, *_: object) -> None:
        try:
            if self.log is not None:
                self.log.unlock()
        finally:
            self._lock.release()

    def _catch_up(self, log: ForkLog) -> None:
        log.lock()
        for kind, *args in log.news():
            self._follow(kind, *args)

    def _add(self, kind: str, *args: Any) -> None:
        """Have the other processes follow what is done here; within the block of a `with`."""
        if self.log is not None:
            self.log.add((kind, *args))

    @property
    def is_copy(self) -> bool:
        """Whether this is what a forked process has of it."""
        return self.log is not None and self.log.is_forked

    def before_fork(self) -> None:
        """Begin a log, unless there is one."""
        with self:
            if self.log is not None:
                return
            log = ForkLog()
            log.lock()
            self.log = log

    def after_fork(self) -> None:
        """Go on in the new process: a thread that held the lock is not in it."""
        self._lock = threading.Lock()


def is_in_turn(frame: FrameType | None) -> bool:
    """Whether the thread whose innermost frame this is takes or leaves such a block, and must come to its end."""
    while frame is not None:
        if frame.f_code in _TURNS:
            return True
        frame = frame.f_back
    return False


_TURNS = (Following.__enter__.__code__, Following.__exit__.__code__)


class ForkNotes(Following):
    """What forked processes have to say that is of no tape, for the process that they were forked from.

    It answers what was refused to one of them, which waits for that.
    """

    def __init__(self) -> None:
        self.log = None
        self._lock = threading.Lock()
        self._unread: list[Note] = []
        self._answered: set[str] = set()
        self._count = itertools.count()

    def write(self, kind: NoteKind, text: str, key: str = "") -> None:
        """Leave a note, in a process that was forked."""
        with self:
            self._add(kind, text, key)

    def write_and_wait(self, kind: NoteKind, text: str, seconds: float) -> None:
        """Leave a note in a process that was forked, and wait up to some `seconds` until it is answered.

        The process that reads it is called until then: a signal that comes right before it begins to wait for a lock
        does not end that wait.
        """
        key = f"{os.getpid()}-{next(self._count)}"
        self.write(kind, text, key)
        if self.log is None:
            return
        until = again = clock.monotonic()
        until += seconds
        while (now := clock.monotonic()) <= until:
            if now >= again:
                self.log.call_home()
                again = now + _AGAIN
            with self:
                if not self._answered.isdisjoint((key, _ALL)):
                    return
            time.sleep(_POLL)

    def answer(self, key: str = _ALL) -> None:
        """Let the process that has left a note go on; without a key, all of them from now on."""
        with self:
            self._add("answered", key)

    @property
    def is_over(self) -> bool:
        """Whether nobody reads notes any more."""
        with self:
            return _ALL in self._answered

    def read(self) -> list[Note]:
        """Return the notes that were not read yet; none in a process that was forked."""
        if self.log is None or self.is_copy:
            return []
        with self:
            notes, self._unread = self._unread, []
        return notes

    def _follow(self, kind: str, *args: Any) -> None:
        if kind == "answered":
            self._answered.update(args)
        else:
            self._unread.append(Note(kind, *args))  # type: ignore[arg-type]


NoteKind = Literal["connected", "ignored", "missed", "refused", "stray", "telemetry", "unrecorded", "unseen"]
"""One that is `missed` asks for an answer alone: what was refused for a case is said on its tape."""


class Note(NamedTuple):
    """A message or a name, and what of it."""

    kind: NoteKind
    text: str
    key: str = ""
    """Set for one that is to be answered."""


class Forking(Protocol):
    """Who has to do something when this process forks."""

    def before_fork(self) -> None:
        """Prepare for a fork."""

    def after_fork(self) -> None:
        """Go on in the process that was forked."""


_forking: WeakSet[Forking] = WeakSet()
_locks: WeakSet[Any] = WeakSet()


def at_fork(one: Forking) -> None:
    """Let `one` know of each fork, as long as it lives."""
    _forking.add(one)


def lock() -> threading.Lock:
    """Return a lock that is free in a forked process, whichever thread holds it here."""
    made = threading.Lock()
    _locks.add(made)
    return made


def _before() -> None:
    _wait_for_imports()
    for one in list(_forking):
        one.before_fork()


def _after() -> None:
    for made in list(_locks):
        made._at_fork_reinit()
    for one in list(_forking):
        one.after_fork()


def _wait_for_imports() -> None:
    """Wait until no other thread imports a module: the child would have its lock, which nobody there ever frees.

    Python has no public name for these locks. A thread that is within an import itself waits for none, since others may
    wait for it, and no thread waits longer than `_IMPORT_SECONDS`.
    """
    locks = getattr(getattr(importlib, "_bootstrap", None), "_module_locks", {})
    thread = threading.get_ident()
    end = clock.monotonic() + _IMPORT_SECONDS
    while clock.monotonic() < end:
        owners = {getattr(ref(), "owner", None) for ref in list(locks.values())} - {None}
        if not owners or thread in owners:
            return
        time.sleep(_PAUSE)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_child=_after)
