"""The run of one pytest session, from its plan to its scorecard, and what failed in it."""

from __future__ import annotations

import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from pytest_recall.files import clock
from pytest_recall.files.disk import LinkError, check_link
from pytest_recall.files.eval_directory import SUFFIXES
from pytest_recall.files.wording import plural
from pytest_recall.models.reply_names import joined, replied_models
from pytest_recall.plugin import garbage
from pytest_recall.plugin.options import is_worker
from pytest_recall.plugin.pytest_internals import terminal_writer, was_debugged
from pytest_recall.plugin.session_stats import CollectedTests, Money, SessionLog, SessionLoop, Unrecorded
from pytest_recall.plugin.stash import CRASHED, CURRENT, LAST_TRIALS, RERUN, RUN, data_of
from pytest_recall.plugin.worker_payload import CollectionPayload
from pytest_recall.results.scorecard_text import ShownFailure
from pytest_recall.results.sentences import slice_line
from pytest_recall.runs.plan import Plan
from pytest_recall.trials.baselines import case_and_baseline
from pytest_recall.trials.execution import Result, RunFacts, TrialCase, in_run, make_trial
from pytest_recall.trials.journal import Journal, TrialLog
from pytest_recall.trials.record import FailedItem
from pytest_recall.trials.trial import EARLIER, Outcome, Trial

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_recall.plugin.dry import DryRun
    from pytest_recall.plugin.limits import Breaker
    from pytest_recall.plugin.progress import Ticker
    from pytest_recall.plugin.recording import Recording
    from pytest_recall.plugin.run_hooks import RunHooks
    from pytest_recall.runs.checkout import Checkout
    from pytest_recall.trials.record import Record


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
        if report.outcome != RERUN and (report.failed or expected):
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

    def shown(self, reporter: pytest.TerminalReporter) -> dict[str, ShownFailure]:
        """Return what pytest would show of each case, by id; nothing with `--tb=no` and `--tb=line`."""
        if reporter.config.option.tbstyle in ("no", "line"):
            return {}
        ends = {report.nodeid: report for report in reporter.getreports("") if report.when == "teardown"}
        shown = {}
        for case_id, every in self._reports.items():
            reports = [report for report in every if not was_debugged(report)]
            text = "\n".join(_text(report, ends.get(report.nodeid), reporter) for report in reports)
            shown[case_id] = ShownFailure(text, any(not isinstance(report.longrepr, str) for report in reports))
        return shown


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


