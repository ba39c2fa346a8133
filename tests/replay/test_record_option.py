"""What `--record` and `--replay` ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.replay.record_option import RecordOption, check_record_option, record_option


@pytest.mark.parametrize(
    ("record", "replay", "option"),
    [
        (None, None, RecordOption("off")),
        ("", None, RecordOption("record")),
        ("tapes", None, RecordOption("record", "tapes")),
        ("missing", None, RecordOption("missing")),
        ("missing:tapes", None, RecordOption("missing", "tapes")),
        ("missing-calls", None, RecordOption("record", "missing-calls")),
        (None, "", RecordOption("replay")),
        (None, "tapes", RecordOption("replay", "tapes")),
    ],
)
def test_what_they_ask_for(record: str | None, replay: str | None, option: RecordOption) -> None:
    assert record_option(record, replay) == option


@pytest.mark.parametrize("record", ["Missing", "MISSING:tapes", "mising", "misssing:x"])
def test_a_misspelt_missing_is_refused(tmp_path: Path, record: str) -> None:
    with pytest.raises(RecallError):
        check_record_option(record, tmp_path)


def test_a_folder_that_is_there_may_have_any_name(tmp_path: Path) -> None:
    (tmp_path / "mising").mkdir()
    check_record_option("mising", tmp_path)
