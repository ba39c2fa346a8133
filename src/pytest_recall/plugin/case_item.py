"""Run one case as an item of pytest: set up its fixtures, ask the agent, judge the answer, and render a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recall.cases.case import Case
from pytest_recall.files import clock
from pytest_recall.files.errors import CaseError, MissError
from pytest_recall.plugin import baselines, memories
from pytest_recall.plugin.item_state import ItemState
from pytest_recall.plugin.prefetch import NARROW
from pytest_recall.plugin.pytest_internals import fixtures_of, value_of
from pytest_recall.plugin.stash import CASSETTES, LOOPS, RUN, STATE
from pytest_recall.schedule.boxes import DATASET, OF_CHANGE, PROFILE, REJUDGED
from pytest_recall.trials.baselines import Baseline
from pytest_recall.trials.execution import PREFLIGHT, Awaiter, Result, run_case
from pytest_recall.trials.series import rule_of
from pytest_recall.trials.trial import Outcome, Trial

if TYPE_CHECKING:
    from pytest_recall.plugin.session import Run

_PACKAGE = Path(__file__).parents[1]
SHOWN = 4000
"""Characters of an answer that are printed; the journal has all of it."""


class CaseFailed(AssertionError):  # noqa: N818 - pytest knows it as a failure, not as an error
    """The judges' verdict on a case that failed; shown without a traceback.

    Plugins that tell failures from errors, such as allure-pytest, do so by the class of an exception.
    """


class CaseItem(pytest.Function):
    """A case: pytest sets up the agent and the judges, `run_case` does the rest.

    With a `baseline` that one is asked in place of the agent; `arm` is its name.
    """

    def __init__(self, *, case: Case, line: int, baseline: Baseline | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case = case
        self.line = line
        self.baseline = baseline
        self.state = self.stash[STATE] = ItemState(case.id, Outcome.ERROR, case, baseline.name if baseline else "")
        # What is asked again to be sure of a fail is asked for the sake of the schedule, which no baseline is on.
        self._run: Run = self.config.stash[RUN]
        run, plan = self._run, self._run.plan
        confirm = None if baseline or plan.files[self.path].reason else plan.rubric.confirm
        if confirm is not None and not self.config.stash[CASSETTES].asks_again(case.id, case.scenario):
            confirm = None
        of_change = run.dry is not None or plan.reasons.get(case.id) in OF_CHANGE
        self.state.rule = rule_of(case, confirm, None if baseline else plan.before.get(case.id), of_change=of_change)
        self.extra_keyword_matches.update((case.scenario, case.dimension))
        self.keywords.update(dict.fromkeys(case.tags, True))
        self._tags = [_mark(self.config, tag) for tag in case.tags]

    def iter_markers(self, name: str | None = None) -> Iterator[pytest.Mark]:
        """Return the marks of the item, and after all of them its tags, by which `-m` selects.

        Who looks for a mark by its `name` obeys it, as pytest does `skip` and plugins `flaky`: a tag is none to them.
        """
        marks = super().iter_markers(name)
        return chain(marks, self._tags) if name is None else marks

    def setup(self) -> None:
        """Set up the fixtures; before its turn, those that are the case's own in a context of its own."""
        __tracebackhide__ = True
        if self.state.prefetch is None:
            super().setup()
            return
        for name in self.fixturenames:
            definitions = fixtures_of(self).get(name)
            if definitions and definitions[-1].scope not in NARROW:
                value_of(self, name)
        self.state.prefetch.enter().run(super().setup)

    def runtest(self) -> None:
        """Run the case; raises CaseFailed for a fail and CaseError where there is no verdict."""
        __tracebackhide__ = True
        self.state.result = None
        try:
            result = self.ask() if self.state.prefetch is None else self.state.prefetch.result()
        except CaseError as error:
            if error.stage == PREFLIGHT:
                # A judge that is wrong about what is known would be wrong about the rest as well.
                self._run.log.halt(str(error))
                self.session.shouldstop = str(error)
            raise
        self.state.result = result
        if result.outcome is Outcome.FAILED:
            raise CaseFailed(result.note)

    @property
    def early_trial(self) -> Trial | None:
        """The trial of the case from before the run was cut off; None if it has to be asked."""
        rest = self._run.plan.rest
        return None if rest is None or self.state.rule is not None else rest.early.get((self.case.id, self.state.arm))

    @property
    def replayed(self) -> Trial | None:
        """The trial of a replay of which only the judging is to be done again; None if the agent has to be asked."""
        plan = self._run.plan
        if plan.changes is None or self.state.arm or plan.reasons.get(self.case.id) != REJUDGED:
            return None
        trials = plan.changes.findings[self.case.id].trials
        return Trial.from_json(trials[-1]) if trials else None

    def ask(self) -> Result:
        """Ask and judge the case with its fixtures, in whichever thread. Raises CaseError."""
        run = self._run
        if (early_trial := self.early_trial) is not None:
            return Result.of(early_trial)
        fixtures: dict[str, Any] = self.funcargs
        agent: Any = fixtures.get("agent")
        if self.baseline is not None:
            agent = baselines.agent_of(self.config, self.baseline, fixtures)
        if self.case.memory is not None:
            given = fixtures.get("memory")
            wait = self.wait_for("memory")
            agent = memories.agent_of(self.config, self.path, self.case, given, agent, self.baseline, wait=wait)
        if (replayed := self.replayed) is not None:
            agent = answering(replayed)
        judges = {call.name: self._judge(call.name) for call in self.case.judges}
        self.state.answer = None
        result = run_case(
            self.case,
            agent,
            judges,
            thresholds=run.plan.rubric.thresholds,
            wait=self.wait_for(self.asked_fixture),
            clock=clock.perf_counter,
            ends=(pytest.exit.Exception, MissError),
            asking=self.config.stash[CASSETTES].player.asking,
            preflight=run.dry is None,
            answered=partial(setattr, self.state, "answer"),
        )
        file = run.plan.files[self.path]
        if not self.state.arm and file.reason == PROFILE:
            return memories.with_points(result, self.case.id, self._provided)
        if self.state.arm or file.reason != DATASET:
            return result
        return result._replace(measures=memories.measures(file, self.case.id, result, fixtures.get("memory")))

    @property
    def asked_fixture(self) -> str:
        """The fixture that gives whom the case is put to; empty where none is needed."""
        return self.baseline.fixture if self.baseline is not None else "agent"

    def wait_for(self, name: str) -> Awaiter:
        """Return what awaits the calls of what the fixture `name` gave: on the loop of its plugin, or on ours."""
        own: Awaiter = self._run.loop.wait
        return self.config.stash[LOOPS].wait_for(self, name) or own if LOOPS in self.config.stash else own

    @property
    def _provided(self) -> Any:
        """The judges that the case's file brings along, by name."""
        return self.parent.provided  # type: ignore[union-attr]

    def _judge(self, name: str) -> Any:
        provided = self._provided
        if name in provided:
            return provided[name]
        judge = self.funcargs[f"judge_{name}"]
        if LOOPS not in self.config.stash:
            return judge
        return self.config.stash[LOOPS].awaited(judge, self.wait_for(f"judge_{name}"))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the row's place: file, line counted from 0, id."""
        return self.path, self.line - 1, self.name

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show a fail as the verdict, and a crash as what the agent or the judge raised."""
        where = f"{self._run.plan.place.name(self.path)}:{self.line}"
        error = excinfo.value
        if isinstance(error, CaseFailed):
            return self._clean("\n".join(_failure_lines(where, self.case, self.state.result, self._clean)))
        if isinstance(error, CaseError):
            if error.__cause__ is None or _is_ours(error.__cause__):
                return self._clean(f"{where}: {error}")
            excinfo = pytest.ExceptionInfo.from_exception(error.__cause__)
        elif entries := excinfo.traceback.filter(_is_of_users):
            # An exception that ends more than the case, such as that of `pytest.fail`, has come through our frames.
            excinfo.traceback = entries
        try:
            shown = super().repr_failure(excinfo)
        except SystemError:
            # The parser of Python 3.11 confuses threads that use it at once, as those of other cases may.
            shown = excinfo.getrepr(style="native")
        text = str(shown)
        return shown if text == (clean := self._clean(text)) else clean

    def _clean(self, text: str) -> str:
        """Return what is printed of the trial without secrets, which the journal is without as well."""
        return str(self.config.stash[CASSETTES].redactor.redacted(text))


def answering(trial: Trial) -> Callable[[Any], Any]:
    """Return an agent that gives the answer of `trial`, whatever it is asked."""
    return lambda question: trial.answer


def _is_of_users(entry: Any) -> bool:
    """Whether a frame of a traceback is not of this package."""
    return not Path(entry.path).is_relative_to(_PACKAGE)


def _is_ours(error: BaseException) -> bool:
    """Whether an exception came from a line of ours, such as the call of a function that takes something else."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is not None and str(at.tb_frame.f_globals.get("__name__", "")).startswith("pytest_recall.")


def _failure_lines(where: str, case: Case, result: Any, clean: Callable[[str], str]) -> Iterator[str]:
    asked = case.input if case.turns is None else " / ".join(turn.user for turn in case.turns)
    yield f"{where}: {result.note}"
    yield f"  asked:    {asked}"
    if case.expected is not None:
        yield f"  expected: {case.expected}"
    text = clean(result.answer.text)  # Before it is cut: a part of a secret is not recognised.
    yield f"  answered: {text if len(text) <= SHOWN else f'{text[:SHOWN]}… ({len(text):,} characters)'}"


def _mark(config: pytest.Config, tag: str) -> pytest.Mark:
    # Registered as it is met, so that --strict-markers accepts tags and still refuses typos in code.
    registered = config.stash.setdefault(_TAGS, set())
    if tag not in registered:
        registered.add(tag)
        if tag not in {line.split(":")[0].split("(")[0].strip() for line in config.getini("markers")}:
            config.addinivalue_line("markers", f"{tag}: tag of an eval case")
    decorator: pytest.MarkDecorator = getattr(pytest.mark, tag)
    return decorator.mark


_TAGS = pytest.StashKey[set[str]]()
