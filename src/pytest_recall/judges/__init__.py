"""Verdicts: the built-in judges, each a pure function from an answer's text to a Verdict."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from pytest_recall.cases.case import Case
from pytest_recall.files.errors import ArgumentError
from pytest_recall.trials.trial import Answer, Verdict


def on_text(check: Callable[..., Verdict]) -> Callable[..., Verdict]:
    """Return the judge that gives `check` the answer's text and the case's `expected`.

    A judge is a callable `(answer, case, **arguments)`; `check` is one of the pure
    functions `(text, expected, **arguments)`. Its arguments stay visible in the signature.
    """
    parameters = list(inspect.signature(check).parameters.values())[1:]
    required = parameters[0].default is inspect.Parameter.empty

    def judge(answer: Answer, case: Case, **arguments: Any) -> Verdict:
        expected = arguments.pop("expected", case.expected)
        if expected is None and required:
            raise ArgumentError("needs `expected`; give it in the case or as an argument")
        return check(answer.text, expected, **arguments)

    leading = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ("answer", "case")]
    keywords = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    judge.__signature__ = inspect.Signature(leading + keywords)  # type: ignore[attr-defined]
    judge.__doc__ = check.__doc__
    return judge
