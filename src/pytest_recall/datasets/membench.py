"""Summarize what a memory came to on the questions of a dataset, by category."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import fsum
from types import MappingProxyType
from typing import Any, NamedTuple

from pytest_recall.datasets.categories import category_title
from pytest_recall.datasets.file import LAYOUTS
from pytest_recall.datasets.ingests import IngestCounter, stored_before
from pytest_recall.datasets.model_usage import ModelUsage, together
from pytest_recall.datasets.own_answer_floors import answer_floors
from pytest_recall.files.wording import listed, plural
from pytest_recall.memory.client import ModelPlace
from pytest_recall.memory.session import Readback
from pytest_recall.metrics.floors import FLOORS, FULL, LAST, ORACLE, RANDOM, discriminates
from pytest_recall.metrics.intervals import Mean, percentiles
from pytest_recall.metrics.measures import MEASURES
from pytest_recall.metrics.repeated import Answers, IngestSpread, RepeatedMean, repeated_mean
from pytest_recall.models.fingerprint import Fingerprint
from pytest_recall.trials.earlier_run import RunDifference
from pytest_recall.trials.evidence import NAMELESS
from pytest_recall.trials.record import QuestionRecord
from pytest_recall.trials.trial import ANSWERED, Outcome, Trial


class Arguments(NamedTuple):
    """What decides the outcome of a run, which is resumed by a run that has the same."""

    dataset: str
    file: str
    sha256: str
    """That of the dataset's file."""
    memory: str
    k: int
    unit: str
    sample: int | None
    seed: str
    categories: tuple[str, ...]
    whole: bool
    """Whether the memory returns all that it would show a model."""
    code: str = ""
    """A digest of the memory's own code; empty where that is not here."""
    packages: tuple[str, ...] = ()
    """The versions of what the memory's own code imports."""
    reader: str = ""
    """The model that answers from passages; empty without one."""
    prompt: str = ""
    """The name and version of what the reader is told; empty without a reader."""
    accumulate: bool = False
    """Whether one store holds all conversations told so far."""
    captions: bool = True
    dates: bool = True
    settle: int = 0
    """How many seconds the memory had after each conversation to become ready."""
    memory_models: ModelPlace = "none"
    """Where the memory calls models of its own."""
    memory_title: str = ""
    """What tables call the memory, where that is not its selector."""

    @property
    def title(self) -> str:
        """What tables call the memory."""
        return self.memory_title or self.memory


RECALL = "evidence_recall_at_k"
ANSWER_METRICS = ("longmemeval_judge", "locomo_judge", "dmr_judge", "locomo_f1", "answer_contains", "answer_token_f1")
"""What answers are compared by: the first of these that was measured."""
_READ_AT_ALL = "tokens_read"
"""What is measured wherever passages are returned, whatever these say of themselves."""
HANDED_OUT = "memory_handed_out_tokens"
"""The same of any question that it answers: the tokens of the passages, by an estimate."""
TOKENS = "tokens:"
"""What stands before the digest of a floor, in the place of that of a memory's code."""
RETRIEVED = "retrieved"
"""The kind of the step of a trial that has the ids of what came back, by rank."""
BESIDE = "floors"
"""The kind of the step of a trial that has what floors and ceiling find of the evidence, by name and metric."""
READER = "reader"
"""The stage of an error of the model that answers from passages."""
READ, WRITTEN, USD = "reader_input_tokens", "reader_output_tokens", "reader_usd"
"""What the usage of an answer by such a model has: what is not known is not there."""


class ReadingCost(NamedTuple):
    """What answers from passages took on average."""

    answers: int = 0
    """How many answers this is the average of."""
    read: float | None = None
    """Tokens that the model read; None where that is not known."""
    written: float | None = None
    """Tokens that the model wrote; None where that is not known."""
    usd: float | None = None
    """US dollars at list price; None where that is not known."""


