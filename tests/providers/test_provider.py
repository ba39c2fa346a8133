"""The one loop of attempts: what is tried again, how long it waits, and who has to wait with it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_recall.core.call import Tokens
from pytest_recall.core.errors import MissError
from pytest_recall.core.model import Ask, Model, ModelError, Reply
from pytest_recall.core.rate import Rate
from pytest_recall.core.retry import Retry
from pytest_recall.core.selector import parse
from pytest_recall.providers.limiter import Limiter, Limits
from pytest_recall.providers.provider import Provider, Settings, UnfitError
from pytest_recall.providers.resolve import resolve
from pytest_recall.providers.waiting import Waiting
from tests.providers.asking import Clock, asks

Step = Reply | BaseException | Callable[[], Reply]


class Scripted(Provider):
    """A model that gives what it was told, one after the other, and the last for ever."""

    def __init__(self, *steps: Step, limits: Limits, retry: Retry | None = None, timeout: float = 10.0) -> None:
        super().__init__(parse("openai:scripted"), {}, Settings(timeout=timeout, retry=retry or Retry()), limits)
        self.steps = list(steps)
        self.timeouts: list[float] = []

    def _once(self, ask: Ask, timeout: float) -> Reply:
        self.timeouts.append(timeout)
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        if isinstance(step, BaseException):
            raise step
        return step if isinstance(step, Reply) else step()


BUSY = ModelError("busy; try again later", temporary=True)
DONE = Reply(text="done")


def test_a_temporary_failure_is_tried_again_with_growing_waits() -> None:
    clock = Clock()
    model = Scripted(BUSY, BUSY, BUSY, DONE, limits=Limits(waiting=clock.waiting(roll=1.0)))
    assert model.ask(asks()).attempts == 4
    assert clock.slept == [0.5, 1.0, 2.0]


def test_the_last_failure_is_told_with_the_number_of_attempts() -> None:
    model = Scripted(BUSY, limits=Limits(waiting=Clock().waiting()), retry=Retry(attempts=2))
    with pytest.raises(ModelError, match=r"^openai:scripted: tried 2 times: busy; try again later$") as caught:
        model.ask(asks())
    assert caught.value.temporary


@pytest.mark.parametrize("error", [ModelError("no"), MissError("forbidden"), KeyboardInterrupt()])
def test_everything_else_ends_at_once(error: BaseException) -> None:
    model = Scripted(error, DONE, limits=Limits(waiting=Clock().waiting()))
    with pytest.raises(type(error)):
        model.ask(asks())
    assert len(model.timeouts) == 1


def test_what_the_endpoint_refuses_is_left_out_without_a_wait() -> None:
    clock = Clock()
    model = Scripted(UnfitError("seed"), BUSY, UnfitError("schema"), DONE, limits=Limits(waiting=clock.waiting()))
    assert model.ask(asks()).attempts == 4
    assert clock.slept == [0.25]


def test_the_time_of_an_attempt_is_what_is_left_of_the_whole() -> None:
    clock = Clock()

    def slow() -> Reply:
        clock.now += 6
        raise BUSY

    model = Scripted(slow, limits=Limits(waiting=clock.waiting(roll=0.0)), retry=Retry(attempts=9, total=10), timeout=8)
    with pytest.raises(ModelError, match="tried 2 times"):
        model.ask(asks())
    assert model.timeouts == [8, 4]


def test_a_break_that_one_thread_is_asked_for_holds_all_of_them() -> None:
    clock = Clock()
    limits = Limits(waiting=clock.waiting(roll=0.0))
    pausing = Scripted(ModelError("stop", after=30.0), limits=limits)
    with pytest.raises(ModelError):
        pausing.ask(asks())
    assert Scripted(DONE, limits=limits).ask(asks()).text == "done"
    assert clock.slept == [30.0]


def test_a_break_is_never_longer_than_anybody_waits() -> None:
    clock = Clock()
    limits = Limits(waiting=clock.waiting())
    with pytest.raises(ModelError):
        Scripted(ModelError("stop", after=9999.0, temporary=True), limits=limits).ask(asks())
    Scripted(DONE, limits=limits).ask(asks())
    assert clock.slept == [60.0]


# The rate


def test_requests_above_the_rate_wait() -> None:
    clock = Clock()
    model = Scripted(DONE, limits=Limits({"openai": Rate(requests=2)}, clock.waiting()))
    for _ in range(4):
        model.ask(asks())
    assert clock.slept == [pytest.approx(30), pytest.approx(30)]


def test_tokens_are_expected_first_and_corrected_by_what_was_used() -> None:
    clock = Clock()
    limits = Limits({"openai": Rate(tokens=1000)}, clock.waiting())
    frugal = Scripted(Reply(text="", tokens=Tokens(input=5, output=5)), limits=limits)
    for _ in range(5):
        frugal.ask(asks(max_tokens=500))
    assert clock.slept == []
    silent = Scripted(DONE, limits=limits)
    for _ in range(2):
        silent.ask(asks(max_tokens=500))
    assert len(clock.slept) == 1


def test_a_failed_call_gives_its_tokens_back() -> None:
    clock = Clock()
    limits = Limits({"openai": Rate(tokens=1000)}, clock.waiting(roll=0.0))
    Scripted(*[BUSY] * 3, DONE, limits=limits).ask(asks(max_tokens=900))
    assert sum(clock.slept) == 0


def test_endpoints_have_a_limiter_each() -> None:
    limits = Limits({"openai": Rate(requests=1)}, Clock().waiting())
    assert limits.of("openai") is limits.of("openai")
    assert limits.of("openai") is not limits.of("openai", "http://127.0.0.1/v1")


def test_threads_together_keep_the_rate() -> None:
    """Real threads and real time: six hundred at once, and then ten in a second."""
    waiting = Waiting()
    limiter = Limiter(Rate(requests=600), waiting)
    start = waiting.clock()
    came: list[float] = []

    def one(_: int) -> None:
        limiter.acquire(0)
        came.append(waiting.clock() - start)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(603)))
    assert len(came) == 603
    assert max(came) >= 0.29


def test_a_wait_that_is_given_up_holds_nobody_up() -> None:
    clock = Clock()
    broken = [True]

    def sleep(seconds: float) -> None:
        if broken.pop():
            raise KeyboardInterrupt
        clock.sleep(seconds)

    limiter = Limiter(Rate(requests=1), Waiting(clock=clock, sleep=sleep))
    limiter.acquire(0)
    with pytest.raises(KeyboardInterrupt):
        limiter.acquire(0)
    broken.append(False)
    limiter.acquire(0)
    assert clock.slept == [pytest.approx(60)]


def test_a_run_that_is_given_up_ends_the_waits_of_all_threads() -> None:
    waiting = Waiting()
    limits = Limits({"openai": Rate(requests=1)}, waiting)
    model = Scripted(DONE, limits=limits)
    model.ask(asks())
    caught: list[ModelError] = []

    def ask() -> None:
        with pytest.raises(ModelError, match="openai:scripted: the run was given up") as error:
            model.ask(asks())
        caught.append(error.value)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    waiting.stop()
    for thread in threads:
        thread.join(10)
    assert len(caught) == 3
    with pytest.raises(ModelError, match="given up"):
        Scripted(DONE, limits=limits).ask(asks())


def test_what_is_resolved_is_a_model() -> None:
    model: Model = resolve(" claude ")
    assert model.name == "claude"
