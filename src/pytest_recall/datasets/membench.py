"""Membench: what a memory came to on a dataset: one line for each question, and the fold over them."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from pytest_recall.files.coerce import typed, values_of
from pytest_recall.metrics.intervals import Mean, Tally, percentiles
from pytest_recall.metrics.retrieval import METRICS, Metric, Value
from pytest_recall.replay.call import Call
from pytest_recall.trials.trial import Outcome, Trial

FORMAT = 1
"""The version of the lines."""


JUDGED: Mapping[str, Metric] = {
    f"{dataset}_judge": Metric("a model says that the answer is correct, by the rule of the paper", share=True)
    for dataset in ("longmemeval", "locomo", "dmr")
}
"""What a model judges, by name; a value that is None is an answer on which it came to no verdict."""
KNOWN: Mapping[str, Metric] = {**METRICS, **JUDGED}


class Arguments(NamedTuple):
    """What decides the outcome of a run; a journal is gone on with by a run that has the same.

    `sha256` is that of the dataset's file; `whole` says that the memory returns all that it would show a model.
    """

    dataset: str
    file: str
    sha256: str
    memory: str
    k: int
    unit: str
    sample: int | None
    seed: str
    categories: tuple[str, ...]
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionLine:
    """One question that was asked.

    `values` are its metrics; one with an `error` has none, and neither has one that is `unjudged`, which
    says why it cannot be judged. `answer` is what the memory answered, None where it handed out passages
    alone. `seconds` is how long the memory took for it; `ingest_seconds` and `units` are those of what was
    stored just before it, None where nothing was.
    """

    id: str
    category: str
    values: Mapping[str, Value] = field(default_factory=dict)
    unjudged: str = ""
    error: str = ""
    answer: str | None = None
    seconds: float | None = None
    ingest_seconds: float | None = None
    units: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; what is empty or unknown is left out."""
        plain = {name: value for name, value in asdict(self).items() if value not in (None, "", {})}
        answer = {} if self.answer is None else {"answer": self.answer}
        return {"id": self.id, "category": self.category, **plain, **answer}

    def with_values(self, values: Mapping[str, Value]) -> QuestionLine:
        """Return the line with further values."""
        return replace(self, values={**self.values, **values})

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> QuestionLine:
        """Return the line that `to_json` gave. Raises KeyError, TypeError or ValueError for what it has not."""
        values = values_of(plain.get("values", {}))
        for name, value in values.items():
            if value is not None and name in KNOWN:
                KNOWN[name].tally().add(value)
        return cls(**{**typed(cls, plain), "values": values})


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswer:
    """What a model said of the answer to the question `id`; `passed` is None where it came to no verdict, for `error`.

    `key` stands for who was asked what: another answer, model or prompt has another one. `judges` are all that could
    decide, `model` is the one whose word stands; `version` is that of the prompt, and `answer` stands for the answer.
    `calls` were made for it.
    """

    id: str
    key: str
    judges: str = ""
    version: str = ""
    answer: str = ""
    passed: bool | None = None
    model: str = ""
    reason: str = ""
    error: str = ""
    calls: tuple[Call, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; what is empty is left out."""
        names = ("id", "key", "judges", "version", "answer", "passed", "model", "reason", "error")
        plain = {name: getattr(self, name) for name in names}
        kept = {name: value for name, value in plain.items() if value not in (None, "")}
        return {**kept, "calls": [call.to_json() for call in self.calls]}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> JudgedAnswer:
        """Return what `to_json` gave. Raises KeyError, TypeError or ValueError for what it has not."""
        calls = tuple(Call.from_json(call) for call in plain.get("calls", ()))
        return cls(**{"id": plain["id"], "key": plain["key"], **typed(cls, plain), "calls": calls})


class CategoryResult(NamedTuple):
    """What the questions of a category, or all of them, came to: `n` were asked, `failures` broke.

    `unjudged` are those that cannot be judged. Neither these nor failures are in the means.
    """

    n: int
    failures: int
    unjudged: int
    means: Mapping[str, Mean]


class MembenchSummary(NamedTuple):
    """What a run came to so far: `asked` of `total` questions.

    `latency` are percentiles, in seconds, of a question; `ingests` counts how often a conversation was
    stored, `units` how much all of them stored, in `ingest_seconds`.
    """

    total: int
    everything: CategoryResult
    categories: Mapping[str, CategoryResult]
    latency: Mapping[str, float | None]
    ingests: int
    units: int
    ingest_seconds: float

    @property
    def complete(self) -> bool:
        """Whether all questions were asked."""
        return self.everything.n >= self.total


class _Group:
    def __init__(self) -> None:
        self.n = self.failures = self.unjudged = 0
        self.tallies: dict[str, Tally] = {}

    def add(self, line: QuestionLine) -> None:
        self.n += 1
        self.failures += bool(line.error)
        self.unjudged += bool(line.unjudged)
        for name, value in line.values.items():
            if name not in KNOWN:
                continue  # Of a later version.
            tally = self.tallies.setdefault(name, KNOWN[name].tally())
            if value is None:
                tally.fail()
            else:
                tally.add(value)

    def found(self) -> CategoryResult:
        means = {name: self.tallies[name].mean() for name in KNOWN if name in self.tallies}
        return CategoryResult(self.n, self.failures, self.unjudged, means)


class MembenchFold:
    """Adds lines up as they come; it keeps sums, and the seconds of each question."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._all = _Group()
        self._categories: dict[str, _Group] = {}
        self._seconds = array("d")
        self._ingests = self._units = 0
        self._ingest_seconds = 0.0

    def add(self, line: QuestionLine) -> None:
        """Take a line."""
        self._all.add(line)
        self._categories.setdefault(line.category, _Group()).add(line)
        if line.seconds is not None:
            self._seconds.append(line.seconds)
        if line.ingest_seconds is not None:
            self._ingests += 1
            self._ingest_seconds += line.ingest_seconds
            self._units += line.units or 0

    def summary(self) -> MembenchSummary:
        """Return what it comes to so far."""
        return MembenchSummary(
            total=self._total,
            everything=self._all.found(),
            categories={name: group.found() for name, group in sorted(self._categories.items())},
            latency=percentiles(self._seconds),
            ingests=self._ingests,
            units=self._units,
            ingest_seconds=round(self._ingest_seconds, 6),
        )


def fold(lines: Iterable[QuestionLine], total: int) -> MembenchSummary:
    """Return what the lines come to, of `total` questions; to the last digit the same in whichever order they are."""
    found = MembenchFold(total)
    for line in sorted(lines, key=lambda one: one.id):
        found.add(line)
    return found.summary()


def by_file(trials: Iterable[Trial]) -> dict[str, MembenchSummary]:
    """Return what the questions of datasets came to, of which the `trials` are, by the file that names the dataset.

    A trial that was skipped, such as of what cannot be judged, is not judged; one with an error is a failure.
    """
    lines: dict[str, list[QuestionLine]] = {}
    for trial in trials:
        line = QuestionLine(id=trial.case_id, category=trial.dimension, values=trial.measured or {})
        if trial.outcome is Outcome.ERROR:
            line = replace(line, values={}, error=trial.error or "no verdict")
        elif trial.measured is None:
            line = replace(line, unjudged=trial.error or "not measured")
        lines.setdefault(trial.where.rpartition(":")[0], []).append(line)
    return {name: fold(lines[name], len(lines[name])) for name in sorted(lines)}


def kept(lines: Collection[QuestionLine], total: int, keeps_failed: bool) -> str:
    """Return, in words, how many of `total` questions are in `lines` for good, and what becomes of failed ones."""
    failed = sum(bool(line.error) for line in lines)
    if keeps_failed:
        return f"{len(lines):,} of {total:,} questions are kept" + (f", {failed:,} of them failed" if failed else "")
    again = f", {failed:,} that failed {'is' if failed == 1 else 'are'} asked again" if failed else ""
    return f"{len(lines) - failed:,} of {total:,} questions are kept{again}"


def differences(before: Mapping[str, Any], after: Arguments) -> list[str]:
    """Return what has changed between the arguments of a journal and those of a run, in words."""
    now = plain(after)
    return [f"`{name}` was {before.get(name)!r} and is {now[name]!r}" for name in now if before.get(name) != now[name]]


def plain(arguments: Arguments) -> dict[str, Any]:
    """Return the arguments as plain JSON types."""
    return {**arguments._asdict(), "categories": list(arguments.categories)}
