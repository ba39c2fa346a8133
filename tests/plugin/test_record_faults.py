"""Recordings that are interrupted, damaged, shared by workers, or made by several processes at once."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.replay.cassette_file import Cassette
from pytest_recall.replay.cassette_library import Library
from pytest_recall.replay.exchange import Exchange
from pytest_recall.replay.matching import Rules
from tests.helpers.kept import recorded
from tests.helpers.project import Checkout, Project
from tests.helpers.talking import (
    agent,
    answers,
    asking,
    asks,
    calls,
    cassette,
    drafts,
    finished,
    no_sockets,
    sources,
    talking,
    trial,
)
from tests.helpers.upstream import Upstream, numbers

pytest.importorskip("httpx2")

NUMBER = re.compile(r"#\d{4}")


class TestOutage:
    """The provider fails, and an agent goes on without its answer."""

    SWALLOWING = "try:\n    return httpx2_sync(question)\nexcept Exception:\n    return 'I do not know'"
    RECORD = ("eval", "--record", "--recall-mode=all")

    def test_it_replaces_a_recording_of_an_outage_alone(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        project = talking(upstream, agent(self.SWALLOWING)).with_cases(asking("a"), asking("b"))
        checkout = project.at(pytester)
        checkout.run(*self.RECORD).assert_outcomes(passed=2)
        before = finished(checkout)
        upstream.allowed = (0, 60.0)
        result = checkout.run(*self.RECORD)
        result.assert_outcomes(passed=2)
        assert result.ret == 1
        assert (finished(checkout), drafts(checkout)) == (before, [])

        cassette(checkout, "a").unlink()
        for said in (1, 1, 0):
            if not said:
                cassette(checkout, "b").unlink()
            assert checkout.run(*self.RECORD).ret == said
            assert calls(cassette(checkout, "a"))[0].is_refused
        assert "#" not in answers(checkout)["b"]

    def test_one_that_leaves_a_case_without_a_verdict_is_in_no_recording_after_it(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        body = "return httpx2_sync('first') + httpx2_sync(question)"
        checkout = talking(upstream, agent(body)).with_cases(asking("a")).at(pytester)
        upstream.allowed = (1, 60.0)
        checkout.run("eval", "--record").assert_outcomes(errors=1)
        assert (finished(checkout), len(drafts(checkout)), upstream.count) == ({}, 1, 2)
        upstream.allowed = None
        checkout.run("eval", "--record=missing", "--recall-mode=all").assert_outcomes(passed=1)
        assert upstream.prompts == ["a", "a", "first"]
        assert [one.is_answered for one in calls(cassette(checkout, "a"))] == [True, True]


class TestKilled:
    """SIGKILL in the middle of a case: the calls that had ended are not lost, and nothing is damaged."""

    DYING = "one = httpx2_sync('one')\ntwo = httpx2_sync('two')\n{}\nreturn one + two + httpx2_sync('three')"
    KILL = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"

    def project(self, upstream: Upstream, then: str = "") -> Project:
        """Return a project whose agent does `then` after two of its three calls."""
        return talking(upstream, agent(self.DYING.format(then))).with_cases(asking("a"))

    def test_the_old_recording_is_untouched(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        checkout = self.project(upstream).at(pytester)
        checkout.run("eval", "--record").assert_outcomes(passed=1)
        before = finished(checkout)
        self.project(upstream, self.KILL).at(pytester)
        assert checkout.run_apart("eval", "--record", "--recall-mode=all").ret == -signal.SIGKILL
        assert finished(checkout) == before
        assert len(drafts(checkout)) == 1
        self.project(upstream).at(pytester)
        upstream.close()
        checkout.run("eval", "--replay", "--recall-mode=all").assert_outcomes(passed=1)
        assert numbers(answers(checkout)["a"]) == [1, 2, 3]

    def test_what_had_ended_is_picked_up_and_a_call_in_flight_is_the_only_loss(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        body = (
            "import os, signal\none = httpx2_sync('one')\n"
            "threading.Thread(target=httpx2_sync, args=('held',), daemon=True).start()\n"
            "httpx2_sync('comes')\nos.kill(os.getpid(), signal.SIGKILL)"
        )
        checkout = talking(upstream, agent(body)).with_cases(asking("a")).at(pytester)
        assert checkout.run_apart("eval", "--record").ret == -signal.SIGKILL
        assert upstream.prompts == ["comes", "held", "one"]
        assert finished(checkout) == {}
        again = "return ' & '.join(map(httpx2_sync, ['one', 'comes', 'three']))"
        talking(upstream, agent(again)).at(pytester)
        result = checkout.run("eval", "--record=missing", "--recall-mode=all")
        assert result.ret == pytest.ExitCode.OK, result.stdout.str()
        assert upstream.prompts == ["comes", "held", "one", "three"]
        recorded = numbers(answers(checkout)["a"])
        assert recorded in ([1, 2, 4], [1, 3, 4])
        assert drafts(checkout) == []
        upstream.close()
        checkout.run("eval", "--replay", "--recall-mode=all").assert_outcomes(passed=1)
        assert numbers(answers(checkout)["a"]) == recorded


class TestUnfinished:
    """What came to no verdict replaces nothing."""

    @pytest.fixture
    def checkout(self, pytester: pytest.Pytester, lasting: Upstream) -> Checkout:
        """A project whose one case is recorded."""
        return recorded(pytester, asks(lasting, "plain_sync", "a"))

    def test_a_crash_keeps_the_old_recording(
        self, pytester: pytest.Pytester, lasting: Upstream, checkout: Checkout
    ) -> None:
        before = finished(checkout)
        talking(lasting, agent("plain_sync(question)\nraise RuntimeError('boom')")).at(pytester)
        checkout.run("eval", "--record", "--recall-mode=all").assert_outcomes(errors=1)
        assert finished(checkout) == before

    def test_ctrl_c_keeps_the_old_recording(
        self, pytester: pytest.Pytester, lasting: Upstream, checkout: Checkout
    ) -> None:
        before = finished(checkout)
        talking(lasting, agent("plain_sync(question)\nraise KeyboardInterrupt")).at(pytester)
        assert checkout.run("eval", "--record", "--recall-mode=all").ret == pytest.ExitCode.INTERRUPTED
        assert finished(checkout) == before

    def test_a_recording_that_follows_takes_up_no_draft(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        source = agent("raise RuntimeError(httpx2_sync(question))")
        checkout = talking(upstream, source).with_cases(asking("a")).at(pytester)
        checkout.run("eval", "--record")
        assert trial(checkout, "a").error == "agent: RuntimeError: #0001 to a"
        # It came to no verdict, so that it is no recording to rely on.
        assert finished(checkout) == {}
        assert len(drafts(checkout)) == 1
        asks(upstream, "httpx2_sync", "a").at(pytester)
        checkout.run("eval", "--record", "--recall-mode=all").assert_outcomes(passed=1)
        assert drafts(checkout) == []
        assert numbers(answers(checkout)["a"]) == [2]

    @pytest.mark.parametrize("option", ["--replay", "--record=missing"])
    def test_a_cassette_that_is_cut_off_is_an_error(self, lasting: Upstream, checkout: Checkout, option: str) -> None:
        asked = lasting.count
        path = cassette(checkout, "a")
        path.write_bytes(path.read_bytes()[:-20])
        before = finished(checkout)
        checkout.run("eval", option, "--recall-mode=all").assert_outcomes(errors=1)
        last = trial(checkout, "a")
        assert last.stage == "setup"
        assert last.error.startswith("eval/cassettes/one/a.ndjson:")
        assert lasting.count == asked
        assert finished(checkout) == before

    @pytest.mark.parametrize(("option", "catches"), [("--replay", "BaseException"), ("--record=missing", "Exception")])
    def test_a_line_that_is_damaged_is_an_error_whoever_catches_it(
        self, lasting: Upstream, checkout: Checkout, option: str, catches: str
    ) -> None:
        body = f"try:\n    return plain_sync(question)\nexcept {catches}:\n    return 'fine'"
        talking(lasting, agent(body)).at(checkout.pytester)
        asked, before = lasting.count, checkout.state_text()
        path = cassette(checkout, "a")
        head, end, calls = path.read_bytes().partition(b"\n")
        path.write_bytes(head + end + re.sub(rb"#\d{4}", b"#9999", calls))
        checkout.run("eval", option, "--recall-mode=all", "--recall-trust-replays", day="2026-03-20")
        last = trial(checkout, "a")
        assert last.outcome == "error"
        assert "eval/cassettes/one/a.ndjson:4: damaged (its checksum does not fit)" in last.error
        assert last.source == "replayed"
        assert checkout.state_text() == before
        assert lasting.count == asked

    def test_a_part_of_a_question_that_is_damaged_fails_the_run(self, checkout: Checkout) -> None:
        # What was asked is found by its key, and read when the call is accounted for.
        path = cassette(checkout, "a")
        path.write_bytes(path.read_bytes().replace(b'"role":"user"', b'"role":"USER"'))
        result = checkout.run("eval", "--replay", "--recall-mode=all")
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        assert "eval/cassettes/one/a.ndjson:3: damaged (its checksum does not fit)" in result.stdout.str()

    def test_a_call_that_outlives_its_test_is_said(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        source = """\
