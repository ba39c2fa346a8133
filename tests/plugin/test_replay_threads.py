"""Threads of an agent in a recording and a replay: those it waits for, and those that are there for something else."""

from __future__ import annotations

import re
import signal
import socket

import pytest

from pytest_recall.replay import interrupt
from pytest_recall.trials import concurrency
from tests.helpers.kept import recorded
from tests.helpers.project import Checkout, Project
from tests.helpers.talking import agent, asking, calls, cassette, sources, talking, trial
from tests.helpers.upstream import Upstream
from tests.plugin.conftest import NEEDS_PYTEST_ASYNCIO

REPLAY = ("eval", "--replay", "--recall-mode=all")
AT_ONCE = "--recall-concurrency=2"
URGENT = getattr(signal, "SIGURG", signal.SIGINT)
"""The signal by which an agent that waits is interrupted, where there is one; it is as it was after a run."""

OWN = """\
def asked(question, **more):
    import httpx2
    return httpx2.post(URL + "/v1/chat/completions", json=dict(messages=said(question), **GPT), **more)


def text(question):
    return asked("{prefix}" + question).json()["choices"][0]["message"]["content"]


import queue


class Worker:
    def __init__(self):
        self.jobs = queue.Queue()
        self.thread = None

    def work(self):
        while True:
            question, done = self.jobs.get()
            try:
                done.put(text(question))
            except {caught}:
                done.put("")

    def begin(self):
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def ask(self, question):
        if self.thread is None:
            self.begin()
        done = queue.Queue()
        self.jobs.put((question, done))
        return done.get() or done.get()


SHARED = Worker()
"""


ANY_TEXT = """
def text(question):
    return asked(question).text


"""
HEARD = "import concurrent.futures\nwith concurrent.futures.ThreadPoolExecutor() as pool:\n"
HEARD += "    return pool.submit(text, question).result()"


def project(upstream: Upstream, body: str, *, prefix: str = "", caught: str = "()", more: str = "") -> Project:
    source = OWN.format(prefix=prefix, caught=caught) + more + agent(body)
    return talking(upstream, source).with_cases(asking("a"), asking("b"))


