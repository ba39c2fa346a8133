"""Compute again what a bundle of runs holds, with the reader's own copy of the dataset if there is one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, get_args

from pytest_recall.datasets.bundle import (
    MANIFEST,
    checkable,
    figure_problems,
    manifest_problems,
    overruled,
)
from pytest_recall.datasets.bundle_file import about_of, figures_of, paired_tests, restored, texts_by_digest, unpacked
from pytest_recall.datasets.cases import DatasetCases, metrics_of
from pytest_recall.datasets.comparison import JournalContents
from pytest_recall.datasets.file import LAYOUTS, Dataset, Layouts, digest, open_dataset
from pytest_recall.datasets.floors import floors_of
from pytest_recall.datasets.membench import BESIDE, Arguments
from pytest_recall.datasets.membench_run import read_asked
from pytest_recall.datasets.questions import BenchFile
from pytest_recall.datasets.rescoring import (
    OF_TEXTS,
    PASSAGES,
    altered,
    at_k,
    changed_trial,
    is_cut,
    limit_of,
    retrieval_at,
)
from pytest_recall.datasets.telling import Granularity, Telling, units
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import listed, plural
from pytest_recall.trials.journal import NAME as JOURNAL
from pytest_recall.trials.texts_file import NAME as TEXTS
from pytest_recall.trials.trial import Trial, TrialStep

MOST = 10
"""Figures that are named one by one."""


class Verified(NamedTuple):
    """What came of verifying a bundle."""

    runs: tuple[str, ...]
    """A sentence for each run."""
    problems: tuple[str, ...]
    """What does not hold."""
    left: tuple[str, ...]
    """What could not be verified."""
    computed: tuple[JournalContents, ...] = ()
    """The journals with the values as they were computed again, several ingests of a memory as one."""
    filled: tuple[JournalContents, ...] = ()
    """The journals that have the other values too, as they were told."""


@dataclass(frozen=True)
class DatasetCopy:
    """The reader's own copy of a dataset: its texts by their digests, and the hash of its file."""

    path: Path
    dataset: Dataset
    sha256: str
    texts: Mapping[str, str]
    _made: dict[str, DatasetCases] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, layouts: Layouts = LAYOUTS) -> DatasetCopy:
        """Return the copy at `path`. Raises RecallError."""
        dataset = open_dataset(path, layouts=layouts)
        found: dict[str, str] = {}
        for sample in dataset.samples():
            for unit, captions in product(get_args(Granularity), (True, False)):
                told = units(sample.conversation, Telling(unit, captions))
                found |= texts_by_digest(one.text for one in told)
            for question in sample.questions:
                found |= texts_by_digest([question.text, *([] if question.answer is None else [question.answer])])
        return cls(path, dataset, digest(dataset).sha256, found)

    def cases(self, arguments: Mapping[str, Any]) -> DatasetCases:
        """Return all questions as a run with these arguments asks them."""
        told = {name: arguments[name] for name in Telling._fields if name in arguments}
        key = repr((told, arguments["accumulate"]))
        if key not in self._made:
            asked = BenchFile(dataset=self.dataset.format, path=str(self.path), **told)
            accumulate = bool(arguments["accumulate"])
            self._made[key] = DatasetCases(self.path, str(self.path), asked, self.dataset, accumulate=accumulate)
        return self._made[key]


class _Run(NamedTuple):
    """What came of a run."""

    verified: Verified
    computed: JournalContents
    """Its journal with the values computed again."""
    filled: JournalContents
    """Its journal with the other values too, as they were told."""
    lacking: str
    """Which metric cannot be computed here at all."""


def verify(path: Path, copy: DatasetCopy | None) -> Verified:
    """Hash and compute again what the bundle at `path` holds. Raises RecallError for what is not a bundle."""
    contents = unpacked(path)
    signed = MANIFEST in contents
    problems = manifest_problems(contents.pop(MANIFEST, b"").decode("utf-8", "replace"), contents)
    try:
        found = _computed(path, contents, copy)
    except RecallError:
        if not signed or not problems:
            raise
        return Verified((), tuple(problems), ())  # What has changed since need not be readable any more.
    return found._replace(problems=(*problems, *found.problems))


