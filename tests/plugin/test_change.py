"""What a run of a change may spend: what earlier runs of the day have left of the rubric's budget."""

from __future__ import annotations

import pytest

from pytest_recall.cases.settings import DEFAULT_SETTINGS, Settings
from pytest_recall.plugin.change import budget_of
from pytest_recall.plugin.recording import Recording
from pytest_recall.plugin.replay_first import KnownChange
from pytest_recall.runs.base import NO_BASE
from pytest_recall.runs.ci import job_of
from pytest_recall.runs.context import CommandLine, resolve
from pytest_recall.runs.evidence import NO_RUNS
from tests.helpers.samples import TODAY

TODAY_TEXT = TODAY.isoformat()


@pytest.mark.parametrize(
    ("mode", "spent", "own", "left"),
    [
        ("pr", {}, None, (5.0, None)),
        ("pr", {TODAY_TEXT: 2.0}, None, (3.0, 5.0)),
        ("pr", {TODAY_TEXT: 9.0}, None, (0.0, 5.0)),
        ("pr", {"2001-01-01": 2.0}, None, (5.0, None)),
        ("pr", {TODAY_TEXT: 2.0}, 1.0, (3.0, None)),
        ("nightly", {TODAY_TEXT: 2.0}, None, (None, None)),
    ],
    ids=["nothing spent", "some spent", "all spent", "another day", "a budget of the command line", "no change"],
)
def test_a_run_may_spend_what_the_day_has_left(
    mode: str, spent: dict[str, float], own: float | None, left: tuple[float | None, float | None]
) -> None:
    recording = Recording("missing", "", "run-1", None, trusted=False, budget=own)
    change = KnownChange(
        NO_BASE, Settings(owner="us", budget=5.0), recording, job_of({}), earlier=NO_RUNS._replace(spent=spent)
    )
    context = resolve(CommandLine(seed="1", mode=mode), {}, DEFAULT_SETTINGS, TODAY)
    assert budget_of(change, context) == left
