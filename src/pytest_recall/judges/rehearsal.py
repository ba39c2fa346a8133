"""Rehearsal: the built-in judges without their models, to find what they cannot judge by before anything is asked."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pytest_recall.core.case import Case
from pytest_recall.core.trial import Answer, Verdict
from pytest_recall.judges import on_text

if TYPE_CHECKING:
    from pytest_recall.core.rubric import Rubric

Judge = Callable[..., Verdict]


def rehearsal(name: str, rubric: Rubric) -> Judge:
    """Return the built-in judge `name` as it is called; one that asks a model only prepares the question.

    What it says of an answer is of no use. It raises ArgumentError for what `case` and its arguments leave it
    without, if that is so whatever the answer is.
    """
    # Imported as they are needed: most cases have a judge of text, and those that ask models take longer to load.
    match name:
        case "exact" | "contains" | "regex" | "token_f1":
            from pytest_recall.judges import text

            return on_text(getattr(text, name))
        case "json_schema":
            from pytest_recall.judges.schema import json_schema

            return on_text(json_schema)
        case "numeric":
            from pytest_recall.judges.number import numeric

            return on_text(numeric)
        case "similarity":
            from pytest_recall.judges.similarity import rehearsed

            return on_text(rehearsed)
        case "recall_at_k":
            from pytest_recall.judges.evidence import recall_at_k

            return recall_at_k
        case "benchmark":
            from pytest_recall.judges.benchmark import benchmark

            # What it judges by depends on whether there is an answer.
            return _prepared(lambda answer, case, **arguments: None, inspect.signature(benchmark))
    from pytest_recall.judges import asked

    return _prepared(asked.prepared(name, rubric), asked.signature(name))


def _prepared(prepare: Callable[..., Any], signature: inspect.Signature) -> Judge:
    """Return a judge that decides nothing, and does what comes before that."""

    def judge(answer: Answer, case: Case, **arguments: Any) -> Verdict:
        prepare(answer, case, **arguments)
        return Verdict(passed=True, score=1.0)

    judge.__signature__ = signature  # type: ignore[attr-defined]
    return judge
