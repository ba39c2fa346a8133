"""Session: the run of one pytest session, from its plan to its scorecard."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recall.core.baselines import case_and_baseline
from pytest_recall.core.call import Call
from pytest_recall.core.errors import RecallError
from pytest_recall.core.record import Record
from pytest_recall.core.scorecard import Scorecard
from pytest_recall.core.trial import Trial
from pytest_recall.plugin import garbage
from pytest_recall.plugin.options import CRASHED, is_worker
from pytest_recall.plugin.stash import DECK
from pytest_recall.plugin.trials import crashed
from pytest_recall.render import scorecard as render
from pytest_recall.render.cost import dollars
from pytest_recall.render.sentences import alone_line, plural, slice_line
from pytest_recall.run import finish
from pytest_recall.run.plan import Plan
from pytest_recall.store.find import SUFFIXES
from pytest_recall.store.journal import Journal

if TYPE_CHECKING:
    import asyncio

    from pytest_recall.plugin.progress import Ticker
    from pytest_recall.plugin.recording import Recording
    from pytest_recall.run.loop import Loop


class Run:
    """What one session does about eval cases. On a worker of xdist it follows and reports.

    `late` are the cases that only collection finds, which are marked tests, by id with
    their scenario and dimension; `nodes` maps their node ids to their ids. `calls` belong to no trial.
    """

    def __init__(self, config: pytest.Config, plan: Plan) -> None:
        self.config = config
        self.plan = plan
        self.follows = is_worker(config)
        self.late: dict[str, tuple[str, str]] = {}
        self.nodes: dict[str, str] = {}
        self._crashes: dict[str, str] = {}
        self.trials: list[Trial] = []
        self.calls: list[Call] = []
        self.unknown_baselines: dict[str, None] = {}
        self._attempts: Counter[tuple[str, str]] = Counter()
        self._journal: Journal | None = None
        self._record: Record | None = None
        self._card: Scorecard | None = None
        self._amended = False
        self._announced = False
        self._state_line = ""
        self._problems: list[str] = []
        self._notes: list[str] = []
        self._refused: list[str] = []
        self._halted = ""
        self._runner: asyncio.Runner | None = None
        self.loop: Loop | None = None
        self.alone: Counter[str] = Counter()
        self.recording: Recording | None = None
        self._watched = False
        self._ticker: Ticker | None = None

    @property
    def waits(self) -> bool:
        """Whether the choice has to wait for collection, since `-m` narrows what it is made from."""
        return bool(self.config.option.markexpr) and self.plan.scheduled

    # What was chosen

    def header_line(self) -> str | None:
        """Return the slice in one line, or that it is not known before collection."""
        if not self.plan.files:
            return None
        if self.waits:
            context = self.plan.context
            return f"recall: {context.mode} {context.date}: chosen from what -m {self.config.option.markexpr!r} leaves"
        self._announced = True
        return self._slice_line()

    def concurrency_line(self) -> str | None:
        """Return how many cases run at once, or why none do though it was asked for."""
        from pytest_recall.plugin import options

        limit = options.concurrency(self.config)
        if limit == 1 or not self.plan.files or self.config.option.collectonly:
            return None
        from pytest_recall.plugin.overlap import obstacle

        reason = obstacle(self.config)
        return f"recall: up to {limit} cases at once" if reason is None else f"recall: cases run one by one, {reason}"

    def late_line(self) -> str | None:
        """Return the slice in one line, if it was made or changed by collection."""
        return None if self._announced or not self.plan.declared else self._slice_line()

    def _slice_line(self) -> str:
        if not self.plan.scheduled:
            kept = "" if self.plan.writes else "; the state is left alone"
            return f"recall: schedule off, the cases are chosen by {self.plan.wanted.explicit}{kept}"
        return f"recall: {slice_line(self.plan.header('', ''))}"

    def choose_from(self, case_ids: Iterable[str], late: dict[str, tuple[str, str]]) -> None:
        """Choose again, from all of `case_ids` if the choice waited, else from the `late` ones as well."""
        self.late = late
        self.plan.declared.update(late)
        if self.waits:
            self.plan.cases = set(case_ids)
            self.plan.choose()
        else:
            self.plan.choose(case_id for case_id, names in late.items() if self.plan.wanted.keeps(*names))
        self._amended = True
        self._announced = False

    # The journal

    def collected(self, case_ids: Iterable[str]) -> None:
        """Begin the journal, now that pytest has its items."""
        garbage.freeze(self.config)
        if not self.follows and self._journal is None:
            self._begin(case_ids)

    def collected_elsewhere(self, node_ids: Iterable[str]) -> None:
        """Begin the journal, now that the first worker has its items; not before there is a case."""
        if self._journal is None and self.plan.files:
            self._begin(case_id for node_id in node_ids if (case_id := self.case_of(node_id)))

    def _begin(self, case_ids: Iterable[str]) -> None:
        if not self._runs:
            return
        expected = set(case_ids)
        if not self.plan.scheduled:
            self.plan.restrict(expected)
        self._amended = False
        now = datetime.now(UTC)
        artifacts = self.plan.place.artifacts
        try:
            folder = artifacts.new_run(now)
            self._journal = Journal(folder, self.plan.header(folder.name, now.isoformat(timespec="seconds")))
            artifacts.write("today.yaml", self.plan.today())
        except OSError as error:
            name = self.plan.place.name(artifacts.folder)
            raise pytest.UsageError(f"{name}: cannot be written ({error.strerror}); nothing was run") from None
        if expected:
            self._watch(expected)

    def _watch(self, case_ids: set[str]) -> None:
        """Begin to tell how far the run is."""
        from pytest_recall.plugin import progress

        self._watched = True
        self._ticker = progress.begin(self.config, self.trials, case_ids)

    @property
    def _runs(self) -> bool:
        """Whether tests are run at all, and not only listed."""
        option = self.config.option
        return not (option.collectonly or option.showfixtures or option.show_fixtures_per_test or option.setuponly)

    def case_of(self, node_id: str) -> str | None:
        """Return the case that the agent under test is asked under the node id of a row; None for any other item."""
        case_id, arm = self._asked(node_id)
        return None if arm else case_id

    def _asked(self, node_id: str) -> tuple[str | None, str]:
        """Return the case of a row's node id, and the baseline that is asked; no case for any other item."""
        path, _, name = node_id.partition("::")
        case_id, arm = case_and_baseline(name)
        return (case_id, arm) if path.endswith(SUFFIXES) and case_id in self.plan.declared else (None, "")

    def record(self, report: pytest.TestReport) -> None:
        """Append the trial that came with `report` to the journal."""
        if self.follows:
            return
        given = getattr(report, "recall", None)
        if given is not None:
            trial: Trial = Trial.from_json(json.loads(given)) if isinstance(given, str) else given
            path, line, _ = report.location
            self._append(trial, path if line is None else f"{path}:{line + 1}")
        elif report.failed and report.when == CRASHED:
            self._crashed(report.nodeid, f"the worker died: {report.longrepr}")

    def _crashed(self, node_id: str, error: str) -> None:
        """Append the trial of a case whose worker died under it, unless its verdict had arrived."""
        case_id, arm = self._asked(node_id)
        if case_id is None:
            # It may be a marked test: that is known when another worker has said what it found.
            self._crashes[node_id] = error
        elif not self._attempts[case_id, arm]:
            file = next(file for file in self.plan.files.values() if case_id in file.lines)
            case = file.cases([case_id])[0]
            where = f"{file.name}:{file.lines[case_id]}"
            crash = crashed(case_id, case.scenario, case.dimension, error, case.fingerprint)
            self._append(crash._replace(arm=arm), where)

    def _append_crashed_tests(self) -> None:
        for node_id, error in self._crashes.items():
            case_id = self.nodes.get(node_id)
            if case_id is not None and not self._attempts[case_id, ""]:
                scenario, dimension = self.late.get(case_id, ("", ""))
                self._append(crashed(case_id, scenario, dimension, error), node_id.partition("::")[0])

    def _append(self, trial: Trial, where: str) -> None:
        if self._journal is None:
            self._begin(())
        key = trial.case_id, trial.arm
        self._attempts[key] += trial.repeat == 1
        under_test = not trial.arm
        trial = trial.at(
            self.plan.rows.get(trial.case_id) if under_test else None,
            self._attempts[key],
            reason=trial.reason or self.plan.reasons.get(trial.case_id, ""),
            where=where,
            pr=self.plan.context.pr,
            model=self.plan.context.model if under_test else None,
            evidence=under_test and not trial.unproven and (trial.source != "replayed" or self._trusts_replays),
        )
        self.trials.append(trial)
        if not self._watched:
            self._watch(set())  # Marked tests on workers: how many there are is not known before the end.
        if self._journal is not None:
            try:
                self._journal.append(trial)
            except OSError as error:
                self._problems.append(f"{self._journal.folder}: {trial.case_id} was not written ({error.strerror})")

    @property
    def _trusts_replays(self) -> bool:
        return bool(self.recording and self.recording.trusted)

    def wait(self, awaitable: Awaitable[Any]) -> Any:
        """Run `awaitable` on the session's one event loop, so that clients keep their connections."""
        if self.loop is not None:
            return self.loop.wait(awaitable)
        import asyncio

        if self._runner is None:
            self._runner = asyncio.Runner()

        async def done() -> Any:
            return await awaitable

        return self._runner.run(done())

    # The end

    def trouble(self, problems: Iterable[str]) -> None:
        """Take in what a worker could not do; it is shown at the end, and no run with it is a success."""
        self._problems += problems

    def note(self, *messages: str) -> None:
        """Take in what somebody should read at the end, and that makes no run a failure; each is shown once."""
        self._notes += [message for message in dict.fromkeys(messages) if message not in self._notes]

    def refuse(self, error: str) -> None:
        """Take in a mistake that a worker found; it ends the session with the code of a usage error."""
        if error not in self._refused:
            self._refused.append(error)

    def halt(self, reason: str) -> None:
        """Take in why nothing more is to be run; it ends the session with the code of a usage error."""
        if reason and not self._halted:
            self._halted = reason
            if not self.follows:
                self._problems.append(reason)

    def finish(self, session: pytest.Session) -> None:
        """Fold the trials into the state and write the scorecard. A worker reports what it found."""
        for loop in (self._runner, self.loop):
            if loop is not None:
                loop.close()
        if self._ticker is not None:
            self._ticker.stop()
        self._watched = True
        if self.follows:
            if "recall_errors" in self.config.workeroutput:  # type: ignore[attr-defined]
                return
            found = {
                "late": self.late,
                "nodes": self.nodes,
                "cases": sorted(self.plan.cases) if self.waits else [],
                "problems": self._deck_problems(),
                "notes": self._notes,
                "halted": self._halted,
                "calls": [call.to_json() for call in self._deck_calls()],
                "alone": self.alone,
            }
            self.config.workeroutput["recall"] = json.dumps(found)  # type: ignore[attr-defined]
            return
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self._nothing_due():
            session.exitstatus = pytest.ExitCode.OK
        if self._refused or self._halted:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        self._tell_of_the_budget(session)
        self._append_crashed_tests()
        self._problems += dict.fromkeys(self._deck_problems())
        self.calls += self._deck_calls()
        if self._journal is None:
            return
        folder = self._journal.folder
        header = self.plan.header(folder.name, "")
        try:
            if self._amended:
                self._journal.amend(header)
                self.plan.place.artifacts.write("today.yaml", self.plan.today())
            if self.calls:
                self._journal.spent(self.calls)
            self._journal.end(int(session.exitstatus))
        except OSError as error:
            self._problems.append(f"{folder}: the journal was not ended ({error.strerror})")
        self._record = Record(header, tuple(self.trials), int(session.exitstatus), tuple(self.calls))
        self._write_state(folder, self._record)
        self._write_scorecard(folder, self._record)
        if self._problems and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _tell_of_the_budget(self, session: pytest.Session) -> None:
        """Say what is left of the budget; a run that was cut short by it is no success."""
        deck = self.config.stash.get(DECK, None)
        meter = deck.player.meter if deck is not None else None
        if meter is None:
            return
        spent, unknown = meter.sums()
        told = f"budget ${meter.budget:,.2f}: {dollars(spent)} spent"
        if unknown:
            told += f", and {plural(unknown, 'call')} of unknown cost"
        why = meter.closed()
        self.note(f"{told}; {why}" if why else told)
        ran = {trial.case_id for trial in self.trials if not trial.arm}
        cut = any(case_id not in ran for case_id, _ in self.plan.picks)
        if why and cut and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.INTERRUPTED

    def _deck_problems(self) -> list[str]:
        deck = self.config.stash.get(DECK, None)
        return [] if deck is None else [*deck.problems, *deck.player.strays]

    def _deck_calls(self) -> list[Call]:
        deck = self.config.stash.get(DECK, None)
        return [] if deck is None else deck.calls

    def _nothing_due(self) -> bool:
        return self.plan.scheduled and bool(self.plan.cases) and not self.plan.picks

    def _write_state(self, folder: Path, record: Record) -> None:
        name = self.plan.place.name(self.plan.place.state)
        if not self.plan.writes:
            self._state_line = f"{name}: left alone, since you chose the cases; --recall-update writes it"
            return
        try:
            changed = finish.apply(self.plan.place, folder, record) or {}
            self._state_line = f"{name}: {plural(len(changed), 'row')} changed"
        except (OSError, RecallError) as error:
            self._problems.append(f"{name}: not written ({error}); correct that, then `recall apply {folder.name}`")

    def _write_scorecard(self, folder: Path, record: Record) -> None:
        try:
            self._card = finish.scorecard(record, self.plan.place)
        except RecallError as error:
            self._problems += error.messages
            self._card = finish.scorecard(record)
        try:
            finish.write_scorecard(self.plan.place, folder, record, self._card)
        except OSError as error:
            self._problems.append(f"scorecard: not written ({error.strerror})")

    def summary(self, reporter: pytest.TerminalReporter) -> None:
        """Print the scorecard, and what could not be written in red."""
        for error in self._refused:
            reporter.line(f"ERROR: {error}", red=True)
        if self._record is None or self._card is None or self._refused:
            return
        reporter.section("recall scorecard")
        for line in render.terminal(self._record, self._card):
            reporter.line(line)
        if self._state_line:
            reporter.line(self._state_line)
        if self.alone:
            reporter.line(alone_line(self.alone))
        if self._journal is not None:
            reporter.line(f"details: {self.plan.place.name(self._journal.folder)}/scorecard.md")
        for note in self._notes:
            reporter.line(note)
        for problem in self._problems:
            reporter.line(problem, red=True)
