"""Embeddings, and their fusion with words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.memory_part import QueryContext
from pytest_recall.memory.client import MemoryAdapter
from pytest_recall.memory.dense import Hybrid, K, _highest
from pytest_recall.trials.trial import Passage
from tests.memory.asking import NOW, filled, made, sources

pytest.importorskip("wordllama")
numpy = pytest.importorskip("numpy")


def test_meaning_is_found_without_a_shared_word() -> None:
    client = filled(made("embedding"), {"car": "the automobile needs fuel", "bees": "insects make honey"})
    found = client.recall("petrol for my vehicle", 2, NOW)
    assert sources(found) == ["car", "bees"]
    assert found[0].score > found[1].score


def test_a_text_is_nearest_to_itself_and_equal_ones_keep_their_order() -> None:
    client = filled(made("embedding"), {"a": "a cold lake", "b": "a red car", "c": "a cold lake"})
    found = client.recall("a cold lake", 3, NOW)
    assert sources(found) == ["a", "c", "b"]
    assert found[0].score == pytest.approx(1.0)


def test_texts_without_a_known_word_are_no_error() -> None:
    client = filled(made("embedding"), {"a": "", "b": "car"})
    assert len(client.recall("", 5, NOW)) == 2
    assert client.count() == 2


@given(st.lists(st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=40), st.integers(1, 50))
def test_the_highest_are_those_of_a_whole_sort(scores: list[float], limit: int) -> None:
    places = sorted(range(len(scores)), key=lambda place: (-scores[place], place))[:limit]
    assert list(_highest(numpy.array(scores), limit)) == places


def test_what_grows_forgets_nothing() -> None:
    client = filled(made("embedding"), {f"u{n}": f"{n} red cars" for n in range(200)})
    assert client.count() == 200
    assert sources(client.recall("", 200, NOW)) == [f"u{n}" for n in range(200)]
    assert "150 red cars" in {one.text for one in client.recall("150 red cars", 2, NOW)}


class Listed(MemoryAdapter):
    """Ranks the units by their places, as a test says."""

    def __init__(self, *places: int) -> None:
        super().__init__("listed")
        self.places = places

    def reset(self) -> None:
        pass

    def store(self, content: str, metadata: object) -> None:
        pass

    def recall(self, query: str, limit: int, context: QueryContext) -> list[Passage]:
        return [Passage(text="", source=str(place)) for place in self.places]


def test_fusion_adds_reciprocal_ranks() -> None:
    client = filled(Hybrid("hybrid", Listed(0, 1, 2), Listed(2, 1)))
    found = client.recall("x", 5, NOW)
    assert [(one.source, one.score) for one in found] == [
        ("pump", pytest.approx(1 / (K + 3) + 1 / (K + 1))),
        ("car", pytest.approx(2 / (K + 2))),
        ("bees", pytest.approx(1 / (K + 1))),
    ]


def test_fusion_keeps_the_order_of_equal_scores() -> None:
    assert sources(filled(Hybrid("hybrid", Listed(1, 0), Listed(0, 1))).recall("x", 1, NOW)) == ["bees"]


def test_hybrid_finds_by_words_and_by_meaning() -> None:
    client = filled(made("hybrid"))
    assert sources(client.recall("What did the pump do?", 1, NOW)) == ["pump"]
    client.reset()
    assert client.recall("pump", 3, NOW) == []
    assert client.count() == 0
    client.close()
