"""Streams and faults of the network: recorded as they came, replayed as the same events and errors."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from pytest_recall.replay.exchange import Exchange
from tests.helpers import kept
from tests.helpers.project import Checkout, Project
from tests.helpers.talking import (
    agent,
    agents,
    answers,
    asking,
    calls,
    cassette,
    drafts,
    no_sockets,
    sources,
    talking,
    trial,
)
from tests.helpers.upstream import DROPPED_AFTER, EVENTS, PAUSE, Upstream, running
from tests.plugin.conftest import Once

pytest.importorskip("openai")
pytest.importorskip("anthropic")
pytest.importorskip("httpx")


def each_recorded(
    pytester: pytest.Pytester, upstream: Upstream, bodies: Mapping[str, str]
) -> tuple[Checkout, dict[str, str]]:
    """Return a project with a recording of a case for each body, in one run, and what each of them answered."""
    checkout = talking(upstream, "KEPT = []\n" + agents(bodies)).with_cases(*map(asking, bodies)).at(pytester)
    result = checkout.run("eval", "--record", "--recall-mode=all")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    assert drafts(checkout) == []
    upstream.close()
    return checkout, answers(checkout)


def each_replayed(checkout: Checkout) -> dict[str, str]:
    """Return what is answered in the replay of all cases, which have to pass."""
    with pytest.MonkeyPatch.context() as patch:
        met = no_sockets(patch)
        result = checkout.run("eval", "--replay", "--recall-mode=all")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    assert met == []
    assert set(sources(checkout).values()) == {"replayed"}
    return answers(checkout)


def only_call(checkout: Checkout, bodies: Iterable[str]) -> Iterator[Exchange]:
    """Yield the call of each case, which has no other."""
    for name in bodies:
        [exchange] = calls(cassette(checkout, name))
        yield exchange


RAW = {
    "httpx2": "with httpx2.stream('POST', URL + '/any', json=body) as response:\n"
    "    return '|'.join(chunk.decode() for chunk in response.iter_raw())",
    "httpx": "with httpx.stream('POST', URL + '/any', json=body) as response:\n"
    "    return '|'.join(chunk.decode() for chunk in response.iter_raw())",
    "httpx2-async": "async def ask():\n"
    "    async with httpx2.AsyncClient() as client:\n"
    "        async with client.stream('POST', URL + '/any', json=body) as response:\n"
    "            return '|'.join([chunk.decode() async for chunk in response.aiter_raw()])\n"
    "return ask()",
    "httpx-async": "async def ask():\n"
    "    async with httpx.AsyncClient() as client:\n"
    "        async with client.stream('POST', URL + '/any', json=body) as response:\n"
    "            return '|'.join([chunk.decode() async for chunk in response.aiter_raw()])\n"
    "return ask()",
}


EARLY = {
    "openai": "with openai_client() as client:\n"
    "    stream = client.chat.completions.create(messages=said('hello'), stream=True, **GPT)\n"
    "    texts = [next(stream).choices[0].delta.content for _ in range({count})]\n"
    "    stream.close()\n"
    "return '|'.join(texts)",
    "anthropic": "with anthropic_client() as client:\n"
    "    stream = client.messages.create(messages=said('hello'), stream=True, **CLAUDE)\n"
    "    texts = [next(stream).type for _ in range({count})]\n"
    "    stream.close()\n"
    "return '|'.join(texts)",
    "openai-async": "async def ask():\n"
    "    async with openai_client('AsyncOpenAI') as client:\n"
    "        stream = await client.chat.completions.create(messages=said('hello'), stream=True, **GPT)\n"
    "        texts = [(await anext(stream)).choices[0].delta.content for _ in range({count})]\n"
    "        await stream.close()\n"
    "        return '|'.join(texts)\n"
    "return ask()",
}


SOME = (
    "texts = []\nfor event in stream:\n    texts.append(event.to_json())\n    if len(texts) == 3:\n        break\n"
    "return str(texts)"
)
LEFT = {
    f"{way}-{read}": f"{client}KEPT.append((client, stream))\n{body}"
    for way, client in {
        "openai": "client = openai_client()\n"
        "stream = client.chat.completions.create(messages=said('hello'), stream=True, **GPT)\n",
        "anthropic": "client = anthropic_client()\n"
        "stream = client.messages.create(messages=said('hello'), stream=True, **CLAUDE)\n",
    }.items()
    for read, body in {"some": SOME, "none": "return 'unread'"}.items()
}
LEFT["openai-async-some"] = (
    "async def ask():\n"
    "    client = openai_client('AsyncOpenAI')\n"
    "    stream = await client.chat.completions.create(messages=said('hello'), stream=True, **GPT)\n"
    "    KEPT.append((client, stream))\n"
    "    async for chunk in stream:\n"
    "        return chunk.to_json()\n"
    "return ask()"
)


COUNTED = (
    "texts = []\n"
    "try:\n"
    "    with {client} as client:\n"
    "        for event in client.{ask}(messages=said('drop'), stream=True, **{model}):\n"
    "            texts.append(event)\n"
    "except Exception as error:\n"
    "    return f'{{len(texts)}} {{type(error).__module__}} {{type(error).__name__}} {{error}}'\n"
    "return 'no error'"
)


BROKEN = {
    "openai": COUNTED.format(client="openai_client()", ask="chat.completions.create", model="GPT"),
    "anthropic": COUNTED.format(client="anthropic_client()", ask="messages.create", model="CLAUDE"),
}
TOLD = (
    "try:\n    return {call}\nexcept Exception as error:\n"
    "    return f'{{type(error).__module__}} {{type(error).__name__}} {{error}}'"
)
KINDS = {
    "openai_sync('hang', timeout=0.2, max_retries=0)": "openai APITimeoutError Request timed out.",
    "anthropic_sync('hang', timeout=0.2, max_retries=0)": "anthropic APITimeoutError Request timed out",
    "asyncio.run(openai_async('hang', timeout=0.2, max_retries=0))": "openai APITimeoutError Request timed out.",
    "httpx2_sync('hang', timeout=0.2)": "httpx2 ReadTimeout",
    "httpx_sync('hang', timeout=0.2)": "httpx ReadTimeout",
    "openai_sync('drop', max_retries=0)": "openai APIConnectionError Connection error.",
    "asyncio.run(httpx2_async('drop'))": "httpx2 RemoteProtocolError",
}
"""Calls, and how what each of them says begins."""
FAILED = {f"call-{at}": TOLD.format(call=call) for at, call in enumerate(KINDS)}
AROUND = {
    "after-an-error": ("try:\n    httpx2_sync('drop')\nexcept Exception:\n    pass\nreturn httpx2_sync('echo then')"),
    "cancelled": (
        "async def race():\n"
        "    tasks = [asyncio.create_task(httpx2_async(prompt)) for prompt in ('hang', 'echo fast')]\n"
        "    [done], [slow] = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)\n"
        "    slow.cancel()\n"
        "    await asyncio.wait([slow])\n"
        "    return f'{done.result()} {slow.cancelled()}'\n"
        "return race()"
    ),
    "turns": (
        "async def steps(name, order):\n"
        "    for number in range(3):\n"
        "        order.append(name)\n"
        "        await httpx2_async(f'{name} {number}')\n"
        "async def both():\n"
        "    order = []\n"
        "    await asyncio.gather(steps('x', order), steps('y', order))\n"
        "    return ''.join(order)\n"
        "return both()"
    ),
}
# The server ends the stream only when the client says that it has the first event.
WAIT = (
    "with openai_client() as client:\n"
    "    stream = client.chat.completions.create(messages=said('wait'), stream=True, **GPT)\n"
    "    first = next(stream)\n"
    "    httpx2_sync('go')\n"
    "    return '|'.join(chunk.choices[0].delta.content for chunk in [first, *stream])"
)
HEAD = "import httpx, httpx2\nbody = dict(prompt='hello', stream=True)\n"
WHOLE = ("openai_stream", "anthropic_stream", "openai_async_stream")
THREAD = (
    "def read():\n    try:\n        {}\n    except BaseException:\n        pass\n"
    "thread = threading.Thread(target=read)\nthread.start()\nthread.join()\nreturn 'fine'"
).format(EARLY["openai"].replace("\n", "\n        "))


def closed_after(count: int) -> dict[str, str]:
    """Return the bodies that close a stream after so many events, one of them in a thread that keeps it to itself."""
    return {f"early-{way}": body.format(count=count) for way, body in {**EARLY, "thread": THREAD}.items()}


BODIES = {
    **{way: HEAD + body for way, body in RAW.items()},
    **{way: f"return {way}(question)" for way in WHOLE},
    "slow": "return openai_stream('slow')",
    "wait": WAIT,
    **closed_after(3),
    **LEFT,
    **{f"broken-{way}": body for way, body in BROKEN.items()},
    **FAILED,
    **AROUND,
}
"""What the cases do whose recording and replay the tests look at."""


class Told(NamedTuple):
    """A recording of all bodies and its replay, by what each of them answered."""

    checkout: Checkout
    before: dict[str, str]
    after: dict[str, str]

    def same(self, names: Iterable[str]) -> list[str]:
        """Return what these have answered, which is the same in the recording and in the replay."""
        texts = [self.before[name] for name in names]
        assert texts == [self.after[name] for name in names]
        return texts

    def only_calls(self, names: Iterable[str]) -> Iterator[Exchange]:
        """Yield the call of each of these, which has no other."""
        return only_call(self.checkout, names)


@pytest.fixture(scope="module")
def told(once: Once) -> Told:
    """All bodies are recorded in one run, and replayed in another, when their upstream is gone."""
    with once() as pytester, contextmanager(running)() as upstream:
        checkout, before = each_recorded(pytester, upstream, BODIES)
        return Told(checkout, before, each_replayed(checkout))


def test_the_boundaries_of_chunks_are_kept(told: Told) -> None:
    for text in told.same(RAW):
        assert text.count("|") == EVENTS - 1
        assert all(piece.startswith("data: ") for piece in text.split("|"))
    for exchange in told.only_calls(RAW):
        assert exchange.response is not None
        assert len(exchange.response.chunks) == len(exchange.response.offsets) == EVENTS
        assert exchange.response.complete


def test_the_end_of_a_stream_at_its_last_event_is_complete(told: Told) -> None:
    for exchange in told.only_calls(WHOLE):
        assert exchange.response is not None
        assert exchange.response.complete
        assert exchange.failure is None


def test_when_each_chunk_came_is_kept(told: Told) -> None:
    [exchange] = told.only_calls(["slow"])
    assert exchange.response is not None
    offsets = exchange.response.offsets
    assert list(offsets) == sorted(offsets)
    assert PAUSE <= offsets[0] <= offsets[-1] <= exchange.seconds + 0.001


def test_a_stream_is_handed_on_as_it_comes_while_it_is_recorded(told: Told) -> None:
    [text] = told.same(["wait"])
    assert text.replace("|", "").endswith(" to wait")


class TestEarlyClose:
    """A client that has seen enough."""

    def test_it_is_replayed_as_far_as_it_went(self, told: Told) -> None:
        names = [f"early-{way}" for way in EARLY]
        assert {text.count("|") for text in told.same(names)} == {2}
        for exchange in told.only_calls([*names, "early-thread"]):
            assert exchange.response is not None
            assert not exchange.response.complete

    def test_reading_on_is_a_miss_whoever_catches_it(self, pytester: pytest.Pytester, told: Told) -> None:
        shutil.copytree(told.checkout.path, pytester.path, dirs_exist_ok=True)
        further = closed_after(7)
        source = (pytester.path / "eval/conftest.py").read_text(encoding="utf-8").partition("KEPT = []")[0]
        project = Project({"eval/conftest.py": source + agents(further)}).with_cases(*map(asking, further))
        checkout = project.at(pytester)
        checkout.run("eval", "--replay", "--recall-mode=all").assert_outcomes(errors=len(further))
        for name in further:
            assert trial(checkout, name).ended_by == "miss"


def test_a_stream_that_is_left_open_is_recorded_as_far_as_it_was_read(told: Told) -> None:
    """By a client that reads no further and closes nothing, and is still there at the end of the test."""
    for name, exchange in zip(LEFT, told.only_calls(LEFT), strict=True):
        assert exchange.response is not None
        assert not exchange.response.complete
        assert bool(exchange.response.chunks) is name.endswith("some")
    told.same(LEFT)


class TestFaults:
    """What goes wrong on the network is part of the recording."""

    def test_a_stream_that_breaks_off_gives_the_same_events_and_the_same_error(self, told: Told) -> None:
        names = [f"broken-{way}" for way in BROKEN]
        assert {text.split()[0] for text in told.same(names)} == {str(DROPPED_AFTER)}
        for exchange in told.only_calls(names):
            assert exchange.failure is not None
            assert exchange.failure.kind == "RemoteProtocolError"

    def test_a_timeout_and_a_lost_connection_are_replayed_as_the_same_error(self, told: Told) -> None:
        for text, kind in zip(told.same(FAILED), KINDS.values(), strict=True):
            assert text.startswith(kind)
        for exchange in told.only_calls(FAILED):
            assert exchange.response is None
            assert exchange.failure is not None

    def test_a_refused_connection_is_replayed_as_one(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        upstream.close()
        asked = (
            "httpx2_sync('a')",
            "openai_sync('a', max_retries=0)",
            "asyncio.run(anthropic_async('a', max_retries=0))",
        )
        bodies = {f"call-{at}": TOLD.format(call=call) for at, call in enumerate(asked)}
        checkout, before = each_recorded(pytester, upstream, bodies)
        assert all("Connect" in text or "Connection" in text for text in before.values())
        for exchange in only_call(checkout, bodies):
            assert exchange.failure is not None
            assert exchange.failure.kind == "ConnectError"
        assert each_replayed(checkout) == before

    def test_calls_around_an_error_and_a_cancelled_one_are_replayed_as_they_took_turns(self, told: Told) -> None:
        assert (told.before["after-an-error"], told.before["cancelled"]) == ("then", "fast True")
        assert {name: told.after[name] for name in AROUND} == {
            **{name: told.before[name] for name in AROUND},
            "turns": "xyxyxy",
        }
        assert len(trial(told.checkout, "after-an-error").calls) == 2

    RACE = (
        "async def late(prompt):\n"
        "    await asyncio.sleep({pause})\n"
        "    return await httpx2_async(prompt)\n"
        "async def race():\n"
        "    tasks = [asyncio.create_task(httpx2_async('fast')), asyncio.create_task(late('hang'))]\n"
        "    await asyncio.wait(tasks, {until})\n"
        "    tasks[1].cancel()\n"
        "    await asyncio.wait(tasks)\n"
        "    return tasks[0].result()\n"
        "return race()"
    )

    def raced(self, pytester: pytest.Pytester, lasting: Upstream) -> Checkout:
        """Return a project with a recording in which both have asked, and the loser was cancelled."""
        both = self.RACE.format(pause=0, until="timeout=1")
        return kept.recorded(pytester, talking(lasting, agent(both)).with_cases(asking("a")))

    def test_the_loser_of_a_race_need_not_ask_again(self, pytester: pytest.Pytester, lasting: Upstream) -> None:
        checkout = self.raced(pytester, lasting)
        before = answers(checkout)["a"]
        assert [exchange.failure and exchange.failure.kind for exchange in calls(cassette(checkout, "a"))] == [
            None,
            "CancelledError",
        ]
        one = self.RACE.format(pause=5, until="return_when=asyncio.FIRST_COMPLETED")
        talking(lasting, agent(one)).at(pytester)
        assert each_replayed(checkout)["a"] == before

    def test_one_that_was_cancelled_stays_recorded_beside_what_was_missing(
        self, pytester: pytest.Pytester, lasting: Upstream
    ) -> None:
        on_disk = self.raced(pytester, lasting)
        body = "return httpx2_sync('fast') + httpx2_sync('new')"
        talking(lasting, agent(body)).at(pytester)
        on_disk.run("eval", "--record=missing", "--recall-mode=all").assert_outcomes(passed=1)
        kept = [exchange.request.body for exchange in calls(cassette(on_disk, "a"))]
        assert kept == [b'{"prompt":"fast"}', b'{"prompt":"new"}', b'{"prompt":"hang"}']
