"""Let models judge the answers to the questions of a dataset, by the rule of its paper."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

from pytest_recall.cases.case import Case, JudgeCall
from pytest_recall.cases.settings import Settings
from pytest_recall.datasets.cases import DatasetCases
from pytest_recall.datasets.dataset import Question
from pytest_recall.datasets.membench_run import MembenchResult, lean, newest, unjudged, with_passages_of
from pytest_recall.datasets.questions import PAPER, judges_of
from pytest_recall.files.errors import CaseError, RecallError
from pytest_recall.files.wording import one_line
from pytest_recall.judges import paper
from pytest_recall.judges.model_judges import ModelJudge
from pytest_recall.judges.panel import Panel
from pytest_recall.models.model_notes import NAME, ModelNotes
from pytest_recall.replay.exchange import Call
from pytest_recall.trials.cost import Spend, spend_of
from pytest_recall.trials.drive import Driver
from pytest_recall.trials.execution import NO_ENDING, Result, TrialEnding, called, ending_of, with_result
from pytest_recall.trials.model_calls import RunModels
from pytest_recall.trials.question_run import QuestionRun
from pytest_recall.trials.run_stop import RunStop
from pytest_recall.trials.trial import ANSWERED, Answer, Outcome, Trial, Verdict


class JudgingResult(NamedTuple):
    """What judging came to."""

    found: MembenchResult
    """The run with its verdicts."""
    judged: tuple[Trial, ...]
    """The trials that were judged."""
    spend: Spend
    """What all calls of the judging were."""
    undecided: Mapping[str, str]
    """The questions on whose answers it came to no verdict, by id, and why."""
    left: int = 0
    """How many answers were not judged."""
    stop: RunStop | None = None
    """Why these were not judged."""


class _Asked(NamedTuple):
    """What is asked about an answer: the verdict without what is said, and who says it."""

    blank: Verdict
    decide: Callable[[], Verdict]


class AnswerJudge:
    """The models that judge the answers to a dataset's questions, and how they are asked."""

    def __init__(self, bench: DatasetCases, panel: Panel, rubric: Settings, calls: RunModels, folder: Path) -> None:
        self.calls = calls
        self._folder = folder
        self._bench = bench
        self._panel = panel
        # What is replayed was tried with the known answers when it was recorded.
        self._judge = ModelJudge(PAPER, panel, rubric, "off" if calls.mode == "replay" else rubric.judge.preflight)
        self._metric = f"{bench.dataset.format}_judge"
        self._known_answers: list[tuple[Call, ...]] = []

    @cached_property
    def notes(self) -> ModelNotes:
        """What is noted on the models, once it is known whether earlier answers are kept."""
        return ModelNotes(
            self._folder / NAME,
            [("judge", one) for one in self._panel.roles.values()],
            lambda: self.calls.memory.places,
            replayed=self.calls.mode == "replay",
        )

    @property
    def name(self) -> str:
        """All that could decide, in one text."""
        appellate = self._panel.appellate
        return self._panel.name + ("" if appellate is None else f", appeals to {appellate.name}")

    def ready(self) -> None:
        """Put the known answers to the models, which is not recorded.

        Raises RecallError if one of them must not judge, and SpentError for a call that cannot be paid for.
        """
        with self.calls.about("", kept=False) as sheet:
            self._judge.ready()
        if sheet.calls:
            self._known_answers.append(tuple(sheet.calls))

    def asked(self, trial: Trial) -> _Asked | None:
        """Return what is asked about an answer; None where there is none, or the paper has no rule for it."""
        question = self._bench.entries[trial.case_id].question
        dataset = self._bench.dataset.format
        if trial.answer is None or not trial.answer.usage.get(ANSWERED) or not _has_rule(question, dataset):
            return None
        (call,) = judges_of(question, dataset, (), (JudgeCall(name=PAPER),))
        answer, case = Answer(text=trial.answer.text), _case(question, call)
        inquiry = paper.inquiry(answer, case, **call.arguments)
        own = [self.notes.identities] if self.notes.identities else []
        text = json.dumps([self.name, self._panel.audit, inquiry.version, inquiry.parts, *own])
        key = hashlib.sha256(text.encode("ascii")).hexdigest()[:16]
        blank = Verdict(passed=None, judge=PAPER, version=inquiry.version, panel=self.name, asked=key)
        return _Asked(blank, lambda: self._judge(answer, case, **call.arguments))

    def judged(self, trial: Trial, asked: _Asked) -> Trial:
        """Return the trial with what the models say of its answer; what breaks is an error of it.

        The first one has the calls about the known answers as well. Raises SpentError for a call that cannot be paid
        for.
        """
        error, ending, blank = "", NO_ENDING, asked.blank
        with self.calls.about(trial.case_id) as sheet:
            try:
                found: Verdict = called("judge paper", asked.decide, ())
            except CaseError as problem:
                error, ending = one_line(str(problem)), ending_of(problem)
                found = replace(blank, reason=error)
            else:
                reason = one_line(found.reason)
                found = replace(found, judge=blank.judge, panel=blank.panel, asked=blank.asked, reason=reason)
            sheet.whole = found.passed is not None
        known = self._known_answers.pop() if self._known_answers else ()
        return self.with_verdict(trial, found, (*known, *sheet.calls), error, ending)

    def with_verdict(
        self, trial: Trial, verdict: Verdict, calls: tuple[Call, ...], error: str = "", ending: TrialEnding = NO_ENDING
    ) -> Trial:
        """Return the trial with a verdict that takes the place of what words, or the same models, have decided."""
        others = tuple(one for one in trial.verdicts if one.panel and one.panel != verdict.panel)
        passed = verdict.passed
        result = Result.of(trial)._replace(
            outcome=Outcome.ERROR if passed is None else Outcome.PASSED if passed else Outcome.FAILED,
            verdicts=(*others, verdict),
            measures={**(unjudged(trial).measures or {}), self._metric: None if passed is None else float(passed)},
            error=error,
            stage="judge paper" if error else "",
            **ending._asdict(),
        )
        return with_result(trial, result, calls)


