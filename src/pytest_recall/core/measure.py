"""Measure: which metrics a retrieval allows, and their values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import inf
from typing import NamedTuple

from pytest_recall.core.retrieval import Retrieval
from pytest_recall.metrics import ranking, squad
from pytest_recall.metrics.containment import best_candidate, contains_at_k
from pytest_recall.metrics.locomo import locomo_f1
from pytest_recall.metrics.mean import UNIT, Tally
from pytest_recall.metrics.rouge import rouge_l
from pytest_recall.metrics.text import contains, token_f1

Value = float | None
"""A score, with True and False as 1 and 0; None for a failure."""


class Metric(NamedTuple):
    """One number of a retrieval: what it is, whether it is yes or no, and its bounds."""

    about: str
    share: bool = False
    within: tuple[float, float] = UNIT

    def tally(self) -> Tally:
        """Return what adds its values up; it takes no others."""
        return Tally(share=self.share, within=self.within)


class Group(NamedTuple):
    """Metrics that are worked out together, from what the system gave in the field `given`.

    `asked` tells whether a retrieval says what it has to be compared with; `fails` whether an
    error counts as a failure of theirs.
    """

    metrics: dict[str, Metric]
    needs: str
    given: str
    asked: Callable[[Retrieval], bool]
    values: Callable[[Retrieval, int], Sequence[Value]]
    fails: bool = True


def _of_texts(one: Retrieval, k: int) -> Sequence[Value]:
    golds, retrieved = one.ground_truth or (), one.retrieved or ()
    best = [(gold, best_candidate(retrieved, gold)) for gold in golds]
    return (
        any(contains(found.text, gold) for gold, found in best),
        max(found.token_f1 for _, found in best),
        any(contains_at_k(retrieved, gold, k) for gold in golds),
    )


def _of_answer(one: Retrieval, k: int) -> Sequence[Value]:
    golds, answer = one.ground_truth or (), one.answer or ""
    return (
        any(contains(answer, gold) for gold in golds),
        max(token_f1(answer, gold) for gold in golds),
        squad.exact_match(answer, golds),
        squad.squad_f1(answer, golds),
    )


def _rouge(one: Retrieval, k: int) -> Sequence[Value]:
    return max((rouge_l(one.answer or "", gold) for gold in one.ground_truth or ()), key=lambda found: found.f)


def _locomo(one: Retrieval, k: int) -> Sequence[Value]:
    category = one.locomo_category
    assert category is not None
    return (max(locomo_f1(one.answer or "", gold, category) for gold in one.ground_truth or ("",)),)


def _ranks(one: Retrieval, k: int) -> Sequence[Value]:
    found, gold = one.retrieved_ids or (), one.evidence or ()
    return (
        ranking.recall_at_k(found, gold, k),
        ranking.precision_at_k(found, gold, k),
        ranking.hit_at_k(found, gold, k),
        ranking.all_at_k(found, gold, k),
        ranking.reciprocal_rank(found, gold, k),
        ranking.ndcg_at_k(found, gold, k),
        ranking.ndcg_longmemeval(found, gold, k),
    )


def _has_gold(one: Retrieval) -> bool:
    return one.ground_truth is not None


_COUNT = (0.0, inf)
GROUPS: tuple[Group, ...] = (
    Group(
        {
            "contains": Metric("the best of the texts, by token F1, contains the truth", share=True),
            "token_f1": Metric("token F1 of the best of the texts"),
            "contains_at_k": Metric("any of the first k texts contains the truth", share=True),
        },
        "`retrieved`, `ground_truth`",
        "retrieved",
        _has_gold,
        _of_texts,
    ),
    Group(
        {
            "answer_contains": Metric("the answer contains the truth", share=True),
            "answer_token_f1": Metric("token F1 of the answer"),
            "squad_exact_match": Metric("the answer is the truth, by SQuAD's normalization", share=True),
            "squad_f1": Metric("F1 of the answer, by SQuAD's normalization"),
        },
        "`answer`, `ground_truth`",
        "answer",
        _has_gold,
        _of_answer,
    ),
    Group(
        {
            "rouge_l_precision": Metric("the longest common subsequence as a share of the answer's words"),
            "rouge_l_recall": Metric("the same as a share of the truth's words"),
            "rouge_l_f": Metric("their harmonic mean"),
        },
        "`answer`, `ground_truth`",
        "answer",
        _has_gold,
        _rouge,
    ),
    Group(
        {"locomo_f1": Metric("F1 of stems by LoCoMo's rule for the category; needs `pytest-recall[metrics]`")},
        "`answer`, `category`, `ground_truth`",
        "answer",
        lambda one: one.locomo_category == 5 or (one.locomo_category is not None and _has_gold(one)),
        _locomo,
    ),
    Group(
        {
            "evidence_recall_at_k": Metric("the share of the evidence that is among the first k"),
            "evidence_precision_at_k": Metric("the share of k ranks that hold evidence"),
            "evidence_hit_at_k": Metric("any evidence is among the first k", share=True),
            "evidence_all_at_k": Metric("all evidence is among the first k", share=True),
            "reciprocal_rank": Metric("1 / the rank of the first evidence, 0 beyond k; the mean is MRR@k"),
            "ndcg_at_k": Metric("the discounted gain of the first k, as a share of the best possible one"),
            "ndcg_longmemeval": Metric("the same with LongMemEval's discount"),
        },
        "`retrieved_ids`, `evidence`",
        "retrieved_ids",
        lambda one: bool(one.evidence),
        _ranks,
    ),
    Group(
        {"abstention_precision": Metric("where it abstained: it should have", share=True)},
        "`abstained`, `unanswerable`",
        "abstained",
        lambda one: one.abstained is True and one.unanswerable is not None,
        lambda one, k: (one.unanswerable,),
        fails=False,
    ),
    Group(
        {"abstention_recall": Metric("where it should have abstained: it did", share=True)},
        "`abstained`, `unanswerable`",
        "abstained",
        lambda one: one.unanswerable is True,
        lambda one, k: (one.abstained,),
    ),
    Group(
        {"seconds": Metric("how long it took, of what came back at all", within=_COUNT)},
        "`seconds`",
        "seconds",
        lambda one: True,
        lambda one, k: (one.seconds,),
        fails=False,
    ),
    Group(
        {"tokens_stored": Metric("tokens stored, estimated as characters / 4 where not given", within=_COUNT)},
        "`tokens_stored` or `stored`",
        "kept",
        lambda one: True,
        lambda one, k: (one.kept,),
        fails=False,
    ),
    Group(
        {"tokens_read": Metric("tokens that came back, estimated as characters / 4 where not given", within=_COUNT)},
        "`tokens_read` or `retrieved`",
        "read",
        lambda one: True,
        lambda one, k: (one.read,),
        fails=False,
    ),
)
METRICS: dict[str, Metric] = {name: metric for group in GROUPS for name, metric in group.metrics.items()}
USUAL = tuple(name for name in METRICS if name != "locomo_f1")
"""What is measured unless somebody chooses: all but what needs an extra."""


def measure(one: Retrieval, k: int, chosen: Collection[str] = USUAL) -> dict[str, Value]:
    """Return the value of each of the `chosen` metrics that the retrieval allows; None is a failure.

    A metric is left out where the retrieval does not say what it needs: it is not measured
    then, which is something else than a failure, and than 0. Raises ModuleNotFoundError for
    `locomo_f1` without NLTK.
    """
    values: dict[str, Value] = {}
    for group in GROUPS:
        names = [name for name in group.metrics if name in chosen]
        if not names or not group.asked(one):
            continue
        if one.error is None and getattr(one, group.given) is not None:
            found = dict(zip(group.metrics, group.values(one, k), strict=True))
            values.update((name, found[name]) for name in names)
        elif group.fails and (one.error is not None or group.given in one.model_fields_set):
            values.update(dict.fromkeys(names))
    return values
