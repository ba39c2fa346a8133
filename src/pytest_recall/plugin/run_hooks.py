"""Call the hooks of a run: for its trials, and at its end. They are called on the controller alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_recall.cases.case import NAME_PATTERN
from pytest_recall.files.errors import RecallError
from pytest_recall.files.sections import Section
from pytest_recall.files.wording import one_line, plural
from pytest_recall.plugin.extensions import registry_of
from pytest_recall.registry import attempt
from pytest_recall.trials.measure import Measure

if TYPE_CHECKING:
    import pytest

    from pytest_recall.cases.case import Case
    from pytest_recall.runs.plan import Plan
    from pytest_recall.trials.run_end import FinishedRun
    from pytest_recall.trials.trial import Trial


class HookFault(NamedTuple):
    """What is wrong with an extension, the first time, and how many trials it concerns; 0 where it is none."""

    fault: str
    trials: int


class RunHooks:
    """The hooks of a run. Where nothing implements one, nothing is called; a fault is noted once, and ends nothing."""

    def __init__(self, config: pytest.Config, plan: Callable[[], Plan]) -> None:
        self._plan = plan
        self._registry = registry_of(config)
        self._cases: dict[str, Case] = {}
        self._faults: dict[tuple[str, str], HookFault] = {}
        self._measures = dict(sorted(self._listed_measures().items()))
        self.about = {name: one_line(measure.about) for name, (_, measure) in self._measures.items()}
        """What each measure is, by its name."""
        self._follows = self._registry.implements("pytest_recall_trial")
        self.concern_trials = bool(self._measures) or self._follows
        """Whether anything is called for a trial."""

    def _listed_measures(self) -> dict[str, tuple[str, Measure]]:
        hook, found = "pytest_recall_measures", dict[str, tuple[str, Measure]]()
        if not self._registry.implements(hook):
            return found
        for package, listed, fault in self._registry.listed(hook, Measure):
            if fault:
                self._note(package, f"`{hook}`", fault)
            for measure in () if fault else listed:
                name = str(measure.name)
                if not re.match(NAME_PATTERN, name):
                    self._note(package, f"the measure {one_line(repr(name), 60)}", "its name is no word")
                elif not callable(measure.of):
                    self._note(package, f"the measure `{name}`", f"its `of` is {type(measure.of).__name__}")
                elif name in found:
                    self._note(package, f"the measure `{name}`", f"{found[name][0]} has one of this name")
                else:
                    found[name] = package, measure
        return found

    def measured(self, trial: Trial) -> Mapping[str, float]:
        """Return what the measures come to for a trial; of one without an answer nothing."""
        values: dict[str, float] = {}
        if trial.answer is None or not self._measures:
            return values
        case = self._case_of(trial.case_id)
        for name, (package, measure) in self._measures.items():
            code = getattr(measure.of, "__code__", None)
            value, fault = attempt(partial(measure.of, case, trial), code.co_filename if code else "")
            fault = fault or _number_fault(value)
            if fault:
                self._note(package, f"the measure `{name}`", fault, trials=1)
            elif value is not None:
                values[name] = float(value)
        return values

    def written(self, trial: Trial) -> None:
        """Hand on a trial that stands in the journal."""
        if self._follows:
            hook = "pytest_recall_trial"
            for one in self._registry.results(hook, case=self._case_of(trial.case_id), trial=trial):
                if one.fault:
                    self._note(one.package, f"`{hook}`", one.fault, trials=1)

    def sections(self, trials: Sequence[Trial]) -> list[Section]:
        """Return what extensions add to the scorecard of a run."""
        hook, found = "pytest_recall_sections", list[Section]()
        if not self._registry.implements(hook):
            return found
        keys: dict[str, str] = {}
        for package, listed, fault in self._registry.listed(hook, Section, trials=trials):
            if fault:
                self._note(package, f"`{hook}`", fault)
            for section in () if fault else listed:
                what = f"the section {one_line(repr(section.title), 60)}"
                try:
                    plain = Section.from_json(section.to_json())
                    json.dumps(plain.facts, allow_nan=False)
                except (AttributeError, TypeError, ValueError, RecursionError) as error:
                    self._note(package, what, one_line(str(error), 160))
                    continue
                if not section.title or (section.facts is not None and not section.key):
                    self._note(package, what, "it has no title" if not section.title else "its facts have no `key`")
                elif section.key in keys:
                    self._note(package, what, f"{keys[section.key]} has one with the `key` {section.key!r}")
                else:
                    keys |= {section.key: package} if section.key else {}
                    found.append(plain)
        return found

    def ended(self, folder: Path, run: Callable[[], FinishedRun]) -> None:
        """Hand on the run, whose files are in `folder`, once all of them are written."""
        hook = "pytest_recall_run_end"
        if self._registry.implements(hook):
            finished = run()
            for one in self._registry.each(
                hook, lambda package: {"run": finished, "make_folder": partial(_made, folder, package)}
            ):
                if one.fault:
                    self._note(one.package, f"`{hook}`", one.fault)

    def faults(self) -> list[str]:
        """Return what is wrong with extensions, a sentence each."""
        lines = []
        for (package, what), one in self._faults.items():
            at = f" at {plural(one.trials, 'trial')}" if one.trials else ""
            lines.append(f"the extension of {package}: {what} has a fault{at} ({one.fault}); correct it")
        return lines

    def _note(self, package: str, what: str, fault: str, trials: int = 0) -> None:
        first, count = self._faults.get((package, what), HookFault(fault, 0))
        self._faults[package, what] = HookFault(first, count + trials)

    def _case_of(self, case_id: str) -> Case | None:
        """Return a case of a file. All chosen ones of the file are read at once; a marked test has none."""
        if case_id not in self._cases:
            plan = self._plan()
            file = next((file for file in plan.files.values() if case_id in file.lines), None)
            if file is None:
                return None
            with suppress(RecallError):
                self._cases |= {one.id: one for one in file.cases({case_id, *(file.lines.keys() & plan.reasons)})}
        return self._cases.get(case_id)


def _made(folder: Path, package: str) -> Path:
    """Return the folder of a package for files about a run."""
    made = folder / "extensions" / (re.sub(r"[^\w.-]+", "-", package).strip(".-") or "plugin")
    made.mkdir(parents=True, exist_ok=True)
    return made


def _number_fault(value: Any) -> str:
    """Return why a value is no number that can be averaged; empty for one that is, and for None."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"it returns {type(value).__name__}, and no number"
    try:
        return "" if isfinite(value) else f"it returns {value}, and no number"
    except OverflowError:
        return "it returns a number that is too large"
