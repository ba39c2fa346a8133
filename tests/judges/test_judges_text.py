"""What models judged, as lines, as Markdown and as JSON."""

from __future__ import annotations

import json

import pytest

from pytest_recall.judges.calibration import Calibration, JudgeKey, Opinion, Panels, Reviews, agreement
from pytest_recall.judges.judges_text import (
    MAX_SHOWN,
    calibration_report,
    panels_section,
)
from pytest_recall.trials.cost import Spend
from pytest_recall.trials.record import LetThrough
from pytest_recall.trials.trial import Preflight

RUBRIC, MEMORY = JudgeKey("rubric", "openai:m", "1a2b3c4d"), JudgeKey("memory", "n|n", "00000000")
ALL = Panels(
    verdicts={MEMORY: 1, RUBRIC: 3},
    calibrations={RUBRIC: Calibration(0.812, 120)},
    appeals=Reviews(3, 1, 0),
    audits=Reviews(2, 1, 1),
    retried=2,
    split=1,
    compared=10,
    flips=4,
    preflights={("memory", "n|n"): Preflight(4, 2, 1), ("rubric", "openai:m"): Preflight(6, 1, 1)},
)
HAPPENED = [
    "preflight: 7 of 10 known answers judged right",
    "memory, n|n: 2 of them wrong, and 1 may be: trust its verdicts little",
    "appeals: 3 asked, 1 overturned",
    "audited passes: 2 asked, 1 overturned, 1 came to nothing; an overturned one was a false pass",
    "votes differed on 1 verdict",
    "4 of 10 comparisons followed the position",
    "replies that could not be used, so that another was asked for: 2",
]


def test_panels() -> None:
    section = panels_section(ALL)
    (table,) = section.tables
    assert section.lines == ["judged by models: 4 verdicts, 1 of them (25.0 %) by judges that are not calibrated"]
    assert table.rows == [
        ("memory", "n|n", "00000000", "not calibrated", "1"),
        ("rubric", "openai:m", "1a2b3c4d", "kappa 0.81 over 120 answers", "3"),
    ]
    assert section.notes == HAPPENED


def test_what_did_not_happen_is_not_mentioned() -> None:
    section = panels_section(Panels(verdicts={RUBRIC: 1}, calibrations={RUBRIC: Calibration(1.0, 1)}))
    assert section.lines == ["judged by models: 1 verdict, all of them by judges that are calibrated"]
    assert section.notes == []


def test_json() -> None:
    found = panels_section(ALL).facts
    assert json.loads(json.dumps(found)) == found
    assert found["uncalibrated_share"] == 0.25
    assert found["judges"][1] == {
        **RUBRIC._asdict(),
        "verdicts": 3,
        "calibration": {"kappa": 0.812, "n": 120, "low": None},
    }
    assert found["appeals"] == {"asked": 3, "overturned": 1, "unheard": 0}
    assert found["preflights"][0] == {"judge": "memory", "model": "n|n", "asked": 4, "wrong": 2, "allowed": 1}


def test_of_many_mistakes_the_first_are_named() -> None:
    opinions = [Opinion(f"a{n:02}", False, True, "Since.", 1.0, 0.25) for n in range(MAX_SHOWN + 2)]
    first, mistakes, _ = calibration_report([agreement(RUBRIC, opinions)], Spend()).sections
    assert first.notes == ["rubric, openai:m, version 1a2b3c4d: scores are 0.75 apart in the mean"]
    (table,) = mistakes.tables
    assert (len(table.rows), table.rows[0]) == (MAX_SHOWN, ("a00", "Since."))
    assert mistakes.notes == ["false passes: 2 more, which --json lists"]


@pytest.mark.parametrize("what", [LetThrough(), LetThrough({"db": 1})])
def test_it_is_said_what_was_called_or_that_nothing_was(what: LetThrough) -> None:
    *_, last = calibration_report([], Spend(), let_through=what).sections
    assert len(last.lines) == 1
