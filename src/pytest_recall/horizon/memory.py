"""Tell a memory one day after the other, and ask it with a time limit that is kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from hashlib import sha256
from queue import Queue
from typing import NamedTuple

from pytest_recall.cases.memory_part import QueryContext, Unit
from pytest_recall.files import clock
from pytest_recall.files.errors import CaseError, RecallError
from pytest_recall.files.interruptible import result_of
from pytest_recall.files.wording import one_line
from pytest_recall.memory.client import deadline, own_time
from pytest_recall.memory.session import Memory, Readback, known_by_words
from pytest_recall.trials.concurrency import TASKS, Tasks
from pytest_recall.trials.drive import CallThread
from pytest_recall.trials.trial import Passage

GRACE = 10.0
"""Seconds that a memory gets to end what it was told to end."""


class MemoryReply(NamedTuple):
    """What a memory gave."""

    text: str | None
    """Its own answer; None if it gives none."""
    passages: tuple[Passage, ...]
    """What it found."""
    seconds: float
    """Those that it took, without those waited before a request to a busy service was tried again."""


class LateError(CaseError):
    """A question for which the memory took too long."""


class StuckError(RecallError):
    """A memory that goes on with what no one waits for any more: nothing else may be asked of it."""


class Subject:
    """The memory under test, asked by at most `lanes` threads at once, each question for at most `seconds`.

    Where one lane is enough, it is told and asked by the same thread from beginning to end.
    """

    def __init__(self, memory: Memory, *, answers_only: bool, lanes: int, seconds: float, grace: float = GRACE) -> None:
        self._memory = memory
        self._answers_only = answers_only
        self._seconds = seconds
        self._grace = grace
        self._stuck = False
        # By digest: of a thousand days the texts themselves would take more memory than all else.
        self._told: dict[bytes, str] = {}
        self._first = CallThread()
        self._free: Queue[CallThread] = Queue()
        self._lanes = [self._first, *(CallThread() for _ in range(lanes - 1))]
        for lane in self._lanes:
            self._free.put(lane)

    def begin(self, allowed: bool) -> None:
        """Look whether it can be used, and is empty unless that is `allowed` not to be so. Raises CaseError."""

        def look() -> None:
            self._memory.ready()
            self._memory.healthcheck()
            self._memory.guard(allowed)

        result_of(self._first.submit(look))

    def tell(self, units: Iterable[Unit]) -> None:
        """Let it keep these texts. Raises CaseError."""
        units = list(units)
        for unit in units:
            self._told.setdefault(_digest(unit.content), unit.told)
        result_of(self._first.submit(lambda: self._memory.store_all(units)))

    def finalize(self) -> None:
        """Say that all days of a checkpoint are there. Raises CaseError."""
        result_of(self._first.submit(self._memory.finalize))

    def read_back(self, units: Sequence[Unit]) -> Readback:
        """Return what comes back of the units that it was told, by their own words, in the time of one question.

        Raises CaseError, also where that is not enough.
        """

        def ask() -> Readback:
            with deadline(self._seconds):
                return self._memory.read_back(units, at_home=True)

        return result_of(self._first.submit(ask))

    def count(self) -> int | None:
        """Return how many units it says that it holds, None if it does not say. Raises CaseError."""
        return result_of(self._first.submit(self._memory.count))

    def reset(self) -> None:
        """Let it forget everything. Raises CaseError, also where it is stuck."""
        try:
            emptied = self._first.submit(self._memory.reset)
            if self._stuck:
                emptied.result(self._grace)
            else:
                result_of(emptied)
        except TimeoutError:
            raise CaseError("memory reset", "it is still running a question that timed out") from None

    def ask(self, question: str, limit: int, context: QueryContext) -> MemoryReply:
        """Return what it gives. Raises CaseError, LateError after its time, and StuckError if it does not end then.

        What is late is ended: a task is cancelled, a process killed, a call to a service given up; a plain
        function in this process cannot be, and has to come to its end before anything else is asked.
        """
        lane = self._free.get()
        # Looked at once a lane is free: the question before may have got stuck while this one waited for its lane. The
        # lane is put back in any case, so that the next one that waits learns it as well.
        if self._stuck:
            self._free.put(lane)
            raise StuckError("the memory is still running another question that timed out")
        tasks = Tasks()
        start = clock.perf_counter()

        def call() -> MemoryReply:
            TASKS.set(tasks)
            with deadline(self._seconds), own_time() as took:
                found = () if self._answers_only else self._memory.recall(question, limit, context)
                text = self._memory.answer(question, limit, context)
            return MemoryReply(text, known_by_words(found, self._id_of), took.seconds)

        future = lane.submit(call)
        try:
            return future.result(self._seconds)
        except TimeoutError:
            tasks.cancel()
            self._end(future, question)
            raise self._late() from None
        except CaseError as error:
            # A client that keeps to the same limit may raise a moment before this thread looks.
            if clock.perf_counter() - start >= self._seconds:
                raise self._late() from error
            raise
        finally:
            self._free.put(lane)

    def _id_of(self, text: str) -> str | None:
        return self._told.get(_digest(text))

    def close(self) -> None:
        """Let go of the memory, unless it is stuck, and of the threads."""
        with suppress(TimeoutError):
            self._first.submit(self._memory.close).result(0 if self._stuck else None)
        for lane in self._lanes:
            lane.close()

    def _late(self) -> LateError:
        return LateError("memory timeout", f"no answer within {self._seconds:g} s")

    def _end(self, future: Future[MemoryReply], question: str) -> None:
        try:
            future.result(self._grace)
        except TimeoutError:
            if not future.done():
                self._stuck = True
                raise StuckError(
                    f"the memory is still at “{one_line(question, 60)}” {self._grace:g} s after its {self._seconds:g} s"
                    " were over, and cannot be ended from here; make it end by itself, or name it by a selector with a"
                    " process of its own, such as command: or http:"
                ) from None
        except Exception:
            return  # Whatever it ended with: no caller waits for it.


def _digest(text: str) -> bytes:
    return sha256(text.encode(errors="surrogatepass")).digest()[:16]
