"""Call the hooks of a run: for its trials, and at its end. They are called on the controller alone."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_recall.cases.case import NAME_PATTERN
from pytest_recall.files.errors import RecallError
from pytest_recall.files.sections import Section
from pytest_recall.files.wording import one_line, plural
from pytest_recall.plugin.extensions import registry_of
from pytest_recall.registry import attempt
from pytest_recall.trials.execution import read_only
from pytest_recall.trials.measure import Measure

if TYPE_CHECKING:
    import pytest

    from pytest_recall.cases.case import Case
    from pytest_recall.runs.plan import Plan
    from pytest_recall.trials.run_end import FinishedRun
    from pytest_recall.trials.trial import Trial


MAX_NAME = 100
"""Characters of a measure's name."""
LARGEST = 1e100
"""The largest number of a measure, far below what squares and sums of it would overflow at."""


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
        self.about = {name: self._redacted(one_line(measure.about)) for name, (_, measure) in self._measures.items()}
        """What each measure is, by its name."""
        self._follows = self._registry.implements("pytest_recall_trial")
        self.concern_trials = bool(self._measures) or self._follows
        """Whether anything is called for a trial."""

    def _listed_measures(self) -> dict[str, tuple[str, Measure]]:
        hook, measures = "pytest_recall_measures", dict[str, tuple[str, Measure]]()
        if not self._registry.implements(hook):
            return measures
        for package, listed, fault in self._registry.listed(hook, Measure):
            if fault:
                self._note(package, f"`{hook}`", fault)
            for measure in () if fault else listed:
                name = measure.name if isinstance(measure.name, str) else ""
                if not re.fullmatch(NAME_PATTERN, name) or len(name) > MAX_NAME or self._redacted(name) != name:
                    self._note(package, f"the measure {one_line(repr(measure.name), 60)}", "its name is no word")
                elif not isinstance(measure.about, str):
                    self._note(package, f"the measure `{name}`", f"its `about` is {type(measure.about).__name__}")
                elif not callable(measure.of):
                    self._note(package, f"the measure `{name}`", f"its `of` is {type(measure.of).__name__}")
                elif name in measures:
                    self._note(package, f"the measure `{name}`", f"{measures[name][0]} has one of this name")
                else:
                    measures[name] = package, measure
        return measures

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
            shown = read_only(trial)
            for one in self._registry.results(hook, case=self._case_of(trial.case_id), trial=shown):
                if fault := one.fault or _result_fault(one.value):
                    self._note(one.package, f"`{hook}`", fault, trials=1)

    def sections(self, trials: Sequence[Trial]) -> list[Section]:
        """Return what extensions add to the scorecard of a run."""
        hook, sections = "pytest_recall_sections", list[Section]()
        if not self._registry.implements(hook):
            return sections
        keys: dict[str, str] = {}
        with self._interruptible(hook):
            for package, listed, fault in self._registry.listed(hook, Section, trials=trials):
                if fault:
                    self._note(package, f"`{hook}`", fault)
                for section in () if fault else listed:
                    what = f"the section {one_line(repr(section.title), 60)}"
                    try:
                        plain = self._plain(section)
                    except Exception as error:  # A class of its own may raise anything.
                        self._note(package, what, one_line(str(error), 160))
                        continue
                    if not plain.title or (plain.facts is not None and not plain.key):
                        self._note(package, what, "it has no title" if not plain.title else "its facts have no `key`")
                    elif plain.key in keys:
                        self._note(package, what, f"{keys[plain.key]} has one with the `key` {plain.key!r}")
                    else:
                        keys |= {plain.key: package} if plain.key else {}
                        sections.append(plain)
        return sections

    def _plain(self, section: Section) -> Section:
        """Return a section as the journal has it, without secrets. Raises what facts raise that are no JSON."""
        plain = Section.from_json(_mapped(section.to_json(), self._redacted))
        json.dumps(plain.facts, allow_nan=False, ensure_ascii=False).encode()
        return plain

    @contextmanager
    def _interruptible(self, hook: str) -> Iterator[None]:
        """Have a Ctrl-C end a hook that is called while the run is written, which it must not end."""
        main = threading.current_thread() is threading.main_thread()
        before = signal.getsignal(signal.SIGINT) if main else None
        if callable(before):
            signal.signal(signal.SIGINT, signal.default_int_handler)
        interrupted = False
        try:
            yield
        except KeyboardInterrupt:
            interrupted = True
            self._note("this environment", f"`{hook}`", "it was interrupted")
        finally:
            if callable(before):
                signal.signal(signal.SIGINT, before)
        if interrupted and callable(before):
            signal.raise_signal(signal.SIGINT)  # Who holds it back takes note of it.

    @cached_property
    def _redacted(self) -> Callable[[str], str]:
        return self._plan().rubric.redactor(os.environ).redacted

    def ended(self, folder: Path, run: Callable[[], FinishedRun]) -> None:
        """Hand on the run, whose files are in `folder`, once all of them are written."""
        hook = "pytest_recall_run_end"
        if self._registry.implements(hook):
            finished = run()
            with self._interruptible(hook):
                for one in self._registry.each(
                    hook, lambda package: {"run": finished, "make_folder": partial(_made, folder, package)}
                ):
                    if fault := one.fault or _result_fault(one.value):
                        self._note(one.package, f"`{hook}`", fault)

    def faults(self) -> list[str]:
        """Return what is wrong with extensions, a sentence each."""
        lines = []
        for (package, what), one in self._faults.items():
            at = f" at {plural(one.trials, 'trial')}" if one.trials else ""
            lines.append(f"the extension of {package}: {what} has a fault{at} ({one.fault}); correct it")
        return lines

    def _note(self, package: str, what: str, fault: str, trials: int = 0) -> None:
        what = self._redacted(what)
        first, count = self._faults.get((package, what), HookFault(self._redacted(fault), 0))
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
    try:
        number = float(value) if not isinstance(value, bool | str | bytes) else None
    except OverflowError:
        return "it returns a number that is too large"
    except Exception:  # Of a type of others.
        number = None
    if number is None or not isfinite(number):
        return f"it returns {one_line(str(value), 40) if number is not None else type(value).__name__}, and no number"
    return "" if abs(number) <= LARGEST else "it returns a number that is too large"


def _result_fault(value: object) -> str:
    """Return what is wrong with what a hook returns that has no result: a generator, or a coroutine, has not run."""
    return "" if value is None else f"it returns {type(value).__name__}, and has to return nothing"


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """Return plain JSON with each text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(key) if isinstance(key, str) else key: _mapped(one, change) for key, one in value.items()}
    return [_mapped(one, change) for one in value] if isinstance(value, list | tuple) else value
