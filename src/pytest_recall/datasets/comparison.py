"""Compare two memories that were asked the same questions of a dataset, metric by metric."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

from pytest_recall.datasets.membench import cluster_of, has_failed
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.metrics.change import Change, ChangeSummary, Counts, changes, cluster_differences
from pytest_recall.metrics.intervals import mean_of
from pytest_recall.metrics.measures import JUDGED, MEASURES
from pytest_recall.trials.cost import Spend
from pytest_recall.trials.record import QuestionRecord
from pytest_recall.trials.trial import Trial, Verdict

COMPARED = (
    *("evidence_recall_at_k", "evidence_all_at_k", "reciprocal_rank", "contains_at_k"),
    *("locomo_f1", "answer_contains", "answer_token_f1", "abstention_recall"),
    *JUDGED,
)
"""The metrics that are compared, those of the table. Each further one would take power from the others."""
_GRID = 100
"""Differences of scores are taken to the hundredth: signs can be flipped of those as well, and are sooner counted."""


class JournalContents(NamedTuple):
    """What a journal holds."""

    name: str
    arguments: Mapping[str, Any]
    """Who was asked what, as plain arguments."""
    trials: Mapping[str, Trial]
    """The trial of each question."""
    asked: Mapping[str, QuestionRecord] = MappingProxyType({})
    """The questions themselves, by id, which a journal of an earlier version does not have."""
    spend: Spend = Spend()
    """What all calls of its reader and its judges came to, those of questions that were asked again included."""
    further: tuple[Mapping[str, Trial], ...] = ()
    """The trials of each further ingest, where the memory was told and asked all of it several times."""

    @property
    def ingests(self) -> tuple[Mapping[str, Trial], ...]:
        """The trials of each ingest."""
        return (self.trials, *self.further)

    @property
    def questions(self) -> dict[str, tuple[Trial, ...]]:
        """The trials of each question, one for each ingest after which it was asked."""
        found: dict[str, tuple[Trial, ...]] = {}
        for trials in self.ingests:
            for id, trial in trials.items():
                found[id] = (*found.get(id, ()), trial)
        return found


class Paired(NamedTuple):
    """A metric over the questions that have it in both runs: the means, and whether they differ by chance.

    After several ingests a question has the mean of its values.
    """

    base: float
    head: float
    change: Change
    """Over both runs. Of yes and no the test is McNemar's exact one, of scores that of sign flips."""
    fell: tuple[str, ...]
    """The ids of the questions whose value is lower in the second run."""
    rose: tuple[str, ...]
    """The ids of the questions whose value is higher in the second run."""


class LeftQuestions(NamedTuple):
    """The questions that are not compared: in one of the journals only, or failed in one of them."""

    only_base: int
    only_head: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchComparison:
    """Two runs over questions of one dataset."""

    base: JournalContents
    head: JournalContents
    alpha: float
    pairs: int
    """How many questions were asked in both."""
    left: LeftQuestions
    metrics: Mapping[str, Paired]
    """By name; their p-values hold together, by Holm's method."""
    judges: str
    """Those whose verdicts are compared; empty without any."""
    unjudged: str
    """Why none are compared though both runs have some."""

    @property
    def asked_otherwise(self) -> list[str]:
        """The settings beside the memory in which the runs differ; one that returns all it holds has no k."""
        base, head = self.base.arguments, self.head.arguments
        names = [] if base.get("whole") or head.get("whole") else ["k"]
        names += ["unit", "captions", "dates", "settle", "accumulate", "reader", "prompt"]
        return [name for name in names if base.get(name) != head.get(name)]

    def shown(self, what: ChangeSummary) -> list[str]:
        """Return the metrics of which this is shown."""
        return [name for name, one in self.metrics.items() if one.change.shown is what]


def compare_benches(
    base: JournalContents, head: JournalContents, *, alpha: float, categories: Collection[str] = ()
) -> BenchComparison:
    """Return the comparison of two runs, question by question, of those in `categories` if these are given.

    Raises RecallError for runs over different files, for a category that neither has, and where no question
    has a value of the same metric in both.
    """
    if base.arguments.get("sha256") != head.arguments.get("sha256"):
        told = [f"{one.arguments.get('file')} in {one.name}" for one in (base, head)]
        raise RecallError(f"the questions are of different files, {' and '.join(told)}; ask both the same file")
    known = {trials[0].dimension for one in (base, head) for trials in one.questions.values()}
    if unknown := [name for name in categories if name not in known]:
        raise RecallError(*(f"no category {name!r} in these runs{nearest(name, known)}" for name in unknown))
    first, second = (
        {id: trials for id, trials in one.questions.items() if not categories or trials[0].dimension in categories}
        for one in (base, head)
    )
    shared = [id for id in first if id in second]
    both = [id for id in shared if not all(map(has_failed, first[id])) and not all(map(has_failed, second[id]))]
    judges, unjudged = _judges(base, head)
    values = _values((base, head), both, judges)
    found = {name: pairs for name in COMPARED if (pairs := _pairs(name, both, *values))}
    if not found:
        raise RecallError(
            f"no question has a value of the same metric in both ({len(first)} are in BASE, {len(second)} in HEAD,"
            f" {len(shared)} in both); ask the same questions again, such as all of them"
        )
    clusters = {id: cluster_of(first[id][0], head.asked or base.asked) for id in both}
    tested = changes({name: _counts(pairs, MEASURES[name].share, clusters) for name, pairs in found.items()}, alpha)
    return BenchComparison(
        base=base,
        head=head,
        alpha=alpha,
        pairs=len(both),
        left=LeftQuestions(len(first) - len(shared), len(second) - len(shared), len(shared) - len(both)),
        metrics={name: _paired(pairs, tested[name]) for name, pairs in found.items()},
        judges=judges,
        unjudged=unjudged,
    )


