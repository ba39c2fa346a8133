"""Ask a case several times where one answer does not decide it, and report one verdict of its trials."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recall.files.errors import MissError
from pytest_recall.files.wording import plural
from pytest_recall.plugin import baselines
from pytest_recall.plugin.pytest_internals import renew_request, run_phase
from pytest_recall.plugin.stash import CASSETTES, ERROR, RERUN, RUN, add_data, data_of, is_case, state_of
from pytest_recall.plugin.trials import why_not_blocking
from pytest_recall.results.stop_text import outage_line
from pytest_recall.results.unproven_text import unconfirmed_text
from pytest_recall.trials.trial import Outcome

if TYPE_CHECKING:
    from pytest_recall.trials.series import AnyRule


class RepeatedTrials:
    """Runs the phases of an item until its rule has a verdict; registered where an item of the session has a rule.

    Every trial has its own fixtures, its own cassette and its own line in the journal. To pytest, all but the last one
    are nothing yet.
    """

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: pytest.Item | None) -> bool | None:
        """Take the place of pytest's own protocol, but not where pytest only shows what it would set up."""
        option = item.config.option
        is_shown = option.setuponly or getattr(option, "setupplan", False)
        if is_shown or not is_case(item) or state_of(item).rule is None:
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        rest, state = item.config.stash[RUN].plan.rest, state_of(item)
        # A series that was cut off goes on where it was.
        outcomes: list[Outcome] = [] if rest is None else rest.outcomes((state.case_id, state.arm))
        fails: list[Any] = []
        state.outcomes, state.missed = outcomes, False
        reruns = _reruns(item)
        try:
            while not _once(item, nextitem, outcomes, fails, reruns=reruns):
                reruns -= state.outcome is Outcome.ERROR
                renew_request(item)
            item.config.stash[CASSETTES].forget(item, len(outcomes))
        finally:
            state.outcomes = None
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True


def _rule(item: pytest.Item) -> AnyRule:
    rule = state_of(item).rule
    assert rule is not None, "its case is asked several times"
    return rule


def _reruns(item: pytest.Item) -> int:
    """Return how often `--reruns` of pytest-rerunfailures has a trial repeated that came to no verdict."""
    return int(getattr(item.config.option, "reruns", None) or 0)


def _is_rerun(item: pytest.Item, raised: BaseException | None) -> bool:
    """Return whether `--only-rerun` and `--rerun-except` leave an exception to `--reruns`."""
    option = item.config.option
    only, but = (getattr(option, name, None) or () for name in ("only_rerun", "rerun_except"))
    text = f"{type(raised).__name__}: {raised}"
    return not isinstance(raised, MissError) and bool(
        (not only or any(re.search(one, text) for one in only)) and not any(re.search(one, text) for one in but)
    )


def _once(item: Any, nextitem: pytest.Item | None, outcomes: list[Outcome], fails: list[Any], *, reruns: int) -> bool:
    """Run one trial and tell pytest of it; return whether it was the last: False if the case has to be asked again.

    While there are `reruns`, one without a verdict does not count as one of the trials of the rule.
    """
    call, report = run_phase(item, "setup")
    reports = [report]
    if report.passed:
        call, report = run_phase(item, "call")
        reports.append(report)
    state = state_of(item)
    judged = state.outcome
    stops = bool(item.session.shouldstop or item.session.shouldfail)
    raised = call.excinfo.value if call.excinfo is not None else None
    may_repeat = reruns > 0 and judged is Outcome.ERROR and not stops and state.unasked is None
    repeats = may_repeat and _is_rerun(item, raised)
    verdict: Outcome | None = None
    if not repeats:
        verdict = _rule(item).decided([*outcomes, judged])
        if verdict is None and stops:
            verdict = Outcome.ERROR
        elif verdict is None and state.unasked is not None:
            verdict = Outcome.ERROR if outcomes else Outcome.SKIPPED
    if judged is Outcome.FAILED:
        fails.append(report.longrepr)
    _tell(item, report, verdict, [*outcomes, judged], fails)
    if verdict is not None:
        _interact(item, call, report)
    # What is torn down is what the next one does not need: the item's own, if it is the same item again.
    ended, end = run_phase(item, "teardown", nextitem=nextitem if verdict is not None else item.parent)
    _interact(item, ended, end)
    for one in (*reports, end):
        # Who counts tests, such as JUnit's XML, is not to hear of the ends of trials that are nothing yet.
        if verdict is not None or one is report or not one.passed:
            item.ihook.pytest_runtest_logreport(report=one)
    if not repeats:
        outcomes.append(judged)
    return verdict is not None


def _tell(item: Any, report: Any, verdict: Outcome | None, outcomes: list[Outcome], fails: list[Any]) -> None:
    """Make of the report of a trial what pytest is to know: nothing yet, or what the series came to."""
    state, rule = state_of(item), _rule(item)
    state.apart = ""
    if verdict is None:
        report.outcome = state.reported = RERUN
        return
    summary = rule.summary(len(outcomes) - outcomes.count(Outcome.PASSED), len(outcomes))
    if verdict is Outcome.PASSED:
        report.outcome = "passed"
        report.longrepr = None
    elif verdict is Outcome.FAILED:
        report.outcome = "failed"
        add_data(report, status="")
        report.longrepr = f"{fails[-1]}\n  {summary}" if fails else summary
        if not state.unproven and rule.is_unconfirmed(outcomes):
            state.unproven = unconfirmed_text(summary)
        if not state.arm:
            state.apart = why_not_blocking(item)
    elif verdict is Outcome.ERROR and state.unasked is not None:
        report.outcome = "failed"
        add_data(report, status=ERROR)
        after = f"no verdict after {plural(len(outcomes) - 1, 'trial')} ({rule.name})"
        report.longrepr = f"{after}: {outage_line(state.unasked, state.arm)}"
    elif outcomes[-1].is_verdict:
        report.outcome = "failed"
        add_data(report, status=ERROR)
        report.longrepr = f"no verdict: {summary}"
    if state.arm:
        baselines.settle_series(item, report, verdict)
    state.reported = report.outcome


def _interact(item: Any, call: pytest.CallInfo[None], report: Any) -> None:
    """Tell debuggers and editors of an exception, as pytest does: of a trial that is repeated they hear nothing."""
    expected = (
        hasattr(report, "wasxfail")
        or data_of(report).get("status", "").startswith(baselines.STATUS)
        or (report.when == "call" and report.failed and state_of(item).apart)
        or isinstance(call.excinfo and call.excinfo.value, pytest.skip.Exception)
    )
    if call.excinfo is not None and not expected:
        item.ihook.pytest_exception_interact(node=item, call=call, report=report)
