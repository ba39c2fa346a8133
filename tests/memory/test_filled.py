"""The file that says what a memory was told by a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.memory.filled import FILLED, FilledMark


@pytest.mark.parametrize("owner", ["", "sqlite-fts:a.db"])
def test_it_is_there_from_the_beginning_to_the_end(tmp_path: Path, owner: str) -> None:
    mark = FilledMark(tmp_path / FILLED, owner)
    with mark.telling("early"):
        assert not mark.is_there
    mark.begin()
    with mark.telling("7"):
        assert FilledMark(tmp_path / FILLED, owner).is_there
        assert mark.lines[-1] == "telling 7"
    assert mark.lines[-1] == "told 7"
    mark.end()
    assert not mark.is_there


def test_what_is_told_in_part_is_not_said_to_be_told(tmp_path: Path) -> None:
    mark = FilledMark(tmp_path / FILLED)
    mark.begin()
    with pytest.raises(ValueError), mark.telling("7"):
        raise ValueError
    assert mark.lines == ["telling 7"]


def test_that_of_one_memory_says_nothing_of_another(tmp_path: Path) -> None:
    FilledMark(tmp_path / FILLED, "http://a").begin()
    assert FilledMark(tmp_path / FILLED, "http://a").is_there
    assert not FilledMark(tmp_path / FILLED, "http://b").is_there


def test_parts_with_stores_of_their_own_are_those_that_were_told_something(tmp_path: Path) -> None:
    mark = FilledMark(tmp_path / FILLED, "http://a")
    for part in (1, 3, 12):
        mark.of(part).begin()
    mark.of(3).end()
    FilledMark(tmp_path / FILLED, "http://b").of(4).begin()
    (tmp_path / f"{FILLED}-old").write_text("of http://a\n")
    assert mark.parts == {1, 12}
    assert not mark.is_there
