"""Limits: calls wait for their turn, in threads and in tasks, and a call that gives up gives its place back."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_recall.files.errors import MissError
from pytest_recall.models.rate import MINUTE, Rate, Target
from pytest_recall.models.rate_limiter import SLICE, RateLimiter, RateLimits, RateTurn
from pytest_recall.replay.budget import Ledger, Meter, Pricing
from pytest_recall.replay.call_recorder import CallRecorder, CallStep
from pytest_recall.replay.exchange import Call, Request, Tokens
from pytest_recall.replay.open_tapes import CURRENT_CASE
from pytest_recall.replay.player import Player
from tests.replay.http_clients import Post, every_client
from tests.replay.test_tape import URL, ask, call, tape_of
from tests.replay.upstream import Deck, Upstream


class Clock:
    """A clock that stands still unless someone sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def nothing() -> None:
    pass


def turn(limiter: RateLimiter, check: Callable[[], None] = nothing, body: bytes = b"") -> RateTurn:
    return limiter.turn(Request("POST", "http://a", body=body), check)


def limiter(rate: Rate, clock: Clock) -> RateLimiter:
    return RateLimiter(rate, clock, clock.sleep)


def test_calls_above_the_rate_wait() -> None:
    clock = Clock()
    one = limiter(Rate(requests=2), clock)
    began = []
    for _ in range(3):
        turn(one).wait()
        began.append(clock.now - 1000)
    assert began == pytest.approx([0, MINUTE / 2, MINUTE])


def test_tokens_are_expected_first_and_corrected_by_what_was_used() -> None:
    clock = Clock()
    one = limiter(Rate(tokens=1000), clock)
    body = b'{"max_tokens": 500}'
    for _ in range(5):
        frugal = turn(one, body=body)
        frugal.wait()
        frugal.settle(10)
    assert clock.now == 1000
    for _ in range(2):
        silent = turn(one, body=body)
        silent.wait()
        silent.settle(None)
    assert clock.now == pytest.approx(1000 + MINUTE, abs=SLICE)


def test_a_wait_that_is_given_up_holds_nobody_up() -> None:
    clock = Clock()
    one = limiter(Rate(requests=1), clock)
    turn(one).wait()

    def refuse() -> None:
        raise MissError("called off")

    with pytest.raises(MissError):
        turn(one, refuse).wait()
    turn(one).wait()
    assert clock.now == pytest.approx(1000 + MINUTE, abs=SLICE)


def test_a_task_that_is_cancelled_while_it_waits_holds_nobody_up() -> None:
    clock = Clock()
    one = limiter(Rate(requests=1), clock)
    turn(one).wait()

    async def main() -> None:
        waiting = asyncio.ensure_future(turn(one).wait_async())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(main())
    turn(one).wait()
    assert clock.now == pytest.approx(1000 + MINUTE, abs=SLICE)


def test_a_loop_goes_on_while_a_task_of_it_waits() -> None:
    one = RateLimiter(Rate(requests=600))
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    async def main() -> None:
        ticking = asyncio.ensure_future(tick())
        for _ in range(3):
            await turn(one).wait_async()
        ticking.cancel()

    asyncio.run(main())
    assert ticks > 3


def test_threads_together_keep_the_rate() -> None:
    """Real threads and real time: one in a twentieth of a second."""
    one = RateLimiter(Rate(requests=1200))
    came: list[float] = []

    def go(_: int) -> None:
        turn(one).wait()
        came.append(one.within(lambda line, now: now))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(go, range(9)))
    assert max(came) - min(came) >= 8 * 0.05 * 0.9


@pytest.mark.parametrize(("status", "used", "waits"), [(429, None, False), (200, 10, False), (200, 5000, True)])
def test_a_call_tells_its_limit_of_the_tokens_that_were_counted(
    tmp_path: Path, status: int, used: int | None, waits: bool
) -> None:
    """None of one that was refused; of others as many as the meter of the budget has read."""
    clock = Clock()
    one = limiter(Rate(tokens=1000), clock)
    counted = Call("agent", "live", cost=0.0, tokens=None if used is None else Tokens(input=used))
    meter = Meter(1.0, Ledger(tmp_path / "spent"), Pricing(lambda exchange: counted, lambda request, tokens: 0.0))
    body = b'{"max_tokens": 500}'
    for _ in range(4):
        recorder = CallRecorder(tape_of(tmp_path, mode="off"), ask("a"), "agent", record=False, meter=meter)
        recorder.turn = turn(one, body=body)
        recorder.turn.wait()
        recorder.started(status, "", ())
        recorder.ended()
    assert (clock.now > 1000) is waits


