"""The summary of a job: appended to, and never longer than GitHub shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.runs.job import SUMMARY_LIMIT, append_summary


def test_what_others_wrote_stays(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_text("before\n", encoding="utf-8")
    append_summary(path, "# One pound: £1")
    append_summary(path, "# Two")
    assert path.read_text(encoding="utf-8") == "before\n# One pound: £1\n# Two\n"


@pytest.mark.parametrize("there", [0, 1000, SUMMARY_LIMIT - 200, SUMMARY_LIMIT - 3, SUMMARY_LIMIT + 5])
def test_it_is_cut_where_there_is_no_room(tmp_path: Path, there: int) -> None:
    path = tmp_path / "summary.md"
    path.write_bytes(b"x" * there)
    append_summary(path, "<details>\n\n" + "| ü | a row |\n" * 200_000)
    assert path.stat().st_size <= max(SUMMARY_LIMIT, there)
    text = path.read_bytes()[there:].decode("utf-8")
    if there < SUMMARY_LIMIT - 200:
        assert text.endswith("\n</details>\n\n… cut off: the whole of it is in `scorecard.md` of the run.\n")