def _has_rule(question: Question, dataset: str) -> bool:
    return paper.judges_unanswerable(dataset) if question.unanswerable else question.answer is not None


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
    found: MembenchResult, run: QuestionRun, judge: AnswerJudge, *, threads: int, keeps_failed: bool
) -> JudgingResult:
    """Judge the answers that are in `found`, but for those on which the journal of the `run` has the verdict.

    Each trial with a new verdict is a further line of the journal. Up to `threads` answers are judged at once. Five in
    a row without a verdict stop it, unless what failed is kept, or is replayed. Raises RecallError where no question
    has an answer, and for a judge that must not judge.
    """
    asked = {trial.case_id: one for trial in found.trials if (one := judge.asked(trial)) is not None}
    if not asked:
        raise RecallError(
            "--judge: there is no answer to judge, since the memory returned passages alone; run it again with"
            " --reader, a model that answers from them"
        )
    trials = {trial.case_id: trial for trial in found.trials}
    said = {id: judge.with_verdict(trials[id], *one) for id, one in _known(found, asked).items()}
    for key, why in judge.notes.reasons.items():
        run.tell(f"{run.folder}: the {key}: {why}; all answers are judged again")
    if said:
        run.tell(f"{run.folder}: {len(said):,} of {len(asked):,} answers are judged")
    run.tell_unrecorded(judge.calls, said, "verdicts")
    stop: RunStop | None = None
    passages = {} if found.record is None else newest(found.record)
    # The last line of a question is what tables are made of: where other judges have said something since, it says
    # again what these have said, and has no call, as no further one was made.
    again = [one._replace(calls=()) for id, one in said.items() if _overtaken(one, passages.get(id))]
    # What these have said before they were others must not stand there as theirs until it is said anew.
    again += [one._replace(calls=()) for one in _outdated(found, {id: asked[id] for id in asked if id not in said})]
    for trial in again:
        run.begin().append(with_passages_of(trial, passages.get(trial.case_id)))
    if left := [id for id in asked if id not in said]:

        def judged(id: str) -> Trial:
            # What is held of a trial has no passages, and its line in the journal has them.
            return with_passages_of(judge.judged(trials[id], asked[id]), passages.get(id))

        stop = run.try_judges(judge.ready, judge.calls.memory)
        with Driver(
            run,
            judge.calls,
            total=len(asked),
            left=len(left),
            what="answers judged",
            notes=[judge.notes],
            threads=threads,
            stops=not (keeps_failed or judge.calls.mode == "replay"),
        ) as driver:
            questions = (partial(judged, id) for id in left if stop is None)
            driver.ask(questions, lambda trial: said.update({trial.case_id: lean(trial)}))
        stop = stop or driver.stop
    every = tuple(said[id] for id in asked if id in said)
    return JudgingResult(
        found=found._replace(trials=tuple(said.get(id, trial) for id, trial in trials.items())),
        judged=every,
        spend=spend_of([call for trial in every for call in trial.calls], stays=()),
        undecided={trial.case_id: trial.error for trial in every if trial.outcome is Outcome.ERROR},
        left=len(asked) - len(said),
        stop=stop,
    )


def _overtaken(judged: Trial, newest: Trial | None) -> bool:
    """Return whether others have judged an answer after those that have judged this trial."""
    return newest is None or newest.verdicts[-1:] != judged.verdicts[-1:]


def _outdated(found: MembenchResult, left: Mapping[str, _Asked]) -> list[Trial]:
    """Return as they were before models judged them the trials whose last verdict is by judges that are others now."""
    plain: dict[str, Trial] = {}
    last: dict[str, Trial] = {}
    for trial in () if found.record is None else found.record.trials:
        last[trial.case_id] = trial
        if not any(one.panel for one in trial.verdicts):
            plain[trial.case_id] = trial
    return [
        plain[id]
        for id, one in left.items()
        if id in plain
        for verdict in last[id].verdicts[-1:]
        if verdict.panel == one.blank.panel and verdict.asked != one.blank.asked
    ]


def _known(found: MembenchResult, asked: Mapping[str, _Asked]) -> dict[str, tuple[Verdict, tuple[Call, ...]]]:
    """Return what the journal has of the same models asked the same, by the question, and the calls for it."""
    kept: dict[str, tuple[Verdict, tuple[Call, ...]]] = {}
    for trial in () if found.record is None else found.record.trials:
        one = asked.get(trial.case_id)
        for verdict in trial.verdicts if one is not None else ():
            same = one is not None and (verdict.panel, verdict.asked) == (one.blank.panel, one.blank.asked)
            if same and verdict.passed is not None and trial.case_id not in kept:
                kept[trial.case_id] = verdict, trial.calls  # The first line that has it has its calls.
    return kept
