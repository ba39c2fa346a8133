"""Make the Trial of what pytest saw of an item, and one verdict of several trials of one item."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_recall.files.errors import CaseError, MissError, RecallError, message_of, single_errors
from pytest_recall.files.wording import one_line, plural
from pytest_recall.plugin import baselines, judging, marks
from pytest_recall.plugin.case_item import CaseFailed, CaseItem
from pytest_recall.plugin.stash import (
    CASSETTES,
    ERROR,
    LAST_TRIALS,
    RUN,
    add_data,
    state_of,
)
from pytest_recall.replay.budget import spent_text
from pytest_recall.replay.exchange import error_replies
from pytest_recall.results.ending_text import ending_text
from pytest_recall.results.standing import informs
from pytest_recall.results.unproven_text import unproven_text
from pytest_recall.schedule.boxes import OF_CHANGE
from pytest_recall.trials.conditions import Prompts, conditions, taped_of, words_of
from pytest_recall.trials.execution import CallSummary, Result, RunFacts, TrialCase, ending_of, make_trial
from pytest_recall.trials.journal import json_line
from pytest_recall.trials.trial import Outcome, Trial, judged_by_models

if TYPE_CHECKING:
    from pytest_recall.cases.case import Case
    from pytest_recall.plugin.cassettes import CassetteManager
    from pytest_recall.plugin.session import Run
    from pytest_recall.replay.budget import SpentBudget
    from pytest_recall.replay.tape import Tape


def put_trial_on_report(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Have a report carry the trial of an item, after those that were on no report that pytest has shown."""
    state = state_of(item)
    if call.when == "call":
        state.unreported, state.raised = False, None
    raised = call.excinfo.value if call.excinfo is not None else None
    if state.unasked is not None or _is_left_out(item, report, raised):
        return
    if call.when == "setup" and report.passed:
        return
    run: Run = item.config.stash[RUN]
    result = _result(item, call, report, run)
    state.outcome = outcome = result.outcome
    if state.result is not None and state.result.outcome is outcome:
        result = state.result._replace(ended_by=state.result.ended_by or result.ended_by)
    state.trial = trial = trial_of(item, result, with_calls=call.when != "teardown")
    prefetch = state.prefetch
    if run.breaker is not None and (prefetch is None or prefetch.job is None):
        run.breaker.count(trial)  # What was asked before its turn was counted as it ended.
    if trial.ended_by == "outage":
        _in_one_line(item, call, report, trial)
    if outcome is Outcome.FAILED:
        state.unproven = unproven_text(trial)
    _put(item, report, trial)
    if run.follows and (payload := run.first_collection_payload()):
        add_data(report, collection=payload)
    if trial.arm:
        baselines.mark(item, call, report)
        return
    if state.rule is None:
        state.apart = why_not_blocking(item) if outcome is Outcome.FAILED else ""


def _is_left_out(item: pytest.Item, report: pytest.TestReport, raised: BaseException | None) -> bool:
    """Whether there was no money for so much as the first call of an item, which the report then says in a skip."""
    state = state_of(item)
    if not state.unpaid:
        spent = _unpaid(item) if isinstance(raised, MissError) else None
        if spent is None:
            return False
        state.outcome = Outcome.SKIPPED
        report.outcome = "skipped"
        report.longrepr = (str(item.path), (item.location[1] or 0) + 1, f"Skipped: not run: {spent_text(spent)}")
    add_data(report, unpaid=state.arm)
    return True


