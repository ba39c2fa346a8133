"""Ask one question of a checkpoint: put it to the memory, answer it if a model does that, and judge the answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from pytest_recall.cases.case import NAME_PATTERN, Case, JudgeCall
from pytest_recall.cases.memory_part import MAX_LIMIT, QueryContext
from pytest_recall.datasets.membench_run import shortened
from pytest_recall.datasets.reading import reading_of, reply_of
from pytest_recall.files import clock
from pytest_recall.files.errors import CaseError, RecallError
from pytest_recall.files.wording import one_line
from pytest_recall.horizon.answering import SYSTEM, joined, material
from pytest_recall.horizon.disclosure import dimension_of
from pytest_recall.horizon.evaluation import JUDGE, AnsweredBy, HandedOut, handing, measures_of_points
from pytest_recall.horizon.judge import JudgedPoints, RunJudge
from pytest_recall.horizon.memory import MemoryReply, Subject
from pytest_recall.horizon.persona import Calendar
from pytest_recall.horizon.question import BenchQuestion, Checkpoint
from pytest_recall.metrics.answers import estimated_tokens
from pytest_recall.models.model import Ask
from pytest_recall.schedule.boxes import PROFILE
from pytest_recall.trials.execution import CallSummary, Result, RunFacts, TrialCase, ending_of, make_trial
from pytest_recall.trials.model_calls import Counted, QuestionCalls, counting, source_of
from pytest_recall.trials.trial import Answer, AtCheckpoint, Outcome, Passage, Trial

_UNFIT = re.compile(r"[^\w.\-/+@=]")
"""What the id of a case has not."""


def now() -> str:
    """Return the time as lines have it."""
    return clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, kw_only=True)
class Asker:
    """Asks the questions of one run."""

    persona: str
    calendar: Calendar
    subject: Subject
    judge: RunJudge
    answerer: Counted | None
    k: int
    """How many passages are asked for."""
    whole: bool
    """Whether the memory shows all of its passages, so that all of them are asked for."""
    clock: Callable[[], str] = now
    about: Callable[[str], AbstractContextManager[QuestionCalls]] = lambda name: counting()
    """Returns the sheet on which the calls about a question are put, by its name."""
    hearing: Callable[[], AbstractContextManager[object]] = nullcontext
    """Listens to the calls that the memory makes itself."""

    def ask(self, question: BenchQuestion, checkpoint: Checkpoint) -> Trial:
        """Return the trial of the question. What breaks is an error of it.

        Raises StuckError, and SpentError for one that cannot be paid for.
        """
        context = QueryContext(
            session=question.asked_in,
            date=self.calendar.date_of(checkpoint.days).isoformat(),
            checkpoint=checkpoint.range.label,
        )
        case = case_of(self.persona, question, checkpoint)
        with self.about(name_of(question, checkpoint)) as sheet:
            result = self._asked(question, checkpoint, context)
            sheet.whole = result.outcome.is_verdict
            result = result._replace(
                checkpoint=AtCheckpoint(checkpoint.range.label, checkpoint.days), ended=self.clock()
            )
            return make_trial(
                TrialCase.of(case)._replace(scenario=self.persona, dimension=dimension_of(question)),
                result,
                CallSummary(source_of(sheet.calls), tuple(sheet.calls)),
                RunFacts(reason=PROFILE),
            )

    def _asked(self, question: BenchQuestion, checkpoint: Checkpoint, context: QueryContext) -> Result:
        try:
            with self.hearing():
                found = self.subject.ask(question.question, MAX_LIMIT if self.whole else self.k, context)
        except CaseError as error:
            return Result.no_verdict(error)
        seconds = round(found.seconds, 6)
        steps = handing(_handed_out(found))
        try:
            text, by = self._answer(question, found, context)
        except RecallError as error:
            return _lost("answer", error, Answer(text="", passages=found.passages), seconds)._replace(steps=steps)
        answer = Answer(text=text, passages=found.passages, by=by)
        try:
            ids = [one.source for one in found.passages] if by == "passages" else None
            judged: JudgedPoints = self.judge.judge(question, text, checkpoint.days, ids)
        except (RecallError, ValueError) as error:
            return _lost("judge", error, answer, seconds)._replace(steps=steps)
        points, verdict = judged
        return Result(
            Outcome.PASSED if verdict.passed else Outcome.FAILED,
            shortened(answer),
            (verdict,),
            seconds=seconds,
            measures=measures_of_points(points),
            steps=steps,
        )

    def _answer(self, question: BenchQuestion, found: MemoryReply, context: QueryContext) -> tuple[str, AnsweredBy]:
        """Return the memory's own answer, or a model's from what it found, or that; and whose it is."""
        if found.text is not None:
            return found.text, "memory"
        if self.answerer is None:
            return joined(found.passages), "passages"
        return reply_of(self.answerer, asked_with(question.question, found.passages, context)), "model"


def _handed_out(found: MemoryReply) -> HandedOut | None:
    """Return what the memory returned, before any of it is cut; None if it answered without saying from what."""
    if found.text is not None and not found.passages:
        return None
    texts = [one.text for one in found.passages]
    return HandedOut(tuple(one.source for one in found.passages), estimated_tokens(texts))


def _lost(stage: str, error: Exception, answer: Answer, seconds: float) -> Result:
    return Result(
        Outcome.ERROR, shortened(answer), error=told(error), stage=stage, seconds=seconds, **ending_of(error)._asdict()
    )


def name_of(question: BenchQuestion, checkpoint: Checkpoint) -> str:
    """Return what a question at a checkpoint is called."""
    return f"{checkpoint.range.label}/{question.id}"


def asked_with(question: str, passages: Sequence[Passage], context: QueryContext) -> Ask:
    """Return what a model is asked that answers from what a memory found."""
    return reading_of(SYSTEM, material(question, passages, context))


def case_id(persona: str, question: BenchQuestion, checkpoint: Checkpoint) -> str:
    """Return the id of the case that asks the question at the checkpoint, like `18d/q007`."""
    short = _UNFIT.sub("-", question.id.removeprefix(f"{persona}-"))
    return f"{_UNFIT.sub('-', checkpoint.range.label)}/{short}"


def planned(persona: str, checkpoints: Iterable[Checkpoint], name: str) -> dict[str, tuple[BenchQuestion, Checkpoint]]:
    """Return what is asked at which checkpoint, by the ids of the cases, in the order in which it is asked.

    Raises RecallError, which begins with `name`, for two questions with one id.
    """
    found: dict[str, tuple[BenchQuestion, Checkpoint]] = {}
    for checkpoint in checkpoints:
        for question in checkpoint.asked:
            id = case_id(persona, question, checkpoint)
            if id in found:
                raise RecallError(f"{name}: {id!r} is asked twice; give the questions ids that differ by letters")
            found[id] = (question, checkpoint)
    return found


def case_of(persona: str, question: BenchQuestion, checkpoint: Checkpoint) -> Case:
    """Return the case that asks the question at the checkpoint."""
    return Case(
        id=case_id(persona, question, checkpoint),
        scenario=persona if re.fullmatch(NAME_PATTERN, persona) else "persona",
        dimension=question.category,
        input=question.question,
        expected=question.answer,
        judges=(JudgeCall(name=JUDGE),),
    )


def told(error: Exception) -> str:
    """Return an error as a line has it."""
    return one_line(str(error), 300)
