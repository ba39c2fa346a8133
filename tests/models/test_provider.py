"""The one loop of attempts: what is tried again, how long it waits, and who has to wait with it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from pytest_recall.files.errors import MissError
from pytest_recall.models.model import Ask, Model, ModelError, Reply, parse
from pytest_recall.models.provider import ModelSettings, Provider, UnfitError
from pytest_recall.models.rate import Retry
from pytest_recall.models.resolve import resolve
from pytest_recall.models.waiting import Breaks, Waiter
from tests.models.asking import Clock, asks

Step = Reply | BaseException | Callable[[], Reply]


class Scripted(Provider):
    """A model that gives what it was told, one after the other, and the last for ever."""

    def __init__(self, *steps: Step, breaks: Breaks, retry: Retry | None = None, timeout: float = 10.0) -> None:
        super().__init__(parse("openai:scripted"), {}, ModelSettings(timeout=timeout, retry=retry or Retry()), breaks)
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
    model = Scripted(BUSY, BUSY, BUSY, DONE, breaks=Breaks(clock.waiting(roll=1.0)))
    assert model.ask(asks()).attempts == 4
    assert clock.slept == [0.5, 1.0, 2.0]


def test_the_last_failure_is_told_with_the_number_of_attempts() -> None:
    model = Scripted(BUSY, breaks=Breaks(Clock().waiting()), retry=Retry(attempts=2))
    with pytest.raises(ModelError, match=r"^openai:scripted: tried 2 times: busy; try again later$") as caught:
        model.ask(asks())
    assert caught.value.temporary


@pytest.mark.parametrize("error", [ModelError("no"), MissError("forbidden"), KeyboardInterrupt()])
def test_everything_else_ends_at_once(error: BaseException) -> None:
    model = Scripted(error, DONE, breaks=Breaks(Clock().waiting()))
    with pytest.raises(type(error)):
        model.ask(asks())
    assert len(model.timeouts) == 1


def test_what_the_endpoint_refuses_is_left_out_without_a_wait() -> None:
    clock = Clock()
    model = Scripted(UnfitError("seed"), BUSY, UnfitError("schema"), DONE, breaks=Breaks(clock.waiting()))
    assert model.ask(asks()).attempts == 4
    assert clock.slept == [0.25]


def test_the_time_of_an_attempt_is_what_is_left_of_the_whole() -> None:
    clock = Clock()

    def slow() -> Reply:
        clock.now += 6
        raise BUSY

    model = Scripted(slow, breaks=Breaks(clock.waiting(roll=0.0)), retry=Retry(attempts=9, total=10), timeout=8)
    with pytest.raises(ModelError, match="tried 2 times"):
        model.ask(asks())
    assert model.timeouts == [8, 4]


def test_a_break_that_one_thread_is_asked_for_holds_all_of_them() -> None:
    clock = Clock()
    breaks = Breaks(clock.waiting(roll=0.0))
    pausing = Scripted(ModelError("stop", after=30.0), breaks=breaks)
    with pytest.raises(ModelError):
        pausing.ask(asks())
    assert Scripted(DONE, breaks=breaks).ask(asks()).text == "done"
    assert clock.slept == [30.0]


def test_a_break_is_never_longer_than_anybody_waits() -> None:
    clock = Clock()
    breaks = Breaks(clock.waiting())
    with pytest.raises(ModelError):
        Scripted(ModelError("stop", after=9999.0, temporary=True), breaks=breaks).ask(asks())
    Scripted(DONE, breaks=breaks).ask(asks())
    assert clock.slept == [60.0]


def test_endpoints_have_a_break_each() -> None:
    breaks = Breaks(Clock().waiting())
    assert breaks.of("openai") is breaks.of("openai")
    assert breaks.of("openai") is not breaks.of("openai", "http://127.0.0.1/v1")


def test_a_run_that_is_given_up_ends_the_waits_of_all_threads() -> None:
    waiting = Waiter()
    breaks = Breaks(waiting)
    with pytest.raises(ModelError, match="stop"):
        Scripted(ModelError("stop", after=30.0), breaks=breaks).ask(asks())
    model = Scripted(DONE, breaks=breaks)
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
        Scripted(DONE, breaks=breaks).ask(asks())


def test_what_is_resolved_is_a_model() -> None:
    model: Model = resolve(" claude ")
    assert model.name == "claude"
