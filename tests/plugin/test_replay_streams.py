"""Streams and faults of the network: recorded as they came, replayed as the same events and errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from pytest_recall.replay.exchange import Exchange
from tests.helpers import kept
from tests.helpers.project import Checkout
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
from tests.helpers.upstream import DROPPED_AFTER, EVENTS, PAUSE, Upstream

pytest.importorskip("openai")
pytest.importorskip("anthropic")
pytest.importorskip("httpx")


def recorded(pytester: pytest.Pytester, upstream: Upstream, body: str) -> tuple[Checkout, str]:
    """Return a project with a recording of what an agent with this `body` asks, and what it answered."""
    checkout = talking(upstream, agent(body)).with_cases(asking("a")).at(pytester)
    result = checkout.run("eval", "--record")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    upstream.close()
    return checkout, answers(checkout)["a"]


def replayed(checkout: Checkout) -> str:
    """Return what is answered in the replay, which has to pass."""
    result = checkout.run("eval", "--replay", "--recall-mode=all")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    assert trial(checkout, "a").source == "replayed"
    return answers(checkout)["a"]


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
    result = checkout.run("eval", "--replay", "--recall-mode=all")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    assert set(sources(checkout).values()) == {"replayed"}
    return answers(checkout)


def only_call(checkout: Checkout, bodies: Mapping[str, str]) -> Iterator[Exchange]:
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


def test_the_boundaries_of_chunks_are_kept(pytester: pytest.Pytester, upstream: Upstream) -> None:
    head = "import httpx, httpx2\nbody = dict(prompt='hello', stream=True)\n"
    bodies = {way: head + body for way, body in RAW.items()}
    checkout, before = each_recorded(pytester, upstream, bodies)
    for text in before.values():
        assert text.count("|") == EVENTS - 1
        assert all(piece.startswith("data: ") for piece in text.split("|"))
    for exchange in only_call(checkout, bodies):
        assert exchange.response is not None
        assert len(exchange.response.chunks) == len(exchange.response.offsets) == EVENTS
        assert exchange.response.complete
    assert each_replayed(checkout) == before


def test_the_end_of_a_stream_at_its_last_event_is_complete(pytester: pytest.Pytester, upstream: Upstream) -> None:
    ways = ("openai_stream", "anthropic_stream", "openai_async_stream")
    bodies = {way: f"return {way}(question)" for way in ways}
    checkout, _ = each_recorded(pytester, upstream, bodies)
    for exchange in only_call(checkout, bodies):
        assert exchange.response is not None
        assert exchange.response.complete
        assert exchange.failure is None


def test_when_each_chunk_came_is_kept(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout, _ = recorded(pytester, upstream, "return openai_stream('slow')")
    [exchange] = calls(cassette(checkout, "a"))
    assert exchange.response is not None
    offsets = exchange.response.offsets
    assert list(offsets) == sorted(offsets)
    assert PAUSE <= offsets[0] <= offsets[-1] <= exchange.seconds + 0.001


def test_a_stream_is_handed_on_as_it_comes_while_it_is_recorded(pytester: pytest.Pytester, upstream: Upstream) -> None:
    # The server ends the stream only when the client says that it has the first event.
    body = (
        "with openai_client() as client:\n"
        "    stream = client.chat.completions.create(messages=said('wait'), stream=True, **GPT)\n"
        "    first = next(stream)\n"
        "    httpx2_sync('go')\n"
        "    return '|'.join(chunk.choices[0].delta.content for chunk in [first, *stream])"
    )
    checkout, before = recorded(pytester, upstream, body)
    assert before.replace("|", "") == "#0001 to wait"
    assert replayed(checkout) == before


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


class TestEarlyClose:
    """A client that has seen enough."""

    def test_it_is_replayed_as_far_as_it_went_and_reading_on_is_a_miss_whoever_catches_it(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        checkout, before = each_recorded(pytester, upstream, {way: body.format(count=3) for way, body in EARLY.items()})
        assert {text.count("|") for text in before.values()} == {2}
        for exchange in only_call(checkout, EARLY):
            assert exchange.response is not None
            assert not exchange.response.complete
        assert each_replayed(checkout) == before
        talking(upstream, agents({way: body.format(count=7) for way, body in EARLY.items()})).at(pytester)
        checkout.run("eval", "--replay", "--recall-mode=all").assert_outcomes(errors=len(EARLY))
        for way in EARLY:
            assert "read on where the recorded client had closed the stream" in trial(checkout, way).error

    def test_a_thread_cannot_keep_it_to_itself(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        body = (
            "def read():\n    try:\n        {}\n    except BaseException:\n        pass\n"
            "thread = threading.Thread(target=read)\nthread.start()\nthread.join()\nreturn 'fine'"
        )
        indented = EARLY["openai"].replace("\n", "\n        ")
        checkout, _ = recorded(pytester, upstream, body.format(indented.format(count=3)))
        talking(upstream, agent(body.format(indented.format(count=7)))).at(pytester)
        checkout.run("eval", "--replay", "--recall-mode=all").assert_outcomes(errors=1)
        assert "read on where" in trial(checkout, "a").error


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


def test_a_stream_that_is_left_open_is_recorded_as_far_as_it_was_read(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    """By a client that reads no further and closes nothing, and is still there at the end of the test."""
    checkout, before = each_recorded(pytester, upstream, LEFT)
    for name, exchange in zip(LEFT, only_call(checkout, LEFT), strict=True):
        assert exchange.response is not None
        assert not exchange.response.complete
        assert bool(exchange.response.chunks) is name.endswith("some")
    assert each_replayed(checkout) == before


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


class TestFaults:
    """What goes wrong on the network is part of the recording."""

    def test_a_stream_that_breaks_off_gives_the_same_events_and_the_same_error(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        bodies = {
            "openai": COUNTED.format(client="openai_client()", ask="chat.completions.create", model="GPT"),
            "anthropic": COUNTED.format(client="anthropic_client()", ask="messages.create", model="CLAUDE"),
        }
        checkout, before = each_recorded(pytester, upstream, bodies)
        assert {text.split()[0] for text in before.values()} == {str(DROPPED_AFTER)}
        for exchange in only_call(checkout, bodies):
            assert exchange.failure is not None
            assert exchange.failure.kind == "RemoteProtocolError"
        assert each_replayed(checkout) == before

    TOLD = (
        "try:\n    return {call}\nexcept Exception as error:\n"
        "    return f'{{type(error).__module__}} {{type(error).__name__}} {{error}}'"
    )

    def test_a_timeout_and_a_lost_connection_are_replayed_as_the_same_error(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kinds = {
            "openai_sync('hang', timeout=0.2, max_retries=0)": "openai APITimeoutError Request timed out.",
            "anthropic_sync('hang', timeout=0.2, max_retries=0)": "anthropic APITimeoutError Request timed out",
            "asyncio.run(openai_async('hang', timeout=0.2, max_retries=0))": (
                "openai APITimeoutError Request timed out."
            ),
            "httpx2_sync('hang', timeout=0.2)": "httpx2 ReadTimeout",
            "httpx_sync('hang', timeout=0.2)": "httpx ReadTimeout",
            "openai_sync('drop', max_retries=0)": "openai APIConnectionError Connection error.",
            "asyncio.run(httpx2_async('drop'))": "httpx2 RemoteProtocolError",
        }
        bodies = {f"call-{at}": self.TOLD.format(call=call) for at, call in enumerate(kinds)}
        checkout, before = each_recorded(pytester, upstream, bodies)
        for name, kind in zip(bodies, kinds.values(), strict=True):
            assert before[name].startswith(kind)
        met = no_sockets(monkeypatch)
        assert each_replayed(checkout) == before
        assert met == []
        for exchange in only_call(checkout, bodies):
            assert exchange.response is None
            assert exchange.failure is not None

    def test_a_refused_connection_is_replayed_as_one(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        upstream.close()
        asked = (
            "httpx2_sync('a')",
            "openai_sync('a', max_retries=0)",
            "asyncio.run(anthropic_async('a', max_retries=0))",
        )
        bodies = {f"call-{at}": self.TOLD.format(call=call) for at, call in enumerate(asked)}
        checkout, before = each_recorded(pytester, upstream, bodies)
        assert all("Connect" in text or "Connection" in text for text in before.values())
        for exchange in only_call(checkout, bodies):
            assert exchange.failure is not None
            assert exchange.failure.kind == "ConnectError"
        assert each_replayed(checkout) == before

    def test_calls_around_an_error_and_a_cancelled_one_are_replayed_as_they_took_turns(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        bodies = {
            "after-an-error": (
                "try:\n    httpx2_sync('drop')\nexcept Exception:\n    pass\nreturn httpx2_sync('echo then')"
            ),
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
        checkout, before = each_recorded(pytester, upstream, bodies)
        assert (before["after-an-error"], before["cancelled"]) == ("then", "fast True")
        assert each_replayed(checkout) == {**before, "turns": "xyxyxy"}
        assert len(trial(checkout, "after-an-error").calls) == 2

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
        assert replayed(checkout) == before

    def test_one_that_was_cancelled_stays_recorded_beside_what_was_missing(
        self, pytester: pytest.Pytester, lasting: Upstream
    ) -> None:
        on_disk = self.raced(pytester, lasting)
        body = "return httpx2_sync('fast') + httpx2_sync('new')"
        talking(lasting, agent(body)).at(pytester)
        on_disk.run("eval", "--record=missing", "--recall-mode=all").assert_outcomes(passed=1)
        kept = [exchange.request.body for exchange in calls(cassette(on_disk, "a"))]
        assert kept == [b'{"prompt":"fast"}', b'{"prompt":"new"}', b'{"prompt":"hang"}']
