"""Templates: names of variables, and nothing else."""

from __future__ import annotations

import pytest

from pytest_recall.extensions.importers.templates import MAX_CHARACTERS, NotPlainError, fill


def test_values_are_filled_in_as_javascript_shows_them() -> None:
    given = {"yes": True, "no": False, "half": 0.5, "two": 2.0}
    assert fill("{{yes}} {{no}} {{half}} {{two}} {{none}}.", given) == "true false 0.5 2 ."


@pytest.mark.parametrize("length", [MAX_CHARACTERS // 2 + 1, MAX_CHARACTERS + 1])
def test_a_template_does_not_grow_without_bounds(length: int) -> None:
    with pytest.raises(NotPlainError):
        fill("{{x}}{{x}}", {"x": "y" * length})
