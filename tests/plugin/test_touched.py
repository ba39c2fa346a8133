"""A case that a change affects is asked twice where few are, and one that no change has touched until it passes."""

from __future__ import annotations

import pytest

from tests.helpers.project import case
from tests.helpers.talking import agent, talking
from tests.helpers.upstream import Upstream

RUBRIC = {"eval/rubric.yaml": "owner: us\npolicy: affected\nslice_cases: 1\nconfirm: evidence\n"}
CASES = [case(name, expected=f"say {name}", judges=["contains"]) for name in ("a", "b")]


def test_a_pass_of_what_few_share_is_asked_again_and_a_fall_without_a_change_six_times(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    checkout = talking(upstream, agent("return plain_sync(f'echo say {question}')")).with_cases(*CASES)
    placed = checkout.with_files(RUBRIC).at(pytester)
    placed.run("eval", "--record", "--recall-mode", "all").assert_outcomes(passed=2)
    upstream.bodies.clear()
    talking(upstream, agent("return plain_sync(f'echo we say {question}')")).at(pytester)
    result = placed.run_apart("eval", "-n2")
    result.stdout.fnmatch_lines(["*2 passed, 2 rerun*"])
    assert sorted(upstream.prompts) == ["echo we say a"] * 2 + ["echo we say b"] * 2
    rules = {trial.rule for trial in placed.journal().trials}
    assert rules == {"evidence 10 from 1.00, 0 of 1 failed, twice"}
    # At night the model says something else, and no change has touched the cases since they passed on the main branch.
    placed.run("eval", "--record", "--recall-mode", "all").assert_outcomes(passed=2)
    upstream.bodies.clear()
    upstream.says = "no"
    placed.run("eval", "--recall-mode", "all")
    assert len(upstream.prompts) == 12
    told = {one["cause"]["label"] for one in placed.scorecard()["failed"]}
    assert told == {"the provider or the data"}


def test_of_a_case_without_a_recording_it_is_not_known_what_touches_it(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    checkout = talking(upstream, agent("return plain_sync(f'echo say {question}')")).with_cases(*CASES[:1])
    placed = checkout.with_files(RUBRIC).at(pytester)
    placed.run("eval", "--recall-mode", "all").assert_outcomes(passed=1)
    upstream.bodies.clear()
    upstream.says = "no"
    placed.run("eval", "--recall-mode", "all")
    assert len(upstream.prompts) == 2
    assert "untouched" not in placed.journal().trials[-1].rule
