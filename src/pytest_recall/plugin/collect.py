"""Collect rows of case files as items, join marked tests to them, and check them before the first call."""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recall.cases.case import Case
from pytest_recall.cases.case_file import CaseFile
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.validation import MAX_PROBLEMS
from pytest_recall.files.wording import plural
from pytest_recall.judges.rehearsal import mistakes, rehearsal
from pytest_recall.plugin import baselines, files, judging, marks, memories, options, portion, start
from pytest_recall.plugin.case_item import CaseItem
from pytest_recall.plugin.extensions import registry_of
from pytest_recall.plugin.item_state import ItemState
from pytest_recall.plugin.pytest_internals import closure_of, defined_names, fixtures_of
from pytest_recall.plugin.stash import RUN, STATE, is_case, state_of
from pytest_recall.runs.collection import MARKED_IN
from pytest_recall.runs.plan import check_names
from pytest_recall.schedule.boxes import PROFILE
from pytest_recall.trials.baselines import Baseline, item_name
from pytest_recall.trials.trial import Outcome

if TYPE_CHECKING:
    from pytest_recall.judges.rehearsal import AnyJudge
    from pytest_recall.plugin.case_item import CaseItem
    from pytest_recall.plugin.session import Run


def case_module(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Return the collector of the case file `path`, or None if it is another kind of file."""
    config = parent.config
    run = config.stash.get(RUN, None)
    if not (run and path in run.plan.files) and not files.is_case_file(config, path):
        if not files.names_dataset(config, path):
            return None
        with options.usage_errors():
            _read_bench(config, path)
    module: CaseModule = CaseModule.from_parent(parent, path=path)
    return module


def _read_bench(config: pytest.Config, path: Path) -> None:
    """Read on a worker which questions of a dataset or a profile there are, as the controller has done."""

    run = start.ensure_run(config)
    run.plan = run.plan.with_file(path, memories.read_source(config, path, run.plan.place.name(path)))


class CaseFileError(pytest.Collector.CollectError, RecallError):
    """What is wrong with a case file; pytest shows it without a traceback."""


class CaseModule(pytest.Module):
    """A case file. It is a module to pytest, so that fixtures of every scope work."""

    provided: Mapping[str, Any] = {}
    """Judges that the file brings along, by name; all others are fixtures."""

    @property  # type: ignore[misc]  # pytest could set it; it does not set that of a module
    def obj(self) -> ModuleType:
        """An empty module: the `module` of the items, by which other plugins and conftest files sort and choose."""
        if self._module is None:
            self._module = ModuleType(".".join(Path(self.nodeid).with_suffix("").parts), f"The cases of {self.nodeid}.")
            self._module.__file__ = str(self.path)
        return self._module

    _module: ModuleType | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item for each case of the file that the run has chosen."""
        run = start.ensure_run(self.config)
        try:
            check_thresholds(run)
            cases, lines = self._chosen(run)
            if run.plan.files[self.path].reason == PROFILE:
                self.provided = memories.judges_of(self.config, self.path)
        except RecallError as error:
            raise CaseFileError(*error.messages) from None
        functions: dict[tuple[str, ...], dict[str, Any]] = {}
        asked = (None, *(baselines.of_module(self) if run.plan.baselines else ()))
        found = Checks(run, self.path, self.provided)
        named = self._named()
        for case in cases:
            for baseline in asked:
                item = self._item(case, lines[case.id], baseline, functions)
                if named is None or item.name in named or item.name.partition("[")[0] in named:
                    found.look_at(item)
                yield item
        if found.problems:
            # Of a run that does not begin, all is said at once.
            raise CaseFileError(*[*found.problems][:MAX_PROBLEMS])

    def _named(self) -> set[str] | None:
        """Return the names of the items that the command line gives by their node ids; None if it gives the file."""
        named, own = set(), self.path.resolve()
        for argument in self.config.args:
            place, _, name = argument.partition("::")
            path = (self.config.invocation_params.dir / place).resolve()
            if name and path == own:
                named.add(name)
            elif not name and path in (own, *own.parents):
                return None
        return named or None

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
            shared = functions[key] = {"callobj": _function(names, self.obj)}
        name = case.id if baseline is None else item_name(case.id, baseline.name)
        item: CaseItem = CaseItem.from_parent(self, name=name, case=case, line=line, baseline=baseline, **shared)
        if "fixtureinfo" not in shared:
            # What a fixture closure is made of is the same for the same agent and judges.
            shared["fixtureinfo"] = closure_of(item)
            del shared["callobj"].__signature__  # `-k` looks among the attributes of a function as well.
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
            file = CaseFile(self.path, plan.place.name(self.path))
            run.plan = plan = plan.with_file(self.path, file)
        if plan.rest is None and (run.waits or (not plan.scheduled and plan.filters.narrows)):
            wanted = plan.filters
            return [case for case in file.cases() if wanted.keeps(case.scenario, case.dimension)], file.lines
        return file.cases(plan.items), file.lines


def _function(names: tuple[str, ...], module: ModuleType) -> Any:
    """Return a function of `module` whose signature asks pytest for these fixtures."""

    def case(**fixtures: Any) -> None:
        raise NotImplementedError("CaseItem.runtest runs the case")

    kind = inspect.Parameter.KEYWORD_ONLY
    case.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # type: ignore[attr-defined]
    case.__module__, case.__qualname__ = module.__name__, case.__name__
    return case


def join(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let marked tests join the schedule, and drop what was not chosen.

    On a worker a mistake is sent to the controller, which says it once; nothing runs then.
    """
    try:
        with options.usage_errors():
            _join(config, items)
            _check_encoding(config, items)
    except pytest.UsageError as error:
        if not options.is_worker(config):
            # Nothing was run, so that there is nothing to write down either.
            if RUN in config.stash:
                del config.stash[RUN]
            raise
        config.workeroutput["recall_errors"] = list(error.args)  # type: ignore[attr-defined]
        items.clear()


def note_deselected(run: Run, items: Iterable[pytest.Item]) -> None:
    """Note the cases of items that are left out. A row whose marked test `-k` leaves out is not without a case."""
    passed_over = set[str]()
    excluded = tuple(run.config.option.deselect or ())
    for item in items:
        if is_case(item):
            if not state_of(item).arm:
                run.collection.deselected[state_of(item).case_id] = item.nodeid.startswith(excluded)
            continue
        with suppress(RecallError):  # What is wrong with a mark is told where its test is run.
            if (found := marks.marked(item)) is not None:
                passed_over.add(found.case_id)
    if passed_over:
        run.collection.passed_over |= passed_over
        run.plan = run.plan.declaring(passed_over)


def _check_encoding(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Raise RecallError for cases whose names cannot be in the environment, where pytest puts what it runs."""
    if config.option.collectonly:
        return
    refused = []
    for item in items:
        if is_case(item) and not item.nodeid.isascii():
            try:
                os.fsencode(item.nodeid)
            except UnicodeEncodeError:
                refused.append(item.nodeid)
    if refused:
        more = f" (and {plural(len(refused) - 1, 'more case')})" if len(refused) > 1 else ""
        raise RecallError(
            f"{refused[0]}{more}: the encoding of this environment, {sys.getfilesystemencoding()}, does not have these"
            " characters; set PYTHONUTF8=1, or a locale of UTF-8 such as LC_ALL=C.UTF-8"
        )


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
        item.stash[STATE] = ItemState(case_id, Outcome.ERROR)
        if found.by_place:
            by_place[item.nodeid] = found.by_place
    if (path := os.environ.get(MARKED_IN)) and config.option.collectonly:
        Path(path).write_text(json.dumps(late), encoding="utf-8")
    if not late and RUN not in config.stash:
        return
    run = start.ensure_run(config)
    if by_place:
        run.log.note(marks.by_place_line([*by_place], [name for names in by_place.values() for name in names]))
    if run.collection.unknown_baselines:
        raise RecallError(*run.collection.unknown_baselines)
    both = late.keys() & {case_id for file in run.plan.files.values() for case_id in file.lines}
    if both:
        raise RecallError(
            *(f"the case `{name}` is a row and a marked test; choose another id" for name in sorted(both))
        )
    check_names(run.plan, late)
    plan = run.plan
    if late or run.waits:
        run.collection.nodes = nodes
        run.choose_from([*rows, *late], late)
    elif plan.shard is None and plan.rest is None:
        return
    portion.drop(run, items)


BUILT_IN = "pytest_recall.plugin.fixtures"


def no_agent(config: pytest.Config) -> str:
    """Return what to do where there is neither an agent nor a model."""
    return (
        "no `agent` fixture; write one in eval/conftest.py that returns a function from the case input to an answer"
        f" (`recall init` shows how), or name a model to ask plainly with {options.spelled(config, 'model')} SELECTOR"
    )


class Checks:
    """What is wrong with the items of one file, whose judges are fixtures but for those that it has `provided`."""

    def __init__(self, run: Run, path: Path, provided: Collection[str]) -> None:
        self.problems: dict[str, None] = {}
        self._run = run
        self._config = run.config
        self._name = run.plan.place.name(path)
        self._provided = provided
        # What a dataset asks is made by us, and may lack an answer to judge by.
        self._rehearses = not run.plan.files[path].reason
        self._rehearsed: dict[int, dict[str, AnyJudge]] = {}
        self._sentences: set[str] = set()
        registry = registry_of(run.config)
        self._registry = registry if registry.implements("pytest_recall_check_case") else None
        self._redacted = run.plan.rubric.redactor(os.environ).redacted if self._registry else str

    def look_at(self, item: CaseItem) -> None:
        """Add what is wrong with a case, its judges and the fixtures that it needs."""
        fixtures = fixtures_of(item)
        where = f"{self._name}:{item.line}"
        judges = [name for name in dict.fromkeys(c.name for c in item.case.judges) if name not in self._provided]
        unknown = [name for name in judges if f"judge_{name}" not in fixtures]
        for name in unknown:
            self.problems[f"{where}: judges: {no_judge(self._config, name)}"] = None
        # Many cases have the same agent and judges, and pytest looks for these once.
        rehearsed = self._rehearsed.get(id(closure_of(item)))
        if rehearsed is None:
            built_in = [name for name in judges if name not in unknown and _is_built_in(fixtures, f"judge_{name}")]
            rubric = self._run.plan.rubric
            rehearsed = {name: rehearsal(name, rubric) for name in built_in} if self._rehearses else {}
            self._rehearsed[id(closure_of(item))] = rehearsed
            for sentence in self._of_fixtures(item, built_in):
                if sentence not in self._sentences:
                    self._sentences.add(sentence)
                    self.problems[f"{where}: {sentence}"] = None
        if rehearsed:
            for sentence in mistakes(item.case, rehearsed, self._run.plan.rubric.thresholds):
                self.problems[f"{where}: {sentence}"] = None
        if self._registry is not None:
            try:
                # A conftest file has its say on the cases below its folder alone.
                for sentence in self._registry.case_problems(item.case, item.ihook.pytest_recall_check_case):
                    self.problems[f"{where}: {self._redacted(sentence)}"] = None
            except RecallError as error:  # A fault of the check, and not of this case.
                self.problems[str(error)] = None

    def _of_fixtures(self, item: CaseItem, judges: list[str]) -> Iterator[str]:
        """Yield what would fail every case with these fixtures; `judges` are built-in ones."""
        fixtures = fixtures_of(item)
        is_run = not self._config.option.collectonly
        yield from self._missing(item)
        for name in judges if is_run else ():
            yield from self._of_model(name)
        varied = [name for name, defs in fixtures.items() if defs and defs[-1].params]
        if varied:
            yield f"the fixture `{varied[0]}` is parametrized, but a case is one item; write one without params"
        if "memory" in item.fixturenames and (why := memories.without_effect(self._config, fixtures["memory"])):
            yield why
        if is_run:
            yield from self._of_agent(item)

    def _missing(self, item: CaseItem) -> Iterator[str]:
        """Yield which fixtures are requested, and are not there, with the one that requests them."""
        fixtures = fixtures_of(item)
        requesters = {name: fixture for fixture, defs in fixtures.items() if defs for name in defs[-1].argnames}
        for name in item.fixturenames:
            if name not in fixtures and name != "request" and name in requesters:
                by = requesters[name]
                yield f"the fixture `{by}` asks for `{name}`, which is not there; write it, or correct the name"

    def _of_agent(self, item: CaseItem) -> Iterator[str]:
        """Yield what is wrong with a model that is to be asked in place of an agent: it is not named, or not found."""
        fixtures = fixtures_of(item)
        plain = _is_built_in(fixtures, "agent")
        if plain and self._run.plan.context.model is None:
            yield no_agent(self._config)
            return
        what = "no `agent` fixture, so that the model under test is asked" if plain else "recall_model"
        if item.baseline is not None:
            what = f"the baseline `{item.baseline.name}`"
        try:
            if item.baseline is not None and item.baseline.kind == "model":
                baselines.model_of(self._config, item.baseline.name)
            elif plain or _is_built_in(fixtures, "recall_model"):
                baselines.model_under_test(self._config)
        except RecallError as error:
            yield from (f"{what}: {message}" for message in error.messages)

    def _of_model(self, name: str) -> Iterator[str]:
        """Yield what is wrong with a judge that asks a model: none is named, or it is not found."""
        if name in judging.KINDS:
            try:
                judging.panel_of(self._config)
                judging.calibrations_of(self._config)
            except RecallError as error:
                yield from (f"judges: {name}: {message}" for message in error.messages)


def _is_built_in(found: Mapping[str, Any], fixture: str) -> bool:
    return fixture in found and found[fixture][-1].func.__module__ == BUILT_IN


def check_thresholds(run: Run) -> None:
    """Refuse a threshold for a judge that is not there, which would have no effect. Raises RecallError."""
    known = known_judges(run.config)
    unknown = [name for name in run.plan.rubric.thresholds if name not in known]
    if unknown:
        where = run.plan.place.name(run.plan.place.rubric)
        raise RecallError(*(f"{where}: thresholds: {no_judge(run.config, name)}" for name in unknown))


def known_judges(config: pytest.Config) -> list[str]:
    """Return the names of the judge fixtures in plugins and conftest files, without the prefix."""
    return sorted(name.removeprefix("judge_") for name in defined_names(config) if name.startswith("judge_"))


def no_judge(config: pytest.Config, name: str) -> str:
    """Return the sentence on an unknown judge: the nearest and all known ones, and how to write it."""
    known = known_judges(config)
    close = nearest(name, known).partition("; known")[0]
    return f"unknown judge `{name}`{close or ';'} known: {', '.join(known)}; to add it, write a fixture `judge_{name}`"
