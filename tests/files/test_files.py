"""Files: what a crash leaves behind, and the lock between two processes."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_recall.files import disk
from pytest_recall.files.disk import LinkError, create_text, locked, make_ignored, read_text, write_text
from pytest_recall.files.json_lines import Appended
from tests.helpers.samples import POINTER
from tests.schedule.state_samples import problem

# Reading


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", ""),
        (b"a\nb", "a\nb"),
        (b"a\r\nb\r\n", "a\nb\n"),
        (b"\xef\xbb\xbfa\n", "a\n"),
        ("ü😀\n".encode(), "ü😀\n"),
        (b"a\rb\n", "a\rb\n"),
    ],
)
def test_read(tmp_path: Path, content: bytes, text: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert read_text(path) == text


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "file"
    message = "cannot be read (No such file or directory); check that it is there and readable"
    assert problem(lambda: read_text(path)) == f"{path}: {message}"
    assert problem(lambda: read_text(path, "eval/x")) == f"eval/x: {message}"
    assert problem(lambda: read_text(tmp_path, "here")).startswith("here: cannot be read (Is a directory)")
    path.write_bytes(b"ab\xff")
    assert problem(lambda: read_text(path, "x")) == "x:1: byte 2 is not UTF-8; save the file as UTF-8"
    path.write_bytes("text".encode("utf-16"))
    assert problem(lambda: read_text(path, "x")) == "x:1: byte 0 is not UTF-8; save the file as UTF-8"


def test_a_link_to_itself_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert problem(lambda: read_text(tmp_path / "loop", "loop")).startswith("loop: cannot be read (")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch(mode=0)
    assert problem(lambda: read_text(path, "file")).startswith("file: cannot be read (Permission denied)")


def test_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "MAX_BYTES", 3 << 20)
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate((3 << 20) + 1)
    assert problem(lambda: read_text(path, "file")) == "file: larger than 3 MB; split it"


def test_a_file_is_as_large_as_what_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"four")
    assert disk.read_bytes(path, 4) == b"four"
    with pytest.raises(OSError, match=re.escape(str(path))) as caught:
        disk.read_bytes(path, 3)
    assert caught.value.errno == errno.EFBIG


def test_a_pointer_of_git_lfs(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(POINTER)
    assert problem(lambda: read_text(path, "file")) == (
        "file:1: a pointer of Git LFS, whose file is not here; run `git lfs pull`"
    )


# Writing


def test_write(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    for text, durable in (("one\n", False), ("ü\r\n", True), ("", True)):
        write_text(path, text, durable=durable)
        assert path.read_bytes() == text.encode()
    assert [found.name for found in path.parent.iterdir()] == ["file"]


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
def test_an_error_in_the_middle_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    path = tmp_path / "file"
    path.write_text("old", encoding="utf-8")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk._os, step, fail)
    with pytest.raises(OSError, match="No space left"):
        write_text(path, "new", durable=True)
    assert path.read_text(encoding="utf-8") == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


def test_text_that_is_not_unicode_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "a\ud800")
    assert path.read_text(encoding="utf-8") == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("there", [False, True])
def test_a_new_file_is_written_where_the_file_system_has_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    path = tmp_path / "file"
    if there:
        path.write_text("old", encoding="utf-8")

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(disk._os, "link", refuse)
    create_text(path, "new")
    assert path.read_text(encoding="utf-8") == ("old" if there else "new")
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


KILLED = """
import os, pathlib, signal, sys
from pytest_recall.files import disk
from pytest_recall.files.disk import write_text
disk._os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
write_text(pathlib.Path(sys.argv[1]), "new" * 100_000, durable=True)
"""


def test_a_killed_writer_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old", encoding="utf-8")
    assert subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False).returncode == -9
    assert path.read_text(encoding="utf-8") == "old"
    write_text(path, "newer")
    assert path.read_text(encoding="utf-8") == "newer"


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755])
def test_permissions_are_kept(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "file"
    path.write_text("old", encoding="utf-8")
    path.chmod(mode)
    write_text(path, "new")
    assert path.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_permissions_of_a_new_file_are_those_of_any_other(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        write_text(tmp_path / "file", "new")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


def test_the_mask_is_asked_for_where_no_file_tells_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, opened = os.umask(0o027), disk._open

    def without_proc(path: object, *given: object, **named: object) -> object:
        if path == "/proc/self/status":
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        return opened(path, *given, **named)

    monkeypatch.setattr(disk, "_open", without_proc)
    try:
        write_text(tmp_path / "file", "new")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells it without setting it")
def test_the_mask_is_not_set_for_other_threads_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    masks: list[int] = []
    monkeypatch.setattr(disk._os, "umask", masks.append)
    write_text(tmp_path / "file", "new")
    assert masks == []


def test_a_link_out_of_its_folder_is_not_followed(tmp_path: Path) -> None:
    """A pull request may have planted it."""
    (tmp_path / "in").mkdir()
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    link, folder = tmp_path / "in" / "link", tmp_path / "in" / "folder"
    link.symlink_to(tmp_path / "file")
    folder.symlink_to("../folder", target_is_directory=True)
    dangling = tmp_path / "in" / "new"
    dangling.symlink_to(tmp_path / "not-there")

    def take(path: Path) -> None:
        with locked(path):
            pass

    for write in (
        lambda: write_text(link, "theirs"),
        lambda: write_text(dangling, "theirs"),
        lambda: take(link),
        lambda: take(folder / "lock"),
        lambda: make_ignored(folder),
        lambda: create_text(folder / "new", "theirs"),
        lambda: Appended(link),
    ):
        with pytest.raises(LinkError, match=r"in/\w+: is a link to /.*, out of its folder") as error:
            write()
        assert (error.value.filename, error.value.errno) == (str(error.value).partition(":")[0], errno.ELOOP)
    left = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*"))
    assert left == ["file", "folder", "in", "in/folder", "in/link", "in/new"]
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "elsewhere" / "file", tmp_path / "link"
    link.symlink_to(Path("elsewhere", "file"))
    for text in ("first", "second"):
        write_text(link, text)
        assert link.is_symlink()
        assert target.read_text(encoding="utf-8") == text


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        write_text(tmp_path / "folder", "new")
    assert [found.name for found in tmp_path.iterdir()] == ["folder"]


# The lock

HOLDER = """
import pathlib, sys
from pytest_recall.files.disk import locked
with locked(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
print("freed", flush=True)
"""


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Let another process hold the lock `path`, until its input ends."""
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_one_process_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "LOCK_SECONDS", 0.0)
    path = tmp_path / "new" / ".lock"
    with holder(path) as process:
        message = problem(lambda: locked(path).__enter__())
        assert message == f"{path}: another run has held the lock for 0 s; end it, then apply this run"
        monkeypatch.setattr(disk, "LOCK_SECONDS", 600.0)
        assert problem(lambda: locked(path, "it is in use").__enter__()) == "it is in use"
        rest, _ = process.communicate("")
        assert rest == "freed\n"
        with locked(path):
            pass


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "LOCK_SECONDS", 0.0)
    path = tmp_path / ".lock"
    with holder(path) as process:
        process.kill()
        process.wait()
        with locked(path):
            assert path.exists()


