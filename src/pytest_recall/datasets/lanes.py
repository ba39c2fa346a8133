"""Ask about several conversations at once, and several questions of each, on one pool of threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from contextvars import copy_context
from queue import Queue
from threading import Condition, Thread
from typing import Generic, Self, TypeVar

from pytest_recall.files import clock
from pytest_recall.files.errors import RecallError
from pytest_recall.files.interruptible import next_of
from pytest_recall.replay.budget import SpentBudget
from pytest_recall.trials.drive import AskQuestion
from pytest_recall.trials.run_stop import SpentError
from pytest_recall.trials.trial import Trial

GRACE = 10.0
"""Seconds that questions get to come to their end once the run is stopped."""
Entry = TypeVar("Entry")
AskEntry = Callable[[Entry], tuple[Trial, bool]]
"""Asks one question; returns its trial, and whether the other ones of its conversation may be asked at once."""


class _Conversation(Generic[Entry]):
    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self.waiting = deque(entries)
        self.running = 0
        self.is_told = False
        self.ask: AskEntry[Entry] | None = None
        self.stack = ExitStack()


class Lanes(Generic[Entry]):
    """Asks the questions of conversations on `places` threads; a context manager that ends them.

    `open_` is entered for each conversation, by the first question of it, and left after the last one, whichever thread
    asks that; at most `most` are open. As long as a conversation is not told its questions are asked one after the
    other, in their order. A free thread opens the next conversation, and asks a question if it cannot. Once `closed`
    gives a reason no further question is begun. `halt` is called once nothing more is taken.
    """

    def __init__(
        self,
        conversations: Iterable[Sequence[Entry]],
        places: int,
        open_: Callable[[Sequence[Entry]], AbstractContextManager[AskEntry[Entry]]],
        *,
        most: int,
        closed: Callable[[], SpentBudget | None] = lambda: None,
        halt: Callable[[], None] = lambda: None,
    ) -> None:
        self._unopened = deque(_Conversation(one) for one in conversations if one)
        self._total = sum(len(one.entries) for one in self._unopened)
        self._open, self._most, self._closed = open_, most, closed
        self._opened: list[_Conversation[Entry]] = []
        self._changed = Condition()
        self._stop = False
        self._when_halted = halt
        self._ended: Queue[Trial | BaseException | None] = Queue()
        self._unpaid: SpentError | None = None
        self._places = min(places, self._total)
        self._threads: list[Thread] = []
        self._left = self._places

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._end()
        for one in self._opened:
            # What was measured is not lost for a store that cannot be let go of.
            with suppress(RecallError):
                if not one.running:
                    one.stack.close()

    def questions(self) -> Iterator[AskQuestion]:
        """Begin, and yield what returns the trials of all questions, in the order in which they end.

        What asking raises is raised in place of a trial. Where a question cannot be paid for, what was begun ends, and
        then the error is raised.
        """
        for _ in range(self._places):
            self._threads.append(Thread(target=copy_context().run, args=(self._work,), daemon=True))
            self._threads[-1].start()
        yield from (self._next for _ in range(self._total))

    def rest(self) -> Iterator[Trial]:
        """Stop, and yield the trials of the questions that were begun and that ended in time."""
        self._end()
        while not self._ended.empty():
            if isinstance(found := self._ended.get(), Trial):
                yield found

    def _next(self) -> Trial:
        while self._left:
            found = next_of(self._ended)
            if found is None:
                self._left -= 1
            elif isinstance(found, SpentError):
                self._unpaid = found
            elif isinstance(found, BaseException):
                raise found
            else:
                return found
        assert self._unpaid is not None, "as many trials are taken as there are questions"
        raise self._unpaid

    def _end(self) -> None:
        self._halt()
        self._when_halted()
        deadline = clock.monotonic() + GRACE
        for thread in self._threads:
            thread.join(max(0.0, deadline - clock.monotonic()))

    def _halt(self) -> None:
        with self._changed:
            self._stop = True
            self._changed.notify_all()

    def _work(self) -> None:
        try:
            while (taken := self._take()) is not None:
                self._ask(*taken)
        except BaseException as error:  # The waiting thread raises it.
            self._ended.put(error)
            self._halt()
        finally:
            self._ended.put(None)

    def _take(self) -> tuple[_Conversation[Entry], Entry] | None:
        """Return a question that may be begun, once there is one; None when there will be none."""
        with self._changed:
            while not self._stop:
                if self._unopened and len(self._opened) < self._most:
                    self._opened.append(self._unopened.popleft())
                free = [one for one in self._opened if one.waiting and (one.is_told or not one.running)]
                if free:
                    # To tell a conversation takes longest, and is never done at once.
                    one = next((one for one in free if not one.is_told), free[0])
                    one.running += 1
                    return one, one.waiting.popleft()
                if not self._unopened and not any(one.waiting for one in self._opened):
                    return None
                self._changed.wait()
        return None

    def _ask(self, one: _Conversation[Entry], entry: Entry) -> None:
        told = False
        try:
            if (spent := self._closed()) is not None:
                raise SpentError(spent)
            if one.ask is None:
                one.ask = one.stack.enter_context(self._open(one.entries))
            trial, told = one.ask(entry)
            self._ended.put(trial)
        finally:
            with self._changed:
                one.is_told = told
                one.running -= 1
                is_over = not one.running and not one.waiting
                self._changed.notify_all()
        if is_over:
            one.stack.close()
            with self._changed:
                self._opened.remove(one)
                self._changed.notify_all()
