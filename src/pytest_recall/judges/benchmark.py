"""Benchmark judge: a question of a memory dataset, by the answer where there is one, else by the passages."""

from __future__ import annotations

from pytest_recall.core.bench import ANSWERED, UNJUDGED, ranked
from pytest_recall.core.case import Case
from pytest_recall.core.errors import ArgumentError
from pytest_recall.core.trial import Answer, Verdict
from pytest_recall.judges.evidence import recall_at_k
from pytest_recall.judges.text import contains, texts
from pytest_recall.metrics.abstention import abstains
from pytest_recall.metrics.locomo import CATEGORIES, locomo_f1

_NUMBERS = {name: number for number, name in CATEGORIES.items()}
LOWEST_F1 = 0.5


def benchmark(
    answer: Answer, case: Case, *, dataset: str = "", unanswerable: bool = False, threshold: float | None = None
) -> Verdict:
    """Score a memory on a question of a dataset, 0..1: by its answer, or, if it hands out passages alone, by these.

    An answer to LoCoMo by its F1 for the category, which has to be 0.5; to another dataset by whether it
    contains the `expected` one. Passages by the fraction of the `evidence` among them, which has to be all
    of it; without evidence by whether they contain what is expected. Of an `unanswerable` question, whether the
    answer abstains. threshold: the lowest passing score in place of these.
    """
    answered = answer.usage.get(ANSWERED, 1) != 0
    if unanswerable:
        if not answered:
            raise ArgumentError(UNJUDGED)
        did = abstains(answer.text, dataset)
        return Verdict(passed=did, score=float(did), reason="" if did else "it should have said that it does not know")
    if answered:
        if case.expected is None:
            raise ArgumentError("the dataset has no answer to compare with; leave the question out")
        if dataset == "locomo" and case.dimension in _NUMBERS:
            number = _NUMBERS[case.dimension]
            score = max(locomo_f1(answer.text, gold, number) for gold in texts(case.expected))
            return _decided(score, LOWEST_F1 if threshold is None else threshold, f"LoCoMo's F1 is {score:.2f}")
        return contains(answer.text, case.expected)
    if not case.evidence:
        if case.expected is None:
            raise ArgumentError("the dataset has neither an answer nor evidence; leave the question out")
        return contains(answer.text, case.expected)
    units = () if case.memory is None else case.memory.units
    if answer.passages and ranked(answer.passages, units, case.evidence) is None:
        raise ArgumentError("no passage names the text that it is from, so that evidence cannot be told; return its id")
    found = recall_at_k(answer, case)
    return _decided(found.score or 0.0, 1.0 if threshold is None else threshold, found.reason)


def _decided(score: float, threshold: float, reason: str) -> Verdict:
    passed = score >= threshold
    return Verdict(passed=passed, score=score, reason=reason if passed else f"{reason}, below {threshold:g}")
