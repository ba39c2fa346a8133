"""Ask questions without pytest, one after the other or several at once, and return each trial as it comes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextvars import copy_context
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any, Self, TypeVar

from pytest_recall.cases.settings import DEFAULT_SETTINGS
from pytest_recall.files.errors import RecallError
from pytest_recall.files.interruptible import first_of
from pytest_recall.trials.execution import Result, with_result
from pytest_recall.trials.trial import Outcome, Trial

Given = TypeVar("Given")
IN_A_ROW = 5
"""Questions one after the other without a verdict by which a run stops: the next ones would break as well."""

AskQuestion = Callable[[], Trial]
"""Asks one question; raises SpentError if that cannot be paid for."""


class CallThread:
    """A thread of its own. It does not keep the process alive: a call that never ends is left behind with it."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        Thread(target=self._serve, name="recall-memory", daemon=True).start()

    def submit(self, call: Callable[[], Given]) -> Future[Given]:
        """Make the call once those before it are over, in a copy of this context; return where it will be told."""
        future: Future[Given] = Future()
        context = copy_context()
        self._calls.put((future, lambda: context.run(call)))
        return future

    def close(self) -> None:
        """Let the thread end, once what it was given is done."""
        self._calls.put(None)

    def _serve(self) -> None:
        while (given := self._calls.get()) is not None:
            future, call = given
            try:
                future.set_result(call())
            except BaseException as error:  # The waiting thread raises it.
                future.set_exception(error)


class SpentError(BaseException):
    """A call that must not begin, since the budget is spent.

    It is no `Exception`, so that it is not taken for what became of a question: that one was not asked.
    """


class LostError(RecallError):
    """A run that is stopped, since several questions in a row came to no verdict; `reason` says so without its name."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: stopped: {reason}; correct that, and run the same command again to resume")
        self.reason = reason


class Driver:
    """Asks the questions of one run on up to `threads` threads; a context manager that ends them.

    `closed` says why no further question may be asked, empty if one may. After `in_a_row` questions without a
    verdict the run is stopped; None lets it go on. `name` is what messages call the run, and `asked` a question.
    `redact` takes secrets out of a text, by default those of the environment.
    """

    def __init__(
        self,
        name: str,
        *,
        threads: int = 1,
        closed: Callable[[], str] = str,
        in_a_row: int | None = IN_A_ROW,
        asked: str = "question",
        redact: Callable[[str], str] | None = None,
    ) -> None:
        self._name = name
        self._closed = closed
        self._in_a_row = in_a_row
        self._lost = 0
        self._asked = asked
        self._redact = redact or DEFAULT_SETTINGS.redactor(os.environ).redacted
        # One question at a time needs no thread: a client that lives in this one is used from this one.
        self._threads = [CallThread() for _ in range(threads)] if threads > 1 else []
        self.stopped = ""
        """Why questions were not asked, if some were not."""

    def ask(self, questions: Iterable[AskQuestion]) -> Iterator[Trial]:
        """Yield the trial of each question, in the order in which they end.

        Once `closed` gives a reason no further one is begun, and those that were begun end if they can. Raises
        LostError after too many questions in a row without a verdict.
        """
        for trial in self._at_once(questions) if self._threads else self._one_by_one(questions):
            clean = self.clean(trial)
            yield clean
            self._count(clean)

    def clean(self, trial: Trial) -> Trial:
        """Return the trial without secrets, as it may be written and shown."""
        return with_result(trial, Result.of(trial).clean(self._redact))

    def _one_by_one(self, questions: Iterable[AskQuestion]) -> Iterator[Trial]:
        for question in questions:
            if not self._may_begin():
                return
            try:
                trial = question()
            except SpentError as error:
                self.stopped = str(error)
                return
            yield trial

    def _at_once(self, questions: Iterable[AskQuestion]) -> Iterator[Trial]:
        waiting = iter(questions)
        running: dict[Future[Trial], CallThread] = {}

        def begin(thread: CallThread) -> None:
            question = next(waiting, None)
            if question is not None and self._may_begin():
                running[thread.submit(question)] = thread

        for thread in self._threads:
            begin(thread)
        while running:
            for future in first_of(running):
                thread = running.pop(future)
                try:
                    trial = future.result()
                except SpentError as error:
                    self.stopped = str(error)
                    continue
                yield trial
                begin(thread)

    def _may_begin(self) -> bool:
        self.stopped = self.stopped or self._closed()
        return not self.stopped

    def _count(self, trial: Trial) -> None:
        self._lost = self._lost + 1 if trial.outcome is Outcome.ERROR else 0
        if self._in_a_row is not None and self._lost >= self._in_a_row:
            told = f"{self._lost} {self._asked}s in a row came to no verdict, the last one because of `{trial.error}`"
            raise LostError(self._name, told)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for thread in self._threads:
            thread.close()
