"""A case put to an agent and its judges, as `run_case` does it; for the tests of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from pytest_recall.cases.case import Case
from pytest_recall.files.errors import CaseError
from pytest_recall.judges.built_in import contains, exact, on_text, token_f1
from pytest_recall.trials.execution import Result, run_case

SAID = "One pound a day."
BUILT_IN = {"exact": on_text(exact), "contains": on_text(contains), "token_f1": on_text(token_f1)}


def wait(awaitable: Awaitable[Any]) -> Any:
    """Run an awaitable to its end."""

    async def done() -> Any:
        return await awaitable

    return asyncio.run(done())


def says(text: Any) -> Callable[[Any], Any]:
    """Return an agent that always gives the same answer."""
    return lambda question: text


def tried(
    one: Case,
    agent: Any = says(SAID),  # noqa: B008 - a constant
    thresholds: Mapping[str, float] | None = None,
    **judges: Any,
) -> Result:
    """Run a case with the built-in judges and those given."""
    return run_case(
        one,
        agent,
        {**BUILT_IN, **judges},
        thresholds=thresholds or {},
        wait=wait,
        clock=iter([100.0, 102.5]).__next__,
    )


def broken(one: Case, agent: Any = says(SAID), **judges: Any) -> CaseError:  # noqa: B008
    """Return the error of a case that comes to no verdict."""
    with pytest.raises(CaseError) as caught:
        tried(one, agent, **judges)
    return caught.value


def never(question: Any) -> str:
    """Fail the test: this agent should not have been asked."""
    raise AssertionError("the agent was asked")
