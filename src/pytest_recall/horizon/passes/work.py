"""Work: how a pass gets its models asked: in parallel, nothing twice, with what it costs told before and on the way."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TypeVar

from pytest_recall.core.call import Call
from pytest_recall.core.model import Ask, Message, Model, ModelError, Reply
from pytest_recall.judges.kept import Keeper
from pytest_recall.run.price import price_of_reply, seller_of
from pytest_recall.store.replies import Replies

Job = TypeVar("Job")
Done = TypeVar("Done")


@dataclass
class Work:
    """Asks a model for a pass. Replies are kept in `kept`, so that what was paid for before a kill is there after it.

    `bought` are the calls that were made now. Several threads may ask.
    """

    model: Model
    kept: Path | None
    concurrency: int = 1
    bought: list[Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._replies = Replies(self.kept)
        self._lock = Lock()

    def ask(self, system: str, user: str, *, max_tokens: int, temperature: float | None) -> Reply:
        """Return the reply. Raises ModelError."""
        asked = Ask(messages=(Message("user", user),), system=system, max_tokens=max_tokens, temperature=temperature)
        # A keeper for each question: the same words again are the same question, and not another one.
        return Keeper(self.model, _Locked(self._replies, self._lock), {}, self._paid).ask(asked)

    def each(self, jobs: Sequence[Job], do: Callable[[Job], Done]) -> list[Done | ModelError]:
        """Return what `do` makes of each job, in their order, or why its model could not be asked.

        What else it raises is raised once the jobs that had begun are over.
        """

        def one(job: Job) -> Done | ModelError:
            try:
                return do(job)
            except ModelError as error:
                return error

        if self.concurrency == 1 or len(jobs) < 2:
            return [one(job) for job in jobs]
        with ThreadPoolExecutor(self.concurrency) as pool:
            try:
                return list(pool.map(one, jobs))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def _paid(self, model: Model, reply: Reply) -> None:
        cost = price_of_reply(model, reply)
        with self._lock:
            self.bought.append(Call("agent", "live", reply.model, seller_of(model), reply.tokens, cost))


class _Locked:
    """A store of replies that several threads use."""

    def __init__(self, replies: Replies, lock: Lock) -> None:
        self._replies, self._lock = replies, lock

    def find(self, key: str) -> Reply | None:
        with self._lock:
            return self._replies.find(key)

    def keep(self, key: str, reply: Reply) -> None:
        with self._lock:
            self._replies.keep(key, reply)


class Progress:
    """Says how far a pass is: in place on a terminal, and a line for each tenth elsewhere."""

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total, self._done = what, total, 0

    def step(self) -> None:
        """One more is done."""
        self._done += 1
        told = f"recall: {self._what} {self._done:,} of {self._total:,}"
        if sys.stderr.isatty():
            print(f"\r{told}", end="\n" if self._done == self._total else "", file=sys.stderr, flush=True)
        elif self._done == self._total or self._done * 10 // self._total > (self._done - 1) * 10 // self._total:
            print(told, file=sys.stderr, flush=True)
