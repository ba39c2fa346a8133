"""Metrics of retrieval: recall@k, precision, MRR, nDCG and average precision of ranked ids.

`retrieved` are ids in the order of their ranks; an id that is there again counts at its first
place only. `gold` are the ids that hold the evidence, in any order. `k` is how many ranks
are looked at, 1 or more. Without gold ids there is nothing to find: None, where some
programs count 1 and others 0. Every function raises ValueError for k < 1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence, Set
from math import inf, log2
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from pytest_recall.metrics import answers
from pytest_recall.metrics.answers import (
    CATEGORIES,
    best_candidate,
    contains,
    contains_at_k,
    estimated_tokens,
    locomo_f1,
    rouge_l,
    token_f1,
)
from pytest_recall.metrics.intervals import UNIT, Tally


def recall_at_k(retrieved: Sequence[Hashable], gold: Iterable[Hashable], k: int) -> float | None:
    """Return the share, 0..1, of the gold ids that are among the first `k`."""
    wanted = frozenset(gold)
    found = sum(_hits(retrieved, wanted, k))
    return found / len(wanted) if wanted else None


def precision_at_k(retrieved: Sequence[Hashable], gold: Iterable[Hashable], k: int) -> float | None:
    """Return the share, 0..1, of `k` ranks that hold a gold id; a rank that is left empty holds none."""
    wanted = frozenset(gold)
    found = sum(_hits(retrieved, wanted, k))
    return found / k if wanted else None


def hit_at_k(retrieved: Sequence[Hashable], gold: Iterable[Hashable], k: int) -> bool | None:
    """Whether any gold id is among the first `k`."""
    wanted = frozenset(gold)
    found = any(_hits(retrieved, wanted, k))
    return found if wanted else None


def all_at_k(retrieved: Sequence[Hashable], gold: Iterable[Hashable], k: int) -> bool | None:
    """Whether every gold id is among the first `k`."""
    wanted = frozenset(gold)
    found = sum(_hits(retrieved, wanted, k))
    return found == len(wanted) if wanted else None


def reciprocal_rank(retrieved: Sequence[Hashable], gold: Iterable[Hashable], k: int) -> float | None:
    """Return 1 / the rank of the first gold id, 0.0 if none is among the first `k`; its mean is MRR@k.

    Voorhees 1999, “The TREC-8 Question Answering Track Report”.
    """
    wanted = frozenset(gold)
    hits = _hits(retrieved, wanted, k)
    first = 1 / (hits.index(True) + 1) if any(hits) else 0.0
    return first if wanted else None


def ndcg_at_k(retrieved: Sequence[Hashable], gold: Iterable[Hashable], k: int) -> float | None:
    """Return the normalized discounted cumulative gain, 0..1: a gold id at rank r gains 1 / log2(r + 1).

    Järvelin and Kekäläinen 2002, ACM Transactions on Information Systems 20:422, with the
    discount of Burges et al. 2005. The ideal has as many gold ids at the top as fit into k.
    """
    wanted = frozenset(gold)
    gained = sum(1 / log2(rank + 1) for rank, hit in enumerate(_hits(retrieved, wanted, k), start=1) if hit)
    ideal = sum(1 / log2(rank + 1) for rank in range(1, min(k, len(wanted)) + 1))
    return gained / ideal if wanted else None


def ndcg_longmemeval(retrieved: Sequence[Hashable], gold: Iterable[Hashable], k: int) -> float | None:
    """Return nDCG, 0..1, as LongMemEval publishes it: ranks 1 and 2 both gain 1, a later rank r gains 1 / log2(r).

    Wu et al. 2024, arXiv:2410.10813, by `eval_utils.py` of its repository. It does not tell
    the first rank from the second; compare it with values of the same kind only.
    """
    wanted = frozenset(gold)
    gained = sum(_late(rank) for rank, hit in enumerate(_hits(retrieved, wanted, k), start=1) if hit)
    ideal = sum(map(_late, range(1, min(k, len(wanted)) + 1)))
    return gained / ideal if wanted else None


def _late(rank: int) -> float:
    return 1.0 if rank == 1 else 1 / log2(rank)


def _hits(retrieved: Sequence[Hashable], wanted: Set[Hashable], k: int) -> list[bool]:
    """Return for each of the first `k` ranks whether it holds a gold id that no earlier one held."""
    if k < 1:
        raise ValueError(f"k is {k}; it counts ranks, and is 1 or more")
    left, hits = set(wanted), []
    for found in retrieved[:k]:
        hits.append(found in left)
        left.discard(found)
    return hits


MAX_ANSWER = 100_000
MAX_K = 1_000_000
_NUMBERS = {name: number for number, name in CATEGORIES.items()} | {str(number): number for number in CATEGORIES}


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _golds(value: Any) -> Any:
    golds = value if isinstance(value, list) else [value]
    for gold in golds:
        if isinstance(gold, bool) or not isinstance(gold, str | int | float):
            raise ValueError(f"{json.dumps(gold)[:60]} is not an answer; give text, a number, or a list of them")
        if gold == "":
            raise ValueError("is empty, and nothing can contain it; write some text, or leave it out")
        if len(str(gold)) > MAX_ANSWER:
            raise ValueError(f"has more than {MAX_ANSWER:,} characters, which is not an answer; give a short one")
    return [str(gold) for gold in golds]


Name = Annotated[StrictStr, Field(min_length=1, max_length=1000), BeforeValidator(_as_text)]
Text = Annotated[StrictStr, Field(max_length=MAX_ANSWER)]
Count = Annotated[StrictInt, Field(ge=0, le=10**15)]


class Retrieval(BaseModel):
    """What came back for one question. A field that is absent is not measured; null is a failure to give it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[Name, Field(description="Unique in the input; text, or a whole number, which is text then.")]
    question: StrictStr | None = Field(default=None, description="For the reader; nothing looks at it.")
    category: Name | None = Field(
        default=None,
        description="The summary has the means of each category. `locomo_f1` takes 1 to 5, or LoCoMo's names.",
    )
    k: Annotated[StrictInt, Field(ge=1, le=MAX_K)] | None = Field(
        default=None, description="How many ranks count; the same in all lines. Without it, `--k`."
    )
    ground_truth: Annotated[tuple[str, ...], Field(min_length=1, max_length=100), BeforeValidator(_golds)] | None = (
        Field(
            default=None,
            description="The right answer: text, a number, or a list of such, of which the best fit counts.",
        )
    )
    retrieved: tuple[StrictStr, ...] | None = Field(
        default=None, description="The texts that came back, the first rank first; an empty list is an answer too."
    )
    retrieved_ids: tuple[Name, ...] | None = Field(default=None, description="The ids of what came back, by rank.")
    evidence: tuple[Name, ...] | None = Field(
        default=None, description="The ids that hold the evidence; with none of them, rankings are not measured."
    )
    answer: Text | None = Field(default=None, description="What the system answered from what came back.")
    abstained: StrictBool | None = Field(default=None, description="Whether it said that it does not know.")
    unanswerable: StrictBool | None = Field(default=None, description="Whether it should have said so.")
    seconds: Annotated[StrictFloat, Field(ge=0, le=1e9)] | None = Field(
        default=None, description="How long the system took."
    )
    stored: tuple[StrictStr, ...] | None = Field(default=None, description="What was stored; its tokens are estimated.")
    tokens_stored: Count | None = Field(default=None, description="How many tokens were stored, where that is known.")
    tokens_read: Count | None = Field(
        default=None, description="How many tokens came back; without it an estimate over `retrieved`."
    )
    error: Annotated[StrictStr, Field(min_length=1)] | None = Field(
        default=None, description="Why nothing came back: a failure, whatever else the line says."
    )

    @property
    def locomo_category(self) -> int | None:
        """The category as LoCoMo numbers it; None for another one."""
        return _NUMBERS.get(self.category or "")

    @property
    def read(self) -> int | None:
        """The tokens that came back, counted or estimated; None where nothing says."""
        return _tokens(self.tokens_read, self.retrieved)

    @property
    def kept(self) -> int | None:
        """The tokens that were stored, counted or estimated; None where nothing says."""
        return _tokens(self.tokens_stored, self.stored)