class TestWaitedFor:
    """A case that waits for a thread of its own making ends with the miss of that thread."""

    @pytest.mark.parametrize(
        ("body", "more", "ways"),
        [
            # The agent of the second case hears of the miss by itself, and is not interrupted.
            (f"if question == 'a':\n    return Worker().ask(question)\n{HEARD}", "", [()]),
            ("return SHARED.ask(question)", "SHARED.begin()\n\n", [(), ("-n", "2")]),
        ],
        ids=["of_each_case", "of_the_session"],
    )
    def test_it_ends_and_the_others_too(
        self,
        pytester: pytest.Pytester,
        lasting: Upstream,
        monkeypatch: pytest.MonkeyPatch,
        body: str,
        more: str,
        ways: list[tuple[str, ...]],
    ) -> None:
        monkeypatch.setattr(concurrency, "PATIENCE", 0.3)
        before = signal.getsignal(URGENT)
        recorded(pytester, project(lasting, body, more=more))
        # The answer never comes: the thread goes on, and the agent waits for more than an empty one.
        checkout = project(lasting, body, prefix="other ", caught="Exception", more=more).at(pytester)
        asked = lasting.count
        for way in ways:
            checkout.run(*REPLAY, *way).assert_outcomes(errors=2)
            missed = f"{{}}.ndjson: POST {lasting.url}/v1/chat/completions is not"
            assert all(missed.format(case_id) in trial(checkout, case_id).error for case_id in "ab"), way
        assert lasting.count == asked
        assert signal.getsignal(URGENT) == before

    @pytest.mark.parametrize("more", ["", ANY_TEXT], ids=["ends_by_a_refusal", "hands_on_a_refusal"])
    def test_a_thread_that_a_case_has_begun_is_none_of_the_next(
        self, pytester: pytest.Pytester, lasting: Upstream, monkeypatch: pytest.MonkeyPatch, more: str
    ) -> None:
        monkeypatch.setattr(interrupt, "LONG", 0.5)
        checkout = project(lasting, "return SHARED.ask(question)", more=more).at(pytester)
        result = checkout.run("eval", "--record")
        result.assert_outcomes(passed=2)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(["*: was not recorded, since case `a` is over*"])
        asked = lasting.count
        result = checkout.run(*REPLAY)
        # The second case waits for what nobody answers.
        result.assert_outcomes(passed=1, errors=1)
        assert "was not sent, since case `a` is over" in trial(checkout, "b").error
        assert lasting.count == asked

    def test_what_no_case_has_recorded_is_a_miss_of_all_that_run(
        self, pytester: pytest.Pytester, lasting: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(concurrency, "PATIENCE", 0.3)
        more = "SHARED.begin()\n\n"
        recorded(pytester, project(lasting, "return SHARED.ask(question)", more=more))
        body = "BOTH.wait(20)\nreturn SHARED.ask('other')"
        more += "BOTH = threading.Barrier(2)\n\n"
        checkout = project(lasting, body, caught="Exception", more=more).at(pytester)
        checkout.run(*REPLAY, AT_ONCE).assert_outcomes(errors=2)
        assert all("none of them have it recorded" in trial(checkout, case_id).error for case_id in "ab")

    def test_a_recording_in_which_its_call_is_nobodys_takes_no_cassette_away(
        self, pytester: pytest.Pytester, lasting: Upstream
    ) -> None:
        more = "SHARED.begin()\n\n"
        checkout = recorded(pytester, project(lasting, "return SHARED.ask(question)", more=more))
        before = {path: path.read_bytes() for path in checkout.path.rglob("*.ndjson") if "cassettes" in path.parts}
        body = "BOTH.wait(20)\nreturn SHARED.ask(question)"
        checkout = project(lasting, body, more=more + "BOTH = threading.Barrier(2)\n\n").at(pytester)
        result = checkout.run("eval", "--record", "--recall-mode=all", AT_ONCE)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(["*a.ndjson: nothing was recorded of it, and its recording stays as it is*"])
        assert len(before) == 2
        assert {path: path.read_bytes() for path in before} == before

    def test_what_it_leaves_of_itself_asks_nothing_in_the_name_of_the_next(
        self, pytester: pytest.Pytester, lasting: Upstream
    ) -> None:
        source = (
            OWN.format(prefix="{prefix}", caught="()")
            + """\
@pytest.fixture
def agent():
    async def answer(question):
        import asyncio
        if question == "a":
            threading.Thread(target=text, args=("{asked}",)).start()
            await asyncio.sleep({seconds})
            await asyncio.to_thread(text, "late {prefix}")
        await asyncio.sleep(0.5)
        return await asyncio.to_thread(text, question)
    return answer
"""
        )

        def at(prefix: str, asked: str, seconds: float) -> Checkout:
            filled = source.replace("{prefix}", prefix).replace("{asked}", asked).replace("{seconds}", str(seconds))
            return talking(lasting, filled).with_cases(asking("a"), asking("b")).at(pytester)

        at("", "one", 0).run("eval", "--record").assert_outcomes(passed=2)
        checkout = at("", "other", 0.6)
        checkout.run(*REPLAY).assert_outcomes(passed=1, errors=1)
        assert "is not recorded" in trial(checkout, "a").error
        assert sources(checkout) == {"a": "replayed", "b": "replayed"}

    def test_a_thread_of_the_session_serves_all_cases(self, pytester: pytest.Pytester, lasting: Upstream) -> None:
        checkout = recorded(pytester, project(lasting, "return SHARED.ask(question)", more="SHARED.begin()\n\n"))
        asked = lasting.count
        for way in ((), (AT_ONCE,)):
            checkout.run(*REPLAY, *way).assert_outcomes(passed=2)
            assert sources(checkout) == {"a": "replayed", "b": "replayed"}
        assert lasting.count == asked


LEAVING = """\
LEFT = []
GO = []


async def late():
    await GO[0].wait()
    await httpx2_async("same")


async def answer(question):
    if question == "a":
        GO.append(asyncio.Event())
        LEFT.append(asyncio.get_running_loop().create_task(late()))
        return await httpx2_async(question)
    GO[0].set()
    if {is_recording}:
        await asyncio.wait(LEFT)
    for _ in range(200):
        await asyncio.sleep(0)  # The call of the task is made now, and held back.
    return await httpx2_async("same")


async def cancel():
    for task in LEFT:
        task.cancel()
    await asyncio.wait(LEFT)


"""
OF_SESSION = "@pytest.fixture(scope='session')\n"
KEEPING = {
    "loop": f"{OF_SESSION}def loop():\n    made = asyncio.new_event_loop()\n    yield made\n"
    "    made.run_until_complete(cancel())\n    made.close()\n\n"
    "@pytest.fixture\ndef agent(loop):\n    return lambda question: loop.run_until_complete(answer(question))\n",
    "loop of a thread": f"{OF_SESSION}def loop():\n    made = asyncio.new_event_loop()\n"
    "    thread = threading.Thread(target=made.run_forever)\n    thread.start()\n    yield made\n"
    "    asyncio.run_coroutine_threadsafe(cancel(), made).result()\n"
    "    made.call_soon_threadsafe(made.stop)\n    thread.join()\n    made.close()\n\n"
    "@pytest.fixture\ndef agent(loop):\n"
    "    return lambda question: asyncio.run_coroutine_threadsafe(answer(question), loop).result()\n",
    "runner": f"{OF_SESSION}def runner():\n    made = asyncio.Runner()\n    yield made\n    made.close()\n\n"
    "@pytest.fixture\ndef agent(runner):\n    return lambda question: runner.run(answer(question))\n",
    "loop of ours": "@pytest.fixture\ndef agent():\n    return answer\n",
}
"""Agents whose event loop serves all cases, by what keeps it."""
MARKED = "import pytest\nfrom conftest import answer\n\n" + "".join(
    f"@pytest.mark.{{mark}}\n@pytest.mark.recall('{one}', scenario='one')\n"
    f"async def test_{one}(kept):\n    assert await answer('{one}')\n\n"
    for one in "ab"
)
ASYNCIO = """
import pytest_asyncio

@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def kept():
    pass
"""
ANYIO = """
@pytest.fixture(scope="session")
def anyio_backend():
    return "asyncio"

@pytest.fixture(scope="session")
async def kept(anyio_backend):
    yield
"""


class TestTasks:
    """A task that a case leaves on an event loop which others use as well."""

    def left(self, pytester: pytest.Pytester, upstream: Upstream, source: str, *args: str, marked: str = "") -> None:
        """Assert that what the case `a` leaves asks nothing in the name of `b`."""

        def at(is_recording: bool) -> Checkout:
            made = talking(upstream, LEAVING.format(is_recording=is_recording) + source)
            cases = (
                made.with_files({"eval/test_it.py": marked}) if marked else made.with_cases(asking("a"), asking("b"))
            )
            return cases.at(pytester)

        checkout = at(is_recording=True)
        result = checkout.run("eval", "--record", *args)
        result.assert_outcomes(passed=2)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(["*: was not recorded, since case `a` is over*"])
        assert [len(calls(cassette(checkout, name))) for name in "ab"] == [1, 1]
        asked, checkout = upstream.count, at(is_recording=False)
        result = checkout.run(*REPLAY, *args)
        result.assert_outcomes(passed=2)
        result.stdout.fnmatch_lines(["*: was not sent, since case `a` is over*"])
        assert sources(checkout) == {"a": "replayed", "b": "replayed"}
        assert upstream.count == asked

    @pytest.mark.parametrize("kept", KEEPING)
    def test_it_asks_nothing_in_the_name_of_the_next(
        self, pytester: pytest.Pytester, lasting: Upstream, kept: str
    ) -> None:
        self.left(pytester, lasting, KEEPING[kept])

    @pytest.mark.parametrize(
        ("mark", "source", "args"),
        [
            pytest.param(
                "asyncio(loop_scope='session')",
                ASYNCIO,
                ("-p", "pytest_asyncio.plugin", "-o", "asyncio_default_fixture_loop_scope=session"),
                marks=NEEDS_PYTEST_ASYNCIO,
            ),
            ("anyio", ANYIO, ("-p", "anyio.pytest_plugin")),
        ],
        ids=["asyncio", "anyio"],
    )
    def test_nor_in_that_of_a_test_on_the_loop_of_another_plugin(
        self, pytester: pytest.Pytester, lasting: Upstream, mark: str, source: str, args: tuple[str, ...]
    ) -> None:
        self.left(pytester, lasting, source, *args, marked=MARKED.format(mark=mark))


HANDING_ON = """\
import asyncio

PROMPT = {prompt!r}


async def asks(question, done, failed):
    import httpx2
    try:
        async with httpx2.AsyncClient() as client:
            answer = await client.post(URL + "/any", json=dict(prompt=PROMPT + question))
        done(answer.raise_for_status().json()["text"])
    except {caught} as error:
        failed(error)
        {then}


"""
OWN_TASK = (
    HANDING_ON
    + """\
async def answered(question):
    future = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(asks(question, future.set_result, future.set_exception))
    return await future


"""
)
SESSION_TASK = (
    HANDING_ON
    + """\
LOOP = asyncio.new_event_loop()
WORK = asyncio.Queue()


async def works():
    while True:
        await asks(*await WORK.get())


async def answered(question):
    future = asyncio.get_running_loop().create_future()
    await WORK.put((question, future.set_result, future.set_exception))
    return await future


TASK = LOOP.create_task(works())


"""
)
RUNS = {
    "own": "return asyncio.run(answered(question))",
    "session": "return LOOP.run_until_complete(answered(question))",
}


class TestMissOfATask:
    """A case ends that waits for a task whose call is not recorded, whatever the task makes of that."""

    @pytest.mark.parametrize(
        ("source", "runs", "caught", "then"),
        [
            (OWN_TASK, "own", "Exception", "pass"),
            (OWN_TASK, "own", "ValueError", "pass"),
            (SESSION_TASK, "session", "Exception", "pass"),
            (SESSION_TASK, "session", "BaseException", "raise"),
        ],
        ids=["own", "own-swallows-nothing", "session", "session-ends"],
    )
    def test_the_case_has_no_verdict(
        self, pytester: pytest.Pytester, lasting: Upstream, source: str, runs: str, caught: str, then: str
    ) -> None:
        def at(prompt: str) -> Checkout:
            made = source.format(prompt=prompt, caught=caught, then=then) + agent(RUNS[runs])
            return talking(lasting, made).with_cases(asking("a"), asking("b")).at(pytester)

        at("one ").run_afresh("eval", "--record").assert_outcomes(passed=2)
        checkout = at("one ")
        checkout.run_afresh(*REPLAY).assert_outcomes(passed=2)
        asked, checkout = lasting.count, at("two ")
        result = checkout.run_afresh(*REPLAY)
        result.assert_outcomes(errors=2)
        assert lasting.count == asked
        assert "Traceback" not in result.stderr.str()


EXPORTER = """\
TOLD = threading.Semaphore(0)
DONE = threading.Semaphore(0)


def export():
    import itertools, httpx2
    for number in itertools.count():
        TOLD.acquire()
        {send}
        DONE.release()


threading.Thread(target=export, daemon=True).start()


def flush():
    TOLD.release()
    assert DONE.acquire(timeout=20)


"""
POSTED = "httpx2.post(URL + '{path}', json=dict(prompt='%d %s' % (number, threading.get_native_id())))"
TRIED = "try:\n            {send}\n        except httpx2.ConnectError:\n            pass"
BODY = "flush()\nreturn text(question)"


IN_A_CALLBACK = """\
loop = asyncio.new_event_loop()
answer = loop.create_future()
loop.call_soon(lambda: answer.set_result(text(question)))
try:
    return loop.run_until_complete(answer)
finally:
    loop.close()"""


def test_a_miss_in_a_callback_of_a_loop_ends_the_case_that_waits_for_it(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    checkout = project(upstream, IN_A_CALLBACK).at(pytester)
    checkout.run_apart("eval", "--record").assert_outcomes(passed=2)
    checkout.run_apart(*REPLAY).assert_outcomes(passed=2)
    asked = upstream.count
    project(upstream, IN_A_CALLBACK.replace("question)", "question + '?')")).at(pytester)
    checkout.run_apart(*REPLAY).assert_outcomes(errors=2)
    assert upstream.count == asked


class TestBackground:
    """What other threads send is none of the case's business."""

    def test_telemetry_is_neither_recorded_nor_sent(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """By what the rubric names, and by what the environment says."""
        port = upstream.url.rpartition(":")[2]
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://[::1]:{port}")
        named = POSTED.format(path="/collect").replace("URL +", "'http://collector.example' +")
        told = POSTED.format(path="/v1/traces").replace("URL +", f"'http://[::1]:{port}' +")
        send = "\n        ".join(TRIED.format(send=one).replace("ConnectError", "HTTPError") for one in (named, told))
        more = EXPORTER.format(send=send)
        rubric = {"eval/rubric.yaml": "owner: me\ncalls: {collector.example: telemetry}\n"}
        checkout = project(upstream, BODY, more=more).with_files(rubric).at(pytester)
        result = checkout.run("eval", "--record", "-n2")
        assert result.ret == 0
        said = "4 calls of telemetry were {}: ::1 (2), collector.example (2)"
        result.stdout.fnmatch_lines([said.format("made and not recorded").replace("[", "[[]")])
        assert [len(calls(cassette(checkout, name))) for name in "ab"] == [1, 1]
        upstream.close()
        result = checkout.run(*REPLAY, AT_ONCE)
        result.assert_outcomes(passed=2)
        assert result.ret == 0
        result.stdout.fnmatch_lines([said.format("answered here and not sent")])
        without = project(upstream, "return text(question)").at(pytester)
        assert without.run(*REPLAY).ret == 0

    def test_no_metrics_are_sent_in_a_replay(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As clients of statsd send them, by datagrams whose loss they do not mind."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as statsd:
            statsd.bind(("127.0.0.1", 0))
            statsd.settimeout(5)
            monkeypatch.setenv("STATSD_PORT", str(statsd.getsockname()[1]))
            send = (
                "import os, socket\nsent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                "try:\n    sent.sendto(b'asked:1|c', ('127.0.0.1', int(os.environ['STATSD_PORT'])))\n"
                "except OSError:\n    pass\nsent.close()\n"
            )
            checkout = project(upstream, f"{send}return text(question)").at(pytester)
            assert checkout.run_apart("eval", "--record").ret == 0
            assert [statsd.recv(99) for _ in "ab"] == [b"asked:1|c"] * 2
            upstream.close()
            result = checkout.run_apart(*REPLAY)
            result.assert_outcomes(passed=2)
            assert result.ret == 0
            statsd.setblocking(False)
            with pytest.raises(BlockingIOError):
                statsd.recv(99)

    def test_an_unknown_service_is_missed_with_the_way_out(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        body = "import httpx2\nsend = threading.Thread(name='out', target=httpx2.post, args=(URL + '/v1/logs',), "
        body += "kwargs=dict(json=dict(prompt='%d' % id(question))))\nsend.start()\nsend.join()\nreturn text(question)"
        checkout = project(upstream, body.replace("id(question)", "0")).at(pytester)
        assert checkout.run("eval", "--record").ret == 0
        assert checkout.run(*REPLAY).ret == 0
        checkout = project(upstream, body.replace("id(question)", "1")).at(pytester)
        result = checkout.run(*REPLAY)
        result.assert_outcomes(errors=2)
        result.stdout.fnmatch_lines(
            ["*if this call sends telemetry, name its host in rubric.yaml: `calls: {HOST: telemetry}`*"]
        )

    def test_what_it_asks_as_was_recorded_is_served_and_a_model_is_asked_for_the_case(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        send = "FOUND.append(httpx2.post(URL + '/tool', json=dict(prompt='same')).json()['text'])\n        "
        send += "FOUND.append(asked('echo {}').json()['choices'][0]['message']['content'])"
        body = "FOUND.clear()\nflush()\nreturn ' '.join(FOUND)"
        checkout = project(upstream, body, more="FOUND = []\n" + EXPORTER.format(send=send.format("x"))).at(pytester)
        assert checkout.run("eval", "--record").ret == 0
        upstream.close()
        assert checkout.run(*REPLAY).ret == 0
        assert sources(checkout) == {"a": "replayed", "b": "replayed"}
        checkout = project(upstream, body, more="FOUND = []\n" + EXPORTER.format(send=send.format("y"))).at(pytester)
        checkout.run(*REPLAY).assert_outcomes(errors=2)
        assert "is not recorded" in trial(checkout, "a").error


RAW = """\
def raw(question, connect):
    import json, socket
    host, port = URL.removeprefix("http://").split(":")
    body = json.dumps(dict(messages=said(question), **GPT)).encode()
    client = connect(("localhost", int(port)))
    head = b"POST /v1/chat/completions HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\ncontent-length: %d\\r\\n\\r\\n"
    client.sendall(head % len(body) + body)
    with client, client.makefile("rb") as answer:
        return json.loads(answer.read().split(b"\\r\\n\\r\\n", 1)[1])["choices"][0]["message"]["content"]


"""


class TestConnections:
    """A recording tells of connections of clients that it does not know."""

    def told(self, result: pytest.RunResult, checkout: Checkout, upstream: Upstream) -> None:
        """Assert that the run has passed both cases, told of the connection by host and line, and failed by it."""
        result.assert_outcomes(passed=2)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        port = upstream.url.rpartition(":")[2]
        told = [line for line in result.outlines if "was made at" in line]
        assert len(told) == 1
        line = (
            (checkout.path / "eval/conftest.py")
            .read_text()
            .splitlines()
            .index('    client = connect(("localhost", int(port)))')
        )
        # Of a run in this process the innermost line is that of the guard which keeps all tests off the network.
        place = rf"(eval/conftest\.py:{line + 1}|\S+/conftest\.py:\d+)"
        assert re.match(rf"a connection to localhost:{port} was made at {place}, and nothing", told[0])

    def test_they_are_told_with_host_and_line(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        checkout = project(upstream, "import socket\nreturn raw(question, socket.create_connection)", more=RAW).at(
            pytester
        )
        self.told(checkout.run("eval", "--record", "-n", "2"), checkout, upstream)

    def test_a_name_is_told_though_its_address_was_looked_up_meanwhile(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        body = """\
import socket

def connect(place):
    found = socket.getaddrinfo(*place, socket.AF_INET, socket.SOCK_STREAM)[0][4]
    socket.getaddrinfo(*found)
    made = socket.socket()
    made.connect(found)
    return made

return raw(question, connect)
"""
        result = project(upstream, body, more=RAW).at(pytester).run("eval", "--record")
        told = [line.split(" was made at")[0] for line in result.outlines if "was made at" in line]
        assert told == [f"a connection to localhost:{upstream.url.rpartition(':')[2]}"]

    def test_a_host_that_is_ignored_is_none_and_the_rest_is_recorded(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        body = "import socket\nraw('x', socket.create_connection)\nreturn text(question)"
        checkout = project(upstream, body, more=RAW).at(pytester)
        self.told(checkout.run("eval", "--record", AT_ONCE), checkout, upstream)
        assert [len(calls(cassette(checkout, name))) for name in "ab"] == [1, 1]
        rubric = {"eval/rubric.yaml": "owner: me\ncalls: {localhost: ignore}\n"}
        checkout = project(upstream, body, more=RAW).with_files(rubric).at(pytester)
        result = checkout.run("eval", "--record", "--recall-mode=all")
        assert not [line for line in result.outlines if "was made at" in line]
