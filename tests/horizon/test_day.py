"""What a day of a story asks for: sessions, echoes and corrections, of the museum and of any story."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_recall.horizon.day import active_sessions, correction, echoes, phase, plan_day
from pytest_recall.horizon.persona import Arc, Calendar, Story
from tests.helpers.stories import EPOCH, arc, persona, stories, story

CALENDAR = Calendar(EPOCH)
DAYS = st.integers(1, 45)


@settings(deadline=None, database=None)
@given(stories(), DAYS)
def test_whatever_the_story_a_plan_holds_each_session_once_and_the_principals_first(told: Story, day: int) -> None:
    sessions = [one.session for one in plan_day(told, persona(), CALENDAR, day).sittings]
    assert len(set(sessions)) == len(sessions)
    assert "principal" not in sessions[1:]
    assert sessions == [one for one in active_sessions(told, persona(), day) if one in sessions]


@settings(deadline=None, database=None)
@given(stories(), DAYS)
def test_whatever_the_story_only_arcs_that_run_are_told_and_each_unfolds_in_its_own_session(
    told: Story, day: int
) -> None:
    for sitting in plan_day(told, persona(), CALENDAR, day).sittings:
        assert sitting.primary or sitting.echoes
        for one in sitting.primary:
            assert one.is_active(day)
            assert one.primary_session == sitting.session
        for one in sitting.echoes:
            assert one.is_active(day)
            assert echoes(one, day)
            assert sitting.session in one.referenced_sessions
            assert one.primary_session != sitting.session


@settings(deadline=None, database=None)
@given(stories(), DAYS)
def test_whatever_the_story_an_arc_that_runs_is_told_unless_its_session_is_closed(told: Story, day: int) -> None:
    plan = {one.session: one for one in plan_day(told, persona(), CALENDAR, day).sittings}
    for one in told.active(day):
        if one.primary_session is None:
            continue
        first, last = told.bounds(persona(), one.primary_session)
        is_open = (first is None or first <= day) and (last is None or day <= last)
        assert (one.primary_session in plan and one in plan[one.primary_session].primary) == is_open


@settings(deadline=None, database=None)
@given(DAYS, DAYS)
def test_a_corrected_belief_is_held_from_its_day_on(corrected: int, day: int) -> None:
    beliefs = {"wrongBelief": "it is open", "correctedBelief": "it is closed"}
    given = arc("a", type="correction", endDay=45, wrongDay=1, correctedDay=corrected, **beliefs)
    stand = correction(Arc.model_validate(given), day)
    assert stand is not None
    expected = "wrong_belief" if day < corrected else "post_correction" if day > corrected else "correction_day"
    assert stand.state == expected


@pytest.mark.parametrize(
    ("day", "sessions"),
    [
        (1, ["principal", "team"]),
        (2, ["principal", "team"]),
        (3, ["principal", "team"]),
        (4, ["principal", "team", "deal"]),
        (7, ["principal", "team", "deal"]),
        (11, ["principal"]),
        (12, ["principal", "team"]),
        (13, []),
    ],
)
def test_the_sessions_of_a_day_are_those_with_arcs_and_those_that_arcs_touch(day: int, sessions: list[str]) -> None:
    assert [one.session for one in plan_day(story(), persona(), CALENDAR, day).sittings] == sessions


def test_phases_are_cut_at_fifteen_seventy_five_and_ninety_percent() -> None:
    long = story(arc("long", startDay=1, endDay=100)).arcs[0]
    assert [phase(long, day) for day in (14, 15, 75, 76, 90, 91)] == [
        *("early", "mid", "mid", "late", "late", "concluding")
    ]


def test_a_long_arc_is_touched_on_every_two_weeks_from_its_fifteenth_day_on() -> None:
    long = story(arc("long", startDay=2, endDay=50, primarySession="deal", referencedSessions=["team"])).arcs[0]
    assert [day for day in range(2, 51) if echoes(long, day)] == [2, 16, 30, 44, 50]
