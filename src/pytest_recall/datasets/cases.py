"""Make cases of the questions of a dataset, whose file is read as they are asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from threading import RLock
from types import MappingProxyType
from typing import Any, NamedTuple

from pytest_recall.cases.case import Case
from pytest_recall.cases.memory_part import AskedAt, Haystack, Stage, Unit, key_of
from pytest_recall.datasets.dataset import Question, Sample, case_of
from pytest_recall.datasets.file import AUTO, LAYOUTS, Dataset, Layouts, Reader, check_selected, open_dataset
from pytest_recall.datasets.questions import SAMPLE, BenchFile, chosen, clusters, evidence_of, judges_of, retrieval_of
from pytest_recall.datasets.telling import DatasetUnit, in_units, keys_so_far, question_apart, unit_apart, units
from pytest_recall.files import strict_yaml
from pytest_recall.files.disk import read_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.validation import read_mapping
from pytest_recall.metrics.answers import stem
from pytest_recall.metrics.retrieval import MAX_K, METRICS, Retrieval, measure
from pytest_recall.schedule.boxes import DATASET
from pytest_recall.trials.evidence import ranked
from pytest_recall.trials.record import QuestionRecord
from pytest_recall.trials.trial import Answer

_OTHERS = {"seconds", "tokens_stored"}


class QuestionEntry(NamedTuple):
    """A question, the row of the file that it is about, its scenario, and the key of what is stored for it."""

    row: int
    scenario: str
    question: Question
    key: str


class DatasetCases:
    """A dataset's questions as cases. `path` and `name` are those of the file that asks for them.

    The dataset is read once for the questions, and again, conversation by conversation, as they are
    asked: of what is stored only one conversation is held. To `accumulate`, a question is about all conversations up to
    its own, in the order of the file, with `CONVERSATION#` before the ids of turns and sessions, and all that was
    stored so far is held. Raises RecallError, as do the methods.
    """

    reason = DATASET
    memory_config: Mapping[str, Any] = MappingProxyType({})
    root = None

    def __init__(self, path: Path, name: str, asked: BenchFile, dataset: Dataset, *, accumulate: bool = False) -> None:
        self.path = path
        self.name = name
        self.asked = asked
        self.dataset = dataset
        self.memory = asked.memory or ""
        self.accumulate = accumulate
        self._reader = Reader(dataset)
        self.holds = 1
        """Conversations whose texts are held: as many as are asked about at once."""
        self._held: dict[int, tuple[Unit, ...]] = {}
        self._lock = RLock()
        self._ids: dict[int, str] = {}
        self._renames = False
        found = [entry for sample in dataset.samples() for entry in self._entries(sample)]
        kept = chosen([(one.question.id, one.question.category) for one in found], asked, name)
        self.clusters = clusters(((one.question, str(one.row)) for one in found), dataset.format)
        keys = {one.row: one.key for one in found}
        self._stages = dict(zip(keys, keys_so_far(keys.values()), strict=True))
        self._so_far: tuple[int, tuple[Unit, ...]] = (0, ())
        if accumulate:
            self.holds = len(keys)
            found = [one._replace(question=question_apart(one.question, self._ids[one.row])) for one in found]
        self.entries = {one.question.id: one for one in found if one.question.id in kept}
        self.lines = dict.fromkeys(self.entries, 1)
        self._cases: dict[str, Case] = {}

    def _entries(self, sample: Sample) -> list[QuestionEntry]:
        scenario = self.dataset.scenario(sample)
        told = list(units(sample.conversation, self.asked.telling))
        stored = self._stored(sample, told)
        key = key_of(stored)
        self._renames |= any(one.told != one.id for one in stored)
        self._ids[sample.row] = sample.conversation.id
        questions = [in_units(one, told) if self.asked.unit == "pair" else one for one in sample.questions]
        return [QuestionEntry(sample.row, scenario, question, key) for question in questions]

    def _stored(self, sample: Sample, told: Iterable[DatasetUnit]) -> tuple[Unit, ...]:
        if self.accumulate:
            told = (unit_apart(one, sample.conversation.id) for one in told)
        return tuple(Unit(id=one.id, session=one.session, content=one.text, metadata=one.metadata) for one in told)

    def cases(self, ids: Iterable[str] | None = None) -> list[Case]:
        """Return the cases with these ids, or all, in the order of the dataset."""
        asked = None if ids is None else set(ids)
        return [self.case(one) for id, one in self.entries.items() if asked is None or id in asked]

    def case(self, entry: QuestionEntry) -> Case:
        """Return the case that asks the question."""
        question = entry.question
        if question.id not in self._cases:
            evidence = evidence_of(question, self.asked.unit)
            named = self.asked.judges or ()
            case = case_of(question, entry.scenario, judges_of(question, self.dataset.format, evidence, named))
            when = question.written if question.date is None else question.date.isoformat(timespec="minutes")
            self._cases[question.id] = case.model_copy(
                update={
                    "memory": self._haystack(entry),
                    "limit": self.asked.limit,
                    "evidence": evidence or None,
                    "context": AskedAt(date=when) if when else None,
                }
            )
        return self._cases[question.id]

    def _haystack(self, entry: QuestionEntry) -> Haystack:
        if not self.accumulate:
            return Haystack.of(entry.key, lambda: self._units(entry.row), renames=self._renames)
        rows = {row: key for row, key in self._stages.items() if row <= entry.row}
        stages = tuple(Stage(key, partial(self._units, row)) for row, key in rows.items())
        return Haystack.staged(stages, renames=self._renames)

    def retrieval(self, entry: QuestionEntry, answer: Answer) -> Retrieval | None:
        """Return what came back for the question; None where it cannot be judged."""
        asked = self.question(entry)
        ids = ranked(answer.passages, self.units_of(entry), asked.evidence) if asked.evidence else None
        return retrieval_of(asked, answer, ids, self.dataset.format)

    def measured(self, found: Retrieval | None, *, whole: bool) -> dict[str, float | None] | None:
        """Return what came back for a question by metric; None where it cannot be judged.

        `whole` says that the memory returned all that it would show a model.
        """
        chosen, _ = metrics_of(self.dataset.format, whole)
        return None if found is None else values_at(found, MAX_K if whole else self.asked.limit, chosen)

    def question(self, entry: QuestionEntry) -> QuestionRecord:
        """Return the question as a journal has it."""
        question = entry.question
        return QuestionRecord(
            id=question.id,
            question=question.text,
            category=question.category,
            reference=question.answer,
            evidence=evidence_of(question, self.asked.unit),
            unanswerable=question.unanswerable,
            cluster=self.clusters[question.id],
        )

    def units_of(self, entry: QuestionEntry) -> tuple[Unit, ...]:
        """Return what is stored for the question."""
        if not self.accumulate:
            return self._units(entry.row)
        with self._lock:
            row, units = self._so_far
            if row != entry.row:
                more = [one for one in self._stages if row < one <= entry.row]
                if row > entry.row:
                    units, more = (), [one for one in self._stages if one <= entry.row]
                self._so_far = entry.row, (*units, *(unit for one in more for unit in self._units(one)))
            return self._so_far[1]

    def _units(self, row: int) -> tuple[Unit, ...]:
        with self._lock:
            if row not in self._held:
                while len(self._held) >= self.holds:
                    del self._held[next(iter(self._held))]
                sample = self._reader.at(row)
                self._held[row] = self._stored(sample, units(sample.conversation, self.asked.telling))
            self._held[row] = self._held.pop(row)  # The one that was not wanted for longest goes first.
            return self._held[row]


@cache
def metrics_of(dataset: str, whole: bool) -> tuple[frozenset[str], str]:
    """Return the metrics that are worked out for a dataset, and why one of them is missing, if one is.

    A memory that returns its `whole` content has no first k, and no precision.
    """
    names = frozenset(METRICS) - _OTHERS - ({"evidence_precision_at_k"} if whole else frozenset())
    names -= {"locomo_f1"} if dataset != "locomo" else frozenset()
    if "locomo_f1" in names:
        try:
            stem("word")
        except ModuleNotFoundError as error:
            return names - {"locomo_f1"}, f"locomo_f1 is left out: it {error}"
    return names, ""


def values_at(found: Retrieval, k: int, chosen: Collection[str]) -> dict[str, float | None]:
    """Return the values of the `chosen` metrics over the first `k` of what came back; None is a failure."""
    values = measure(found, k, frozenset(chosen))
    return {name: None if value is None else float(value) for name, value in values.items()}


def read_bench(path: Path, name: str, layouts: Layouts = LAYOUTS) -> DatasetCases:
    """Return the questions that the YAML file at `path` asks for; messages call it `name`. Raises RecallError."""
    asked = read_mapping(path, name, BenchFile, "`dataset: locomo` and `path: sample`")
    if asked.dataset not in (AUTO, *layouts):
        line = strict_yaml.lines(read_text(path, name), name)[("dataset",)]
        check_selected(asked.dataset, f"{name}:{line}: dataset", layouts)
    return DatasetCases(path, name, asked, dataset_of(asked, path.parent, name, layouts))


def dataset_of(asked: BenchFile, folder: Path, where: str, layouts: Layouts = LAYOUTS) -> Dataset:
    """Return the dataset that is asked for; its path is that from `folder`. Raises RecallError."""
    format = None if asked.dataset == AUTO else asked.dataset
    if asked.path != SAMPLE:
        file = folder / asked.path
        if not file.exists():
            raise RecallError(f"{where}: path: {asked.path!r} is not there; correct it, or write `sample`")
        return open_dataset(file, asked.path, format, layouts)
    if format is None:
        raise RecallError(f"{where}: dataset: is missing; `path: {SAMPLE}` needs one of {', '.join(layouts)}")
    return open_dataset(layouts[format].sample, f"the sample of {format}", format, layouts)
