"""Rehearsal of a case: what keeps its judges from a verdict, whatever the agent answers."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any

from pytest_recall.core.case import Case
from pytest_recall.core.errors import CaseError
from pytest_recall.core.trial import Answer
from pytest_recall.run.execute import Judge, check_arguments, check_threshold, judged


def mistakes(case: Case, judges: Mapping[str, Judge], thresholds: Mapping[str, float]) -> list[str]:
    """Return what is wrong with how the case calls `judges`, which are rehearsals, one sentence each.

    A judge that is not among them is the project's own: what it takes is known when its fixture is set up.
    """
    found: list[str] = []
    scored = False
    for call in case.judges:
        if (judge := judges.get(call.name)) is None:
            scored = True  # For all that is known.
            continue
        try:
            check_arguments(call, judge)
            scored = judged(call, judge, Answer(text=""), case, thresholds, _never, ())[1] or scored
        except CaseError as error:
            found.append(f"judges: {str(error).removeprefix('judge ')}")
            scored = True
    try:
        check_threshold(case, scored)
    except CaseError as error:
        found.append(str(error))
    return found


def _never(awaitable: Awaitable[Any]) -> Any:
    raise NotImplementedError("no built-in judge is a coroutine")
