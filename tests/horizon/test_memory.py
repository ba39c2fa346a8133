"""The memory of a run: told, asked, and ended where it takes too long."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import pytest

from pytest_recall.cases.memory_part import QueryContext, Unit
from pytest_recall.files.errors import CaseError
from pytest_recall.horizon.memory import LateError, StuckError, Subject
from pytest_recall.memory.python_memory import Own
from pytest_recall.memory.session import Memory
from pytest_recall.trials.concurrency import Loop


class Kept:
    """A memory of the test, which does what a question tells it to."""

    private = True
    concurrent = True

    def __init__(self) -> None:
        self.told: list[str] = []
        self.threads: set[int] = set()
        self.contexts: list[QueryContext] = []
        self.cancelled = threading.Event()
        self.go = threading.Event()
        self.both = threading.Barrier(2)

    def reset(self) -> None:
        self.threads.add(threading.get_ident())
        self.told.clear()

    def store(self, content: str, metadata: Mapping[str, str]) -> None:
        self.threads.add(threading.get_ident())
        self.told.append(metadata["id"])

    def recall(self, query: str, limit: int, context: QueryContext) -> Any:
        self.threads.add(threading.get_ident())
        self.contexts.append(context)
        if query == "hang":
            return self._hang()
        if query == "block":
            self.go.wait(30)
        if query == "both":
            self.both.wait(10)
        if query == "break":
            raise ValueError("down")
        return [f"{query} {limit}"]

    async def _hang(self) -> list[str]:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return []


@contextmanager
def subject(
    kept: Kept, seconds: float = 30.0, lanes: int = 1, grace: float = 10.0, probed: int = 0
) -> Iterator[Subject]:
    with closing(Loop()) as loop:
        memory = Memory(Own("kept", kept), wait=loop.wait, probed=probed)
        with closing(Subject(memory, answers_only=False, lanes=lanes, seconds=seconds, grace=grace)) as opened:
            yield opened


HERE = QueryContext(session="principal", date="2024-01-07", checkpoint="7d")


def test_it_is_told_and_asked_by_one_thread_and_learns_where_and_when() -> None:
    kept = Kept()
    with subject(kept) as opened:
        opened.begin(allowed=False)
        opened.reset()
        opened.tell([Unit(id="day-0001", content="Rain.", metadata={"id": "day-0001"})])
        opened.finalize()
        found = opened.ask("why", 3, HERE)
    assert (found.text, [one.text for one in found.passages]) == (None, ["why 3"])
    assert found.seconds >= 0
    assert (kept.told, kept.contexts, len(kept.threads)) == (["day-0001"], [HERE], 1)


def test_a_passage_without_a_source_is_known_by_its_words() -> None:
    with subject(Kept()) as opened:
        opened.begin(allowed=False)
        opened.tell([Unit(id="day-0001", content="rain 3", metadata={"id": "day-0001"})])
        sources = [[one.source for one in opened.ask(question, 3, HERE).passages] for question in ("rain", "snow")]
    assert sources == [["day-0001"], [None]]


def test_what_it_was_told_is_asked_back_by_the_same_thread() -> None:
    kept = Kept()
    units = [Unit(id=f"day-{n}", content=f"Rain {n}.", metadata={"id": f"day-{n}"}) for n in range(3)]
    with subject(kept, probed=2) as opened:
        opened.reset()
        opened.tell(units)
        found = opened.read_back(units)
    assert (found.stored, found.asked) == (3, 2)
    assert len(kept.threads) == 1


def test_what_breaks_is_a_case_error() -> None:
    with subject(Kept()) as opened, pytest.raises(CaseError, match="memory recall: ValueError: down"):
        opened.ask("break", 3, HERE)


def test_a_task_that_is_late_is_cancelled_and_the_next_question_is_asked() -> None:
    kept = Kept()
    with subject(kept, seconds=0.2) as opened:
        with pytest.raises(LateError, match=r"no answer within 0\.2 s"):
            opened.ask("hang", 3, HERE)
        assert kept.cancelled.wait(10)
        assert opened.ask("next", 3, HERE).passages


def test_what_cannot_be_ended_stops_all_that_would_follow() -> None:
    kept = Kept()
    with subject(kept, seconds=0.1, grace=0.1) as opened:
        with pytest.raises(StuckError, match="the memory is still at “block”"):
            opened.ask("block", 3, HERE)
        with pytest.raises(StuckError, match="still running another question"):
            opened.ask("next", 3, HERE)
        with pytest.raises(CaseError, match="still running a question that timed out"):
            opened.reset()
        kept.go.set()


def test_what_ends_late_by_itself_is_late_and_no_more() -> None:
    kept = Kept()
    with subject(kept, seconds=0.2) as opened:
        threading.Timer(0.4, kept.go.set).start()
        with pytest.raises(LateError):
            opened.ask("block", 3, HERE)
        assert opened.ask("next", 3, HERE).passages


def test_several_lanes_ask_at_once() -> None:
    kept = Kept()
    with subject(kept, lanes=2) as opened:
        found: list[Any] = []
        threads = [threading.Thread(target=lambda: found.append(opened.ask("both", 1, HERE))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert len(found) == 2
