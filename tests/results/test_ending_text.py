"""Why a trial came to no verdict, in words: each way has its sentence, here and nowhere else."""

from __future__ import annotations

import pytest

from pytest_recall.models.outage import Outage
from pytest_recall.results.ending_text import ending_text, explanation, no_verdict_json
from pytest_recall.trials.execution import Result
from pytest_recall.trials.trial import SeriesTally, Verdict
from tests.helpers.samples import ERROR, FAILED, SKIPPED, trial

DOWN = Outage("failing", "h", "500")


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (
            Result(ERROR, error="agent: RuntimeError: boom", stage="agent", ended_by="exception"),
            "agent: RuntimeError: boom",
        ),
        (Result(ERROR, error="RuntimeError: boom", stage="setup", ended_by="exception"), "setup: RuntimeError: boom"),
        (Result(ERROR, error="HTTPError: 500", stage="agent", ended_by="outage", outage=DOWN), "agent: h fails (500)"),
        (Result(ERROR, error="HTTPError: 500", ended_by="outage", outage=DOWN), "h fails (500)"),
        (Result(ERROR, error="'gw0' crashed", ended_by="crash"), "the worker died: 'gw0' crashed"),
        (
            Result(ERROR, error="start it", stage="setup", ended_by="exception", outage=DOWN),
            "setup: start it",
        ),
        (Result(SKIPPED, error="no key", ended_by="skip"), "no key"),
        (Result(SKIPPED, error="not yet", ended_by="xfail"), "expected to fail: not yet"),
        (
            Result(ERROR, error="http-500", ended_by="error-reply"),
            "no verdict on the change, since the provider failed: http-500",
        ),
        (
            Result(ERROR, ended_by="no-calls"),
            "no verdict on the change: its recording has calls, and this run made none; a cache of the agent may have"
            " answered, so switch it off or empty it",
        ),
    ],
)
def test_how_a_trial_ended(result: Result, text: str) -> None:
    assert ending_text(result) == text


@pytest.mark.parametrize(
    ("error", "cut_off", "text"),
    [
        ("boom", False, "pass 2of3 came to no verdict: 1 passed, 2 error (boom)"),
        ("", True, "pass 2of3 was cut off: 1 passed, 2 error"),
    ],
)
def test_what_a_series_came_to_comes_before_the_last_error(error: str, text: str, *, cut_off: bool) -> None:
    tally = SeriesTally((("passed", 1), ("error", 2)), cut_off=cut_off)
    assert explanation(trial("a", ERROR, error=error, rule="pass 2of3", tally=tally)) == text


def test_a_fail_is_explained_by_the_judges_that_failed_it() -> None:
    failed = trial("a", FAILED, verdicts=(Verdict(passed=False, judge="exact", reason="no “two”"),))
    assert explanation(failed) == "exact: no “two”"


def test_a_series_keeps_its_rule_in_json() -> None:
    tally = SeriesTally((("error", 2),), cut_off=True)
    plain = no_verdict_json(trial("a", ERROR, rule="pass 2of3", tally=tally))
    assert plain["series"] == {"rule": "pass 2of3", "cut_off": True, "counts": {"error": 2}}
