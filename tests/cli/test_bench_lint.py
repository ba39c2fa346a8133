"""`recall bench lint`: findings by line, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_recall.horizon.lint import CODES
from tests.cli.conftest import Recall
from tests.cli.samples import recall
from tests.horizon import tenday
from tests.horizon.tenday import question

COMMAND = ("bench", "lint", "persona", "--arcs", tenday.ARCS)


@pytest.fixture(name="persona")
def _persona(tmp_path: Path) -> Path:
    return tenday.write(tmp_path / "persona")


def test_findings_have_their_line_and_errors_an_exit_code(persona: Path) -> None:
    """By the installed command."""
    tenday.write_questions(persona, question(1), question(2, answer="It was $38."))
    done = recall(persona.parent, *COMMAND)
    assert done == (
        1,
        "persona/qa-10d/questions.yaml:2: error value-missing: workshop-q002: no relevant day has $38; correct it, or"
        " the days\n2 questions: 1 error, 0 warnings (value-missing 1)\n",
        "",
    )


def test_warnings_alone_are_no_failure(persona: Path, inside: Recall) -> None:
    tenday.write_questions(persona, question(1, answer="Nonsense."))
    done = inside(persona.parent, *COMMAND)
    assert done.code == 0
    assert done.out.endswith("1 question: 0 errors, 1 warning (no-overlap 1)\n")


def test_json(persona: Path, inside: Recall) -> None:
    tenday.write_questions(persona, question(1, relevant_days=[3, 11]))
    done = inside(persona.parent, *COMMAND, "--json")
    plain = json.loads(done.out)
    assert (done.code, plain["questions"], plain["errors"], plain["warnings"]) == (1, 1, 1, 0)
    assert plain["findings"] == [
        {
            "line": 1,
            "id": "workshop-q001",
            "severity": "error",
            "code": "missing-day",
            "field": "relevant_days",
            "message": "there is no file of day 11; name days that there are",
        }
    ]


def test_dates_are_those_of_the_map_that_is_given(persona: Path, inside: Recall) -> None:
    """Day 8 is the Monday after the clocks changed; by the published way to count it has the date of day 7."""
    tenday.write_questions(persona, question(1, question="Who asked Ada on 2026-03-09?", answer="The paper."))
    path = persona / "qa-10d" / "questions.yaml"
    path.write_text(path.read_text().replace("[3]", "[8]"))
    assert inside(persona.parent, *COMMAND).code == 0
    assert "date-pin" not in inside(persona.parent, *COMMAND).out
    assert "date-pin" in inside(persona.parent, *COMMAND, "--dates", "legacy-dst").out


def test_every_code_is_documented() -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "long-horizon-write.md"
    part = page.read_text().partition("## Look for mistakes\n")[2].partition("\n## ")[0]
    told = [line.split(" | ")[:2] for line in part.splitlines() if line.startswith("| `")]
    assert [(code.strip("| `"), severity) for code, severity in told] == [(code, CODES[code][0]) for code in CODES]
