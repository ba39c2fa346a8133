"""The pytest plugin: every hook, in the order in which pytest calls them.

This module is loaded in every project of an environment. Unless the plugin is switched on (`plugin/switch.py`) it
adds ini settings, a mark and fixtures, and nothing else happens: no file is read, nothing is collected or patched.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from inspect import isasyncgenfunction, iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recall import hookspec
from pytest_recall.plugin import switch
from pytest_recall.plugin.stash import (
    CASSETTES,
    CRASHED,
    CURRENT,
    ERROR,
    LOOPS,
    RERUN,
    RUN,
    STATE,
    WATCH,
    add_data,
    data_of,
    is_case,
    state_of,
)

if TYPE_CHECKING:
    from pytest_recall.plugin.cassettes import CassetteManager
    from pytest_recall.plugin.session import Run


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Say which hooks of ours others may implement, so that pytest accepts them also while the plugin is off."""
    pluginmanager.add_hookspecs(hookspec)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the ini settings; options are added by the next hook."""
    switch.add_settings(parser)
    config = pluginmanager.get_plugin("pytestconfig")
    if pluginmanager.has_plugin("capturemanager") and isinstance(config, pytest.Config) and switch.is_on(config):
        # A conftest file has named us in `pytest_plugins`, too late for the next hook.
        switch.import_plainly(config)
        from pytest_recall.plugin import options

        options.add(config, parser)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, object, object]:
    """Add the options, and send nothing in a replay, from the conftest files on."""
    if switch.is_on(early_config):
        switch.import_plainly(early_config)
        # These take the functions of the clock and the disk, before a conftest file can have replaced them.
        from pytest_recall.plugin import garbage, options, recording

        garbage.pause(early_config)
        try:
            with options.added(early_config, parser, args), recording.guarded(early_config):
                result = yield
        except Exception as error:
            from pytest_recall.plugin import refusal

            refusal.leave_page(recording.seen(early_config), error)
            raise
        if any(isinstance(argument, str) and argument.startswith("-") for argument in args):
            options.refuse(early_config, parser, args)
        return result
    result = yield
    switch.refuse_options(parser, args)
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_internalerror(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """End a run in one sentence whose hooks call a model in a replay, such as the `pytest_configure` of a conftest."""
    from pytest_recall.files.errors import MissError

    if isinstance(excinfo.value, MissError):
        raise pytest.exit.Exception(str(excinfo.value), returncode=pytest.ExitCode.USAGE_ERROR)


def _was_changed(item: pytest.Item, report: pytest.TestReport) -> bool:
    """Return whether another plugin has called an item again, or has rewritten its report, since its trial was made."""
    state = state_of(item)
    return state.unreported or report.outcome not in (state.reported, RERUN)


@contextmanager
def _of_wider_scope(
    manager: CassetteManager, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Iterator[None]:
    """Set up a fixture that several tests share: for none of them, and with a cassette of its own."""
    __tracebackhide__ = True
    with manager.player.outside(), nullcontext() if manager.mode == "off" else manager.fixture(fixturedef, request):
        yield


def pytest_configure(config: pytest.Config) -> None:
    """Register the fixtures, the mark and, if the plugin is on, the hooks below."""
    from pytest_recall.plugin import fixtures

    config.addinivalue_line("markers", switch.MARK)
    config.pluginmanager.register(fixtures, "recall-fixtures")
    if not switch.is_on(config):
        config.pluginmanager.register(switch.Off(config), "recall-off")
        return
    from pytest_recall.plugin import recording

    recording.live_later(config)  # A worker of xdist may import us behind its conftest files.
    hooks = Hooks(config)
    config.pluginmanager.register(hooks, "recall-hooks")
    if getattr(config.option, "xmlpath", None):
        from pytest_recall.plugin.junit import JUnitReport

        config.pluginmanager.register(JUnitReport(config), "recall-junit")
    if hasattr(config.hook, "pytest_timeout_set_timer"):  # pytest-timeout defines it.
        from pytest_recall.plugin.timeouts import Timeouts

        config.pluginmanager.register(Timeouts(), "recall-timeouts")
    if hasattr(config.hook, "pytest_configure_node"):  # pytest-xdist defines it.
        if hasattr(config, "workerinput"):
            from pytest_recall.plugin.worker import Worker

            config.pluginmanager.register(Worker(config), "recall-worker")
        else:
            from pytest_recall.plugin.xdist import Controller

            config.pluginmanager.register(Controller(config), "recall-xdist")
    # What is added first comes last: after pytest has looked once more for what was not closed.
    config.add_cleanup(hooks.leave)


class Hooks:
    """The hooks of a session in which the plugin is on. Without a run, so without an eval case, they do nothing."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self._manager: CassetteManager | None = None

    @property
    def run(self) -> Run | None:
        """The run of this session, as soon as there is a case."""
        return self.config.stash.get(RUN, None)

    @property
    def manager(self) -> CassetteManager | None:
        """The cassettes of this session, as soon as there is a case."""
        if self._manager is None:
            self._manager = self.config.stash.get(CASSETTES, None)
        return self._manager

    def pytest_sessionstart(self) -> None:
        """Decide, once and on the controller, which cases run."""
        from pytest_recall.plugin import options, start

        if options.is_worker(self.config):
            return

        try:
            start.start(self.config)
        except Exception as error:
            from pytest_recall.plugin import refusal

            refusal.leave_page(self.config, error)
            raise

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """End a run in one sentence about a conftest file: a scope that there is not, or an option of ours."""
        from pytest_recall.plugin.options import clash

        error = excinfo.value
        if sentence := clash(self.config, error):
            raise pytest.exit.Exception(sentence, returncode=pytest.ExitCode.USAGE_ERROR)
        if isinstance(error, pytest.fail.Exception) and not error.pytrace:
            raise pytest.exit.Exception(f"{error.msg}; correct that", returncode=pytest.ExitCode.USAGE_ERROR)

    def pytest_report_header(self) -> list[str]:
        """Say what was chosen, why the rest is not run, who else is asked, and how many cases run at once."""
        from pytest_recall.plugin import files

        lines: list[str | None] = [files.foreign_line(self.config)]
        if run := self.run:
            from pytest_recall.plugin import header

            lines = [*header.lines(run), *lines]
        return [line for line in lines if line]

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Pass over artifacts and cassettes: to look for tests in thousands of them takes seconds."""
        from pytest_recall.files.eval_directory import is_left_by_runs

        return True if is_left_by_runs(collection_path) else None

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Turn a case file into items, one for each chosen case."""
        from pytest_recall.files.eval_directory import SUFFIXES

        if file_path.suffix not in SUFFIXES:
            return None
        from pytest_recall.plugin import collect

        return collect.case_module(file_path, parent)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Say in one sentence that a file calls a model as it is imported, or adds an option of ours."""
        report = yield
        call = getattr(report, "call", None)
        if call is not None and call.excinfo is not None:
            from pytest_recall.files.errors import MissError, RecallError
            from pytest_recall.files.wording import one_line
            from pytest_recall.plugin.options import clash

            error = call.excinfo.value
            sentence = str(error) if isinstance(error, MissError) else clash(self.config, error)
            report.longrepr = sentence or report.longrepr
            if isinstance(error, RecallError):
                add_data(report, uncollected=one_line(error.messages[0]))
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Let marked tests join the schedule, once `-k` and `-m` have had their say."""
        if self.run or any("recall" in item.keywords for item in items):
            from pytest_recall.plugin import collect

            collect.join(self.config, items)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Note the cases that are left out, by us or by another plugin."""
        if self.run:
            from pytest_recall.plugin import collect

            collect.note_deselected(self.run, items)

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> str | None:
        """Say the choice here if it could not be made before, or that there is nothing to choose from."""
        if not items and not (self.run and self.run.plan.files):
            from pytest_recall.plugin import files

            return files.nothing_line(self.config)
        return self.run.late_line() if self.run else None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Write down what this run is going to do, or refuse to choose from nothing. Raises pytest.UsageError."""
        workers_collect = self.config.pluginmanager.has_plugin("dsession")
        # pytest calls this also where the collection has failed, whose error says more.
        if not self.run and not workers_collect and sys.exception() is None:
            from pytest_recall.plugin import start

            if why := start.idle_choice(self.config):
                raise pytest.UsageError(why)
        if self.run:
            # Imported here, and not within the first case, whose agent may have faked the file system or the clock.
            from pytest_recall.plugin import options, trials  # noqa: F401

            manager = self.manager
            if "pyfakefs" in sys.modules or (manager is not None and manager.mode != "off"):
                from pytest_recall.models import prices

                # The price list looks for files as it is imported, and its many objects need not be walked over.
                prices.available()
            states = [state_of(item) for item in session.items if is_case(item)]
            self.run.collected([state.case_id for state in states if not state.arm])
            if self.run.dry is None and any(state.rule is not None for state in states):
                from pytest_recall.plugin.repeats import RepeatedTrials

                self.config.pluginmanager.register(RepeatedTrials(), "recall-repeats")
            if options.concurrency(self.config) > 1:
                from pytest_recall.plugin import overlap

                overlap.begin(session, self.run)

    @pytest.hookimpl(wrapper=True, tryfirst=True, specname="pytest_runtest_protocol")
    def pytest_recall_let_go(self, item: pytest.Item) -> Generator[None, object, object]:
        """Let go of the recording of an item and of exceptions, as pytest keeps the item to the end of the session."""
        try:
            return (yield)
        finally:
            if (state := item.stash.get(STATE, None)) is not None:
                state.tape = state.trial = None
                state.imposed = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """Open a cassette for a fixture that several tests share, and note the event loop of an async one."""
        __tracebackhide__ = True
        with self._shared(fixturedef, request), self._noted(fixturedef):
            return (yield)

    def _shared(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> AbstractContextManager[None]:
        manager = self.manager
        if manager is None or fixturedef.scope == "function":
            return nullcontext()
        return _of_wider_scope(manager, fixturedef, request)

    def _noted(self, fixturedef: pytest.FixtureDef[Any]) -> AbstractContextManager[None]:
        is_async = iscoroutinefunction(fixturedef.func) or isasyncgenfunction(fixturedef.func)
        if not is_async or self.run is None:
            return nullcontext()
        from pytest_recall.plugin.loops import FixtureLoops

        if LOOPS not in self.config.stash:
            self.config.stash[LOOPS] = FixtureLoops()
        noted: AbstractContextManager[None] = self.config.stash[LOOPS].noted(fixturedef)
        return noted

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Open the cassette of a case, for each attempt at it."""
        __tracebackhide__ = True
        manager = self.manager
        state = item.stash.get(STATE, None)
        if state is not None:
            self.config.stash[CURRENT] = item
            if state.unreported:
                from pytest_recall.plugin import attempts

                attempts.note_unreported(item)
        if manager is None or state is None:
            return (yield)
        if state.prefetch is None:
            manager.open(item)
        if manager.mode == "off" or (state.prefetch is not None and state.prefetch.job is not None):
            # An agent that was asked already may have missed something since: that is for the call to say.
            return (yield)
        with manager.answerable(item, "setup"):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Fail a test that asked for what is not recorded, or left some of it unasked; tell subtests from the test."""
        __tracebackhide__ = True
        state = item.stash.get(STATE, None)
        if state is None:
            return (yield)
        state.subtests, state.calling, state.apart = [], True, ""
        from pytest_recall.plugin import origins

        raised = None
        manager = self.manager
        try:
            with origins.noted(item):
                if manager is None or state.tape is None:
                    return (yield)
                with manager.answerable(item, "call"), self._in_case(item):
                    return (yield)
        except BaseException as error:
            raised = error
            raise
        finally:
            state.calling, state.unreported, state.raised = False, True, raised

    def _in_case(self, item: pytest.Item) -> AbstractContextManager[None]:
        if not iscoroutinefunction(getattr(item, "obj", None)):
            return nullcontext()
        from pytest_recall.plugin.loops import run_in_case

        return run_in_case(item)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        """Close the cassette; what was recorded takes its place if the case came to a verdict."""
        __tracebackhide__ = True
        manager = self.manager
        state = item.stash.get(STATE, None)
        if manager is None or state is None or state.tape is None:
            return (yield)
        with manager.answerable(item, "teardown"):
            try:
                return (yield)
            finally:
                manager.shut(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the trial to the report, which is how it reaches the controller."""
        report = yield
        if report.failed and call.excinfo is not None:
            from pytest_recall.files.errors import MissError

            if isinstance(call.excinfo.value, MissError):
                report.longrepr = str(call.excinfo.value)
        state = item.stash.get(STATE, None)
        if state is None:
            return report
        from pytest_recall.plugin.trials import changes_at_its_end, put_trial_on_report, take_subtest

        if state.calling:
            take_subtest(item, call, report)
            return report
        if call.when != "teardown" or changes_at_its_end(item, call, report):
            put_trial_on_report(item, call, report)
        if call.when == "call":
            state.reported = report.outcome
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Append the trial to the journal; the first sign of a case may come from a worker, or be its death."""
        data = data_of(report)
        has_trial = "trials" in data
        item = self.config.stash.get(CURRENT, None)
        state = None if item is None or item.nodeid != report.nodeid else state_of(item)
        if item is not None and state is not None and has_trial:
            if report.when == "call" and state.reported and _was_changed(item, report):
                from pytest_recall.plugin import attempts

                attempts.settle(item, report)
            state.pending = []
        if state is not None and report.when == "call" and report.failed and state.apart:
            # Not before it is reported: until then it is a fail, which plugins may have run again.
            report.outcome, report.wasxfail = "skipped", state.apart
        run = self.run
        if run is not None:
            run.other_failures.take(report)
        if has_trial or "unpaid" in data or report.when == CRASHED:
            if run is None:
                from pytest_recall.plugin import start

                run = start.ensure_run(self.config)
            run.record(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that could not be collected."""
        if self.run:
            self.run.other_failures.take(report)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, Any] | None:
        """Show a trial without a verdict as an error, not as a failed case."""
        data = data_of(report)
        if report.when == "call" and report.failed and data.get("status") == ERROR:
            return "error", "E", "ERROR"
        if report.outcome == RERUN and "trials" in data:
            return "rerun", "R", ("RERUN", {"yellow": True})
        if data.get("status"):
            from pytest_recall.plugin import baselines

            return baselines.status(report)
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Let pytest report a Ctrl-C wherever it came."""
        from pytest_recall.plugin.interrupts import complete_lines

        complete_lines(excinfo)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Apply the trials to the state and write the scorecard, on the controller, after all that others do here."""
        from pytest_recall.files.errors import MissError

        try:
            return (yield)
        except MissError:
            return None  # The player has noted it, and the run says it at its end.
        finally:
            if self.run:
                from pytest_recall.plugin.interrupts import Postponed

                with Postponed() as interrupt:
                    self.run.finish(session)
                if interrupt.came:
                    session.exitstatus = pytest.ExitCode.INTERRUPTED
            elif session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                from pytest_recall.plugin import start

                if start.idle_choice(self.config):
                    session.exitstatus = pytest.ExitCode.USAGE_ERROR
            if WATCH in self.config.stash:
                self.config.stash[WATCH].tell_at_once()
            if session.exitstatus:
                from pytest_recall.plugin import refusal

                refusal.page_of_no_run(session, self.run, sys.exception())

    @pytest.hookimpl(wrapper=True, tryfirst=True, specname="pytest_terminal_summary")
    def pytest_recall_own_failures(self, terminalreporter: pytest.TerminalReporter) -> Generator[None, object, object]:
        """Leave cases that failed to the scorecard, around pytest's own sections."""
        from pytest_recall.files.errors import MissError

        if self.run is None:
            return (yield)
        try:
            with self.run.ending.failures_hidden(terminalreporter):
                return (yield)
        except MissError:
            session = self.config.pluginmanager.get_plugin("session")
            assert isinstance(session, pytest.Session)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            return None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the scorecard."""
        if self.config.option.verbose < 0:  # There was no header to say it in.
            from pytest_recall.plugin import files

            if foreign := files.foreign_line(self.config):
                terminalreporter.line(foreign)
        if self.run:
            self.run.summary(terminalreporter)
        elif self.config.pluginmanager.has_plugin("dsession"):
            from pytest_recall.plugin import start

            if why := start.idle_choice(self.config):
                terminalreporter.line(f"ERROR: {why}", red=True)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_unconfigure(self) -> Generator[None, object, object]:
        """Have pytest look once for what was not closed."""
        from pytest_recall.files.errors import MissError

        try:
            if self.run is None:
                return (yield)
            from pytest_recall.plugin import garbage

            with garbage.walked(self.config):
                return (yield)
        except MissError:
            return None

    def leave(self) -> None:
        """Leave the HTTP clients and the garbage collector as they were, after all hooks of the session."""
        if self.manager is not None:
            self.manager.close()
        if self.run:
            from pytest_recall.plugin import garbage

            garbage.thaw(self.config)
