"""What threads take along of where they are started."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from threading import Event

import pytest

from pytest_recall.replay.hooks import carry

CASE: ContextVar[str | None] = ContextVar("case", default=None)
KIND: ContextVar[str | None] = ContextVar("kind", default=None)
OTHER: ContextVar[str | None] = ContextVar("other", default=None)


@pytest.fixture(autouse=True)
def _carried() -> Iterator[None]:
    undo = carry(lambda in_thread: [(CASE, CASE.get()), (KIND, KIND.get())])
    yield
    for step in undo:
        step()


def seen() -> list[str | None]:
    """Return the variables here."""
    return [CASE.get(), KIND.get(), OTHER.get()]


def in_thread() -> list[str | None]:
    """Return the variables in a thread that is started here."""
    found: list[str | None] = []
    thread = threading.Thread(target=lambda: found.extend(seen()))
    thread.start()
    thread.join()
    return found


def of_case(name: str, kind: str | None = None) -> None:
    """Set the variables, here."""
    CASE.set(name)
    KIND.set(kind)
    OTHER.set("stays")


def test_a_thread_takes_along_what_is_carried_and_no_more() -> None:
    def run() -> list[str | None]:
        of_case("a", "judge")
        return in_thread()

    assert copy_context().run(run) == ["a", "judge", None]
    assert in_thread() == [None, None, None]


def test_a_thread_of_a_thread_does_too() -> None:
    def run() -> list[str | None]:
        of_case("a")
        found: list[str | None] = []
        thread = threading.Thread(target=lambda: found.extend(in_thread()))
        thread.start()
        thread.join()
        return found

    assert copy_context().run(run) == ["a", None, None]


def test_a_thread_of_a_subclass_runs_its_own_run() -> None:
    class Own(threading.Thread):
        found: list[str | None]

        def run(self) -> None:
            self.found = seen()

    def run() -> Own:
        of_case("a")
        thread = Own()
        thread.start()
        thread.join()
        return thread

    thread = copy_context().run(run)
    assert thread.found[0] == "a"
    assert "run" not in vars(thread)


def test_two_that_carry_do_not_stand_in_each_others_way() -> None:
    undo = carry(lambda in_thread: [(OTHER, OTHER.get())])

    def run() -> list[str | None]:
        of_case("a", "judge")
        return in_thread()

    try:
        assert copy_context().run(run) == ["a", "judge", "stays"]
    finally:
        for step in undo:
            step()


def test_what_is_called_back_has_what_its_task_was_submitted_with() -> None:
    with ThreadPoolExecutor(1) as pool:

        def run(name: str) -> list[str | None]:
            of_case(name)
            found: list[str | None] = []
            submitted = Event()
            task = pool.submit(submitted.wait, 20)
            task.add_done_callback(lambda done: found.extend(seen()))
            submitted.set()
            pool.submit(seen).result()
            return found

        assert copy_context().run(run, "a") == ["a", None, None]
        assert copy_context().run(run, "b") == ["b", None, None]


def test_a_thread_of_an_executor_has_what_its_task_was_submitted_with() -> None:
    with ThreadPoolExecutor(1) as pool:

        def run(name: str) -> list[str | None]:
            of_case(name)
            return pool.submit(seen).result()

        assert copy_context().run(run, "a") == ["a", None, None]
        assert copy_context().run(run, "b") == ["b", None, None]
        assert pool.submit(seen).result() == [None, None, None]
