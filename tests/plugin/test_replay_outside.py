"""Calls that no test makes: as a conftest is imported, in hooks, after the session, in child processes."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from types import MappingProxyType

import pytest

from tests.helpers import command, kept
from tests.helpers.project import BARE, DAY, Checkout, Project
from tests.helpers.talking import agent, agents, asking, calls, cassette, finished, sources, talking, trial
from tests.helpers.upstream import Upstream

pytest.importorskip("httpx2")

REPLAY = ("eval", "--replay", "--recall-mode=all")
PLAIN = agent("return httpx2_sync(question)")
ASKS = "httpx2_sync('late')"


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

    def test_threads_that_go_on_are_refused(self, pytester: pytest.Pytester, lasting: Upstream) -> None:
        checkout = recorded(pytester, lasting)
        begin = "threading.Thread(target=late).start(), threading.Thread(target=other).start()"
        place = lasting.url.removeprefix("http://")
        host, _, port = place.partition(":")
        opens = f"import socket; socket.create_connection(({host!r}, {port}))"
        other = f"\n\ndef other():\n    OVER.wait(20)\n    try:\n        {opens}\n    except OSError:\n        pass\n"
        sends = "try:\n        httpx2_sync('late')\n    except Exception:\n        pass"
        late = self.LATE.format(call=sends, begin=begin, after=self.GO + other)
        talking(lasting, late).at(pytester)
        result = checkout.run_apart(*REPLAY)
        assert result.ret == pytest.ExitCode.OK
        assert lasting.count == 0
        told = sorted(line for line in result.errlines if line.startswith("recall: "))
        assert len(told) == 2, told
        assert "Traceback" not in result.stderr.str()
        assert told[0].startswith(f"recall: POST {lasting.url}/any: was not sent, since")
        assert told[1].startswith(f"recall: a connection to {place} would open after the session")
        assert "nothing is sent in a replay" in told[1]

    def test_what_is_flushed_at_exit_is_refused(self, pytester: pytest.Pytester, lasting: Upstream) -> None:
        checkout = recorded(pytester, lasting)
        late = self.LATE.format(call="httpx2_sync('late')", begin="OVER.set() or atexit.register(late)", after="")
        talking(lasting, late).at(pytester)
        result = checkout.run_apart(*REPLAY)
        assert lasting.count == 0
        assert len([line for line in result.errlines if line.startswith("recall: ")]) == 1

    @pytest.mark.parametrize(
        ("begin", "after"),
        [("threading.Thread(target=late).start()", GO), ("OVER.set() or atexit.register(late)", "")],
        ids=["thread", "at exit"],
    )
    def test_a_recording_says_what_it_lacks(
        self, pytester: pytest.Pytester, lasting: Upstream, begin: str, after: str
    ) -> None:
        late = self.LATE.format(call="httpx2_sync('late')", begin=begin, after=after)
        checkout = talking(lasting, late).with_cases(asking("a")).at(pytester)
        before = lasting.count
        result = checkout.run_apart("eval", "--record", "--recall-mode=all")
        assert result.ret == pytest.ExitCode.OK
        assert lasting.count == before + 2
        [line] = [line for line in result.errlines if line.startswith("recall: ")]
        assert line.startswith(f"recall: POST {lasting.url}/any: was not recorded, since ")

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

    @pytest.mark.parametrize("workers", [(), ("-n1",)])
    def test_a_recording_says_what_a_replay_will_refuse(
        self, pytester: pytest.Pytester, lasting: Upstream, workers: tuple[str, ...]
    ) -> None:
        checkout = talking(lasting, f"httpx2_sync('early')\n{PLAIN}").with_cases(asking("a")).at(pytester)
        result = checkout.run("eval", "--record", "--recall-mode=all", *workers)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        assert checkout.outcomes() == {"a": "passed"}
        result.stdout.fnmatch_lines(
            [f"POST {lasting.url}/any: called before the session, *; let a fixture make the call"]
        )

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
        told, *_ = [line for line in result.errlines if line]
        assert told.startswith(f"ERROR: POST {lasting.url}/any: called outside of any case")

    def test_the_same_conftest_is_left_alone_without_a_replay(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        checkout = talking(upstream, f"httpx2_sync('early')\n\n\n{PLAIN}").with_cases(asking("a")).at(pytester)
        checkout.run("eval").assert_outcomes(passed=1)
        assert upstream.prompts == ["a", "early"]

    def test_an_ignored_host_may_be_asked(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        rubric = {"eval/rubric.yaml": f"owner: me\ncalls: {{'{upstream.url.removeprefix('http://')}': ignore}}\n"}
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
        told, *_ = [line for line in result.errlines if line]
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


class TestSockets:
    """A bare socket that no case opens, in a process that starts from nothing: none connects, and each is said."""

    ECHO = "import pytest\n\n\n@pytest.fixture\ndef agent():\n    return lambda question: question\n"
    CONNECT = "import socket; socket.create_connection(('127.0.0.1', {port})).close()"
    SWALLOWED = "try:\n        {}\n    except BaseException:\n        pass"
    USAGE, FAILED, CUT, OK = 4, 1, 2, 0

    PLACES = (
        ("conftest", "{connect}\n", USAGE),
        ("module", "{connect}\n", CUT),
        ("conftest", "def pytest_generate_tests():\n    {connect}\n", CUT),
        ("conftest", "def pytest_collection_modifyitems():\n    {connect}\n", USAGE),
        ("conftest", "def pytest_collection_modifyitems():\n    {swallowed}\n", FAILED),
        ("conftest", "@pytest.fixture(scope='session', autouse=True)\ndef db():\n    {connect}\n", FAILED),
        ("conftest", "@pytest.fixture(scope='session', autouse=True)\ndef db():\n    yield\n    {swallowed}\n", FAILED),
        ("plugin", "def pytest_configure():\n    {connect}\n", USAGE),
        ("plugin", "def pytest_configure():\n    {swallowed}\n", USAGE),
        ("plugin", "def pytest_terminal_summary():\n    {connect}\n", FAILED),
        # After the summary of the run nothing changes how it ends.
        ("plugin", "def pytest_terminal_summary():\n    {swallowed}\n", OK),
        ("plugin", "def pytest_unconfigure():\n    {connect}\n", OK),
        ("conftest", "import atexit\n@atexit.register\ndef late():\n    {connect}\n", OK),
        ("conftest", "import atexit\n@atexit.register\ndef late():\n    {swallowed}\n", OK),
    )

    @pytest.mark.parametrize(("where", "source", "code"), PLACES)
    def test_it_is_refused_wherever_it_opens(
        self, pytester: pytest.Pytester, where: str, source: str, code: int
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            connect = self.CONNECT.format(port=port)
            source = source.format(connect=connect, swallowed=self.SWALLOWED.format(connect))
            files = {
                "eval/conftest.py": f"{self.ECHO}\n\n{source if where == 'conftest' else ''}",
                "eval/test_it.py": f"{source if where == 'module' else ''}\ndef test_it():\n    pass\n",
                "other.py": source if where == "plugin" else "",
            }
            checkout = BARE.with_cases(asking("a")).with_files(files).at(pytester)
            result = checkout.run_afresh("-p", "other", *REPLAY)
            server.setblocking(False)
            with pytest.raises(BlockingIOError):
                server.accept()
        printed = result.stdout.str() + result.stderr.str()
        assert result.ret == code
        assert f"a connection to 127.0.0.1:{port} would open" in printed
        assert "INTERNALERROR" not in printed
        assert "Traceback" not in printed or "atexit" in source

    def deaf(self, event: str) -> Project:
        """Return a project with a plugin whose audit hook raises an error at an event, so that ours hears none."""
        hook = f"import sys\n\n\ndef hook(event, args):\n    if event == {event!r}:\n        raise OSError(event)\n\n\n"
        files = {"eval/conftest.py": self.ECHO, "other.py": f"{hook}sys.addaudithook(hook)\n"}
        return BARE.with_cases(asking("a")).with_files(files)

    @pytest.mark.parametrize("event", ["socket.connect", "socket.getaddrinfo"])
    def test_where_none_can_be_seen_there_is_no_replay(self, pytester: pytest.Pytester, event: str) -> None:
        """Another audit hook is there before ours and raises, so that ours hears nothing."""
        checkout = self.deaf(event).at(pytester)
        result = checkout.run_afresh("-p", "other", *REPLAY)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        [line] = [line for line in result.errlines if line.startswith("ERROR: ")]
        assert f"`{event}`" in line
        assert not (checkout.path / "eval/_artifacts").exists()
        checkout.run_afresh("-p", "other", "eval").assert_outcomes(passed=1)

    @pytest.mark.parametrize("workers", [(), ("-n", "2")])
    def test_a_job_without_keys_is_refused_in_one_sentence_as_well(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
    ) -> None:
        """It is known to be a replay only once the session has begun, since no option says so."""
        monkeypatch.setenv("GITHUB_ACTIONS", "true")
        monkeypatch.setenv("GITHUB_ACTOR", "dependabot[bot]")
        checkout = self.deaf("socket.getaddrinfo").at(pytester)
        result = checkout.run_afresh("-p", "other", "eval", *workers)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert [line for line in result.errlines if line.startswith("ERROR: ") and "`socket.getaddrinfo`" in line]
        assert "Traceback" not in result.stdout.str() + result.stderr.str()


class TestTeardown:
    """A fixture of one test that calls a model at its end."""

    ENDING = """\
