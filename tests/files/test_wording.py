"""Amounts of money and texts, as messages name them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.wording import dollars, one_line, prose, same_command
from tests.helpers.samples import unhurried


@pytest.mark.parametrize(
    ("amount", "told"),
    [
        (0.0, "$0.00"),
        (-0.0, "$0.00"),
        (-1e-12, "$0.00"),
        (0.0004, "$0.0004"),
        (0.00042, "$0.00042"),
        (0.000425, "$0.00042"),
        (0.0000000312, "$0.000000031"),
        (0.00000001, "$0.00000001"),
        (1e-9, "under $0.00000001"),
        (5e-324, "under $0.00000001"),
        (0.0099999, "$0.01"),
        (0.01, "$0.01"),
        (0.0123, "$0.0123"),
        (0.01239, "$0.0124"),
        (0.2, "$0.20"),
        (0.21, "$0.21"),
        (0.2134, "$0.2134"),
        (0.99999, "$1.00"),
        (1.0, "$1.00"),
        (12.345, "$12.35"),
        (1234567.0, "$1,234,567.00"),
        (-0.5, "-$0.50"),
    ],
)
def test_dollars(amount: float, told: str) -> None:
    assert dollars(amount) == told


@given(st.floats(0, 1e9))
@unhurried
def test_dollars_say_what_they_mean(amount: float) -> None:
    told = dollars(amount)
    if told.startswith("under"):
        assert 0 < amount < 1e-8
    else:
        assert float(told.removeprefix("$").replace(",", "")) == pytest.approx(amount, rel=0.06, abs=1e-9)
        assert told != "$0.00" or amount == 0


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("  a \n\n b\tc ", "a b c"),
        ("a\x1b[31mb\x00", "a [31mb"),
        ("a\u2028b\u202ec", "a b c"),
        ("", ""),
        ("x" * 200, "x" * 200),
        ("x" * 201, "…"),
        ("価" * 201, "価" * 199 + "…"),
        ("a word " + "x" * 200, "a word …"),
    ],
)
def test_one_line(text: str, line: str) -> None:
    assert one_line(text) == line


@unhurried
@given(st.text(), st.integers(1, 50))
def test_one_line_is_one_printable_line(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert line.isprintable()
    assert one_line(line, limit) == line


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("it alters `blocks_of|all`", "it alters `blocks_of|all`"),
        ("`a` and `b` *not*", r"`a` and `b` \*not\*"),
        ("<b> @ann `<b>`", "&lt;b&gt; @\u200bann `<b>`"),
        ("one ` alone", r"one \` alone"),
        ("none ``", r"none \`\`"),
    ],
)
def test_code_in_a_sentence_of_ours_stays_code_and_all_else_is_text(text: str, told: str) -> None:
    assert prose(text) == told


def test_how_users_go_on() -> None:
    assert same_command() == "the same command resumes it"
    assert same_command("ask", 2, again=True, first="correct that") == (
        "correct that, and the same command asks them again"
    )
    assert same_command("record", options="with --record") == "the same command with --record records it"
