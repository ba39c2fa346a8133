"""Cassettes of cases that run at once: each call is recorded, replayed and refused with its own case."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pytest_recall.replay.exchange import Exchange
from pytest_recall.trials import concurrency
from tests.helpers import kept
from tests.helpers.overlapping import due
from tests.helpers.project import Checkout, Project, cases_yaml
from tests.helpers.talking import (
    CASSETTES,
    agent,
    answers,
    asking,
    calls,
    cassette,
    drafts,
    finished,
    no_sockets,
    sources,
    talking,
    trial,
)
from tests.helpers.upstream import Upstream

pytest.importorskip("openai")
pytest.importorskip("anthropic")
pytest.importorskip("httpx")

IDS = tuple(f"case-{number}" for number in range(5))
FOUR = IDS[:4]
AT_ONCE = "--recall-concurrency=4"
WAYS = {
    "sync": ("openai_sync", "anthropic_stream", "requests_sync"),
    "async": ("openai_async", "openai_async_stream", "httpx_async"),
}
MORE = """
def requests_sync(question):
    import requests
    return requests.post(URL + "/any", json=dict(prompt=question)).json()["text"]


"""

TWICE = """
@pytest.fixture
def agent():
    def answer(question):
        way = ({ways})[int(question[-1]) % 3]
        way(question + " a")
        return way(question)

    return answer
"""
TWICE_ASYNC = """
@pytest.fixture(scope="session")
def agent():
    async def answer(question):
        way = ({ways})[int(question[-1]) % 3]
        await way(question + " a")
        return await way(question)

    return answer
"""


def asking_project(upstream: Upstream, source: str, *ids: str) -> Project:
    """Return a project with this agent; each case asks the upstream to repeat its own id."""
    project = due(talking(upstream, MORE + source), *(ids or IDS))
    rows = (asking(name, f"echo {name}") for name in ids or IDS)
    return project.with_files({"eval/cases.yaml": cases_yaml(*rows)})


def record(checkout: Checkout, *args: str) -> dict[str, bytes]:
    """Record everything, and return the cassettes."""
    result = checkout.run("eval", "--record", "--recall-mode=all", *args)
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    assert drafts(checkout) == []
    return finished(checkout)


def alike(checkout: Checkout) -> dict[str, list[Any]]:
    """Return what the cassettes hold, without the numbers of answers and the times, which no two recordings share."""
    return {
        name: [_alike(exchange) for exchange in calls(checkout.path / CASSETTES / name)] for name in finished(checkout)
    }


def _alike(exchange: Exchange) -> Any:
    response = exchange.response
    assert response is not None
    body = re.sub(rb"(chatcmpl-|msg-|#|number\W+)\d+", b"", b"".join(response.chunks))
    headers = [(name, value) for name, value in response.headers if name.lower() not in ("date", "x-request-id")]
    return (*exchange[: exchange._fields.index("response")], response.status, headers, body, response.complete)


@pytest.mark.parametrize("kind", WAYS)
def test_a_recording_is_the_same_and_is_replayed_either_way(
    pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Two of four cases ask by the first of three clients, so that those of one and of several are at once."""
    if kind == "sync":
        pytest.importorskip("requests")
    source = {"sync": TWICE, "async": TWICE_ASYNC}[kind].format(ways=", ".join(WAYS[kind]))
    checkout = asking_project(upstream, source, *FOUR).at(pytester)
    record(checkout)
    one_by_one = alike(checkout)
    at_once = record(checkout, AT_ONCE)
    assert alike(checkout) == one_by_one
    assert set(at_once) == {f"one/{name}.ndjson" for name in FOUR}
    for name in FOUR:
        prompts = [exchange.request.body.decode() for exchange in calls(cassette(checkout, name))]
        assert [f"echo {name}{end}" in prompt for prompt, end in zip(prompts, (" a", '"'), strict=True)] == [True, True]
    said = {name: text.replace("|", "") for name, text in answers(checkout).items()}
    assert said == {name: name for name in FOUR}
    upstream.close()
    met = no_sockets(monkeypatch)
    result = checkout.run("eval", "--replay", "--recall-mode=all", *(() if kind == "sync" else (AT_ONCE,)))
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    assert {name: text.replace("|", "") for name, text in answers(checkout).items()} == said
    assert set(sources(checkout).values()) == {"replayed"}
    assert met == []
    assert finished(checkout) == at_once


MORE_THAN_ONE = agent("httpx_sync(question + ' more')\nreturn httpx_sync(question)")