def _result(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport, run: Run) -> Result:
    """Return what an item came to, as pytest saw it; the report says the same."""
    raised = call.excinfo.value if call.excinfo is not None else None
    if isinstance(raised, MissError) and hasattr(report, "wasxfail"):
        # Anyone who expects a test to fail does not expect it to ask for what is not recorded.
        del report.wasxfail
        report.outcome, report.longrepr = "failed", str(raised)
    result = _outcome(item, call, report)
    if call.when == "call" and result.outcome in (Outcome.PASSED, Outcome.SKIPPED) and state_of(item).subtests:
        result = _by_subtests(item)
        report.outcome = "failed"
        report.longrepr = f"{plural(len(state_of(item).subtests), 'subtest')} failed: {result.error}"
    if result.outcome.is_verdict and (undecided := _no_evidence(item, result.outcome, run)) is not None:
        report.outcome, report.longrepr = "failed", ending_text(undecided)
        result = undecided
    # The agent of a case says itself how long it took.
    return result if isinstance(item, CaseItem) else result._replace(seconds=round(call.duration, 6))


def _put(item: pytest.Item, report: pytest.TestReport, trial: Trial) -> None:
    """Put the trial on the report; this process need not read it from there again."""
    pending = state_of(item).pending
    pending.append(json_line(trial.to_json()).decode())
    text = f"[{', '.join(pending)}]"
    add_data(report, trials=text, status=ERROR if trial.outcome is Outcome.ERROR else "")
    item.config.stash[LAST_TRIALS] = (text, [trial]) if len(pending) == 1 else ("", [])


def _no_evidence(item: pytest.Item, outcome: Outcome, run: Run) -> Result | None:
    """Return what a verdict comes to that is no evidence, of a case that a change affects, or replayed to see that.

    None if it is evidence.

    A fail that rests on an error reply is asked again. A case that was recorded with calls, and makes none now, has its
    answer from elsewhere.
    """
    if run.dry is None and run.plan.changes is None:
        return None
    case_id = state_of(item).case_id
    of_change = run.plan.changes is not None and run.plan.reasons.get(case_id) in OF_CHANGE
    if not (run.dry or of_change) or state_of(item).arm:
        return None
    tape = state_of(item).tape
    if tape is None:
        return None
    if outcome is Outcome.FAILED:
        manager = item.config.stash[CASSETTES]
        ends = ", ".join(error_replies(manager.calls_of(manager.exchanges_of(tape))))
        return Result(Outcome.ERROR, error=ends, ended_by="error-reply") if ends else None
    if run.dry or tape.mode != "missing" or not (run.plan.changes and run.plan.changes.asks(case_id)):
        return None
    return Result(Outcome.ERROR, ended_by="no-calls") if tape.is_answered_elsewhere() else None


def _in_one_line(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport, trial: Trial) -> None:
    """Say of a trial that it ended by an outage, in place of a traceback through the client."""
    if call.excinfo is not None and item.config.option.tbstyle != "long":
        path, line, _ = item.location
        report.longrepr = f"{path}:{(line or 0) + 1}: {ending_text(trial)}"


def _unpaid(item: pytest.Item) -> SpentBudget | None:
    """Return why there was no money for so much as the first call of a case that had begun; None if there was."""
    state = state_of(item)
    tape = state.tape
    is_paid = tape is None or any(made.source == "live" for made in tape.made)
    manager: CassetteManager = item.config.stash[CASSETTES]
    spent = None if is_paid else manager.spent_out
    state.unpaid = spent is not None
    if spent is not None and tape is not None:
        tape.misses.clear()
    return spent


def why_not_blocking(item: pytest.Item) -> str:
    """Return why a fail does not fail the run: its case is in quarantine, its judge may not block, or it only informs.

    Empty if it does.
    """
    plan = item.config.stash[RUN].plan
    case_id = state_of(item).case_id
    row = plan.before.get(case_id)
    is_behind = plan.is_behind(case_id, _asked(item))
    informing = (
        informs(plan.rubric.blocks, row, decides=plan.decides(case_id), is_behind=is_behind) if plan.scheduled else ""
    )
    reason = state_of(item).unproven or informing
    if row is not None and row.quarantined is not None:
        until = f" until {row.until}" if row.until else ""
        reason = f"in quarantine since {row.quarantined}{until}, {row.owner or 'no owner'} looks at it"
    return reason


