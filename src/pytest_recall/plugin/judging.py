"""Provide the models that judge in a session, and the judge fixtures that ask them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, get_args

import pytest

from pytest_recall.cases.settings_fields import JudgeKind
from pytest_recall.files.errors import RecallError
from pytest_recall.plugin.options import spelled
from pytest_recall.plugin.session import run_of
from pytest_recall.plugin.stash import CALIBRATIONS, CASSETTES, PANEL, is_case
from pytest_recall.replay import tape
from pytest_recall.trials.execution import Result

if TYPE_CHECKING:
    from pytest_recall.judges.calibration import Calibration, JudgeKey
    from pytest_recall.judges.model_judges import ModelJudge
    from pytest_recall.judges.panel import Panel
    from pytest_recall.plugin.session import Run
    from pytest_recall.trials.trial import WeakJudge

KINDS = get_args(JudgeKind)


def judge_of(config: pytest.Config, kind: JudgeKind) -> ModelJudge:
    """Return the judge that asks this session's models; without one, the test that wants it ends in one sentence.

    The known answers are put to them when the first case is about to be asked, on each worker
    for itself, so that only judges are tried that are needed there.
    """
    from pytest_recall.judges.model_judges import ModelJudge

    run = run_of(config)
    run.judged.add(True)
    rubric = run.plan.rubric
    try:
        panel = panel_of(config)
    except RecallError as error:
        pytest.fail(f"judge_{kind}: {error}", pytrace=False)
    judge = ModelJudge(kind, panel, rubric, rubric.judge.preflight if asks_live(config) else "off")
    judge.ready = tape.known_answers()(judge.ready)  # type: ignore[method-assign]
    return judge


def asks_live(config: pytest.Config) -> bool:
    """Whether judging models are asked about every answer of this run, and not some or all out of cassettes."""
    manager = config.stash[CASSETTES]
    return manager.mode in ("off", "record") or manager.player.ways["judge"] == "live"


def panel_of(config: pytest.Config) -> Panel:
    """Return the models that judge, found once. Raises RecallError if none is named, or one is not found."""
    panel = config.stash.get(PANEL, None)
    if panel is None:
        panel = config.stash[PANEL] = _panel(config)
    return panel


def _panel(config: pytest.Config) -> Panel:
    from pytest_recall.judges.calibrate import panel_of
    from pytest_recall.models.resolve import model_of

    run = run_of(config)
    plan, option, player = run.plan, config.option, config.stash[CASSETTES].player
    return panel_of(
        plan.rubric,
        tuple(option.recall_judge or ()),
        option.recall_appellate_judge,
        plan.place.name(plan.place.rubric),
        plan.context.seed,
        lambda selector: model_of(
            selector, "judge", player=player, root=plan.place.root, say=run.log.note, ready=not option.collectonly
        ),
    )


def asks_models(items: Iterable[pytest.Item]) -> bool:
    """Return whether a case among `items` has a fixture that asks a model to judge."""
    wanted = {f"judge_{kind}" for kind in KINDS}
    return any(is_case(item) and not wanted.isdisjoint(getattr(item, "fixturenames", ())) for item in items)


def note_asking(run: Run, session: pytest.Session) -> bool:
    """Note whether a case of this process asks a model to judge; return whether the command line names one."""
    option = run.config.option
    is_named = bool(option.recall_judge or option.recall_appellate_judge)
    if is_named and session.items:  # The controller of workers has none.
        run.judged.add(asks_models(session.items))
    return is_named


def idle_line(config: pytest.Config) -> str:
    """Return that the models which the command line names have no effect, since no case asks any."""
    given = (("judge", config.option.recall_judge), ("appellate-judge", config.option.recall_appellate_judge))
    names = " and ".join(spelled(config, name) for name, value in given if value)
    return f"{names} had no effect: no case of this run asks a model to judge"


def calibrations_of(config: pytest.Config) -> Mapping[JudgeKey, Calibration]:
    """Return the calibrations that the verdicts of this session are held to, read once. Raises RecallError."""
    found = config.stash.get(CALIBRATIONS, None)
    if found is None:
        from pytest_recall.judges.calibration_file import read_calibrations

        plan = run_of(config).plan
        path = plan.place.calibration
        asked = plan.rubric.judge.min_kappa is not None
        found = config.stash[CALIBRATIONS] = read_calibrations(path, plan.place.name(path)) if asked else {}
    return found


def weak_judges(config: pytest.Config, result: Result) -> tuple[WeakJudge, ...]:
    """Return why an outcome counts for nothing: a judge falls short of what the rubric asks for. Empty if it counts."""
    from pytest_recall.judges import calibration

    return calibration.weak_judges(result, calibrations_of(config), run_of(config).plan.rubric.judge.min_kappa)
