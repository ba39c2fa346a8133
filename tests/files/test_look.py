"""Texts that look the same."""

from __future__ import annotations

import pytest

from pytest_recall.files.look import looks, spelled


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Bogotá", "Bogota\u0301"),
        ("30days", "30\u200bdays"),
        ("follow-up", "follow\u2011up"),
        ("it's", "it’s"),
        ("fine", "ﬁne"),
        ("a b", " a\n\n\u00a0b"),
    ],
)
def test_they_look_the_same_and_are_spelled_otherwise(one: str, other: str) -> None:
    assert looks(one) == looks(other)
    assert spelled(one) != spelled(other)


@pytest.mark.parametrize(("one", "other"), [("Bogota", "Bogotá"), ("A", "a"), ("1", "l")])
def test_others_do_not(one: str, other: str) -> None:
    assert looks(one) != looks(other)


def test_what_is_as_it_looks_is_not_spelled_out() -> None:
    assert spelled("Grüße, 不可  — no: “x”\n") == "Grüße, 不可  \\u2014 no: \\u201cx\\u201d\\n"
