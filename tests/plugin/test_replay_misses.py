"""Misses: what a recording does not answer fails the test, whatever the agent makes of it."""

from __future__ import annotations

import itertools
import socket
from typing import NamedTuple

import pytest

from tests.helpers import kept
from tests.helpers.project import ECHOING, Checkout
from tests.helpers.talking import (
    LATE,
    SDK_WAYS,
    agent,
    agents,
    answers,
    asking,
    asks,
    calls,
    cassette,
    finished,
    no_sleep,
    no_sockets,
    sources,
    talking,
    trial,
)
from tests.helpers.upstream import Upstream, numbers
from tests.plugin.conftest import Once

pytest.importorskip("openai")
pytest.importorskip("anthropic")

Workers = tuple[str, ...]

RECORDED = "httpx2_sync('recorded')"
"""What an agent does in a recording, before it is changed."""
BOTH = "one = httpx2_sync('one')\nreturn one + httpx2_sync('two')"


def recorded(pytester: pytest.Pytester, upstream: Upstream, body: str = f"return {RECORDED}") -> Checkout:
    """Return a project with a recording of what an agent with this `body` asks, and its upstream gone."""
    checkout = talking(upstream, agent(body)).with_cases(asking("a")).at(pytester)
    checkout.run("eval", "--record").assert_outcomes(passed=1)
    upstream.close()
    return checkout


def replayed(checkout: Checkout, upstream: Upstream, body: str) -> str:
    """Replay with an agent of this `body`, assert that it is an error, and return the error."""
    talking(upstream, agent(body)).at(checkout.pytester)
    asked = upstream.count
    result = checkout.run("eval", "--replay", "--recall-mode=all")
    assert result.ret == pytest.ExitCode.TESTS_FAILED, result.stdout.str()
    assert upstream.count == asked
    assert checkout.outcomes() == {"a": "error"}
    return trial(checkout, "a").error


def recorded_once(pytester: pytest.Pytester, lasting: Upstream, body: str = f"return {RECORDED}") -> Checkout:
    """Return what `recorded` returns, recorded once for all tests with this `body`; its upstream is still there."""
    return kept.recorded(pytester, talking(lasting, agent(body)).with_cases(asking("a")))


