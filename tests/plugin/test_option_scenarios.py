"""`--scenarios` and `--dimensions`: filters that never silently leave nothing."""

from __future__ import annotations

import pytest

from tests.helpers.project import ECHOING, IN, case, row

SET = ECHOING.with_cases(
    case("fee-a", scenario="fees"),
    case("fee-b", scenario="fees", dimension="tone"),
    case("loan-a", scenario="loans"),
    case("loan-b", scenario="loans", dimension="tone"),
    case("card-a", scenario="cards"),
)
MARKED = """\
import pytest


@pytest.mark.recall("by-hand", scenario="repairs", dimension="safety")
def test_by_hand():
    pass
"""
BESIDE = SET.with_files({"eval/test_by_hand.py": MARKED})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--scenarios=fees, cards",), ["card-a", "fee-a", "fee-b"]),
        (("--scenarios=loans", "--dimensions=tone"), ["loan-b"]),
    ],
)
def test_the_filters_run_those_cases(pytester: pytest.Pytester, options: tuple[str, ...], expected: list[str]) -> None:
    checkout = SET.at(pytester)
    checkout.run("eval", *options).assert_outcomes(passed=len(expected))
    assert checkout.asked() == expected
    assert checkout.slice() == dict.fromkeys(expected, "explicit")


def test_with_a_mode_the_schedule_chooses_among_them(pytester: pytest.Pytester) -> None:
    checkout = SET.with_state(fee_a=row(3, due=IN[7]), loan_a=row(2)).at(pytester)
    checkout.run("eval", "--scenarios=fees,loans", "--recall-mode=pr").assert_outcomes(passed=3)
    assert checkout.slice() == {"loan-a": "due", "fee-b": "new", "loan-b": "new"}
    assert checkout.boxes() == {"fee-a": 3, "fee-b": 1, "loan-a": 3, "loan-b": 1}
    assert checkout.today()["of"] == 4


def test_the_scenario_of_a_marked_test_is_known(pytester: pytest.Pytester) -> None:
    checkout = BESIDE.at(pytester)
    checkout.run("eval", "--scenarios=repairs").assert_outcomes(passed=1)
    assert checkout.outcomes() == {"by-hand": "passed"}
    assert checkout.asked() == []