def test_only_what_is_missing_is_recorded(pytester: pytest.Pytester, lasting: Upstream) -> None:
    checkout = kept.recorded(pytester, asking_project(lasting, MORE_THAN_ONE))
    files, before, asked = finished(checkout), alike(checkout), lasting.count
    for name in IDS[::2]:
        cassette(checkout, name).unlink()
    result = checkout.run("eval", "--record=missing", "--recall-mode=all", AT_ONCE, "-n2")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    assert lasting.count == asked + 2 * 3
    assert sources(checkout) == {name: "live" if number % 2 == 0 else "replayed" for number, name in enumerate(IDS)}
    after = finished(checkout)
    assert alike(checkout) == before
    assert {name for name in files if after[name] == files[name]} == {f"one/{name}.ndjson" for name in IDS[1::2]}


def test_a_miss_and_what_was_not_asked_for_are_those_of_their_own_cases(
    pytester: pytest.Pytester, lasting: Upstream
) -> None:
    checkout = kept.recorded(pytester, asking_project(lasting, MORE_THAN_ONE))
    asked = lasting.count
    rows = [asking(name, f"echo {name}" + (" changed" if name == IDS[3] else "")) for name in IDS]
    (checkout.path / "eval/cases.yaml").write_text(cases_yaml(*rows))
    conftest = checkout.path / "eval/conftest.py"
    asks_more = "httpx_sync(question + ' more')\n"
    less = conftest.read_text().replace(f" {asks_more}", f" if {IDS[2]!r} not in question: {asks_more}")
    conftest.write_text(less)
    result = checkout.run("eval", "--replay", "--recall-mode=all", AT_ONCE)
    result.assert_outcomes(passed=3, errors=2)
    assert {name for name, outcome in checkout.outcomes().items() if outcome == "error"} == {IDS[2], IDS[3]}
    assert f"eval/cassettes/one/{IDS[3]}.ndjson: POST " in trial(checkout, IDS[3]).error
    assert trial(checkout, IDS[2]).error.startswith(f"eval/cassettes/one/{IDS[2]}.ndjson: recorded call 1 was not")
    assert lasting.count == asked


