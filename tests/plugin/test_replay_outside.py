"""Calls that no test makes: as a conftest is imported, in hooks, after the session, in child processes."""

from __future__ import annotations

import os

import pytest

from tests.helpers import command, kept
from tests.helpers.project import DAY, Checkout
from tests.helpers.talking import agent, asking, calls, cassette, sources, talking, trial
from tests.helpers.upstream import Upstream

pytest.importorskip("httpx2")

REPLAY = ("eval", "--replay", "--recall-mode=all")
PLAIN = agent("return httpx2_sync(question)")


def recorded(pytester: pytest.Pytester, lasting: Upstream, source: str = PLAIN) -> Checkout:
    """Return a project whose case is recorded, and forget that its upstream was asked."""
    checkout = kept.recorded(pytester, talking(lasting, source).with_cases(asking("a")))
    lasting.bodies.clear()
    lasting.paths.clear()
    return checkout


class TestAfterTheSession:
    """What outlives the session sends nothing either, and says so."""

    LATE = """\
def late():
    OVER.wait(20)
    {call}


@pytest.fixture
def agent():
    def answer(question):
        {begin}
        return httpx2_sync(question)
    return answer


import atexit
import threading

OVER = threading.Event()
{after}
"""

    # An end of the session that the thread can see: the functions of `atexit` of threading come first.
    GO = "threading._register_atexit(OVER.set)"

    @pytest.mark.parametrize("call", ["httpx2_sync('late')", "import urllib.request; urllib.request.urlopen(URL)"])
    def test_a_thread_that_goes_on_is_refused(self, pytester: pytest.Pytester, lasting: Upstream, call: str) -> None:
        checkout = recorded(pytester, lasting)
        late = self.LATE.format(call=call, begin="threading.Thread(target=late).start()", after=self.GO)
        talking(lasting, late).at(pytester)
        result = checkout.run_apart(*REPLAY)
        assert result.ret == pytest.ExitCode.OK
        assert lasting.count == 0
        told = [line for line in result.errlines if line]
        assert len(told) == 1, told
        there = f"a connection to {lasting.url.removeprefix('http://')} would open after the session"
        assert told[0].startswith(f"recall: {there if 'urllib' in call else f'POST {lasting.url}/any: called'}")
        assert "nothing is sent in a replay" in told[0]

    def test_what_is_flushed_at_exit_is_refused(self, pytester: pytest.Pytester, lasting: Upstream) -> None:
        checkout = recorded(pytester, lasting)
        late = self.LATE.format(call="httpx2_sync('late')", begin="OVER.set() or atexit.register(late)", after="")
        talking(lasting, late).at(pytester)
        result = checkout.run_apart(*REPLAY)
        assert lasting.count == 0
        assert len([line for line in result.errlines if line.startswith("recall: ")]) == 1

    def test_whoever_ran_pytest_may_connect_again(self, pytester: pytest.Pytester, lasting: Upstream) -> None:
        checkout = recorded(pytester, lasting)
        late = self.LATE.format(call="httpx2_sync('late')", begin="threading.Thread(target=late).start()", after="")
        talking(lasting, late).at(pytester)
        script = f"""\
import atexit, sys, threading, urllib.request
import pytest

def ask(name):
    urllib.request.urlopen({lasting.url!r} + "/" + name, data=b"").read()

atexit.register(ask, "before")
assert pytest.main(["-p", "no:rerunfailures", "--recall-date={DAY}", *{REPLAY!r}]) == 0
atexit.register(ask, "after")
ask("main")
thread = threading.Thread(target=ask, args=("thread",))
thread.start()
thread.join()
sys.modules["conftest"].OVER.set()
"""
        pytester.makepyfile(script=script)
        done = command.apart(checkout.path, "script", env=os.environ)
        assert done.code == 0
        assert lasting.paths == ["/main", "/thread", "/after", "/before"]
        assert next(line for line in done.err.splitlines() if line).startswith("recall: POST ")


