"""Verdicts that rest on what was replayed for a wider fixture, or for another case."""

from __future__ import annotations

import pytest

from tests.helpers.project import Checkout
from tests.helpers.talking import answers, asking, sources, talking
from tests.helpers.upstream import Upstream

pytest.importorskip("httpx")

ANSWERS = """\
@pytest.fixture(scope="session")
def index():
    return plain_sync("index")


@pytest.fixture
def agent(index):
    return lambda question: f"{index} | {plain_sync(question)}"
"""
NO_CALL = """\


@pytest.fixture
def agent():
    return lambda question: "no model was asked"
"""


def boxes_of(checkout: Checkout, *options: str) -> dict[str, int]:
    """Run all cases with these options, and return the boxes after it."""
    checkout.run("eval", "--recall-mode=all", *options)
    return checkout.boxes()


@pytest.mark.parametrize("way", ["--replay", "--record=missing"])
def test_what_rests_on_replayed_answers_moves_no_box(pytester: pytest.Pytester, upstream: Upstream, way: str) -> None:
    """A case that makes no call itself may have its answer from a fixture."""
    made = talking(upstream, ANSWERS.replace('f"{index} | {plain_sync(question)}"', "index")).with_cases(asking("one"))
    conftest = talking(upstream, NO_CALL).files["eval/conftest.py"]
    made = made.with_files({"eval/apart/conftest.py": conftest}).with_cases(
        asking("two"), file="eval/apart/it.cases.yaml"
    )
    checkout = made.at(pytester)
    assert boxes_of(checkout, "--record", "--recall-date=2026-03-02") == {"one": 1, "two": 1}
    asked = upstream.count
    assert boxes_of(checkout, way, "--recall-date=2026-03-03") == {"one": 1, "two": 2}
    assert sources(checkout) == {"one": "mixed", "two": "live"}
    assert upstream.count == asked


def test_a_call_of_its_own_does_not_make_it_news(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = talking(upstream, ANSWERS).with_cases(asking("one")).at(pytester)
    checkout.run("eval", "--record").assert_outcomes(passed=1)
    checkout = talking(upstream, ANSWERS).with_cases(asking("one", "two")).at(pytester)
    assert boxes_of(checkout, "--record=missing", "--recall-date=2030-01-01") == {"one": 1}
    assert sources(checkout) == {"one": "mixed"}


BY_ARGUMENT = """\
@pytest.fixture
def agent(index):
    return lambda question: f"{index} | {plain_sync(question)}"
"""
IN_SETUP = """\
@pytest.fixture
def agent(request):
    index = request.getfixturevalue("index")
    return lambda question: f"{index} | {plain_sync(question)}"
"""
IN_CALL = """\
@pytest.fixture
def agent(request):
    return lambda question: f"{request.getfixturevalue('index')} | {plain_sync(question)}"
"""


@pytest.fixture(params=[BY_ARGUMENT, IN_SETUP, IN_CALL], ids=["argument", "setup", "call"])
def recorded(pytester: pytest.Pytester, upstream: Upstream, request: pytest.FixtureRequest) -> Checkout:
    """Two recorded cases, of which one was recorded again, and with it the fixture of both, however they use it."""
    assert BY_ARGUMENT in ANSWERS
    source = ANSWERS.replace(BY_ARGUMENT, request.param)
    checkout = talking(upstream, source).with_cases(asking("one"), asking("two")).at(pytester)
    checkout.run("eval", "--record").assert_outcomes(passed=2)
    checkout.run("eval/cases.yaml::one", "--record").assert_outcomes(passed=1)
    return checkout


def test_a_case_is_not_replayed_with_other_answers_to_its_fixture(recorded: Checkout, upstream: Upstream) -> None:
    asked = upstream.count
    result = recorded.run("eval", "--recall-mode=all", "--replay")
    result.assert_outcomes(passed=1, errors=1)
    told = "was recorded with other answers to the fixture `index` than are recorded of it now; `pytest -p recall"
    result.stdout.fnmatch_lines(
        [f"  error: two: *two.ndjson: {told} 'eval/cases.yaml::two' --record=missing` records it*"]
    )
    assert upstream.count == asked


def test_what_is_missing_is_the_answer_with_those_of_the_fixture(recorded: Checkout, upstream: Upstream) -> None:
    asked = upstream.count
    recorded.run("eval", "--recall-mode=all", "--record=missing").assert_outcomes(passed=2)
    now = answers(recorded)
    recorded.run("eval", "--recall-mode=all", "--replay").assert_outcomes(passed=2)
    assert answers(recorded) == now
    assert upstream.count == asked


def test_an_answer_is_not_compared_with_one_that_rests_on_another(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    """Nobody has touched the agent, so that it is not the cause."""
    cases = [asking("one"), asking("two", judges=[{"contains": "#0001"}])]
    checkout = talking(upstream, ANSWERS).with_cases(*cases).at(pytester)
    checkout.run("eval", "--record").assert_outcomes(passed=2)
    checkout.run("eval/cases.yaml::one", "--record").assert_outcomes(passed=1)
    result = checkout.run("eval", "--recall-mode=all", "--record=missing")
    result.assert_outcomes(passed=1, failed=1)
    assert "it made another answer" not in result.stdout.str()


def test_workers_that_got_other_answers_are_found_out(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = talking(upstream, ANSWERS).with_cases(asking("one"), asking("two")).at(pytester)
    checkout.run("eval", "--record", "-n2").assert_outcomes(passed=2)
    checkout.run("eval", "--recall-mode=all", "--replay").assert_outcomes(passed=1, errors=1)
    checkout.run("eval", "--recall-mode=all", "--record=missing").assert_outcomes(passed=2)
    checkout.run("eval", "--recall-mode=all", "--replay", "-n2").assert_outcomes(passed=2)
