"""End a session: write the state and the scorecard, set the exit code, and print the summary."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recall.cases.changes import with_skipped
from pytest_recall.files.errors import RecallError, sentence_of
from pytest_recall.files.eval_directory import relative
from pytest_recall.files.wording import one_line, plural
from pytest_recall.plugin import judging, portion, unrecorded
from pytest_recall.plugin.extensions import job_of
from pytest_recall.plugin.options import spelled
from pytest_recall.plugin.pytest_internals import is_terminal_reporter
from pytest_recall.plugin.stash import CASSETTES
from pytest_recall.results import scorecard_text
from pytest_recall.results.scorecard import Scorecard, awaited, has_failed, most_allowed
from pytest_recall.results.scorecard_text import annotation_lines
from pytest_recall.results.sentences import (
    alone_line,
    looped_line,
)
from pytest_recall.results.standing import informs
from pytest_recall.results.stop_text import outage_line
from pytest_recall.runs import finish
from pytest_recall.runs.checkout import folds_here
from pytest_recall.runs.job import NO_JOB, append_summary
from pytest_recall.runs.plan import read_cases
from pytest_recall.runs.resume import rest_of
from pytest_recall.schedule.boxes import OF_CHANGE
from pytest_recall.trials.cost_text import budget_line, let_through_lines
from pytest_recall.trials.journal import Journal
from pytest_recall.trials.record import NOTHING_LET_THROUGH, Record
from pytest_recall.trials.run_end import FinishedRun, RunFindingKind, exit_code
from pytest_recall.trials.run_stop import RunStop
from pytest_recall.trials.series import graded
from pytest_recall.trials.trial import Outcome

if TYPE_CHECKING:
    from pytest_recall.files.sections import Section
    from pytest_recall.plugin.cassettes import CassetteManager
    from pytest_recall.plugin.session import Run
    from pytest_recall.results.standing import Standing
    from pytest_recall.trials.record import Header


_ENDED = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.TESTS_FAILED)
"""How a session ends that came to its end."""


class Ending:
    """What a run comes to."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._job = NO_JOB
        self._record: Record | None = None
        self._card: Scorecard | None = None
        self._state_line = ""
        self._outage: RunStop | None = None
        self._ended = 0
        """How pytest has ended the session; what this run adds to that is in `_kinds`."""
        self._kinds: set[RunFindingKind] = set()
        self._let_through = NOTHING_LET_THROUGH
        """What the rubric lets through in this run, in all its processes, and in the replay before it."""
        self._let_through_lines: list[str] = []
        self._finished = self._shown = False

    def finish(self, session: pytest.Session) -> None:
        """Apply the trials to the state and write the scorecard."""
        self._finish(session)
        self._finished = True
        # One that is not pytest's own may ask for the summary before this, as pytest-tldr does, or never.
        reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
        if not is_terminal_reporter(reporter, session.config) and hasattr(reporter, "line"):
            self.summary(reporter)

    def _finish(self, session: pytest.Session) -> None:
        run = self._run
        self._job = job_of(session.config)
        names_judges = judging.note_asking(run, session)
        unrecorded.take(run)
        self._take_let_through()
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self._nothing_due():
            session.exitstatus = pytest.ExitCode.OK
        self._ended = int(session.exitstatus)
        # A case that was between two calls is an error to pytest, and not what a regression is.
        if self._ended == pytest.ExitCode.TESTS_FAILED and session.testsfailed > run.money.cut:
            self._kinds.add("failed")
        with self._guarded("the notes of the run"):
            self._tell_of_the_budget()
            self._tell_how_to_go_on(session)
            unrecorded.report(run)
            run.log.note(*self._let_through_lines)
            if names_judges and run.judged == {False}:
                run.log.note(judging.idle_line(run.config))
        run.append_crashed_tests()
        manager: CassetteManager | None = run.config.stash.get(CASSETTES, None)
        if manager is not None:
            run.log.problems += dict.fromkeys((*manager.problems, *manager.player.strays))
            run.money.calls += manager.calls
        if run.dry is not None and not run.log.refused and not run.config.option.collectonly:
            try:
                run.dry.write(run.plan, self._let_through)
            except OSError as error:
                run.log.problems.append(f"{run.plan.place.artifacts.folder}: not written ({error.strerror})")
        session.exitstatus = self._exit_code()
        if run.journal is None:
            self._keep_recordings("")
            return
        folder = run.journal.folder
        with self._guarded("cases that were renamed"):
            self._look_for_moved()
            self._look_for_skipped()
        header = run.plan.header(folder.name, "")
        stop = self._stop(session)
        if deselected := sorted(self._left() & run.collection.deselected.keys()):
            # A change cannot leave out what it breaks.
            named = [] if run.plan.checks_change else deselected
            excluded = tuple(case_id for case_id in named if run.collection.deselected[case_id])
            stop = (stop or RunStop("deselected"))._replace(deselected=len(deselected), excluded=excluded)
        gates: tuple[Standing, ...] = ()
        with self._guarded("the gates"):
            gates = self._gates(Record(header, tuple(run.trials)))
        missed = any(one.stops(run.plan.rubric.blocks) for one in gates)
        # What failed before the run was cut off has not passed since.
        failed = run.before is not None and has_failed(header, run.trials)
        red = missed or failed or bool(run.log.problems) or self._fails_on_recorded_answers() or self._leaves_open()
        if red or (run.plan.rubric.blocks != "never" and self._lacks_verdicts(header, stop)):
            self._kinds.add("missed")
        session.exitstatus = code = self._exit_code()
        sections: tuple[Section, ...] = ()
        if run.hooks is not None:
            with self._guarded("the sections of extensions"):
                sections = tuple(run.hooks.sections(tuple(run.trials)))
        try:
            if run.amended and run.plan.rest is None:
                run.journal.amend(header)
                run.plan.place.artifacts.write("today.yaml", run.plan.today())
            if run.money.calls:
                run.journal.spent(run.money.calls)
            if any(self._let_through):
                run.journal.let_through(self._let_through)
            if sections:
                run.journal.added(sections)
            run.journal.end(code, stop, run.other_failures.failed())
        except OSError as error:
            run.log.problems.append(f"{folder}: the journal was not ended ({error.strerror})")
        calls = (*(run.before.calls if run.before else ()), *run.money.calls)
        let_through = self._let_through if run.before is None else run.before.let_through.joined(self._let_through)
        seconds = run.journal.seconds if run.before is None else None
        self._record = Record(
            header,
            tuple(run.trials),
            code,
            calls,
            stop,
            seconds,
            tuple(run.other_failures.failed()),
            let_through=let_through,
            measures={
                **(run.before.measures if run.before else {}),
                **(run.hooks.about if run.hooks else {}),
            },
            sections=sections,
        )
        self._write_state(folder, self._record)
        self._keep_recordings(folder.name)
        with self._guarded("the scorecard"):
            self._write_scorecard(folder, self._record, gates)
        if self._card is not None and not self._card.not_run and run.plan.early:
            (run.plan.place.artifacts.folder / run.plan.early).unlink(missing_ok=True)
        if self._card is not None and self._card.datasets:
            from pytest_recall.plugin.memories import missing_metrics

            run.log.notes += missing_metrics(run.plan.files.values(), self._card.datasets)
        if run.log.problems:
            self._kinds.add("missed")
        session.exitstatus = self._exit_code()
        if session.exitstatus != code:
            with suppress(RecallError, OSError):  # It is said already what cannot be written.
                Journal.continued(folder).end(int(session.exitstatus), stop, run.other_failures.failed())
        if run.hooks is not None:
            with self._guarded("the hooks of extensions"):
                run.hooks.ended(folder, self._finished_run)
            run.log.note(*run.hooks.faults())

    def _finished_run(self) -> FinishedRun:
        assert self._record is not None
        record = self._record._replace(exit_code=self._exit_code())
        scorecard = {} if self._card is None else scorecard_text.as_json(record, self._card)
        return FinishedRun(record.header.run, int(self._exit_code()), record.trials, scorecard)

    def _exit_code(self) -> int:
        """Return the exit code of the session, as far as it is known."""
        if self._run.log.refused or self._run.log.halted:
            return pytest.ExitCode.USAGE_ERROR
        if self._ended not in _ENDED:
            return self._ended
        missed = {"missed"} if self._ended != pytest.ExitCode.OK else set()
        return exit_code(self._kinds - missed) or self._ended

    @contextmanager
    def _guarded(self, what: str) -> Iterator[None]:
        """Note an unexpected error in a report of the run: the state is written all the same."""
        try:
            yield
        except Exception as error:
            cause = one_line(f"{type(error).__name__}: {error}")
            self._run.log.problems.append(
                f"{what}: not complete ({cause}); this is a mistake in pytest-recall: report it"
            )

    def _fails_on_recorded_answers(self) -> bool:
        """Whether a case that blocks fails on its recorded answer, in the replay before the slice was chosen."""
        plan = self._run.plan
        if plan.changes is None:
            return False
        asked = {one.case_id: one.asked for one in self._run.trials if one.outcome is Outcome.FAILED and not one.arm}
        rows = (
            plan.before.get(case_id)
            for case_id in plan.changes.failing
            if case_id not in plan.reasons and not plan.is_behind(case_id, asked.get(case_id, ()))
        )
        return any(not informs(plan.rubric.blocks, row) and (row is None or row.quarantined is None) for row in rows)

    def _leaves_open(self) -> bool:
        """Whether a case that the change affects has no verdict, or there is nothing to compare the cases with."""
        plan = self._run.plan
        if plan.rubric.blocks == "never" or not (plan.scheduled or plan.not_compared):
            return False
        grading = graded(one for one in self._run.trials if not one.arm)
        judged = {case_id for case_id, trial in grading.items() if trial.outcome.is_verdict and not trial.programs}
        waits = {case_id for case_id, reason in plan.reasons.items() if reason in OF_CHANGE}
        return bool(plan.not_compared or plan.unaffordable or waits - judged)

    def _lacks_verdicts(self, header: Header, stop: RunStop | None) -> bool:
        """Whether more chosen cases were not asked than may have no verdict."""
        left = self._left()
        waits = awaited(header, [pick for pick in header.picks if pick[0] in left], stop)
        return len(waits) > most_allowed(header.allowed, len(header.picks))

    def _look_for_moved(self) -> None:
        """Find the rows whose case has another id now."""
        run = self._run
        gone = run.plan.rows.keys() - run.plan.declared
        news = {one.case_id: one.fingerprint for one in run.trials if one.row is None and not one.arm}
        if gone and news and run.plan.rest is None:
            from pytest_recall.schedule.renames import moved

            run.plan = replace(run.plan, moved=tuple(moved(run.plan.rows, gone, news)))
            run.amended |= bool(run.plan.moved)

    def _look_for_skipped(self) -> None:
        """List the cases of the base that the change has skipped among those that it alters."""
        run = self._run
        if not run.plan.base.is_change or run.plan.rest is not None:
            return
        skipped = sorted(
            {
                one.case_id
                for one in run.trials
                if one.outcome is Outcome.SKIPPED and not one.arm and one.case_id in run.plan.before
            }
        )
        if skipped:
            changes = with_skipped(run.plan.case_changes, skipped)
            run.plan = replace(run.plan, case_changes=tuple(changes))
            run.amended = True

    def _tell_of_the_budget(self) -> None:
        """Say what is left of the budget; a run that was cut short by it is not a success."""
        manager: CassetteManager | None = self._run.config.stash.get(CASSETTES, None)
        meter = manager.player.meter if manager is not None else None
        if meter is None:
            return
        unpaid, cut = self._run.money.unpaid, self._run.money.cut
        left = {name: len(unpaid[name]) for name in self._run.plan.baselines if name in unpaid}
        self._run.log.note(budget_line(meter.balance(), left, self._let_through))
        if unpaid and self._run.journal is not None and not self._run.log.refused:
            # The budget is that of the whole run, so that resuming with the same one asks nothing.
            if meter.barred():
                line = _how_to_resume(portion.resuming(self._run.config), first="correct that, then ")
            else:
                higher = f" and a higher {spelled(self._run.config, 'budget')}"
                line = _how_to_resume(portion.resuming(self._run.config, higher), first="")
            self._run.log.note(line)
        if unpaid or cut:
            # What a rubric allows a change to spend is a limit of its check, which fails; the run itself is whole.
            plan = self._run.plan
            of_rubric = plan.context.mode in ("pr", "main") and plan.rubric.budget is not None
            own = self._run.config.option.recall_budget is not None or not of_rubric
            self._kinds.add("left" if own else "failed")

    def _tell_how_to_go_on(self, session: pytest.Session) -> None:
        """Say how to ask the cases that were left when the run was stopped, or a provider was down."""
        run = self._run
        outages = {} if run.breaker is None else run.breaker.stops()
        if run.breaker is not None:
            run.breaker.close()
        self._outage = outages.pop("", None)
        run.log.note(*(f"{outage_line(stop, arm)}; no more cases run" for arm, stop in outages.items()))
        if self._outage:
            self._kinds.add("left")
        ends = self._exit_code() == pytest.ExitCode.INTERRUPTED or session.shouldfail or session.shouldstop
        stopped = ends and self._left() and run.trials and not run.money.unpaid
        if run.journal is not None and (self._outage or outages or stopped) and not run.log.refused:
            run.log.note(_how_to_resume(portion.resuming(run.config), first="" if stopped else "correct that, then "))

    def _take_let_through(self) -> None:
        """Take in what the rubric lets through, once that of all processes is known."""
        run = self._run
        own = run.unrecorded.let_through(replays=run.recording is not None and run.recording.mode == "replay")
        self._let_through = own if run.plan.changes is None else run.plan.changes.let_through.joined(own)
        if any(self._let_through):
            from pytest_recall.cases.settings_file import place_of_setting

            place = run.plan.place
            setting = place_of_setting(place.rubric, place.name(place.rubric), "calls")
            self._let_through_lines = let_through_lines(self._let_through, setting)

    def _nothing_due(self) -> bool:
        plan = self._run.plan
        chosen = plan.scheduled or plan.rest is not None or (plan.shard is not None and bool(plan.full_slice))
        return chosen and (bool(plan.cases) or plan.rest is not None) and not plan.picks

    def _left(self) -> set[str]:
        """Return the chosen cases of which there is no trial."""
        return {pick.case_id for pick in self._run.plan.picks} - {
            one.case_id for one in self._run.trials if not one.arm
        }

    def _has_open(self) -> bool:
        """Whether the agent under test or a baseline was not asked a chosen case as often as it takes."""
        plan, trials = self._run.plan, self._run.trials
        begun = {(one.case_id, one.arm) for one in trials}
        chosen = {(case_id, arm) for case_id in plan.reasons for arm in ("", *plan.baselines)}
        return bool(chosen - begun or rest_of(Record(plan.header("", ""), tuple(trials))).begun)

    def _stop(self, session: pytest.Session) -> RunStop | None:
        """Return why chosen cases were not run, as far as that is known here."""
        run = self._run
        manager = run.config.stash.get(CASSETTES, None)
        meter = manager.player.meter if manager is not None else None
        if run.log.halted:
            return RunStop("preflight", run.log.halted)
        if self._outage:
            return self._outage
        if run.money.unpaid and meter is not None and (spent := meter.closed()) is not None:
            return RunStop.of_budget(spent)
        if files := run.other_failures.uncollected:
            # pytest says no more than that it was interrupted, or stopped.
            return RunStop("uncollected", next(iter(files.values())), files=tuple(files))
        words = next((why for why in (session.shouldfail, session.shouldstop) if isinstance(why, str) and why), "")
        # What is open is looked for only where something has stopped the run: that reads all trials again.
        if not (words or self._ended == pytest.ExitCode.INTERRUPTED) or not self._has_open():
            return None
        return RunStop("pytest", words) if words else RunStop("interrupted")

    def _write_state(self, folder: Path, record: Record) -> None:
        folds = folds_here(self._run.plan.place, self._job)
        name = finish.target(self._run.plan.place, folds=folds)
        if shard := record.header.shard:
            self._state_line = f"{name}: left alone by shard {shard}; `recall ci merge --apply` applies all of them"
            return
        if not self._run.plan.writes:
            self._state_line = f"{name}: left alone, since you chose the cases; --recall-update writes it"
            return
        try:
            changed = finish.apply(self._run.plan.place, folder, record, job=self._job, folds=folds) or {}
            self._state_line = f"{name}: {plural(len(changed), 'row')} changed"
        except (OSError, RecallError) as error:
            place = self._run.plan.place
            run = (
                folder.name
                if place.artifacts_folder is None
                else shlex.quote(relative(folder, self._run.config.invocation_params.dir))
            )
            self._run.log.problems.append(
                f"{name}: not written ({sentence_of(error)}); correct that, then `recall state apply {run}`"
            )

    def _keep_recordings(self, name: str) -> None:
        """Put what a run on a branch has recorded beside its run file; on the default branch take over such files."""
        run = self._run
        recording, place = run.recording, run.plan.place
        if recording is None or recording.mode not in ("record", "missing") or run.log.refused:
            return
        from pytest_recall.files import clock
        from pytest_recall.replay import run_recordings
        from pytest_recall.schedule.events import events_of
        from pytest_recall.schedule.run_file import stem_of

        try:
            if recording.of_branch:
                stem = stem_of(events_of(run.plan.header(name or recording.run, ""), (), 0))
                notes = run_recordings.write_recorded(place, Path(recording.folder), stem, clock.now())
            elif not recording.folder:
                notes = run_recordings.clear_taken_over(place)
            else:
                return
        except (OSError, RecallError) as error:
            run.log.problems.append(f"{place.name(place.run_files)}: recordings not written ({sentence_of(error)})")
            return
        run.log.note(*notes)

    def _gates(self, record: Record) -> tuple[Standing, ...]:
        """Return how the rubric's gates stand; a run over some of the files does not know all cases."""
        plan = self._run.plan
        if not plan.rubric.gates or not plan.complete:
            return ()
        from pytest_recall.cases.gate import lost_gates
        from pytest_recall.results.gates import gates_of

        files = [file for file in plan.files.values() if not file.reason]
        cases = {
            case.id: (case.scenario, case.dimension) for case in read_cases(files)
        } | self._run.collection.marked_tests
        gates = gates_of(record, plan.rubric, cases, plan.rows)
        if gates and not plan.unscheduled:  # Questions of datasets have scenarios that are not read here.
            rubric = plan.place.name(plan.place.rubric)
            if lost := lost_gates(plan.rubric.gates, cases.values(), rubric):
                from pytest_recall.runs.collection import marked_tests

                # Marked tests may be where this run has not collected.
                marked = marked_tests(plan.place)
                lost = lost_gates(plan.rubric.gates, {*cases.values(), *marked.tests.values()}, rubric)
                if marked.problem:
                    self._run.log.note(*lost)
                else:
                    self._run.log.problems += lost
        return gates

    def _write_scorecard(self, folder: Path, record: Record, gates: tuple[Standing, ...]) -> None:
        try:
            self._card = finish.scorecard(record, self._run.plan.place)
        except RecallError as error:
            self._run.log.problems += error.messages
            self._card = finish.scorecard(record)
        self._card = finish.with_gates(self._card, self._run.plan.place, gates, self._run.plan.rubric, record)
        try:
            page = finish.write_scorecard(self._run.plan.place, folder, record, self._card, self._job)
        except OSError as error:
            self._run.log.problems.append(f"scorecard: not written ({error.strerror})")
            return
        if (summary := self._job.summary) is not None:
            try:
                append_summary(summary, page)
            except OSError as error:
                self._run.log.problems.append(f"summary of the step: not written ({error.strerror})")

    def summary(self, reporter: pytest.TerminalReporter) -> None:
        """Print the scorecard, and what could not be written in red; once, and not before all of it is known."""
        if self._shown or not self._finished:
            return
        self._shown = True
        for error in self._run.log.refused:
            reporter.line(f"ERROR: {error}", red=True)
        if self._run.dry is not None and not self._run.log.refused and not self._run.config.option.collectonly:
            self._summary_of_dry_run(reporter)
        if self._record is None or self._run.log.refused:
            return
        if self._card is None:
            self._tell_problems(reporter)
            return
        verbosity = self._run.config.get_verbosity()
        reporter.section("recall scorecard")
        # Another reporter shows failures in its own way.
        is_own = is_terminal_reporter(reporter, self._run.config)
        shown = self._run.failures.shown(reporter) if is_own else {}
        brief = self._run.config.option.tbstyle in ("no", "line")
        first, *rest = scorecard_text.terminal(
            self._record, self._card, verbosity, shown, self._list_command, brief=brief
        )
        reporter.line(first, bold=True, red=bool(self._record.exit_code), green=not self._record.exit_code)
        for line in rest:
            reporter.line(line)
        if verbosity > -2 and self._state_line:
            reporter.line(self._state_line)
        if verbosity >= 0 and self._run.money.alone:
            reporter.line(alone_line(self._run.money.alone))
        if verbosity >= 0 and self._run.money.looped:
            reporter.line(looped_line(self._run.money.looped))
        if verbosity > -2 and self._run.journal is not None:
            reporter.line(f"details: {self._run.plan.place.name(self._run.journal.folder)}/scorecard.md")
        if (job := self._job).annotates:
            below = finish.within(job, self._run.plan.place.root)
            for line in annotation_lines(self._record.header, self._card, below):
                reporter.line(line)
        for note in self._run.log.notes:
            reporter.line(note)
        self._tell_problems(reporter)

    def _tell_problems(self, reporter: pytest.TerminalReporter) -> None:
        for problem in self._run.log.problems:
            reporter.line(problem, red=True)

    @contextmanager
    def failures_hidden(self, reporter: pytest.TerminalReporter) -> Iterator[None]:
        """Have the scorecard alone show the cases that failed, where there is one."""
        is_own = is_terminal_reporter(reporter, self._run.config)
        known = is_own and self._card is not None and not self._run.log.refused
        with self._run.failures.left_out(reporter) if known else nullcontext():
            yield

    @property
    def _list_command(self) -> str:
        """The command that lists what the scorecard folds."""
        place = self._run.plan.place
        folder = place.name(place.eval_dir)
        return "recall score -v" if folder == "eval" else f"recall score -v --dir {shlex.quote(folder)}"

    def _summary_of_dry_run(self, reporter: pytest.TerminalReporter) -> None:
        assert self._run.dry is not None
        reporter.section("recall dry run")
        for line in self._run.dry.lines(self._run.plan, self._let_through):
            reporter.line(line)
        for line in self._let_through_lines:
            reporter.line(line)
        self._tell_problems(reporter)


def _how_to_resume(command: str, first: str) -> str:
    """Return the line that says how to ask what was left, and what has to be done `first`."""
    return f"to resume: {first}run {command}; it asks what has no verdict yet"
