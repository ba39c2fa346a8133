"""Follow the plan of the controller in a worker of pytest-xdist."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recall.plugin import start
from pytest_recall.plugin.recording import Recording
from pytest_recall.trials.trial import Row

if TYPE_CHECKING:
    from pytest_recall.schedule.changes import Changes


class Worker:
    """Follows the plan of the controller; registered in a worker of pytest-xdist."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_sessionstart(self) -> None:
        """Make a run from what the controller has sent."""
        _follow(self._config)


def _input(config: pytest.Config) -> Mapping[str, Any]:
    """Return what the controller has sent to this worker."""
    sent: Mapping[str, Any] = config.workerinput  # type: ignore[attr-defined]
    return sent


def _follow(config: pytest.Config) -> None:
    """Make a worker's run from what the controller sent."""
    given = _input(config).get("recall")
    if given is None:
        return
    from pytest_recall.cases.settings import Settings
    from pytest_recall.files.eval_directory import Place
    from pytest_recall.runs.base import Base
    from pytest_recall.runs.context import Context, Filters
    from pytest_recall.runs.plan import Plan
    from pytest_recall.runs.resume import Rest, Shard
    from pytest_recall.schedule.selection import Pick

    sent = json.loads(given)
    picks = tuple(Pick(*pick) for pick in sent["picks"])
    plan = Plan(
        place=Place(
            Path(sent["root"]), Path(sent["eval_dir"]), None if sent["artifacts"] is None else Path(sent["artifacts"])
        ),
        context=Context(**{**sent["context"], "date": date.fromisoformat(sent["context"]["date"])}),
        rubric=Settings.model_validate(sent["rubric"]),
        filters=Filters(
            scenarios=tuple(sent["filters"]["scenarios"]),
            dimensions=tuple(sent["filters"]["dimensions"]),
            explicit=sent["filters"]["explicit"],
            update=sent["filters"]["update"],
        ),
        rows=_rows(sent["rows"]),
        cases=frozenset(pick.case_id for pick in picks),
        picks=picks,
        base=Base(
            is_change=sent["is_change"],
            rows=None if sent["before"] is None else _rows(sent["before"]),
        ),
        unaffordable=frozenset(sent["unaffordable"]),
        changes=None if sent["changes"] is None else _changes(sent["changes"]),
        baselines=tuple(sent["baselines"]),
        shard=sent["shard"] and Shard(*sent["shard"]),
        rest=sent["rest"] and Rest.from_json(sent["rest"]),
    )
    run = start.make_run(config, plan.dealt())
    start.begin_recording(run, Recording(*sent["recording"]))


def _changes(sent: Mapping[str, Any]) -> Changes:
    from pytest_recall.schedule.changes import Changes, ReplayFinding

    return Changes({case_id: ReplayFinding.from_json(one) for case_id, one in sent.items()})


def _rows(sent: Mapping[str, Any]) -> dict[str, Row]:
    return {case_id: Row.from_json(row) for case_id, row in sent.items()}
