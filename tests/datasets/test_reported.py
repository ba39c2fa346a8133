"""Figures of others: each says whose it is, where it stands, and of what."""

from __future__ import annotations

import pytest

from pytest_recall.datasets.reported import REPORTED, Reported, reported_on
from pytest_recall.metrics.answers import CATEGORIES
from pytest_recall.metrics.measures import MEASURES


@pytest.mark.parametrize("one", REPORTED, ids=lambda one: f"{one.system}-{one.model}-{one.metric}-{one.category}")
def test_a_figure_says_where_it_stands(one: Reported) -> None:
    assert one.source
    assert one.about
    assert one.metric in MEASURES
    assert 0 <= one.value <= 1
    assert one.category in ("", *CATEGORIES.values())


def test_none_is_there_twice() -> None:
    assert len({one._replace(value=0.0) for one in REPORTED}) == len(REPORTED)


def test_they_are_told_by_dataset() -> None:
    assert {one.system for one in reported_on("dmr")} == {"no memory", "MemGPT", "Zep"}
    assert reported_on("longmemeval") == []