Pairs = Mapping[str, tuple[float, float]]
"""The values of a metric in both runs, by question."""


Values = Mapping[str, Mapping[str, float | None]]
"""The measures of a run, by question and name."""


def _pairs(name: str, ids: Iterable[str], base: Values, head: Values) -> Pairs:
    values = {id: (base[id].get(name), head[id].get(name)) for id in ids}
    return {id: (one, other) for id, (one, other) in values.items() if one is not None and other is not None}


def _counts(pairs: Pairs, share: bool, clusters: Mapping[str, str]) -> Counts:
    kept = list(pairs.values())
    differences = {id: Fraction(round(_GRID * (other - one)), _GRID) for id, (one, other) in pairs.items()}
    groups = cluster_differences(differences, clusters)
    if share and all(value in (0, 1) for pair in kept for value in pair):
        lost, gained = (sum(one > other for one, other in kept), sum(one < other for one, other in kept))
        return Counts(len(kept), sum(one == other == 1 for one, other in kept), lost, gained, clusters=groups)
    return Counts(
        pairs=len(kept),
        both=sum(min(pair) for pair in kept),
        lost=sum(max(one - other, 0.0) for one, other in kept),
        gained=sum(max(other - one, 0.0) for one, other in kept),
        differences=tuple(differences.values()),
        clusters=groups,
    )


def _paired(pairs: Pairs, change: Change) -> Paired:
    return Paired(
        base=sum(one for one, _ in pairs.values()) / len(pairs),
        head=sum(other for _, other in pairs.values()) / len(pairs),
        change=change,
        fell=tuple(id for id, (one, other) in pairs.items() if other < one),
        rose=tuple(id for id, (one, other) in pairs.items() if other > one),
    )


def _judges(base: JournalContents, head: JournalContents) -> tuple[str, str]:
    """Return the judges that are compared, those that judged last of what judged in both, or why there are none."""
    first, second = _panels(base), _panels(head)
    common = [name for name in second if name in first]
    if common:
        return common[-1], ""
    if first and second:
        return "", f"judged by {first[-1]} in BASE and by {second[-1]} in HEAD; let the same judges judge both"
    return "", ""


def _panels(asked: JournalContents) -> list[str]:
    """Return who has judged the answers of a run, the last ones last: each trial has its verdicts in that order."""
    places: dict[str, int] = {}
    for trial in (trial for trials in asked.ingests for trial in trials.values()):
        for place, verdict in enumerate(trial.verdicts):
            if verdict.panel:
                places[verdict.panel] = max(place, places.get(verdict.panel, 0))
    return sorted(places, key=lambda name: places[name])


def _values(runs: tuple[JournalContents, JournalContents], ids: Sequence[str], judges: str) -> list[Values]:
    """Return the measures of each run, with what these judges said by the same prompt of the answers there.

    Those of several ingests are averaged, as far as there are any.
    """
    said = [[_said(trials, judges) for trials in one.ingests] for one in runs]
    versions = {id: {found[id].version for one in said for found in one if id in found} for id in ids}
    fits = {id for id in ids if len(versions[id]) == 1 and all(any(id in found for found in one) for one in said)}
    return [
        {
            id: _averaged(
                [
                    _measured(trials[id], found.get(id) if id in fits else None, asked.arguments)
                    for trials, found in zip(asked.ingests, one, strict=True)
                    if id in trials
                ]
            )
            for id in ids
        }
        for asked, one in zip(runs, said, strict=True)
    ]


def _averaged(measured: Sequence[Mapping[str, float | None]]) -> dict[str, float | None]:
    values = {name: [one[name] for one in measured if one.get(name) is not None] for one in measured for name in one}
    return {name: mean_of(found).value for name, found in values.items()}


def _said(trials: Mapping[str, Trial], judges: str) -> dict[str, Verdict]:
    return {
        id: verdict
        for id, trial in trials.items()
        for verdict in trial.verdicts
        if judges and verdict.panel == judges and verdict.passed is not None
    }


def _measured(trial: Trial, said: Verdict | None, arguments: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the measures of a trial, of those by models the one of `said` alone."""
    found = {name: value for name, value in (trial.measures or {}).items() if name not in JUDGED}
    return found if said is None else {**found, f"{arguments['dataset']}_judge": float(bool(said.passed))}
