"""Ask: one question of a checkpoint, put to the memory, answered and judged, as one evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from pytest_recall.cases.memory_part import MAX_LIMIT, QueryContext
from pytest_recall.files.coerce import well_formed
from pytest_recall.files.errors import CaseError, RecallError, one_line
from pytest_recall.horizon.answering import MAX_TOKENS, SYSTEM, joined, material
from pytest_recall.horizon.calls import Counted, QuestionCalls, counting
from pytest_recall.horizon.evaluation import Evaluation, Failure
from pytest_recall.horizon.judge import JudgedPoints, RunJudge
from pytest_recall.horizon.memory import LateError, MemoryReply, Subject
from pytest_recall.horizon.persona import Calendar
from pytest_recall.horizon.question import BenchQuestion, Checkpoint
from pytest_recall.models.model import Ask, Message, Model
from pytest_recall.trials.trial import Passage

SNIPPET = 300
"""Characters of a passage that are written down."""
SHOWN = 50
"""Passages that are written down."""
AnsweredBy = Literal["memory", "model", "passages"]


def now() -> str:
    """Return the time as lines have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, kw_only=True)
class Asker:
    """Asks the questions of one run. `k` passages are asked for; all of them of a memory that shows the `whole`.

    `about` hands out the sheet on which the calls about a question are put, by its name.
    """

    persona: str
    calendar: Calendar
    subject: Subject
    judge: RunJudge
    answerer: Counted | None
    k: int
    whole: bool
    clock: Callable[[], str] = now
    about: Callable[[str], AbstractContextManager[QuestionCalls]] = lambda name: counting()

    def evaluate(self, question: BenchQuestion, checkpoint: Checkpoint) -> Evaluation:
        """Return what comes of the question. What breaks is a failure of it.

        Raises StuckError, and SpentError for one that cannot be paid for.
        """
        context = QueryContext(
            session=question.asked_in,
            date=self.calendar.date_of(checkpoint.days).isoformat(),
            checkpoint=checkpoint.range.label,
        )
        facts: dict[str, Any] = {
            "persona": self.persona,
            "question": question,
            "checkpoint": checkpoint.range.label,
            "day": checkpoint.days,
        }
        with self.about(name_of(question, checkpoint)) as sheet:

            def lost(failure: Failure, error: Exception, answer: str = "") -> Evaluation:
                told = one_line(str(error), 300)
                return Evaluation(
                    **facts, timestamp=self.clock(), answer=answer, failure=failure, error=told, usd=sheet.total
                )

            try:
                found = self.subject.ask(question.question, MAX_LIMIT if self.whole else self.k, context)
            except LateError as error:
                return lost("timeout", error)
            except CaseError as error:
                return lost("memory", error)
            facts |= {"seconds": round(found.seconds, 6), "retrieval": _retrieval(found.passages)}
            try:
                answer, answered_by = self._answer(question, found, context)
            except RecallError as error:
                return lost("answer", error)
            facts["answered_by"] = answered_by
            try:
                judged: JudgedPoints = self.judge.judge(question, answer, checkpoint.days)
            except (RecallError, ValueError) as error:
                return lost("judge", error, answer)
            sheet.whole = True
            return Evaluation(
                **facts,
                timestamp=self.clock(),
                answer=answer,
                points=judged.points,
                primary=judged.primary,
                appealed=judged.primary is not None,
                context=judged.context,
                usd=sheet.total,
            )

    def _answer(self, question: BenchQuestion, found: MemoryReply, context: QueryContext) -> tuple[str, AnsweredBy]:
        """Return the memory's own answer, or a model's from what it found, or that; and whose it is."""
        if found.text is not None:
            return found.text, "memory"
        if self.answerer is None:
            return joined(found.passages), "passages"
        return reply_of(self.answerer, asked_with(question.question, found.passages, context)), "model"


def name_of(question: BenchQuestion, checkpoint: Checkpoint) -> str:
    """Return what a question at a checkpoint is called."""
    return f"{checkpoint.range.label}/{question.id}"


def asked_with(question: str, passages: Sequence[Passage], context: QueryContext) -> Ask:
    """Return what a model is asked that answers from what a memory found."""
    return Ask(
        messages=(Message("user", material(question, passages, context)),),
        system=SYSTEM,
        max_tokens=MAX_TOKENS,
        temperature=0.0,
    )


def reply_of(model: Model, ask: Ask) -> str:
    """Return a model's answer. Raises RecallError where there is none."""
    reply = model.ask(ask)
    if reply.stop == "refused" and not reply.text.strip():
        raise RecallError(f"{model.name}: refused to answer; that is its provider's word, and no answer")
    return well_formed(reply.text)


def _retrieval(passages: tuple[Passage, ...]) -> tuple[dict[str, Any], ...]:
    """Return what was found as lines have it; of many long texts the first ones, and their beginnings."""
    return tuple({"path": one.source, "score": one.score, "snippet": one.text[:SNIPPET]} for one in passages[:SHOWN])
