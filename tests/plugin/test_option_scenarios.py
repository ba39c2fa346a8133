"""`--scenarios` and `--dimensions`: filters that never silently leave nothing."""

from __future__ import annotations

import pytest

from tests.helpers.project import ECHOING, IN, Checkout, case, row

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


def assert_refused(checkout: Checkout, result: pytest.RunResult, *sentences: str) -> None:
    """Assert that the run said these sentences, each once, and did nothing else."""
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    output = [*result.outlines, *result.errlines]
    assert [line for line in output if line.startswith("ERROR: --")] == list(sentences)
    assert not [line for line in output if "INTERNALERROR" in line or "Traceback" in line]
    assert checkout.asked() == []
    assert checkout.state_text() is None


def test_an_unknown_name_is_a_usage_error_with_the_nearest(pytester: pytest.Pytester) -> None:
    checkout = SET.at(pytester)
    told: dict[tuple[str, ...], list[str]] = {
        ("--scenarios=fees,lones",): ["ERROR: --scenarios: 'lones' is in no case; did you mean `loans`?"],
        ("--dimensions=zzz",): ["ERROR: --dimensions: 'zzz' is in no case; known: facts, tone"],
        ("--scenarios=fee", "--dimensions=ton", "--recall-mode=all"): [
            "ERROR: --scenarios: 'fee' is in no case; did you mean `fees`?",
            "ERROR: --dimensions: 'ton' is in no case; did you mean `tone`?",
        ],
    }
    for options, sentences in told.items():
        assert_refused(checkout, checkout.run("eval", *options), *sentences)


def test_it_is_one_if_workers_and_marked_tests_take_part(pytester: pytest.Pytester) -> None:
    checkout = BESIDE.at(pytester)
    result = checkout.run("eval", "--dimensions=ton", "-n1")
    assert_refused(checkout, result, "ERROR: --dimensions: 'ton' is in no case; did you mean `tone`?")


def test_the_scenario_of_a_marked_test_is_known(pytester: pytest.Pytester) -> None:
    checkout = BESIDE.at(pytester)
    checkout.run("eval", "--scenarios=repairs").assert_outcomes(passed=1)
    assert checkout.outcomes() == {"by-hand": "passed"}
    assert checkout.asked() == []


def test_an_empty_filter_is_a_usage_error(pytester: pytest.Pytester) -> None:
    checkout = SET.at(pytester)
    for option in ("--scenarios", "--dimensions"):
        said = f"ERROR: {option}: names nothing; give one or more, separated by commas"
        assert_refused(checkout, checkout.run("eval", f"{option}=,"), said)
