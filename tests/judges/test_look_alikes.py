"""Texts that people cannot tell apart."""

from __future__ import annotations

import pytest

from pytest_recall.judges.look_alikes import difference


@pytest.mark.parametrize(
    ("answer", "text", "told"),
    [
        ("in Bogota\u0301", "Bogotá", "the answer has U+0301 and the text has U+00E1"),
        ("30\u200bdays", "30days", "the answer has U+200B"),
        ("a follow\u2011up", "follow-up", "the answer has U+2011"),
        ("it’s", "it's", "the answer has U+2019"),
        ("ﬁne", "fine", "the answer has U+FB01"),
        ("✓\ufe0f", "✓", "the answer has U+FE0F"),
        ("\u0421OK", "COK", "the answer has U+0421"),
        ("\u039fne", "One", "the answer has U+039F"),
    ],
)
def test_it_is_said_how_they_differ(answer: str, text: str, told: str) -> None:
    assert difference(answer, [text], whole=False) == f"; they look alike, but {told}"


@pytest.mark.parametrize(
    ("answer", "text"), [("Bogota", "Bogotá"), ("a pound.", "Pound"), ("two", "three"), ("", "x"), ("x", "\u200b")]
)
def test_others_look_different(answer: str, text: str) -> None:
    assert difference(answer, [text], whole=False) == ""


def test_a_part_is_not_the_whole() -> None:
    assert difference("in Bogota\u0301", ["Bogotá"], whole=True) == ""
    assert difference("Bogota\u0301", ["x", "Bogotá"], whole=True) != ""
