"""JUnit: a case without a verdict is an error in the XML file that `--junitxml` writes, and no failure.

To pytest an exception in the call phase is a failure. It has a hook for the words of the terminal,
`pytest_report_teststatus`, and none for this file. What it has noted for the file is corrected here:
a plugin with a method `node_reporter`, whose `nodes` are the elements of a test case. A pytest of
another shape writes `<failure>`, as it does for every other test.
"""

from __future__ import annotations

import pytest


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