class TestThreads:
    """Threads belong to the case that has work for them."""

    SHARED = """
@pytest.fixture(scope="session")
def client():
    import httpx
    with httpx.Client() as client:
        yield client


@pytest.fixture(scope="session")
def pool():
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        list(pool.map(str, range(9)))
        yield pool


def ask(client, question):
    return client.post(URL + "/any", json=dict(prompt=question)).json()["text"]


"""
    LOOP = """
class Facade:
    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        import httpx
        self.client = httpx.AsyncClient()

    def ask(self, question):
        asked = self.client.post(URL + "/any", json=dict(prompt=question))
        return asyncio.run_coroutine_threadsafe(asked, self.loop).result(20).json()["text"]

    def close(self):
        asyncio.run_coroutine_threadsafe(self.client.aclose(), self.loop).result(20)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


@pytest.fixture(scope="session")
def agent():
    facade = Facade()
    yield facade.ask
    facade.close()
"""
    POOLED = f"""{SHARED}
@pytest.fixture
def agent(pool, client):
    def answer(question):
        asked = [pool.submit(ask, client, question + f" {{number}}") for number in range(4)]
        return " ".join(one.result() for one in asked)

    return answer
"""
    OWN = f"""{SHARED}
@pytest.fixture
def agent(client):
    def answer(question):
        texts = []
        threads = [
            threading.Thread(target=lambda end=number: texts.append(ask(client, question + f" {{end}}")))
            for number in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return " ".join(sorted(texts))

    return answer
"""
    EXECUTOR = """
@pytest.fixture(scope="session")
def agent():
    async def answer(question):
        loop = asyncio.get_running_loop()
        asked = [loop.run_in_executor(None, httpx_sync, question + f" {number}") for number in range(2)]
        asked += [asyncio.to_thread(httpx_sync, question + f" {number}") for number in range(2, 4)]
        return " ".join(await asyncio.gather(*asked))

    return answer
"""

    def test_their_calls_go_to_its_cassette(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        """The cases of a file are at once; each way of having threads has a file of its own."""
        sources = {"loop": self.LOOP, "pool": self.POOLED, "own": self.OWN, "executor": self.EXECUTOR}
        files, rows = {}, []
        for way, source in sources.items():
            files[f"eval/{way}/conftest.py"] = talking(upstream, source).files["eval/conftest.py"]
            names = [f"{way}-{number}" for number in range(2)]
            files[f"eval/{way}/it.cases.yaml"] = cases_yaml(*(asking(name, f"echo {name}") for name in names))
            rows += names
        made = asking_project(upstream, agent("return plain_sync(question)"), IDS[0]).with_files(files)
        checkout = made.at(pytester)
        record(checkout, AT_ONCE)
        upstream.close()
        for name in rows:
            ends = [""] if name.startswith("loop") else [f" {number}" for number in range(4)]
            found = sorted(exchange.request.body.decode() for exchange in calls(cassette(checkout, name)))
            assert [f'echo {name}{end}"' in one for one, end in zip(found, ends, strict=True)] == [True] * len(ends)
        result = checkout.run("eval", "--replay", "--recall-mode=all", AT_ONCE)
        result.assert_outcomes(passed=len(rows) + 1)

    QUEUE = """
import queue

WORK = queue.Queue()


def work():
    while (job := WORK.get()) is not None:
        question, done = job
        done.put(httpx_sync(question))


@pytest.fixture(scope="session")
def agent():
    thread = threading.Thread(target=work)
    thread.start()

    def answer(question):
        done = queue.Queue()
        WORK.put((question, done))
        return done.get(timeout=20)

    yield answer
    WORK.put(None)
    thread.join()
"""

    def test_calls_that_belong_to_none_are_told_of(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        checkout = asking_project(upstream, self.QUEUE).at(pytester)
        result = checkout.run("eval", "--record", "--recall-mode=all", AT_ONCE)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        said = f"POST {upstream.url}/any: was not recorded, since it is made by a thread that belongs to none of the *"
        result.stdout.fnmatch_lines([said])


def test_kinds_are_told_apart_case_by_case(pytester: pytest.Pytester, upstream: Upstream) -> None:
    source = """
@pytest.fixture
def judge_asking():
    def judge(answer, case):
        thread = threading.Thread(target=httpx_sync, args=("echo judged " + case.id,))
        thread.start()
        thread.join()
        return True

    return judge


"""
    project = asking_project(upstream, source + agent("return httpx_sync(question)"), *IDS[:3])
    cases = project.files["eval/cases.yaml"].replace('[{"regex": "."}]', '["asking"]')
    checkout = project.with_files({"eval/cases.yaml": cases}).at(pytester)
    record(checkout, AT_ONCE)
    for name in IDS[:3]:
        assert [made.kind for made in trial(checkout, name).calls] == ["agent", "judge"]
        assert [exchange.kind for exchange in calls(cassette(checkout, name))] == ["agent", "judge"]


def test_a_fixture_that_cases_share_keeps_its_own_cassette(pytester: pytest.Pytester, upstream: Upstream) -> None:
    source = """
@pytest.fixture(scope="session")
def index():
    return httpx_sync("echo index")


@pytest.fixture(scope="module")
def chapter(index):
    yield index + httpx_sync("echo up")
    httpx_sync("echo down")


@pytest.fixture
def own(recall_case):
    return httpx_sync("echo own " + recall_case.id)


"""
    answering = agent('return f"{chapter} {own} {httpx_sync(question)}"').replace("agent()", "agent(chapter, own)")
    three = IDS[:3]
    checkout = asking_project(upstream, source + answering, *three).at(pytester)
    record(checkout)
    one_by_one = alike(checkout)
    at_once = record(checkout, AT_ONCE)
    assert alike(checkout) == one_by_one
    assert len(at_once) == len(three) + 2
    assert [len(calls(cassette(checkout, name))) for name in three] == [2] * len(three)
    upstream.close()
    checkout.run("eval", "--replay", "--recall-mode=all", AT_ONCE).assert_outcomes(passed=3)


def test_what_was_recorded_in_vain_stays_a_draft(
    pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrency, "PATIENCE", 0.05)  # The call that is held does not end.
    body = (
        f"if {IDS[0]!r} in question:\n"
        f"    httpx_sync('comes {IDS[0]}')\n"
        "    raise ValueError('no')\n"
        "httpx_sync(question)\nhttpx_sync('held ' + question)"
    )
    checkout = asking_project(upstream, agent(body), *IDS[:2]).at(pytester)
    result = checkout.run("eval", "--record", "-x", "--recall-concurrency=2")
    result.assert_outcomes(errors=1)
    assert finished(checkout) == {}
    recorded: list[Any] = [draft.read_text() for draft in drafts(checkout)]
    assert any(f"echo {IDS[1]}" in text for text in recorded)
