"""Judged: the answers of a membench, put to a judging model by the rule of the dataset's paper."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from pytest_recall.cases.case import Case, JudgeCall
from pytest_recall.cases.settings import Rubric
from pytest_recall.cases.settings_fields import Strictness
from pytest_recall.datasets.cases import DatasetCases
from pytest_recall.datasets.comparison import digest_of
from pytest_recall.datasets.dataset import Question
from pytest_recall.datasets.membench import JudgedAnswer, QuestionLine
from pytest_recall.datasets.membench_run import Judgements, MembenchResult, judged
from pytest_recall.datasets.questions import ABSTAINING, PAPER, judges_of
from pytest_recall.files.disk import locked
from pytest_recall.files.errors import CaseError, RecallError, one_line
from pytest_recall.judges import paper
from pytest_recall.judges.model_judges import ModelJudge
from pytest_recall.judges.panel import Panel
from pytest_recall.models.model import Ask, Model, Reply
from pytest_recall.models.prices import call_of_reply
from pytest_recall.replay.call import Call
from pytest_recall.replay.tape import Tape
from pytest_recall.trials.cost import Spend, spend_of
from pytest_recall.trials.execution import called
from pytest_recall.trials.trial import Answer, Verdict

EVERY = 25
"""Judgements between two lines that say how far it is."""


class JudgingResult(NamedTuple):
    """What judging came to: the questions with its values, each judgement, and what all its calls were."""

    found: MembenchResult
    judged: tuple[JudgedAnswer, ...]
    spend: Spend

    @property
    def undecided(self) -> tuple[JudgedAnswer, ...]:
        """The answers on which it came to no verdict."""
        return tuple(one for one in self.judged if one.passed is None)


@dataclass
class _Counted:
    """A model whose calls are written down with what they cost."""

    model: Model
    tape: Tape | None
    rubric: Rubric
    calls: list[Call]

    @property
    def name(self) -> str:
        return self.model.name

    def ask(self, ask: Ask) -> Reply:
        before = 0 if self.tape is None else len(self.tape.made)
        reply = self.model.ask(ask)
        made = [] if self.tape is None else self.tape.made[before:]
        # What calls no upstream, such as an object that the user wrote, is asked also where others are replayed.
        source = "replayed" if made and all(one.source == "replayed" for one in made) else "live"
        self.calls.append(call_of_reply(self.model, reply, source, self.rubric.prices))
        return reply


class _Asked(NamedTuple):
    """What is asked about an answer: the judgement without what is said, and who says it."""

    blank: JudgedAnswer
    decide: Callable[[], Verdict]


class AnswerJudge:
    """The models that judge the answers to a dataset's questions, whose calls go by the `tape` if there is one."""

    def __init__(self, bench: DatasetCases, panel: Panel, rubric: Rubric, tape: Tape | None) -> None:
        self.calls: list[Call] = []
        self._bench = bench
        self._rubric = rubric

        def counted(model: Model) -> Model:
            return _Counted(model, tape, rubric, self.calls)

        self._panel = replace(
            panel,
            judges=tuple(map(counted, panel.judges)),
            appellate=None if panel.appellate is None else counted(panel.appellate),
        )
        # A judge on a cassette is not asked today, and a recording holds the calls about the answers alone.
        strictness: Strictness = rubric.preflight if tape is None else "off"
        self._judge = ModelJudge(PAPER, self._panel, rubric, strictness)

    @property
    def name(self) -> str:
        """All that could decide, in one text."""
        appellate = self._panel.appellate
        return self._panel.name + ("" if appellate is None else f", appeals to {appellate.name}")

    def ready(self) -> None:
        """Put the known answers to the models. Raises RecallError if one of them must not judge."""
        self._judge.ready()

    def asked(self, line: QuestionLine) -> _Asked | None:
        """Return what is asked about an answer; None where the paper has no rule."""
        question = self._bench.entries[line.id].question
        if line.answer is None or not _has_rule(question, self._bench.dataset.format):
            return None
        (call,) = judges_of(question, self._bench.dataset.format, (), (JudgeCall(name=PAPER),))
        answer, case = Answer(text=line.answer), _case(question, call)
        inquiry = paper.inquiry(answer, case, **call.arguments)
        text = json.dumps([self.name, self._panel.appeal, self._panel.audit, inquiry.version, inquiry.parts])
        key = hashlib.sha256(text.encode("ascii")).hexdigest()[:16]
        blank = JudgedAnswer(
            id=line.id, key=key, judges=self.name, version=inquiry.version, answer=digest_of(line.answer)
        )
        return _Asked(blank, lambda: self._judge(answer, case, **call.arguments))


def _has_rule(question: Question, dataset: str) -> bool:
    return dataset in ABSTAINING if question.unanswerable else question.answer is not None


def _case(question: Question, call: JudgeCall) -> Case:
    return Case(
        id=question.id,
        scenario="membench",
        dimension=question.category,
        input=question.text,
        expected=question.answer,
        judges=(call,),
    )


def judge_all(
    bench: DatasetCases,
    found: MembenchResult,
    folder: Path,
    judge: AnswerJudge,
    *,
    fresh: bool,
    tell: Callable[[str], None],
) -> JudgingResult:
    """Judge the answers that are in `found`, but for those whose verdict is in `folder`, which takes in each at once.

    `fresh` asks about all of them. Raises RecallError where no question has an answer, for a judge that must not
    judge, and for a run that is stopped; MissError for a call that must not begin.
    """
    metric = f"{bench.dataset.format}_judge"
    with locked(folder / ".lock"):
        known = {} if fresh else {one.key: one for one in judged(folder)}
        to_ask = {line.id: asked for line in found.lines if (asked := judge.asked(line)) is not None}
        if not to_ask:
            raise RecallError(
                "--judge: there is no answer to judge; a rule is about answers, and a memory that hands out passages"
                " alone gives none"
            )
        sat = {
            id: replace(one, id=id)
            for id, asked in to_ask.items()
            if (one := known.get(asked.blank.key)) is not None and one.passed is not None
        }
        if sat:
            tell(f"{folder}: {len(sat):,} of {len(to_ask):,} answers are judged")
        if len(sat) < len(to_ask):
            judge.ready()
        with Judgements(folder) as file:
            for id, asked in to_ask.items():
                if id in sat:
                    continue
                sat[id] = _one(asked, judge)
                file.add(sat[id])
                if len(sat) % EVERY == 0:
                    tell(f"{len(sat):,} of {len(to_ask):,} answers judged")
    lines = tuple(_with(line, metric, sat) for line in found.lines)
    told = tuple(sat[id] for id in to_ask)
    return JudgingResult(
        found._replace(lines=lines), told, spend_of((call for one in told for call in one.calls), stays=())
    )


def _one(asked: _Asked, judge: AnswerJudge) -> JudgedAnswer:
    """Return what came of one answer; the first one has the calls about the known answers as well."""
    found = asked.blank
    try:
        verdict: Verdict = called("judge paper", asked.decide, ())
    except CaseError as error:
        found = replace(found, error=one_line(str(error)))
    else:
        found = replace(found, passed=verdict.passed, model=verdict.model, reason=one_line(verdict.reason))
    found = replace(found, calls=tuple(judge.calls))
    judge.calls.clear()
    return found


def _with(line: QuestionLine, metric: str, sat: Mapping[str, JudgedAnswer]) -> QuestionLine:
    if line.id not in sat:
        return line
    passed = sat[line.id].passed
    return line.with_values({metric: None if passed is None else float(passed)})
