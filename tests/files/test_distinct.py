"""Names of runs that differ."""

from __future__ import annotations

import pytest

from pytest_recall.files.distinct import distinct_names


@pytest.mark.parametrize(
    ("names", "folders", "found"),
    [
        (["be", "me"], ["/x/be", "/x/me"], ["be", "me"]),
        (["be", "be"], ["/x/be/earlier-1", "/x/be"], ["earlier-1", "be"]),
        (["be", "be"], ["/x/a/be", "/x/b/be"], ["a/be", "b/be"]),
        (["be", "be"], ["/a/x/be", "/b/x/be"], ["a/x/be", "b/x/be"]),
        (["be", "be"], ["/be", "/x/be"], ["be", "x/be"]),
        (["be", "be"], ["/x/be", "/x/be"], ["be", "be"]),
        (["be", "be", "me"], ["/x/a/be", "/x/b/be", "/x/me"], ["a/be", "b/be", "x/me"]),
    ],
)
def test_equal_names_become_the_shortest_ends_of_paths_that_differ(
    names: list[str], folders: list[str], found: list[str]
) -> None:
    assert distinct_names(names, folders) == found
