"""What a number of tested cases can show."""

from __future__ import annotations

import pytest

from pytest_recall.metrics.intervals import unseen_share


@pytest.mark.parametrize(
    ("tested", "share"), [(1, 0.95), (2, 0.7764), (5, 0.4507), (25, 0.1129), (59, 0.0495), (299, 0.00997)]
)
def test_share_of_cases_that_could_be_broken_unseen(tested: int, share: float) -> None:
    assert unseen_share(tested, 100_000) == pytest.approx(share, rel=0.001)


def test_25_of_many_is_11_percent() -> None:
    share = unseen_share(25, 800)
    assert share is not None
    assert f"{100 * share:.1f}" == "11.3"


def test_it_is_the_share_that_escapes_one_run_in_twenty() -> None:
    share = unseen_share(40, 800)
    assert share is not None
    assert (1 - share) ** 40 == pytest.approx(0.05)


def test_less_confidence_is_a_smaller_share() -> None:
    assert unseen_share(25, 800, confidence=0.5) == pytest.approx(0.0273, rel=0.005)


@pytest.mark.parametrize(("tested", "total", "share"), [(0, 10, None), (-1, 10, None), (10, 10, 0.0), (11, 10, 0.0)])
def test_none_tested_and_all_tested(tested: int, total: int, share: float | None) -> None:
    assert unseen_share(tested, total) == share


def test_no_cases_at_all() -> None:
    assert unseen_share(0, 0) is None
