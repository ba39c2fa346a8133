"""Run cases of one file at the same time while pytest takes them one by one.

pytest's protocol stays as it is. Before an item has its turn, the ones behind it are begun: their
fixtures are set up in the main thread, and a thread each asks and judges. At its turn an
item finds its fixtures there, and `runtest` waits for the trial.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING

import pytest

from pytest_recall.files import clock
from pytest_recall.files.context_values import assigned
from pytest_recall.files.errors import RecallError
from pytest_recall.files.json_lines import Appended
from pytest_recall.models import prices
from pytest_recall.plugin import options
from pytest_recall.plugin.case_item import CaseItem
from pytest_recall.plugin.output import SINK, Output
from pytest_recall.plugin.prefetch import GLOBAL, NeedsAlone, Prefetch, needs_alone, put_back, set_up, tear_down
from pytest_recall.plugin.pytest_internals import fixtures_of, is_known, renew_request, steady_environment
from pytest_recall.plugin.stash import CASSETTES, STATE
from pytest_recall.plugin.trials import trial_of
from pytest_recall.replay.hooks import carry
from pytest_recall.trials.concurrency import Loop, Pool, TrialJob
from pytest_recall.trials.execution import Result

if TYPE_CHECKING:
    from pytest_recall.plugin.session import Run


AHEAD_OF = 4
"""Cases are begun for each that may run at once, so that one that takes long does not leave the rest without work."""


def obstacle(config: pytest.Config) -> str | None:
    """Return why no cases can run at once in this session, as the end of a sentence; None if they can."""
    session = config.pluginmanager.getplugin("session")
    if isinstance(session, pytest.Session) and not is_known(session):
        return f"since pytest-recall does not know the fixture internals of pytest {pytest.__version__}"
    return obstacle_in_options(config)


def obstacle_in_options(config: pytest.Config) -> str | None:
    """Return why the options let no cases run at once, as the end of a sentence; None if they do."""
    option = config.option
    if option.usepdb or getattr(option, "trace", False):
        return "since a debugger stops at one case"
    if option.setuponly or option.setupshow:
        return "since fixtures are shown as they are set up"
    if getattr(option, "dist", "no") == "worksteal":
        return "since --dist=worksteal moves cases that have begun; another --dist lets them run at once"
    return None


def refuse_batch(config: pytest.Config, why: str | None) -> None:
    """Refuse `--recall-batch` where its cases run one by one, and say `why`. Raises pytest.UsageError."""
    if why is not None and config.option.recall_batch:
        raise pytest.UsageError(f"--recall-batch has no effect where cases run one by one, {why}; leave it out")


def begin(session: pytest.Session, run: Run) -> None:
    """Let the cases of this process run at once, if there are any."""
    first = next((item for item in session.items if isinstance(item, CaseItem)), None)
    if first is None:
        return
    if (why := obstacle(session.config)) is not None:
        refuse_batch(session.config, why)
        return
    prices.available()  # It imports httpx2, which cases that run meanwhile could find half imported.
    session.config.pluginmanager.register(Overlap(session, run), "recall-overlap")


def _prefetch_of(item: pytest.Item) -> Prefetch | None:
    """Return what was begun of an item before its turn; None where nothing was."""
    state = item.stash.get(STATE, None)
    return None if state is None else state.prefetch


class Overlap:
    """The hooks of a session whose cases run at once."""

    def __init__(self, session: pytest.Session, run: Run) -> None:
        config = session.config
        self._session = session
        self._run = run
        self._breaker = run.breaker
        self._manager = config.stash[CASSETTES]
        limit = options.concurrency(config)
        # With -x what is begun may be in vain, and costs.
        self._most = limit if config.option.maxfail or getattr(config.option, "stepwise", False) else AHEAD_OF * limit
        self._pool = Pool(limit)
        self._places = {id(item): place for place, item in enumerate(session.items)}
        self._begun: dict[CaseItem, Prefetch] = {}
        self._needs: dict[str, str] = {}
        self._loop = Loop()
        run.loop.use(self._loop)
        self._output = Output(config)
        self._early: Appended | None = None
        self._writing = threading.Lock()
        self._undo = carry(lambda in_thread: [(SINK, SINK.get())])
        self._undo += steady_environment(config)

    # Ahead of its turn

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """Begin the item and the ones behind it, within what other plugins put around a protocol."""
        if isinstance(item, CaseItem):
            self._look_ahead(item, nextitem)
        return (yield)

    def _look_ahead(self, item: CaseItem, nextitem: pytest.Item | None) -> None:
        is_out = self._breaker is not None and self._breaker.stop_of(item.state.arm) is not None
        if is_out or self._manager.spent_out is not None:
            return
        for upcoming in self._upcoming(item, nextitem):
            if not isinstance(upcoming, CaseItem) or upcoming.parent is not item.parent or self._need(upcoming):
                break
            prefetch = self._begun.get(upcoming)
            if prefetch is not None and prefetch.exits:
                break
            if prefetch is not None or _may_be_skipped(upcoming):
                continue
            if len(self._begun) >= self._most or not self._begin(upcoming):
                break
        need = self._need(item)
        if need is not None:
            (self._run.money.alone if need in GLOBAL else self._run.money.looped)[need] += 1

    def _upcoming(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[pytest.Item]:
        """Yield the items in the order of their turns, as far as it is known."""
        items = self._session.items
        yield item
        if nextitem is None:
            return
        yield nextitem
        if options.is_worker(self._session.config):
            yield from (items[place] for place in _queued(self._session.config))
            return
        place = self._places.get(id(nextitem), len(items))
        if items[place - 1] is item:
            yield from items[place + 1 :]

    def _need(self, item: CaseItem) -> str | None:
        """Return the fixture for which the case has to be alone in the process; None if there is none."""
        known = fixtures_of(item)
        found = (name for name in item.fixturenames if needs_alone(name, known.get(name, ())))
        return next(found, self._needs.get(item.nodeid))

    def _begin(self, item: CaseItem) -> bool:
        """Set up the fixtures of a case and start its trial; return whether the next one may be begun as well."""
        prefetch = item.state.prefetch = Prefetch(self._manager.player.lane())
        self._manager.open(item, prefetch.lane)
        try:
            with self._captured(item, prefetch):
                prefetch.entry = set_up(item, lambda: prefetch.context)
        except NeedsAlone as need:
            self._needs[item.nodeid] = str(need)
            self._end(item)
            return False
        except BaseException:
            self._end(item)
            raise
        if prefetch.entry is None:
            self._end(item)
            return False
        if not self._begun and any(map(_is_async, item.funcargs.values())):
            # Before there are threads: these compute by turns, in which asyncio takes several times as long to load.
            self._loop.begin()
        prefetch.said = prefetch.sink.taken()
        prefetch.seconds = clock.wall() - prefetch.begin
        self._begun[item] = prefetch
        if prefetch.entry.raised is None and not (item.state.tape and item.state.tape.misses):
            # Known before its thread is: Ctrl-C may come while that starts.
            prefetch.job = prefetch.lane.wait = TrialJob(
                partial(self._asked, item), prefetch.context, f"recall {item.name}"
            )
            self._pool.enter(prefetch.job)
        return not prefetch.exits

    def _asked(self, item: CaseItem) -> Result:
        """Ask the case, and write down what came of it: its turn may be long in coming, and the process be killed."""
        # The provider may have failed others while this one waited for a thread.
        with nullcontext() if self._breaker is None else self._breaker.counted(item):
            result: Result = item.ask()
        recording = self._run.recording
        if recording is not None and recording.early and item.state.rule is None and item.early_trial is None:
            # What cannot be kept is asked again, and what is left behind at the end has no one to tell.
            with self._writing, suppress(OSError, ValueError, RecallError):
                if self._early is None:
                    self._early = Appended(self._run.plan.place.artifacts.folder / recording.early)
                self._early.append(trial_of(item, result).to_json())
        return result

    @contextmanager
    def _captured(self, item: CaseItem, prefetch: Prefetch) -> Iterator[None]:
        """Keep what is printed while `item` is set up: its own text for its turn, and that of processes as well."""
        capture = getattr(self._output.capture, "item_capture", None)
        with nullcontext() if capture is None else capture("setup", item), assigned(SINK, prefetch.sink):
            yield

    # At its turn

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Hand pytest the fixtures that are set up, within its capture."""
        prefetch = _prefetch_of(item)
        if prefetch is None or prefetch.entry is None:
            return
        prefetch.said.again(self._output.handlers)
        entry, prefetch.entry = prefetch.entry, None
        try:
            put_back(item, entry)
        except BaseException:
            tear_down(entry)
            raise

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Print and log what the case did, once it has ended."""
        __tracebackhide__ = True
        prefetch = _prefetch_of(item)
        try:
            return (yield)
        finally:
            if prefetch is not None:
                prefetch.sink.over = True
                prefetch.sink.taken().again(self._output.handlers)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Report the time that the case took itself, and not for how long its turn waited."""
        prefetch = _prefetch_of(item)
        if prefetch is not None and call.when == "setup":
            call.start, call.duration = prefetch.begin, prefetch.seconds + call.duration
            call.stop = call.start + call.duration
        elif prefetch is not None and call.when == "call" and prefetch.job is not None and prefetch.job.is_done:
            call.start, call.stop, call.duration = prefetch.job.begin, prefetch.job.end, prefetch.job.seconds
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """Take down what was begun in vain, before pytest takes down what it stands on; then the item's own."""
        __tracebackhide__ = True
        session = self._session
        # Between two trials of a case, what is next is the file itself.
        goes_on = nextitem is not None and item.parent in (nextitem, nextitem.parent)
        ends = not goes_on or session.shouldfail or session.shouldstop
        self._call_off([other for other in self._begun if other is not item] if ends else [])
        prefetch = _prefetch_of(item)
        if not isinstance(item, CaseItem) or prefetch is None:
            return (yield)
        self._stop([prefetch])
        prefetch.sink.over = True
        self._take_down(item, prefetch)
        try:
            return (yield)
        finally:
            self._end(item)

    # In vain

    def _call_off(self, items: list[CaseItem]) -> None:
        """End cases that are not going to have their turn; nothing is reported of them."""
        begun = [(item, self._begun[item]) for item in items]
        self._stop([prefetch for _, prefetch in begun])
        for item, prefetch in reversed(begun):
            self._take_down(item, prefetch)
            self._end(item)
            renew_request(item)

    def _take_down(self, item: CaseItem, prefetch: Prefetch) -> None:
        """Take down the fixtures of a case that pytest was not handed."""
        if prefetch.entry is not None:
            for error in tear_down(prefetch.entry):
                self._manager.problems.append(f"{item.nodeid}: was not run, and its teardown failed: {error!r}")

    def _stop(self, begun: list[Prefetch]) -> None:
        """Let trials that run come to an end, which those of coroutines do at once."""
        running = [prefetch for prefetch in begun if prefetch.job is not None and not prefetch.job.is_done]
        for prefetch in running:
            prefetch.lane.call_off()
        self._pool.cancel([prefetch.job for prefetch in running if prefetch.job is not None])
        for prefetch in running:
            prefetch.lane.over = False  # Fixtures may still have something to call.

    def _end(self, item: CaseItem) -> None:
        """Forget what was begun of `item`."""
        prefetch = item.state.prefetch
        assert prefetch is not None, "it was begun"
        item.state.prefetch = None
        self._begun.pop(item, None)
        self._manager.player.leave(prefetch.lane)
        prefetch.lane.over = prefetch.job is not None and (prefetch.job.is_left or not prefetch.job.is_done)
        if item.state.tape is not None:  # What ends within its protocol has let go of it.
            item.state.tape.close()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Take down what is left after -x or Ctrl-C, before the fixtures that it stands on."""
        self._call_off(list(self._begun))
        for undo in self._undo:
            undo()
        if self._early is not None:
            self._early.close()
        self._output.close()


def _is_async(fixture: object) -> bool:
    """Whether a fixture is a coroutine function, or an object that is called as one."""
    return inspect.iscoroutinefunction(fixture) or (
        callable(fixture) and inspect.iscoroutinefunction(type(fixture).__call__)
    )


def _may_be_skipped(item: pytest.Item) -> bool:
    """Whether a mark may keep the item from running, which pytest finds out at its turn."""
    if any(item.get_closest_marker(name) for name in ("skip", "skipif")):
        return True
    return any(not mark.kwargs.get("run", True) for mark in item.iter_markers("xfail"))


def _queued(config: pytest.Config) -> list[int]:
    """Return the places of the items that a worker of xdist has in its queue, as far as it shows them."""
    for plugin in config.pluginmanager.get_plugins():
        lock = getattr(getattr(plugin, "torun", None), "lock", None)
        if lock is not None:
            with lock() as queue:
                return [place for place in queue if isinstance(place, int)]
    return []