def _computed(path: Path, contents: Mapping[str, bytes], copy: DatasetCopy | None) -> Verified:
    about = about_of(path, contents)
    problems: list[str] = []
    found: list[_Run] = []
    with TemporaryDirectory(prefix="recall-") as scratch:
        for number, run in enumerate(about["runs"], start=1):
            if copy is not None and run["sha256"] != copy.sha256:
                raise RecallError(f"{path}: its runs are over another file than --data; name the one that was asked")
            if f"{run['folder']}/{JOURNAL}" not in contents:
                problems.append(f"{run['folder']}/{JOURNAL}, the journal of {run['memory']}, is not in the bundle")
                continue
            folder = Path(scratch, str(number))
            folder.mkdir()
            whole = True
            for name in (JOURNAL, TEXTS):
                data = contents.get(f"{run['folder']}/{name}")
                if data is not None and name == JOURNAL and not about["texts"]:
                    data, whole = restored(data, {} if copy is None else copy.texts, path)
                if data is not None:
                    (folder / name).write_bytes(data)
            try:
                one = _verified(run, folder, copy, passages=whole, answers=about["texts"])
            except RecallError as error:
                # Of the folder that it was unpacked into there is nothing to say.
                told = (message.replace(f"{folder}", f"{path}: {run['folder']}") for message in error.messages)
                raise RecallError(*told) from None
            if isinstance(one, str):
                problems.append(one)
            else:
                found.append(one)
                problems += one.verified.problems
    said = [sentence for one in found for sentence in one.verified.runs]
    # What is missing here is missing for each of them.
    left = [*dict.fromkeys(one.lacking for one in found if one.lacking)]
    left += [sentence for one in found for sentence in one.verified.left]
    computed, filled = tuple(one.computed for one in found), tuple(one.filled for one in found)
    if len(found) == len(about["runs"]):
        more, wrong = _of_all(about, computed, filled)
        said, problems = [*said, *more], [*problems, *wrong]
    if about["together"] is not None:
        computed, filled = (_as_one(runs) for runs in (computed, filled))
    return Verified(tuple(said), tuple(problems), tuple(left), computed, filled)


def _of_all(
    about: Mapping[str, Any], runs: Sequence[JournalContents], filled: Sequence[JournalContents]
) -> tuple[list[str], list[str]]:
    """Return what is to be said of all runs together, and what does not hold of them."""
    if about["together"] is not None:
        problems = _few(figure_problems(about["together"], figures_of(*runs)), "all ingests together: ")
        return [f"all ingests together: {plural(len(runs), 'run')}"], problems
    if about["tests"] is None:
        return [], []
    # The level is shared by all metrics that are compared, those over texts that are not here as well.
    tests = paired_tests(filled)
    problems = _few(figure_problems(about["tests"], tests), "tests against the first memory: ")
    return [f"tests against the first memory: {plural(len(tests), 'pair')} tested again"], problems


def _as_one(ingests: tuple[JournalContents, ...]) -> tuple[JournalContents, ...]:
    first, *further = ingests
    return (first._replace(further=tuple(one.trials for one in further)),)


def _verified(
    told: Mapping[str, Any], folder: Path, copy: DatasetCopy | None, *, passages: bool, answers: bool
) -> _Run | str:
    """Return what came of a run, or which part of its journal is not there."""
    name = f"{told['folder']} ({told['memory']})"
    run = read_asked(folder, name)
    before = {**Arguments._field_defaults, **told}  # What an earlier version did not know is as it was then.
    changed = [key for key, one in run.arguments.items() if one != before.get(key)]
    problems = [f"{name}: {key} was {before.get(key)!r}" for key in changed]
    if missing := _missing(run, told["figures"]):
        return f"{name}: {missing}"
    chosen, lacking = metrics_of(str(run.arguments["dataset"]), bool(run.arguments["whole"]))
    limit = limit_of(run)
    known = checkable(run, chosen, passages=passages, answers=answers)
    computed = at_k(run, limit, known)
    done = _metrics(computed) & known
    unseen = _not_computed(_metrics(run) & set(chosen) - done, passages=passages)
    if any(step.kind == BESIDE for trial in run.trials.values() for step in trial.steps):
        if copy is None:
            unseen.append("floors not computed again, as that needs the texts the memory stored: give --data")
        elif not passages or any(is_cut(one, limit) for one in run.trials.values()):
            unseen.append("floors not computed again, as they have as many tokens as passages whose texts are missing")
        else:
            computed, others = _with_floors(run, computed, copy.cases(run.arguments))
            problems += _of_questions(name, others, "whose floors are not reproduced")
    if copy is not None:
        problems += _of_questions(name, _asked_otherwise(run, copy), "that the dataset has otherwise")
    problems += _few(figure_problems(told["figures"], figures_of(computed)), f"{name}: ")
    problems += _of_questions(name, altered(run, computed), "whose values are not reproduced")
    problems += _of_questions(name, list(overruled(run.trials.values())), "judged otherwise than its verdict")
    said = f"{name}: {plural(len(run.trials), 'question')}, {plural(len(done), 'metric')} computed again"
    left = [f"{name}: {one}" for one in unseen]
    return _Run(Verified((said,), tuple(problems), tuple(left)), computed, _filled(run, computed), lacking)


