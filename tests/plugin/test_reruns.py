"""Reruns: with pytest-rerunfailures the last trial grades."""

from __future__ import annotations

from datetime import date

import pytest

from tests.helpers.project import BARE, case, failing, row
from tests.helpers.talking import agent, asking, calls, cassette, talking
from tests.helpers.upstream import Upstream

FLAKY = """
@pytest.fixture
def agent():
    def answer(question):
        asked(question)
        tries = pathlib.Path(__file__).with_name("asked.txt").read_text().split().count(question)
        if question == "crashes-once" and tries == 1:
            raise RuntimeError("boom")
        return question if tries > 1 else "not yet"

    return answer
"""
RERUNS = "--reruns=2"
ALONE = ("-p", "no:xdist")
"""With pytest-xdist, pytest-rerunfailures opens a socket in every run."""
WORKERS = ("-p", "pytest_rerunfailures", "-n1")
"""In a process of its own, which nothing but that opens it in."""
SET = (
    BARE.with_agent(FLAKY)
    .with_cases(
        case("fails-once", input="fails-once"),
        case("crashes-once", input="crashes-once"),
        failing("always"),
        case("new", input="new"),
    )
    .with_state(fails_once=row(2), crashes_once=row(2), always=row(3, 3))
)


@pytest.mark.parametrize("workers", [False, True], ids=["alone", "n1"])
def test_the_last_trial_grades_and_every_attempt_is_in_the_journal(
    pytester: pytest.Pytester, request: pytest.FixtureRequest, workers: bool
) -> None:
    pytest.importorskip("pytest_rerunfailures")
    checkout = SET.at(pytester)
    if workers:
        result = checkout.run_apart("eval", RERUNS, *WORKERS)
    else:
        request.getfixturevalue("every_plugin")
        result = checkout.run("eval", RERUNS, *ALONE)
    outcomes = result.parseoutcomes()
    assert (outcomes["passed"], outcomes["failed"], outcomes["rerun"]) == (3, 1, 5)
    assert checkout.boxes() == {"always": 1, "crashes-once": 3, "fails-once": 3, "new": 1}
    # A case counts once, however often it was tried.
    assert {case_id: found.pass_streak for case_id, found in checkout.state().items()} == {
        "always": 0,
        "crashes-once": 2,
        "fails-once": 2,
        "new": 1,
    }
    card = checkout.scorecard()
    assert card["counts"] == {"passed": 3, "failed": 1}
    assert card["failed"][0]["attempts"] == 3
    trials = [(trial.case_id, trial.attempt, trial.outcome.value) for trial in checkout.journal().trials]
    assert sorted(trials) == [
        ("always", 1, "failed"),
        ("always", 2, "failed"),
        ("always", 3, "failed"),
        ("crashes-once", 1, "error"),
        ("crashes-once", 2, "passed"),
        ("fails-once", 1, "failed"),
        ("fails-once", 2, "passed"),
        ("new", 1, "failed"),
        ("new", 2, "passed"),
    ]


@pytest.mark.parametrize("options", [("-p", "pytest_rerunfailures", *ALONE), WORKERS], ids=["alone", "n1"])
def test_a_fail_that_only_informs_is_tried_again_and_is_expected_at_the_last_trial(
    pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    pytest.importorskip("pytest_rerunfailures")
    cases = [case("new", input="new"), case("known", input="known"), failing("always"), case("apart", input="apart")]
    made = BARE.with_agent(FLAKY).with_files({"eval/rubric.yaml": "owner: us\n"}).with_cases(*cases)
    apart = row(2, quarantined=date(2026, 3, 1), until=date(2026, 3, 30))
    checkout = made.with_state(known=row(1, 0), apart=apart).at(pytester)
    result = checkout.run_apart("eval", RERUNS, *options)
    assert result.parseoutcomes() == {"passed": 3, "xfailed": 1, "rerun": 5}
    assert result.ret == pytest.ExitCode.OK
    assert checkout.boxes() == {"always": 1, "apart": 3, "known": 2, "new": 1}
    assert checkout.outcomes() == {"always": "failed", **dict.fromkeys(("apart", "known", "new"), "passed")}


def test_its_workers_reach_their_controller_in_a_replay(pytester: pytest.Pytester, upstream: Upstream) -> None:
    pytest.importorskip("pytest_rerunfailures")
    checkout = talking(upstream, agent("return httpx2_sync(question)")).with_cases(asking("a")).at(pytester)
    checkout.run("eval", "--record").assert_outcomes(passed=1)
    upstream.close()
    checkout.run_apart("eval", "--replay", "--recall-mode=all", "--reruns=1", *WORKERS).assert_outcomes(passed=1)


@pytest.mark.parametrize("apart", [("-p", "pytest_rerunfailures", "-p", "no:xdist"), WORKERS], ids=["alone", "n1"])
def test_the_last_run_is_recorded_and_each_rerun_of_a_replay_is_served_it_from_the_start(
    pytester: pytest.Pytester, upstream: Upstream, apart: tuple[str, ...]
) -> None:
    pytest.importorskip("pytest_rerunfailures")
    body = "return httpx2_sync(question) + httpx2_sync(question) + httpx2_sync('then')"
    cases = asking("a", judges=[{"contains": "nowhere"}])
    checkout = talking(upstream, agent(body)).with_cases(cases).at(pytester)
    checkout.run_apart("eval", "--record", RERUNS, *apart)
    answers = [trial.answer for trial in checkout.journal().trials]
    assert upstream.count == 9
    assert answers[0] != answers[1] != answers[2]
    assert len(calls(cassette(checkout, "a"))) == 3
    upstream.close()
    checkout.run_apart("eval", "--replay", "--recall-mode=all", RERUNS, *apart)
    trials = checkout.journal().trials
    assert [(one.attempt, one.outcome.value, one.answer) for one in trials] == [
        (attempt, "failed", answers[-1]) for attempt in (1, 2, 3)
    ]
