"""Ask the questions of a run without pytest, one after the other or several at once, and write down each trial."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from contextvars import copy_context
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any, Self, TypeVar

from pytest_recall.files.interruptible import first_of
from pytest_recall.files.pace import ProgressLines
from pytest_recall.models.inputs import InputsNote
from pytest_recall.models.model_notes import ModelNotes
from pytest_recall.trials.execution import Result, with_result
from pytest_recall.trials.model_calls import RunModels
from pytest_recall.trials.question_run import QuestionRun
from pytest_recall.trials.run_stop import RunStop, SpentError
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


class Driver:
    """Asks the questions of a `run`, and writes their trials into its journal; a context manager.

    `calls` are those of the models, which have a budget; None where there are none. How far the run is, of which `left`
    of `total` are to come, is told in lines that say `what` is done with them. The `notes` are written before each
    trial, so that no answer is kept without what it rests on. Up to `threads` questions are asked at once. With
    `stops`, many in a row without a verdict stop it.
    """

    def __init__(
        self,
        run: QuestionRun,
        calls: RunModels | None,
        *,
        total: int,
        left: int,
        what: str = "questions asked",
        notes: Iterable[InputsNote | ModelNotes] = (),
        threads: int = 1,
        stops: bool = True,
    ) -> None:
        self._journal, self._redact, self._calls = run.begin(), run.redact, calls
        self._progress = ProgressLines(what, total, left, run.tell)
        self._notes, self._stops = tuple(notes), stops
        self._lost = 0
        # One question at a time needs no thread: a client that lives in this one is used from this one.
        self._threads = [CallThread() for _ in range(threads)] if threads > 1 else []
        self._stack = ExitStack()
        self.stop: RunStop | None = None
        """Why questions were not asked; None while all may be."""

    def ask(
        self,
        questions: Iterable[AskQuestion],
        keep: Callable[[Trial], None],
        rest: Callable[[], Iterable[Trial]] | None = None,
    ) -> None:
        """Ask the questions, and let `keep` have the trial of each once it is written, in the order in which they end.

        Once the budget is spent no further one is begun, and those that were begun end if they can. After too many
        in a row without a verdict nothing more is waited for. Of questions that begin by themselves, and end so, `rest`
        stops them, and returns the trials of those that had begun: these are taken also where an exception ends this.
        """
        if self._threads:
            asked = self._at_once(questions)
        else:
            asked = self._one_by_one(questions, self._may_begin if rest is None else lambda: True)
        try:
            for trial in asked:
                if self._is_lost(self._take(trial, keep)):
                    break
        finally:
            for trial in () if rest is None else rest():
                self._take(trial, keep)

    def _take(self, trial: Trial, keep: Callable[[Trial], None]) -> Trial:
        """Have the trial written and kept without secrets, and return it so."""
        clean = with_result(trial, Result.of(trial).clean(self._redact))
        for note in self._notes:
            note.write()
        self._journal.append(clean)
        keep(clean)
        self._progress.step()
        return clean

    def _one_by_one(self, questions: Iterable[AskQuestion], may_begin: Callable[[], bool]) -> Iterator[Trial]:
        for question in questions:
            if not may_begin():
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
        spent = None if self._calls is None else self._calls.closed()
        if self.stop is None and spent is not None:
            self.stop = RunStop.of_budget(spent)
        return self.stop is None

    def _is_lost(self, trial: Trial) -> bool:
        """Whether this was one trial too many without a verdict."""
        self._lost = self._lost + 1 if trial.outcome is Outcome.ERROR else 0
        if not self._stops or self._lost < IN_A_ROW:
            return False
        self.stop = RunStop("undecided", trial.error, self._lost)
        return True

    def __enter__(self) -> Self:
        # What is called for a question that does not come to its end has cost its money.
        if self._calls is not None:
            self._stack.enter_context(self._calls.memory.written(self._journal.spent))
        for thread in self._threads:
            self._stack.callback(thread.close)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