@pytest.fixture
def agent():
    said = []
    yield lambda question: said.append(question) or {ask}
    {end}
"""
    NAMES = ("same", "unasked", "caught", "unsaid")

    def test_it_is_replayed_and_what_is_missed_or_left_unasked_in_it_is_an_error_of_the_case(
        self, pytester: pytest.Pytester, lasting: Upstream
    ) -> None:
        source = self.ENDING.format(ask="httpx2_sync(question)", end="httpx2_sync('bye')")
        checkout = kept.recorded(pytester, talking(lasting, source).with_cases(*map(asking, self.NAMES)))
        for name in self.NAMES:
            assert [exchange.phase for exchange in calls(cassette(checkout, name))] == ["", "teardown"]
        asked, before = lasting.count, checkout.state()
        quiet = "try:\n            httpx2_sync('so long')\n        except BaseException:\n            pass"
        ask = "('x' if question == 'unsaid' else httpx2_sync(question))"
        end = f"if said == ['caught']:\n        {quiet}\n    elif said != ['unasked']:\n        httpx2_sync('bye')"
        talking(lasting, self.ENDING.format(ask=ask, end=end)).at(pytester)
        result = checkout.run(*REPLAY, "--recall-trust-replays", day="2026-03-20")
        result.assert_outcomes(passed=3, errors=3)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        assert lasting.count == asked
        assert checkout.outcomes() == {**dict.fromkeys(self.NAMES, "error"), "same": "passed"}
        unasked = "eval/cassettes/one/{}.ndjson: recorded call {} was not asked for"
        assert unasked.format("unasked", 2) in trial(checkout, "unasked").error
        assert trial(checkout, "caught").error.startswith("eval/cassettes/one/caught.ndjson: POST ")
        assert "→ “so long”" in result.stdout.str()
        assert trial(checkout, "unsaid").error.startswith(unasked.format("unsaid", 1))
        moved = {name for name, row in checkout.state().items() if row != before[name]}
        assert moved == {"same"}

    def test_a_miss_of_a_shared_fixture_at_its_end_is_none_of_the_case(
        self, pytester: pytest.Pytester, lasting: Upstream
    ) -> None:
        shared = self.ENDING.replace("@pytest.fixture", '@pytest.fixture(scope="session")')
        checkout = recorded(pytester, lasting, shared.format(ask="httpx2_sync(question)", end="httpx2_sync('bye')"))
        talking(lasting, shared.format(ask="httpx2_sync(question)", end="httpx2_sync('so long')")).at(pytester)
        result = checkout.run(*REPLAY)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        assert checkout.outcomes() == {"a": "passed"}

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
        result = checkout.run(*REPLAY, "-n2", "-v")
        assert [call.source for call in checkout.journal().calls] == ["replayed"] * 3
        result.stdout.fnmatch_lines(["spent nothing, replayed 4 calls*", "scenario *", "(fixtures) * 3 *"])
        checkout.recall("cassettes", "cost").stdout.fnmatch_lines(["(fixtures)* 3 *", "total* 4 *"])


class TestHooksOfReports:
    """What a hook calls between the call of a test and its teardown is of its case; after that it is of none."""

    MAKES = """\
