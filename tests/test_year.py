"""Three days of the year that scripts/play-year.py plays in full: the workflow's own steps, and what has to hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from tests.helpers.github import GitHub
from tests.helpers.year import Year

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the steps are written for bash")


@pytest.fixture
def host() -> Iterator[GitHub]:
    served = GitHub()
    yield served
    served.close()


@pytest.mark.skipif(pytest.version_tuple < (9,), reason="one of the tests of the team has subtests")
def test_three_days_of_a_team(tmp_path: Path, host: GitHub) -> None:
    # A fixed day: what is drawn depends on the date, and this test is to be the same one on every day.
    year = Year(tmp_path, host, date(2026, 1, 5), cases=12, pulls=1)
    lines = list(year.play(3, outages=(1,), skips=1))
    assert len(lines) == 3
    count = year.count
    assert (count.nights, count.pulls) == (6, 3)
    assert count.outages
    assert count.red >= count.outages - 1
    assert len(count.by_merge) >= 2
