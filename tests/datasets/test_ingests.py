"""What a memory was told, counted once where a run that resumes tells it again."""

from __future__ import annotations

from itertools import permutations

import pytest

from pytest_recall.datasets.ingests import IngestCounter, StoredConversations, stored_before
from pytest_recall.memory.session import Readback


def told(units: int, *, held: int | None = None, stages: int = 1, place: int | None = None) -> StoredConversations:
    """Return what was told, which took a second for each unit."""
    return StoredConversations(stages, float(units), Readback(stored=units, held=held), place)


def counted(*given: tuple[str, StoredConversations]) -> StoredConversations:
    """Return what all of it comes to, in whichever order."""
    found = []
    for order in permutations(given):
        tellings = IngestCounter()
        for conversation, one in order:
            tellings.add(conversation, one)
        found.append(tellings.counted())
    assert len(set(found)) == 1
    assert found[0] is not None
    return found[0]


def test_what_usage_says_of_it() -> None:
    assert stored_before({"memory_recall_seconds": 1.0}) is None
    assert stored_before({"memory_store_seconds": 2.0, "memory_stored": 7}) == StoredConversations(
        1, 2.0, Readback(stored=7)
    )
    usage = {"memory_store_seconds": 2.0, "memory_stored": 7, "memory_stages": 2, "memory_place": 3}
    assert stored_before(usage) == StoredConversations(2, 2.0, Readback(stored=7), 3)
    assert stored_before({**usage, "memory_told_tokens": 70}) == StoredConversations(2, 2.0, Readback(stored=7), 3, 70)


def test_tokens_are_known_where_each_telling_has_them() -> None:
    assert counted(("a", told(25)._replace(tokens=50)), ("b", told(24)._replace(tokens=48))).tokens == 98
    assert counted(("a", told(25)._replace(tokens=50)), ("b", told(24))).tokens is None


def test_nothing_is_not_zero() -> None:
    assert IngestCounter().counted() is None


def test_a_conversation_is_counted_once_with_the_telling_of_which_less_was_kept() -> None:
    found = counted(("a", told(25)), ("b", told(24, held=24)), ("b", told(24, held=20)))
    assert (found.conversations, found.readback.stored, found.seconds) == (2, 49, 49.0)
    assert counted(("b", told(24, held=24)), ("b", told(24, held=20))).readback.held == 20


@pytest.mark.parametrize(
    "given",
    [
        pytest.param([("a", told(25)), ("b", told(24, place=2)), ("c", told(6, place=3))], id="told at once"),
        pytest.param(
            [("a", told(25)), ("b", told(49, stages=2, place=2)), ("c", told(6, place=3))], id="at a beginning"
        ),
        pytest.param(
            [("a", told(25)), ("b", told(24, place=2)), ("b", told(49, stages=2, place=2)), ("c", told(6, place=3))],
            id="within one",
        ),
        pytest.param(
            [("a", told(25)), ("b", told(24, place=2)), ("c", told(55, stages=3, place=3))], id="at the last one"
        ),
        pytest.param([("c", told(55, stages=3, place=3))], id="nothing asked about the first ones"),
    ],
)
def test_one_store_is_counted_up_to_its_last_conversation(given: list[tuple[str, StoredConversations]]) -> None:
    found = counted(*given)
    assert (found.conversations, found.readback.stored) == (3, 55)


def test_what_is_not_known_in_between_is_left_out() -> None:
    found = counted(("a", told(25)), ("c", told(6, place=3)))
    assert (found.conversations, found.readback.stored) == (2, 31)
