"""Let models judge published answers by several rules; what they reply is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import NamedTuple

from pytest_recall.cases.case import Case, JudgeCall
from pytest_recall.cases.settings import Settings
from pytest_recall.cases.settings_fields import Strictness
from pytest_recall.datasets.answer_scores import PROMPTS, rule
from pytest_recall.datasets.dataset import Question
from pytest_recall.datasets.questions import PAPER
from pytest_recall.files.errors import MissError, RecallError
from pytest_recall.files.pace import Pace
from pytest_recall.files.wording import one_line
from pytest_recall.judges import paper
from pytest_recall.judges.model_judges import ModelJudge
from pytest_recall.judges.panel import Panel
from pytest_recall.models.model import Model, ModelError
from pytest_recall.models.reply_cache import Keeper, Store
from pytest_recall.trials.concurrency import Pool
from pytest_recall.trials.trial import Answer

EVERY = 100
"""Judgements between two lines that say how far it is."""


class JudgementCounts(NamedTuple):
    """How many judgements were made, how many of these came to no verdict, and how many the budget has left open.

    `why` is the reason for that.
    """

    made: int = 0
    undecided: int = 0
    left: int = 0
    why: str = ""


class AnswersJudge:
    """The models of a panel, which are to make `total` judgements, until `closed` says why no call may begin.

    Up to `threads` judgements are made at once, each within `at_once`.
    """

    def __init__(
        self,
        panel: Panel,
        store: Store,
        tell: Callable[[str], None],
        total: int,
        closed: Callable[[], str] | None = None,
        *,
        threads: int = 1,
        at_once: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.counts = JudgementCounts()
        self._panel = panel
        self._store = store
        self._tell = tell
        self._total = total
        self._pace = Pace()
        self._closed = closed
        self._threads = threads
        self._at_once = at_once
        self._counting = Lock()

    def ready(self, rubric: Settings, strictness: Strictness) -> None:
        """Put the known answers to the models. Raises RecallError if one of them must not judge."""
        ModelJudge(PAPER, self._keeping(), rubric, strictness).ready()

    def scores(
        self, answers: Mapping[str, str], asked: Mapping[str, Question], dataset: str
    ) -> dict[str, dict[str, float | None]]:
        """Return the verdict on each answer, 1 or 0, by rule and question; None where there is none.

        Raises MissError for a call that must not begin, unless the budget says so, and OSError.
        """
        found: dict[str, dict[str, float | None]] = {prompt: {} for prompt in PROMPTS}
        judgements = {
            (prompt, id): partial(self._verdict, prompt, answers[id], question, dataset)
            for id, question in asked.items()
            if id in answers
            for prompt in PROMPTS
        }
        if self._threads == 1:
            for (prompt, id), judge in judgements.items():
                found[prompt][id] = judge()
            return found

        def apart(judge: Callable[[], float | None]) -> float | None:
            with self._at_once():
                return judge()

        pool = Pool(self._threads)
        jobs = {
            one: pool.submit(partial(apart, judge), copy_context(), "recall-judge") for one, judge in judgements.items()
        }
        try:
            for (prompt, id), job in jobs.items():
                found[prompt][id] = job.result()
        except BaseException:
            pool.cancel(list(jobs.values()))
            raise
        return found

    def _verdict(self, prompt: str, said: str, question: Question, dataset: str) -> float | None:
        case = Case(
            id=question.id,
            scenario="answers",
            dimension=question.category,
            input=question.text,
            expected=question.answer,
            judges=(JudgeCall(name=PAPER),),
        )
        inquiry = paper.inquiry(Answer(text=said), case, **rule(prompt, question, dataset))
        try:
            verdict = self._keeping().decide(inquiry, question.id, PAPER)
        except MissError:
            if self._closed is None or not (why := self._closed()):
                raise
            with self._counting:
                self.counts = self.counts._replace(left=self.counts.left + 1, why=why)
            return None
        except RecallError as error:
            return self._counted(None, one_line(f"{question.id}, {prompt}: no verdict: {error}", 300))
        return self._counted(verdict.passed)

    def _counted(self, passed: bool | None, why: str = "") -> float | None:
        with self._counting:
            made, undecided = self.counts.made, self.counts.undecided
            self.counts = self.counts._replace(made=made + 1, undecided=undecided + (passed is None))
            if why and not undecided:
                self._tell(why)
            if (made := made + 1) % EVERY == 0:
                self._tell(f"{made:,} of {self._total:,} judgements{self._pace.text(made, self._total - made)}")
        return None if passed is None else float(passed)

    def _keeping(self) -> Panel:
        """Return the panel, which asks for what is not kept."""
        failures: dict[str, ModelError] = {}

        def keeper(model: Model) -> Model:
            return Keeper(model, self._store, failures, lambda *_: None)

        appellate = self._panel.appellate
        return replace(
            self._panel,
            judges=tuple(map(keeper, self._panel.judges)),
            appellate=None if appellate is None else keeper(appellate),
        )
