"""Define what the plugin keeps in the stash of the config and of items, and what it has reports carry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_recall.judges.calibration import Calibration, JudgeKey
    from pytest_recall.judges.panel import Panel
    from pytest_recall.models.model import Model
    from pytest_recall.plugin.item_state import ItemState
    from pytest_recall.replay.watch import Watch
    from pytest_recall.trials.baseline_agents import PlainModel
    from pytest_recall.trials.trial import Trial

# What is `Any` here is of a class whose module imports this one; `session.run_of` returns the run with its type.
RUN: pytest.StashKey[Any] = pytest.StashKey()
"""On the config: the run, as soon as there is a case."""
FOREIGN: pytest.StashKey[list[Path]] = pytest.StashKey()
"""On the config: files that are called like case files and are not this project's."""
LAST_TRIALS: pytest.StashKey[tuple[str, list[Trial]]] = pytest.StashKey()
"""What was put on the last report: its text, and the trials in it if these are of this report alone."""
CURRENT: pytest.StashKey[pytest.Item] = pytest.StashKey()
"""On the config: the case that is run in this process, or that was run last."""
WATCH: pytest.StashKey[Watch] = pytest.StashKey()
"""On the config: what stands before the clients of a replay, from before the conftest files on."""
LATER: pytest.StashKey[bool] = pytest.StashKey()
"""On the config: whether the clock of this process is set ahead."""
CASSETTES: pytest.StashKey[Any] = pytest.StashKey()
"""On the config: the cassettes, if calls are recorded or replayed."""
LOOPS: pytest.StashKey[Any] = pytest.StashKey()
"""On the config: the event loops of other plugins, as soon as there is an async fixture."""
PANEL: pytest.StashKey[Panel] = pytest.StashKey()
"""On the config: the models that judge, as soon as a judge asks one."""
MODELS: pytest.StashKey[dict[str, PlainModel]] = pytest.StashKey()
"""On the config: the models that are asked as agents, by selector."""
MODELS_OF_FILES: pytest.StashKey[dict[tuple[str, str, str], Model]] = pytest.StashKey()
"""On the config: the models that files name themselves, by file, kind of call and selector."""
CALIBRATIONS: pytest.StashKey[Mapping[JudgeKey, Calibration]] = pytest.StashKey()
"""On the config: the calibrations that verdicts are held to, as soon as one is."""
STATE: pytest.StashKey[ItemState] = pytest.StashKey()
"""On an item: what is known of it; absent on tests that are none of ours."""
RERUN: str = "rerun"
"""The outcome, to pytest, of a trial that is not the last of its series: the one that report plugins know."""
ERROR: str = "error"
"""The status of a case without a verdict."""
CRASHED = "???"
"""When, by the report that xdist makes up, an item ended whose worker died."""


def state_of(item: pytest.Item) -> ItemState:
    """Return the state of an item that runs a case. Raises KeyError for any other test."""
    return item.stash[STATE]


def is_case(item: pytest.Item) -> bool:
    """Whether an item runs a case: a row of a case file, or a test with the mark."""
    return STATE in item.stash


class ReportData(TypedDict, total=False):
    """What a report carries of ours, as its attribute `recall`.

    It is plain data only, since plugins send reports to other processes and write them to files.
    """

    trials: str
    """The JSON text of the trial, after those that were on no report that pytest has shown."""
    status: str
    """What the case came to, where pytest has no word for it: `error`, or the outcome of a baseline after `baseline `;
    empty for all else."""
    unpaid: str
    """Whom there was no money to ask, in place of a trial: a baseline by its name, or empty the agent under test."""
    dry: str
    """The JSON text of what the replay of a case has found."""
    uncollected: str
    """What is wrong with a case file that could not be collected."""
    collection: str
    """The JSON text of what a worker has learned since its last report."""


def data_of(report: object) -> ReportData:
    """Return what a report carries of ours; nothing of one of another test."""
    return getattr(report, "recall", None) or ReportData()


def add_data(report: object, **data: Unpack[ReportData]) -> None:
    """Have a report carry more."""
    vars(report).setdefault("recall", {}).update(data)