# Whose limiter it is


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://eu.api.openai.com/v1", "eu"),
        ("http://127.0.0.1:8000/v1", "port"),
        ("http://127.0.0.1:9/v1", "local"),
        ("http://[::1]:9/v1", "local"),
        ("http://other.example/", None),
        ("command:///claude", None),
    ],
)
def test_the_nearest_name_counts(url: str, name: str | None) -> None:
    targets = {
        "openai": Target("openai"),
        "eu": Target("eu.api.openai.com"),
        "port": Target("127.0.0.1", 8000),
        "local": Target("localhost"),
    }
    rates = {name: Rate(requests=number) for number, name in enumerate(targets, 1)}
    found = RateLimits({target: rates[name] for name, target in targets.items()}).of(url)
    assert (found and found.within(lambda line, now: line.rate)) == (name and rates[name])


@pytest.mark.parametrize(
    ("url", "named", "who"),
    [
        ("command:///claude?model=opus", "claude anthropic", "claude"),
        ("command:///claude", "anthropic openai", "anthropic"),
        ("command:///codex", "anthropic openai command", "openai"),
        ("command:///copilot", "anthropic openai command", None),
        ("command:///python%20claude.py", "anthropic command", "command"),
        ("command:///python%20claude.py", "anthropic claude", None),
        ("https://api.anthropic.com/v1/messages", "claude", None),
    ],
)
def test_a_program_keeps_to_its_own_limit_or_to_that_of_its_provider(url: str, named: str, who: str | None) -> None:
    rates = {Target(name): Rate(requests=number) for number, name in enumerate(named.split(), 1)}
    found = RateLimits(rates).of(url)
    assert (found and found.within(lambda line, now: line.rate)) == (who and rates[Target(who)])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_has_no_limiter(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = RateLimits({Target("openai"): Rate(requests=1)})
    assert limits.of("https://api.openai.com") is not None
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert limits.of("https://api.openai.com") is None


# Before the player


def player(mode: str = "off", requests: int = 1) -> Player:
    made = Player(mode)  # type: ignore[arg-type]
    made.limits = RateLimits({Target("upstream"): Rate(requests=requests)})
    return made


def test_what_is_replayed_waits_for_no_turn(tmp_path: Path) -> None:
    one = player("replay")
    with one.playing(tape_of(tmp_path, call("a"))):
        step = one.ask(ask("a"))
    assert step.served is not None
    assert step.turn is None


def test_what_is_let_through_waits_for_its_turn_also_where_nobody_listens(tmp_path: Path) -> None:
    one = player()
    step = one.ask(ask("a"))
    assert (step.recorder, step.turn is None) == (None, False)
    with one.playing(tape_of(tmp_path, mode="off")):
        step = one.ask(ask("a"))
    assert step.recorder is not None
    assert step.recorder.turn is step.turn
    assert one.ask(Request("GET", URL.replace("upstream", "other"))) == CallStep()


def test_a_case_that_is_called_off_waits_no_longer(tmp_path: Path) -> None:
    one = player()
    one.ask(ask("a")).begin()
    lane = one.lane()
    one.push(tape_of(tmp_path, mode="off"), lane)
    refused: list[BaseException] = []

    def go() -> None:
        CURRENT_CASE.set(lane)
        step = one.ask(ask("b"))
        try:
            step.begin()
        except MissError as error:
            refused.append(error)

    thread = threading.Thread(target=go)
    thread.start()
    lane.over = True
    thread.join(10)
    assert "not asked, since its case was called off" in str(refused[0])


def test_a_call_that_was_given_up_before_its_turn_costs_nothing(tmp_path: Path) -> None:
    one = player()
    one.ask(ask("a")).begin()
    tape = tape_of(tmp_path, mode="off")

    async def main() -> None:
        step = one.ask(ask("b"))
        assert step.recorder is not None
        waiting = asyncio.ensure_future(step.begin_async())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        step.recorder.failed("CancelledError", "")

    with one.playing(tape):
        asyncio.run(main())
    assert [made.call for made in tape.made] == [Call("agent", "live", cost=0.0)]


@pytest.mark.parametrize("url", ["http://a:99999/", "http://[::1", "nothing"])
def test_what_is_no_url_is_for_its_client_to_refuse(url: str) -> None:
    assert RateLimits({Target("openai"): Rate(requests=1)}).of(url) is None


@every_client
@pytest.mark.parametrize("mode", ["off", "record"])
def test_every_client_waits_for_its_turn(
    deck: Deck, upstream: Upstream, post: Post, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[str] = []
    monkeypatch.setattr(RateTurn, "wait", lambda self: waited.append("thread"))

    async def wait_async(self: RateTurn) -> None:
        waited.append("task")

    monkeypatch.setattr(RateTurn, "wait_async", wait_async)
    limits = RateLimits({Target("localhost"): Rate(requests=60, tokens=1000)})
    with deck.recording(mode, limits=limits):  # type: ignore[arg-type]
        post(f"{upstream.url}/chat", b'{"q": 1}')
        post(f"{upstream.url}/chat", b'{"q": 2}')
    assert waited == (["task"] * 2 if post.__name__ == "by_aiohttp" else ["thread"] * 2)
    assert upstream.count == 2
    assert [made.source for made in deck.tape.made] == ["live"] * 2