class CategoryResult(NamedTuple):
    """What the questions of a category, or all of them, came to.

    Of several ingests, a question has the mean of its values, and has failed, is not judged or not read if that is so
    after each of them.
    """

    n: int
    """How many questions were asked."""
    failures: int
    """How many of them broke; these are in no mean."""
    unjudged: int
    """How many of them cannot be judged; these are in no mean."""
    means: Mapping[str, Mean]
    """By metric; their intervals are over the `clusters`."""
    clusters: int = 0
    """How many groups there are of questions that resemble each other, such as those about one conversation."""
    unread: int = 0
    """How many have their passages, and got no answer from the reader."""
    reading: ReadingCost = ReadingCost()
    """What the reader took for the others."""
    floors: Mapping[str, Mapping[str, float]] = MappingProxyType({})
    """The means, by name and metric, of what finds the evidence of the same questions without searching, and of the
    ceiling; none where that was not measured of all."""
    spreads: Mapping[str, IngestSpread] = MappingProxyType({})
    """What each of several ingests came to, by metric; none for a single one."""
    unmeasurable: int = 0
    """How many came back with passages that do not name the texts they are from, so that evidence cannot be looked for;
    the other metrics have them."""
    partly: int = 0
    """How many came back with some passages that do not name these; they count as no evidence."""
    models: ModelUsage = ModelUsage()
    """What the calls of the memory's own models took for a question on average."""
    answer_floors: Mapping[str, Mapping[str, float]] = MappingProxyType({})
    """The means, by name and metric, of what answers all questions alike, where the memory answers by itself."""

    @property
    def answers_discriminate(self) -> bool | None:
        """Whether the memory's own answers are better than those of each floor; None if that is not known."""
        metric = self.answer_metric
        if metric is None:
            return None
        mean = self.means[metric]
        low = mean.value if mean.low is None else mean.low
        return discriminates(low, mean.n, (one[metric] for one in self.answer_floors.values() if metric in one))

    @property
    def answer_metric(self) -> str | None:
        """The metric by which the memory's own answers are compared with floors; None where there are none."""
        known = {metric for one in self.answer_floors.values() for metric in one}
        return next((name for name in ANSWER_METRICS if name in known and name in self.means), None)

    @property
    def discriminates(self) -> bool | None:
        """Whether the memory finds more of the evidence than each floor does; None if that is not known."""
        recall = self.means.get(RECALL)
        if recall is None or not self.floors:
            return None
        low = recall.value if recall.low is None else recall.low
        if recall.value == 1 and (whole := self.means.get("evidence_all_at_k")) is not None:
            low = whole.low  # All alike is no certainty: of as many shares the interval has a width.
        return discriminates(low, recall.n, (self.floors[name][RECALL] for name in FLOORS if name in self.floors))


class EarlierAnswers(NamedTuple):
    """How many questions earlier commands have asked, which are not asked again, and the `dates` of the first ones."""

    questions: int = 0
    dates: tuple[str, ...] = ()

    def of(self, total: int) -> str:
        """Return in words which questions of all are kept, and from when; empty if none are."""
        if not self.questions:
            return ""
        return f"{'' if self.questions >= total else f'{self.questions:,} '}kept from {listed(self.dates)}"


NOT_READ_BACK = Readback(stored=0)


class MembenchSummary(NamedTuple):
    """What a run came to so far."""

    total: int
    """How many questions there are."""
    everything: CategoryResult
    categories: Mapping[str, CategoryResult]
    latency: Mapping[str, float | None]
    """Percentiles of the seconds that a question took."""
    ingests: int
    """How many conversations were stored, each counted once in a run that was resumed."""
    units: int
    """How much all of these stored."""
    ingest_seconds: float
    """How long it took to store all of these."""
    readback: Readback = NOT_READ_BACK
    """What came of asking units back."""
    repeats: int = 1
    """How many times all conversations were ingested, and all questions asked."""
    retries: int = 0
    """How many requests were tried again."""
    waited: float = 0.0
    """How many seconds were waited before that, which are in no other time."""
    ingest_tokens: int | None = None
    """Those of the stored texts, by an estimate; None where that is not known."""
    models: ModelUsage = ModelUsage()
    """What the calls of the memory's own models took for all conversations that were stored."""

    @property
    def untelling(self) -> list[str]:
        """The categories in which a floor finds about as much, as tables call them."""
        return [category_title(name) for name, group in self.categories.items() if group.discriminates is False]

    @property
    def untelling_answers(self) -> list[str]:
        """The categories in which answers that are all alike are about as good, as tables call them."""
        groups = {**{category_title(name): one for name, one in self.categories.items()}, "all": self.everything}
        return [name for name, group in groups.items() if group.answers_discriminate is False]

    @property
    def complete(self) -> bool:
        """Whether all questions were asked."""
        return self.everything.n >= self.total


