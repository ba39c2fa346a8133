"""The disk of the machine, while a test has another file system."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyfakefs.fake_filesystem_unittest import Patcher

from pytest_recall.files import disk
from pytest_recall.files.errors import RecallError
from pytest_recall.files.json_lines import Appended, appended, read_appended


def test_what_is_written_while_files_are_faked_is_on_the_disk(tmp_path: Path) -> None:
    written, new, lines = tmp_path / "a" / "b" / "c" / "written", tmp_path / "new", tmp_path / "lines"
    with Patcher(use_cache=False):
        assert not Path("/").joinpath(tmp_path.name).exists()
        disk.write_bytes(written, b"one", durable=True)
        disk.create_text(new, "two")
        disk.make_ignored(tmp_path / "ignored")
        with Appended(lines) as file:
            file.append({"three": 3})
        assert disk.read_text(written) == "one"
        assert disk.read_bytes(written, 3) == b"one"
        assert disk.exists(new)
        assert disk.names_in(tmp_path) == ["a", "ignored", "lines", "new"]
        assert [value for _, value in appended(lines)] == read_appended(lines) == [{"three": 3}]
        disk.remove(new)
        Path("/made").write_text("by the test", encoding="utf-8")
    assert not Path("/made").exists()
    assert written.read_text(encoding="utf-8") == "one"
    assert not new.exists()
    assert (tmp_path / "ignored" / ".gitignore").is_file()
    assert list(written.parent.iterdir()) == [written]


def test_links_and_locks_are_those_of_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "LOCK_SECONDS", 0.0)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out")
    with Patcher(use_cache=False):
        with pytest.raises(disk.LinkError):
            disk.check_link(tmp_path / "in" / "link")
        with (
            disk.locked(tmp_path / ".lock"),
            pytest.raises(RecallError, match="another run has held the lock"),
            disk.locked(tmp_path / ".lock"),
        ):
            pass
    with disk.locked(tmp_path / ".lock", "busy"):
        pass
    assert (tmp_path / ".lock").is_file()
