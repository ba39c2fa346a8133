"""Tell a memory the days of a persona, and ask it questions at each checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from pytest_recall.cases.memory_part import Unit
from pytest_recall.datasets.membench import EarlierAnswers
from pytest_recall.datasets.model_usage import ModelUsage, together
from pytest_recall.datasets.model_usage_text import lines_of
from pytest_recall.files.errors import CaseError, RecallError
from pytest_recall.files.wording import plural, same_command
from pytest_recall.horizon.ask import Asker, name_of, now, planned
from pytest_recall.horizon.evaluation import HANDED_OUT, CheckpointTrial, summarize
from pytest_recall.horizon.judge import PanelJudge
from pytest_recall.horizon.memory import StuckError, Subject
from pytest_recall.horizon.parts import Parts, day_units
from pytest_recall.horizon.persona import day_file
from pytest_recall.horizon.published import checkpoint_line, summary_line
from pytest_recall.horizon.question import BenchQuestion, Checkpoint
from pytest_recall.horizon.result import Reached, differences, duration, query_ms, result, usage_json
from pytest_recall.horizon.retrieval import AskedAfter, RetrievalReport, retrieval
from pytest_recall.horizon.run_file import (
    FAILURES,
    FILES,
    PERSONA,
    QUESTIONS,
    RESULT,
    RunFiles,
    ToldDays,
    held,
    write_result,
)
from pytest_recall.memory.client import own_time
from pytest_recall.memory.filled import FILLED
from pytest_recall.memory.session import Memory
from pytest_recall.metrics.answers import estimated_tokens
from pytest_recall.metrics.floors import SizedUnit
from pytest_recall.models.inputs import InputsNote
from pytest_recall.results.stop_text import open_text
from pytest_recall.schedule.boxes import PROFILE
from pytest_recall.trials.concurrency import Loop
from pytest_recall.trials.drive import Driver
from pytest_recall.trials.earlier_run import RunDifference, earlier_run
from pytest_recall.trials.execution import Result, with_result
from pytest_recall.trials.journal import NAME, is_begun, set_aside
from pytest_recall.trials.question_run import QuestionRun, questions_header
from pytest_recall.trials.record import Header, QuestionRecord, Record, Told
from pytest_recall.trials.run_end import RunFinding, exit_code
from pytest_recall.trials.run_stop import RunStop, SpentError
from pytest_recall.trials.trial import Trial

Answered = dict[tuple[str, str], CheckpointTrial]
"""The newest trial of a question at a checkpoint, by the label and the question's id."""
ABOUT_ANSWERS = ("heatmap.svg",)
"""What may stand beside the files of a run, and is about its answers."""
READ_BACK = 20
"""Units that are asked back by their own words once all questions are answered."""


class BenchOutcome(NamedTuple):
    """What a run came to."""

    result: dict[str, Any]
    """As it is written."""
    reached: tuple[Reached, ...]
    """The checkpoints behind the result."""
    unasked: int = 0
    """How many questions were not asked, of a run that could not be paid for to its end."""
    beside: int = 0
    """How many answers such a run has at a checkpoint whose other questions were not asked."""
    stop: RunStop | None = None
    """Why such a run has ended."""
    persona: str = ""
    units: tuple[tuple[SizedUnit, ...], ...] = ()
    """What was told before each of the checkpoints, since the one before."""
    model_lines: tuple[str, ...] = ()
    """What the models of the memory itself took."""
    kept: str = ""
    """Which answers an earlier command has asked for."""
    findings: tuple[RunFinding, ...] = ()
    """What keeps the exit code from 0."""

    @property
    def retrieval(self) -> RetrievalReport | None:
        """What the memory found at these checkpoints; None if it returns no passages."""
        return retrieval(
            AskedAfter(self.persona, one.checkpoint.range.label, one.checkpoint.days, one.evaluations, units)
            for one, units in zip(self.reached, self.units, strict=True)
        )

    @property
    def lost(self) -> int:
        """How many questions have no points."""
        return sum(one.points is None for reached in self.reached for one in reached.evaluations)


