"""Word diff: short, and about the words that differ."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.results.regressions import DiffPiece, word_diff
from tests.helpers.samples import unhurried


def test_what_changed_stands_among_a_few_words() -> None:
    before = "Dear guest, we are glad to say that we are open from 10:00 to 16:00 each day of the whole year."
    assert word_diff(before, before.replace("16:00", "17:00")) == [
        DiffPiece("same", "… open from 10:00 to"),
        DiffPiece("gone", "16:00"),
        DiffPiece("new", "17:00"),
        DiffPiece("same", "each day of the …"),
    ]


def test_what_came_or_went_is_one_piece() -> None:
    assert word_diff("a b", "a b c") == [DiffPiece("same", "a b"), DiffPiece("new", "c")]
    assert word_diff("a b c", "b c") == [DiffPiece("gone", "a"), DiffPiece("same", "b c")]
    assert word_diff("a", "") == [DiffPiece("gone", "a")]


def test_the_same_words_differ_in_nothing() -> None:
    assert word_diff("a  b", "a\nb") == []
    assert word_diff("", "") == []


def test_answers_with_nothing_in_common_are_cut() -> None:
    pieces = word_diff(" ".join(f"a{n}" for n in range(300)), " ".join(f"b{n}" for n in range(300)), limit=20)
    assert [piece.kind for piece in pieces] == ["gone", "new"]
    assert all(len(piece.text.split()) == 11 and piece.text.endswith("…") for piece in pieces)


words = st.lists(st.sampled_from("abcde"), max_size=60).map(" ".join)


@unhurried
@given(words, words)
def test_it_is_short_and_empty_only_where_nothing_differs(before: str, after: str) -> None:
    pieces = word_diff(before, after)
    assert bool(pieces) == (before != after)
    assert sum(len(piece.text.split()) for piece in pieces) <= 80