def _tokens(counted: int | None, texts: tuple[str, ...] | None) -> int | None:
    if counted is not None or texts is None:
        return counted
    return estimated_tokens(texts)


MetricValue = float | None
"""A score, with True and False as 1 and 0; None for a failure."""


class Metric(NamedTuple):
    """One number of a retrieval: what it is, whether it is yes or no, and its bounds."""

    about: str
    share: bool = False
    within: tuple[float, float] = UNIT

    def tally(self) -> Tally:
        """Return what adds its values up; it takes no others."""
        return Tally(share=self.share, within=self.within)


class MetricGroup(NamedTuple):
    """Metrics that are worked out together."""

    metrics: dict[str, Metric]
    needs: str
    given: str
    """The field in which the system gave what they are worked out from."""
    asked: Callable[[Retrieval], bool]
    """Whether a retrieval says what it has to be compared with."""
    values: Callable[[Retrieval, int], Sequence[MetricValue]]
    fails: bool = True
    """Whether an error counts as a failure of these metrics."""


def _of_texts(one: Retrieval, k: int) -> Sequence[MetricValue]:
    golds, retrieved = one.ground_truth or (), one.retrieved or ()
    best = [(gold, best_candidate(retrieved, gold)) for gold in golds]
    return (
        any(contains(found.text, gold) for gold, found in best),
        max(found.token_f1 for _, found in best),
        any(contains_at_k(retrieved, gold, k) for gold in golds),
    )