def take_subtest(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Note what a subtest came to, of pytest's fixture or of unittest: the test comes to no better."""
    result = _outcome(item, call, report)
    if result.outcome in (Outcome.FAILED, Outcome.ERROR):
        state_of(item).subtests.append(result)
    state_of(item).apart = why_not_blocking(item) if result.outcome is Outcome.FAILED else ""


def _by_subtests(item: pytest.Item) -> Result:
    """Return what a test comes to by its subtests that failed, with the errors of all of one kind.

    It was ended by an outage only if each of them was, and by the same one.
    """
    subtests = state_of(item).subtests
    failed = [one for one in subtests if one.outcome is Outcome.FAILED]
    worst = failed or subtests
    ended = worst[0]._replace(error="; ".join(one.error for one in worst), stage="")
    ways = {(one.ended_by, one.outage and one.outage.key) for one in worst}
    return ended if len(ways) == 1 else ended._replace(ended_by="exception", outage=None)


def changes_at_its_end(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> bool:
    """Whether the teardown changes what a case came to: pytest reports an error for what had passed, or it missed."""
    if call.excinfo is not None and isinstance(call.excinfo.value, MissError):
        return _missed_at_its_end(item, call.excinfo.value)
    return report.failed and state_of(item).outcome is Outcome.PASSED


def _missed_at_its_end(item: pytest.Item, error: MissError) -> bool:
    """Whether what was missed is the case's own, and not that of a fixture that others share."""
    tape = state_of(item).tape
    return tape is not None and str(error) in tape.misses


def _outcome(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> Result:
    """Return what a phase of an item or a subtest came to."""
    if report.passed:
        return Result(Outcome.PASSED)
    if report.skipped:
        if hasattr(report, "wasxfail"):
            return Result(Outcome.SKIPPED, error=one_line(report.wasxfail), ended_by="xfail")
        return Result.skipped(one_line(str(call.excinfo.value) if call.excinfo else ""))
    if call.excinfo is None:
        # A strict xfail that passed: pytest fails it without an exception.
        return Result(Outcome.FAILED, error=one_line(str(report.longrepr)))
    error = call.excinfo.value
    if call.when == "call" and _is_verdict(item, error):
        return Result(Outcome.FAILED, error=one_line(message_of(error, named=False)))
    stage = error.stage if isinstance(error, CaseError) else ""
    if call.when != "call":
        stage = call.when
    ending = ending_of(error)
    if isinstance(error, pytest.fail.Exception) or (isinstance(error, CaseError) and error.__cause__ is None):
        ending = ending._replace(ended_by="exception")  # A sentence of its own says more than the outage.
    return Result(Outcome.ERROR, error=one_line(_said(error)), stage=stage, **ending._asdict())


def _is_verdict(item: pytest.Item, error: BaseException) -> bool:
    """Whether the exception is a judgement: of the judges, or of an ordinary test's asserts."""
    if isinstance(item, CaseItem):
        return isinstance(error, CaseFailed)
    imposed = state_of(item).imposed
    return all(
        isinstance(one, AssertionError | pytest.fail.Exception) and not any(one is other for other in imposed)
        for one in single_errors(error)
    )


def _said(error: BaseException) -> str:
    if isinstance(error, RecallError | MissError | pytest.fail.Exception):
        return str(error)
    return message_of(error) if isinstance(error, BaseExceptionGroup) else f"{type(error).__name__}: {error}"


def trial_of(item: pytest.Item, result: Result, *, with_calls: bool = True) -> Trial:
    """Return the trial of an item, without what its run knows of it, and without secrets.

    Where the trial at the end of the call has the calls, the one at the end of the teardown is made without them.
    """
    run = item.config.stash[RUN]
    case_id = state_of(item).case_id
    rule = state_of(item).rule
    if isinstance(item, CaseItem):
        case = TrialCase.of(item.case)
    else:
        scenario, dimension = run.collection.marked_tests.get(case_id, ("", ""))
        case = TrialCase(case_id, scenario, dimension, marks.fingerprint(item))
    result = result.clean(item.config.stash[CASSETTES].redactor.redacted)
    calls = _calls(item, case, result)
    return make_trial(
        case,
        result,
        calls if with_calls else calls._replace(calls=()),
        # Why a marked test runs is decided by the worker that has found it.
        RunFacts(reason=run.plan.reasons.get(case_id, "") if run.follows else ""),
        repeat=1 if rule is None else len(state_of(item).outcomes or ()) + 1,
        rule="" if rule is None else str(rule),
        arm=state_of(item).arm,
        unproven=judging.weak_judges(item.config, result) if judged_by_models(result.verdicts) else (),
    )


def _calls(item: pytest.Item, case: TrialCase, result: Result) -> CallSummary:
    """Return where the answer came from, the calls that it took, and the conditions of its verdict."""
    tape = state_of(item).tape
    kept = item.early_trial if isinstance(item, CaseItem) else None
    if kept is not None and (tape is None or (kept.calls and not tape.made)):
        return CallSummary(kept.source, kept.calls, kept.under)  # It was asked before the run was cut off.
    if tape is None:
        return CallSummary()
    if isinstance(item, CaseItem) and item.replayed is not None:
        return CallSummary(
            "replayed", item.config.stash[CASSETTES].calls_of(item.config.stash[CASSETTES].exchanges_of(tape))
        )
    sources = {made.source for made in tape.made if made.kind != "judge" and not made.is_token}
    if not tape.made and (tape.misses or (tape.mode == "replay" and not result.outcome.is_verdict)):
        sources = {"replayed"}  # Nothing was sent, and no one has answered live.
    manager = item.config.stash[CASSETTES]
    started = manager.started_for(item) if tape.mode == "replay" else ()
    if started:
        sources.add("replayed")
    if tape.mode == "replay" and tape.is_partial:
        sources |= {"live", "replayed"}  # Who was asked beside the recording may be anyone.
    if manager.rests_on_fixtures(item):
        sources |= {"replayed"} if sources else {"live", "replayed"}
    programs = started if manager.player.programs.every else ()
    source = "mixed" if len(sources) > 1 else next(iter(sources), "live")
    read = manager.exchanges_of(tape)
    calls, unrecorded = manager.calls_of(read), next(iter(tape.unkept), "")
    if not result.outcome.is_verdict or state_of(item).arm:
        return CallSummary(source, calls, unrecorded=unrecorded, programs=programs)
    asked = state_of(item).case  # A marked test has none, and its words stand in the prompt as they are.
    recording = tape.cassette or (tape.base if source == "replayed" else None)
    is_other = source == "live" or tape.other_fixture  # The answer then says nothing of the code now.
    taped = None if recording is None or is_other else taped_of(recording.header)
    words = () if asked is None else words_of([asked.input, asked.turns and [turn.user for turn in asked.turns]])
    prompts = manager.prompts_of(read, words) if read else Prompts()
    rubric = item.config.stash[RUN].plan.rubric
    under = conditions(result, calls, prompts, rubric, _own_bars(asked), fingerprint=case.fingerprint, taped=taped)
    asked_keys = _asked(item) if result.outcome is Outcome.FAILED else ()
    return CallSummary(source, calls, str(under), unrecorded, asked_keys, programs)


def _asked(item: pytest.Item) -> tuple[str, ...]:
    """Return the keys of what the agent has asked, where they tell whose fail it is; none where they are not known."""
    of_change = item.config.option.recall_dry_run_of or state_of(item).case_id in item.config.stash[RUN].plan.as_base
    tape: Tape | None = state_of(item).tape if of_change else None
    try:
        return () if tape is None else tape.asked()
    except RecallError:
        return ()


def _own_bars(case: Case | None) -> list[str]:
    """Return the judges to whose scores the case itself gives a threshold."""
    calls = () if case is None else case.judges
    return [call.name for call in calls if "threshold" in call.arguments or (case and case.threshold is not None)]