def test_the_lock_is_free_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "LOCK_SECONDS", 0.0)
    path = tmp_path / ".lock"
    with pytest.raises(ZeroDivisionError), locked(path):
        raise ZeroDivisionError
    with holder(path) as process:
        process.communicate("")


def refusing(code: int) -> Callable[..., None]:
    """Return what the operating system does in the place of `flock`: it refuses, with a code."""

    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    return refuse


def test_a_file_is_the_lock_where_the_file_system_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "_flock", refusing(errno.ENOSYS))
    monkeypatch.setattr(disk, "LOCK_SECONDS", 0.0)
    path = tmp_path / ".lock"
    for _ in range(2):
        with locked(path):
            assert problem(lambda: locked(path, "it is in use").__enter__()) == "it is in use"
    assert [found.name for found in tmp_path.iterdir()] == [".lock"]


def test_a_lock_that_the_system_refuses_is_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "_flock", refusing(errno.ENOLCK))
    with pytest.raises(OSError, match="No locks available"), locked(tmp_path / ".lock"):
        pass


COUNTER = """
import pathlib, sys
from pytest_recall.files.disk import LinkError, create_text, locked, make_ignored, read_text, write_text
from pytest_recall.files.json_lines import Appended
folder = pathlib.Path(sys.argv[1])
for _ in range(20):
    with locked(folder / ".lock"):
        write_text(folder / "count", str(int(read_text(folder / "count")) + 1))
"""


def test_writers_that_hold_the_lock_lose_nothing(tmp_path: Path) -> None:
    write_text(tmp_path / "count", "0")
    command = [sys.executable, "-c", COUNTER, str(tmp_path)]
    for process in [subprocess.Popen(command) for _ in range(3)]:
        assert process.wait() == 0
    assert read_text(tmp_path / "count") == "60"
