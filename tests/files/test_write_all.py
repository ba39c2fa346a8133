"""Several files are replaced together, or none is."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.files.disk import LinkError, write_all


def test_all_are_replaced_made_and_deleted(tmp_path: Path) -> None:
    one, other, new = tmp_path / "one", tmp_path / "other", tmp_path / "below" / "new"
    one.write_bytes(b"1")
    other.write_bytes(b"2")
    write_all({one: b"one", new: b"new", other: None, tmp_path / "gone": None})
    assert {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == {
        "one": b"one",
        "new": b"new",
    }


@pytest.mark.parametrize("place", range(4))
def test_what_cannot_be_written_leaves_the_others_as_they_were(tmp_path: Path, place: int) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("one", "other"):
        (folder / name).write_bytes(name.encode())
    (tmp_path / "outside").write_bytes(b"outside")
    (folder / "link").symlink_to(tmp_path / "outside")
    contents: list[tuple[Path, bytes | None]] = [
        (folder / "one", b"1"),
        (folder / "new", b"2"),
        (folder / "other", None),
    ]
    contents.insert(place, (folder / "link", b"3"))
    with pytest.raises(LinkError, match="out of its folder"):
        write_all(dict(contents))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "one": b"one",
        "other": b"other",
        "link": b"outside",
    }
