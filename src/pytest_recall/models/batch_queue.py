"""Hold calls until a batch is full, and submit and fetch batches in one thread."""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_recall.files import clock
from pytest_recall.files.errors import RecallError, sentence_of
from pytest_recall.files.wording import one_line
from pytest_recall.models.batch import KEPT_DAYS, LIMITS, BatchItem, BatchLine, Door, item_of, line_of, lines_in
from pytest_recall.models.batch_apis import BatchError, Batches, open_door
from pytest_recall.models.batch_file import BatchLog, BatchPlace
from pytest_recall.models.rate import Retry, wait
from pytest_recall.replay.call_recorder import HeldError, PendingBatchCall
from pytest_recall.replay.exchange import Request, Response
from pytest_recall.replay.tape import APART, DIRECT

if TYPE_CHECKING:
    from pytest_recall.replay.call_recorder import CallRecorder


class BatchPace(NamedTuple):
    """When batches are made and looked at. Times are seconds."""

    quiet: float = 5.0
    """A batch is made once no call has joined it for so long."""
    poll: float = 30.0
    """Between two looks at a batch that has not ended, at most: a batch is looked at again after a tenth of its age."""
    wait: float = 86_400.0
    """So long a call waits for its batch, as long as the providers take at most; then it fails."""


PACE = BatchPace()
_SOONEST = 1.0
"""Seconds until the first look at a batch."""

CALLED_OFF = "not waited for, since the run is over, or was for its case"


@dataclass(eq=False, slots=True)
class WaitingCall:
    """A call that waits."""

    item: BatchItem
    key: str
    case: object
    """Who asks, as does `tape`."""
    tape: object
    place: BatchPlace | None = None
    """Where its answer is going to be, once that is known."""
    adopted: bool = False
    """Whether an earlier run asked it."""
    future: Future[Response] = field(default_factory=Future)

    def answer(self, response: Response) -> None:
        """Hand over the answer, unless the caller has stopped waiting."""
        with suppress(InvalidStateError):
            self.future.set_result(response)

    def fail(self, message: str) -> None:
        """End the wait without an answer, if it has not ended."""
        with suppress(InvalidStateError):
            self.future.set_exception(HeldError(message, called_off=message is CALLED_OFF))


@dataclass(eq=False, slots=True)
class BatchJob:
    """A batch: first `open` to further calls, then made, then looked at until it has ended, each when it is `due`."""

    door: Door
    due: float
    begun: float
    id: str = ""
    calls: list[WaitingCall] = field(default_factory=list)
    requests: int = 0
    size: int = 0
    open: bool = True
    prepared: Any = None
    failures: int = 0

    @property
    def waits(self) -> list[WaitingCall]:
        """The calls that someone still waits for."""
        return [call for call in self.calls if not call.future.done()]


PATIENCE = 30.0
"""Seconds at the end of a run for the making of a batch, which must not be paid for and then forgotten."""
_MAKING = Retry(attempts=8, total=900.0, base=1.0, cap=60.0, longest=600.0)


