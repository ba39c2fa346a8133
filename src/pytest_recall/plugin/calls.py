"""Calls: what a trial took, and no secret in what is kept or shown of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_recall.plugin.stash import DECK, RUN, TAPE
from pytest_recall.replay.redaction import Redactor
from pytest_recall.trials.conditions import conditions, taped_of, words_of
from pytest_recall.trials.trial import Trial

if TYPE_CHECKING:
    from pytest_recall.cases.case import Case


def with_calls(trial: Trial, item: pytest.Item) -> Trial:
    """Return the trial with where its answer came from, and the calls that it took."""
    tape = item.stash.get(TAPE, None)
    if tape is None or (trial.calls and not tape.made):
        return trial  # It was asked before the run was cut off, and knows its calls.
    if tape.mode != "off":
        trial = _clean(trial, tape.redactor)
    sources = {made.source for made in tape.made if made.kind != "judge"}
    if not tape.made and tape.misses:
        sources = {"replayed"}  # Nothing was sent, and no one has answered live.
    source = "mixed" if len(sources) > 1 else next(iter(sources), "live")
    deck = item.config.stash[DECK]
    read = deck.exchanges_of(tape)
    trial = trial._replace(source=source, calls=deck.calls_of(read))
    if not trial.outcome.is_verdict or str(getattr(item, "arm", "")):
        return trial
    case = getattr(item, "case", None)  # A marked test has none, and its words stand in the prompt as they are.
    words = () if case is None else words_of([case.input, case.turns and [turn.user for turn in case.turns]])
    taped = None if tape.cassette is None or source == "live" else taped_of(tape.cassette.header)
    rubric = item.config.stash[RUN].plan.rubric
    return trial._replace(under=str(conditions(trial, deck.prompts_of(read, words), rubric, _own_bars(case), taped)))


def _own_bars(case: Case | None) -> list[str]:
    """Return the judges to whose scores the case itself gives a threshold."""
    calls = () if case is None else case.judges
    return [call.name for call in calls if "threshold" in call.arguments or (case and case.threshold is not None)]


def _clean(trial: Trial, redactor: Redactor) -> Trial:
    """Return the trial without secrets: what a cassette must not hold, the journal and the state must not either."""
    text, answer = redactor.text, trial.answer
    texts = [trial.error, *(verdict.reason for verdict in trial.verdicts)]
    votes = [vote for verdict in trial.verdicts if verdict.judgement for vote in verdict.judgement.every]
    texts += [said for vote in votes for said in (vote.reason, vote.error)]
    if answer is not None:
        texts += [answer.text, *(passage.text for passage in answer.passages)]
    together = "\0".join(texts)
    if text(together) == together:
        return trial
    if answer is not None:
        passages = tuple(replace(passage, text=text(passage.text)) for passage in answer.passages)
        answer = replace(answer, text=text(answer.text), passages=passages)
    verdicts = tuple(
        replace(verdict, reason=text(verdict.reason), judgement=verdict.judgement and verdict.judgement.clean(text))
        for verdict in trial.verdicts
    )
    return trial._replace(error=text(trial.error), verdicts=verdicts, answer=answer)
