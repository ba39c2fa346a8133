"""Checks: what would keep the cases of a file from a verdict, found as pytest collects them, before the first call."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.judges.rehearsal import mistakes, rehearsal
from pytest_recall.plugin import baselines, judging, memories
from pytest_recall.plugin.pytest_internals import closure_of, fixtures_of

if TYPE_CHECKING:
    from pytest_recall.judges.rehearsal import AnyJudge
    from pytest_recall.plugin.case_item import CaseItem
    from pytest_recall.plugin.session import Run

NO_AGENT = (
    "no `agent` fixture; write one in eval/conftest.py that returns a function from the case input to an answer"
    " (`recall init` shows how), or name a model to ask plainly with --model SELECTOR"
)
BUILT_IN = "pytest_recall.plugin.fixtures"


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
        self._told: set[str] = set()

    def look_at(self, item: CaseItem) -> None:
        """Add what is wrong with a case, its judges and the fixtures that it needs."""
        found = fixtures_of(item)
        where = f"{self._name}:{item.line}"
        judges = [name for name in dict.fromkeys(c.name for c in item.case.judges) if name not in self._provided]
        unknown = [name for name in judges if f"judge_{name}" not in found]
        for name in unknown:
            self.problems[f"{where}: judges: {no_judge(self._config, name)}"] = None
        # Many cases have the same agent and judges, and pytest looks for these once.
        rehearsed = self._rehearsed.get(id(closure_of(item)))
        if rehearsed is None:
            built_in = [name for name in judges if name not in unknown and _is_built_in(found, f"judge_{name}")]
            rubric = self._run.plan.rubric
            rehearsed = {name: rehearsal(name, rubric) for name in built_in} if self._rehearses else {}
            self._rehearsed[id(closure_of(item))] = rehearsed
            for sentence in self._of_fixtures(item, built_in):
                if sentence not in self._told:
                    self._told.add(sentence)
                    self.problems[f"{where}: {sentence}"] = None
        if rehearsed:
            for sentence in mistakes(item.case, rehearsed, self._run.plan.rubric.thresholds):
                self.problems[f"{where}: {sentence}"] = None

    def _of_fixtures(self, item: CaseItem, judges: list[str]) -> Iterator[str]:
        """Yield what would fail every case with these fixtures; `judges` are built-in ones."""
        found = fixtures_of(item)
        is_run = not self._config.option.collectonly
        for name in judges if is_run else ():
            yield from self._of_model(name)
        varied = [name for name, definitions in found.items() if definitions and definitions[-1].params]
        if varied:
            yield f"the fixture `{varied[0]}` is parametrized, but a case is one item; write one without params"
        if "memory" in item.fixturenames and (why := memories.without_effect(self._config, found["memory"])):
            yield why
        if is_run:
            yield from self._of_agent(item)

    def _of_agent(self, item: CaseItem) -> Iterator[str]:
        """Yield what is wrong with a model that is to be asked in place of an agent: it is not named, or not found."""
        found = fixtures_of(item)
        plain = _is_built_in(found, "agent")
        if plain and self._run.plan.context.model is None:
            yield NO_AGENT
            return
        what = "no `agent` fixture, so that the model under test is asked" if plain else "recall_model"
        if item.baseline is not None:
            what = f"the baseline `{item.baseline.name}`"
        try:
            if item.baseline is not None and item.baseline.kind == "model":
                baselines.model_of(self._config, item.baseline.name)
            elif plain or _is_built_in(found, "recall_model"):
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
    # pytest has no public list of fixtures; modules that define some are registered as plugins.
    names = {name for plugin in config.pluginmanager.get_plugins() for name in getattr(plugin, "__dict__", ())}
    return sorted(name.removeprefix("judge_") for name in names if name.startswith("judge_"))


def no_judge(config: pytest.Config, name: str) -> str:
    """Return the sentence on an unknown judge: the nearest and all known ones, and how to write it."""
    known = known_judges(config)
    close = nearest(name, known).partition("; known")[0]
    return f"unknown judge `{name}`{close or ';'} known: {', '.join(known)}; to add it, write a fixture `judge_{name}`"
