"""Let models judge the answers to the questions of a dataset, by the rule of its paper."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from pytest_recall.cases.case import Case, JudgeCall
from pytest_recall.cases.settings import Settings
from pytest_recall.cases.settings_fields import Strictness
from pytest_recall.datasets.cases import DatasetCases
from pytest_recall.datasets.dataset import Question
from pytest_recall.datasets.membench_run import MembenchResult, newest, unjudged, with_passages_of
from pytest_recall.datasets.questions import ABSTAINING, PAPER, judges_of
from pytest_recall.files.errors import CaseError, MissError, RecallError, one_line
from pytest_recall.judges import paper
from pytest_recall.judges.model_judges import ModelJudge
from pytest_recall.judges.panel import Panel
from pytest_recall.models.model import Ask, Model, Reply
from pytest_recall.models.prices import call_of_reply
from pytest_recall.replay.call import Call
from pytest_recall.replay.tape import Tape
from pytest_recall.trials.cost import Spend, spend_of
from pytest_recall.trials.execution import Result, called, with_result
from pytest_recall.trials.journal import journal_of
from pytest_recall.trials.record import Header
from pytest_recall.trials.trial import ANSWERED, Answer, Outcome, Trial, Verdict

EVERY = 25
"""Judgements between two lines that say how far it is."""


class JudgingResult(NamedTuple):
    """What judging came to: the run with its verdicts, the trials that were judged, and what all its calls were.

    `undecided` are the questions on whose answers it came to no verdict, by id, and why; `left` counts the answers
    that could not be paid for.
    """

    found: MembenchResult
    judged: tuple[Trial, ...]
    spend: Spend
    undecided: Mapping[str, str]
    left: int = 0


@dataclass
class _Counted:
    """A model whose calls are written down with what they cost."""

    model: Model
    tape: Tape | None
    rubric: Settings
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
    """What is asked about an answer: the verdict without what is said, and who says it."""

    blank: Verdict
    decide: Callable[[], Verdict]


class AnswerJudge:
    """The models that judge the answers to a dataset's questions, whose calls go by the `tape` if there is one."""

    def __init__(self, bench: DatasetCases, panel: Panel, rubric: Settings, tape: Tape | None) -> None:
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

    def asked(self, trial: Trial) -> _Asked | None:
        """Return what is asked about an answer; None where there is none, or the paper has no rule for it."""
        question = self._bench.entries[trial.case_id].question
        dataset = self._bench.dataset.format
        if trial.answer is None or not trial.answer.usage.get(ANSWERED) or not _has_rule(question, dataset):
            return None
        (call,) = judges_of(question, dataset, (), (JudgeCall(name=PAPER),))
        answer, case = Answer(text=trial.answer.text), _case(question, call)
        inquiry = paper.inquiry(answer, case, **call.arguments)
        text = json.dumps([self.name, self._panel.appeal, self._panel.audit, inquiry.version, inquiry.parts])
        key = hashlib.sha256(text.encode("ascii")).hexdigest()[:16]
        blank = Verdict(passed=None, judge=PAPER, version=inquiry.version, panel=self.name, asked=key)
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
    header: Header,
    *,
    fresh: bool,
    tell: Callable[[str], None],
    closed: Callable[[], str] = str,
) -> JudgingResult:
    """Judge the answers that are in `found`, but for those on which the journal in `folder` has the verdict.

    Each trial with a new verdict is a further line of the journal. `fresh` asks about all of them; no further one is
    judged once `closed` says why no call may begin. Raises RecallError where no question has an answer, for a judge
    that must not judge, and for a run that is stopped; MissError for a call that must not begin.
    """
    metric = f"{bench.dataset.format}_judge"
    asked = {trial.case_id: one for trial in found.trials if (one := judge.asked(trial)) is not None}
    if not asked:
        raise RecallError(
            "--judge: there is no answer to judge; a rule is about answers, and a memory that hands out passages"
            " alone gives none"
        )
    known = {} if fresh else _known(found, asked)
    if known:
        tell(f"{folder}: {len(known):,} of {len(asked):,} answers are judged")
    trials = {trial.case_id: trial for trial in found.trials}
    passages = {} if found.record is None else newest(found.record)
    said = {id: _with(trials[id], one, metric) for id, one in known.items()}
    calls = [call for one in known.values() for call in one.calls]
    if len(said) < len(asked):
        with _within(closed):
            judge.ready()
        with journal_of(folder, header) as journal:
            with _within(closed):
                for id in asked:
                    if id in said:
                        continue
                    if closed():
                        break
                    found_out = _said(asked[id], judge)
                    said[id] = _with(trials[id], found_out, metric)
                    # What is held of a trial has no passages, and its line in the journal has them.
                    journal.append(with_passages_of(said[id], passages.get(id)))
                    calls += found_out.calls
                    if len(said) % EVERY == 0:
                        tell(f"{len(said):,} of {len(asked):,} answers judged")
            why = closed() if len(said) < len(asked) else ""
            journal.end(2 if why else 0, why)
    return JudgingResult(
        found=found._replace(trials=tuple(said.get(id, trial) for id, trial in trials.items())),
        judged=tuple(said[id] for id in asked if id in said),
        spend=spend_of(calls, stays=()),
        undecided={id: said[id].error for id in asked if id in said and said[id].outcome is Outcome.ERROR},
        left=len(asked) - len(said),
    )


