"""Dates: as the published files write them."""

from __future__ import annotations

from datetime import datetime

import pytest

from pytest_recall.datasets.rows import locomo_date, longmemeval_date


@pytest.mark.parametrize(
    ("written", "date"),
    [
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56)),
        ("12:09 am on 13 September, 2023", datetime(2023, 9, 13, 0, 9)),
        ("12:00 PM on 1 January 2024", datetime(2024, 1, 1, 12)),
        (" 9:05 am on 29 February, 2024 ", datetime(2024, 2, 29, 9, 5)),
        ("9:05 am on 29 February, 2023", None),
        ("13:05 pm on 2 May, 2023", None),
        ("0:05 am on 2 May, 2023", None),
        ("1:56 pm on 8 Mai, 2023", None),
        ("8 May, 2023", None),
        ("", None),
    ],
)
def test_dates_of_locomo(written: str, date: datetime | None) -> None:
    assert locomo_date(written) == date


@pytest.mark.parametrize(
    ("written", "date"),
    [
        ("2023/05/30 (Tue) 21:56", datetime(2023, 5, 30, 21, 56)),
        ("2023/05/30", datetime(2023, 5, 30)),
        ("2023/02/30 (Thu) 21:56", None),
        ("2023/05/30 (Tue) 25:00", None),
        ("0000/05/30", None),
        ("30.05.2023", None),
        ("２０２３/05/30", None),
        ("", None),
    ],
)
def test_dates_of_longmemeval(written: str, date: datetime | None) -> None:
    assert longmemeval_date(written) == date
