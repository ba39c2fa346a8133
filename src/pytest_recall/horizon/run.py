"""Run: the days of a persona are told to a memory, and at each checkpoint questions are asked and judged."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from pytest_recall.files.disk import locked
from pytest_recall.files.errors import CaseError, RecallError, StoppedError
from pytest_recall.horizon.ask import Asker, name_of, now
from pytest_recall.horizon.evaluation import Evaluation, summarize
from pytest_recall.horizon.judge import PanelJudge
from pytest_recall.horizon.memory import StuckError, Subject
from pytest_recall.horizon.parts import Parts, day_units
from pytest_recall.horizon.passes.work import PassProgress
from pytest_recall.horizon.published import checkpoint_line, summary_line
from pytest_recall.horizon.question import BenchQuestion, Checkpoint
from pytest_recall.horizon.result import Reached, duration, query_ms, result
from pytest_recall.horizon.run_file import (
    FILLED,
    RESULT,
    Done,
    RunFiles,
    check_same,
    evaluations,
    is_over,
    reached_lines,
    starts,
    write_result,
)
from pytest_recall.memory.session import Memory
from pytest_recall.trials.concurrency import Loop
from pytest_recall.trials.drive import CallThread, SpentError

IN_A_ROW = 5
"""Questions one after the other without points by which a run stops: whatever broke will not mend itself."""


class BenchOutcome(NamedTuple):
    """What a run came to: its result, as it is written, and the checkpoints behind it.

    Of a run that could not be paid for to its end `unasked` counts the questions that were not asked, `beside` the
    answers at a checkpoint whose other questions were not, and `stopped` says why.
    """

    result: dict[str, Any]
    reached: tuple[Reached, ...]
    unasked: int = 0
    beside: int = 0
    stopped: str = ""

    @property
    def lost(self) -> int:
        """How many questions have no points."""
        return sum(one.points is None for reached in self.reached for one in reached.evaluations)


class Going:
    """A run in a folder, begun or gone on with. `allowed` says that a memory may be reset that is not empty."""

    def __init__(self, parts: Parts, folder: Path, *, allowed: bool, preflight: bool, tell: Callable[[str], None]):
        self._parts = parts
        self._folder = folder
        self._allowed = allowed
        self._preflight = preflight
        self._tell = tell
        self._done: Done = {}
        self._ingest_ms: dict[str, float | None] = {}
        self._failed_in_a_row = 0
        self._stopped = ""

    def go(self) -> BenchOutcome:
        """Ask what has not been answered yet, as far as it can be paid for, and return what all of it came to.

        Raises RecallError where the folder holds another run, or something breaks; what was asked is kept.
        """
        try:
            with locked(self._folder / ".lock", f"{self._folder}: another run is at it; wait, or name another --out"):
                return self._go()
        except KeyboardInterrupt:
            raise StoppedError(f"{self._folder}: stopped; the same command continues it") from None

    def _go(self) -> BenchOutcome:
        parts = self._parts
        header = parts.configuration.header(now())
        if check_same(self._folder, header):
            known = {one.id: one for one in parts.questions}
            self._done = {key: _lean(one) for key, one in evaluations(self._folder, known).items()}
        open_ = {one.place: self._open(one) for one in parts.checkpoints}
        left = sum(map(len, open_.values()))
        total = sum(len(one.asked) for one in parts.checkpoints)
        if left < total:
            self._tell(f"{self._folder}: {total - left:,} of {total:,} questions are answered")
        self._ingest_ms = {label: one["ingestMs"] for label, one in reached_lines(self._folder).items()}
        with parts.calls.listening(parts.configuration.recordings) if parts.models else nullcontext():
            self._say_unrecorded(open_)
            if left:
                self._look()
            if left or not is_over(self._folder):
                with RunFiles(self._folder, header) as files:
                    if left and not self._stopped:
                        self._work(files, open_, left)
                    whole = self._whole()
                    for checkpoint in whole:
                        # A run that was killed just after the last answer of a checkpoint has not said so.
                        if checkpoint.range.label not in self._ingest_ms:
                            self._reach(files, checkpoint, None)
                    outcome = self._outcome(whole)
                    if not outcome.unasked:
                        files.tell(summary_line(outcome.result["timestamp"], outcome.result["metadata"]))
            else:
                outcome = self._outcome(parts.checkpoints)
        write_result(self._folder / RESULT, outcome.result)
        return outcome

    def _say_unrecorded(self, open_: Mapping[int, Sequence[BenchQuestion]]) -> None:
        """Say of how many answered questions there is no recording, if there is to be one."""
        parts = self._parts
        answered = (
            name_of(question, one)
            for one in parts.checkpoints
            for question in one.asked
            if question not in open_[one.place]
        )
        if unrecorded := parts.calls.unrecorded(answered):
            told = f"{unrecorded:,} of the answered questions are not recorded, and not asked again"
            self._tell(f"{self._folder}: {told}; name another --out to record all of them")

    def _look(self) -> None:
        """Try the judge with known answers. Raises RecallError for one that must not judge."""
        parts = self._parts
        if self._preflight and parts.calls.mode != "replay" and isinstance(parts.judge, PanelJudge):
            try:
                with parts.calls.about("", kept=False):
                    parts.judge.ready()
            except SpentError as error:
                self._stopped = str(error)

    def _whole(self) -> Sequence[Checkpoint]:
        """Return the checkpoints up to the first one that has a question which was not asked."""

        def is_whole(one: Checkpoint) -> bool:
            return all((one.range.label, question.id) in self._done for question in one.asked)

        return list(takewhile(is_whole, self._parts.checkpoints))

    def _open(self, checkpoint: Checkpoint) -> list[BenchQuestion]:
        """Return the questions of a checkpoint that have no points yet."""
        label = checkpoint.range.label
        answered = {id for (where, id), one in self._done.items() if where == label and one.points is not None}
        return [question for question in checkpoint.asked if question.id not in answered]

    def _work(self, files: RunFiles, open_: dict[int, list[BenchQuestion]], left: int) -> None:
        parts = self._parts
        last = max(place for place, questions in open_.items() if questions)
        progress = PassProgress("asked", left)
        try:
            with self._opened() as subject, _lanes(parts.settings.run.parallelism) as lanes:
                asker = Asker(
                    persona=parts.configuration.persona,
                    calendar=parts.corpus.calendar,
                    subject=subject,
                    judge=parts.judge,
                    answerer=parts.answerer,
                    k=parts.settings.run.k,
                    whole=parts.client.whole,
                    about=parts.calls.about,
                )
                told = 0
                for checkpoint in parts.checkpoints[:last]:
                    if self._stopped:
                        break
                    # A run that goes on tells all days again, with the same stops: a memory that works on what it
                    # was told at each of them is as it would have been.
                    new, ingest_ms = self._ingest(subject, told, checkpoint)
                    told = checkpoint.days
                    if not open_[checkpoint.place] and checkpoint.range.label in self._ingest_ms:
                        continue
                    for one in self._evaluated(asker, checkpoint, open_[checkpoint.place], lanes):
                        files.add(one)
                        self._done[checkpoint.range.label, one.question.id] = _lean(one)
                        progress.step()
                        self._count(one)
                    if not self._stopped:
                        self._ingest_ms[checkpoint.range.label] = ingest_ms
                        self._reach(files, checkpoint, new)
        except StuckError as error:
            raise RecallError(f"{self._folder}: stopped: {error}; then the same command continues it") from None
        except CaseError as error:
            raise RecallError(f"{self._folder}: stopped: {error}; the same command continues it") from None

    @contextmanager
    def _opened(self) -> Iterator[Subject]:
        """Hand out the memory, ready and empty; what is not private is empty again afterwards."""
        parts, filled = self._parts, self._folder / FILLED
        run = parts.settings.run
        with ExitStack() as stack:
            loop = stack.enter_context(closing(Loop()))
            memory = Memory(parts.client, wait=loop.wait, probed=0)
            subject = Subject(
                memory,
                answers_only=parts.client.answers_only,
                lanes=run.parallelism if parts.client.concurrent else 1,
                seconds=run.timeout / 1000,
            )
            stack.callback(subject.close)
            subject.begin(self._allowed or filled.exists())
            if not memory.private:
                filled.touch()
            subject.reset()
            yield subject
            if not memory.private:
                subject.reset()
                filled.unlink(missing_ok=True)

    def _ingest(self, subject: Subject, told: int, checkpoint: Checkpoint) -> tuple[int, float]:
        """Tell the days after `told`, up to the checkpoint's; return how many, and how long it took in milliseconds."""
        parts = self._parts
        new = [day for day in parts.days if told < day <= checkpoint.days]
        start = time.perf_counter()
        for day in new:
            subject.tell(day_units(parts.corpus, day, parts.settings.run.unit))
        subject.finalize()
        return len(new), round(1000 * (time.perf_counter() - start), 3)

    def _evaluated(
        self, asker: Asker, checkpoint: Checkpoint, questions: Sequence[BenchQuestion], lanes: Sequence[CallThread]
    ) -> Iterator[Evaluation]:
        """Yield what comes of each question, as it comes; with one lane, in the order in which they are asked.

        Once the money is spent no other one is begun, and what had begun comes to its end if it can.
        """
        waiting = iter(questions)
        running: dict[Future[Evaluation], CallThread] = {}

        def begin(lane: CallThread) -> None:
            question = next(waiting, None)
            if question is not None and not self._stopped:
                self._stopped = self._parts.calls.closed()
            if question is not None and not self._stopped:
                running[lane.submit(lambda: asker.evaluate(question, checkpoint))] = lane

        for lane in lanes:
            begin(lane)
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                lane = running.pop(future)
                try:
                    one = future.result()
                except SpentError as error:
                    self._stopped = str(error)
                    continue
                yield one
                begin(lane)

    def _count(self, one: Evaluation) -> None:
        """Raise RecallError after too many questions in a row without points, unless all that is lost is free."""
        if self._parts.calls.mode == "replay":
            return
        self._failed_in_a_row = self._failed_in_a_row + 1 if one.points is None else 0
        if self._failed_in_a_row >= IN_A_ROW:
            raise RecallError(
                f"{self._folder}: stopped: {IN_A_ROW} questions in a row have no points, the last one by the"
                f" {one.failure} ({one.error}); mend that, and the same command continues it"
            )

    def _reach(self, files: RunFiles, checkpoint: Checkpoint, new: int | None) -> None:
        """Write down what a checkpoint came to; `new` days were told for it, None if that is not known any more."""
        parts = self._parts
        (reached,) = self._reached([checkpoint])
        summary = summarize(reached.evaluations, checkpoint.eligible, measured=parts.configuration.measured)
        more = {
            "appealed": summary.appealed,
            "ingestMs": self._ingest_ms.setdefault(checkpoint.range.label, None),
            "queryMs": query_ms(reached.evaluations),
            "newDaysIngested": new,
            "newQuestionCount": checkpoint.fresh,
            "historicalEvaluated": checkpoint.sampled,
            "historicalAvailable": checkpoint.available,
        }
        persona, total = parts.configuration.persona, len(parts.checkpoints)
        range, days = checkpoint.range._asdict(), checkpoint.days
        files.tell(checkpoint_line(now(), persona, checkpoint.place, total, range, days, summary, more))
        write_result(self._folder / RESULT, self._outcome(parts.checkpoints[: checkpoint.place]).result)

    def _reached(self, checkpoints: Sequence[Checkpoint]) -> tuple[Reached, ...]:
        """Return the checkpoints with what came of their questions, in the order in which they are asked."""
        return tuple(
            Reached(one, tuple(self._done[one.range.label, question.id] for question in one.asked))
            for one in checkpoints
        )

    def _outcome(self, checkpoints: Sequence[Checkpoint]) -> BenchOutcome:
        reached = self._reached(checkpoints)
        stamps = [one.timestamp for _, every in reached for one in every]
        planned = {(one.range.label, question.id) for one in self._parts.checkpoints for question in one.asked}
        unasked = len(planned - self._done.keys())
        plain = result(
            self._parts.configuration,
            reached,
            timestamp=max(stamps, default=""),
            pairs=len(self._parts.questions),
            ingest_ms=self._ingest_ms,
            duration_ms=duration(starts(self._folder), stamps),
            unasked=unasked,
            stopped=self._stopped,
        )
        beside = len(planned) - unasked - sum(len(every) for _, every in reached)
        return BenchOutcome(plain, reached, unasked, beside, self._stopped)


@contextmanager
def _lanes(count: int) -> Iterator[list[CallThread]]:
    lanes = [CallThread() for _ in range(count)]
    try:
        yield lanes
    finally:
        for lane in lanes:
            lane.close()


def _lean(one: Evaluation) -> Evaluation:
    """Return the evaluation without what only the journal keeps."""
    return replace(one, retrieval=(), tool_calls=())
