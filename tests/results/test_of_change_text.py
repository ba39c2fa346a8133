"""What is shown below the verdict on a change: what it does to its own measure, and what is not kept of it."""

from __future__ import annotations

import json

from pytest_recall.results.of_change_text import of_change_section
from pytest_recall.results.scorecard import Scorecard
from pytest_recall.results.scorecard_markdown import markdown
from pytest_recall.results.sentences import first_line
from pytest_recall.trials.record import Record
from tests.helpers.samples import PASSED, row
from tests.results.runs import graded, run

ALTERED = tuple((f"case-{number:02}", f"case-{number:02}", ("expected",)) for number in range(30))


def changed() -> tuple[Record, Scorecard]:
    """Return a run of a change that alters its rubric and its cases, and of which a case was not recorded."""
    trials = [graded("late-fee", PASSED, "affected", row(2, 2), unrecorded="secret")]
    return run(trials, exit_code=0, knows_change=True, held_settings=("blocks", "budget"), altered=ALTERED)


def test_nothing_is_shown_of_a_change_that_alters_nothing() -> None:
    record, card = run([graded("late-fee", PASSED, "affected", row(2, 2))], knows_change=True)
    assert not of_change_section(record.header, card).is_shown


def test_all_of_it_is_shown() -> None:
    record, card = changed()
    section = of_change_section(record.header, card)
    assert list(section.lines) == [
        "this change alters `blocks`, `budget` in the rubric; until it is merged, what its base has applies"
    ]
    altered, unrecorded = section.tables
    assert altered.rows == [(f"case-{number:02}", "expected answer altered") for number in range(20)]
    assert unrecorded.rows == [("late-fee", "a call holds what looks like a key")]
    assert list(section.notes) == ["and 10 more in scorecard.json"]


def test_it_stands_below_the_verdict_and_is_not_folded() -> None:
    record, card = changed()
    above = markdown(record, card).partition("<details>")[0]
    for shown in ("blocks", "budget", "case-00", "case-19", "late-fee"):
        assert shown in above
    assert "case-20" not in above


def test_the_first_line_says_how_many_cases_are_altered() -> None:
    record, card = changed()
    assert "30 cases" in first_line(record.header, card)


def test_json_has_all_of_them() -> None:
    record, card = changed()
    found = json.loads(json.dumps(of_change_section(record.header, card).facts))
    assert found["held_settings"] == ["blocks", "budget"]
    assert [one["id"] for one in found["altered"]] == [case_id for case_id, *_ in ALTERED]
    assert found["unrecorded"] == [{"id": "late-fee", "cause": "secret"}]


def test_each_case_is_told_with_all_that_became_of_it() -> None:
    record, card = run(
        [graded("late-fee", PASSED, "affected", row(2, 2))],
        altered=(
            ("a", "", ()),
            ("b", "c", ("skipped",)),
            ("d", "d", ("input", "expected")),
            ("e", "e", ("judges", "skipped")),
            ("f", "f", ()),
        ),
        judge_code=(("c", "own", "conftest.py"), ("f", "own", "conftest.py"), ("f", "other", "judges.py")),
    )
    assert {one["id"]: one["how"] for one in of_change_section(record.header, card).facts["altered"]} == {
        "a": "missing",
        "b": "renamed to c, code of judge own altered in conftest.py, skipped",
        "d": "input and expected answer altered",
        "e": "judges altered, skipped",
        "f": "code of judge own altered in conftest.py and code of judge other altered in judges.py",
    }
