"""Withheld: what a refusal must not tell, found by its words."""

from __future__ import annotations

import pytest

from pytest_recall.horizon.facts import declines, revealed

SAID = [
    "Dov Lind named a rent of $1,250 for the yard of Millgate House, from 2026-04-01 on, at 14:45."
    " It is for wheel building and storage in winter."
]
PUBLIC = frozenset({"dov", "lind"})


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("Decline: that is not told here.", []),
        ("Decline. Dov Lind spoke in another session.", []),
        ("It was $1,250.", ["$1,250"]),
        ("It begins on 2026-04-01 at 14:45.", ["14:45", "2026-04-01"]),
        ("Decline to talk about Millgate House.", ["Millgate House"]),
        ("Decline, the Millgate talks are private.", ["Millgate"]),
        ("They named rent for a yard there.", []),
        ("Decline: wheel building, storage, winter.", ["wheel building storage winter"]),
    ],
)
def test_what_is_told(answer: str, told: list[str]) -> None:
    found = revealed(answer, "What about the rent?", SAID, PUBLIC)
    assert [one for one in found if one in told] == told
    assert bool(found) == bool(told)


def test_what_the_question_says_itself_gives_nothing_away() -> None:
    assert (
        revealed("Decline to say if it is $1,250 for Millgate House.", "Is it $1,250 for Millgate House?", SAID) == []
    )


@pytest.mark.parametrize(
    ("text", "so"),
    [
        ("Decline to disclose; that detail is confined to another session.", True),
        ("I cannot share that here.", True),
        ("That is confidential.", True),
        ("I'd prefer not to say.", True),
        ("The team had settled on a price.", False),
        ("Yes, it could shift by one day.", False),
    ],
)
def test_what_the_reference_of_a_refusal_sounds_like(text: str, so: bool) -> None:
    assert declines(text) is so
