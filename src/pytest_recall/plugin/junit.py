"""JUnit: a case without a verdict is an error in the XML file that `--junitxml` writes, and no failure.

To pytest an exception in the call phase is a failure. It has a hook for the words of the terminal,
`pytest_report_teststatus`, and none for this file. What it has noted for the file is corrected here:
a plugin with a method `node_reporter`, whose `nodes` are the elements of a test case. A pytest of
another shape writes `<failure>`, as it does for every other test.

What a case is goes along as properties, which pytest writes into the file when the test is over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_recall.results.regressions import cause
from pytest_recall.trials.trial import Outcome

if TYPE_CHECKING:
    from pytest_recall.schedule.row import Row
    from pytest_recall.trials.trial import Trial

_PREFIX = "recall."


def describe(item: pytest.Item, trial: Trial, row: Row | None, *, regression: bool) -> None:
    """Have the element of a test case say what the case is, where its answer came from, and why it may have broken."""
    told = {
        "case": trial.case_id,
        "scenario": trial.scenario,
        "dimension": trial.dimension,
        "outcome": trial.outcome.value,
        "source": trial.source,
        "box": "" if row is None else str(row.box),
    }
    if regression and row is not None and trial.outcome is Outcome.FAILED:
        found = cause(trial, row)
        told |= {"cause": f"{found.label}: {found.evidence}"}
    kept = [(name, value) for name, value in item.user_properties if not name.startswith(_PREFIX)]
    item.user_properties[:] = [*kept, *((f"{_PREFIX}{name}", value) for name, value in told.items() if value)]


def as_error(config: pytest.Config, report: pytest.TestReport) -> None:
    """Make an error of the failure that was noted for this report, after all others have heard of it."""
    for plugin in config.pluginmanager.get_plugins():
        reporter, stats = getattr(plugin, "node_reporter", None), getattr(plugin, "stats", None)
        if not (callable(reporter) and isinstance(stats, dict) and {"failure", "error"} <= stats.keys()):
            continue
        for node in getattr(reporter(report), "nodes", ()):
            if node.tag == "failure":
                node.tag = "error"
                stats["failure"] -= 1
                stats["error"] += 1
