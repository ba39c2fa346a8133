"""Make the Trial of what pytest saw of an item, and one verdict of several trials of one item."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recall.files.errors import CaseError, MissError, RecallError, message_of, single_errors
from pytest_recall.files.wording import one_line, plural
from pytest_recall.models.outage import Outage, outage_text
from pytest_recall.plugin import baselines, judging, marks
from pytest_recall.plugin.case_item import CaseFailed, CaseItem
from pytest_recall.plugin.limits import outage_in
from pytest_recall.plugin.pytest_internals import renew_request
from pytest_recall.plugin.stash import (
    ATTACHED,
    CASSETTES,
    RERUN,
    RUN,
    add_data,
    data_of,
    state_of,
)
from pytest_recall.replay.budget import spent_text
from pytest_recall.replay.exchange import error_replies
from pytest_recall.results.standing import informs
from pytest_recall.results.stop_text import outage_line
from pytest_recall.results.unproven_text import unconfirmed_text, unproven_text
from pytest_recall.schedule.boxes import OF_CHANGE
from pytest_recall.trials.conditions import Prompts, conditions, taped_of, words_of
from pytest_recall.trials.execution import CallSummary, Result, RunFacts, TrialCase, make_trial
from pytest_recall.trials.journal import json_line
from pytest_recall.trials.trial import Outcome, Row, Trial, judged_by_models

if TYPE_CHECKING:
    from pytest_recall.cases.case import Case
    from pytest_recall.plugin.cassettes import CassetteManager
    from pytest_recall.plugin.item_state import ItemState
    from pytest_recall.plugin.session import Run
    from pytest_recall.replay.budget import SpentBudget
    from pytest_recall.replay.tape import Tape
    from pytest_recall.trials.series import AnyRule


def attach(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
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
    outcome, error, ended_by = _settled(item, call, report, run)
    state.outcome = outcome
    outage = None if raised is None or outcome is not Outcome.ERROR else outage_in(item, raised)
    if outcome is not Outcome.SKIPPED:
        _count(item, outage, run)
    if outage is not None:
        add_data(report, outage=tuple(outage))
        error, ended_by = _in_one_line(item, call, report, outage) or error, "outage"
    result = state.result
    if result is None or result.outcome is not outcome:
        result = Result(outcome, error=error, seconds=None if isinstance(item, CaseItem) else round(call.duration, 6))
    result = result._replace(ended_by=result.ended_by or ended_by)
    trial = trial_of(item, result, with_calls=call.when != "teardown")
    if outcome is Outcome.FAILED:
        state.unproven = unproven_text(trial)
    _carry(item, report, trial)
    if run.follows and (found := run.found_out()):
        add_data(report, found=found)
    if trial.arm:
        baselines.mark(item, call, report)
        return
    if getattr(item.config.option, "xmlpath", None):
        from pytest_recall.plugin import reporting

        row = run.plan.before.get(state.case_id)
        reporting.describe(item, trial, row, regression=_is_regression(state, trial, row))
    if state.rule is None:
        add_data(report, apart=_apart(item) if outcome is Outcome.FAILED else "")


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


def _settled(
    item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport, run: Run
) -> tuple[Outcome, str, str]:
    """Return what an item came to, why that is no verdict, and what ended it then; the report says the same."""
    raised = call.excinfo.value if call.excinfo is not None else None
    if isinstance(raised, MissError) and hasattr(report, "wasxfail"):
        # Anyone who expects a test to fail does not expect it to ask for what is not recorded.
        del report.wasxfail
        report.outcome, report.longrepr = "failed", str(raised)
    outcome, error = _outcome(item, call, report)
    if call.when == "call" and outcome in (Outcome.PASSED, Outcome.SKIPPED) and state_of(item).subtests:
        outcome, error = _by_subtests(item)
        report.outcome, report.longrepr = "failed", error
    if outcome.is_verdict and (why := _no_evidence(item, outcome, run)):
        report.outcome, report.longrepr = "failed", why
        return Outcome.ERROR, why, "evidence"
    if outcome is Outcome.SKIPPED:
        return outcome, error, "skip"
    if outcome is not Outcome.ERROR:
        return outcome, error, ""
    if isinstance(raised, MissError):
        return outcome, error, "budget" if raised.unpaid else "miss"
    return outcome, error, "exception"


def _carry(item: pytest.Item, report: pytest.TestReport, trial: Trial) -> None:
    """Put the trial on the report; this process need not read it from there again."""
    pending = state_of(item).pending
    pending.append(json_line(trial.to_json()).decode())
    text = f"[{', '.join(pending)}]"
    add_data(report, trials=text, process=os.getpid(), error=trial.outcome is Outcome.ERROR)
    item.config.stash[ATTACHED] = (text, [trial]) if len(pending) == 1 else ("", [])


def _is_regression(state: ItemState, trial: Trial, row: Row | None) -> bool:
    """Whether a fail of the trial would be one that counts, of a case that passed at its last verdict."""
    if row is None or row.failing or row.quarantined is not None or trial.unproven:
        return False
    return state.rule is None or not state.rule.is_unconfirmed([*(state.outcomes or ()), trial.outcome])


def _no_evidence(item: pytest.Item, outcome: Outcome, run: Run) -> str:
    """Return why the verdict on a case that a change affects, or that is replayed to see if it does, is no evidence.

    A fail that rests on an error reply is asked again. A case that was recorded with calls, and makes none now, has its
    answer from elsewhere.
    """
    if run.dry is None and run.plan.changes is None:
        return ""
    case_id = state_of(item).case_id
    of_change = run.plan.changes is not None and run.plan.reasons.get(case_id) in OF_CHANGE
    if not (run.dry or of_change) or state_of(item).arm:
        return ""
    tape = state_of(item).tape
    if tape is None:
        return ""
    if outcome is Outcome.FAILED:
        manager = item.config.stash[CASSETTES]
        ends = ", ".join(error_replies(manager.calls_of(manager.exchanges_of(tape))))
        return f"no verdict on the change, since the provider failed: {ends}" if ends else ""
    if run.dry or tape.mode != "missing" or not (run.plan.changes and run.plan.changes.asks(case_id)):
        return ""
    if not tape.is_answered_elsewhere():
        return ""
    return (
        "no verdict on the change: its recording has calls, and this run made none; a cache of the agent may have"
        " answered, so switch it off or empty it"
    )


def _in_one_line(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport, outage: Outage) -> str:
    """Say of a trial that it ended by an outage, in place of a traceback through the client, and return that.

    Empty where it is one sentence as it is, which says more.
    """
    raised = call.excinfo.value if call.excinfo is not None else None
    if isinstance(raised, pytest.fail.Exception) or (isinstance(raised, CaseError) and raised.__cause__ is None):
        return ""
    stage = raised.stage if isinstance(raised, CaseError) else "" if call.when == "call" else call.when
    sentence = f"{stage}: {outage_text(outage)}" if stage else outage_text(outage)
    if item.config.option.tbstyle != "long":
        path, line, _ = item.location
        report.longrepr = f"{path}:{(line or 0) + 1}: {sentence}"
    return sentence


def _count(item: pytest.Item, outage: Outage | None, run: Run) -> None:
    if run.breaker is None:
        return
    state = state_of(item)
    if state.ahead is None or state.ahead.job is None:  # What was asked before its turn was counted as it ended.
        run.breaker.take(state.arm, outage)


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


def _apart(item: pytest.Item) -> str:
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


def set_apart(report: pytest.TestReport) -> None:
    """Make an expected fail of one that does not fail the run.

    Not before it is reported: until then it is a fail, which plugins may have run again.
    """
    if report.failed and (reason := data_of(report).get("apart", "")):
        report.outcome = "skipped"
        report.wasxfail = reason


def take_subtest(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Note what a subtest came to, of pytest's fixture or of unittest: the test comes to no better."""
    outcome, error = _outcome(item, call, report)
    if outcome in (Outcome.FAILED, Outcome.ERROR):
        state_of(item).subtests.append((outcome, error))
    if outcome is Outcome.FAILED:
        add_data(report, apart=_apart(item))


