"""What a model is told about a session: what belongs to it, in calendar dates, and nothing of others."""

from __future__ import annotations

import re
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_recall.horizon.day import SessionHistory, briefs, plan_day
from pytest_recall.horizon.passes.prompts import prompts
from pytest_recall.horizon.persona import Calendar, Story
from tests.helpers.stories import EPOCH, persona, stories, story

CALENDAR = Calendar(EPOCH)


def asked(day: int, told: Story | None = None, history: SessionHistory | None = None) -> dict[str, str]:
    """Return all that is told about each session of a day."""
    told = told or story()
    plan = plan_day(told, persona(), CALENDAR, day)
    found = briefs(persona(), CALENDAR, plan, history or SessionHistory(3))
    return {one.session.id: "\n".join(prompts(persona(), one)) for one in found}


def test_a_session_is_told_who_writes_when_and_what_happens() -> None:
    told = asked(3)["principal"]
    for words in (
        "You are Finch, AI assistant to the head of a museum at Clock Museum.",
        "You work for Ada Brook, Head of the museum.",
        "- Ben Carver: Curator",
        "- The museum is closed on Mondays",
        "You write about the session `principal`, a conversation of two.",
        "Today is Wednesday, 2026-01-07.",
        "Ben Carver counts the clocks. It takes long.",
        "This happened today and has to be in the entry: Ben Carver counted 212 clocks",
        "this is the first",
    ):
        assert words in told


def test_nothing_of_a_confidential_session_but_a_title_is_told_elsewhere() -> None:
    for day in range(1, 13):
        for session, told in asked(day).items():
            assert ("$9" in told) == (session == "deal")
            for words in ("Cleo Dane", "astrolabe", "`deal`", "- deal"):
                assert session == "deal" or words not in told
    told = asked(4)["principal"]
    assert "Project Heron (it is under way)\nIt is confidential" in told.replace("it has only begun", "it is under way")


def test_the_right_belief_is_not_told_before_its_day() -> None:
    for day in range(2, 13):
        for session, told in asked(day).items():
            assert day >= 6 or "9:30" not in told, (day, session)
    assert "You hold this to be true, and have no reason to doubt it: The museum opens at 10:00" in asked(5)["team"]
    on_the_day = asked(6)["team"]
    assert "Until now you held: The museum opens at 10:00\nWhat is right: The museum opens at 9:30" in on_the_day
    assert "You know by now, and go by it: The museum opens at 9:30" in asked(7)["team"]


def test_earlier_entries_are_told_with_their_dates() -> None:
    history = SessionHistory(3)
    history.take(date(2026, 1, 6), "# session: principal\n\n### A\n\nI was there.\n\n# session: team\n\nOthers.\n")
    told = asked(3, history=history)["principal"]
    assert "[2026-01-06]\n### A\n\nI was there." in told
    assert "Others." not in told


@settings(deadline=None, database=None)
@given(stories(), st.integers(1, 45))
def test_whatever_the_story_days_are_dates_and_never_numbers(told: Story, day: int) -> None:
    for text in asked(day, told).values():
        assert CALENDAR.date_of(day).isoformat() in text
        assert re.search(r"\bday \d", text, re.IGNORECASE) is None


@pytest.mark.parametrize(("day", "words"), [(6, "A quiet day"), (12, "A busy day"), (8, "250 to 450 words")])
def test_the_length_goes_by_how_much_happens(day: int, words: str) -> None:
    assert words in asked(day)["principal"]