LATE = threading.Thread(target=lambda: httpx2_sync("held"))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish():
    httpx2_sync("go")
    LATE.join()


@pytest.fixture
def agent():
    def answer(question):
        LATE.start()
        return httpx2_sync("comes")
    return answer
"""
        checkout = talking(upstream, source).with_cases(asking("a")).at(pytester)
        result = checkout.run("eval", "--record")
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(["eval/cassettes/one/a.ndjson: */any *"])
        assert [exchange.request.body for exchange in calls(cassette(checkout, "a"))] == [b'{"prompt":"comes"}']
        assert drafts(checkout) == []

    def test_a_stream_that_a_thread_reads_past_its_test_is_said(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        source = """\
MET = threading.Event()


def read():
    import httpx2
    with httpx2.stream("POST", URL + "/any", json=dict(prompt="wait", stream=True)) as response:
        for chunk in response.iter_raw():
            MET.set()


LATE = threading.Thread(target=read)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish():
    httpx2_sync("go")
    LATE.join()


@pytest.fixture
def agent():
    def answer(question):
        LATE.start()
        MET.wait(10)
        import time
        time.sleep(0.2)  # it waits for the next piece by then
        return "fine"
    return answer
"""
        checkout = talking(upstream, source).with_cases(asking("a")).at(pytester)
        result = checkout.run("eval", "--record")
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(["eval/cassettes/one/a.ndjson: */any *"])

    def test_a_folder_that_cannot_be_written_is_said(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        checkout = asks(upstream, "httpx2_sync", "a").at(pytester)
        (checkout.path / "eval/cassettes").write_text("a file", encoding="utf-8")
        result = checkout.run("eval", "--record")
        assert result.ret != pytest.ExitCode.OK
        assert "INTERNALERROR" not in result.stdout.str()


SHARED = """\
@pytest.fixture(scope="session")
def talk():
    said = [httpx2_sync(f"shared {number}") for number in range(3)]
    yield said
    httpx2_sync("good bye")


