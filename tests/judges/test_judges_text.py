"""What models judged, as lines, as Markdown and as JSON."""

from __future__ import annotations

import json

from pytest_recall.judges.calibration import Calibration, JudgeKey, Opinion, Panels, Reviews, agreement
from pytest_recall.judges.judges_text import (
    MAX_SHOWN,
    calibration_markdown,
    panels_section,
    terminal,
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
    found = list(terminal([agreement(RUBRIC, opinions)], Spend()))
    assert "  scores are 0.75 apart in the mean" in found
    assert found[-2] == "    and 2 more, which --json lists"
    assert sum(line.endswith(": Since.") for line in found) == MAX_SHOWN


def test_every_form_says_what_was_called_or_that_nothing_was() -> None:
    for what in (LetThrough(), LetThrough({"db": 1})):
        assert calibration_markdown([], Spend(), let_through=what).splitlines()[-1:] == [
            *terminal([], Spend(), let_through=what)
        ]
