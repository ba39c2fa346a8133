"""Explicit runs: anyone who names the cases gets them, and the schedule learns nothing unless told to."""

from __future__ import annotations

import pytest

from tests.helpers import kept
from tests.helpers.project import ECHOING, IN, case, failing, row

SET = ECHOING.with_cases(case("late", tags=["money"]), failing("wip"), case("other")).with_state(
    late=row(3, 3, due=IN[7]), wip=row(4, 4, due=IN[7])
)


@pytest.mark.parametrize(
    ("args", "said", "ran"),
    [
        (("eval/cases.yaml::wip",), "node ids", ["wip"]),
        (("eval", "-k", "wip or late"), "-k", ["late", "wip"]),
        (("eval", "--scenarios", "one"), "--scenarios", ["late", "other", "wip"]),
        (("eval", "--dimensions", "facts"), "--dimensions", ["late", "other", "wip"]),
        (("eval", "--sw"), "--sw", ["late", "wip"]),
    ],
)
def test_the_schedule_is_off_and_the_state_left_alone(
    pytester: pytest.Pytester, args: tuple[str, ...], said: str, ran: list[str]
) -> None:
    before = SET.at(pytester).state_text()
    checkout, result = kept.ran(pytester, SET, *args)
    result.stdout.fnmatch_lines(
        [
            f"recall: schedule off,* {said}*; the state is left alone",
            "eval/recall.yaml: left alone,*--recall-update*",
        ]
    )
    assert checkout.outcomes()["wip"] == "failed"
    assert checkout.asked() == ran
    assert checkout.state_text() == before
    assert checkout.today()["mode"] == "explicit"


def test_recall_update_writes_the_state(pytester: pytest.Pytester) -> None:
    checkout = SET.at(pytester)
    result = checkout.run("eval", "-k", "wip or late", "--recall-update", "-n1")
    result.stdout.fnmatch_lines(["recall: schedule off,* -k*"])
    assert "left alone" not in result.stdout.str()
    assert checkout.boxes() == {"late": 3, "wip": 1}
    assert checkout.slice() == {"late": "explicit", "wip": "explicit"}


def test_a_mode_does_not_bring_the_schedule_back_where_cases_are_named(pytester: pytest.Pytester) -> None:
    checkout = SET.at(pytester)
    before = checkout.state_text()
    checkout.run("eval/cases.yaml::late", "--recall-mode=nightly").assert_outcomes(passed=1)
    assert checkout.state_text() == before


def test_lf_is_explicit(pytester: pytest.Pytester) -> None:
    checkout = SET.at(pytester)
    checkout.run("eval", "--recall-mode=all")
    before = checkout.state_text()
    result = checkout.run("eval", "--lf")
    result.assert_outcomes(failed=1)
    assert checkout.asked() == ["late", "other", "wip", "wip"]
    result.stdout.fnmatch_lines(["recall: schedule off,* --lf*; the state is left alone"])
    assert checkout.slice() == {"wip": "explicit"}
    assert checkout.state_text() == before


def test_a_failed_case_is_not_said_to_move(pytester: pytest.Pytester) -> None:
    _, result = kept.ran(pytester, SET, "eval/cases.yaml::wip")
    result.stdout.fnmatch_lines(["regressions (1):", "  wip (box 4, not moved)"])


def test_apply_refuses_an_explicit_run_unless_told_otherwise(pytester: pytest.Pytester) -> None:
    checkout, _ = kept.ran(pytester, SET, "eval/cases.yaml::wip")
    refused = checkout.recall("state", "apply", "latest")
    assert refused.ret == 2
    assert checkout.boxes() == {"late": 3, "wip": 4}
    assert checkout.recall("state", "apply", "latest", "--explicit").ret == 0
    assert checkout.boxes() == {"late": 3, "wip": 1}


def test_an_expression_that_fits_nothing_is_what_pytest_makes_of_it(pytester: pytest.Pytester) -> None:
    checkout = SET.at(pytester)
    assert checkout.run("eval", "-k", "nothing").ret == pytest.ExitCode.NO_TESTS_COLLECTED
