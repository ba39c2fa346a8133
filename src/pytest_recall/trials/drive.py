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
from pytest_recall.files.interruptible import first_of
from pytest_recall.replay.budget import SpentBudget, spent_text
from pytest_recall.trials.execution import Result, with_result
from pytest_recall.trials.run_stop import RunStop
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

    It is no `Exception`, so that it is not taken for what became of a question: that one was not asked. `stop` is what
    becomes of the run.
    """

    def __init__(self, spent: SpentBudget, *, in_ingest: bool = False) -> None:
        super().__init__(spent_text(spent))
        self.stop = RunStop.of_budget(spent, in_ingest=in_ingest)


class Driver:
    """Asks the questions of one run on up to `threads` threads; a context manager that ends them.

    `closed` says why no further question may be asked, None if one may. After `in_a_row` questions without a
    verdict the run is stopped; None lets it go on. `redact` takes secrets out of a text, by default those of the
    environment.
    """

    def __init__(
        self,
        *,
        threads: int = 1,
        closed: Callable[[], SpentBudget | None] = lambda: None,
        in_a_row: int | None = IN_A_ROW,
        redact: Callable[[str], str] | None = None,
    ) -> None:
        self._closed = closed
        self._in_a_row = in_a_row
        self._lost = 0
        self._redact = redact or DEFAULT_SETTINGS.redactor(os.environ).redacted
        # One question at a time needs no thread: a client that lives in this one is used from this one.
        self._threads = [CallThread() for _ in range(threads)] if threads > 1 else []
        self.stop: RunStop | None = None
        """Why questions were not asked; None while all may be."""

    def ask(self, questions: Iterable[AskQuestion]) -> Iterator[Trial]:
        """Yield the trial of each question, in the order in which they end.

        Once `closed` gives a reason no further one is begun, and those that were begun end if they can. After too many
        in a row without a verdict nothing more is waited for.
        """
        for trial in self._at_once(questions) if self._threads else self._one_by_one(questions):
            clean = self.clean(trial)
            yield clean
            if self._is_lost(clean):
                return

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
                self.stop = error.stop
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
                    self.stop = error.stop
                    continue
                yield trial
                begin(thread)

    def _may_begin(self) -> bool:
        if self.stop is None and (spent := self._closed()) is not None:
            self.stop = RunStop.of_budget(spent)
        return self.stop is None

    def _is_lost(self, trial: Trial) -> bool:
        """Whether this was one trial too many without a verdict."""
        self._lost = self._lost + 1 if trial.outcome is Outcome.ERROR else 0
        if self._in_a_row is None or self._lost < self._in_a_row:
            return False
        self.stop = RunStop("undecided", trial.error, self._lost)
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for thread in self._threads:
            thread.close()