class OtherFailures:
    """The tests and files that failed and are not cases; `cases` are the node ids of those that are."""

    def __init__(self) -> None:
        self.cases: set[str] = set()
        self.uncollected: dict[str, str] = {}
        """What could not be collected, by node id, and what is wrong with it where that is known."""
        self._failed: dict[str, FailedItem] = {}

    def take(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        """Take in a report. That of a subtest comes before it is known that its test is a case."""
        if data_of(report).keys() & {"trials", "unpaid"}:
            self.cases.add(report.nodeid)
        elif report.failed and not hasattr(report, "wasxfail"):
            phase = "crash" if report.when in (None, CRASHED) else report.when
            self._failed.setdefault(report.nodeid, FailedItem(report.nodeid, phase))
            if phase == "collect":
                self.uncollected.setdefault(report.nodeid, data_of(report).get("uncollected", ""))

    def failed(self) -> list[FailedItem]:
        """Return what failed, in the order in which it did."""
        return [failed for node_id, failed in self._failed.items() if node_id not in self.cases]


class Ends(Protocol):
    """What happens at the end of a run."""

    def finish(self, session: pytest.Session) -> None: ...
    def summary(self, reporter: pytest.TerminalReporter) -> None: ...
    def failures_hidden(self, reporter: pytest.TerminalReporter) -> AbstractContextManager[None]: ...


def run_of(config: pytest.Config) -> Run:
    """Return the run of this session, which exists as soon as there is a case. Raises KeyError if there is none."""
    run: Run = config.stash[RUN]
    return run


class Run:
    """What one session does about eval cases. On a worker of xdist it follows and reports.

    `news` are the `trials` of this session, and `before` is the journal of the run that is resumed, if one is.
    `judged` says of each process that had items whether one of its cases asks a model to judge.
    """

    def __init__(self, config: pytest.Config, plan: Plan, make_ending: Callable[[Run], Ends]) -> None:
        self.config = config
        self.plan = plan
        self._make_ending = make_ending
        self.follows = is_worker(config)
        self.log = SessionLog(follows=self.follows)
        self.collection = CollectedTests()
        self.money = Money()
        self.unrecorded = Unrecorded()
        self.loop = SessionLoop()
        self._trial_log = TrialLog(self.log.problems.append)
        self.trials = self._trial_log.all
        self._attempts: Counter[tuple[str, str]] = Counter()
        self.journal: Journal | None = None
        self.hooks: RunHooks | None = None
        self.before: Record | None = None
        self._resumed_journal: Journal | None = None
        self.amended = False
        self._announced = False
        self.other_failures = OtherFailures()
        self.failures = Failures()
        self.judged: set[bool] = set()
        self.recording: Recording | None = None
        self.breaker: Breaker | None = None
        self.dry: DryRun | None = None
        self._watched = False
        self._ticker: Ticker | None = None

    @cached_property
    def ending(self) -> Ends:
        """What happens at its end; made when cases are to run, since it takes long to import."""
        return self._make_ending(self)

    @property
    def waits(self) -> bool:
        """Whether the choice has to wait for collection, since `-m` narrows what it is made from."""
        return bool(self.config.option.markexpr) and self.plan.scheduled

    # What was chosen

    def first_collection_payload(self) -> str:
        """Return as text, once, what only a worker finds out, and what the journal should know soon; else nothing."""
        sent, self.collection.sent = self.collection.sent, True
        payload = self.collection_payload()
        return "" if sent or payload.is_empty else payload.to_text()

    def collection_payload(self) -> CollectionPayload:
        """Return what this process has found out by collecting."""
        settled = self.collection.settled
        return CollectionPayload(
            marked_tests=self.collection.marked_tests,
            nodes=self.collection.nodes,
            cases=sorted(self.plan.cases) if self.waits else [],
            settled=None if settled is None else sorted(settled),
        )

    def merge_collection(self, payload: CollectionPayload) -> None:
        """Take the payload of the first worker that has found something."""
        if self.collection.informed or payload.is_empty:
            return
        self.collection.informed = True
        self.collection.nodes = payload.nodes
        if payload.marked_tests or payload.cases:
            self.choose_from(payload.cases, payload.marked_tests)
        if payload.settled is not None:
            self.settle(set(payload.settled))
        self.amend()
        self._announce()

    def _announce(self) -> None:
        """Print the slice where xdist is, which does not ask plugins for a line after collection."""
        shown = self.config.pluginmanager.hasplugin("terminalreporter") and self.config.get_verbosity() >= -1
        if shown and (line := self.late_line()):
            self._announced = True
            writer = self.config.get_terminal_writer()
            # It may stand among the dots of the tests that have ended.
            writer.line(f"\n{line}" if writer.width_of_current_line else line)

    def header_line(self) -> str | None:
        """Return the slice in one line, or that it is not known before collection."""
        if not self.plan.files:
            return None
        if self.waits:
            context = self.plan.context
            return f"recall: {context.mode} {context.date}: chosen from what -m {self.config.option.markexpr!r} leaves"
        self._announced = True
        return self._slice_line()

    def late_line(self) -> str | None:
        """Return the slice in one line, if it was made or changed by collection."""
        return None if self._announced or not self.plan.declared else self._slice_line()

    def _slice_line(self) -> str:
        if self.plan.rest is not None:
            return resumed_line(self.plan)
        if not self.plan.scheduled:
            kept = "" if self.plan.writes else "; the state is left alone"
            part = f"; {self.plan.shard.name} runs its part of them" if self.plan.shard else ""
            return f"recall: schedule off, the cases are chosen by {self.plan.filters.explicit}{part}{kept}"
        return f"recall: {slice_line(self.plan.header('', ''))}"

    def choose_from(self, case_ids: Iterable[str], late: dict[str, tuple[str, str]]) -> None:
        """Choose again, from all of `case_ids` if the choice waited, else from the `late` ones as well."""
        self.collection.marked_tests = late
        plan = self.plan.declaring(late)
        if self.waits:
            self.plan = replace(plan, cases=frozenset(case_ids)).choosing()
        else:
            self.plan = plan.choosing(case_id for case_id, names in late.items() if plan.filters.keeps(*names))
        self.amended = True
        self._announced = False

    def settle(self, case_ids: set[str]) -> None:
        """Deal out what is left of the cases that a person chose, once `-k` and the like have had their say."""
        self.collection.settled = case_ids
        self.plan = self.plan.choosing_collected(case_ids)
        self.amended = True

    def amend(self) -> None:
        """Write down at once what the choice has become, for anyone who finds the journal of a run that was killed."""
        if self.journal is not None and self.plan.rest is None:
            self.journal.amend(self.plan.header(self.journal.folder.name, ""))

    # The journal

    def resume(self, folder: Path, record: Record) -> None:
        """Take up the run in `folder`, which was cut off. Raises RecallError if it still runs, or OSError."""
        self.before = record
        self.trials += record.trials
        self._attempts.update((trial.case_id, trial.arm) for trial in self.trials if trial.repeat == 1)
        if self.runs:
            self._resumed_journal = Journal.continued(folder)
            self.config.add_cleanup(self._resumed_journal.close)

    def collected(self, case_ids: Iterable[str]) -> None:
        """Begin the journal, now that pytest has its items."""
        garbage.freeze(self.config)
        if not self.follows and self.journal is None:
            self._begin(case_ids)

    def collected_elsewhere(self, node_ids: Iterable[str]) -> None:
        """Begin the journal, now that the first worker has its items; not before there is a case."""
        if self.journal is None and self.plan.files:
            self._begin(case_id for node_id in node_ids if (case_id := self.case_of(node_id)))
            self._announce()

    def _checkout(self) -> Checkout:
        from pytest_recall.plugin.extensions import job_of
        from pytest_recall.runs.checkout import checkout_of

        plan, untracked = self.plan, not os.environ.get("CI")
        return checkout_of(plan.place, plan.base, plan.before.values(), job_of(self.config), untracked=untracked)

    def _begin(self, case_ids: Iterable[str]) -> None:
        if not self.runs:
            return
        expected = set(case_ids)
        # What writes the state is imported before a case runs, which may change what an import relies on.
        _ = self.ending
        if not self.plan.scheduled:
            self.plan = self.plan.restricted(expected)
        self.amended = False
        now = clock.now()
        artifacts = self.plan.place.artifacts
        from pytest_recall.plugin.run_hooks import RunHooks

        self.hooks = RunHooks(self.config, lambda: self.plan)

        try:
            if self._resumed_journal is not None:
                rest = self.plan.rest
                assert rest is not None
                changed = rest.header.checkout_changed or self._checkout().differs_from(rest.header)
                rest = rest._replace(header=rest.header._replace(checkout_changed=changed))
                self.plan = plan = replace(self.plan, rest=rest)
                self._resumed_journal.resume(
                    now.isoformat(timespec="seconds"),
                    plan.budget,
                    plan.ledger,
                    plan.early,
                    plan.recording,
                    checkout_changed=changed,
                )
                self.journal = self._resumed_journal
                self._note_measures()
                if expected:
                    self._watch(expected)
                return
            check_link(self.plan.place.state, self.plan.place.run_files)  # They are written when all has been paid for.
            plan = self.plan
            self.plan = replace(plan, checkout=self._checkout())
            folder = artifacts.new_run(now)
            self.journal = Journal(folder, self.plan.header(folder.name, now.isoformat(timespec="seconds")))
            self.journal.asked(self.plan.question_records)
            self._note_measures()
            artifacts.write("today.yaml", self.plan.today())
        except LinkError as error:
            raise pytest.UsageError(f"{error}; nothing was run") from None
        except OSError as error:
            name = self.plan.place.name(artifacts.folder)
            why = f"{name}: cannot be written ({error.strerror}), and nothing was run"
            raise pytest.UsageError(f"{why}; name another folder with --recall-artifacts") from None
        if expected:
            self._watch(expected)
        self._append_replayed()

    def _note_measures(self) -> None:
        if self.journal is not None and self.hooks is not None and self.hooks.about:
            self.journal.measured(self.hooks.about)

    def _append_replayed(self) -> None:
        """Append the trials that decide without a call: on recorded answers, and verdicts of earlier runs that hold."""
        changes, earlier = self.plan.changes, self.plan.earlier_verdicts
        if changes is None and not earlier:
            return
        from pytest_recall.schedule.boxes import RECORDED

        # A case that is asked live as well, since it is due, has its verdict from that.
        trials: dict[str, tuple[Mapping[str, Any], ...]] = {
            case_id: (event.trial(EARLIER).to_json(),) for case_id, event in earlier.items()
        }
        if changes is not None:
            answered = set(changes.answered) - self.plan.reasons.keys()
            trials |= {case_id: changes.findings[case_id].trials for case_id in answered}
        where = {
            case_id: f"{file.name}:{file.lines[case_id]}"
            for file in self.plan.files.values()
            for case_id in trials.keys() & file.lines.keys()
        }
        for case_id in sorted(trials):
            for plain in trials[case_id]:
                reason = earlier[case_id].reason if case_id in earlier else RECORDED
                self._append(Trial.from_json(plain), where.get(case_id, ""), reason=reason)

    def _watch(self, case_ids: set[str]) -> None:
        """Begin to tell how far the run is."""
        from pytest_recall.plugin import progress

        self._watched = True
        self._ticker = progress.begin(self.config, self._trial_log.news, case_ids)

    @property
    def runs(self) -> bool:
        """Whether tests are run at all, and not only listed."""
        option = self.config.option
        return not (
            self.dry or option.collectonly or option.showfixtures or option.show_fixtures_per_test or option.setuponly
        )

    def case_of(self, node_id: str) -> str | None:
        """Return the case that the agent under test is asked under the node id of a row; None for any other item."""
        case_id, arm = self._case_and_arm(node_id)
        return None if arm else case_id

    def _case_and_arm(self, node_id: str) -> tuple[str | None, str]:
        """Return the case of a row's node id, and the baseline that is asked; no case for any other item."""
        path, _, name = node_id.partition("::")
        case_id, arm = case_and_baseline(name)
        return (case_id, arm) if path.endswith(SUFFIXES) and case_id in self.plan.declared else (None, "")

    def record(self, report: pytest.TestReport) -> None:
        """Append the trial that came with `report` to the journal."""
        if self.follows:
            return
        data = data_of(report)
        if "collection" in data:
            self.merge_collection(CollectionPayload.from_text(data["collection"]))
        if "unpaid" in data:
            self.money.unpaid.setdefault(data["unpaid"], set()).add(report.nodeid)
        if "trials" in data:
            *earlier, trial = self._trials_of(data["trials"])
            if report.failed and trial.ended_by == "budget":
                self.money.cut += 1
            path, line, _ = report.location
            where = path if line is None else f"{path}:{line + 1}"
            for one in earlier if self.dry is None else ():
                self._append(one, where)
            if self.breaker is not None and not self._ran_here(report.nodeid):  # Else it was counted as it ended.
                self.breaker.count(trial)
            if not trial.arm:
                self.failures.take(trial, report)
            self._append(trial, where, data.get("dry", ""))
        elif report.failed and report.when == CRASHED:
            self._crashed(report.nodeid, str(report.longrepr))

    def _ran_here(self, node_id: str) -> bool:
        """Whether the item that was run last in this process has this node id."""
        item = self.config.stash.get(CURRENT, None)
        return item is not None and item.nodeid == node_id

    def _trials_of(self, text: str) -> list[Trial]:
        """Return the trials of a report; one that never left this process need not be read."""
        last, trials = self.config.stash.get(LAST_TRIALS, ("", []))
        return trials if last is text and trials else list(map(Trial.from_json, json.loads(text)))

    def _crashed(self, node_id: str, error: str) -> None:
        """Append the trial of a case whose worker died under it, unless its verdict had arrived."""
        case_id, arm = self._case_and_arm(node_id)
        if case_id is None:
            # It may be a marked test: that is known when another worker has said what it found.
            self.collection.crashes[node_id] = error
            return
        self.other_failures.cases.add(node_id)
        if not self._attempts[case_id, arm]:
            file = next(file for file in self.plan.files.values() if case_id in file.lines)
            case = file.cases([case_id])[0]
            where = f"{file.name}:{file.lines[case_id]}"
            self._append(
                make_trial(TrialCase.of(case), Result(Outcome.ERROR, error=error, ended_by="crash"), arm=arm), where
            )

    def append_crashed_tests(self) -> None:
        """Append the trials of marked tests whose worker died under them."""
        for node_id, error in self.collection.crashes.items():
            case_id = self.collection.nodes.get(node_id)
            if case_id is not None:
                self.other_failures.cases.add(node_id)
            if case_id is not None and not self._attempts[case_id, ""]:
                case = TrialCase(case_id, *self.collection.marked_tests.get(case_id, ("", "")))
                self._append(
                    make_trial(case, Result(Outcome.ERROR, error=error, ended_by="crash")), node_id.partition("::")[0]
                )

    def _append(self, trial: Trial, where: str, dry: str = "", reason: str = "") -> None:
        if self.dry is not None:
            self.dry.take(trial, dry)
            return
        if self.journal is None:
            self._begin(())
        key = trial.case_id, trial.arm
        self._attempts[key] += trial.repeat == 1
        under_test = not trial.arm
        facts = RunFacts(
            reason=reason or trial.reason or self.plan.reasons.get(trial.case_id, ""),
            where=where,
            row=self.plan.before.get(trial.case_id) if under_test else None,
            attempt=self._attempts[key],
            pr=self.plan.context.pr,
            model=joined(replied_models(trial.calls)) if under_test else None,
            counts_for_schedule=under_test
            and not trial.is_unproven
            and not trial.programs
            # An answer that is partly recorded is news of the change, and not of the provider.
            and (trial.source == "live" or self._trusts_replays),
        )
        if not self._watched:
            self._watch(set())  # Marked tests on workers: how many there are is not known before the end.
        trial = in_run(trial, facts)
        if self.hooks is None or not self.hooks.concern_trials:
            self._trial_log.take(trial, self.journal)
            return
        try:
            trial = in_run(trial, facts._replace(custom_measures=self.hooks.measured(trial)))
        finally:  # It is paid for, and is written down also where Ctrl-C comes while it is measured.
            self._trial_log.take(trial, self.journal)
        self.hooks.written(trial)

    @property
    def _trusts_replays(self) -> bool:
        return bool(self.recording and self.recording.trusted)

    # The end

    def finish(self, session: pytest.Session) -> None:
        """Apply the trials to the state and write the scorecard. A worker reports what it found."""
        self._trial_log.complete()
        self.loop.close()
        if self._ticker is not None:
            self._ticker.stop()
        self._watched = True
        self.ending.finish(session)

    def summary(self, reporter: pytest.TerminalReporter) -> None:
        """Print the scorecard, and what could not be written in red."""
        self.ending.summary(reporter)


def resumed_line(plan: Plan) -> str:
    """Return what is left of a run that is resumed."""
    assert plan.rest is not None
    header = plan.rest.header
    left = plural(len(plan.picks), "case")
    return f"recall: {header.run} is resumed: {left} left of {len(header.picks):,} chosen, as of {header.date}"
