"""`--budget`: no call begins once the money is spent, and what is left is listed as not run."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.models import prices
from tests.helpers.project import Checkout, Project
from tests.helpers.talking import agent, asking, talking
from tests.helpers.upstream import Upstream

pytest.importorskip("httpx")

Workers = tuple[str, ...]
# A call reads 10 tokens by the upstream: one dollar each. By its text it may have 23.
RUBRIC = "owner: ana\nprices: {gpt-4o-mini: {input: 100000, output: 0}}\n"
NAMES = [f"c{number}" for number in range(6)]


def project(upstream: Upstream, body: str = "return plain_sync(question)", rubric: str = RUBRIC) -> Project:
    """Return a project whose cases cost a dollar each."""
    made = talking(upstream, agent(body)).with_cases(*map(asking, NAMES))
    return made.with_files({"eval/rubric.yaml": rubric})


def left_alone(checkout: Checkout) -> None:
    """Check that nothing of the ledger is left."""
    assert list(checkout.artifacts.folder.glob(".spent*")) == []


class TestSpent:
    """A budget that is not enough."""

    def test_what_is_left_is_not_run(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        checkout = project(upstream).at(pytester)
        result = checkout.run("eval", "--recall-mode=all", "--budget=4.50")
        result.assert_outcomes(passed=3, skipped=3)
        assert result.ret == pytest.ExitCode.INTERRUPTED
        assert upstream.count == 3
        card = checkout.scorecard()
        assert len(card["not_run"]) == 3
        assert card["counts"] == {"passed": 3, "not run": 3}
        assert len(checkout.boxes()) == 3
        assert card["stop"] == {"cause": "budget", "kind": "no-room", "usd": 4.5}
        assert card["cost"]["total"]["spent"]["usd"] == 3.0
        left_alone(checkout)

    @pytest.mark.parametrize("mode", ["pr", "main", "nightly", "all", "observe"])
    def test_the_one_of_the_rubric_is_that_of_a_run_of_any_mode_and_the_command_line_goes_before_it(
        self, pytester: pytest.Pytester, upstream: Upstream, mode: str
    ) -> None:
        checkout = project(upstream, rubric=f"{RUBRIC}budget: 4.50\n").at(pytester)
        for options, budget in (((), 4.5), (("--budget=90",), 90.0)):
            checkout.run("eval", f"--recall-mode={mode}", *options)
            assert checkout.journal().header.budget == budget

    @pytest.mark.parametrize("options", [("-n", "2"), ("--recall-concurrency=4",)], ids=["n2", "at once"])
    def test_it_is_passed_by_no_call_in_flight(
        self, pytester: pytest.Pytester, upstream: Upstream, options: Workers
    ) -> None:
        checkout = project(upstream, "return plain_sync(question)").at(pytester)
        result = checkout.run("eval", "--recall-mode=all", "--budget=3.50", *options)
        assert 1 <= upstream.count <= 3
        assert checkout.scorecard()["cost"]["total"]["spent"]["usd"] == upstream.count
        assert sum(trial.outcome.is_verdict for trial in checkout.journal().trials) == upstream.count
        assert result.ret == pytest.ExitCode.INTERRUPTED
        left_alone(checkout)

    def test_calls_at_once_wait_for_what_others_have_reserved(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        """Four calls may cost $2.30 each and cost $1.00: with $7.50 all six are made, though not four at a time."""
        checkout = project(upstream, "return plain_sync(question)").at(pytester)
        result = checkout.run("eval", "--recall-mode=all", "--budget=7.50", "--recall-concurrency=4")
        result.assert_outcomes(passed=6)
        assert result.ret == pytest.ExitCode.OK

    def test_a_case_in_the_middle_comes_to_no_verdict(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        body = "try:\n    return plain_sync(question) + plain_sync(question)\nexcept Exception:\n    return 'sorry'"
        checkout = project(upstream, body).at(pytester)
        result = checkout.run("eval", "--recall-mode=all", "--budget=4.50")
        result.assert_outcomes(passed=1, errors=1, skipped=4)
        assert upstream.count == 3
        assert len(checkout.boxes()) == 1
        (told,) = checkout.scorecard()["no_verdict"]
        said = "not asked, since the budget of $4.50 has no room for another call: it may cost $2.30, and $1.50 is left"
        assert told["note"].endswith(said)
        assert told["ended_by"] == "budget"
        assert result.ret == pytest.ExitCode.INTERRUPTED

    @pytest.mark.parametrize("fails", [False, True], ids=["cut", "failed"])
    def test_the_last_case_in_the_middle_is_cut_off_and_a_fail_is_a_fail(
        self, pytester: pytest.Pytester, upstream: Upstream, *, fails: bool
    ) -> None:
        body = "return plain_sync(question) + plain_sync(question)"
        first = asking("c0", judges=[{"contains": "no such word"}]) if fails else asking("c0")
        made = talking(upstream, agent(body)).with_cases(first, asking("c1"))
        checkout = made.with_files({"eval/rubric.yaml": f"{RUBRIC}blocks: failure\n"}).at(pytester)
        result = checkout.run("eval", "--recall-mode=all", "--budget=4.50")
        assert checkout.outcomes() == {"c0": "failed" if fails else "passed", "c1": "error"}
        assert result.ret == (pytest.ExitCode.TESTS_FAILED if fails else pytest.ExitCode.INTERRUPTED)

    def test_an_error_is_none_of_the_budget_whatever_it_says(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        said = "the budget of $4.50 has no room for another call"
        body = f"if 'c0' in question:\n    raise ValueError('{said}')\nreturn plain_sync(question)"
        checkout = project(upstream, body).at(pytester)
        result = checkout.run("eval", "--recall-mode=all", "--budget=4.50")
        result.assert_outcomes(passed=3, errors=1, skipped=2)
        assert said in result.stdout.str()
        assert result.ret == pytest.ExitCode.TESTS_FAILED

    def test_a_fixture_that_runs_out_of_money_cuts_its_case_off(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        fixtures = (
            "\n\n@pytest.fixture(autouse=True)\ndef first():\n    plain_sync('first')\n    plain_sync('second')\n"
            "\n\n@pytest.fixture(scope='module')\ndef wide():\n    plain_sync('wide')\n    plain_sync('wider')\n"
            "\n\n@pytest.fixture(autouse=True)\ndef last(first, request):\n    request.getfixturevalue('wide')\n"
        )
        made = talking(upstream, agent("return question") + fixtures).with_cases(asking("c0"))
        checkout = made.with_files({"eval/rubric.yaml": RUBRIC}).at(pytester)
        result = checkout.run("eval", "--recall-mode=all", "--budget=4.50")
        assert (checkout.outcomes(), upstream.count) == ({"c0": "error"}, 3)
        assert result.ret == pytest.ExitCode.INTERRUPTED

    def test_judges_are_paid_from_the_same_purse(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        judge = (
            "\n\n@pytest.fixture\ndef judge_asked():\n"
            "    return lambda answer, case: '#' in plain_sync('is it right: ' + answer.text)\n"
        )
        made = talking(upstream, agent("return plain_sync(question)") + judge)
        cases = [asking(name, judges=["asked"]) for name in NAMES]
        checkout = made.with_cases(*cases).with_files({"eval/rubric.yaml": RUBRIC}).at(pytester)
        checkout.run("eval", "--recall-mode=all", "--budget=6.25").assert_outcomes(passed=2, skipped=4)
        assert upstream.count == 4


class TestEnough:
    """A budget that is kept."""

    def test_a_run_that_has_asked_all_is_a_success(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[str | None] = []
        real = prices.price

        def counted(model: str | None, *rest: Any) -> float | None:
            asked.append(model)
            return real(model, *rest)

        monkeypatch.setattr(prices, "price", counted)
        checkout = project(upstream, "return plain_sync(question)").at(pytester)
        result = checkout.run("eval", "--recall-mode=all", "--budget=$8")
        result.assert_outcomes(passed=6)
        assert result.ret == pytest.ExitCode.OK
        result.stdout.fnmatch_lines(["spent $6.00 of the budget of $8.00"])
        assert asked == ["gpt-4o-mini"] * 12, "a call is priced before and after it"
        assert checkout.scorecard()["cost"]["total"]["spent"]["usd"] == 6.0
        left_alone(checkout)

    def test_replayed_calls_cost_nothing(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        checkout = project(upstream).at(pytester)
        checkout.run("eval", "--record", "--recall-mode=all").assert_outcomes(passed=6)
        assert checkout.scorecard()["cost"]["total"]["spent"]["usd"] == 6.0  # By prices of one's own, without a budget.
        upstream.close()
        result = checkout.run("eval", "--replay", "--recall-mode=all", "--budget=1")
        result.assert_outcomes(passed=6)
        result.stdout.fnmatch_lines(["spent $0.00 of the budget of $1.00"])


def test_a_model_without_a_price_is_asked_no_second_time(pytester: pytest.Pytester, upstream: Upstream) -> None:
    body = "client = openai_client()\nreturn client.chat.completions.create(model='own', messages=said(question))"
    files = project(upstream, body + ".choices[0].message.content", "owner: ana\n")
    # By this address a model on this machine is not known to be on it, so that its price is unknown.
    elsewhere = {name: text.replace("127.0.0.1", "0.0.0.0") for name, text in files.files.items()}
    checkout = files.with_files(elsewhere).at(pytester)
    result = checkout.run_apart("eval", "--recall-mode=all", "--budget=3")
    result.assert_outcomes(passed=1, skipped=5)
    assert upstream.count == 1
    assert "the price of `own` is unknown, so that no budget can be kept" in result.stdout.str()


class TestMayCost:
    """What a call may cost is reserved before it begins."""

    def test_the_answer_is_as_long_as_the_request_allows(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        """`plain_messages` allows 64 tokens, of which each costs a dollar; five come back."""
        rubric = "owner: ana\nprices: {claude-haiku-4-5: {input: 0, output: 1000000}}\n"
        checkout = project(upstream, "return plain_messages(question)", rubric).at(pytester)
        result = checkout.run("eval", "--recall-mode=all", "--budget=75")
        assert upstream.count == 3  # After 15 dollars there is no room for 64.
        assert checkout.scorecard()["cost"]["total"]["spent"]["usd"] == 15.0
        result.stdout.fnmatch_lines(["spent $15.00 of the budget of $75.00, * $64.00"])
        left_alone(checkout)

    def test_a_call_that_alone_may_cost_more_is_not_made(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        checkout = project(upstream).at(pytester)
        result = checkout.run("eval", "--recall-mode=all", "--budget=2")
        assert upstream.count == 0
        result.assert_outcomes(skipped=6)
        result.stdout.fnmatch_lines(["spent $0.00 of the budget of $2.00, which * as one may cost $2.30"])

    def test_a_call_that_the_network_cut_has_cost_what_it_may_have(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        made = talking(upstream, agent("return plain_sync(question)")).with_cases(
            asking("c0"), asking("c1", "drop"), asking("c2")
        )
        checkout = made.with_files({"eval/rubric.yaml": RUBRIC}).at(pytester)
        result = checkout.run("eval", "--recall-mode=all", "--budget=9")
        result.stdout.fnmatch_lines(["spent ~$4.?0", "spent ~$4.?0 of the budget of $9.00"])
        assert checkout.scorecard()["cost"]["total"]["spent"]["estimated"] is True
