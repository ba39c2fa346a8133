"""Lanes: calls one after the other, in a thread that someone may stop waiting for."""

from __future__ import annotations

import threading
from contextvars import ContextVar

import pytest

from pytest_recall.trials.drive import CallThread

HERE: ContextVar[str] = ContextVar("here", default="nowhere")


def test_calls_are_made_in_their_order_by_one_thread_in_the_callers_context() -> None:
    lane = CallThread()
    token = HERE.set("there")
    made = [lane.submit(lambda: (threading.get_ident(), HERE.get())) for _ in range(3)]
    HERE.reset(token)
    found = {future.result(10) for future in made}
    lane.close()
    ((thread, where),) = found
    assert thread != threading.get_ident()
    assert where == "there"


def test_what_a_call_raises_is_raised_where_it_is_waited_for() -> None:
    lane = CallThread()
    with pytest.raises(ZeroDivisionError):
        lane.submit(lambda: 1 // 0).result(10)
    assert lane.submit(lambda: 2).result(10) == 2
    lane.close()