class BenchRun:
    """A run in a folder, begun or resumed. `allowed` says that a memory may be reset that is not empty.

    With `keeps` the memory is not emptied where it holds what this run has told it, and is told the days after that;
    with `fresh` all is asked again, and what was asked before is set aside. A run that the command `resumes` by
    name keeps its answers also where it came to its end, and it cannot be known whether the memory has changed.
    Its journal is `trials.jsonl`; the published files beside it are written from that. Raises RecallError for two
    questions with one id.
    """

    def __init__(
        self,
        parts: Parts,
        folder: Path,
        *,
        allowed: bool,
        preflight: bool,
        tell: Callable[[str], None],
        keeps: bool = False,
        fresh: bool = False,
        resumes: bool = False,
    ):
        self._parts = parts
        self._folder = folder
        self._allowed = allowed
        self._preflight = preflight
        self._keeps = keeps
        self._fresh = fresh
        self._resumes = resumes
        self._notes = parts.notes(folder, resumes=resumes)
        self._held = 0
        self._holds = ToldDays(folder / FILLED)
        self._tell = tell
        self._planned = planned(parts.configuration.persona, parts.checkpoints, str(parts.corpus.path))
        self._done: Answered = {}
        self._ingest_ms: dict[str, float | None] = {}
        self._ingest_models: dict[str, ModelUsage] = {}
        self._new_days: dict[str, int] = {}
        self._units: dict[int, list[SizedUnit]] = {}
        self._starts: list[str] = []
        self._stop: RunStop | None = None

    @property
    def measures(self) -> bool:
        """Whether an answer has points."""
        return any(one.points is not None for one in self._done.values())

    def run(self) -> BenchOutcome:
        """Ask what has not been answered yet, as far as it can be paid for, and return what all of it came to.

        Raises RecallError where the folder holds another run, or something breaks; what was asked is kept.
        """
        header = self._header(now())
        with held(self._folder), QuestionRun(self._folder, header, self._tell, self._parts.calls.redact) as run:
            return self._run(run, header)

    def _run(self, run: QuestionRun, header: Header) -> BenchOutcome:
        parts = self._parts
        record = self._earlier(run)
        before = [] if record is None else self._trials_of(record)
        self._done = {(one.checkpoint or "", one.question.id): _lean(one) for one in before}
        for told in () if record is None else record.told:
            self._ingest_ms[told.label] = round(1000 * told.seconds, 3)
            self._new_days[told.label] = told.units
            self._ingest_models[told.label] = ModelUsage(told.calls, told.input_tokens, told.output_tokens, told.usd)
        self._starts = [header.started] if record is None else [record.header.started, *record.resumed, header.started]
        open_ = {one.place: self._open(one) for one in parts.checkpoints}
        left = sum(map(len, open_.values()))
        total = sum(len(one.asked) for one in parts.checkpoints)
        if left < total:
            verb = "is" if total == 1 else "are"
            self._tell(f"{self._folder}: {total - left:,} of {plural(total, 'question')} {verb} answered")
        listens = parts.models or parts.calls.memory.here
        if listens:
            parts.calls.record_in(f"_bench-{parts.configuration.recordings}")
        with parts.calls.listening() if listens else nullcontext():
            done = (
                name_of(question, one)
                for one in parts.checkpoints
                for question in one.asked
                if question not in open_[one.place]
            )
            run.tell_unrecorded(parts.calls, done, "answers")
            if left:
                self._try_judges(run)
            if left or record is None or not record.is_whole:
                outcome = self._asked(run, record, before, open_, left)
            else:
                self._starts.pop()  # Nothing is asked, so that it is not resumed.
                outcome = self._outcome(parts.checkpoints)
                outcome = outcome._replace(findings=tuple(self._findings(outcome)))
        write_result(self._folder / RESULT, outcome.result)
        units = tuple(tuple(self._new_units(one.checkpoint)) for one in outcome.reached)
        kept = EarlierAnswers() if record is None else EarlierAnswers(total - left, (record.header.date,))
        return outcome._replace(persona=parts.configuration.persona, units=units, kept=kept.of(total))

    def _earlier(self, run: QuestionRun) -> Record | None:
        """Return the run in the folder that this one resumes; None if there is none. Raises RecallError for another."""
        folder, parts = self._folder, self._parts
        found: list[RunDifference] = []

        def changes(header: Header) -> Iterable[RunDifference]:
            if header.source_kind != PERSONA:
                raise RecallError(f"{folder}: holds a run of another kind; name another --out")
            found.extend(differences(header.settings, parts.configuration.settings))
            return found

        def moved(beside: tuple[str, ...]) -> Path:
            if all(one.asks_again for one in found):
                self._keeps = False  # What the memory holds is by the code of before.
            return set_aside(folder, (*FILES, FAILURES, *ABOUT_ANSWERS, *beside))

        if not is_begun(folder) and (folder / QUESTIONS).is_file():
            raise RecallError(f"{folder}: has {QUESTIONS}, and no {NAME} to resume; name another --out")
        memory, resumes = parts.configuration.memory, self._resumes
        return earlier_run(
            run, memory, changes, parts.client, self._notes, fresh=self._fresh, set_aside=moved, resumes=resumes
        )

    def _asked(
        self,
        run: QuestionRun,
        record: Record | None,
        before: Sequence[CheckpointTrial],
        open_: dict[int, list[BenchQuestion]],
        left: int,
    ) -> BenchOutcome:
        """Ask what is open, write down what it comes to, and return that."""
        parts, said = self._parts, self._whole()
        lines = [parts.configuration.header(self._starts[0]), *map(self._line, said)]
        lines += [{"type": "resume", "timestamp": start} for start in self._starts[1:]]
        with RunFiles(run.begin(), lines, before) as files:
            files.journal.asked(self._questions(), () if record is None else record.asked)
            if left and self._stop is None:
                self._work(run, files, open_, left, resumes=bool(before))
            whole = self._whole()
            for checkpoint in whole:
                # A run that was killed just after the last answer of a checkpoint has not said so.
                if checkpoint not in said and checkpoint.range.label not in files.said:
                    self._reach(files, checkpoint)
            outcome = self._outcome(whole)
            outcome = outcome._replace(findings=tuple(self._findings(outcome)))
            if not outcome.unasked:
                files.tell(summary_line(outcome.result["timestamp"], outcome.result["metadata"]))
            run.end(exit_code(one.kind for one in outcome.findings), outcome.stop)
        return outcome

    def _findings(self, outcome: BenchOutcome) -> Iterator[RunFinding]:
        """Yield what keeps the exit code from 0."""
        calls, stop, lost = self._parts.calls, outcome.stop, outcome.lost
        replays = calls.mode == "replay"
        for problem in calls.problems:
            yield RunFinding("lost", problem)
        if lost:
            told = f"{plural(lost, 'question')} {'has' if lost == 1 else 'have'} no points"
            asks, records = same_command("ask", lost, again=True), same_command("record", lost, options="with --record")
            yield RunFinding("lost", f"{told}; {records if replays else asks}")
        if outcome.beside:
            told = f"{plural(outcome.beside, 'answer')} of the next checkpoint, which is not whole"
            yield RunFinding("left", f"{told}, will count with its others")
        if outcome.unasked:
            yield RunFinding("left", f"{self._folder}: {open_text(outcome.unasked, 'question', stop)}")
        if not self.measures and not replays and (lost or (stop is not None and stop.cause == "undecided")):
            yield RunFinding("nothing", "nothing was measured: no question that was asked has points")

    def _questions(self) -> Iterator[QuestionRecord]:
        """Yield the questions of all checkpoints as they are asked, for whoever reads the journal alone."""
        for case_id, (question, _) in self._planned.items():
            days = tuple(Path(day_file(day)).stem for day in question.relevant_days)
            yield QuestionRecord(case_id, question.question, question.category, question.answer, days)

    def _header(self, started: str) -> Header:
        """Return the header of the journal of a run that begins now."""
        configuration = self._parts.configuration
        return questions_header(
            self._folder,
            started,
            self._planned,
            PROFILE,
            source_kind=PERSONA,
            seed=str(configuration.run.seed),
            settings=configuration.settings,
            budget=None if (balance := self._parts.calls.balance) is None else balance.budget,
        )

    def _trials_of(self, record: Record) -> list[CheckpointTrial]:
        """Return the trials of the journal with their questions. Raises RecallError for one that is not planned."""
        found = []
        for trial in record.trials:
            if trial.case_id not in self._planned:
                raise RecallError(
                    f"{self._folder}: {trial.case_id!r} is not a question of this run; name another --out"
                )
            found.append(CheckpointTrial(self._planned[trial.case_id][0], trial))
        return found

    def _try_judges(self, run: QuestionRun) -> None:
        """Try the judge with known answers. Raises RecallError for one that must not judge."""
        parts = self._parts
        judge = parts.judge

        def ready() -> None:
            assert isinstance(judge, PanelJudge)
            with parts.calls.about("", kept=False):
                judge.ready()

        if self._preflight and parts.calls.mode != "replay" and isinstance(judge, PanelJudge):
            self._stop = run.try_judges(ready, parts.calls.memory)

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

    def _work(
        self, run: QuestionRun, files: RunFiles, open_: dict[int, list[BenchQuestion]], left: int, *, resumes: bool
    ) -> None:
        parts = self._parts
        last = max(place for place, questions in open_.items() if questions)
        note = InputsNote(self._folder, lambda: parts.client.inputs(parts.calls.memory.places), resumes=resumes)

        def keep(trial: Trial) -> None:
            question, checkpoint = self._planned[trial.case_id]
            one = CheckpointTrial(question, trial)
            files.add(one)
            self._done[checkpoint.range.label, question.id] = _lean(one)

        try:
            with (
                Driver(
                    run,
                    parts.calls,
                    total=sum(len(one.asked) for one in parts.checkpoints),
                    left=left,
                    notes=[note, self._notes],
                    threads=parts.settings.run.parallelism,
                    stops=parts.calls.mode != "replay",
                ) as driver,
                self._opened() as subject,
            ):
                asker = Asker(
                    persona=parts.configuration.persona,
                    calendar=parts.corpus.calendar,
                    subject=subject,
                    judge=parts.judge,
                    answerer=parts.answerer,
                    k=parts.settings.run.k,
                    whole=parts.client.whole,
                    about=parts.calls.about,
                    hearing=parts.calls.memory.asked,
                )
                told = 0
                for checkpoint in parts.checkpoints[:last]:
                    # A run that is resumed tells all days again, with the same stops: a memory that works on what it
                    # was told at each of them is as it would have been.
                    try:
                        self._ingest(files, subject, told, checkpoint, new=bool(open_[checkpoint.place]))
                    except SpentError as error:
                        self._stop = error.stop
                        break
                    told = checkpoint.days
                    if not open_[checkpoint.place]:
                        continue
                    driver.ask((partial(asker.ask, one, checkpoint) for one in open_[checkpoint.place]), keep)
                    if driver.stop is not None:
                        self._stop = driver.stop
                        break
                    self._reach(files, checkpoint)
                # After all questions, so that no answer is changed by it.
                days = [day for day in parts.days if day <= told and self._stop is None]
                units = [unit for day in days for unit in day_units(parts.corpus, day, parts.settings.run)]
                try:
                    trouble = subject.read_back(units).trouble if units else ""
                    said = f"has lost or changed texts: {trouble}" if trouble else ""
                except CaseError as error:
                    said = f"could not be asked for its contents: {error}"
                if said:
                    self._tell(f"{parts.client.name} {said}")
        except (StuckError, CaseError) as error:
            raise RecallError(f"{self._folder}: stopped: {error}; {same_command(first='correct that')}") from None

    @contextmanager
    def _opened(self) -> Iterator[Subject]:
        """Hand out the memory, ready and empty; what is not private is empty again afterwards."""
        parts = self._parts
        run = parts.settings.run
        with ExitStack() as stack:
            loop = stack.enter_context(closing(Loop()))
            memory = Memory(
                parts.client,
                wait=loop.wait,
                probed=0 if parts.client.baseline else READ_BACK,
                in_all=READ_BACK,
                calls=parts.calls.memory,
            )
            subject = Subject(
                memory,
                answers_only=parts.client.answers_only,
                lanes=run.parallelism if parts.client.concurrent else 1,
                seconds=run.timeout / 1000,
            )
            stack.callback(subject.close)
            subject.begin(self._allowed or self._holds.is_there)
            if self._keeps and (self._done or self._holds.is_there):
                self._held = self._kept_days(subject)
            else:
                if not memory.private:
                    self._holds.begin()
                subject.reset()
            yield subject
            if not memory.private:
                subject.reset()
                self._holds.end()

    def _kept_days(self, subject: Subject) -> int:
        """Return the last day that the memory holds already. Raises RecallError if that is not known."""
        last = self._holds.last if self._holds.is_there else None
        why = "stopped within a day" if self._holds.is_there else "has emptied the memory"
        count = subject.count()
        if last is not None:
            told = [day for day in self._parts.days if day <= last]
            units = sum(len(day_units(self._parts.corpus, day, self._parts.settings.run)) for day in told)
            if count in (None, units):
                return last
            why = f"has told it {units:,} units, and it says that it holds {count:,}"
        raise RecallError(
            f"{self._folder}: --skip-catchup-ingest: the run {why}; remove the option, and all days are told again"
        )

    def _ingest(self, files: RunFiles, subject: Subject, told: int, checkpoint: Checkpoint, *, new: bool) -> None:
        """Tell the days after `told`, up to the checkpoint's; what that took is noted where it is `new`, or unknown.

        Days that the memory holds from before are not told, and what these took is not known here.
        """
        parts = self._parts
        days = [day for day in parts.days if told < day <= checkpoint.days]
        untold = [day for day in days if day > self._held]
        if days and not untold and not new:
            return
        with parts.calls.memory.told() as calls, own_time() as took:
            for day in untold:
                units = day_units(parts.corpus, day, parts.settings.run)
                with self._holds.telling(str(day)):
                    subject.tell(units)
                self._units[day] = _sized(units)
            subject.finalize()
        seconds = round(took.seconds, 6)
        label = checkpoint.range.label
        usage = {} if calls is None else parts.calls.memory.usage_of(calls, "memory_store")
        if len(untold) < len(days):
            self._ingest_ms.setdefault(label, None)
            self._new_days.setdefault(label, len(days))
        elif new or label not in self._ingest_ms:
            used = self._ingest_models[label] = ModelUsage.of(usage, "memory_store")
            files.journal.told(Told(label, len(days), seconds, now(), *used))
            self._ingest_ms[label] = round(1000 * seconds, 3)
            self._new_days[label] = len(days)

    def _reach(self, files: RunFiles, checkpoint: Checkpoint) -> None:
        """Write down what a checkpoint came to."""
        files.tell(self._line(checkpoint))
        files.said.add(checkpoint.range.label)
        write_result(self._folder / RESULT, self._outcome(self._parts.checkpoints[: checkpoint.place]).result)

    def _line(self, checkpoint: Checkpoint) -> dict[str, Any]:
        """Return the line of `progress.jsonl` on a checkpoint all of whose questions were asked."""
        parts = self._parts
        (reached,) = self._reached([checkpoint])
        summary = summarize(reached.evaluations, checkpoint.eligible, measured=parts.configuration.measured)
        label = checkpoint.range.label
        more = {
            "appealed": summary.appealed,
            "ingestMs": self._ingest_ms.get(label),
            "queryMs": query_ms(reached.evaluations),
            "newDaysIngested": self._new_days.get(label),
            "newUnits": self._new_units(checkpoint),
            "newQuestionCount": checkpoint.fresh,
            "historicalEvaluated": checkpoint.sampled,
            "historicalAvailable": checkpoint.available,
        }
        persona, total = parts.configuration.persona, len(parts.checkpoints)
        ended = max((one.timestamp for one in reached.evaluations), default=self._starts[-1])
        range = checkpoint.range._asdict()
        return checkpoint_line(ended, persona, checkpoint.place, total, range, checkpoint.days, summary, more)

    def _new_units(self, checkpoint: Checkpoint) -> list[SizedUnit]:
        """Return what is told between the checkpoint before and this one, in that order."""
        parts = self._parts
        before = max((one.days for one in parts.checkpoints if one.place < checkpoint.place), default=0)
        return [
            unit
            for day in parts.days
            if before < day <= checkpoint.days
            for unit in self._units.get(day) or _sized(day_units(parts.corpus, day, parts.settings.run))
        ]

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
        left = len(planned - self._done.keys())
        stop = self._stop if left else None
        plain = result(
            self._parts.configuration,
            reached,
            timestamp=max(stamps, default=""),
            pairs=len(self._parts.questions),
            ingest_ms=self._ingest_ms,
            duration_ms=duration(self._starts, stamps),
            unasked=left,
            stop=stop,
        )
        lines: tuple[str, ...] = ()
        if self._parts.calls.memory.here and reached:
            told, asked = together(self._ingest_models.values()), self._question_models(reached)
            lines = tuple(lines_of(self._parts.client.calls_models, told, asked))
            if told.calls or asked.calls:
                plain["metadata"]["memoryModels"] = {
                    "ingest": usage_json(told),
                    "question": usage_json(asked),
                }
        beside = len(planned) - left - sum(len(every) for _, every in reached)
        return BenchOutcome(plain, reached, left, beside, stop, model_lines=lines)

    def _question_models(self, reached: Iterable[Reached]) -> ModelUsage:
        """Return what the models of the memory itself took for a question on average."""
        usage_of = self._parts.calls.memory.usage_of
        every = [
            ModelUsage.of(usage_of([call for call in one.trial.calls if call.kind == "agent"], "memory"), "memory")
            for _, evaluations in reached
            for one in evaluations
        ]
        return together(every).per(len(every))


def _sized(units: Iterable[Unit]) -> list[SizedUnit]:
    return [SizedUnit(unit.id, estimated_tokens([unit.content])) for unit in units]


def _lean(one: CheckpointTrial) -> CheckpointTrial:
    """Return the trial without what only the journal keeps."""
    answer = one.trial.answer
    steps = tuple(step for step in one.trial.steps if step.kind == HANDED_OUT)
    lean = Result.of(one.trial)._replace(steps=steps, answer=answer and replace(answer, passages=()))
    return replace(one, trial=with_result(one.trial, lean))
