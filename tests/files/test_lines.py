"""Objects on lines, appended by processes that may be killed at any byte."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.json_lines import Appended, appended, read_appended
from tests.helpers.samples import POINTER, unhurried
from tests.schedule.state_samples import problem


def test_what_was_cut_off_takes_no_other_line_with_it(tmp_path: Path) -> None:
    path = tmp_path / "more" / "lines.ndjson"
    with Appended(path) as file:
        file.append({"n": 1})
    with path.open("ab") as torn:
        torn.write(b'{"n": 2, "text": "ab')
    with Appended(path) as file:
        file.append({"n": 3})
    assert read_appended(path) == [{"n": 1}, {"n": 3}]
    assert list(appended(path)) == [(1, {"n": 1}), (3, {"n": 3})]


def test_a_file_that_is_not_there_has_no_lines(tmp_path: Path) -> None:
    assert read_appended(tmp_path / "none") == []
    assert list(appended(tmp_path / "none")) == []


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    message = f"{tmp_path}: cannot be read (Is a directory); check that it is readable"
    assert problem(lambda: list(appended(tmp_path))) == message


def test_a_pointer_of_git_lfs_is_no_line_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(POINTER)
    assert "git lfs pull" in problem(lambda: list(appended(path)))


@given(st.integers(0, 60))
@unhurried
def test_a_file_cut_off_at_any_byte_keeps_its_whole_lines(cut: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lines"
        with Appended(path) as file:
            for number in range(5):
                file.append({"n": number})
        data = path.read_bytes()[:cut]
        path.write_bytes(data)
        with Appended(path) as file:
            file.append({"n": 9})
        whole = [{"n": number} for number in range(5) if len(data) >= 9 * (number + 1) - 1]
        assert read_appended(path) == [*whole, {"n": 9}]
