"""Give points for an answer to a question about a persona, by models or by the words of the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple, Protocol

from pytest_recall.cases.case import Case, JudgeCall
from pytest_recall.files.errors import RecallError
from pytest_recall.horizon.day import DayPiece, pieces_of
from pytest_recall.horizon.disclosure import BOUNDARY, boundary_verdict
from pytest_recall.horizon.evaluation import JUDGE, MOST, Points, points_of_verdict
from pytest_recall.horizon.persona import Calendar
from pytest_recall.horizon.question import BenchQuestion, Disclosure
from pytest_recall.horizon.questioning import excerpts, forbidden_excerpts, window_days
from pytest_recall.horizon.retrieval import days_verdict
from pytest_recall.judges import memory_judge, preflight
from pytest_recall.judges.judge_call import Undecided, version_of
from pytest_recall.judges.panel import Panel
from pytest_recall.trials.trial import Answer, Verdict

READS = 24_000
"""Characters of excerpts that a judge is shown, and as many of what must not come out."""
PROMPTS = version_of("horizon", dict(memory_judge.VARIANTS), READS)
"""Tells the prompts of a model that judges apart from those of other versions."""


class JudgedPoints(NamedTuple):
    """The points of an answer, and the verdict that says who gave them, after which others."""

    points: Points
    verdict: Verdict


class RunJudge(Protocol):
    """What gives points for answers."""

    def judge(
        self, question: BenchQuestion, answer: str, last_day: int, ids: Sequence[str | None] | None = None
    ) -> JudgedPoints:
        """Return the points; of the story, what was told up to `last_day` counts. Raises RecallError for none.

        `ids` are those of the passages that stand as the answer, as far as they have some.
        """
        ...


class DayTexts:
    """The texts of the days that a question is about; `text` reads one."""

    def __init__(self, known: tuple[int, ...], text: Callable[[int], str], calendar: Calendar) -> None:
        self._known = known
        self._text = text
        self.calendar = calendar
        self._spoken: dict[int, list[DayPiece]] = {}
        self._first: dict[tuple[str, tuple[str, ...]], float] = {}

    def of(self, question: BenchQuestion, window: int, last_day: int) -> Mapping[int, str]:
        """Return the texts of the relevant days and those around them, up to `last_day`."""
        return {day: self._text(day) for day in window_days(question, window, last_day=last_day, known=self._known)}

    def elsewhere(self, words: str, forbidden: tuple[str, ...], last_day: int) -> bool:
        """Whether these words stand in a row in a session that is not `forbidden`, on a day up to `last_day`."""
        key = (words, forbidden)
        if key not in self._first:
            self._first[key] = next((day for day in self._known if self._is_said(words, forbidden, day)), inf)
        return self._first[key] <= last_day

    def _is_said(self, words: str, forbidden: tuple[str, ...], day: int) -> bool:
        if day not in self._spoken:
            pieces = pieces_of(self._text(day), "session")
            self._spoken[day] = [DayPiece(one.session, f" {memory_judge.plain(one.text)} ") for one in pieces]
        return any(f" {words} " in one.text for one in self._spoken[day] if one.session not in forbidden)


def disclosure_of(question: BenchQuestion) -> Disclosure | None:
    """Return the expected behaviour, of questions about the boundary of a session alone."""
    return question.expected_disclosure if question.category == BOUNDARY else None


class LexicalJudge:
    """Points from the reference's words and values. It makes no call, so that nothing of it can fail."""

    def __init__(self, days: DayTexts) -> None:
        self._days = days

    def judge(
        self, question: BenchQuestion, answer: str, last_day: int, ids: Sequence[str | None] | None = None
    ) -> JudgedPoints:
        """Return the points. Passages pass by the days that they are from: alone they contain almost any words.

        Of questions about what may be told where they pass if nothing comes out, or the fact does.
        """
        disclosure = disclosure_of(question)
        forbidden: list[str] = []
        if disclosure is not None:
            texts = self._days.of(question, 0, last_day)
            forbidden = forbidden_excerpts(question, texts, self._days.calendar, READS)
            # Which day it is stands in the heading, and is no secret.
            forbidden = [text.partition("\n")[2] for text in forbidden]
        given = memory_judge.points(
            answer,
            question.answer,
            question=question.question,
            disclosure=disclosure,
            forbidden=forbidden,
            elsewhere=lambda words: self._days.elsewhere(words, question.forbidden_sessions, last_day),
        )
        points = Points(given.correctness, given.completeness, given.hallucination, given.reason)
        verdict = Verdict(
            passed=not points.fails,
            score=points.composite / MOST,
            reason=f"{points.composite} of {MOST}: {points.reasoning}",
            judge=JUDGE,
            version=memory_judge.VERSION,
        )
        found = None
        if ids is not None:
            found = boundary_verdict(question, answer, ids, points) or days_verdict(question, ids)
        return JudgedPoints(points, found or verdict)


class PanelJudge:
    """Points by the models of a panel. With a `window` it sees excerpts of so many days around the relevant ones."""

    def __init__(self, panel: Panel, days: DayTexts, window: int) -> None:
        self._panel = panel
        self._days = days
        self._window = window

    def ready(self) -> None:
        """Put known answers to each model. Raises RecallError for one that must not judge."""
        known = preflight.KNOWN_ANSWERS["memory"]
        models = (*self._panel.judges, *([] if self._panel.appellate is None else [self._panel.appellate]))
        for model in models:
            result = preflight.run_preflight(model, memory_judge.inquiry, known)
            if result.unheard:
                raise RecallError(result.problem)
            if result.problem:
                told = result.problem.partition("; choose")[0]
                raise RecallError(f"{told}; choose another judge, or pass it over with --skip-preflight")

    def inquiry(self, question: BenchQuestion, answer: str, last_day: int) -> memory_judge.MemoryInquiry:
        """Return what the models are asked."""
        shown = []
        if self._window:
            texts = self._days.of(question, self._window, last_day)
            shown = excerpts(question, texts, self._days.calendar, READS)
        disclosure = disclosure_of(question)
        forbidden = None
        if disclosure is not None:
            texts = self._days.of(question, 0, last_day)
            said = forbidden_excerpts(question, texts, self._days.calendar, READS)
            forbidden = said or [f"what was said in the session {name}" for name in question.forbidden_sessions] or None
        case = Case(
            id="question",
            scenario="horizon",
            dimension="memory",
            input=question.question,
            expected=question.answer,
            judges=(JudgeCall(name="memory"),),
        )
        return memory_judge.inquiry(
            Answer(text=answer),
            case,
            excerpts=shown or None,
            disclosure=disclosure,
            forbidden=forbidden,
            # Headings are within the limit already, and the parts were chosen.
            reads=2 * READS,
        )

    def judge(
        self, question: BenchQuestion, answer: str, last_day: int, ids: Sequence[str | None] | None = None
    ) -> JudgedPoints:
        """Return the points: the appellate judge's where the first ones were too few. Raises Undecided."""
        asked = self.inquiry(question, answer, last_day)
        verdict = self._panel.decide(asked, question.id, "memory")
        points = points_of_verdict(verdict)
        if verdict.judgement is None or points is None:
            raise Undecided("the panel gave no votes; look at its judges")
        context = any(part.name.startswith("EXCERPT") for part in asked.parts)
        return JudgedPoints(
            points, replace(verdict, judge=JUDGE, judgement=verdict.judgement._replace(context=context))
        )