class TestWhoeverCatchesIt:
    """An SDK that tries again, an `except Exception`, a task, a thread."""

    BODIES = {  # noqa: RUF012
        **{way: f"return {way}('changed', max_retries=5)" for way in (*SDK_WAYS, "legacy")},
        **{
            name: f"{RECORDED}\n{body}"
            for name, body in {
                "exception": "try:\n    return openai_sync('changed')\nexcept Exception:\n    return 'none'",
                "base": "try:\n    return openai_sync('changed')\nexcept BaseException:\n    return 'nothing happened'",
                "finally": "try:\n    return httpx2_sync('changed')\nfinally:\n    return 'nothing happened'",
                "another": "try:\n    return httpx2_sync('changed')\n"
                "except BaseException:\n    raise ValueError('bad') from None",
                "skip": "try:\n    return httpx2_sync('changed')\nexcept BaseException:\n    pytest.skip('not today')",
            }.items()
        },
        "gather": "async def together():\n"
        "    prompts = ['recorded', 'changed', 'too']\n"
        "    texts = await asyncio.gather(*map(httpx2_async, prompts), return_exceptions=True)\n"
        "    return str(texts)\n"
        "return together()",
        "group": "async def together():\n"
        "    async with asyncio.TaskGroup() as group:\n"
        "        group.create_task(anthropic_async('changed'))\n"
        "    return 'never'\n"
        "return together()",
        "pool": "with concurrent.futures.ThreadPoolExecutor(2) as pool:\n"
        "    done = [pool.submit(openai_sync, prompt) for prompt in ('changed', 'too')]\n"
        "    return ' '.join(str(future.exception()) for future in done)",
        "loop": "return asyncio.run(asyncio.wait_for(anthropic_async('changed'), 20))",
    }

    def test_it_is_seen_through_retries_what_the_agent_makes_of_it_tasks_and_threads(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = talking(upstream, agent(f"return {RECORDED}")).with_cases(*map(asking, self.BODIES))
        checkout = before.at(pytester)
        checkout.run("eval", "--record", "--recall-mode=all").assert_outcomes(passed=len(self.BODIES))
        upstream.close()
        talking(upstream, agents(self.BODIES)).at(pytester)
        slept, met = no_sleep(monkeypatch), no_sockets(monkeypatch)
        checkout.run("eval", "--replay", "--recall-mode=all")
        assert checkout.outcomes() == dict.fromkeys(self.BODIES, "error")
        for name in self.BODIES:
            error = trial(checkout, name).error
            assert error.startswith(f"eval/cassettes/one/{name}.ndjson: POST {upstream.url}/")
            assert "is not recorded" in error
        assert (slept, met) == ([], [])

    def test_a_judge_that_is_replayed_cannot_hide_one(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        judge = "\n\n@pytest.fixture\ndef judge_kind():\n    return lambda answer, case: bool({})\n"
        rubric = {"eval/rubric.yaml": "owner: me\n"}
        base = talking(upstream, agent("return 'x'") + judge.format("httpx2_sync('fine?')"))
        checkout = base.with_files(rubric).with_cases(asking("a", judges=["kind"])).at(pytester)
        checkout.run("eval", "--record").assert_outcomes(passed=1)
        upstream.close()
        changed = "httpx2_sync('good?')"
        talking(upstream, agent("return 'x'") + judge.format(changed)).with_files(rubric).at(pytester)
        checkout.run("eval", "--replay", "--recall-mode=all")
        assert checkout.outcomes() == {"a": "error"}

    def test_it_moves_no_box_and_is_no_failed_verdict(self, pytester: pytest.Pytester, lasting: Upstream) -> None:
        checkout = recorded_once(pytester, lasting)
        before, asked = checkout.state_text(), lasting.count
        talking(lasting, agent("return httpx2_sync('changed')")).at(pytester)
        result = checkout.run("eval", "--replay", "--recall-mode=all", "-n1")
        result.assert_outcomes(errors=1)
        assert checkout.outcomes() == {"a": "error"}
        assert checkout.state_text() == before
        assert lasting.count == asked


def test_a_test_that_is_expected_to_fail_does_not_hide_one(pytester: pytest.Pytester) -> None:
    source = """\
import httpx2
import pytest


@pytest.mark.xfail(reason="the model is wrong about it")
@pytest.mark.recall("marked")
def test_marked():
    assert httpx2.post("http://127.0.0.1:9/v1", json={}).text == "right"
"""
    checkout = ECHOING.with_files({"eval/test_marked.py": source}).at(pytester)
    result = checkout.run("eval", "--replay")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert checkout.outcomes() == {"marked": "error"}
    result.stdout.fnmatch_lines(["*POST http://127.0.0.1:9/v1 is not recorded;*"])


class Missed(NamedTuple):
    """A replay in which each case misses something."""

    checkout: Checkout
    upstream: Upstream
    result: pytest.RunResult

    def told(self, case_id: str) -> list[str]:
        """Return the lines about a case, up to those about the next one."""
        lines = self.result.outlines
        [start] = [at for at, line in enumerate(lines) if line.startswith(f"  error: {case_id}: ")]
        return [lines[start], *itertools.takewhile(lambda line: line.startswith("      "), lines[start + 1 :])]


MESSAGES = {
    "changed": (
        "openai_sync('what is the weather in Rome')\nreturn openai_sync('name three colours of the {}')",
        ("rainbow", "sea"),
    ),
    "long": ("return openai_sync('word ' * 2000 + '{}')", ("first", "second")),
    "often": ("return ' & '.join(httpx2_sync('recorded') for _ in range({}))", ("2", "3")),
    "secret": ("import os\nreturn httpx2_sync('{} ' + os.environ['OPENAI_API_KEY'])", ("first", "second")),
}
"""What an agent asks, and what stands in it when it is recorded and when it is replayed."""


@pytest.fixture(scope="module")
def missed(once: Once, lasting: Upstream) -> Missed:
    """The replay of what was recorded before each prompt was changed."""
    with once() as pytester, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "sk-proj-" + "Zq8vT3mKx9Lw2Rb7Nc4Yd1")
        first, second = (
            talking(
                lasting,
                agents(
                    {
                        **{name: body.replace("{}", texts[at]) for name, (body, texts) in MESSAGES.items()},
                        "new": "return httpx2_sync(question)",
                    }
                ),
            )
            for at in range(2)
        )
        checkout = first.with_cases(*map(asking, MESSAGES)).at(pytester)
        checkout.run("eval", "--record", "--recall-mode=all").assert_outcomes(passed=len(MESSAGES))
        second.with_cases(*map(asking, [*MESSAGES, "new"])).at(pytester)
        asked = lasting.count
        result = checkout.run("eval", "--replay", "--recall-mode=all")
        assert lasting.count == asked
        return Missed(checkout, lasting, result)


class TestItsMessage:
    """The nearest recorded request, what was changed, and how to record it."""

    def test_it_names_the_nearest_request_and_the_line_that_changed(self, missed: Missed) -> None:
        assert missed.result.ret == pytest.ExitCode.TESTS_FAILED
        assert missed.checkout.outcomes() == dict.fromkeys([*MESSAGES, "new"], "error")
        assert {one.ended_by for one in missed.checkout.journal().trials} == {"miss"}
        pytest.LineMatcher(missed.told("changed")).fnmatch_lines(
            [
                "  error: changed: eval/cassettes/one/changed.ndjson: POST"
                f" {missed.upstream.url}/v1/chat/completions is not recorded;"
                " `pytest -p recall 'eval/cases.yaml::changed' --record` records it",
                "        nearest: call 2, recorded → asked",
                "          messages[[]0].content: “name three colours of the rainbow” → “name three * of the sea”",
            ],
            consecutive=True,
        )

    def test_a_change_at_the_end_of_a_long_prompt_is_shown(self, missed: Missed) -> None:
        [line] = [line for line in missed.told("long") if line.startswith("          messages[0].content: ")]
        assert "first”" in line
        assert "second”" in line
        assert len(line) < 200

    def test_one_call_too_many_says_how_often_it_was_recorded(self, missed: Missed) -> None:
        error = trial(missed.checkout, "often").error
        assert "2 times" in error

    def test_it_holds_no_secret(self, missed: Missed) -> None:
        assert "Zq8vT3mKx9" not in missed.result.stdout.str()
        assert "[OPENAI_API_KEY]" in "\n".join(missed.told("secret"))

    def test_a_case_that_was_never_recorded_names_the_command(self, missed: Missed) -> None:
        assert trial(missed.checkout, "new").error == (
            f"eval/cassettes/one/new.ndjson: POST {missed.upstream.url}/any is not recorded;"
            " `pytest -p recall 'eval/cases.yaml::new' --record` records it"
        )

    def test_the_command_names_a_folder_of_ones_own(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        upstream.close()
        checkout = asks(upstream, "httpx2_sync", "a").at(pytester)
        pytester.mkdir("tapes")
        checkout.run("eval", "--replay=tapes")
        assert trial(checkout, "a").error.endswith("`pytest -p recall 'eval/cases.yaml::a' --record=tapes` records it")


class TestUnused:
    """What was recorded and is not asked for any more."""

    def test_it_fails_a_test_that_passed_and_no_other(self, pytester: pytest.Pytester, lasting: Upstream) -> None:
        names = ("passed", "crashed", "failed")
        project = talking(lasting, agent(BOTH))
        checkout = kept.recorded(pytester, project.with_cases(*map(asking, names)))
        asked = lasting.count
        bodies = {
            **dict.fromkeys(names, "return httpx2_sync('one')"),
            "crashed": "httpx2_sync('one')\nraise RuntimeError('boom')",
        }
        failing = asking("failed", judges=[{"regex": "no such text"}])
        talking(lasting, agents(bodies)).with_cases(asking("passed"), asking("crashed"), failing).at(pytester)
        result = checkout.run("eval", "--replay", "--recall-mode=all")
        assert result.ret == pytest.ExitCode.TESTS_FAILED, result.stdout.str()
        assert lasting.count == asked
        assert checkout.outcomes() == {"passed": "error", "crashed": "error", "failed": "failed"}
        assert trial(checkout, "passed").error.startswith(
            f"eval/cassettes/one/passed.ndjson: recorded call 2 was not asked for, POST {lasting.url}/any;"
            " `pytest -p recall 'eval/cases.yaml::passed' --record` records it"
        )
        assert trial(checkout, "crashed").error == "agent: RuntimeError: boom"


class TestSockets:
    """No connection opens in a replay, anyone who wants one."""

    def test_another_client_is_refused_and_the_guard_goes_with_the_run(
        self, pytester: pytest.Pytester, lasting: Upstream
    ) -> None:
        before = (socket.socket.connect, socket.socket.connect_ex)
        checkout = recorded_once(pytester, lasting)
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            body = f"{RECORDED}\nimport socket\nsocket.create_connection(('127.0.0.1', {port}))\nreturn 'in'"
            error = replayed(checkout, lasting, body)
            server.settimeout(0)
            with pytest.raises(BlockingIOError):
                server.accept()
        assert error.startswith(f"a connection to 127.0.0.1:{port} would open, and no socket opens in a replay")
        assert (socket.socket.connect, socket.socket.connect_ex) == before

    STRAY = (
        LATE
        + """\
@pytest.fixture
def agent():
    def answer(question):
        threading.Thread(target=late, daemon=True).start()
        return httpx2_sync("recorded")
    return answer


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish():
    TOLD.set()
    OVER.wait(20)
"""
    )

    def test_a_thread_that_goes_on_after_its_test_is_found_out(
        self, pytester: pytest.Pytester, lasting: Upstream
    ) -> None:
        # The thread speaks while the session ends, when the test has long passed.
        checkout = recorded_once(pytester, lasting)
        asked = lasting.count
        talking(lasting, self.STRAY.format(call="openai_sync('late')")).at(pytester)
        result = checkout.run("eval", "--replay", "--recall-mode=all")
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        assert lasting.count == asked
        result.stdout.fnmatch_lines([f"POST {lasting.url}/*: was not sent, since case `*` is over*"])


class TestMissing:
    """`--record=missing`: what is there is replayed, and only the rest costs anything."""

    BODY = "return ' & '.join(map(openai_sync, [question, '{}', 'three']))"

    def test_a_new_case_is_recorded_and_a_changed_prompt_costs_only_the_changed_call(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        checkout = talking(upstream, agent(self.BODY.format("two"))).with_cases(asking("a")).at(pytester)
        checkout.run("eval", "--record").assert_outcomes(passed=1)
        assert upstream.count == 3
        before = finished(checkout)
        # What is not missing costs nothing, and no byte of it changes.
        talking(upstream, agent(self.BODY.format("two"))).with_cases(asking("a"), asking("b")).at(pytester)
        checkout.run("eval", "--record=missing", "--recall-mode=all").assert_outcomes(passed=2)
        assert upstream.prompts == ["a", "b", "three", "three", "two", "two"]
        assert finished(checkout).items() > before.items()
        assert sources(checkout) == {"a": "replayed", "b": "live"}
        changed = self.BODY.format("two").replace("'two'", "'two' if question == 'b' else 'new'")
        talking(upstream, agent(changed)).at(pytester)
        checkout.run("eval", "--record=missing", "--recall-mode=all").assert_outcomes(passed=2)
        assert upstream.count == 7
        assert numbers(answers(checkout)["a"]) == [1, 7, 3]
        assert sources(checkout) == {"a": "mixed", "b": "replayed"}
        upstream.close()
        checkout.run("eval", "--replay", "--recall-mode=all").assert_outcomes(passed=2)
        assert {name: numbers(text) for name, text in answers(checkout).items()} == {"a": [1, 7, 3], "b": [4, 5, 6]}
        # What is asked for no more is lasting, and the order is that of the calls.
        assert [exchange.seq for exchange in calls(cassette(checkout, "a"))] == [0, 1, 2]


def test_a_miss_of_a_judge_names_the_text_that_differs_and_not_the_mark_around_it(
    pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-test")
    rubric = f"owner: us\njudge: {{model: 'openai:judge-1;{upstream.url}/v1', preflight: 'off'}}\n"
    kind = asking("a", input="echo at nine", judges=[{"rubric": {"expected": "It is kind."}}])
    upstream.says = '{"reasoning": "Fine.", "scores": {"requirement": 1}}'

    def replayed(parse: str, **given: object) -> str:
        body = f"plain_sync(question)\nreturn question.removeprefix('echo '){parse}"
        project = talking(upstream, agent(body)).with_cases({**kind, **given})
        checkout = project.with_files({"eval/rubric.yaml": rubric}).at(pytester)
        recorded = (checkout.path / "eval/cassettes").exists()
        result = checkout.run("eval", "--replay" if recorded else "--record", "--recall-mode=all")
        assert (result.ret == 0) is not recorded
        return result.stdout.str()

    replayed("")
    said = replayed(".replace('nine', 'ten')")
    assert "nearest: call 2, recorded → asked\n" in said
    assert "messages[1].content, ANSWER: “at nine” → “at ten”\n" in said
    assert "The mark is" not in said
    said = replayed("", judges=[{"rubric": {"expected": "It is warm."}}])
    assert (
        "messages[0].content, criterion requirement: “… requirement: It is kind. (0: it does not; 1: it does)” →"
        in said
    )
    assert "The mark is" not in said