def _of_answer(one: Retrieval, k: int) -> Sequence[MetricValue]:
    golds, answer = one.ground_truth or (), one.answer or ""
    return (
        any(contains(answer, gold) for gold in golds),
        max(token_f1(answer, gold) for gold in golds),
        answers.exact_match(answer, golds),
        answers.squad_f1(answer, golds),
    )


def _rouge(one: Retrieval, k: int) -> Sequence[MetricValue]:
    return max((rouge_l(one.answer or "", gold) for gold in one.ground_truth or ()), key=lambda found: found.f)


def _locomo(one: Retrieval, k: int) -> Sequence[MetricValue]:
    category = one.locomo_category
    assert category is not None
    return (max(locomo_f1(one.answer or "", gold, category) for gold in one.ground_truth or ("",)),)


def _ranks(one: Retrieval, k: int) -> Sequence[MetricValue]:
    found, gold = one.retrieved_ids or (), one.evidence or ()
    return (
        recall_at_k(found, gold, k),
        precision_at_k(found, gold, k),
        hit_at_k(found, gold, k),
        all_at_k(found, gold, k),
        reciprocal_rank(found, gold, k),
        ndcg_at_k(found, gold, k),
        ndcg_longmemeval(found, gold, k),
    )


def _has_gold(one: Retrieval) -> bool:
    return one.ground_truth is not None


_COUNT = (0.0, inf)
GROUPS: tuple[MetricGroup, ...] = (
    MetricGroup(
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
    MetricGroup(
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
    MetricGroup(
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
    MetricGroup(
        {"locomo_f1": Metric("F1 of stems by LoCoMo's rule for the category; needs `pytest-recall[metrics]`")},
        "`answer`, `category`, `ground_truth`",
        "answer",
        lambda one: one.locomo_category == 5 or (one.locomo_category is not None and _has_gold(one)),
        _locomo,
    ),
    MetricGroup(
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
    MetricGroup(
        {"abstention_precision": Metric("where it abstained: it should have", share=True)},
        "`abstained`, `unanswerable`",
        "abstained",
        lambda one: one.abstained is True and one.unanswerable is not None,
        lambda one, k: (one.unanswerable,),
        fails=False,
    ),
    MetricGroup(
        {"abstention_recall": Metric("where it should have abstained: it did", share=True)},
        "`abstained`, `unanswerable`",
        "abstained",
        lambda one: one.unanswerable is True,
        lambda one, k: (one.abstained,),
    ),
    MetricGroup(
        {"seconds": Metric("how long it took, of what came back at all", within=_COUNT)},
        "`seconds`",
        "seconds",
        lambda one: True,
        lambda one, k: (one.seconds,),
        fails=False,
    ),
    MetricGroup(
        {"tokens_stored": Metric("tokens stored, estimated as characters / 4 where not given", within=_COUNT)},
        "`tokens_stored` or `stored`",
        "kept",
        lambda one: True,
        lambda one, k: (one.kept,),
        fails=False,
    ),
    MetricGroup(
        {"tokens_read": Metric("tokens that came back, estimated as characters / 4 where not given", within=_COUNT)},
        "`tokens_read` or `retrieved`",
        "read",
        lambda one: True,
        lambda one, k: (one.read,),
        fails=False,
    ),
)
METRICS: dict[str, Metric] = {name: metric for group in GROUPS for name, metric in group.metrics.items()}
OF_ANSWERS = frozenset(name for group in GROUPS if group.given in ("answer", "abstained") for name in group.metrics)
"""What looks at the answer, and at nothing that was retrieved."""
OF_EVIDENCE = frozenset(name for group in GROUPS if group.given == "retrieved_ids" for name in group.metrics)
"""What needs to know which texts came back."""
USUAL = tuple(name for name in METRICS if name != "locomo_f1")
"""What is measured unless someone chooses: all but what needs an extra."""


def measure(one: Retrieval, k: int, chosen: Collection[str] = USUAL) -> dict[str, MetricValue]:
    """Return the value of each of the `chosen` metrics that the retrieval allows; None is a failure.

    A metric is left out where the retrieval does not say what it needs: it is not measured
    then, which is something else than a failure, and than 0. Raises ModuleNotFoundError for
    `locomo_f1` without NLTK.
    """
    values: dict[str, MetricValue] = {}
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
