"""A judge that has not been shown to agree with people blocks no one, where the rubric asks for that."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers import kept
from tests.helpers.project import Checkout, case, row, state_yaml
from tests.helpers.scripted import asks, judged, model


def version_in(checkout: Checkout) -> str:
    """Return the version of the judge in the newest run."""
    return next(verdict.version for trial in checkout.journal().trials for verdict in trial.verdicts)


def calibration(version: str, kappa: float, **more: Any) -> dict[str, str]:
    """Return the file with a calibration of the oracle."""
    fields = "".join(f", {name}: {value}" for name, value in more.items())
    text = f"{{judge: rubric, model: '{model('oracle')}', version: '{version}', kappa: {kappa}, n: 90{fields}}}"
    return {"eval/calibration.yaml": f"judges:\n  - {text}\n"}


def of_another_version(pytester: pytest.Pytester) -> tuple[Checkout, pytest.RunResult]:
    """Return where a case in box 3 fails by a judge of which another version is calibrated."""
    project = judged(asks("bad", "wrong"), min_kappa=0.6).with_state(bad=row(3))
    return kept.ran(pytester, project.with_files(calibration("00000000", 0.99)), "eval")


def test_the_fail_of_an_uncalibrated_judge_blocks_nobody_and_moves_no_box(pytester: pytest.Pytester) -> None:
    checkout = judged(asks("bad", "wrong"), asks("good", "right"), min_kappa=0.6).at(pytester)
    result = checkout.run("eval", "-n1")
    result.assert_outcomes(passed=1, xfailed=1)
    assert result.ret == 0
    assert checkout.outcomes() == {"bad": "failed", "good": "passed"}
    assert checkout.boxes() == {}
    assert [trial.counts_for_schedule for trial in checkout.journal().trials] == [False, False]
    result.stdout.fnmatch_lines(
        [
            "1 not counted: `recall score -v` shows it",
            "1 failure not counted, 1 pass moves no box: judge rubric, *not calibrated",
        ]
    )
    told = checkout.scorecard()["unproven"]
    assert {(one["id"], one["outcome"]) for one in told} == {("bad", "failed"), ("good", "passed")}
    for condition, code in {"regression": 0, "failure": 0, "incomplete": 0}.items():
        assert checkout.recall("score", "--fail-on", condition).ret == code


def test_the_kappa_decides_whatever_its_interval(pytester: pytest.Pytester) -> None:
    checkout, _ = of_another_version(pytester)
    version = version_in(checkout)
    for kappa, outcome in ((0.6, "failed"), (0.59, "xfailed")):
        checkout.forget()
        project = judged(asks("bad", "wrong"), min_kappa=0.6, preflight="off")
        project.with_files(calibration(version, kappa, interval="[0.5, 0.9]")).at(pytester)
        checkout.run("eval").assert_outcomes(**{outcome: 1})
        assert checkout.boxes() == ({"bad": 1} if outcome == "failed" else {})


def test_another_version_is_another_judge_whose_fail_is_no_regression(pytester: pytest.Pytester) -> None:
    checkout, result = of_another_version(pytester)
    result.assert_outcomes(xfailed=1)
    assert checkout.scorecard()["regressions"] == []
    assert checkout.state_text() == state_yaml(bad=row(3))


def test_a_judge_that_asks_no_model_still_blocks(pytester: pytest.Pytester) -> None:
    both = ["exact", {"rubric": "is right"}]
    cases = (
        case("both-fail", input="wrong", expected="x", judges=both),
        case("only-exact", input="right", expected="x", judges=both),
        case("only-rubric", input="wrong", expected="wrong", judges=both),
        case("no-model", input="wrong", expected="x"),
    )
    checkout = judged(*cases, min_kappa=0.6).at(pytester)
    checkout.run("eval").assert_outcomes(failed=3, xfailed=1)
    assert sorted(checkout.boxes()) == ["both-fail", "no-model", "only-exact"]


def test_a_crash_stays_the_third_outcome(pytester: pytest.Pytester) -> None:
    checkout = judged(asks("a", "wrong"), judge="prose", min_kappa=0.6, preflight="off").at(pytester)
    checkout.run("eval").assert_outcomes(errors=1)
    assert checkout.outcomes() == {"a": "error"}


def test_a_broken_calibration_ends_the_run_before_anything_is_asked(pytester: pytest.Pytester) -> None:
    project = judged(asks("a", "wrong"), min_kappa=0.6)
    checkout = project.with_files({"eval/calibration.yaml": "judges:\n  - {judge: rubric}\n"}).at(pytester)
    result = checkout.run("eval")
    result.stdout.fnmatch_lines(["*eval/calibration.yaml:2: judges.0.model: is missing; add it"])
    assert checkout.asked() == []
    assert result.ret != 0


def test_a_fail_that_was_confirmed_blocks_nobody_either(pytester: pytest.Pytester) -> None:
    checkout = judged(asks("bad", "wrong"), min_kappa=0.6, confirm="2of3").at(pytester)
    checkout.run("eval").assert_outcomes(xfailed=1)
    assert [bool(trial.unproven) for trial in checkout.journal().trials] == [True, True]
    assert checkout.boxes() == {}
    assert checkout.recall("score", "--fail-on", "failure").ret == 0
