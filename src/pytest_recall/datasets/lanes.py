"""Ask about several conversations at once, the questions of each one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import copy_context
from queue import Queue
from threading import Event, Lock, Thread
from typing import TypeVar

from pytest_recall.trials.drive import Question, SpentError
from pytest_recall.trials.trial import Trial

GRACE = 10.0
"""Seconds that questions get to come to their end once the run is stopped."""
Entry = TypeVar("Entry")


@contextmanager
def at_once(
    conversations: Iterable[Sequence[Entry]], count: int, ask: Callable[[Sequence[Entry]], Iterator[Trial]]
) -> Iterator[Iterator[Question]]:
    """Hand out what returns the trials of all questions, in the order in which they end.

    On each of `count` threads `ask` is called with one conversation after the other, in their order. What it raises is
    raised in place of a trial. A question that cannot be paid for ends its thread; what the others have begun ends, and
    then the error is raised.
    """
    groups = [group for group in conversations if group]
    waiting, lock, stop = iter(groups), Lock(), Event()
    ended: Queue[Trial | BaseException | None] = Queue()

    def work() -> None:
        try:
            while not stop.is_set():
                with lock:
                    group = next(waiting, None)
                if group is None:
                    break
                with closing(ask(group)) as trials:  # type: ignore[type-var]
                    for trial in trials:
                        ended.put(trial)
                        if stop.is_set():
                            break
        except BaseException as error:  # The waiting thread raises it.
            ended.put(error)
        finally:
            ended.put(None)

    threads = [Thread(target=copy_context().run, args=(work,), daemon=True) for _ in range(min(count, len(groups)))]
    left = len(threads)
    unpaid: SpentError | None = None

    def take() -> Trial:
        nonlocal left, unpaid
        while left:
            found = ended.get()
            if found is None:
                left -= 1
            elif isinstance(found, SpentError):
                unpaid = found
            elif isinstance(found, BaseException):
                raise found
            else:
                return found
        assert unpaid is not None, "as many trials are taken as there are questions"
        raise unpaid

    for thread in threads:
        thread.start()
    try:
        yield (take for _ in range(sum(map(len, groups))))
    finally:
        stop.set()
        for thread in threads:
            thread.join(GRACE)
