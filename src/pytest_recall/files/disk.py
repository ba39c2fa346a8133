"""Read files with a size limit, write them atomically, and lock a checkout against a second run.

What is written stays where it was meant to be: a checkout may hold links that a stranger's pull
request has put there, and one that leads out of its folder is refused and not followed.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_recall.files.errors import RecallError

MAX_BYTES = 256 * 1024 * 1024
"""A file larger than this is not one of ours; reading it would only fill the memory."""
LOCK_SECONDS = 60.0


class LinkError(OSError):
    """A symbolic link in the place of what is about to be written, which leads out of its folder."""

    def __init__(self, path: Path, target: str) -> None:
        problem = f"is a link to {target}, out of its folder, which is not followed to write; remove the link"
        super().__init__(errno.ELOOP, problem, str(path))

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


def check_link(*paths: Path) -> None:
    """Raise LinkError for the first of `paths` that is a link out of the folder that it is in."""
    for path in paths:
        if path.is_symlink():
            target = os.path.realpath(path)
            if not Path(target).is_relative_to(os.path.realpath(path.parent)):
                raise LinkError(path, target)


def read_text(path: Path, name: str | None = None, *, whole_lines: bool = False, at_most: int | None = None) -> str:
    """Return the text of `path`, without a byte-order mark and with `\\n` line ends.

    `whole_lines` leaves out a last line that has no end, which someone may still be writing.

    Raises RecallError, naming the file as `name`, if it cannot be read, is not UTF-8 or
    is larger than `at_most` bytes (default: `MAX_BYTES`).
    """
    shown = name or str(path)
    at_most = MAX_BYTES if at_most is None else at_most
    try:
        if path.stat().st_size > at_most:
            raise RecallError(f"{shown}: larger than {at_most >> 20} MB; split it")
        data = path.read_bytes()
        if whole_lines:
            data = data[: data.rfind(b"\n") + 1]
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RecallError(f"{shown}:{line}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
    except OSError as error:
        raise RecallError(f"{shown}: cannot be read ({error.strerror}); check that it is there and readable") from None
    return text.replace("\r\n", "\n") if "\r" in text else text


def write_text(path: Path, text: str, *, durable: bool = False) -> None:
    """Replace `path` by `text` at once, as `write_bytes` does. Raises OSError."""
    write_bytes(path, text.encode("utf-8"), durable=durable)


def write_bytes(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Replace `path` by `data` at once: readers see the old file or the new one, never a part.

    A `durable` one is on the disk before it is in its place, which takes a while. A symbolic
    link is followed within its folder and refused if it leads out of it; the permissions of an
    existing file are kept. Raises OSError.
    """
    check_link(path)
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        Path(draft).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        Path(draft).replace(target)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def create_text(path: Path, text: str) -> None:
    """Write a new file at once; one that is there is left alone. Raises OSError.

    It is on the disk before it has its name.
    """
    check_link(path.parent)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        Path(draft).chmod(0o666 & ~_umask())
        try:
            os.link(draft, path)
        except FileExistsError:
            return
        except OSError:  # A file system without links, where the lock of the writers has to do.
            if not path.exists():
                Path(draft).replace(path)
    finally:
        Path(draft).unlink(missing_ok=True)


def _umask() -> int:
    """Return the mask of this process. `os.umask` sets it for all threads while it is read, so that it comes second."""
    with suppress(OSError, StopIteration, ValueError):
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return int(next(line for line in status.splitlines() if line.startswith("Umask:")).split()[1], 8)
    mask = os.umask(0)
    os.umask(mask)
    return mask


def make_ignored(folder: Path, why: str = "") -> None:
    """Make a folder that git passes over, if it is not there; `why` is for its reader. Raises OSError."""
    check_link(folder)
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        write_text(ignore, f"{why}*\n")


def prepare_lock() -> None:
    """Load what `locked` needs, for a caller that has time now and not then."""
    import filelock  # noqa: F401


@contextmanager
def locked(path: Path, busy: str = "") -> Iterator[None]:
    """Hold the lock file `path`, which processes on one machine share.

    Raises RecallError if another holds it for longer than `LOCK_SECONDS`, or, with the sentence `busy` for that, if
    another holds it at all; the lock of a process that died is free at once. Raises LinkError too: to open a lock
    file empties it.
    """
    # Imported here: it loads asyncio, which a run that writes nothing should not pay for.
    from filelock import FileLock, Timeout

    check_link(path.parent, path)
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, timeout=0 if busy else LOCK_SECONDS)
    try:
        lock.acquire()
    except Timeout:
        waited = f"{path}: another run has held the lock for {LOCK_SECONDS:.0f} s; end it, then apply this run"
        raise RecallError(busy or waited) from None
    try:
        yield
    finally:
        lock.release()
