"""What may be known in a session on a day, and what is kept out of it."""

from __future__ import annotations

from datetime import date

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_recall.horizon.day import Brief, SessionHistory, briefs, people_known, plan_day, sessions_known
from pytest_recall.horizon.persona import Calendar, Persona, Story
from tests.helpers.stories import EPOCH, arc, persona, stories, story

CALENDAR = Calendar(EPOCH)


def of_day(
    day: int, told: Story | None = None, history: SessionHistory | None = None, who: Persona | None = None
) -> dict[str, Brief]:
    """Return the briefs of a day by their sessions."""
    told, who = told or story(), who or persona()
    plan = plan_day(told, who, CALENDAR, day)
    return {one.session.id: one for one in briefs(who, CALENDAR, plan, history or SessionHistory(3))}


def test_a_session_is_told_its_date_its_arcs_and_what_has_to_happen() -> None:
    one = of_day(3)["principal"]
    assert (one.date, one.weekday, one.density) == (date(2026, 1, 7), "Wednesday", "busy")
    assert [(strand.arc.id, strand.phase, strand.directives) for strand in one.strands] == [
        ("inventory", "mid", ("Ben Carver counted 212 clocks",))
    ]


def test_an_arc_of_another_session_lends_a_sentence_and_what_happens() -> None:
    (touch,) = of_day(3)["team"].touches
    assert (touch.title, touch.about, touch.confidential) == ("Inventory", "Ben Carver counts the clocks.", False)
    assert touch.directives == ("Ben Carver counted 212 clocks",)


def test_a_confidential_arc_lends_its_title_and_nothing_else() -> None:
    touch = next(one for one in of_day(5)["principal"].touches if one.title == "Project Heron")
    assert touch.confidential
    assert (touch.about, touch.directives, touch.correction) == ("", (), None)
    assert "$90,000" not in str(of_day(5)["principal"])
    assert "$95,000" not in str(of_day(5)["principal"])


def test_while_a_belief_is_wrong_nothing_tells_the_right_one() -> None:
    for day in range(2, 6):
        one = of_day(day)["team"]
        (strand,) = one.strands
        assert strand.description == ""
        assert strand.correction is not None
        assert strand.correction.state == "wrong_belief"
        assert strand.correction.arc.wrong_belief == "The museum opens at 10:00"
    (touch,) = [one for one in of_day(2)["principal"].touches if one.title == "Opening hours"]
    assert touch.about == ""
    assert of_day(6)["team"].strands[0].description.startswith("The sign at the door")


def test_a_session_has_its_own_last_entries_and_no_others() -> None:
    history = SessionHistory(2)
    for day in (1, 2, 3):
        history.take(date(2026, 1, day), f"# session: principal\n\nA{day}\n\n# session: team\n\nB{day}\n")
    found = of_day(4, history=history)
    assert [past.text for past in found["principal"].history] == ["A2", "A3"]
    assert [past.text for past in found["team"].history] == ["B2", "B3"]
    assert found["deal"].history == ()


def test_without_a_window_nothing_is_remembered() -> None:
    history = SessionHistory(0)
    history.take(EPOCH, "# session: principal\n\nA\n")
    assert history.of("principal") == ()


def test_those_who_are_in_confidential_sessions_alone_are_known_there_alone() -> None:
    assert [one.name for one in people_known(persona(), "principal")] == ["Ben Carver"]
    assert [one.name for one in people_known(persona(), "deal")] == ["Ben Carver", "Cleo Dane"]
    assert [one.id for one in sessions_known(persona(), "principal")] == ["team"]


def test_a_session_that_nobody_declared_can_be_told() -> None:
    told = story(arc("hall", primarySession="hall"))
    assert of_day(1, told)["hall"].session.kind == "group"
    alone = persona(sessions=[])
    assert of_day(1, story(arc("x", primarySession="principal")), who=alone)["principal"].session.participants == (
        "Ada Brook",
    )


@settings(deadline=None, database=None)
@given(stories(), st.integers(1, 45))
def test_whatever_the_story_no_brief_holds_a_confidential_arc_of_another_session(told: Story, day: int) -> None:
    for session, one in of_day(day, told).items():
        home = {strand.arc.primary_session for strand in one.strands}
        assert home <= {session}
        for touch in one.touches:
            if touch.confidential:
                assert (touch.about, touch.directives, touch.correction) == ("", (), None)