@pytest.fixture
def agent(talk):
    return lambda question: " & ".join([*talk, httpx2_sync(question)])
"""
# What pytest-xdist's documentation shows for fixtures that are to be set up once.
ONE_ASKS = """\
@pytest.fixture(scope="session")
def talk():
    import os
    import pathlib
    from filelock import FileLock
    said = pathlib.Path(os.environ["SAID"])
    with FileLock(f"{said}.lock"):
        if not said.exists():
            said.write_text(httpx2_sync("shared"))
    return said.read_text()


@pytest.fixture
def agent(talk):
    return lambda question: f"{talk} & {httpx2_sync(question)}"
"""
NAMES = [f"c{number}" for number in range(4)]


class TestSharedFixtures:
    """A fixture that several tests share has a cassette of its own."""

    def project(self, upstream: Upstream, source: str = SHARED) -> Project:
        """Return a project whose cases share a fixture that talks."""
        return talking(upstream, source).with_cases(*map(asking, NAMES))

    def test_it_is_recorded_once_and_alike_and_replayed_with_any_number_of_workers(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        alone = self.project(upstream).at(pytester)
        alone.run("eval", "--record", "--recall-mode=all").assert_outcomes(passed=len(NAMES))
        by_one = {name: plain(data) for name, data in finished(alone).items()}
        alone.forget()
        checkout = self.project(upstream).at(pytester)
        result = checkout.run("eval", "--record", "--recall-mode=all", "-n2")
        result.assert_outcomes(passed=len(NAMES))
        assert result.ret == pytest.ExitCode.OK, result.stdout.str()
        own = {name: numbers(text)[3:] for name, text in answers(checkout).items()}
        upstream.close()
        files = finished(checkout)
        assert {name: plain(data) for name, data in files.items()} == by_one
        assert len(files) == len(NAMES) + 1
        [shared] = [checkout.path / "eval/cassettes" / name for name in files if name.startswith("_fixtures/")]
        assert [exchange.request.body for exchange in calls(shared)] == [
            *(b'{"prompt":"shared %d"}' % number for number in range(3)),
            b'{"prompt":"good bye"}',
        ]
        # What the recorded answers of the fixture are is the same everywhere.
        said = {number for exchange in calls(shared) for number in numbers(_body(exchange))}
        met = no_sockets(monkeypatch)
        # The worker whose answers were not taken had others.
        result = checkout.run("eval", "--record=missing", "--recall-mode=all")
        assert result.ret == pytest.ExitCode.OK, result.stdout.str()
        files = finished(checkout)
        for others in ("-n0", "-n1"):
            result = checkout.run("eval", "--replay", "--recall-mode=all", others)
            assert result.ret == pytest.ExitCode.OK, result.stdout.str()
            assert all(set(numbers(text)[:3]) < said for text in answers(checkout).values())
            assert {name: numbers(text)[3:] for name, text in answers(checkout).items()} == own
            assert set(sources(checkout).values()) == {"replayed"}
            assert finished(checkout) == files
        assert met == []

    def test_a_miss_in_it_fails_every_test_that_uses_it(self, pytester: pytest.Pytester, lasting: Upstream) -> None:
        checkout = recorded(pytester, self.project(lasting))
        self.project(lasting, SHARED.replace('f"shared ', 'f"changed ')).at(pytester)
        result = checkout.run("eval", "--replay", "--recall-mode=all")
        result.assert_outcomes(errors=len(NAMES))
        assert "prompt: “shared 0” → “changed 0”" in result.stdout.str()

    def test_a_miss_at_its_end_fails_the_run(self, pytester: pytest.Pytester, lasting: Upstream) -> None:
        checkout = recorded(pytester, self.project(lasting))
        quiet = 'try:\n        httpx2_sync("farewell")\n    except BaseException:\n        pass'
        self.project(lasting, SHARED.replace('httpx2_sync("good bye")', quiet)).at(pytester)
        result = checkout.run("eval", "--replay", "--recall-mode=all")
        result.assert_outcomes(passed=len(NAMES))
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(["eval/cassettes/_fixtures/*: POST */any is not recorded*"])

    def test_its_crash_keeps_the_old_recording(self, pytester: pytest.Pytester, lasting: Upstream) -> None:
        checkout = recorded(pytester, self.project(lasting))
        before = finished(checkout)
        self.project(lasting, SHARED.replace("yield said", "raise RuntimeError('boom')")).at(pytester)
        checkout.run("eval", "--record", "--recall-mode=all").assert_outcomes(errors=len(NAMES))
        assert finished(checkout) == before

    def test_a_change_of_it_costs_only_the_changed_calls(self, pytester: pytest.Pytester, lasting: Upstream) -> None:
        checkout = recorded(pytester, self.project(lasting))
        before = lasting.count
        self.project(lasting, SHARED.replace("range(3)", "range(4)")).at(pytester)
        checkout.run("eval", "--record=missing", "--recall-mode=all").assert_outcomes(passed=len(NAMES))
        assert lasting.count == before + 1
        result = checkout.run("eval", "--replay", "--recall-mode=all")
        assert result.ret == pytest.ExitCode.OK, result.stdout.str()

    @pytest.mark.parametrize("how", ["--record", "--record=missing"])
    def test_what_makes_no_call_any_more_loses_its_recording(
        self, pytester: pytest.Pytester, lasting: Upstream, how: str
    ) -> None:
        checkout = recorded(pytester, self.project(lasting))
        quiet = SHARED.replace("range(3)", "range(0)").replace('httpx2_sync("good bye")', "pass")
        self.project(lasting, quiet).at(pytester)
        checkout.run("eval", how, "--recall-mode=all").assert_outcomes(passed=len(NAMES))
        assert not any(name.startswith("_fixtures/") for name in finished(checkout))
        self.project(lasting, agent("return question")).at(pytester)
        checkout.run("eval", how, "--recall-mode=all").assert_outcomes(passed=len(NAMES))
        assert finished(checkout) == {}

    def test_those_of_one_name_and_those_of_each_module_are_told_apart(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        shared = '@pytest.fixture(scope="module")\ndef stem(request):\n    return httpx2_sync(request.node.path.stem)\n'
        source = (
            "import pytest\nfrom conftest import httpx2_sync\n\n\n"
            '@pytest.fixture(scope="module", params=["x", "y"])\ndef talk(request):\n'
            '    return httpx2_sync("{0} " + request.param)\n\n\n'
            '@pytest.mark.recall("{0}")\ndef test_it(talk, stem):\n    assert "{0}" in talk\n    assert "{0}" in stem\n'
        )
        files = {f"eval/test_{name}.py": source.format(name) for name in ("one", "two")}
        checkout = talking(upstream, shared).with_files(files).at(pytester)
        checkout.run("eval", "--record").assert_outcomes(passed=4)
        assert len(finished(checkout)) == 6
        upstream.close()
        result = checkout.run("eval", "--replay", "--recall-mode=all")
        result.assert_outcomes(passed=4)
        assert result.ret == pytest.ExitCode.OK, result.stdout.str()

    def test_what_it_leaves_unasked_fails_the_run(self, pytester: pytest.Pytester, lasting: Upstream) -> None:
        checkout = recorded(pytester, self.project(lasting))
        self.project(lasting, SHARED.replace("range(3)", "range(2)")).at(pytester)
        result = checkout.run("eval", "--replay", "--recall-mode=all")
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(["eval/cassettes/_fixtures/*: recorded call 3 was not asked for*"])

    def test_workers_may_agree_that_one_of_them_asks(
        self, pytester: pytest.Pytester, upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout = self.project(upstream, ONE_ASKS).at(pytester)
        said = tmp_path / "said.txt"
        monkeypatch.setenv("SAID", str(said))
        for mode in ("--record", "--record=missing", "--replay"):
            said.unlink(missing_ok=True)
            result = checkout.run("eval", mode, "--recall-mode=all", "-n2")
            assert result.ret == pytest.ExitCode.OK, result.stdout.str()
            assert [name for name in finished(checkout) if name.startswith("_fixtures/")] != []


def _body(exchange: Exchange) -> str:
    assert exchange.response is not None
    return exchange.response.body.decode()


def plain(data: bytes) -> list[Any]:
    """Return the lines of a cassette without what differs from run to run: ids, numbers, times, checksums."""

    def cleaned(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: cleaned(item) for name, item in value.items() if name not in LEFT_OUT}
        if isinstance(value, list):
            return [cleaned(item) for item in value]
        if isinstance(value, str):
            return re.sub(r"(req|chatcmpl|msg)-\d+|\"number\": \d+", "id", NUMBER.sub("#", value))
        return value

    return [cleaned(json.loads(line)) for line in data.splitlines()]


LEFT_OUT = ("crc", "sum", "times", "digest", "fixtures")


DOZEN = """
import pathlib, sys
from pytest_recall.replay.exchange import Exchange, Request, Response
from pytest_recall.replay.equality import key_of
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.cassette_library import Library

