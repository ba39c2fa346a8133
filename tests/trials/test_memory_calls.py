"""Calls of models that a memory makes: to what they are put down, and what is known of what they took."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from pytest_recall.cases.settings import Settings
from pytest_recall.replay.exchange import Call, Request, Tokens
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.player import Player
from pytest_recall.replay.redaction import Redactor
from pytest_recall.replay.tape import Tape
from pytest_recall.trials.memory_calls import MemoryModelCalls

SOME = Tokens(100, 20, 5)
PAID = Call("agent", "live", tokens=SOME, cost=0.25)
REFUSED = Call("agent", "live", cost=0.0, trouble="http-429")


@pytest.mark.parametrize(
    ("calls", "usage"),
    [
        ([], {"memory_calls": 0}),
        ([PAID], {"memory_calls": 1, "memory_input_tokens": 105, "memory_output_tokens": 20, "memory_usd": 0.25}),
        # One that was refused took nothing.
        (
            [PAID, REFUSED],
            {"memory_calls": 2, "memory_input_tokens": 105, "memory_output_tokens": 20, "memory_usd": 0.25},
        ),
        # What is not known of one is not known of all.
        ([PAID, Call("agent", "live")], {"memory_calls": 2}),
    ],
)
def test_what_they_took(calls: list[Call], usage: dict[str, float]) -> None:
    assert MemoryModelCalls.usage_of(calls, "memory") == usage


@pytest.fixture
def player() -> Player:
    return Player("off")


@pytest.fixture
def listening(player: Player) -> MemoryModelCalls:
    return MemoryModelCalls(
        player,
        Settings(owner="us"),
        here=True,
        tape=lambda: Tape("", "off", Rules(), Redactor({}), ""),
        closed=lambda: None,
    )


@pytest.fixture
def ask(player: Player) -> Callable[[], None]:
    """Ask a model by the player, as a client does."""

    def asking() -> None:
        step = player.ask(Request("POST", "https://api.openai.com/v1/chat/completions", (), b"{}"))
        assert step.recorder is not None
        step.recorder.started(200, "OK", ())
        step.recorder.ended()

    return asking


def test_one_of_a_question_is_the_questions_and_any_other_is_written_down(
    listening: MemoryModelCalls, ask: Callable[[], None]
) -> None:
    written: list[Call] = []
    question: list[Call] = []
    with listening.listening(), listening.written(written.extend):
        with listening.about(question), listening.asked() as calls:
            ask()
        assert (len(question), calls, written) == (1, question, [])
        with listening.asked() as calls:
            ask()
        assert calls == written
        assert len(written) == 1
    assert listening.heard == 2


def test_one_of_a_thread_that_nobody_knows_is_of_what_is_done_meanwhile(
    listening: MemoryModelCalls, ask: Callable[[], None]
) -> None:
    """As one of a pool in C, or one that was there before: it has taken no context along."""
    written: list[Call] = []
    begin, done = (threading.Event(), threading.Event()), (threading.Event(), threading.Event())

    def of_before() -> None:
        for begun, over in zip(begin, done, strict=True):
            begun.wait(20)
            ask()
            over.set()

    thread = threading.Thread(target=of_before)
    thread.start()
    with listening.listening(), listening.written(written.extend):
        begin[0].set()
        done[0].wait(20)
        assert len(written) == 1, "nothing is done"
        with listening.told() as calls:
            begin[1].set()
            done[1].wait(20)
        assert calls == written[1:]
        assert len(written) == 2
    thread.join()
