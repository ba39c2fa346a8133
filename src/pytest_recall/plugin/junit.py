"""Write what a case is into JUnit's XML, and a case without a verdict as an error.

To pytest an exception in the call phase is a failure. It has a hook for the words of the terminal,
`pytest_report_teststatus`, and none for this file. What it has noted for the file is corrected here:
a plugin with a method `node_reporter`, whose `nodes` are the elements of a test case. A pytest of
another shape writes `<failure>`, as it does for every other test.

What a case is goes along as properties, which pytest writes into the file when the test is over.
"""

from __future__ import annotations

import pytest

from pytest_recall.plugin.session import run_of
from pytest_recall.plugin.stash import ERROR, STATE, data_of
from pytest_recall.results.cause_text import cause_line
from pytest_recall.results.regressions import cause
from pytest_recall.trials.trial import Outcome

PREFIX = "recall."
"""What the name of each property of ours begins with."""


class JUnitReport:
    """Registered where the session writes JUnit's XML."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Have the element of a test case say what the case is, where its answer came from, and why it may have broken.

        Not later: the report of the teardown, from which pytest takes the properties, is made after this.
        """
        state = item.stash.get(STATE, None)
        trial = None if state is None else state.trial
        if state is None or trial is None or trial.arm:
            return
        row = run_of(self._config).plan.before.get(trial.case_id)
        properties = {
            "case": trial.case_id,
            "scenario": trial.scenario,
            "dimension": trial.dimension,
            "outcome": trial.outcome.value,
            "source": trial.source,
            "box": "" if row is None else str(row.box),
        }
        if row is not None and trial.outcome is Outcome.FAILED and state.is_regression(row):
            properties["cause"] = cause_line(cause(trial, row))
        others = [(name, value) for name, value in item.user_properties if not name.startswith(PREFIX)]
        ours = [(f"{PREFIX}{name}", value) for name, value in properties.items() if value]
        item.user_properties[:] = [*others, *ours]

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Make an error of the failure that was noted for a trial without a verdict, after all others have seen it."""
        if not (report.when == "call" and report.failed and data_of(report).get("status") == ERROR):
            return
        for plugin in self._config.pluginmanager.get_plugins():
            reporter, stats = getattr(plugin, "node_reporter", None), getattr(plugin, "stats", None)
            if not (callable(reporter) and isinstance(stats, dict) and {"failure", "error"} <= stats.keys()):
                continue
            for node in getattr(reporter(report), "nodes", ()):
                if node.tag == "failure":
                    node.tag = "error"
                    stats["failure"] -= 1
                    stats["error"] += 1
