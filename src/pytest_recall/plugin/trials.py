"""Trials: from what pytest saw of an item to a Trial on its report."""

from __future__ import annotations

import json

import pytest

from pytest_recall.files.errors import CaseError, MissError, RecallError, one_line
from pytest_recall.files.wording import plural
from pytest_recall.plugin import baselines, judging, marks
from pytest_recall.plugin.calls import with_calls
from pytest_recall.plugin.case_item import CaseFailed, CaseItem
from pytest_recall.plugin.stash import (
    AHEAD,
    CASE_ID,
    DECK,
    OUTCOME,
    OUTCOMES,
    RUN,
    SUBTESTS,
    TAPE,
    TRIAL,
    UNASKED,
    UNPAID,
    UNPROVEN,
)
from pytest_recall.results.standing import informs
from pytest_recall.runs.outage import Outage, outage_of
from pytest_recall.trials.trial import Outcome, Trial

# pytest-timeout ends a test through pytest.fail: that is no verdict on the answer.
_TIMEOUT = "Timeout (>"


def attach(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Set `report.recall`: the trial, or its JSON text where the report travels between processes."""
    if UNASKED in item.stash:
        return
    if item.stash.get(UNPAID, ""):
        _leave_out(item, report)
        return
    if call.when == "setup" and report.passed:
        return
    if isinstance(call.excinfo and call.excinfo.value, MissError) and (why := _unpaid(item)):
        item.stash[OUTCOME] = Outcome.SKIPPED
        report.outcome = "skipped"
        report.longrepr = (str(item.path), (item.location[1] or 0) + 1, f"Skipped: not run: {why}")
        _leave_out(item, report)
        return
    if call.excinfo is not None and isinstance(call.excinfo.value, MissError) and hasattr(report, "wasxfail"):
        # Anyone who expects a test to fail does not expect it to ask for what is not recorded.
        del report.wasxfail
        report.outcome, report.longrepr = "failed", str(call.excinfo.value)
    run = item.config.stash[RUN]
    case_id = item.stash[CASE_ID]
    outcome, error = _outcome(item, call, report)
    if call.when == "call" and outcome in (Outcome.PASSED, Outcome.SKIPPED) and item.stash.get(SUBTESTS, []):
        outcome, error = _by_subtests(item)
        report.outcome, report.longrepr = "failed", error
    item.stash[OUTCOME] = outcome
    outage = _outage(call) if outcome is Outcome.ERROR else None
    if outcome is not Outcome.SKIPPED:
        _count(item, outage)
    if outage is not None:
        setattr(report, "recall_outage", (outage.key, outage.said))  # noqa: B010
        error = _in_one_line(item, call, report, outage) or error
    judged = item.stash.get(TRIAL, None)
    if judged is not None and judged.outcome is outcome:
        trial = judged
    elif isinstance(item, CaseItem):
        case = item.case
        trial = Trial(
            case_id=case_id,
            outcome=outcome,
            scenario=case.scenario,
            dimension=case.dimension,
            fingerprint=case.fingerprint,
            error=error,
        )
    else:
        scenario, dimension = run.late.get(case_id, ("", ""))
        seconds = round(call.duration, 6)
        trial = Trial(
            case_id=case_id,
            outcome=outcome,
            scenario=scenario,
            dimension=dimension,
            seconds=seconds,
            error=error,
            fingerprint=marks.fingerprint(item),
        )
    trial = judging.with_standing(item.config, with_calls(trial, item))
    if outcome is Outcome.FAILED:
        item.stash[UNPROVEN] = trial.unproven
    rule = getattr(item, "rule", None)
    if rule is not None:
        trial = trial._replace(repeat=len(item.stash.get(OUTCOMES, ())) + 1, rule=str(rule))
    trial = trial._replace(arm=getattr(item, "arm", ""))
    if call.when == "teardown":
        trial = trial._replace(calls=())  # The trial at the end of the call has them, and the run those after it.
    if run.follows:
        # Why a marked test runs is decided by the worker that has found it.
        trial = trial._replace(reason=run.plan.reasons.get(case_id, ""))
        if found := run.found_out():
            setattr(report, "recall_found", found)  # noqa: B010
    setattr(report, "recall", json.dumps(trial.to_json()) if run.follows else trial)  # noqa: B010
    setattr(report, "recall_error", outcome is Outcome.ERROR)  # noqa: B010
    if getattr(item.config.option, "xmlpath", None) and not trial.arm:
        from pytest_recall.plugin import junit

        row = run.plan.rows.get(case_id)
        regression = row is not None and not row.failing and row.quarantined is None and not trial.unproven
        junit.describe(item, trial, row, regression=regression)
    if trial.arm:
        baselines.told(item, call, report)
    elif rule is None and outcome is Outcome.FAILED:
        set_apart(item, report)


def _outage(call: pytest.CallInfo[None]) -> Outage | None:
    raised = call.excinfo.value if call.excinfo is not None else None
    return None if raised is None or isinstance(raised, MissError) else outage_of(raised)


def _in_one_line(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport, outage: Outage) -> str:
    """Say of a trial that it ended by an outage, in place of a traceback through the client, and return that.

    Empty where it is one sentence as it is, which says more.
    """
    raised = call.excinfo.value if call.excinfo is not None else None
    if isinstance(raised, pytest.fail.Exception) or (isinstance(raised, CaseError) and raised.__cause__ is None):
        return ""
    stage = raised.stage if isinstance(raised, CaseError) else "" if call.when == "call" else call.when
    told = f"{stage}: {outage.said}" if stage else outage.said
    if (tape := item.stash.get(TAPE, None)) is not None and tape.mode != "off":
        told = tape.redactor.text(told)
    if item.config.option.tbstyle != "long":
        path, line, _ = item.location
        report.longrepr = f"{path}:{(line or 0) + 1}: {told}"
    return told


def _count(item: pytest.Item, outage: Outage | None) -> None:
    ahead = item.stash.get(AHEAD, None)
    breaker = item.config.stash[RUN].breaker
    # What was asked before its turn was counted as it ended.
    if breaker is not None and (ahead is None or ahead.job is None):
        breaker.take(getattr(item, "arm", ""), outage)


def _unpaid(item: pytest.Item) -> str:
    """Return why there was no money for so much as the first call of a case that had begun; empty if there was."""
    tape = item.stash.get(TAPE, None)
    item.stash[UNPAID] = "" if tape is None or tape.made else item.config.stash[DECK].spent_out
    if item.stash[UNPAID] and tape is not None:
        tape.misses.clear()
    return item.stash[UNPAID]


def _leave_out(item: pytest.Item, report: pytest.TestReport) -> None:
    """Say on the report whom there was no money to ask: a baseline by its name, else the agent under test."""
    setattr(report, "recall_unpaid", getattr(item, "arm", ""))  # noqa: B010


def set_apart(item: pytest.Item, report: pytest.TestReport) -> None:
    """Keep a fail from failing the run if its case is in quarantine, its judge may not block, or its gate only informs.

    pytest knows it as an expected one.
    """
    plan = item.config.stash[RUN].plan
    row = plan.rows.get(item.stash[CASE_ID])
    reason = item.stash.get(UNPROVEN, "") or (informs(plan.rubric.blocks, row) if plan.scheduled else "")
    if row is not None and row.quarantined is not None:
        until = f" until {row.until}" if row.until else ""
        reason = f"in quarantine since {row.quarantined}{until}, {row.owner or 'no owner'} looks at it"
    if reason and not hasattr(report, "wasxfail"):
        report.outcome = "skipped"
        report.wasxfail = reason


def take_subtest(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Note what a subtest came to, of pytest's fixture or of unittest: the test comes to no better."""
    outcome, error = _outcome(item, call, report)
    if outcome in (Outcome.FAILED, Outcome.ERROR):
        item.stash[SUBTESTS].append((outcome, error))
    if outcome is Outcome.FAILED:
        set_apart(item, report)


def _by_subtests(item: pytest.Item) -> tuple[Outcome, str]:
    found = item.stash[SUBTESTS]
    failed = [error for outcome, error in found if outcome is Outcome.FAILED]
    told = failed or [error for _, error in found]
    return Outcome.FAILED if failed else Outcome.ERROR, f"{plural(len(found), 'subtest')} failed: {'; '.join(told)}"


def changes_at_its_end(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> bool:
    """Whether the teardown changes what a case came to: pytest reports an error for what had passed, or it missed."""
    if call.excinfo is not None and isinstance(call.excinfo.value, MissError):
        return _missed_at_its_end(item, call.excinfo.value)
    return report.failed and item.stash.get(OUTCOME, None) is Outcome.PASSED


def _missed_at_its_end(item: pytest.Item, error: MissError) -> bool:
    """Whether what was missed is the case's own, and not that of a fixture that others share."""
    return TAPE in item.stash and str(error) in item.stash[TAPE].misses


def _outcome(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> tuple[Outcome, str]:
    if report.passed:
        return Outcome.PASSED, ""
    if report.skipped:
        if hasattr(report, "wasxfail"):
            return Outcome.SKIPPED, one_line(f"expected to fail: {report.wasxfail}")
        return Outcome.SKIPPED, one_line(str(call.excinfo.value) if call.excinfo else "")
    if call.excinfo is None:
        # A strict xfail that passed: pytest fails it without an exception.
        return Outcome.FAILED, one_line(str(report.longrepr))
    error = call.excinfo.value
    if call.when == "call" and _is_verdict(item, error):
        return Outcome.FAILED, one_line(str(error))
    stage = "" if call.when == "call" else f"{call.when}: "
    return Outcome.ERROR, one_line(f"{stage}{_said(error)}")


def _is_verdict(item: pytest.Item, error: BaseException) -> bool:
    """Whether the exception is a judgement: of the judges, or of an ordinary test's asserts."""
    if isinstance(item, CaseItem):
        return isinstance(error, CaseFailed)
    if isinstance(error, MissError):
        return False
    if isinstance(error, pytest.fail.Exception):
        return not str(error).startswith(_TIMEOUT)
    return isinstance(error, AssertionError)


def _said(error: BaseException) -> str:
    if isinstance(error, RecallError | pytest.fail.Exception):
        return str(error)
    return f"{type(error).__name__}: {error}"
