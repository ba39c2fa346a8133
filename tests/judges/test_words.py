"""What a judge takes for a word, in any script."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.judges.words import words
from pytest_recall.metrics.answers import f1
from tests.helpers.samples import unhurried


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The fee is $2.50, isn’t it?", ["the", "fee", "is", "2", "50", "isn't", "it"]),
        ("'quoted' rock 'n' roll", ["quoted", "rock", "n", "roll"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("hør hår", ["hør", "hår"]),
        ("Bogota\u0301", ["bogotá"]),
        ("لا يمكن", ["لا", "يمكن"]),
        ("нельзя вернуть", ["нельзя", "вернуть"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("δεν είναι", ["δεν", "είναι"]),
        ("반품할 수 없다", ["반품할", "수", "없다"]),
        ("לא ניתן", ["לא", "ניתן"]),
        ("不可退货", ["不可退货"] * 4),
        ("30天内", ["30", "天内", "天内"]),
        ("できません。", ["できません"] * 5),
        ("ไม่ได้ 5", ["ไม่ได้"] * 6 + ["5"]),
        ("👍 — …", []),
        ("", []),
    ],
)
def test_words(text: str, found: list[str]) -> None:
    assert words(text) == found


OPPOSITES = [
    ("30 天内可退货", "30 天内不可退货"),
    ("返品できます", "返品できません"),
    ("คืนสินค้าได้", "คืนสินค้าไม่ได้"),
    ("hår", "hør"),
    ("má", "mà"),
    ("być", "był"),
    ("можно", "нельзя"),
    ("يمكن", "ممنوع"),
    ("संभव", "असंभव"),
    ("가능", "불가능"),
    ("μπορεί", "αδύνατο"),
    ("מותר", "אסור"),
]


@pytest.mark.parametrize(("one", "other"), OPPOSITES, ids=lambda text: unicodedata.name(text[-1]).split()[0].lower())
def test_two_opposites_are_not_half_the_same(one: str, other: str) -> None:
    assert f1(words(one), words(one)) == 1.0
    assert f1(words(one), words(other)) < 0.5


@given(st.text())
@unhurried
def test_a_text_has_the_words_of_each_of_its_normal_forms(text: str) -> None:
    forms = {form: words(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")}
    assert forms["NFC"] == forms["NFD"]