def pytest_runtest_makereport(call):
    if call.when == "call":
        {}
"""
    LOGS = MAKES.replace("makereport(call)", "logreport(report)").replace("call.when", "report.when")
    SWALLOWED = "try:\n            {}\n        except BaseException:\n            pass"

    @pytest.mark.parametrize("hook", [MAKES, LOGS], ids=["makereport", "logreport"])
    def test_its_call_is_recorded_with_the_case_and_served_there(
        self, pytester: pytest.Pytester, upstream: Upstream, hook: str
    ) -> None:
        checkout = talking(upstream, hook.format("httpx2_sync('reported')") + PLAIN).with_cases(asking("a"))
        made = checkout.at(pytester)
        assert made.run_apart("eval", "--record").ret == 0
        assert [exchange.phase for exchange in calls(cassette(made, "a"))] == ["", "teardown"]
        asked = upstream.count
        assert (made.run_apart(*REPLAY).ret, upstream.count) == (0, asked)
        talking(upstream, hook.format(self.SWALLOWED.format("httpx2_sync('otherwise')")) + PLAIN).at(pytester)
        assert made.run_apart(*REPLAY).ret == 1
        assert (made.outcomes(), upstream.count) == ({"a": "error"}, asked)
        talking(upstream, PLAIN).at(pytester)
        made.run_apart(*REPLAY)
        assert "recorded call 2 was not asked for" in trial(made, "a").error

    def test_a_recording_says_what_a_summary_calls(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        hook = f"def pytest_terminal_summary():\n    {self.SWALLOWED.replace('    ' * 2, '    ').format(ASKS)}\n\n\n"
        checkout = talking(upstream, hook + PLAIN).with_cases(asking("a")).at(pytester)
        for mode, done in (("--record", "recorded"), ("--replay", "sent")):
            result = checkout.run_apart("eval", "--recall-mode=all", mode)
            [line] = [line for line in result.errlines if line.startswith("recall: ")]
            assert line.startswith(f"recall: POST {upstream.url}/any: ")
            assert done in line
        assert upstream.count == 2


class TestChildProcesses:
    """What a forked child asks is recorded with its case and served there."""

    FORKS = """\