def _by_subtests(item: pytest.Item) -> tuple[Outcome, str]:
    found = state_of(item).subtests
    failed = [error for outcome, error in found if outcome is Outcome.FAILED]
    errors = failed or [error for _, error in found]
    return Outcome.FAILED if failed else Outcome.ERROR, f"{plural(len(found), 'subtest')} failed: {'; '.join(errors)}"


def changes_at_its_end(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> bool:
    """Whether the teardown changes what a case came to: pytest reports an error for what had passed, or it missed."""
    if call.excinfo is not None and isinstance(call.excinfo.value, MissError):
        return _missed_at_its_end(item, call.excinfo.value)
    return report.failed and state_of(item).outcome is Outcome.PASSED


def _missed_at_its_end(item: pytest.Item, error: MissError) -> bool:
    """Whether what was missed is the case's own, and not that of a fixture that others share."""
    tape = state_of(item).tape
    return tape is not None and str(error) in tape.misses


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
        return Outcome.FAILED, one_line(message_of(error, named=False))
    stage = "" if call.when == "call" else f"{call.when}: "
    return Outcome.ERROR, one_line(f"{stage}{_said(error)}")


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
        scenario, dimension = run.found.late.get(case_id, ("", ""))
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
    kept = item.kept if isinstance(item, CaseItem) else None
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


def run_series(item: Any, nextitem: pytest.Item | None) -> bool | None:
    """Run the phases of `item` until its rule has a verdict: a protocol of pytest's own kind.

    Every trial has its own fixtures, its own cassette and its own line in the journal. To
    pytest, all but the last one are nothing yet. Return None where pytest only shows what
    it would set up.
    """
    option = item.config.option
    if option.setuponly or getattr(option, "setupplan", False):
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


def replay_series(item: Any, nextitem: pytest.Item | None) -> bool:
    """Replay all recorded trials of a case that is asked several times: a protocol of pytest's own kind."""
    from pytest_recall.plugin.dry import settle
    from pytest_recall.schedule.changes import ReplayFinding, ReplayState, of_series

    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    count = item.config.stash[CASSETTES].recorded_trials(item)
    outcomes: list[Outcome] = []
    state, rule = state_of(item), _rule(item)
    state.outcomes = outcomes
    found: list[ReplayFinding] = []
    try:
        for number in range(1, count + 1):
            call, report = _phase(item, "setup")
            if report.passed:
                call, report = _phase(item, "call")
            found.append(ReplayFinding.from_json(json.loads(data_of(report)["dry"])))
            decided = found[-1].state in (ReplayState.UNAFFECTED, ReplayState.RECORDED)
            last = number == count or not decided
            if last:
                one = of_series(found, rule.decided([*outcomes, state.outcome]))
                if found[-1].trials:
                    one = one._replace(trials=tuple(json.loads(data_of(report)["trials"])))
                add_data(report, dry=json.dumps(one.to_json()))
                settle(item, call, report, one)
            _, end = _phase(item, "teardown", nextitem=nextitem if last else item.parent)
            if last:
                item.ihook.pytest_runtest_logreport(report=report)
            if last or not end.passed:
                item.ihook.pytest_runtest_logreport(report=end)
            outcomes.append(state.outcome)
            if last:
                break
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
    call, report = _phase(item, "setup")
    reports = [report]
    if report.passed:
        call, report = _phase(item, "call")
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
    ended, end = _phase(item, "teardown", nextitem=nextitem if verdict is not None else item.parent)
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
    if verdict is None:
        report.outcome = state.reported = RERUN
        return
    summary = rule.summary(len(outcomes) - outcomes.count(Outcome.PASSED), len(outcomes))
    if verdict is Outcome.PASSED:
        report.outcome = "passed"
        report.longrepr = None
    elif verdict is Outcome.FAILED:
        report.outcome = "failed"
        add_data(report, error=False)
        report.longrepr = f"{fails[-1]}\n  {summary}" if fails else summary
        if not state.unproven and rule.is_unconfirmed(outcomes):
            state.unproven = unconfirmed_text(summary)
        if not state.arm:
            add_data(report, apart=_apart(item))
    elif verdict is Outcome.ERROR and state.unasked is not None:
        report.outcome = "failed"
        add_data(report, error=True)
        after = f"no verdict after {plural(len(outcomes) - 1, 'trial')} ({rule.name})"
        report.longrepr = f"{after}: {outage_line(state.unasked, state.arm)}"
    elif outcomes[-1].is_verdict:
        report.outcome = "failed"
        add_data(report, error=True)
        report.longrepr = f"no verdict: {summary}"
    if state.arm:
        baselines.settle_series(item, report, verdict)
    state.reported = report.outcome


def _phase(item: Any, when: Any, **more: Any) -> tuple[pytest.CallInfo[None], Any]:
    """Run one phase of the item as pytest does; return the call and its report."""
    hooks: dict[str, Callable[..., Any]] = {
        "setup": item.ihook.pytest_runtest_setup,
        "call": item.ihook.pytest_runtest_call,
        "teardown": item.ihook.pytest_runtest_teardown,
    }
    ends: tuple[type[BaseException], ...] = (pytest.exit.Exception,)
    if not item.config.option.usepdb:
        ends = (*ends, KeyboardInterrupt)
    call = pytest.CallInfo.from_call(lambda: hooks[when](item=item, **more), when=when, reraise=ends)
    return call, item.ihook.pytest_runtest_makereport(item=item, call=call)


def _interact(item: Any, call: pytest.CallInfo[None], report: Any) -> None:
    """Tell debuggers and editors of an exception, as pytest does: of a trial that is repeated they hear nothing."""
    expected = (
        hasattr(report, "wasxfail")
        or "arm" in data_of(report)
        or bool(data_of(report).get("apart"))
        or isinstance(call.excinfo and call.excinfo.value, pytest.skip.Exception)
    )
    if call.excinfo is not None and not expected:
        item.ihook.pytest_exception_interact(node=item, call=call, report=report)
