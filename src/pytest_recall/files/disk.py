"""Read files with a size limit, write them atomically, and lock a checkout against a second run.

What is written stays where it was meant to be: a checkout may hold links that a stranger's pull
request has put there, and one that leads out of its folder is refused and not followed.

And it is on the disk, also while a test has put another file system in its place: what this module asks of the
operating system it took as it was imported, and what reads or writes while a test may run asks here.
"""

from __future__ import annotations

import errno
import io
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

from pytest_recall.files import clock
from pytest_recall.files.errors import RecallError

try:
    import fcntl
except ImportError:  # Windows
    _flock: Any = None
else:
    _flock = partial(fcntl.flock)
    _EXCLUSIVE = fcntl.LOCK_EX | fcntl.LOCK_NB

# pyfakefs looks for modules and functions in what modules hold, and passes by what is wrapped. A `Path` finds no way
# past it, since `pathlib` itself is given another `os`.
_os: Any = SimpleNamespace(**vars(os))
_open: Any = partial(io.open)
_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0)
exists: Callable[[Path], bool] = partial(os.path.exists)
"""Whether a file or a folder is there."""

MAX_BYTES = 256 * 1024 * 1024
"""A file larger than this is not one of ours; reading it would only fill the memory."""
LOCK_SECONDS = 60.0
_POINTER = b"version https://git-lfs.github.com/"
_LOCK_POLL = 0.05


class LinkError(OSError):
    """A symbolic link in the place of what is about to be written, which leads out of its folder."""

    def __init__(self, path: Path, target: str) -> None:
        problem = f"is a link to {target}, out of its folder, which is not followed to write; remove the link"
        super().__init__(errno.ELOOP, problem, str(path))

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Give an OSError of this block, such as that of a full disk, the name of the file where it has none."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def check_link(*paths: Path) -> None:
    """Raise LinkError for the first of `paths` that is a link out of the folder that it is in."""
    for path in paths:
        if _os.path.islink(path):
            target = _os.path.realpath(path)
            if not type(path)(target).is_relative_to(_os.path.realpath(path.parent)):
                raise LinkError(path, target)


def open_file(path: Path, mode: str, *, buffering: int = -1) -> IO[Any]:
    """Open a file to read or write bytes, as `open` does. Raises OSError."""
    file: IO[Any] = _open(path, mode, buffering)
    return file


def read_bytes(path: Path, at_most: int | None = None) -> bytes:
    """Return what a file holds. Raises OSError, with EFBIG for one that is larger than `at_most` bytes."""
    # `open` asks the system three times as often, and a replay reads a file for each case.
    descriptor = _os.open(path, _READ)
    try:
        size = _os.fstat(descriptor).st_size
        if at_most is not None and size > at_most:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        data: bytes = _os.read(descriptor, size + 1)
        if size and len(data) == size:
            return data
        with _open(descriptor, "rb", 0, closefd=False) as rest:  # It grows, or is no regular file.
            return data + bytes(rest.readall())
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    finally:
        _os.close(descriptor)


def check_pulled(begin: bytes, name: str) -> None:
    """Raise RecallError if the file `name`, which begins so, is a pointer of Git LFS and not what it points to."""
    if begin.startswith(_POINTER):
        raise RecallError(f"{name}:1: a pointer of Git LFS, whose file is not here; run `git lfs pull`")


def read_checked(path: Path, name: str, *, at_most: int | None = None, remedy: str = "split it") -> bytes:
    """Return what a file of ours holds. `remedy` is what to do about one that is too large.

    Raises RecallError, naming the file as `name`, if it cannot be read, is larger than `at_most` bytes (default:
    `MAX_BYTES`) or a pointer of Git LFS.
    """
    at_most = MAX_BYTES if at_most is None else at_most
    try:
        data = read_bytes(path, at_most)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise RecallError(f"{name}: larger than {at_most >> 20} MB; {remedy}") from None
        raise RecallError(f"{name}: cannot be read ({error.strerror}); check that it is there and readable") from None
    check_pulled(data, name)
    return data


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder, sorted; none if it is not there. Raises OSError."""
    try:
        return sorted(_os.listdir(folder))
    except FileNotFoundError:
        return []


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, if it is not there. Raises OSError."""
    _os.makedirs(folder, exist_ok=True)


def remove(path: Path) -> None:
    """Delete a file, if it is there. Raises OSError."""
    with suppress(FileNotFoundError):
        _os.unlink(path)


def read_text(
    path: Path,
    name: str | None = None,
    *,
    whole_lines: bool = False,
    at_most: int | None = None,
    remedy: str = "save the file as UTF-8",
) -> str:
    """Return the text of `path`, without a byte-order mark and with `\\n` line ends.

    `whole_lines` leaves out a last line that has no end, which someone may still be writing. `remedy` is what to do
    about a file that is not UTF-8.

    Raises RecallError as `read_checked` does, and for what is not UTF-8.
    """
    shown = name or str(path)
    data = read_checked(path, shown, at_most=at_most)
    if whole_lines:
        data = data[: data.rfind(b"\n") + 1]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RecallError(f"{shown}:{line}: byte {error.start} is not UTF-8; {remedy}") from None
    return text.replace("\r\n", "\n") if "\r" in text else text


def write_text(path: Path, text: str, *, durable: bool = False) -> None:
    """Replace `path` by `text` at once, as `write_bytes` does. Raises OSError."""
    write_bytes(path, text.encode("utf-8"), durable=durable)