class BatchSender:
    """Takes calls in, and answers them once their batches have ended.

    `tally` counts calls that were answered (`batched`, of them `found` in a batch of an earlier
    run), the `batches` that were made, and what went directly, by its reason. `problems` are for
    the end of the run. `key_of` returns what two requests have in common that are equal;
    `hosts` have a batch API beside those that are known.
    """

    def __init__(
        self,
        hosts: Iterable[str],
        log: BatchLog,
        key_of: Callable[[Request], str],
        opened: Callable[[Door], Batches] = open_door,
        pace: BatchPace | None = None,
    ) -> None:
        self.tally: Counter[str] = Counter()
        self.problems: list[str] = []
        self._pace = PACE if pace is None else pace
        self._log = log
        self._key_of = key_of
        self._opened = opened
        self._hosts = frozenset(host.lower() for host in hosts)
        self._doors: dict[Door, Batches] = {}
        self._jobs: list[BatchJob] = []
        self._found: dict[str, dict[str, BatchLine]] = {}
        self._got: dict[int, list[WaitingCall]] = {}
        self._changed = threading.Condition()
        self._logging = threading.Lock()
        self._thread: threading.Thread | None = None
        self._over = False
        self._broken = ""
        self._process = os.getpid()

    # From those who ask

    def hold(
        self,
        request: Request,
        case: object,
        tape: object,
        recorder: CallRecorder,
        refuse: Callable[[str, bool], BaseException],
    ) -> PendingBatchCall | None:
        """Let a call of this case wait for a batch; None if it is to be made directly, which is counted."""
        why = DIRECT.get()
        if case is None:
            why = "outside of the cases that run at once"
        elif threading.current_thread() is threading.main_thread():
            why = "while fixtures were set up"  # Nothing else could go on meanwhile.
        item = why or item_of(request, self._hosts)
        if not isinstance(item, str) and not LIMITS[item.door.api].holds(item.weight, item.size):
            item = "larger than a batch"
        if os.getpid() != self._process:
            return None  # A forked process has a copy of all this, and no thread that answers.
        if isinstance(item, str):
            self.direct(item)
            return None
        call = WaitingCall(item, self._key_of(request), case, tape)
        recorder.batched = True
        if recorder.has_room:
            self._begin(call)
        return PendingBatchCall(
            request, call.future, recorder, refuse, partial(self._begin, call), partial(self._reached, call)
        )

    def direct(self, reason: str) -> None:
        """Count a call that is made directly."""
        with self._changed:
            self.tally[f"direct: {reason}"] += 1

    def _reached(self, call: WaitingCall) -> None:
        with self._changed:
            self.tally["batched"] += 1
            self.tally["found"] += call.adopted
            self._got.setdefault(id(call.tape), []).append(call)

    def settle(self, tape: object, *, again: bool) -> None:
        """The trial is over: what it got is used up, unless it was refused something and is asked `again` some day."""
        with self._changed:
            got = self._got.pop(id(tape), [])
        if again:
            self._free(got)
            return
        try:
            self._take([call.place for call in got if call.place is not None])
        except (OSError, RecallError) as error:
            self.problems.append(f"{self._log.path}: not written ({one_line(sentence_of(error))})")

    def call_off(self, case: object) -> None:
        """Stop all waits of this case; what was submitted goes on, for when it is asked once more."""
        with self._changed:
            calls = [call for job in self._jobs for call in job.calls if call.case is case]
            for call in calls:
                call.fail(CALLED_OFF)
            for tape in [tape for tape, got in self._got.items() if got[0].case is case]:
                calls += self._got.pop(tape)
        self._free(calls)

    def _free(self, calls: list[WaitingCall]) -> None:
        with self._logging:
            self._log.free([call.place for call in calls if call.place is not None])

    def waiting(self) -> tuple[int, int]:
        """Return how many calls wait, and in how many batches."""
        with self._changed:
            counts = [len(job.waits) for job in self._jobs]
        return sum(counts), sum(count > 0 for count in counts)

    def close(self) -> None:
        """Stop; a batch that is just being made is waited for, so that it is known to the next run."""
        with self._changed:
            self._over = True
            self._changed.notify()
            for job in self._jobs:
                for call in job.calls:
                    call.fail(CALLED_OFF)
        if self._thread is not None:
            self._thread.join(PATIENCE)
        with self._logging:
            self._log.close()

    def _take(self, places: list[BatchPlace]) -> None:
        with self._logging:
            self._log.take(places)

    def _begin(self, call: WaitingCall) -> None:
        with self._logging:
            call.place = self._log.claim(call.key, clock.now(), KEPT_DAYS)
        call.adopted = call.place is not None
        with self._changed:
            if self._over:
                call.fail(self._broken or CALLED_OFF)
                return
            self._join(call)
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="recall-batches", daemon=True)
                self._thread.start()
            self._changed.notify()

    # While the lock is held

    def _join(self, call: WaitingCall) -> None:
        """Put a call into the batch that it was in, or into the one that is open at its door."""
        now = clock.monotonic()
        if call.place is not None:
            job = next((job for job in self._jobs if job.id == call.place.batch), None)
            if job is None:
                job = BatchJob(call.item.door, now, now, call.place.batch, open=False)
                self._jobs.append(job)
            job.calls.append(call)
            return
        limit, more = LIMITS[call.item.door.api], call.item
        job = next((job for job in self._jobs if job.open and job.door == more.door), None)
        if job is not None and not limit.holds(job.requests + more.weight, job.size + more.size):
            job.due, job.open, job = now, False, None
        if job is None:
            job = BatchJob(more.door, now, now)
            self._jobs.append(job)
        job.calls.append(call)
        job.requests += more.weight
        job.size += more.size
        full = job.requests >= limit.requests or job.size >= limit.size
        job.due = now if full else now + self._pace.quiet

    # In the thread

    def _serve(self) -> None:
        APART.set(True)
        try:
            while (job := self._next()) is not None:
                self._step(job)
        finally:  # Whatever it was, no caller must wait for ever.
            with self._changed:
                if not self._over:
                    self._over, self._broken = True, "batches are not made any more; run without --recall-batch"
                for job in self._jobs:
                    for call in job.calls:
                        call.fail(self._broken or CALLED_OFF)
            for door in self._doors.values():
                door.close()

    def _next(self) -> BatchJob | None:
        """Wait for the batch that is due first; None at the end."""
        with self._changed:
            while not self._over:
                self._jobs = [job for job in self._jobs if job.waits]
                job = min(self._jobs, key=lambda job: job.due, default=None)
                now = clock.monotonic()
                if job is not None and job.due <= now:
                    if not job.id and not job.failures:
                        job.open, job.begun = False, now
                    return job
                self._changed.wait(None if job is None else min(job.due - now, threading.TIMEOUT_MAX))
            return None

    def _step(self, job: BatchJob) -> None:
        """Do the next thing about a batch, and say when there is another."""
        try:
            self._look(job) if job.id else self._make(job)
            job.failures = 0
        except BatchError as error:
            self._failed(job, error)
        except Exception as error:
            self._end(job, f"the batch failed ({one_line(repr(error))}); run without --recall-batch", kept=bool(job.id))

    def _door(self, door: Door) -> Batches:
        if door not in self._doors:
            self._doors[door] = self._opened(door)
        return self._doors[door]

    def _make(self, job: BatchJob) -> None:
        door = self._door(job.door)
        if job.prepared is None:
            with self._changed:
                job.calls = job.waits
            ids = [f"{call.key}-{number}" for number, call in enumerate(job.calls)]
            job.prepared = door.prepare(
                [line_of(job.door, name, call.item.body) for name, call in zip(ids, job.calls, strict=True)]
            )
        if not job.waits:
            return  # Called off meanwhile: nothing is bought that is not wanted.
        made = door.create(job.prepared)
        with self._changed:
            job.id, job.prepared, job.begun = made, None, clock.monotonic()
            job.due = job.begun + self._until_next_look(job)
            for number, call in enumerate(job.calls):
                call.place = BatchPlace(made, f"{call.key}-{number}")
            self.tally["batches"] += 1
        try:
            with self._logging:
                calls = [(call.key, call.place.custom_id) for call in job.calls if call.place is not None]
                self._log.submitted(made, job.door.api, job.door.base_url, calls)
            self._free([call for call in job.calls if call.future.done()])  # Called off while it was made.
        except (OSError, RecallError) as error:
            self.problems.append(f"{self._log.path}: {made} is not written down ({one_line(sentence_of(error))})")

    def _look(self, job: BatchJob) -> None:
        lines = self._found.get(job.id)
        if lines is None:
            door = self._door(job.door)
            look = door.look(job.id)
            if look.failed:
                self._end(job, f"the batch {job.id} failed: {look.failed}; correct that, or run without --recall-batch")
                return
            if not look.ended:
                self._later(job, self._until_next_look(job))
                return
            lines = {line.custom_id: line for line in lines_in(job.door.api, door.results(job.id))}
        with self._changed:
            calls, job.calls = job.calls, []
            if any(call.adopted for call in calls):
                self._found[job.id] = lines  # Other cases of the earlier run come for theirs when they are begun.
        nothing = BatchLine("", None, "nothing is said of it")
        void: list[tuple[WaitingCall, str]] = []
        for call in calls:
            line = nothing if call.place is None else lines.get(call.place.custom_id, nothing)
            if line.response is not None:
                call.answer(line.response)
            else:
                told = f"the batch {job.id} has ended without an answer to it: {one_line(line.problem)}"
                void.append((call, f"{told}; run the case again"))
        self._void(void)

    def _until_next_look(self, job: BatchJob) -> float:
        return min(self._pace.poll, max(_SOONEST, (clock.monotonic() - job.begun) / 10))

    def _failed(self, job: BatchJob, error: BatchError) -> None:
        """Try again later, if that may help and there is time."""
        job.failures += 1
        if job.id and error.temporary:
            self._later(job, max(self._until_next_look(job), error.after or 0.0))
        elif job.id:
            self._end(job, f"the batch {job.id} cannot be fetched: {error}; look at it there", kept=not error.gone)
        elif error.unsure:
            self._end(job, f"it is unknown whether a batch was made: {error}; look there before the next run")
        else:
            now = clock.monotonic()
            seconds = wait(_MAKING, job.failures, now - job.begun, error.after, random.random())
            if seconds is None or not error.temporary:
                self._end(job, f"no batch could be made: {error}; correct that, or run without --recall-batch")
            else:
                job.due = now + seconds

    def _later(self, job: BatchJob, seconds: float) -> None:
        """Look at a batch again, unless it was waited for long enough."""
        now = clock.monotonic()
        left = job.begun + self._pace.wait - now
        if left > 0:
            job.due = now + min(seconds, left)
            return
        message = (
            f"the batch {job.id} has not ended within {self._pace.wait:g} s;"
            " it continues, and the next --recall-batch run picks it up"
        )
        with self._changed:
            for call in job.calls:
                call.fail(message)

    def _end(self, job: BatchJob, message: str, *, kept: bool = False) -> None:
        """Give up a batch of which no call gets an answer; if it is `kept`, the next run may get one."""
        with self._changed:
            calls, job.calls = job.calls, []
        self._void([(call, message) for call in calls], kept=kept)

    def _void(self, calls: list[tuple[WaitingCall, str]], *, kept: bool = False) -> None:
        """Answer for calls without an answer: what an earlier run had asked in vain is asked again."""
        if not kept:
            with suppress(OSError, RecallError):  # The next run finds out by itself.
                self._take([call.place for call, _ in calls if call.place is not None])
        with self._changed:
            for call, message in calls:
                if call.adopted:
                    call.adopted, call.place = False, None
                    self._join(call)
                else:
                    call.fail(message)
