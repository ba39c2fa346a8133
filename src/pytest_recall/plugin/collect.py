"""Collection: rows of a case file as items, and marked tests joining them."""

from __future__ import annotations

import inspect
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recall.cases.case import Case
from pytest_recall.cases.case_file import CaseFile
from pytest_recall.files.errors import CaseError, MissError, RecallError
from pytest_recall.files.validation import MAX_PROBLEMS
from pytest_recall.plugin import baselines, checks, files, marks, memories, options, portion, profiles, start
from pytest_recall.plugin.ahead import NARROW
from pytest_recall.plugin.pytest_internals import closure_of, fixtures_of, value_of
from pytest_recall.plugin.stash import AHEAD, CASE_ID, DECK, RUN, TAPE, TRIAL
from pytest_recall.runs.collection import TOLD_IN
from pytest_recall.runs.plan import check_names
from pytest_recall.schedule.boxes import DATASET, PROFILE
from pytest_recall.trials.baselines import Baseline, item_name
from pytest_recall.trials.execution import PREFLIGHT, run_case
from pytest_recall.trials.series import rule_of
from pytest_recall.trials.trial import Outcome, Trial

if TYPE_CHECKING:
    from pytest_recall.plugin.session import Run

SHOWN = 4000
"""Characters of an answer that are printed; the journal has all of it."""


class CaseFailed(Exception):  # noqa: N818 - pytest knows it as a failure, not as an error
    """The judges' verdict on a case that failed; shown without a traceback."""