import multiprocessing
import os
import signal
import subprocess

from concurrent.futures import ProcessPoolExecutor

FORK = multiprocessing.get_context("fork") if "fork" in multiprocessing.get_all_start_methods() else None
KEPT = []


def strict(question):
    said = plain_sync(question)
    if "#" not in said:
        raise ValueError(said)
    return said


def program(question):
    return subprocess.run(["expr", "1", "+", "1"], capture_output=True, text=True).stdout


def in_child(work):
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(theirs, str(work()).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    os.waitpid(child, 0)
    with os.fdopen(ours) as read:
        return read.read()


"""
    POOL = "with FORK.Pool(2) as pool:\n    return "
    EXECUTOR = "with ProcessPoolExecutor(2, FORK) as pool:\n    return "

    WAYS: Mapping[str, str] = MappingProxyType(
        {
            "pool": f"{POOL}str(pool.map(plain_sync, ['x', 'y', 'z']))",
            "async": f"{POOL}pool.apply_async(plain_sync, ('x',)).get() + plain_sync('x')",
            "executor": f"{EXECUTOR}str([plain_sync('x'), *pool.map(plain_sync, ['y', 'z']), plain_sync('x')])",
            "process": (
                "said = FORK.Queue()\n"
                "for name in ('alice', 'bob', 'alice'):\n"
                "    child = FORK.Process(target=lambda: said.put(plain_sync(name)))\n"
                "    child.start()\n"
                "    child.join()\n"
                "return str([said.get() for _ in range(3)])"
            ),
            "nested": (
                "def below(levels):\n"
                "    said = plain_sync('x')\n"
                "    return said + (in_child(lambda: below(levels - 1)) + plain_sync('x') if levels else '')\n"
                "return below(2)"
            ),
            "thread": (
                "with concurrent.futures.ThreadPoolExecutor(1) as pool:\n"
                "    return pool.submit(in_child, lambda: plain_sync('x')).result() + plain_sync('x')"
            ),
            "requests": "return in_child(lambda: http_client('x')) + http_client('x')",
            "killed": (
                "child = os.fork()\n"
                "if not child:\n"
                "    plain_sync('x')\n"
                "    os.kill(os.getpid(), signal.SIGKILL)\n"
                "os.waitpid(child, 0)\n"
                "return plain_sync('x')"
            ),
        }
    )
    HTTP = (
        "def http_client(question):\n"
        "    import urllib.request\n"
        "    with urllib.request.urlopen(URL + '/any', question.encode()) as reply:\n"
        "        return reply.read().decode()\n\n\n"
    )

    @pytest.mark.parametrize("mode", ["--record", "--record=missing"])
    def test_they_are_recorded_and_served_in_turn(
        self, pytester: pytest.Pytester, upstream: Upstream, mode: str
    ) -> None:
        source = self.FORKS + self.HTTP + agents(self.WAYS)
        checkout = talking(upstream, source).with_cases(*map(asking, self.WAYS)).at(pytester)
        recorded = checkout.run_apart("eval", "--recall-mode=all", mode)
        assert (recorded.ret, upstream.count) == (0, 23)
        answers = {name: trial(checkout, name).answer for name in self.WAYS}
        assert [call.source for call in trial(checkout, "executor").calls] == ["live"] * 4
        assert all(call.cost for call in trial(checkout, "executor").calls)
        for options in ((), ("-n2",)):
            replayed = checkout.run_apart(*REPLAY, *options)
            assert (replayed.ret, upstream.count) == (0, 23)
            assert {name: trial(checkout, name).answer for name in self.WAYS} == answers
        assert [call.source for call in trial(checkout, "executor").calls] == ["replayed"] * 4

    MISSES: Mapping[str, str] = MappingProxyType(
        {
            "map": f"{POOL}str(pool.map(strict, [question]))",
            "async": f"{POOL}pool.apply_async(strict, (question,)).get()",
            "executor": f"{EXECUTOR}str(list(pool.map(strict, [question])))",
            "quiet": f"{POOL}str(pool.map(plain_sync, [question]))",
            "dies": f"{POOL}str(pool.map(program, [question]))",
            "broken": f"{EXECUTOR}str(list(pool.map(program, [question])))",
            "alone": "in_child(lambda: plain_sync(question))\nreturn 'said'",
            "later": (
                "if not KEPT:\n"
                "    KEPT.append(FORK.Pool(1))\n"
                "    return 'said'\n"
                "return str(KEPT[0].map(plain_sync, [question]))"
            ),
        }
    )

    def test_a_miss_ends_the_case_whatever_waits_for_the_child(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        """A pool waits for ever for a worker that has died. One that an earlier case has left is that of no other."""
        cases = [asking(name, judges=["answered"]) for name in ("first", *self.MISSES)]
        judge = "\n\n@pytest.fixture\ndef judge_answered():\n    return lambda answer, case: True\n"
        source = self.FORKS + agents({"first": self.MISSES["later"], **self.MISSES}) + judge
        checkout = talking(upstream, source).with_cases(*cases).at(pytester)
        checkout.run_apart(*REPLAY)
        assert upstream.count == 0
        assert checkout.outcomes() == {"first": "passed", **dict.fromkeys(self.MISSES, "error")}
        assert "case `first` is over" in trial(checkout, "later").error
        for name in ("map", "async", "executor", "quiet", "alone"):
            assert trial(checkout, name).error.startswith(f"eval/cassettes/one/{name}.ndjson: POST {upstream.url}/")

    def test_the_process_ends_though_a_thread_waits_for_a_worker_that_has_died(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        """Python would wait for the thread of the executor at its exit, and that one for its pool for ever."""
        kept = "KEPT.append(concurrent.futures.ThreadPoolExecutor(1))\n"
        body = f"def work():\n    {self.POOL.replace('    ', '        ')}str(pool.map(program, ['x']))\n"
        source = self.FORKS + kept + agent(f"{body}return KEPT[0].submit(work).result()")
        checkout = talking(upstream, source).with_cases(asking("a")).at(pytester)
        result = checkout.run_afresh(*REPLAY)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        assert checkout.outcomes() == {"a": "error"}
        assert [line for line in result.errlines if line.startswith("recall: ") and "ThreadPoolExecutor-" in line]
        assert "Traceback" not in result.stderr.str()

    LEFT_OVER = """\
def late(question):
    if question == "first":
        plain_sync(question)
        begin, go = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.read(begin, 1)
                plain_sync("late")
            finally:
                os._exit(0)
        KEPT[:] = child, go
        return "said"
    said = plain_sync(question)
    if question == "second":
        os.write(KEPT[1], b"!")
    return said


@pytest.fixture(scope="session", autouse=True)
def ended():
    yield
    os.waitpid(KEPT[0], 0)


"""

    def test_a_case_is_not_charged_with_the_call_of_a_child_that_an_earlier_one_has_left(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        source = self.FORKS + self.LEFT_OVER + agent("return late(question)")
        checkout = talking(upstream, source).with_cases(*map(asking, ("first", "second", "third"))).at(pytester)
        for mode in ("--record", "--replay"):
            result = checkout.run_apart("eval", "--recall-mode=all", mode)
            assert "since case `first` is over" in result.stdout.str()
            assert result.ret == 1
            assert checkout.outcomes() == dict.fromkeys(("first", "second", "third"), "passed")
            assert len(finished(checkout)) == 3

    OUTLIVES = """\
def late(question):
    begin, go = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(go)
            os.read(begin, 1)
            plain_sync("late")
        finally:
            os._exit(0)
    atexit.register(lambda: os.close(go) or os.waitpid(child, 0))
    return plain_sync(question)


"""

    def test_a_child_that_outlives_the_session_says_itself_what_is_refused(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        source = f"import atexit\n{self.FORKS}{self.OUTLIVES}{agent('return late(question)')}"
        checkout = talking(upstream, source).with_cases(asking("a")).at(pytester)
        for mode, done in (("--record", "recorded"), ("--replay", "sent")):
            result = checkout.run_apart("eval", "--recall-mode=all", mode)
            assert result.ret == pytest.ExitCode.OK
            [line] = [line for line in result.errlines if line.startswith("recall: ")]
            assert f": was not {done}, since case `a` is over, for which its child" in line
        assert upstream.count == 2

    def test_a_pool_of_a_wider_fixture_works_for_its_setup_and_for_no_case(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        source = """\
@pytest.fixture(scope="session")
def pool():
    with FORK.Pool(1) as made:
        made.map(plain_sync, ["warm", "up"])
        yield made


@pytest.fixture
def agent(pool):
    return lambda question: {answer}
"""
        asks = self.FORKS + source.format(answer="pool.map(plain_sync, [question])[0]")
        checkout = talking(upstream, asks).with_cases(asking("a")).at(pytester)
        result = checkout.run_apart("eval", "--record")
        assert result.ret == 1
        assert "since the set-up of fixture `pool` is over" in result.stdout.str()
        checkout.run_apart(*REPLAY)
        assert (upstream.count, checkout.outcomes()) == (3, {"a": "error"})
        talking(upstream, self.FORKS + source.format(answer="plain_sync(question)")).at(pytester)
        assert checkout.run_apart("eval", "--record").ret == 0
        asked = upstream.count
        assert (checkout.run_apart(*REPLAY).ret, upstream.count) == (0, asked)

    def test_a_recorded_call_that_no_child_makes_is_missed(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        twice = agent("return in_child(lambda: plain_sync('x')) + in_child(lambda: plain_sync('x'))")
        checkout = talking(upstream, self.FORKS + twice).with_cases(asking("a")).at(pytester)
        checkout.run_apart("eval", "--record")
        talking(upstream, self.FORKS + agent("return in_child(lambda: plain_sync('x'))")).at(pytester)
        checkout.run_apart(*REPLAY)
        assert "recorded call 2 was not asked for" in trial(checkout, "a").error

    def test_a_call_that_is_cut_off_is_not_recorded(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        body = (
            "child = os.fork()\n"
            "if not child:\n"
            "    plain_sync('held')\n"
            "said = plain_sync('comes')\n"
            "os.kill(child, signal.SIGKILL)\n"
            "os.waitpid(child, 0)\n"
            "return said + plain_sync('go')"
        )
        checkout = talking(upstream, self.FORKS + agent(body)).with_cases(asking("a")).at(pytester)
        result = checkout.run_apart("eval", "--record")
        assert result.ret == 1
        assert "of a child process was not recorded" in result.stdout.str()
        assert not (checkout.path / "eval/cassettes/one/a.ndjson").exists()

    def test_they_are_paid_from_the_budget(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        names = [f"c{number}" for number in range(6)]
        made = talking(upstream, self.FORKS + agent("return in_child(lambda: plain_sync(question))"))
        rubric = "owner: ana\nprices: {gpt-4o-mini: {input: 100000, output: 0}}\n"
        checkout = made.with_cases(*map(asking, names)).with_files({"eval/rubric.yaml": rubric}).at(pytester)
        checkout.run_apart("eval", "--recall-mode=all", "--budget=4.50").assert_outcomes(passed=3, skipped=3)
        assert upstream.count == 3
        assert checkout.scorecard()["cost"]["total"]["spent"]["usd"] == 3


def test_a_fixture_of_a_plugin_asks_for_the_case(pytester: pytest.Pytester, upstream: Upstream) -> None:
    plugin = (
        "import os\nimport urllib.request\nimport pytest\n\n\n@pytest.fixture\ndef briefing():\n"
        f"    asked = urllib.request.Request('{upstream.url}/any', os.environ.get('BRIEF', 'first').encode())\n"
        "    return urllib.request.urlopen(asked).read().decode()\n"
    )
    source = "@pytest.fixture\ndef agent(briefing):\n    return lambda question: briefing\n"
    project = (
        talking(upstream, source).with_cases(asking("a", judges=[{"regex": "."}])).with_files({"briefing.py": plugin})
    )
    checkout = project.at(pytester)
    checkout.run_apart("-p", "briefing", "eval", "--record").assert_outcomes(passed=1)
    assert (upstream.count, len(calls(cassette(checkout, "a")))) == (1, 1)
    checkout.run_apart("-p", "briefing", *REPLAY).assert_outcomes(passed=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BRIEF", "second")
        checkout.run_apart("-p", "briefing", *REPLAY).assert_outcomes(errors=1)
    assert upstream.count == 1


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


def test_no_secret_is_in_what_a_judge_says_or_in_a_host_and_a_body_that_is_compressed_is_found_again(
    pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", "Tenant1xQwzLmN45")
    bodies = {
        "host": "import httpx2\ntry:\n"
        "    httpx2.post('http://Tenant1xQwzLmN45.localhost:1/any', json=dict(prompt=question))\n"
        "except httpx2.ConnectError:\n    return 'refused'",
        "compressed": "import gzip, itertools, json, time, httpx2\n"
        "data = gzip.compress(json.dumps(dict(prompt=question, key=KEY)).encode(), mtime=time.time_ns() % 10**6)\n"
        "headers = {'content-encoding': 'gzip', 'content-type': 'application/json'}\n"
        "return httpx2.post(URL + '/any', content=data, headers=headers).json()['text']",
        "judged": "return httpx2_sync(question)",
    }
    judge = "\n\n@pytest.fixture\ndef judge_telling():\n    return lambda answer, case: (False, 'Tenant1xQwzLmN45')\n"
    cases = [asking("host"), asking("compressed"), asking("judged", judges=["telling"])]
    checkout = talking(upstream, agents(bodies) + judge).with_cases(*cases).at(pytester)
    result = checkout.run("eval", "--record")
    result.assert_outcomes(passed=2, failed=1)
    assert "tenant1x" not in result.stdout.str().lower()
    result.stdout.fnmatch_lines(["*telling: ?ACME_API_KEY?"])
    assert b"tenant1x" not in cassette(checkout, "host").read_bytes().lower()
    [exchange] = calls(cassette(checkout, "host"))
    assert exchange.request.url == "http://ACME_API_KEY.localhost:1/any"
    assert [call.cost for call in trial(checkout, "host").calls] == [0.0]
    upstream.close()
    checkout.run(*REPLAY).assert_outcomes(passed=2, failed=1)
    assert sources(checkout) == dict.fromkeys(bodies, "replayed")
