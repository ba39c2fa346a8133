"""What is confidential and told elsewhere, and beliefs that come too early."""

from __future__ import annotations

import pytest

from pytest_recall.horizon.day import SessionPart, parts_of
from pytest_recall.horizon.leaks import Finding, belief_findings, leak_findings, names_of, secrets
from pytest_recall.horizon.persona import Arc
from tests.helpers.stories import PERSONA, arc, persona, story


def parts(*days: dict[str, str]) -> list[SessionPart]:
    """Return the parts of days, each with what is said in its sessions."""
    return [
        part
        for day, told in enumerate(days, start=1)
        for part in parts_of(day, "".join(f"# session: {id}\n{text}\n" for id, text in told.items()))
    ]


def leaks(*days: dict[str, str]) -> list[Finding]:
    """Return what leaks in these days of the museum."""
    return list(leak_findings(secrets(persona(), story()), parts(*days)))


def test_the_secrets_are_sensitive_topics_and_what_the_arcs_are_called() -> None:
    assert [(one.term, sorted(one.allowed)) for one in secrets(persona(), story())] == [
        ("the price of the astrolabe", ["deal"]),
        ("Heron", ["deal", "principal"]),
    ]


def test_what_everybody_knows_is_no_secret() -> None:
    known = persona(sharedKnowledge=["The Heron is a ship"])
    assert [one.term for one in secrets(known, story())] == ["the price of the astrolabe", "Project Heron"]


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Project Heron — a purchase", ["Project Heron", "Heron"]),
        ("Handover at the top", ["Handover at the top"]),
        ("Inventory", []),
        ("Sale: the Nile map", []),
        ("Visit of Ada Brook (second)", ["Visit of Ada Brook", "Brook"]),
    ],
)
def test_an_arc_is_recognised_by_its_short_title_and_the_names_in_it(title: str, names: list[str]) -> None:
    assert names_of(Arc.model_validate(arc("x", title=title))) == names


def test_a_secret_is_found_where_it_may_not_be_with_the_first_place() -> None:
    found = leaks(
        {"deal": "Project Heron, the price of the astrolabe", "principal": "Project Heron"},
        {"team": "All well.\nAbout the  Price of\nthe astrolabe"},
        {"team": "The price of the astrolabe again"},
    )
    assert [(one.severity, one.day, one.line) for one in found] == [("error", 2, 3)]
    assert "“the price of the astrolabe” is a sensitive topic of the isolated session 'deal'" in found[0].message
    assert "is told in 'team', and on 1 more day;" in found[0].message


def test_a_title_may_be_named_where_the_arc_is_referenced_and_nowhere_else() -> None:
    (found,) = leaks({"team": "All goes well, says Project Heron"})
    assert (found.severity, found.rule) == ("error", "leak")
    assert leaks({"principal": "Project Heron came up"}) == []
    assert leaks({"team": "The herons are back"}) == []


def test_a_topic_in_other_words_is_a_warning() -> None:
    sessions = [
        {**one, "sensitive_topics": ["purchase range, walkaway valuation and financing structure"]}
        if one["id"] == "deal"
        else one
        for one in PERSONA["sessions"]
    ]
    told = secrets(persona(sessions=sessions), story())
    near = "We saw the valuation, the financing, the walkaway and the purchase structure"
    (found,) = leak_findings(told, parts({"team": near}))
    assert (found.severity, found.rule) == ("warning", "leak")
    assert "seems to be told in 'team'" in found.message


OPENING = Arc.model_validate(arc("opening"))


@pytest.mark.parametrize(
    ("text", "severities"),
    [
        ("We say that the museum  opens at 9:30 already.", ["error"]),
        ("From 9:30 the museum opens, they say", ["warning"]),
        ("The museum opens at 10:00", []),
        ("A call at 9:30", []),
    ],
)
def test_a_corrected_belief_is_not_told_before_its_day(text: str, severities: list[str]) -> None:
    found = list(belief_findings(OPENING, parts({"team": f"\n{text}"})))
    assert [one.severity for one in found] == severities
    assert [one.line for one in found] == [3] * len(severities)


def test_a_corrected_belief_may_be_told_from_its_day_on_and_in_other_rooms() -> None:
    told = "The museum opens at 9:30"
    assert list(belief_findings(OPENING, parts({}, {}, {}, {}, {}, {"team": told}))) == []
    assert list(belief_findings(OPENING, parts({"deal": told}))) == []
