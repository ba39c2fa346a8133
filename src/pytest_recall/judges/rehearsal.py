"""Rehearsal: the built-in judges without their models, to find what they cannot judge by before anything is asked."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from pytest_recall.core.case import Case
from pytest_recall.core.rubric import Rubric
from pytest_recall.core.trial import Answer, Verdict
from pytest_recall.judges import benchmark, evidence, number, on_text, schema, similarity, text
from pytest_recall.judges.asked import INQUIRIES, prepared, signature

Judge = Callable[..., Verdict]


def rehearsals(rubric: Rubric) -> dict[str, Judge]:
    """Return the built-in judges by name, as they are called; those that ask a model only prepare the question.

    What one of them says of an answer is of no use. It raises ArgumentError for what `case` and its arguments leave
    it without, if that is so whatever the answer is.
    """
    return {
        "exact": on_text(text.exact),
        "contains": on_text(text.contains),
        "regex": on_text(text.regex),
        "token_f1": on_text(text.token_f1),
        "json_schema": on_text(schema.json_schema),
        "numeric": on_text(number.numeric),
        "similarity": on_text(similarity.rehearsed),
        "recall_at_k": evidence.recall_at_k,
        "benchmark": _benchmark,
        **{name: _asked(name, rubric) for name in INQUIRIES},
    }


def _benchmark(answer: Answer, case: Case, **arguments: Any) -> Verdict:
    """Score nothing: what it judges by depends on whether there is an answer."""
    return Verdict(passed=True, score=1.0)


_benchmark.__signature__ = inspect.signature(benchmark.benchmark)  # type: ignore[attr-defined]


def _asked(kind: str, rubric: Rubric) -> Judge:
    """Return a judge that asks a model, up to the question that it would put."""
    inquire = prepared(kind, rubric)

    def judge(answer: Answer, case: Case, **arguments: Any) -> Verdict:
        inquire(answer, case, **arguments)
        return Verdict(passed=True, score=1.0)

    judge.__signature__ = signature(kind)  # type: ignore[attr-defined]
    return judge