@contextmanager
def _within(closed: Callable[[], str]) -> Iterator[None]:
    """End the block, and no more, at the call that the budget does not allow."""
    try:
        yield
    except MissError:
        if not closed():
            raise


class _Said(NamedTuple):
    """What was said of an answer, and the calls that were made for it; `error` is why there is no verdict."""

    verdict: Verdict
    calls: tuple[Call, ...]
    error: str = ""


def _known(found: MembenchResult, asked: Mapping[str, _Asked]) -> dict[str, _Said]:
    """Return what the journal has of the same models asked the same, by the question."""
    kept: dict[str, _Said] = {}
    for trial in () if found.record is None else found.record.trials:
        one = asked.get(trial.case_id)
        for verdict in trial.verdicts if one is not None else ():
            same = one is not None and (verdict.panel, verdict.asked) == (one.blank.panel, one.blank.asked)
            if same and verdict.passed is not None and trial.case_id not in kept:
                kept[trial.case_id] = _Said(verdict, trial.calls)  # The first line that has it has its calls.
    return kept


def _said(asked: _Asked, judge: AnswerJudge) -> _Said:
    """Return what is said of one answer; the first one has the calls about the known answers as well."""
    error = ""
    try:
        found: Verdict = called("judge paper", asked.decide, ())
    except CaseError as problem:
        error = one_line(str(problem))
        found = replace(asked.blank, reason=error)
    else:
        blank = asked.blank
        found = replace(found, judge=blank.judge, panel=blank.panel, asked=blank.asked, reason=one_line(found.reason))
    calls = tuple(judge.calls)
    judge.calls.clear()
    return _Said(found, calls, error)


def _with(trial: Trial, said: _Said, metric: str) -> Trial:
    """Return the trial with a verdict that takes the place of what words, or the same models, have decided."""
    verdict = said.verdict
    others = tuple(one for one in trial.verdicts if one.panel and one.panel != verdict.panel)
    passed = verdict.passed
    result = Result.of(trial)._replace(
        outcome=Outcome.ERROR if passed is None else Outcome.PASSED if passed else Outcome.FAILED,
        verdicts=(*others, verdict),
        measures={**(unjudged(trial).measures or {}), metric: None if passed is None else float(passed)},
        error=said.error,
        stage="judge paper" if said.error else "",
    )
    return with_result(trial, result, said.calls)
