"""Rows of days that are still to come, which runs and `recall check` refuse: a failure until then would be lost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pytest_recall.schedule.events import Event, Events
from pytest_recall.schedule.run_file import write_run_file
from pytest_recall.trials.trial import Outcome
from tests.helpers.project import ECHOING, WORKERS, case, row


def ahead(days: int) -> str:
    return (datetime.now(UTC).date() + timedelta(days=days)).isoformat()


@WORKERS
def test_a_run_does_not_begin(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    late = row(3, tested=ahead(40), due=ahead(47))
    checkout = ECHOING.with_cases(case("a"), case("b"), case("c")).with_state(a=row(2), b=late, c=late).at(pytester)
    before = checkout.state_text()
    result = checkout.run("eval", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = f"eval/recall.yaml: `b` was last tested on {ahead(40)}, which is after {ahead(0)} (2 rows are of such days)"
    assert any(said in line for line in result.errlines), result.errlines
    assert checkout.state_text() == before
    assert not checkout.artifacts.folder.exists()
    done = checkout.recall("check")
    assert done.ret == 1
    assert any("`b` was last tested on" in line for line in done.errlines)


def test_a_day_that_the_run_is_made_for_has_come(pytester: pytest.Pytester) -> None:
    late = row(1, tested=ahead(40), due=ahead(41))
    checkout = ECHOING.with_cases(case("a")).with_state(a=late).at(pytester)
    assert checkout.run("eval", day=ahead(41)).ret == 0
    assert checkout.boxes() == {"a": 2}


def test_a_clock_may_be_ahead_by_a_day(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(case("a")).with_state(a=row(1, tested=ahead(1), due=ahead(2))).at(pytester)
    assert checkout.run("eval").ret == 0


def test_a_run_file_of_such_a_day_is_not_read_either(pytester: pytest.Pytester) -> None:
    """As from a laptop whose clock was ahead, after a merge."""
    checkout = ECHOING.with_cases(case("a")).with_state(a=row(1)).at(pytester)
    before = checkout.state_text()
    day = datetime.now(UTC).date() + timedelta(days=40)
    late = Events("run", day, "pr5", trials=1, verdicts=(Event("a", Outcome.PASSED),))
    path = write_run_file(checkout.path / "eval/runs", late, {"a": row(1)})
    result = checkout.run("eval")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert any(path.name in line for line in result.errlines), result.errlines
    assert checkout.recall("check").ret == 1
    assert (checkout.state_text(), checkout.asked()) == (before, [])
    assert path.exists()


def test_a_case_is_not_put_to_rest_for_ever(pytester: pytest.Pytester) -> None:
    """By a clock that was ahead, or an edit: it would be asked on no day until then."""
    checkout = ECHOING.with_cases(case("a")).with_state(a=row(1)).at(pytester)
    path = checkout.path / "eval" / "recall.yaml"
    noted = f"unanswered:\n  a:\n    {{last_asked: {ahead(400)}, days: 3}}\ncases:\n"
    path.write_text(path.read_text(encoding="utf-8").replace("cases:\n", noted), encoding="utf-8")
    result = checkout.run("eval")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = f"eval/recall.yaml: unanswered: `a` was last asked on {ahead(400)}, which is after {ahead(0)}: until then it"
    assert any(said in line for line in result.errlines), result.errlines
    assert checkout.recall("check").ret == 1