class _Group:
    def __init__(self) -> None:
        self.n = self.failures = self.unjudged = self.unread = self.unmeasurable = self.partly = 0
        self.clusters: set[str] = set()
        self.read: dict[str, list[float | None]] = {READ: [], WRITTEN: [], USD: []}
        self.floors: dict[str, dict[str, list[float]]] = {}
        self.answer_floors: dict[str, dict[str, list[float]]] = {}
        self.answers: dict[str, list[Answers]] = {}
        self.models: list[ModelUsage] = []

    def add(self, ingests: Sequence[Trial | None], cluster: str, asked: QuestionRecord | None) -> None:
        trials = [trial for trial in ingests if trial is not None]
        failed = all(map(has_failed, trials))
        self.n += 1
        self.clusters.add(cluster)
        self.failures += failed
        self.unread += all(trial.stage == READER for trial in trials)
        self.unjudged += not failed and all(trial.measures is None for trial in trials)
        if asked is not None and asked.evidence and not any(RECALL in (trial.measures or {}) for trial in trials):
            self.unmeasurable += any(_READ_AT_ALL in (trial.measures or {}) for trial in trials)
        self.partly += any(RECALL in (trial.measures or {}) and _has_unnamed(trial) for trial in trials)
        for trial in trials:
            if trial.answer is not None and trial.answer.by == "model":
                for name, values in self.read.items():
                    values.append(trial.answer.usage.get(name))
            if trial.answer is not None and "memory_recall_seconds" in trial.answer.usage:
                self.models.append(ModelUsage.of(trial.answer.usage, "memory_recall"))
        self._add_floors(trials)
        if asked is not None and (own := [one for one in trials if _answers_itself(one)]):
            metrics = {name for one in own for name in one.measures or ()}
            for floor, found in answer_floors(asked, metrics).items():
                for name, value in found.items():
                    self.answer_floors.setdefault(floor, {}).setdefault(name, []).append(value)
        measured = [{} if trial is None else trial.measures or {} for trial in ingests]
        for name in dict.fromkeys(name for measures in measured for name in measures):
            if name in MEASURES:  # Others are of a later version.
                row = [measures.get(name) for measures in measured]
                self.answers.setdefault(name, []).append((cluster, row))

    def _add_floors(self, trials: Sequence[Trial]) -> None:
        found: dict[tuple[str, str], list[float]] = {}
        for trial in trials:
            for name, metrics in next((step.data for step in trial.steps if step.kind == BESIDE), {}).items():
                for metric, value in metrics.items():
                    found.setdefault((name, metric), []).append(value)
        for (name, metric), values in found.items():
            self.floors.setdefault(name, {}).setdefault(metric, []).append(fsum(values) / len(values))

    def found(self) -> CategoryResult:
        means = {name: _mean(name, self.answers[name]) for name in MEASURES if name in self.answers}
        read, written, usd = map(_average, self.read.values())
        reading = ReadingCost(len(self.read[READ]), read, written, usd)
        return CategoryResult(
            n=self.n,
            failures=self.failures,
            unjudged=self.unjudged,
            means={name: one.mean for name, one in means.items()},
            clusters=len(self.clusters),
            unread=self.unread,
            reading=reading,
            floors={name: found for name in ROWS if (found := self._floor(name))},
            spreads={name: one.spread for name, one in means.items() if one.spread is not None},
            unmeasurable=self.unmeasurable,
            partly=self.partly,
            models=together(self.models).per(len(self.models)),
            answer_floors={
                floor: {name: fsum(values) / len(values) for name, values in found.items()}
                for floor, found in self.answer_floors.items()
            },
        )

    def _floor(self, name: str) -> dict[str, float]:
        """Return the means of a floor; nothing where it is not known of the same questions as the memory is."""
        found = self.floors.get(name, {})
        measured = sum(any(value is not None for value in row) for _, row in self.answers.get(RECALL, ()))
        known = len(found.get(RECALL, ())) == measured
        return {metric: fsum(values) / len(values) for metric, values in found.items()} if known else {}


