"""What a judge takes for a number, in which notation, and what it cannot read."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.judges.written_numbers import CURRENCIES, MAX_DIGITS, DecimalMark, written_numbers
from tests.helpers.samples import unhurried

NOT_READ = None


def values(text: str, decimal: DecimalMark = ".") -> list[str | None]:
    """Return the numbers of a text as plain digits, None for one that cannot be read."""
    return [None if number.value is None else f"{number.value:f}" for number in written_numbers(text, decimal)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("3", ["3"]),
        ("It costs £1,250.50 in all.", ["1250.50"]),
        ("1,234,567", ["1234567"]),
        (".5 or -.25", ["0.5", "-0.25"]),
        ("1e3, 2.5E-1", ["1000", "0.25"]),
        ("6.02×10^3 or 6.02 × 10³ or 5 x 10**-1", ["6020", "6020", "0.5"]),
        ("The end is 7.", ["7"]),
        ("2026-01-31", ["2026", "1", "31"]),
        ("20% of 10kg, the 3rd", ["20", "10", "3"]),
        ("A4 paper, No.5, #6 and (12)", ["4", "5", "6", "12"]),
        ("3/4", ["3", "4"]),
        ("none, five, 五", []),
        ("", []),
        # Signs
        ("-4 and −5 and –6", ["-4", "-5", "-6"]),
        ("- 6", ["6"]),
        ("-$5.00 −€5 -US$5 -USD 5, $-5 (-5) x=-5", ["-5.00", "-5", "-5", "-5", "-5", "-5", "-5"]),
        ("€-5, x €-5, £-5, ₹-5, -Rs.5, -Rs 5, -kr 5, −zł 5", ["-5", "-5", "-5", "-5", "-5", "-5", "-5", "-5"]),
        ("-Item 5, well-kr 5", ["5", "5"]),
        ("3-4, pages 3–5, covid-19", ["3", "4", "3", "5", "19"]),
        ("$5–$7, 5€-10€, 5 €-10 €, 5%-6%, (3)-4", ["5", "7", "5", "10", "5", "10", "5", "6", "3", "4"]),
        # Groups
        ("1\u202f000\u202f000 1\u00a0000 1'000.5 1’000", ["1000000", "1000", "1000.5", "1000"]),
        ("items 3,2024", ["3", "2024"]),
        ("52,5200 N", ["52", "5200"]),
        # Other scripts
        ("١٢٣ ३.५ ٣٫٥ ١٬٠٠٠ ５", ["123", "3.5", "3.5", "1000", "5"]),
        # What cannot be read
        ("12,5 and 7", [NOT_READ, "7"]),
        ("1.000.000", [NOT_READ]),
        ("1,00,000 0,123 1,2,3 1,000,00 1'000,000", [NOT_READ] * 5),
        ("version 1.2.3", [NOT_READ]),
        ("10 000 people", [NOT_READ]),
        ("in 2024 100 people", ["2024", "100"]),
        ("5½ 10² 2^10 2**3", [NOT_READ] * 6),
        ("0x1F 0b101 0o17", [NOT_READ] * 3),
    ],
)
def test_numbers(text: str, found: list[str | None]) -> None:
    assert values(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Das kostet 12,5 Euro.", ["12.5"]),
        ("1.000.000 und 1.250,50", ["1000000", "1250.50"]),
        ("-€ 3,2", ["-3.2"]),
        ("12.5, 3.2024, 1,2,3", [NOT_READ, NOT_READ, NOT_READ]),
        ("1\u202f000,5", ["1000.5"]),
    ],
)
def test_the_decimal_mark_is_what_it_is_said_to_be(text: str, found: list[str | None]) -> None:
    assert values(text, ",") == found


@pytest.mark.parametrize("text", ["9" * (MAX_DIGITS + 1), f"1e{MAX_DIGITS + 1}", f"1e-{'9' * 4000}", "9" * 5000])
def test_one_that_no_one_compares_is_not_read(text: str) -> None:
    assert values(f"{text} 7") == [NOT_READ, "7"]


def test_a_long_number_is_exact() -> None:
    assert values("9" * MAX_DIGITS) == ["9" * MAX_DIGITS]
    assert values("9007199254740993") == ["9007199254740993"]


def test_each_number_is_known_by_how_it_is_written() -> None:
    assert [number.text for number in written_numbers("-$5.00, 1,250 or 3,2024, 5½")] == [
        "-$5.00",
        "1,250",
        "3",
        "2024",
        "5½",
    ]


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=3))
@unhurried
def test_what_is_written_in_a_notation_is_read_by_it(number: Decimal) -> None:
    english = f"{number:,.3f}"
    other = english.translate(str.maketrans(".,", ",."))
    assert [one.value for one in written_numbers(f"it is {english}.")] == [number]
    assert [one.value for one in written_numbers(f"es ist {other}.", ",")] == [number]


def test_all_currency_signs_are_known() -> None:
    signs = {chr(code) for code in range(0x10000) if unicodedata.category(chr(code)) == "Sc"}
    known = {chr(code) for code in range(0x10000) if re.match(f"[{CURRENCIES}]", chr(code))}
    assert signs <= known
    assert all(unicodedata.category(sign) in ("Sc", "Cn") for sign in known)
