"""Tables of verdicts: read line by line, with a sentence for each that is wrong."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.files.validation import MAX_PROBLEMS
from pytest_recall.schedule.backtest import read_verdicts
from pytest_recall.schedule.history import VerdictLine
from pytest_recall.trials.trial import Outcome


def test_lines_are_read_and_blank_ones_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    path.write_text(
        '{"date": "2026-11-21", "case_id": "hours", "outcome": "passed", "pr": 7}\n'
        "\n"
        '{"date": "2026-11-21", "case_id": "hours", "outcome": "failed"}\n'
    )
    day = date(2026, 11, 21)
    assert read_verdicts(path, "table.jsonl") == [
        VerdictLine(date=day, case_id="hours", outcome=Outcome.PASSED, pr="7"),
        VerdictLine(date=day, case_id="hours", outcome=Outcome.FAILED),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nothing", "t:1: not JSON"),
        ("[1]", "t:1: is not an object; write one per line, in braces"),
        ('{"date": "2026-11-21", "outcome": "passed"}', "t:1: case_id: is missing; add it"),
        ('{"date": "2026-11-41", "case_id": "a", "outcome": "passed"}', "t:1: date: "),
        ('{"date": 20261121, "case_id": "a", "outcome": "passed"}', "t:1: date: write a date like 2026-01-31"),
        ('{"date": "2026-11-21", "case_id": "a", "outcome": "pased"}', "t:1: outcome: "),
        (
            '{"date": "2026-11-21", "case": "a", "outcome": "passed"}',
            "t:1: case: unknown field; did you mean `case_id`?",
        ),
    ],
)
def test_a_line_that_is_wrong_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "t"
    path.write_text(f"{line}\n")
    with pytest.raises(RecallError) as raised:
        read_verdicts(path, "t")
    assert any(message.startswith(said) for message in raised.value.messages), raised.value.messages


def test_no_more_than_some_lines_are_named(tmp_path: Path) -> None:
    (tmp_path / "t").write_text('{"date": "2026-11-21", "outcome": "passed"}\n' * 100)
    with pytest.raises(RecallError) as raised:
        read_verdicts(tmp_path / "t", "t")
    assert len(raised.value.messages) == MAX_PROBLEMS


def test_a_table_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RecallError, match="t: cannot be read"):
        read_verdicts(tmp_path / "t", "t")