library = Library(pathlib.Path(sys.argv[1]))
header = {"fixture": "talk", "scope": "session", "run": "r"}
calls = []
print("ready", flush=True)
sys.stdin.readline()
for number in range(12):
    request = Request("POST", "http://upstream/any", (), b'{"prompt":"%d of %s"}' % (number, sys.argv[2].encode()))
    key = key_of(request, Rules())
    calls.append(Exchange(key, number, "agent", request, Response(200, "OK", (), (b"%d" % number,)), at="2026-03-10"))
    library.finish(library.of_fixture("talk", "session", ""), header, calls, Rules(), shared=True)
"""


def test_two_processes_that_record_a_dozen_calls_each_into_one_fixture_keep_them_all(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", DOZEN, str(tmp_path), str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for number in range(2)
    ]
    try:
        for process in processes:
            assert process.stdout
            assert process.stdout.readline() == b"ready\n"
        for process in processes:
            assert process.stdin
            process.stdin.write(b"go\n")
            process.stdin.flush()
        for process in processes:
            process.communicate(timeout=60)
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0]
    library = Library(tmp_path)
    found = Cassette(library.of_fixture("talk", "session", ""), "talk", Rules())
    found.verify()
    assert len({exchange.request.body for exchange in found.exchanges()}) == len(found) == 24
