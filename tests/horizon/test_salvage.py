"""Salvage: JSON out of replies, whole and cut off."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.horizon.salvage import MAX_REPLY, UnreadableReply, object_in, objects_in

ITEMS = st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=9) | st.lists(st.integers())), min_size=1)


@given(ITEMS, st.integers(min_value=0))
def test_whatever_is_complete_comes_out_of_a_reply_that_breaks_off(items: list[dict[str, object]], cut: int) -> None:
    text = json.dumps(items)
    cut %= len(text)
    try:
        found = objects_in(text[:cut])
    except UnreadableReply:
        assert cut <= len(json.dumps(items[:1]))
        return
    assert not found.whole
    assert found.items == items[: len(found.items)]
    assert len(json.dumps(items[: len(found.items) + 1])) > cut


def test_a_fence_and_words_around_it_do_no_harm() -> None:
    assert objects_in('Here [as asked]:\n```json\n[{"a": 1}, {"b": "]"}]\n```\nDone.') == ([{"a": 1}, {"b": "]"}], True)
    assert object_in('Well {so}: {"calls": []} and {"more": 1}') == {"calls": []}


@pytest.mark.parametrize("reply", ["", "no", "[1, 2]", '[{"a": ', '{"a": [', "[" * 100_000])
def test_what_has_no_object_is_unreadable(reply: str) -> None:
    with pytest.raises(UnreadableReply):
        objects_in(reply)
    with pytest.raises(UnreadableReply):
        object_in(reply)


def test_a_reply_that_is_too_long_is_not_looked_through() -> None:
    with pytest.raises(UnreadableReply, match="has more than "):
        object_in(" " * MAX_REPLY + "{}")


def test_an_empty_list_is_a_whole_one() -> None:
    assert objects_in("[]") == ([], True)
