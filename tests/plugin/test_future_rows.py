"""Rows of days that are still to come, which runs and `recall check` refuse: a failure until then would be lost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.helpers.project import ECHOING, WORKERS, case, row, state_yaml


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
    assert done.ret == 2
    assert any("`b` was last tested on" in line for line in done.errlines)


def test_a_day_that_the_run_is_made_for_has_come(pytester: pytest.Pytester) -> None:
    late = row(1, tested=ahead(40), due=ahead(41))
    checkout = ECHOING.with_cases(case("a")).with_state(a=late).at(pytester)
    assert checkout.run("eval", day=ahead(41)).ret == 0
    assert checkout.boxes() == {"a": 2}


def test_a_clock_may_be_ahead_by_a_day(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(case("a")).with_state(a=row(1, tested=ahead(1), due=ahead(2))).at(pytester)
    assert checkout.run("eval").ret == 0


def test_a_merge_takes_none_in(pytester: pytest.Pytester) -> None:
    sides = {"base": row(1), "ours": row(2), "theirs": row(3, tested=ahead(40), due=ahead(47))}
    checkout = ECHOING.with_cases(case("a")).at(pytester)
    for name, one in sides.items():
        Path(checkout.path, name).write_text(state_yaml(a=one), encoding="utf-8")
    done = checkout.recall("state", "merge-driver", "base", "ours", "theirs", "eval/recall.yaml")
    assert done.ret == 1
    (said,) = done.errlines
    assert said.startswith(f"recall: eval/recall.yaml: `a` was last tested on {ahead(40)}, which is after {ahead(0)}: ")
    assert said.endswith("; conflict markers are left in eval/recall.yaml")


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
    assert checkout.recall("check").ret == 2
