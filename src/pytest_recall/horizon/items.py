"""Make eval cases of the questions of a profile, checkpoint by checkpoint."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from threading import Lock

from pytest_recall.cases.case import Case
from pytest_recall.cases.memory_part import AskedAt, Haystack, Stage, Unit
from pytest_recall.datasets.reading import reply_of
from pytest_recall.files.disk import read_text
from pytest_recall.horizon.answering import joined
from pytest_recall.horizon.ask import asked_with, case_of, planned
from pytest_recall.horizon.corpus import Corpus
from pytest_recall.horizon.evaluation import Points, measures_of_points
from pytest_recall.horizon.judge import DayTexts, LexicalJudge, PanelJudge
from pytest_recall.horizon.parts import KEPT_DAYS, checkpoints_of, day_units
from pytest_recall.horizon.profile import RunPart
from pytest_recall.horizon.profile_file import Given, read_profile, settings_of
from pytest_recall.horizon.question import BenchQuestion, Checkpoint
from pytest_recall.horizon.result import LEXICAL
from pytest_recall.judges.panel import Panel
from pytest_recall.models.model import Model
from pytest_recall.schedule.boxes import PROFILE
from pytest_recall.trials.execution import Result
from pytest_recall.trials.trial import ANSWERED, Answer, AtCheckpoint, Verdict


class ProfileCases:
    """A profile's questions as cases, in the order in which they are asked, each like `18d/q007`.

    Of `models`, the judges and the one that answers are asked as the session asks its models. On no schedule: a
    question means something at its checkpoint alone. `memory` is a selector in the place of the profile's.
    """

    reason = PROFILE

    def __init__(self, path: Path, name: str, memory: str | None = None) -> None:
        self.path = path
        self.name = name
        profile = read_profile(path, name, os.environ, lambda told: None)
        self.settings = settings_of(profile, path, Given(memory=memory), path.parent)
        self.root = self.settings.root
        self.memory = self.settings.memory
        self.memory_config = self.settings.config
        corpus = self.settings.corpus
        persona = corpus.persona
        self._checkpoints = checkpoints_of(self.settings)
        self._digest = _digest_of(self.settings.corpus, self.settings.run)
        self._persona = persona.id
        self._asked = planned(persona.id, self._checkpoints, name)
        self.lines = dict.fromkeys(self._asked, 1)
        self._cases: dict[str, Case] = {}

    @property
    def seconds(self) -> float:
        """How long the memory may take for a question."""
        return self.settings.run.timeout / 1000

    def cases(self, ids: Iterable[str] | None = None) -> list[Case]:
        """Return the cases with these ids, or all, in the order in which they are asked."""
        wanted = None if ids is None else set(ids)
        return [self._case(id) for id in self._asked if wanted is None or id in wanted]

    def _case(self, id: str) -> Case:
        if id not in self._cases:
            question, checkpoint = self._asked[id]
            when = self.settings.corpus.calendar.date_of(checkpoint.days).isoformat()
            case = case_of(self._persona, question, checkpoint)
            self._cases[id] = case.model_copy(
                update={
                    "memory": Haystack.staged(self._stages(checkpoint)),
                    "limit": self.settings.run.k,
                    "context": AskedAt(session=question.asked_in, date=when, checkpoint=checkpoint.range.label),
                }
            )
        return self._cases[id]

    def _stages(self, last: Checkpoint) -> tuple[Stage, ...]:
        """Return what is told up to a checkpoint, with the stops of a run on the way."""
        stages, told, stops = list[Stage](), 0, self._digest
        for checkpoint in self._checkpoints[: last.place]:
            stops = hashlib.sha256(f"{stops} {checkpoint.days}".encode()).hexdigest()[:32]
            stages.append(Stage(stops, self._reader(told, checkpoint.days)))
            told = checkpoint.days
        return tuple(stages)

    def _reader(self, after: int, last: int) -> Callable[[], tuple[Unit, ...]]:
        corpus, run = self.settings.corpus, self.settings.run

        def read() -> tuple[Unit, ...]:
            days = (day for day in corpus.fed_days(run.feed) if after < day <= last)
            return tuple(unit for day in days for unit in day_units(corpus, day, run))

        return read

    def answered(self, case: Case, answer: Answer, answerer: Model | None) -> Answer:
        """Return the answer: the memory's own, or a model's from what it found, or that. Raises RecallError."""
        if answer.usage.get(ANSWERED, 1):
            return answer
        if answerer is None:
            return replace(answer, text=joined(answer.passages), by="passages")
        assert case.context is not None
        assert isinstance(case.input, str)
        reply = reply_of(answerer, asked_with(case.input, answer.passages, case.context.context))
        return replace(answer, text=reply, by="model")

    def judge(self, found: Callable[[str], Model], *, preflight: bool) -> PointsJudge:
        """Return who judges these cases; `found` finds a model by its selector. Raises RecallError."""
        settings = self.settings
        corpus = settings.corpus
        days = DayTexts(corpus.days, lru_cache(maxsize=KEPT_DAYS)(corpus.text), corpus.calendar)
        if settings.judge in (None, LEXICAL):
            return PointsJudge(self._asked, LexicalJudge(days), preflight=False)
        appellate = None if settings.appellate is None else found(settings.appellate)
        panel = Panel(judges=(found(settings.judge or ""),), appellate=appellate)
        return PointsJudge(self._asked, PanelJudge(panel, days, settings.run.judge_memory_window), preflight=preflight)


class PointsJudge:
    """A judge `(answer, case)` that gives the points of a profile's judge as a verdict."""

    def __init__(
        self,
        asked: dict[str, tuple[BenchQuestion, Checkpoint]],
        judge: LexicalJudge | PanelJudge,
        *,
        preflight: bool,
    ) -> None:
        self._asked = asked
        self._judge = judge
        self._preflight = preflight
        self._points: dict[tuple[str, str], Points] = {}
        self._lock = Lock()

    def __call__(self, answer: Answer, case: Case) -> Verdict:
        """Return the verdict: it passes with four points, unless it is wrong or made up. Raises RecallError.

        Passages that stand as the answer, and that no model judges, pass if all relevant days are among them.
        """
        question, checkpoint = self._asked[case.id]
        ids = [one.source for one in answer.passages] if answer.by == "passages" else None
        points, verdict = self._judge.judge(question, answer.text, checkpoint.days, ids)
        self._points[case.id, answer.text] = points
        return verdict

    def with_points(self, case_id: str, result: Result) -> Result:
        """Return the result with the points of its answer as measures, and its checkpoint."""
        _, checkpoint = self._asked[case_id]
        points = self._points[case_id, "" if result.answer is None else result.answer.text]
        return result._replace(
            measures=measures_of_points(points), checkpoint=AtCheckpoint(checkpoint.range.label, checkpoint.days)
        )

    def ready(self) -> None:
        """Put the known answers to each model, once. Raises RecallError for one that must not judge."""
        with self._lock:
            if self._preflight and isinstance(self._judge, PanelJudge):
                self._judge.ready()
            self._preflight = False


def _digest_of(corpus: Corpus, run: RunPart) -> str:
    told = hashlib.sha256(run.unit.encode() if run.feed == "days" else run.feed.encode())
    for day in corpus.fed_days(run.feed):
        path = corpus.fed_path(day, run.feed)
        text = corpus.text(day) if run.feed == "days" else read_text(path, str(path))
        told.update(f"\n{day} {len(text)}\n{text}".encode())
    return told.hexdigest()[:32]