def case_module(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Return the collector of the case file `path`, or None if it is another kind of file."""
    config = parent.config
    run = config.stash.get(RUN, None)
    if not (run and path in run.plan.files) and not files.is_case_file(config, path):
        if not files.names_dataset(config, path):
            return None
        with start.usage_errors():
            _read_bench(config, path)
    module: CaseModule = CaseModule.from_parent(parent, path=path)
    return module


def _read_bench(config: pytest.Config, path: Path) -> None:
    """Read on a worker which questions of a dataset or a profile there are, as the controller has done."""
    from pytest_recall.plugin.profiles import read_source

    plan = start.run_of(config).plan
    file = plan.files[path] = read_source(config, path, plan.place.name(path))
    plan.declared.update(file.lines)


class CaseModule(pytest.Module):
    """A case file. It is a module to pytest, so that fixtures of every scope work."""

    obj = None
    provided: Mapping[str, Any] = {}
    """Judges that the file brings along, by name; all others are fixtures."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item for each case of the file that the run has chosen."""
        run = start.run_of(self.config)
        try:
            checks.check_thresholds(run)
            cases, lines = self._chosen(run)
            self.provided = profiles.judges_of(self.config, self.path)
        except RecallError as error:
            raise self.CollectError("\n".join(error.messages)) from None
        functions: dict[tuple[str, ...], dict[str, Any]] = {}
        asked = (None, *baselines.of_module(self))
        found = checks.Checks(run, self.path, self.provided)
        for case in cases:
            for baseline in asked:
                item = self._item(case, lines[case.id], baseline, functions)
                found.look_at(item)
                yield item
        if found.problems:
            # Of a run that does not begin, all is said at once.
            raise self.CollectError("\n".join([*found.problems][:MAX_PROBLEMS]))

    def _item(
        self, case: Case, line: int, baseline: Baseline | None, functions: dict[tuple[str, ...], dict[str, Any]]
    ) -> CaseItem:
        """Return the item in which the agent, or a baseline in its place, is asked the case."""
        judges = tuple(dict.fromkeys(call.name for call in case.judges))
        wanted = tuple(name for name in judges if name not in self.provided)
        names = (*self._asked(case, baseline), *(f"judge_{name}" for name in wanted))
        key = (baseline.name if baseline else "", *names)
        shared = functions.get(key)
        if shared is None:
            shared = functions[key] = {"callobj": _function(names)}
        name = case.id if baseline is None else item_name(case.id, baseline.name)
        item: CaseItem = CaseItem.from_parent(self, name=name, case=case, line=line, baseline=baseline, **shared)
        if "fixtureinfo" not in shared:
            # What a fixture closure is made of is the same for the same agent and judges.
            shared["fixtureinfo"] = closure_of(item)
        return item

    def _asked(self, case: Case, baseline: Baseline | None) -> tuple[str, ...]:
        """Return the fixtures that answer the case, a memory among them if the case fills one and it is asked."""
        agent = "agent" if baseline is None else baseline.fixture
        if case.memory is not None and memories.takes_part(self, agent):
            return (agent, "memory")
        if case.memory is not None and baseline is None:
            return ("memory",)
        return (agent,) if agent else ()

    def _chosen(self, run: Run) -> tuple[list[Case], dict[str, int]]:
        plan = run.plan
        file = plan.files.get(self.path)
        if file is None:
            # On a worker, or where another plugin leads pytest to files of its own.
            file = plan.files[self.path] = CaseFile(self.path, plan.place.name(self.path))
            plan.declared.update(file.lines)
        if plan.rest is None and (run.waits or (not plan.scheduled and plan.wanted.narrows)):
            wanted = plan.wanted
            return [case for case in file.cases() if wanted.keeps(case.scenario, case.dimension)], file.lines
        return file.cases(plan.items), file.lines


def _function(names: tuple[str, ...]) -> Any:
    """Return a function whose signature asks pytest for these fixtures."""

    def case(**fixtures: Any) -> None:
        raise NotImplementedError("CaseItem.runtest runs the case")

    kind = inspect.Parameter.KEYWORD_ONLY
    case.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # type: ignore[attr-defined]
    return case


class CaseItem(pytest.Function):
    """A case: pytest sets up the agent and the judges, `run_case` does the rest.

    With a `baseline` that one is asked in place of the agent; `arm` is its name.
    """

    def __init__(self, *, case: Case, line: int, baseline: Baseline | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case = case
        self.line = line
        self.baseline = baseline
        self.arm = baseline.name if baseline else ""
        self.stash[CASE_ID] = case.id
        # What is asked again to be sure of a fail is asked for the sake of the schedule, which no baseline is on.
        plan = self.config.stash[RUN].plan
        confirm = None if baseline or plan.files[self.path].reason else plan.rubric.confirm
        if confirm is not None and not self.config.stash[DECK].asks_again(case.id, case.scenario):
            confirm = None
        self.rule = rule_of(case, confirm)
        self.extra_keyword_matches.update((case.scenario, case.dimension))
        for tag in case.tags:
            self.add_marker(_mark(self.config, tag))

    def setup(self) -> None:
        """Set up the fixtures; before its turn, those that are the case's own in a context of its own."""
        ahead = self.stash.get(AHEAD, None)
        if ahead is None:
            super().setup()
            return
        for name in self.fixturenames:
            definitions = fixtures_of(self).get(name)
            if definitions and definitions[-1].scope not in NARROW:
                value_of(self, name)
        ahead.enter().run(super().setup)

    def runtest(self) -> None:
        """Run the case; raises CaseFailed for a fail and CaseError where there is no verdict."""
        __tracebackhide__ = True
        if TRIAL in self.stash:
            del self.stash[TRIAL]
        ahead = self.stash.get(AHEAD, None)
        try:
            trial = self.trial() if ahead is None else ahead.trial()
        except CaseError as error:
            if error.stage == PREFLIGHT:
                # A judge that is wrong about what is known would be wrong about the rest as well.
                self.config.stash[RUN].halt(str(error))
                self.session.shouldstop = str(error)
            raise
        self.stash[TRIAL] = trial
        if trial.outcome is Outcome.FAILED:
            raise CaseFailed(trial.note)

    def trial(self) -> Trial:
        """Ask and judge the case with its fixtures, in whichever thread. Raises CaseError."""
        run = self.config.stash[RUN]
        if (early := portion.early(run.plan, self.case.id, self.arm)) is not None and self.rule is None:
            return early
        fixtures: dict[str, Any] = self.funcargs
        agent: Any = fixtures.get("agent")
        if self.baseline is not None:
            agent = baselines.agent_of(self.config, self.baseline, fixtures)
        if self.case.memory is not None:
            agent = memories.agent_of(self.config, self.path, self.case, fixtures.get("memory"), agent, self.baseline)
        if run.dry:
            return run.dry.asked(self, agent)
        trial = run_case(
            self.case,
            agent,
            {call.name: self._judge(call.name) for call in self.case.judges},
            thresholds=run.plan.rubric.thresholds,
            wait=run.wait,
            clock=time.perf_counter,
            ends=(pytest.exit.Exception, MissError),
            asking=self.config.stash[DECK].player.asking,
        )
        file = run.plan.files[self.path]
        if not self.arm and file.reason == PROFILE:
            return profiles.with_points(trial, self.getparent(CaseModule).provided)  # type: ignore[union-attr]
        if self.arm or file.reason != DATASET:
            return trial
        return trial._replace(measures=memories.measures(file, trial, fixtures.get("memory")))

    def _judge(self, name: str) -> Any:
        provided = self.getparent(CaseModule).provided  # type: ignore[union-attr]
        return provided[name] if name in provided else self.funcargs[f"judge_{name}"]

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the row's place: file, line counted from 0, id."""
        return self.path, self.line - 1, self.name

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show a fail as the verdict, and a crash as what the agent or the judge raised."""
        where = f"{self.config.stash[RUN].plan.place.name(self.path)}:{self.line}"
        error = excinfo.value
        if isinstance(error, CaseFailed):
            return self._clean("\n".join(_told(where, self.case, self.stash[TRIAL])))
        if isinstance(error, CaseError):
            if error.__cause__ is None or _is_ours(error.__cause__):
                return self._clean(f"{where}: {error}")
            cause = pytest.ExceptionInfo.from_exception(error.__cause__)
            return super().repr_failure(cause)
        return super().repr_failure(excinfo)

    def _clean(self, text: str) -> str:
        """Return what is printed of the trial without secrets, where the journal is without them as well."""
        tape = self.stash.get(TAPE, None)
        return text if tape is None or tape.mode == "off" else tape.redactor.text(text)


def _is_ours(error: BaseException) -> bool:
    """Whether an exception came from a line of ours, such as the call of a function that takes something else."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is not None and str(at.tb_frame.f_globals.get("__name__", "")).startswith("pytest_recall.")


def _told(where: str, case: Case, trial: Any) -> Iterator[str]:
    asked = case.input if case.turns is None else " / ".join(turn.user for turn in case.turns)
    yield f"{where}: {trial.note}"
    yield f"  asked:    {asked}"
    if case.expected is not None:
        yield f"  expected: {case.expected}"
    text = trial.answer.text
    yield f"  answered: {text if len(text) <= SHOWN else f'{text[:SHOWN]}… ({len(text):,} characters)'}"


def _mark(config: pytest.Config, tag: str) -> pytest.MarkDecorator:
    # Registered as it is met, so that --strict-markers accepts tags and still refuses typos in code.
    registered = config.stash.setdefault(_TAGS, set())
    if tag not in registered:
        registered.add(tag)
        if tag not in {line.split(":")[0].split("(")[0].strip() for line in config.getini("markers")}:
            config.addinivalue_line("markers", f"{tag}: tag of an eval case")
    mark: pytest.MarkDecorator = getattr(pytest.mark, tag)
    return mark


_TAGS = pytest.StashKey[set[str]]()


def join(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let marked tests join the schedule, and drop what was not chosen.

    On a worker a mistake is sent to the controller, which says it once; nothing runs then.
    """
    try:
        with start.usage_errors():
            _join(config, items)
    except pytest.UsageError as error:
        if not options.is_worker(config):
            # Nothing was run, so that there is nothing to write down either.
            if RUN in config.stash:
                del config.stash[RUN]
            raise
        config.workeroutput["recall_errors"] = list(error.args)  # type: ignore[attr-defined]
        items.clear()


def _join(config: pytest.Config, items: list[pytest.Item]) -> None:
    late: dict[str, tuple[str, str]] = {}
    nodes: dict[str, str] = {}
    rows = [item.case.id for item in items if isinstance(item, CaseItem)]
    by_place: dict[str, tuple[str, ...]] = {}
    for item in items:
        found = None if isinstance(item, CaseItem) else marks.marked(item)
        if found is None:
            continue
        case_id = found.case_id
        if case_id in late:
            raise RecallError(
                f"{item.nodeid}: the case `{case_id}` is another test as well; choose another id, or give the mark none"
            )
        late[case_id] = (found.scenario, found.dimension)
        nodes[item.nodeid] = case_id
        item.stash[CASE_ID] = case_id
        if found.by_place:
            by_place[item.nodeid] = found.by_place
    if (told := os.environ.get(TOLD_IN)) and config.option.collectonly:
        Path(told).write_text(json.dumps(late), encoding="utf-8")
    if not late and RUN not in config.stash:
        return
    run = start.run_of(config)
    if by_place:
        run.note(marks.by_place_line([*by_place], [name for names in by_place.values() for name in names]))
    if run.unknown_baselines:
        raise RecallError(*run.unknown_baselines)
    both = late.keys() & {case_id for file in run.plan.files.values() for case_id in file.lines}
    if both:
        raise RecallError(
            *(f"the case `{name}` is a row and a marked test; choose another id" for name in sorted(both))
        )
    check_names(run.plan, late)
    plan = run.plan
    if late or run.waits:
        run.nodes = nodes
        run.choose_from([*rows, *late], late)
    elif plan.shard is None and plan.rest is None:
        return
    portion.drop(run, items)