class TestBeforeTheTests:
    """A conftest file that calls as it is imported, and hooks."""

    SWALLOWED = "try:\n    {call}\nexcept BaseException:\n    pass\n"

    # With workers it is the controller that says it, before there is one.
    @pytest.mark.parametrize(
        ("call", "workers"),
        [("httpx2_sync('early')\n", ("-n1",)), (SWALLOWED.format(call="httpx2_sync('early')"), ())],
        ids=["n1", "swallowed"],
    )
    def test_an_import_that_calls_is_a_usage_error(
        self, pytester: pytest.Pytester, lasting: Upstream, call: str, workers: tuple[str, ...]
    ) -> None:
        checkout = recorded(pytester, lasting)
        talking(lasting, f"{call}\n{PLAIN}").at(pytester)
        result = checkout.run(*REPLAY, *workers)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert lasting.count == 0
        [told] = [line for line in result.errlines if line]
        assert told.startswith(f"ERROR: POST {lasting.url}/any: called outside of any case")
        assert told.endswith("let a fixture make the call")

    def test_the_same_conftest_is_left_alone_without_a_replay(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        checkout = talking(upstream, f"httpx2_sync('early')\n\n\n{PLAIN}").with_cases(asking("a")).at(pytester)
        checkout.run("eval").assert_outcomes(passed=1)
        assert upstream.prompts == ["a", "early"]

    def test_an_ignored_host_may_be_asked(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        rubric = {"eval/rubric.yaml": f"owner: me\nignore_hosts: ['{upstream.url.removeprefix('http://')}']\n"}
        source = f"httpx2_sync('early')\n\n\n{agent('return question')}"
        checkout = talking(upstream, source).with_cases(asking("a")).with_files(rubric).at(pytester)
        checkout.run("eval", "--replay").assert_outcomes(passed=1)
        assert upstream.prompts == ["early"]

    @pytest.mark.parametrize(
        ("hook", "swallowed"),
        [("pytest_configure", False), ("pytest_configure", True), ("pytest_sessionstart", False)],
    )
    def test_a_hook_before_the_tests_ends_the_run(
        self, pytester: pytest.Pytester, lasting: Upstream, hook: str, swallowed: bool
    ) -> None:
        checkout = recorded(pytester, lasting)
        body = "    httpx2_sync('early')\n"
        if swallowed:
            body = "    try:\n        httpx2_sync('early')\n    except BaseException:\n        pass\n"
        talking(lasting, f"def {hook}():\n{body}\n\n{PLAIN}").at(pytester)
        result = checkout.run(*REPLAY)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert lasting.count == 0
        [told] = [line for line in result.errlines if line]
        assert "called outside of any case" in told
        assert "INTERNALERROR" not in result.stdout.str()

    def test_a_test_file_that_calls_is_an_error_of_its_collection(
        self, pytester: pytest.Pytester, lasting: Upstream
    ) -> None:
        checkout = recorded(pytester, lasting)
        calling = "from conftest import httpx2_sync\n\nhttpx2_sync('early')\n"
        talking(lasting, PLAIN).with_files({"eval/test_it.py": calling}).at(pytester)
        result = checkout.run(*REPLAY)
        assert result.ret == pytest.ExitCode.INTERRUPTED
        assert lasting.count == 0
        result.stdout.fnmatch_lines([f"POST {lasting.url}/any: called outside of any case*", "*short test summary*"])
        assert "Traceback" not in result.stdout.str()
        assert "conftest.py:" not in result.stdout.str()

    def test_a_hook_at_the_end_fails_the_run(self, pytester: pytest.Pytester, lasting: Upstream) -> None:
        checkout = recorded(pytester, lasting)
        talking(lasting, f"def pytest_sessionfinish():\n    httpx2_sync('late')\n\n\n{PLAIN}").at(pytester)
        result = checkout.run(*REPLAY, "-n1")
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        assert lasting.count == 0
        result.stdout.fnmatch_lines([f"POST {lasting.url}/any: called outside of any case*"])
        assert checkout.outcomes() == {"a": "passed"}
        assert "Traceback" not in result.stderr.str()


class TestTeardown:
    """A fixture of one test that calls a model at its end."""

    ENDING = """\
@pytest.fixture
def agent():
    yield httpx2_sync
    {end}
"""

    def test_it_is_replayed(self, pytester: pytest.Pytester, lasting: Upstream) -> None:
        checkout = recorded(pytester, lasting, self.ENDING.format(end="httpx2_sync('bye')"))
        assert [exchange.phase for exchange in calls(cassette(checkout, "a"))] == ["", "teardown"]
        result = checkout.run(*REPLAY)
        result.assert_outcomes(passed=1)
        assert result.ret == pytest.ExitCode.OK
        assert lasting.count == 0

    def test_what_it_leaves_unasked_is_an_error_and_moves_no_box(
        self, pytester: pytest.Pytester, lasting: Upstream
    ) -> None:
        checkout = recorded(pytester, lasting, self.ENDING.format(end="httpx2_sync('bye')"))
        before = checkout.state_text()
        talking(lasting, self.ENDING.format(end="pass")).at(pytester)
        result = checkout.run(*REPLAY, "--recall-trust-replays", day="2026-03-20")
        result.assert_outcomes(passed=1, errors=1)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        assert checkout.outcomes() == {"a": "error"}
        assert "teardown: eval/cassettes/one/a.ndjson: recorded call 2 was not asked for" in trial(checkout, "a").error
        assert checkout.state_text() == before

    def test_a_miss_in_it_is_one_though_it_is_caught(self, pytester: pytest.Pytester, lasting: Upstream) -> None:
        checkout = recorded(pytester, lasting, self.ENDING.format(end="httpx2_sync('bye')"))
        quiet = "try:\n        httpx2_sync('so long')\n    except BaseException:\n        pass"
        talking(lasting, self.ENDING.format(end=quiet)).at(pytester)
        result = checkout.run(*REPLAY)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        assert checkout.outcomes() == {"a": "error"}
        assert "→ “so long”" in result.stdout.str()

    def test_a_miss_of_a_shared_fixture_at_its_end_is_none_of_the_case(
        self, pytester: pytest.Pytester, lasting: Upstream
    ) -> None:
        shared = self.ENDING.replace("@pytest.fixture", '@pytest.fixture(scope="session")')
        checkout = recorded(pytester, lasting, shared.format(end="httpx2_sync('bye')"))
        talking(lasting, shared.format(end="httpx2_sync('so long')")).at(pytester)
        result = checkout.run(*REPLAY)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        assert checkout.outcomes() == {"a": "passed"}

    def test_a_call_of_the_test_is_missed_at_its_end(self, pytester: pytest.Pytester, lasting: Upstream) -> None:
        checkout = recorded(pytester, lasting, self.ENDING.format(end="httpx2_sync('bye')"))
        ending = self.ENDING.format(end="httpx2_sync('bye')").replace("yield httpx2_sync", "yield lambda question: 'x'")
        talking(lasting, ending).at(pytester)
        checkout.run(*REPLAY).assert_outcomes(errors=1)
        assert trial(checkout, "a").error.startswith("eval/cassettes/one/a.ndjson: recorded call 1 was not asked for")

    def test_what_no_trial_has_asked_is_counted(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        source = """\
@pytest.fixture(scope="session")
def shared():
    httpx2_sync("hello")
    yield
    httpx2_sync("good bye")


@pytest.fixture
def agent(shared):
    yield httpx2_sync
    httpx2_sync("so long")
"""
        checkout = talking(upstream, source).with_cases(asking("a")).at(pytester)
        checkout.run("eval", "--record").assert_outcomes(passed=1)
        assert [call.source for call in checkout.journal().calls] == ["live"] * 3
        assert len(trial(checkout, "a").calls) == 1
        result = checkout.run(*REPLAY, "-n2")
        assert [call.source for call in checkout.journal().calls] == ["replayed"] * 3
        result.stdout.fnmatch_lines(
            ["spent nothing, replayed 4 calls*", "  (fixtures): spent nothing, replayed 3 calls*"]
        )
        checkout.recall("cassettes", "cost").stdout.fnmatch_lines(["(fixtures)* 3 *", "total* 4 *"])


class TestChildProcesses:
    """What a child process asks is neither recorded nor replayed."""

    POOL = """\
def ask(question):
    return httpx2_sync(question)


@pytest.fixture
def agent():
    def answer(question):
        import multiprocessing
        with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
            {call}
    return answer
"""

    def test_a_forked_one_is_refused_in_one_sentence(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        pool = self.POOL.format(call="return pool.submit(ask, question).result()")
        checkout = talking(upstream, pool).with_cases(asking("a")).at(pytester)
        checkout.run_apart("eval", "--record").assert_outcomes(passed=1)
        assert not (checkout.path / "eval/cassettes/one/a.ndjson").exists()
        result = checkout.run_apart(*REPLAY)
        assert upstream.count == 1
        assert checkout.outcomes() == {"a": "error"}
        assert trial(checkout, "a").error.startswith(f"POST {upstream.url}/any: called by a child process, whose calls")
        assert "Pickl" not in result.stdout.str()


def test_a_body_that_is_compressed_is_found_again(pytester: pytest.Pytester, lasting: Upstream) -> None:
    body = (
        "import gzip, itertools, json, time, httpx2\n"
        "data = gzip.compress(json.dumps(dict(prompt=question, key=KEY)).encode(), mtime=time.time_ns() % 10**6)\n"
        "headers = {'content-encoding': 'gzip', 'content-type': 'application/json'}\n"
        "return httpx2.post(URL + '/any', content=data, headers=headers).json()['text']"
    )
    checkout = recorded(pytester, lasting, agent(body))
    checkout.run(*REPLAY).assert_outcomes(passed=1)
    assert sources(checkout) == {"a": "replayed"}
    assert lasting.count == 0


def test_a_miss_in_a_bare_thread_is_one_sentence(pytester: pytest.Pytester, lasting: Upstream) -> None:
    checkout = recorded(pytester, lasting)
    body = (
        "thread = threading.Thread(target=httpx2_sync, args=('new',))\n"
        "thread.start()\nthread.join()\nreturn httpx2_sync(question)"
    )
    talking(lasting, agent(body)).at(pytester)
    result = checkout.run(*REPLAY, "-W", "default")
    result.assert_outcomes(errors=1)
    assert "is not recorded" in trial(checkout, "a").error
    if hasattr(pytest, "version_tuple") and pytest.version_tuple >= (8, 4):
        assert "Traceback" not in result.stdout.str()
        assert "PytestUnhandledThreadExceptionWarning" not in result.stdout.str()


def test_what_a_judge_says_is_printed_without_secrets(
    pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", "a8Kd0fj2QwzLmN45")
    judge = "\n\n@pytest.fixture\ndef judge_telling():\n    return lambda answer, case: (False, 'a8Kd0fj2QwzLmN45')\n"
    checkout = talking(upstream, PLAIN + judge).with_cases(asking("a", judges=["telling"])).at(pytester)
    result = checkout.run("eval", "--record")
    result.assert_outcomes(failed=1)
    assert "a8Kd0fj2QwzLmN45" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*telling: ?ACME_API_KEY?"])


def test_a_key_in_a_host_is_not_written(
    pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", "Tenant1x")
    body = (
        "import httpx2\ntry:\n    httpx2.post('http://Tenant1x.localhost:1/any', json=dict(prompt=question))\n"
        "except httpx2.ConnectError:\n    return 'refused'"
    )
    checkout = talking(upstream, agent(body)).with_cases(asking("a")).at(pytester)
    checkout.run("eval", "--record").assert_outcomes(passed=1)
    assert b"tenant1x" not in cassette(checkout, "a").read_bytes().lower()
    [exchange] = calls(cassette(checkout, "a"))
    assert exchange.request.url == "http://ACME_API_KEY.localhost:1/any"
    assert [call.cost for call in trial(checkout, "a").calls] == [0.0]
    checkout.run(*REPLAY).assert_outcomes(passed=1)
