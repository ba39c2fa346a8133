"""Days and sessions that are missing, and those that no one planned."""

from __future__ import annotations

from pytest_recall.horizon.consistency import day_findings, days_findings
from pytest_recall.horizon.day import day_text, parts_of, plan_day
from pytest_recall.horizon.leaks import Finding
from pytest_recall.horizon.persona import Calendar
from tests.helpers.stories import EPOCH, persona, story


def of_text(day: int, raw: str, **given: object) -> list[Finding]:
    """Return what is wrong with a text of the museum's day."""
    told = story(**given)
    plan = plan_day(told, persona(), Calendar(EPOCH), day)
    return list(day_findings(persona(), told, plan, raw, parts_of(day, raw)))


def rules(found: list[Finding]) -> list[tuple[str, str, int]]:
    """Return what was found, and on which lines."""
    return [(one.severity, one.rule, one.line) for one in found]


def test_days_that_are_missing_are_told_in_runs() -> None:
    found = list(days_findings([1, 2, 3, 4, 6, 7, 8, 9, 10], {1, 3, 8, 12}))
    assert [(one.severity, one.rule, one.message.partition(" not ")[0]) for one in found] == [
        ("error", "missing-day", "day 2 is"),
        ("error", "missing-day", "day 4 is"),
        ("error", "missing-day", "days 6 to 7 are"),
        ("error", "missing-day", "days 9 to 10 are"),
        ("warning", "extra-day", "day-0012.md is of a day on which no arc runs; remove it, or give the day an arc"),
    ]


def test_a_story_that_is_not_written_to_its_end_is_no_error() -> None:
    (found,) = days_findings([1, 2, 3, 4], {1, 2})
    assert (found.severity, found.rule) == ("warning", "unfinished")
    assert found.message.startswith("days 3 to 4 are not written yet")


def test_a_day_as_planned_is_right() -> None:
    assert of_text(1, day_text({"principal": "### A", "team": "### B"})) == []


def test_a_session_without_an_entry_is_an_error() -> None:
    assert rules(of_text(1, day_text({"principal": "### A"}))) == [("error", "missing-session", 1)]


def test_an_entry_that_nobody_planned_has_its_line() -> None:
    text = day_text({"principal": "### A", "team": "### B", "deal": "### C", "hall": "### D"})
    assert rules(of_text(1, text)) == [("warning", "unplanned", 13), ("error", "undeclared", 17)]


def test_an_entry_of_a_closed_session_is_an_error() -> None:
    text = day_text({"principal": "### A", "team": "### B", "deal": "### C"})
    found = of_text(4, text, sessions=[{"id": "deal", "firstDay": 5, "lastDay": 7}])
    assert rules(found) == [("error", "closed", 13)]
    assert "is open from day 5 to 7" in found[0].message


def test_text_in_front_twice_and_empty_entries_are_found() -> None:
    raw = "Hello\n# session: principal\n\n# session: team\nB\n# session: team\nC\n"
    assert rules(of_text(1, raw)) == [
        ("warning", "front", 1),
        ("warning", "preamble", 1),
        ("error", "empty", 2),
        ("error", "duplicate", 6),
    ]


def test_a_text_without_a_heading_has_no_session() -> None:
    assert [one.rule for one in of_text(1, "Hello\n")] == ["front", "preamble", "missing-session", "missing-session"]
