"""The baselines that do not search."""

from __future__ import annotations

import pytest

from tests.memory.asking import FACTS, NOW, filled, made, sources, texts


def test_last_n_is_the_newest_first_whatever_is_asked() -> None:
    client = filled(made("last-2"))
    assert sources(client.recall("bees", 1, NOW)) == ["pump", "car"]
    assert client.count() == 2


def test_a_window_that_is_larger_than_the_memory_is_all_of_it() -> None:
    assert sources(filled(made("last-20")).recall("", 1, NOW)) == ["pump", "car", "bees"]


def test_full_is_all_in_the_order_of_storing() -> None:
    client = filled(made("full"))
    assert texts(client.recall("x", 1, NOW)) == list(FACTS.values())
    assert client.count() == 3


def test_null_keeps_nothing() -> None:
    client = filled(made("null"))
    assert client.recall("bees", 5, NOW) == []
    assert client.count() == 0


@pytest.mark.parametrize("selector", ["last-2", "full", "null"])
def test_a_reset_empties_it(selector: str) -> None:
    client = filled(made(selector))
    client.reset()
    assert client.recall("bees", 5, NOW) == []
    assert client.count() == 0
