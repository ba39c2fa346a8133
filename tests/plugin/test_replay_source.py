"""Where an answer came from, what that is worth, and which kinds of calls are replayed at all."""

from __future__ import annotations

import pytest

from tests.helpers import kept
from tests.helpers.project import Checkout, Project, row, state_yaml
from tests.helpers.talking import (
    LATE,
    agent,
    answers,
    asking,
    asks,
    calls,
    cassette,
    finished,
    no_sockets,
    sources,
    talking,
    trial,
)
from tests.helpers.upstream import Upstream, numbers

pytest.importorskip("httpx2")

JUDGE = """

@pytest.fixture
def judge_kind():
    def judge(answer, case):
        return "#" in httpx2_sync("is this kind: " + answer.text)
    return judge
"""


class TestEvidence:
    """A verdict on a replayed answer says nothing new of the model."""

    @staticmethod
    def recorded(pytester: pytest.Pytester, lasting: Upstream) -> Checkout:
        """Return a project with a recording, in which `good` passes and `bad` fails, both of them in box 2."""
        project = asks(lasting, "httpx2_sync").with_cases(
            asking("good"), asking("bad", judges=[{"regex": "no such text"}])
        )

        def begin() -> Checkout:
            checkout = project.at(pytester)
            checkout.run("eval", "--record").assert_outcomes(passed=1, failed=1)
            return checkout

        checkout = kept.after(pytester, f"one passes and one fails at {lasting.url}", begin)
        checkout.forget()
        (checkout.path / "eval/recall.yaml").write_text(state_yaml(good=row(2), bad=row(3, 2)), encoding="utf-8")
        return checkout

    def test_a_replayed_verdict_moves_no_box(self, pytester: pytest.Pytester, lasting: Upstream) -> None:
        checkout = self.recorded(pytester, lasting)
        before = checkout.state_text()
        checkout.run("eval", "--replay", "-n1").assert_outcomes(passed=1, failed=1)
        assert checkout.outcomes() == {"good": "passed", "bad": "failed"}
        assert sources(checkout) == {"good": "replayed", "bad": "replayed"}
        assert checkout.state_text() == before
        assert [trial.counts_for_schedule for trial in checkout.journal().trials] == [False, False]

    def test_it_does_if_the_user_says_so(self, pytester: pytest.Pytester, lasting: Upstream) -> None:
        checkout = self.recorded(pytester, lasting)
        checkout.run("eval", "--replay", "--recall-trust-replays")
        assert checkout.boxes() == {"good": 3, "bad": 1}
        # A new case stays new without that.
        checkout.forget()
        checkout.run("eval", "--replay")
        assert checkout.boxes() == {}

    def test_an_answer_that_is_partly_recorded_moves_no_box(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        body = "return question if question == 'live' else ' & '.join(map(httpx2_sync, {}))"
        project = talking(upstream, agent(body.format("['one']"))).with_cases(asking("a"), asking("live"))
        checkout = project.at(pytester)
        checkout.run("eval", "--record")
        checkout.forget()
        # A live verdict in a replay is evidence as well.
        checkout.run("eval", "--replay").assert_outcomes(passed=2)
        assert sources(checkout) == {"a": "replayed", "live": "live"}
        assert checkout.boxes() == {"live": 1}
        talking(upstream, agent(body.format("['one', 'two']"))).at(pytester)
        checkout.run("eval", "--record=missing", "--recall-mode=all").assert_outcomes(passed=2)
        assert sources(checkout) == {"a": "mixed", "live": "live"}
        assert [call.source for call in trial(checkout, "a").calls] == ["replayed", "live"]
        assert checkout.boxes() == {"live": 2}


class TestKinds:
    """An agent and its judge are replayed, unless the command line says otherwise."""

    @staticmethod
    def project(upstream: Upstream) -> Project:
        """Return a project whose judge asks the upstream as well."""
        return talking(upstream, agent("return httpx2_sync(question)") + JUDGE).with_cases(asking("a", judges=["kind"]))

    def test_a_judge_may_be_live(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        checkout = self.project(upstream).at(pytester)
        option = ("--recall-live", "judge")
        checkout.run("eval", "--record", *option).assert_outcomes(passed=1)
        assert len(calls(cassette(checkout, "a"))) == 1
        result = checkout.run("eval", "--replay", "--recall-mode=all", *option, "-n1")
        result.assert_outcomes(passed=1)
        said = "recall: live, over the network, and not recorded: calls of the kind judge"
        assert result.outlines.count(said) == 1
        assert upstream.count == 3
        assert [(call.kind, call.source) for call in trial(checkout, "a").calls] == [
            ("agent", "replayed"),
            ("judge", "live"),
        ]
        # What the judge costs makes no evidence of an answer that was replayed.
        assert sources(checkout) == {"a": "replayed"}
        # Where it may not be live, what it asks and is not recorded is no verdict.
        upstream.close()
        checkout.run("eval", "--replay", "--recall-mode=all").assert_outcomes(errors=1)
        error = trial(checkout, "a").error
        assert error.startswith(f"eval/cassettes/one/a.ndjson: POST {upstream.url}/any is not recorded")
        assert "`pytest -p recall 'eval/cases.yaml::a' --record` records it" in error

    def test_a_judge_is_recorded_by_default(
        self, pytester: pytest.Pytester, lasting: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout = kept.recorded(pytester, self.project(lasting))
        assert [exchange.kind for exchange in calls(cassette(checkout, "a"))] == ["agent", "judge"]
        met = no_sockets(monkeypatch)
        checkout.run("eval", "--replay", "--recall-mode=all").assert_outcomes(passed=1)
        assert met == []
        assert [(call.kind, call.source) for call in trial(checkout, "a").calls] == [
            ("agent", "replayed"),
            ("judge", "replayed"),
        ]

    def test_recorded_calls_of_a_kind_that_is_live_are_neither_missed_nor_removed(
        self, pytester: pytest.Pytester, lasting: Upstream
    ) -> None:
        checkout = kept.recorded(pytester, self.project(lasting))
        live = ("--recall-live", "judge", "--recall-mode=all")
        checkout.run("eval", "--replay", *live).assert_outcomes(passed=1)
        assert [(call.kind, call.source) for call in trial(checkout, "a").calls] == [
            ("agent", "replayed"),
            ("judge", "live"),
        ]
        talking(lasting, agent("return httpx2_sync(question) + httpx2_sync('more')") + JUDGE).at(pytester)
        checkout.run("eval", "--record=missing", *live).assert_outcomes(passed=1)
        assert sorted(exchange.kind for exchange in calls(cassette(checkout, "a"))) == ["agent", "agent", "judge"]

    def test_an_agent_may_stay_live(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        checkout = self.project(upstream).at(pytester)
        for option in ("--record", "--replay"):
            checkout.run("eval", option, "--recall-live", "agent,judge", "--recall-mode=all").assert_outcomes(passed=1)
            assert sources(checkout) == {"a": "live"}
        assert finished(checkout) == {}
        assert upstream.count == 4

    def test_work_on_the_side_has_a_kind_of_its_own(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        source = """\
@pytest.fixture
def agent(recall_kind):
    def answer(question):
        with recall_kind("worker"), concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(httpx2_sync, "remember this").result()
        return httpx2_sync(question)
    return answer
"""
        checkout = talking(upstream, source).with_cases(asking("a")).at(pytester)
        checkout.run("eval", "--record").assert_outcomes(passed=1)
        assert [exchange.kind for exchange in calls(cassette(checkout, "a"))] == ["worker", "agent"]
        upstream.close()
        checkout.run("eval", "--replay", "--recall-mode=all").assert_outcomes(passed=1)
        assert [call.kind for call in trial(checkout, "a").calls] == ["worker", "agent"]

    def test_a_thread_of_the_agent_is_no_judge_when_the_judge_speaks(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        source = (
            LATE
            + """\
@pytest.fixture
def agent():
    def answer(question):
        threading.Thread(target=late, daemon=True).start()
        return httpx2_sync(question)
    return answer


@pytest.fixture
def judge_kind():
    def judge(answer, case):
        TOLD.set()
        return OVER.wait(20)
    return judge
"""
        )
        cases = asking("a", judges=["kind"])
        checkout = talking(upstream, source.format(call="pass")).with_cases(cases).at(pytester)
        checkout.run("eval", "--record").assert_outcomes(passed=1)
        talking(upstream, source.format(call="httpx2_sync('late')")).at(pytester)
        checkout.run("eval", "--replay", "--recall-mode=all")
        assert upstream.prompts == ["a"]
        assert checkout.outcomes() == {"a": "error"}


@pytest.mark.usefixtures("every_plugin")
def test_a_rerun_counts_its_own_calls_only(pytester: pytest.Pytester, upstream: Upstream) -> None:
    pytest.importorskip("pytest_rerunfailures")
    source = "TIMES = []\n" + agent("TIMES.append(1)\ntext = httpx2_sync(question)\nreturn text if TIMES[1:] else ''")
    checkout = talking(upstream, source).with_cases(asking("a", judges=[{"regex": "#"}])).at(pytester)
    checkout.run("eval", "--record", "--reruns=1").assert_outcomes(passed=1)
    assert [len(trial.calls) for trial in checkout.journal().trials] == [1, 1]
    # What the last attempt asked is the recording.
    assert len(calls(cassette(checkout, "a"))) == 1
    upstream.close()
    checkout.run("eval", "--replay", "--recall-mode=all").assert_outcomes(failed=1)
    assert sources(checkout) == {"a": "replayed"}


def test_without_an_option_nothing_is_written_and_the_calls_are_known(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    checkout = asks(upstream, "httpx2_sync", "a").at(pytester)
    checkout.run("eval").assert_outcomes(passed=1)
    assert not (checkout.path / "eval/cassettes").exists()
    assert numbers(answers(checkout)["a"]) == [1]
    assert [call.source for call in trial(checkout, "a").calls] == ["live"]
