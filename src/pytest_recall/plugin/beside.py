"""Beside: what pytest runs in this session that is not a case, as far as it failed."""

from __future__ import annotations

import pytest

_HOW = {
    "call": "failed",
    "collect": "could not be collected",
    "setup": "failed in its setup",
    "teardown": "failed in its teardown",
}


class Beside:
    """The tests and files that failed and are not cases; `cases` are the node ids of those that are."""

    def __init__(self) -> None:
        self.cases: set[str] = set()
        self._failed: dict[str, str] = {}

    def take(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        """Take in a report. That of a subtest comes before it is known that its test is a case."""
        if hasattr(report, "recall") or hasattr(report, "recall_unpaid"):
            self.cases.add(report.nodeid)
        elif report.failed and not hasattr(report, "wasxfail"):
            self._failed.setdefault(report.nodeid or "the session", _HOW.get(report.when or "", "crashed"))

    def failed(self) -> list[str]:
        """Return what failed, a test or a file each, in the order in which it did."""
        return [f"{node_id} {how}" for node_id, how in self._failed.items() if node_id not in self.cases]
