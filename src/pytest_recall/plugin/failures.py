"""Collect what failed in a session: cases, which the scorecard shows once, and what is not a case."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pytest_recall.plugin.options import AGAIN
from pytest_recall.plugin.pytest_internals import terminal_writer, was_debugged
from pytest_recall.trials.trial import Outcome, Trial

_CATEGORIES = ("failed", "error", "xfailed")


class Failures:
    """The reports of the cases that failed or came to no verdict, by case id."""

    def __init__(self) -> None:
        self._reports: dict[str, list[pytest.TestReport]] = {}

    def take(self, trial: Trial, report: pytest.TestReport) -> None:
        """Take in the report that came with `trial`; one of a later attempt takes the place of those before."""
        # What a test itself expects to fail is skipped, to us.
        expected = hasattr(report, "wasxfail") and trial.outcome is not Outcome.SKIPPED
        if report.when != "teardown":
            self._reports.pop(trial.case_id, None)
        if report.outcome != AGAIN and (report.failed or expected):
            self._reports.setdefault(trial.case_id, []).append(report)

    @contextmanager
    def left_out(self, reporter: pytest.TerminalReporter) -> Iterator[None]:
        """Leave these cases out of pytest's own sections and short summary; they stay in its counts."""
        stats = reporter.stats
        kept = {name: stats[name] for name in _CATEGORIES if name in stats}
        own = {id(report) for reports in self._reports.values() for report in reports}
        for name, reports in kept.items():
            stats[name] = [report for report in reports if id(report) not in own]
        try:
            yield
        finally:
            stats.update(kept)

    def shown(self, reporter: pytest.TerminalReporter) -> dict[str, str]:
        """Return what pytest would show of each case, by id; nothing with `--tb=no` and `--tb=line`."""
        if reporter.config.option.tbstyle in ("no", "line"):
            return {}
        ends = {report.nodeid: report for report in reporter.getreports("") if report.when == "teardown"}
        return {
            case_id: "\n".join(
                _text(report, ends.get(report.nodeid), reporter) for report in reports if not was_debugged(report)
            )
            for case_id, reports in self._reports.items()
        }


def _text(report: pytest.TestReport, end: pytest.TestReport | None, reporter: pytest.TerminalReporter) -> str:
    """Return a report as pytest prints it, with what was captured up to its `end`, in the colours of the terminal."""
    file, terminal = io.StringIO(), terminal_writer(reporter)
    writer = type(terminal)(file)
    writer.hasmarkup, writer.code_highlight = terminal.hasmarkup, terminal.code_highlight
    writer.fullwidth = max(40, terminal.fullwidth - 6)
    if isinstance(report.longrepr, str):  # An answer is in it, which must not steer the terminal.
        writer.line("".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in report.longrepr))
    else:
        report.toterminal(writer)
    captured = reporter.config.option.showcapture
    sections = [*report.sections, *(one for one in (end.sections if end else ()) if "teardown" in one[0])]
    for name, content in sections:
        if captured == "all" or (captured != "no" and captured in name):
            writer.sep("-", name)
            writer.line(content.removesuffix("\n"))
    return file.getvalue().rstrip("\n")


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
