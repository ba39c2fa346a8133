"""`recall state quarantine`: listed, set apart, taken back, and nothing else of the state changed."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from tests.helpers.project import ECHOING, Checkout, case, row

SINCE = date(2026, 3, 1)


@pytest.fixture
def checkout(pytester: pytest.Pytester) -> Checkout:
    """A project with one case in quarantine and one that is not."""
    rubric = {"eval/rubric.yaml": "owner: ana\n"}
    rows = {"a": row(1, 0, lapses=4, quarantined=SINCE, owner="bo"), "b": row(3, 3)}
    return ECHOING.with_cases(case("a"), case("b")).with_files(rubric).with_state(**rows).at(pytester)


def test_it_lists_them(checkout: Checkout) -> None:
    done = checkout.recall_apart("state", "quarantine")
    assert done.outlines == [
        "a: since 2026-03-01, which is over, bo looks at it, 4 lapses, box 1",
        "1 case of 2 in quarantine",
    ]


def test_it_takes_one_back(checkout: Checkout) -> None:
    assert checkout.recall("state", "quarantine", "a", "--release").ret == 0
    assert checkout.state() == {"a": row(1, 0), "b": row(3, 3)}


@pytest.mark.parametrize(("more", "owner"), [((), "ana"), (("--owner", "cy"), "cy")])
def test_it_sets_one_apart(checkout: Checkout, more: tuple[str, ...], owner: str) -> None:
    assert checkout.recall("state", "quarantine", "b", *more).ret == 0
    found = checkout.state()["b"]
    assert found.owner == owner
    assert found.quarantined is not None
    assert found == row(3, 3, quarantined=found.quarantined, until=found.quarantined + timedelta(30), owner=owner)


def test_for_how_long(checkout: Checkout) -> None:
    assert checkout.recall("state", "quarantine", "b", "--days", "90").ret == 0
    found = checkout.state()["b"]
    assert found.quarantined is not None
    assert found.until == found.quarantined + timedelta(90)
    told = checkout.recall("state", "quarantine").outlines[1]
    assert told == f"b: since {found.quarantined} until {found.until}, ana looks at it, 0 lapses, box 3"


def test_one_that_is_there_already_keeps_its_day(checkout: Checkout) -> None:
    assert checkout.recall("state", "quarantine", "a", "--owner", "cy").ret == 0
    found = checkout.state()["a"]
    assert found == row(1, 0, lapses=4, quarantined=SINCE, until=found.until, owner="cy")
    assert found.until is not None
    assert found.until > SINCE + timedelta(30)
