"""Answer the questions of a dataset without a memory, for what a memory that answers by itself is compared with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from types import MappingProxyType

from pytest_recall.datasets.questions import retrieval_of
from pytest_recall.metrics.retrieval import OF_ANSWERS, measure
from pytest_recall.trials.record import QuestionRecord
from pytest_recall.trials.trial import ANSWERED, Answer

REFUSAL, ECHO = "refusal", "question"
ROWS = (REFUSAL, ECHO)
"""What answers every question alike: with a refusal, and with the question itself."""
REFUSED = "No information available."
"""A refusal by LoCoMo's own phrase, and by ours of other datasets."""
LOCOMO = "locomo_f1"


def answer_floors(asked: QuestionRecord, measured: Collection[str]) -> Mapping[str, Mapping[str, float]]:
    """Return by floor what its answer comes to, in those metrics of answers that were `measured` of the memory's."""
    chosen = tuple(sorted(OF_ANSWERS.intersection(measured)))
    return _floors(asked, chosen) if chosen else MappingProxyType({})


@lru_cache(maxsize=4096)
def _floors(asked: QuestionRecord, chosen: tuple[str, ...]) -> Mapping[str, Mapping[str, float]]:
    floors = {}
    for name, text in ((REFUSAL, REFUSED), (ECHO, asked.question)):
        # Only of LoCoMo its F1 is measured, by whose phrases a refusal is known there.
        given = Answer(text=text, usage={ANSWERED: 1})
        one = retrieval_of(asked, given, None, "locomo" if LOCOMO in chosen else "")
        values = {} if one is None else measure(one, 1, chosen)
        floors[name] = {metric: float(value) for metric, value in values.items() if value is not None}
    return floors
