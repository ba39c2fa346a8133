"""Judging: the models that judge in this session, and the fixtures' judges over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import pytest

from pytest_recall.core.criteria import JudgeKind
from pytest_recall.core.errors import RecallError
from pytest_recall.plugin import start
from pytest_recall.plugin.stash import DECK, PANEL

if TYPE_CHECKING:
    from pytest_recall.core.rubric import Rubric
    from pytest_recall.judges.asked import ModelJudge
    from pytest_recall.judges.panel import Panel

KINDS = get_args(JudgeKind)


def judge_of(config: pytest.Config, kind: JudgeKind) -> ModelJudge:
    """Return the judge that asks this session's models; without one, the test that wants it ends in one sentence.

    The known answers are put to them when the first case is about to be asked, on each worker
    for itself, so that only judges are tried that are needed there.
    """
    from pytest_recall.judges.asked import ModelJudge

    run = start.run_of(config)
    deck = config.stash[DECK]
    recorded = deck.mode != "off" and deck.player.ways["judge"] == "cassette"
    rubric = run.plan.rubric
    try:
        panel = panel_of(config)
    except RecallError as error:
        pytest.fail(f"judge_{kind}: {error}", pytrace=False)
    # A judge on cassettes is not asked today; and a recording must hold the calls of its own case only.
    return ModelJudge(kind, panel, rubric, "off" if recorded else rubric.preflight)


def panel_of(config: pytest.Config) -> Panel:
    """Return the models that judge, found once. Raises RecallError if none is named, or one is not found."""
    panel = config.stash.get(PANEL, None)
    if panel is None:
        panel = config.stash[PANEL] = _panel(config)
    return panel


def _panel(config: pytest.Config) -> Panel:
    from pytest_recall.judges.panel import Panel
    from pytest_recall.plugin.models import model_of

    plan = start.run_of(config).plan
    rubric = plan.rubric
    name = plan.place.name(plan.place.rubric)
    selectors = tuple(config.option.recall_judge or rubric.judge)
    appellate = config.option.recall_appellate_judge or rubric.appellate_judge
    if not selectors:
        raise RecallError(f"asks a model, and none is named; give --judge SELECTOR, or `judge` in {name}")
    _check(rubric, selectors, appellate, name)
    return Panel(
        judges=tuple(model_of(config, selector, "judge") for selector in selectors),
        appellate=None if appellate is None else model_of(config, appellate, "judge"),
        votes=rubric.votes,
        appeal=rubric.appeal,
        audit=rubric.audit_passes,
        attempts=rubric.judge_attempts,
        seed=plan.context.seed,
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
