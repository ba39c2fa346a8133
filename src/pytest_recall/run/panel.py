"""Panel: the models that judge, as the rubric and the command line name them."""

from __future__ import annotations

from collections.abc import Callable

from pytest_recall.core.errors import RecallError
from pytest_recall.core.model import Model
from pytest_recall.core.rubric import Rubric
from pytest_recall.judges.panel import Panel


def panel_of(
    rubric: Rubric,
    judges: tuple[str, ...],
    appellate: str | None,
    name: str,
    seed: str,
    model_of: Callable[[str], Model],
) -> Panel:
    """Return the panel of these selectors, or of the rubric's, which messages call `name`.

    `model_of` finds the model of a selector. Raises RecallError if no judge is named, one is not
    found, or a setting would have no effect.
    """
    selectors = tuple(judges or rubric.judge)
    appellate = appellate or rubric.appellate_judge
    if not selectors:
        raise RecallError(f"asks a model, and none is named; give --judge SELECTOR, or `judge` in {name}")
    _check(rubric, selectors, appellate, name)
    return Panel(
        judges=tuple(map(model_of, selectors)),
        appellate=None if appellate is None else model_of(appellate),
        votes=rubric.votes,
        appeal=rubric.appeal,
        audit=rubric.audit_passes,
        attempts=rubric.judge_attempts,
        seed=seed,
    )


def _check(rubric: Rubric, selectors: tuple[str, ...], appellate: str | None, name: str) -> None:
    """Refuse what would have no effect, or not the one that is meant."""
    twice = next((selector for selector in selectors if selectors.count(selector) > 1), None)
    if twice is not None:
        raise RecallError(f"the judge `{twice}` is named twice; to ask it several times, set `votes` in {name}")
    if appellate in selectors:
        raise RecallError(f"the appellate judge `{appellate}` is a primary one as well; name another model")
    for field in ("appeal", "audit_passes"):
        if appellate is None and field in rubric.model_fields_set:
            raise RecallError(
                f"{name}: `{field}` has no effect without an appellate judge; give --appellate-judge, or"
                " `appellate_judge`"
            )
