"""Repeats: one item, several trials of its case, and one verdict for pytest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_recall.files.wording import plural
from pytest_recall.plugin import baselines
from pytest_recall.plugin.options import AGAIN
from pytest_recall.plugin.pytest_internals import renew_request
from pytest_recall.plugin.stash import CASE_ID, DECK, MISSED, OUTCOME, OUTCOMES, RUN, UNASKED
from pytest_recall.plugin.trials import set_apart
from pytest_recall.trials.trial import Outcome


def run(item: Any, nextitem: pytest.Item | None) -> bool | None:
    """Run the phases of `item` until its rule has a verdict: a protocol of pytest's own kind.

    Every trial has its own fixtures, its own cassette and its own line in the journal. To
    pytest, all but the last one are nothing yet. Return None where pytest only shows what
    it would set up.
    """
    option = item.config.option
    if option.setuponly or getattr(option, "setupplan", False):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    rest = item.config.stash[RUN].plan.rest
    # A series that was cut off goes on where it was.
    outcomes: list[Outcome] = [] if rest is None else rest.outcomes((item.stash[CASE_ID], item.arm))
    fails: list[Any] = []
    item.stash[OUTCOMES] = outcomes
    item.stash[MISSED] = False
    try:
        while _once(item, nextitem, outcomes, fails) is None:
            renew_request(item)
        item.config.stash[DECK].forget(item, len(outcomes))
    finally:
        del item.stash[OUTCOMES]
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _once(item: Any, nextitem: pytest.Item | None, outcomes: list[Outcome], fails: list[Any]) -> Outcome | None:
    """Run one trial and tell pytest of it; return the verdict, or None if the case has to be asked again."""
    reports = [_phase(item, "setup")]
    if reports[0].passed:
        reports.append(_phase(item, "call"))
    judged = item.stash[OUTCOME]
    stops = bool(item.session.shouldstop or item.session.shouldfail)
    verdict: Outcome | None = item.rule.decided([*outcomes, judged])
    if verdict is None and stops:
        verdict = Outcome.ERROR
    elif verdict is None and UNASKED in item.stash:
        verdict = Outcome.ERROR if outcomes else Outcome.SKIPPED
    # What is torn down is what the next one does not need: the item's own, if it is the same item again.
    reports.append(_phase(item, "teardown", nextitem=nextitem if verdict is not None else item.parent))
    if judged is Outcome.FAILED:
        fails.append(reports[-2].longrepr)
    _tell(item, reports[-2], verdict, [*outcomes, judged], fails)
    for report in reports:
        # Who counts tests, such as JUnit's XML, is not to hear of the ends of trials that are nothing yet.
        if verdict is not None or report is reports[-2] or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    outcomes.append(judged)
    return verdict


def _tell(item: Any, report: Any, verdict: Outcome | None, outcomes: list[Outcome], fails: list[Any]) -> None:
    """Make of the report of a trial what pytest is to know: nothing yet, or what the series came to."""
    if verdict is None:
        report.outcome = AGAIN
        return
    told = f"{outcomes.count(Outcome.PASSED)} of {len(outcomes)} trials passed ({item.rule})"
    if verdict is Outcome.PASSED:
        report.outcome = "passed"
        report.longrepr = None
    elif verdict is Outcome.FAILED:
        report.outcome = "failed"
        report.recall_error = False
        report.longrepr = f"{fails[-1]}\n  {told}" if fails else told
        if not item.arm:
            set_apart(item, report)
    elif verdict is Outcome.ERROR and UNASKED in item.stash:
        report.outcome = "failed"
        report.recall_error = True
        report.longrepr = f"no verdict after {plural(len(outcomes) - 1, 'trial')} ({item.rule}): {item.stash[UNASKED]}"
    elif outcomes[-1].is_verdict:
        report.outcome = "failed"
        report.recall_error = True
        report.longrepr = f"no verdict: {told}"
    if item.arm:
        baselines.settle_series(item, report, verdict)


def _phase(item: Any, when: Any, **more: Any) -> Any:
    """Run one phase of the item and return its report, as pytest does."""
    hooks: dict[str, Callable[..., Any]] = {
        "setup": item.ihook.pytest_runtest_setup,
        "call": item.ihook.pytest_runtest_call,
        "teardown": item.ihook.pytest_runtest_teardown,
    }
    ends: tuple[type[BaseException], ...] = (pytest.exit.Exception,)
    if not item.config.option.usepdb:
        ends = (*ends, KeyboardInterrupt)
    call = pytest.CallInfo.from_call(lambda: hooks[when](item=item, **more), when=when, reraise=ends)
    report = item.ihook.pytest_runtest_makereport(item=item, call=call)
    expected = (
        hasattr(report, "wasxfail")
        or hasattr(report, "recall_arm")
        or isinstance(call.excinfo and call.excinfo.value, pytest.skip.Exception)
    )
    if call.excinfo is not None and not expected:
        item.ihook.pytest_exception_interact(node=item, call=call, report=report)
    return report