def _missing(run: JournalContents, figures: Mapping[str, Any]) -> str:
    """Return which lines of a journal are not there, of questions or of their trials; empty if all are."""
    if unknown := [id for id in run.trials if id not in run.asked]:
        return f"{plural(len(unknown), 'question')} of which the journal does not say what was asked: {listed(unknown)}"
    told = figures["all"]["n"] if isinstance(figures.get("all"), dict) and "n" in figures["all"] else len(run.trials)
    if told == len(run.trials):
        return ""
    lost = [id for id in run.asked if id not in run.trials]
    which = f": {listed(lost)} {'is' if len(lost) == 1 else 'are'} missing" if lost else ""
    return f"the journal has {len(run.trials):,} of {told:,} questions{which}"


def _not_computed(metrics: Collection[str], *, passages: bool) -> list[str]:
    """Return what was not computed again, and why, a sentence for each reason."""
    cut = {name for name in metrics if name in OF_TEXTS and passages}
    reasons = [
        (cut, f"as the journal has not all passages that came back, of which it keeps {PASSAGES}"),
        (set(metrics) - cut, "as texts are missing"),
    ]
    return [f"not computed again, {why}: {listed(sorted(names), 20)}" for names, why in reasons if names]


def _with_floors(
    run: JournalContents, computed: JournalContents, bench: DatasetCases
) -> tuple[JournalContents, list[str]]:
    """Return the run with its floors computed again, and the questions, by id, of which they were others."""
    found: dict[str, Trial] = {}
    others = []
    for id, trial in computed.trials.items():
        before = next((step for step in trial.steps if step.kind == BESIDE), None)
        retrieval = retrieval_at(run, run.trials[id], limit_of(run))
        entry = bench.entries.get(id)
        if before is None or retrieval is None or retrieval.read is None or entry is None or not retrieval.evidence:
            found[id] = trial
            others += [] if before is None else [id]
            continue
        again = floors_of(bench.units_of(entry), retrieval.evidence, retrieval.read, id)
        others += [id] if figure_problems(before.data, again) else []
        steps = tuple(TrialStep(BESIDE, again) if step.kind == BESIDE else step for step in trial.steps)
        found[id] = changed_trial(trial, steps=steps)
    return computed._replace(trials=found), others


def _asked_otherwise(run: JournalContents, copy: DatasetCopy) -> list[str]:
    """Return the questions, by id, that are not in the dataset as the journal has them."""
    bench = copy.cases(run.arguments)
    entries = bench.entries
    return [id for id, one in run.asked.items() if id not in entries or bench.question(entries[id]) != one]


def _filled(run: JournalContents, computed: JournalContents) -> JournalContents:
    """Return what was computed, with the values that were not as the journal tells them."""
    trials = {
        id: one
        if one.measures is None
        else changed_trial(one, measures={**(run.trials[id].measures or {}), **one.measures})
        for id, one in computed.trials.items()
    }
    return computed._replace(trials=trials)


def _of_questions(name: str, ids: Collection[str], what: str) -> list[str]:
    return [f"{name}: {plural(len(ids), 'question')} {what}: {listed(ids)}"] if ids else []


def _few(problems: list[str], before: str) -> list[str]:
    more = [f"and {len(problems) - MOST:,} further figures"] if len(problems) > MOST else []
    return [f"{before}{one}" for one in (*problems[:MOST], *more)]


def _metrics(run: JournalContents) -> set[str]:
    return {metric for trial in run.trials.values() for metric in trial.measures or {}}