def check_replaced(path: Path, name: str, begins: bytes, what: str) -> None:
    """Raise RecallError if a folder, or a file that does not begin like `what` is written there, is at `path`.

    Messages call it `name`. Raises OSError for a file that cannot be read.
    """
    if _os.path.isdir(path):
        raise RecallError(f"{name}: is a folder; give a file in it")
    if not _os.path.isfile(path):
        return
    with _open(path, "rb") as file:
        found = file.read(len(begins))
    if found not in (b"", begins):
        raise RecallError(f"{name}: is there already, and is no {what}; give another file, or delete it")


def write_bytes(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Replace `path` by `data` at once: readers see the old file or the new one, never a part.

    A `durable` one is on the disk before it is in its place, which takes a while. A symbolic
    link is followed within its folder and refused if it leads out of it; the permissions of an
    existing file are kept. Raises OSError.
    """
    check_link(path)
    target = type(path)(_os.path.realpath(path))
    make_folder(target.parent)
    with naming(path):
        draft = _write_draft(target, data, durable=durable)
    try:
        _os.chmod(draft, _os.stat(target).st_mode & 0o777 if exists(target) else 0o666 & ~_umask())
        _os.replace(draft, target)
    except BaseException:
        remove(draft)
        raise


def write_all(contents: Mapping[Path, bytes | None]) -> None:
    """Replace all of these files, or none: delete those of None. Raises OSError, and then has put back what was there.

    Each is on the disk before the next one is written; a process that is killed in between leaves whole files.
    """
    before = {path: read_bytes(path) if exists(path) else None for path in contents}
    begun: list[Path] = []
    try:
        for path, data in contents.items():
            begun.append(path)
            _put(path, data)
    except BaseException:
        for path in reversed(begun):
            with suppress(OSError):  # The one that could not be written is as it was.
                _put(path, before[path])
        raise


def _put(path: Path, data: bytes | None) -> None:
    if data is None:
        remove(path)
    else:
        write_bytes(path, data, durable=True)


def _write_draft(target: Path, data: bytes, *, durable: bool) -> Path:
    """Write `data` to a new file beside `target`, which only its owner may read, and return its path."""
    draft = target.with_name(f".{target.name}.{_os.urandom(8).hex()}.tmp")
    with _open(draft, "xb", opener=lambda name, flags: _os.open(name, flags, 0o600)) as file:
        try:
            file.write(data)
            if durable:
                file.flush()
                _os.fsync(file.fileno())
        except BaseException:
            file.close()
            remove(draft)
            raise
    return draft


def create_text(path: Path, text: str) -> None:
    """Write a new file at once; one that is there is left alone. Raises OSError.

    It is on the disk before it has its name.
    """
    check_link(path.parent)
    make_folder(path.parent)
    draft = _write_draft(path, text.encode("utf-8"), durable=True)
    try:
        _os.chmod(draft, 0o666 & ~_umask())
        try:
            _os.link(draft, path)
        except FileExistsError:
            return
        except OSError:  # A file system without links, where the lock of the writers has to do.
            if not exists(path):
                _os.replace(draft, path)
    finally:
        remove(draft)


def _umask() -> int:
    """Return the mask of this process. `os.umask` sets it for all threads while it is read, so that it comes second."""
    with suppress(OSError, StopIteration, ValueError):
        with _open("/proc/self/status", encoding="ascii", errors="replace") as file:
            status: str = file.read()
        return int(next(line for line in status.splitlines() if line.startswith("Umask:")).split()[1], 8)
    mask: int = _os.umask(0)
    _os.umask(mask)
    return mask


def make_ignored(folder: Path, why: str = "") -> None:
    """Make a folder that git passes over, if it is not there; `why` is for its reader. Raises OSError."""
    check_link(folder)
    make_folder(folder)
    ignore = folder / ".gitignore"
    if not exists(ignore):
        write_text(ignore, f"{why}*\n")


@contextmanager
def locked(path: Path, busy: str = "") -> Iterator[None]:
    """Hold the lock file `path`, which processes on one machine share.

    Raises RecallError if another holds it for longer than `LOCK_SECONDS`, or, with the sentence `busy` for that, if
    another holds it at all; the lock of a process that died is free at once. Raises LinkError and OSError too.
    """
    check_link(path.parent, path)
    make_folder(path.parent)
    end = clock.monotonic() + (0.0 if busy else LOCK_SECONDS)
    while (held := _try_lock(path)) is None:
        if clock.monotonic() >= end:
            waited = f"{path}: another run has held the lock for {LOCK_SECONDS:.0f} s; end it, then apply this run"
            raise RecallError(busy or waited)
        time.sleep(_LOCK_POLL)
    try:
        yield
    finally:
        held.close()


def _try_lock(path: Path) -> Any:
    """Return what holds the lock file until it is closed; None if another has it."""
    if _flock is None:
        return _try_filelock(path)
    file = _open(path, "ab", opener=lambda name, flags: _os.open(name, flags | getattr(_os, "O_NOFOLLOW", 0), 0o666))
    held = False
    try:
        _flock(file, _EXCLUSIVE)
        # A lock on a file that was deleted in the meantime keeps no other process out.
        held = _os.fstat(file.fileno()).st_nlink > 0
    except OSError as error:
        if error.errno == errno.ENOSYS:
            return _try_filelock(path)
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            raise
    finally:
        if not held:
            file.close()
    return file if held else None


def _try_filelock(path: Path) -> Any:
    """Do the same on Windows, and on a file system without such locks."""
    # Imported here: it loads asyncio, which other systems should not pay for.
    from filelock import FileLock, SoftFileLock, Timeout

    # Without locks it is the file that holds, and `path` is there already.
    lock = FileLock(path) if _flock is None else SoftFileLock(path.with_name(f"{path.name}.held"))
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return None
    return SimpleNamespace(close=lock.release)
