"""How tables call the categories of questions."""

from __future__ import annotations

from pytest_recall.datasets import dmr, locomo, longmemeval
from pytest_recall.datasets.categories import category_name, category_title


def test_a_category_of_locomo_has_the_number_of_its_file() -> None:
    titles = {number: category_title(name) for number, name in locomo.CATEGORIES.items()}
    assert titles == {number: f"{number} {name}" for number, name in locomo.CATEGORIES.items()}
    assert [category_name(one) for one in titles.values()] == list(locomo.CATEGORIES.values())


def test_other_categories_are_called_by_their_names() -> None:
    for name in (*longmemeval.CATEGORIES, dmr.CATEGORY, *locomo.CATEGORIES.values()):
        assert category_name(name) == name
    assert [*map(category_title, longmemeval.CATEGORIES)] == [*longmemeval.CATEGORIES]
    # The wrong number is another category, or none: publications have swapped the names.
    assert category_name("4 multi-hop") == "4 multi-hop"