def _answers_itself(trial: Trial) -> bool:
    """Whether the answer is the memory's own words."""
    return trial.answer is not None and bool(trial.answer.usage.get(ANSWERED)) and trial.answer.by != "model"


def _has_unnamed(trial: Trial) -> bool:
    ids = next((step.data["ids"] for step in trial.steps if step.kind == RETRIEVED), ())
    return any(str(id).startswith(NAMELESS) for id in ids)


def _mean(name: str, answers: Sequence[Answers]) -> RepeatedMean:
    return repeated_mean(answers, share=MEASURES[name].share, within=MEASURES[name].within)


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _average(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fsum(known) / len(known) if known and len(known) == len(values) else None


class MembenchFold:
    """Adds trials up as they come. `asked` are the questions by id, as far as they are known."""

    def __init__(self, total: int, asked: Mapping[str, QuestionRecord], repeats: int = 1) -> None:
        self._total = total
        self._repeats = repeats
        self._asked = asked
        self._all = _Group()
        self._categories: dict[str, _Group] = {}
        self._seconds = array("d")
        self._retries = 0
        self._waited: list[float] = []
        self._counters = [IngestCounter() for _ in range(repeats)]

    def add(self, ingests: Sequence[Trial | None]) -> None:
        """Take the trials of a question, one for each ingest; None after which it was not asked."""
        trials = [trial for trial in ingests if trial is not None]
        cluster = cluster_of(trials[0], self._asked)
        asked = self._asked.get(trials[0].case_id)
        self._all.add(ingests, cluster, asked)
        self._categories.setdefault(trials[0].dimension, _Group()).add(ingests, cluster, asked)
        for trial, counter in zip(ingests, self._counters, strict=True):
            if trial is None or trial.answer is None:
                continue
            usage = trial.answer.usage
            if (seconds := usage.get("memory_recall_seconds")) is not None:
                self._seconds.append(seconds)
            if (retries := usage.get("memory_retries")) is not None:
                self._retries += int(retries)
                self._waited.append(usage.get("memory_waited_seconds", 0.0))
            if (told := stored_before(usage)) is not None:
                counter.add(_conversation_of(trial), told)

    def summary(self) -> MembenchSummary:
        """Return what it comes to so far."""
        categories = {name: self._categories[name].found() for name in sorted(self._categories, key=category_title)}
        told = [one for one in (counter.counted() for counter in self._counters) if one is not None]
        readback = sum((one.readback for one in told[1:]), start=told[0].readback) if told else NOT_READ_BACK
        return MembenchSummary(
            total=self._total,
            everything=self._all.found(),
            categories=categories,
            latency=percentiles(self._seconds),
            ingests=sum(one.conversations for one in told),
            units=readback.stored,
            ingest_seconds=round(fsum(one.seconds for one in told), 6),
            readback=readback,
            repeats=self._repeats,
            retries=self._retries,
            waited=round(fsum(self._waited), 6),
            ingest_tokens=_sum([one.tokens for one in told]),
            models=together(one.models for one in told),
        )


def has_failed(trial: Trial) -> bool:
    """Whether asking the memory broke, so that nothing was measured.

    Where no judge decides on an answer, or no reader gives one, what the memory found is there.
    """
    return trial.outcome is Outcome.ERROR and trial.measures is None and trial.stage != READER


def is_open(trial: Trial) -> bool:
    """Whether the question is asked again: the memory broke, or the reader."""
    return has_failed(trial) or trial.stage == READER


ROWS = (RANDOM, LAST, FULL, ORACLE)
"""What a table has beside a memory."""


def cluster_of(trial: Trial, asked: Mapping[str, QuestionRecord]) -> str:
    """Return the cluster of the trial's question: that of the journal, or else the conversation that it is about."""
    if trial.case_id in asked:
        return asked[trial.case_id].cluster
    return _conversation_of(trial)


def _conversation_of(trial: Trial) -> str:
    """Return the conversation, whose id the scenario is, or the question where each has one of its own."""
    layout = LAYOUTS.get(trial.scenario)
    has_own = layout is not None and not layout.shares_conversations
    return trial.case_id if has_own else trial.scenario or trial.case_id


def fold(
    trials: Iterable[Trial],
    total: int,
    asked: Mapping[str, QuestionRecord] = MappingProxyType({}),
    further: Sequence[Iterable[Trial]] = (),
) -> MembenchSummary:
    """Return what trials come to, of `total` questions; to the last digit the same in whichever order they are.

    `asked` are the questions by id, as far as a journal has them. `further` are the trials of the same questions after
    each further ingest: a question then has the mean of its values.
    """
    found = MembenchFold(total, asked, 1 + len(further))
    later = [{trial.case_id: trial for trial in one} for one in further]
    rows: list[tuple[Trial | None, ...]] = [
        (trial, *(one.pop(trial.case_id, None) for one in later)) for trial in trials
    ]
    left = {id: None for one in later for id in one}
    rows += [(None, *(one.get(id) for one in later)) for id in left]
    for row in sorted(rows, key=lambda row: next(trial.case_id for trial in row if trial is not None)):
        found.add(row)
    return found.summary()


def by_file(trials: Iterable[Trial]) -> dict[str, MembenchSummary]:
    """Return what the questions of datasets came to, of which the `trials` are, by the file that names the dataset.

    A trial that was skipped, such as of what cannot be judged, is not judged; one with an error is a failure.
    """
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(trial.where.rpartition(":")[0], []).append(trial)
    return {name: fold(groups[name], len(groups[name])) for name in sorted(groups)}


def kept(trials: Collection[Trial], total: int, keeps_failed: bool) -> str:
    """Return, in words, how many of `total` questions are in `trials` for good, and what becomes of the others."""
    failed, unread = sum(map(has_failed, trials)), sum(trial.stage == READER for trial in trials)
    told = [f"{failed:,} {'of them ' if keeps_failed else 'that '}failed"] if failed else []
    told += [f"{unread:,} without an answer of the reader"] if unread else []
    if not told:
        return f"{len(trials):,} of {plural(total, 'question')} are kept"
    again = "" if keeps_failed else f" {'is' if failed + unread == 1 else 'are'} asked again"
    left = len(trials) - (0 if keeps_failed else failed + unread)
    return f"{left:,} of {plural(total, 'question')} are kept, {' and '.join(told)}{again}"


MADE_OF = ("code", "packages")
"""The arguments that say what a memory is made of: where they have changed, what was asked before is of another one."""
_OF_SELECTOR = ("memory_models", "memory_title")
"""The arguments that follow from the selector of the memory."""


def differences(before: Mapping[str, Any], after: Arguments) -> Iterator[RunDifference]:
    """Yield what has changed between what a journal was asked and what a run asks, and of the memory itself."""
    now = asked_of(after)
    for name in now:
        if before.get(name) != now[name]:
            yield RunDifference(f"`{name}` was {before.get(name)!r} and is {now[name]!r}")
    if remade := _remade(before, after):
        yield RunDifference(remade, asks_again=True)


def _remade(before: Mapping[str, Any], after: Arguments) -> str:
    """Return in words what of the memory itself has changed since; empty if nothing has, or that is not known."""
    if after.code.startswith(TOKENS):
        return "" if before["code"] == after.code else "the memory has returned other numbers of tokens"
    made_of = Fingerprint(after.code, after.packages)
    return made_of.changed_since(Fingerprint(before["code"], tuple(before["packages"])))


def mark_of(arguments: Arguments) -> str:
    """Return twelve hex digits over what is asked; what is asked by an option alone counts only where it is given."""
    usual = Arguments._field_defaults
    asked = {name: value for name, value in asked_of(arguments).items() if name not in usual or value != usual[name]}
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:12]


def asked_of(arguments: Arguments) -> dict[str, Any]:
    """Return the arguments without what the memory is made of and what follows from others, as plain JSON types."""
    without = (*MADE_OF, *_OF_SELECTOR)
    return {name: value for name, value in plain(arguments).items() if name not in without}


def arguments_of_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments in the settings of a journal, as plain JSON types. Raises TypeError."""
    return plain(Arguments(**{"sample": None, **settings}))


def plain(arguments: Arguments) -> dict[str, Any]:
    """Return the arguments as plain JSON types."""
    return {**arguments._asdict(), "categories": list(arguments.categories), "packages": list(arguments.packages)}
