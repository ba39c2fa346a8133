"""Check the arguments of a case's judges before any model is called."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, get_args

from pytest_recall.cases.case import Case, JudgeCall
from pytest_recall.cases.settings_fields import JudgeKind
from pytest_recall.files.errors import CaseError
from pytest_recall.judges.built_in import TEXT_JUDGES, benchmark, recall_at_k
from pytest_recall.trials.execution import JudgeFunction, check_arguments, check_threshold, judged
from pytest_recall.trials.trial import Answer, Verdict

if TYPE_CHECKING:
    from pytest_recall.cases.settings import Settings


AnyJudge = Callable[..., Verdict]
BUILT_IN = (*TEXT_JUDGES, "recall_at_k", "benchmark", *get_args(JudgeKind))
"""The judges that a case may name without a fixture of the project's."""


def rehearsal(name: str, rubric: Settings) -> AnyJudge:
    """Return the built-in judge `name` as it is called; one that asks a model only prepares the question.

    What it says of an answer is of no use. It raises ArgumentError for what `case` and its arguments leave it
    without, if that is so whatever the answer is.
    """
    if name in TEXT_JUDGES:
        return TEXT_JUDGES[name].rehearsed
    if name == "recall_at_k":
        return recall_at_k
    if name == "benchmark":  # What it judges by depends on whether there is an answer.
        return _prepared(lambda answer, case, **arguments: None, inspect.signature(benchmark))
    from pytest_recall.judges import model_judges  # Most cases have a judge of text, and these take longer to load.

    return _prepared(model_judges.prepared(name, rubric), model_judges.signature(name))


def _prepared(prepare: Callable[..., Any], signature: inspect.Signature) -> AnyJudge:
    """Return a judge that decides nothing, and does what comes before that."""

    def judge(answer: Answer, case: Case, **arguments: Any) -> Verdict:
        prepare(answer, case, **arguments)
        return Verdict(passed=True, score=1.0)

    judge.__signature__ = signature  # type: ignore[attr-defined]
    return judge


def mistakes(case: Case, judges: Mapping[str, JudgeFunction], thresholds: Mapping[str, float]) -> list[str]:
    """Return what is wrong with how the case calls `judges`, which are rehearsals, one sentence each.

    A judge that is not among them is the project's own: what it takes is known when its fixture is set up.
    """
    found: list[str] = []
    scored = False
    for call in case.judges:
        if (judge := judges.get(call.name)) is None:
            scored = True  # For all that is known.
            continue
        if _cannot_be_wrong(call, case):
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


def _cannot_be_wrong(call: JudgeCall, case: Case) -> bool:
    """Whether nothing can be found: the call of most cases, which is not worth a judgement that is thrown away."""
    return (
        call.name in ("exact", "contains")
        and not call.arguments
        and isinstance(case.expected, str)
        and bool(case.expected.strip())
    )


def _never(awaitable: Awaitable[Any]) -> Any:
    raise NotImplementedError("no built-in judge is a coroutine")
