"""Count trials correctly under plugins that call an item again without a report, or rewrite its report."""

from __future__ import annotations

import json

import pytest

from pytest_recall.files.wording import one_line
from pytest_recall.plugin.baselines import STATUS
from pytest_recall.plugin.stash import add_data, data_of, state_of
from pytest_recall.plugin.trials import put_trial_on_report, trial_of
from pytest_recall.trials.execution import Result
from pytest_recall.trials.trial import Outcome


def note_unreported(item: pytest.Item) -> None:
    """Keep the trial of a call that a plugin repeats without a report of it, such as pytest-retry does."""
    call = _last_call(item)
    put_trial_on_report(item, call, pytest.TestReport.from_item_and_call(item, call))


def _last_call(item: pytest.Item) -> pytest.CallInfo[None]:
    """Return the call of which there is no report yet."""
    raised = state_of(item).raised

    def again() -> None:
        if raised is not None:
            raise raised

    return pytest.CallInfo.from_call(again, when="call")


def settle(item: pytest.Item, report: pytest.TestReport) -> None:
    """Give a report the trial of its last call, or the trial the outcome that another plugin gave the report."""
    if state_of(item).unreported:
        put_trial_on_report(item, _last_call(item), report)
    elif report.outcome in _OUTCOMES:
        _rewrite(item, report)


_OUTCOMES = {"passed": Outcome.PASSED, "failed": Outcome.FAILED, "skipped": Outcome.SKIPPED}


def _rewrite(item: pytest.Item, report: pytest.TestReport) -> None:
    """Give the trial the outcome that another plugin gave the report."""
    *earlier, _ = json.loads(data_of(report)["trials"])
    outcome = _OUTCOMES[report.outcome]
    expected = getattr(report, "wasxfail", None)
    why = str(report.longrepr or "") if expected is None else str(expected)
    ended_by = "" if outcome is not Outcome.SKIPPED else "skip" if expected is None else "xfail"
    state = state_of(item)
    result = (state.result or Result(outcome))._replace(
        outcome=outcome, error="" if report.passed else one_line(why), ended_by=ended_by, stage="", outage=None
    )
    state.trial = trial = trial_of(item, result)
    state.outcome = outcome
    status = f"{STATUS}{outcome}" if state.arm else ""
    add_data(report, trials=json.dumps([*earlier, trial.to_json()]), status=status)
