"""Compare two runs over the same cases: what they share, what changed, and whether it could be chance."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite
from statistics import fmean, median
from typing import NamedTuple

from pytest_recall.files.distinct import distinct_names
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.judges.calibration import Calibration, JudgeKey
from pytest_recall.judges.judge_identity import OtherJudges, other_judges, rules_of
from pytest_recall.judges.judged_rates import JudgedRate, judged_rates
from pytest_recall.metrics.change import Change, ChangeSummary, Counts, change, changes, cluster_differences
from pytest_recall.metrics.clustered import clustered_mean
from pytest_recall.metrics.intervals import Interval
from pytest_recall.metrics.paired import mean_interval
from pytest_recall.models.reply_names import replied_models
from pytest_recall.results.measures import case_values
from pytest_recall.results.unproven_text import unproven_text
from pytest_recall.schedule.boxes import DATASET, PROFILE
from pytest_recall.trials.cost import Spend, spend_of
from pytest_recall.trials.execution import Result, with_result
from pytest_recall.trials.record import Header, Record
from pytest_recall.trials.series import graded, parse_rule, series
from pytest_recall.trials.trial import Outcome, Trial


class Pair(NamedTuple):
    """A case with a verdict in both runs: its grading trials."""

    base: Trial
    head: Trial
    tried: tuple[int, int, int] | None = None
    """Of a case that was tried several times, how often it passed in the first run, in the second, and of how many
    trials, which are as many of both runs; else None."""

    @property
    def case_id(self) -> str:
        """The case."""
        return self.head.case_id

    @property
    def passed(self) -> tuple[bool, bool]:
        """Whether it passed in the first run, and in the second."""
        return self.base.outcome is Outcome.PASSED, self.head.outcome is Outcome.PASSED

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        """How often it passed in the first run, and in the second, 0..1."""
        base, head, of = self.tried or (*map(int, self.passed), 1)
        return Fraction(base, of), Fraction(head, of)


class LeftCases(NamedTuple):
    """The cases that are not compared, by why: their ids, sorted."""

    only_base: tuple[str, ...] = ()
    only_head: tuple[str, ...] = ()
    no_verdict: tuple[str, ...] = ()
    """Those that were asked in both runs and came to no verdict in one of them."""
    changed: tuple[str, ...] = ()
    """Those whose text is another one by now, so that they are not the same question."""
    unproven: tuple[str, ...] = ()
    """Those that would have a verdict if a fail counted by a judge that falls short of the kappa asked for."""


def tries_of(record: Record) -> dict[str, list[Trial]]:
    """Return all trials of each case by the agent under test, in their order."""
    tries: dict[str, list[Trial]] = {}
    for trial in record.trials:
        if not trial.arm:
            tries.setdefault(trial.case_id, []).append(trial)
    return tries


def pair_up(base: Record, head: Record, wanted: Set[str], include_changed: bool) -> tuple[tuple[Pair, ...], LeftCases]:
    """Return the pairs of the `wanted` cases by id, from their grading trials, and what is left."""
    pairs: list[Pair] = []
    left: dict[str, list[str]] = {"no_verdict": [], "changed": [], "unproven": []}
    told = graded(base.trials), graded(head.trials)
    believed = tuple([_believed(trial) for trial in record.trials] for record in (base, head))
    first, second = ({case_id: _believed(trial) for case_id, trial in graded(some).items()} for some in believed)
    every = tuple(map(series, believed))
    for case_id in sorted(first.keys() & second.keys() & wanted):
        pair = Pair(first[case_id], second[case_id], _tried(*(trials[case_id] for trials in every)))
        if not (pair.base.outcome.is_verdict and pair.head.outcome.is_verdict):
            would = all(trials[case_id].outcome.is_verdict and not trials[case_id].is_doubted for trials in told)
            left["unproven" if would else "no_verdict"].append(case_id)
        elif not include_changed and _is_changed(pair):
            left["changed"].append(case_id)
        else:
            pairs.append(pair)
    return tuple(pairs), LeftCases(
        only_base=tuple(sorted((first.keys() - second.keys()) & wanted)),
        only_head=tuple(sorted((second.keys() - first.keys()) & wanted)),
        **{name: tuple(ids) for name, ids in left.items()},
    )


def _believed(trial: Trial) -> Trial:
    """Return the trial without a fail that does not fail the run, which is no verdict here either."""
    if trial.outcome is Outcome.FAILED and trial.is_unproven:
        return with_result(trial, Result.of(trial)._replace(outcome=Outcome.ERROR, error=unproven_text(trial)))
    return trial


def _tried(base: list[Trial], head: list[Trial]) -> tuple[int, int, int] | None:
    """Return how often a case passed in both runs, of how many trials; None if it was tried once in both.

    As many trials are taken of both runs, the first ones: shares of different numbers do not
    vary alike, and a run with fewer would look worse or better by that alone.
    """
    if not (_is_repeated(base) or _is_repeated(head)):
        return None
    passes, others = _passes(base), _passes(head)
    of = min(len(passes), len(others))
    return (sum(passes[:of]), sum(others[:of]), of) if of else None


def _is_repeated(trials: list[Trial]) -> bool:
    # A fail that is asked again ends as soon as it is decided: how often it passed depends on that.
    return bool(trials[-1].rule) and parse_rule(trials[-1].rule).ends == "pass"


def _passes(trials: list[Trial]) -> list[bool]:
    verdicts = [trial.outcome is Outcome.PASSED for trial in trials if trial.outcome.is_verdict]
    return verdicts if _is_repeated(trials) else verdicts[:1]


def _is_changed(pair: Pair) -> bool:
    first, second = pair.base.fingerprint, pair.head.fingerprint
    return first != second and bool(first and second)  # a marked test has none


def chosen_after(base: Record, head: Record) -> Iterator[str]:
    """Yield the cases that the later run left out and whose verdict in the earlier one it may have known."""
    earlier, later = sorted((base, head), key=lambda record: record.header.started)
    asked = later.header
    if not asked.scheduled or asked.mode == "all" or (asked.state and asked.state == earlier.header.state):
        return
    chosen = {case_id for case_id, _ in asked.picks} | {trial.case_id for trial in later.trials if not trial.arm}
    for case_id, trial in graded(earlier.trials).items():
        if (
            trial.outcome.is_verdict
            and case_id not in chosen
            and (not asked.scenarios or trial.scenario in asked.scenarios)
            and (not asked.dimensions or trial.dimension in asked.dimensions)
        ):
            yield case_id


ALPHA = 0.01
_FEWEST_SCORES = 10


class PairedMeans(NamedTuple):
    """The means of a number that cases have in both runs: the score of a judge, or a measure."""

    pairs: int
    """How many cases have it in both runs."""
    base: float
    head: float
    interval: Interval | None
    """That of the difference of the means, by a paired bootstrap; None for fewer than 10 pairs, for which it would be
    too narrow, and if no pair differs from another. Of pairs in `clusters` it is the cluster-robust one."""
    clusters: int | None = None
    """How many groups the pairs are in, as `unit_of` tells them."""


class Seconds(NamedTuple):
    """The median time of the agent, over the `pairs` that are live and timed in both runs."""

    pairs: int
    base: float
    head: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs over the same cases."""

    base: Header
    head: Header
    alpha: float
    pairs: tuple[Pair, ...]
    left: LeftCases
    overall: Change
    by_scenario: dict[str, Change]
    """Empty unless there are several; the p-values are adjusted together."""
    by_dimension: dict[str, Change]
    """Empty unless there are several; the p-values are adjusted together."""
    scores: dict[str, PairedMeans]
    """By judge, from 0 to 1."""
    measures: dict[str, PairedMeans]
    """By the measure of an extension, in its unit."""
    seconds: Seconds | None
    spent: tuple[Spend, Spend]
    """What the compared cases cost in each run, every attempt counted."""
    replays: int
    """How many pairs have replayed answers in both runs."""
    half: int
    """How many pairs have a replayed answer in one of the runs."""
    chosen_after: tuple[str, ...]
    """Cases with a verdict in the earlier run that the schedule left out of the later one, knowing that verdict. If
    there are any, what was chosen depends on chance: a case that failed by chance comes back sooner and then looks
    better."""
    cut_off: tuple[bool, bool]
    other_judges: OtherJudges | None = None
    """Who judged where that was not the same in both runs, so that the difference may be theirs."""
    rates: tuple[tuple[JudgedRate, ...], tuple[JudgedRate, ...]] = ((), ())
    """How many of the compared cases each judging model passed in the first run, and in the second, with its errors
    taken out where there are labels; none where calibrations were not looked for."""
    models: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    @property
    def lost(self) -> list[Pair]:
        """The pairs that passed in the first run and failed in the second, by id."""
        return [pair for pair in self.pairs if pair.passed == (True, False)]

    @property
    def gained(self) -> list[Pair]:
        """The pairs that failed in the first run and passed in the second, by id."""
        return [pair for pair in self.pairs if pair.passed == (False, True)]

    @property
    def fell(self) -> list[Pair]:
        """The pairs that passed less often in the second run, and whose verdict did not flip, by id."""
        return [pair for pair in self.pairs if pair.shares[0] > pair.shares[1] and pair.passed != (True, False)]

    @property
    def rose(self) -> list[Pair]:
        """The pairs that passed more often in the second run, and whose verdict did not flip, by id."""
        return [pair for pair in self.pairs if pair.shares[0] < pair.shares[1] and pair.passed != (False, True)]

    @property
    def shown(self) -> ChangeSummary:
        """What is shown over all cases."""
        return self.shown_by(self.overall)

    def shown_by(self, one: Change) -> ChangeSummary:
        """Return what `one` of the changes shows: nothing if the choice of the cases depends on chance."""
        return ChangeSummary.NOTHING if self.chosen_after else one.shown

    @property
    def drops(self) -> list[str]:
        """Where a drop is shown: `all cases`, `scenario x`, `dimension y`.

        Over all cases a drop is shown by chance in at most `alpha` / 2 of the comparisons, and
        over the groups together in as many, since the tests look at both directions.
        """
        tests = {"all cases": self.overall}
        tests |= {f"scenario {name}": one for name, one in self.by_scenario.items()}
        tests |= {f"dimension {name}": one for name, one in self.by_dimension.items()}
        return [name for name, one in tests.items() if self.shown_by(one) is ChangeSummary.DROP]


def compare(
    base: Record,
    head: Record,
    *,
    alpha: float = ALPHA,
    scenarios: Collection[str] = (),
    dimensions: Collection[str] = (),
    include_changed: bool = False,
    calibrations: Mapping[JudgeKey, Calibration] | None = None,
) -> Comparison:
    """Return the comparison of two runs, of the cases in `scenarios` and `dimensions` if these are given.

    Cases are paired by id, on the trial that grades them; those with `trials` in either run on how
    often they passed. Cases whose text changed between the runs are left out unless `include_changed`.
    `calibrations` are those that there are of judging models; None if they were not looked for.

    Raises RecallError for a scenario or dimension that neither run has, and if no case has
    a verdict in both.
    """
    tries = tries_of(base), tries_of(head)
    first, second = graded(base.trials), graded(head.trials)
    wanted = _wanted(first | second, scenarios, dimensions)
    pairs, left = pair_up(base, head, wanted, include_changed)
    if not pairs:
        raise RecallError(_nothing_in_common(left))
    by_scenario = _grouped(pairs, lambda trial: trial.scenario)
    by_dimension = _grouped(pairs, lambda trial: trial.dimension)
    # One family of tests: told apart by the first letter while they are adjusted.
    family = changes(
        {**{f"s{k}": v for k, v in by_scenario.items()}, **{f"d{k}": v for k, v in by_dimension.items()}}, alpha
    )
    replayed = [(pair.base.source == "replayed") + (pair.head.source == "replayed") for pair in pairs]
    return Comparison(
        base=base.header,
        head=head.header,
        alpha=alpha,
        pairs=pairs,
        left=left,
        overall=change(_counts(pairs), alpha),
        by_scenario={name: family[f"s{name}"] for name in by_scenario},
        by_dimension={name: family[f"d{name}"] for name in by_dimension},
        scores=_scores(pairs, 1 - alpha),
        measures=_measured(pairs, tries, 1 - alpha),
        seconds=_seconds(pairs),
        spent=(_spent(pairs, tries[0]), _spent(pairs, tries[1])),
        replays=replayed.count(2),
        half=replayed.count(1),
        chosen_after=tuple(sorted(case_id for case_id in chosen_after(base, head) if case_id in wanted)),
        cut_off=(base.exit_code is None, head.exit_code is None),
        models=(_models(base), _models(head)),
        other_judges=other_judges(
            ((pair.base, pair.head) for pair in pairs),
            *(rules_of(record.header.settings, record.trials) for record in (base, head)),
        ),
        rates=(
            _rates(base, pairs, calibrations, 1 - alpha),
            _rates(head, pairs, calibrations, 1 - alpha),
        ),
    )


def _models(run: Record) -> tuple[str, ...]:
    return replied_models(call for trial in run.trials if not trial.arm for call in trial.calls)


def named_apart(base: Record, head: Record, folders: Sequence[str]) -> tuple[Record, Record]:
    """Return two runs, in these `folders`, with names that differ: one that was set aside has that of the next one."""
    runs = base, head
    called = distinct_names([record.header.run for record in runs], folders)
    first, second = (
        record._replace(header=record.header._replace(run=name)) for record, name in zip(runs, called, strict=True)
    )
    return first, second


def _rates(
    record: Record, pairs: Iterable[Pair], known: Mapping[JudgeKey, Calibration] | None, confidence: float
) -> tuple[JudgedRate, ...]:
    if known is None:
        return ()
    compared = {pair.case_id for pair in pairs}
    trials = (trial for trial in record.trials if trial.case_id in compared)
    return judged_rates(trials, known, record.header.settings, confidence, unit_of)


def _wanted(trials: dict[str, Trial], scenarios: Collection[str], dimensions: Collection[str]) -> Set[str]:
    """Return the ids of the cases that are asked for; a case that moved counts where it is in the second run."""
    for kind, names, known in (
        ("scenario", scenarios, {trial.scenario for trial in trials.values()}),
        ("dimension", dimensions, {trial.dimension for trial in trials.values()}),
    ):
        unknown = [
            f"no {kind} {name!r} in these runs{nearest(name, known - {''})}" for name in names if name not in known
        ]
        if unknown:
            raise RecallError(*unknown)
    return {
        case_id
        for case_id, trial in trials.items()
        if (not scenarios or trial.scenario in scenarios) and (not dimensions or trial.dimension in dimensions)
    }


def _nothing_in_common(left: LeftCases) -> str:
    counts = (
        f"{len(left.only_base)} are only in BASE, {len(left.only_head)} only in HEAD,"
        f" {len(left.no_verdict)} have no verdict, {len(left.changed)} have another text"
        + (f", {len(left.unproven)} fail by judges that fall short of the required agreement" if left.unproven else "")
    )
    fix = "--include-changed compares them" if left.changed else "run the same cases again, such as all of them"
    return f"no case has a verdict on the same question in both runs ({counts}); {fix}"


# Groups


def _grouped(pairs: Iterable[Pair], key: Callable[[Trial], str]) -> dict[str, Counts]:
    """Return the counts of each group by name; nothing for a single group, which is all cases again."""
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(key(pair.head), []).append(pair)
    return {name: _counts(groups[name]) for name in sorted(groups)} if len(groups) > 1 else {}


def _counts(pairs: Sequence[Pair]) -> Counts:
    changed = {pair.case_id: pair.shares[1] - pair.shares[0] for pair in pairs}
    clusters = cluster_differences(changed, {pair.case_id: unit_of(pair.head) for pair in pairs})
    if not any(pair.tried for pair in pairs):
        kinds = [pair.passed for pair in pairs]
        both, lost, gained = (kinds.count(kind) for kind in ((True, True), (True, False), (False, True)))
        return Counts(len(pairs), both, lost, gained, clusters=clusters)
    differences = tuple(changed.values())
    return Counts(
        pairs=len(pairs),
        both=float(sum(min(pair.shares) for pair in pairs)),
        lost=float(-sum(one for one in differences if one < 0)),
        gained=float(sum(one for one in differences if one > 0)),
        differences=differences,
        clusters=clusters,
    )


def unit_of(trial: Trial) -> str:
    """Return what the trial's case changes together with: a persona's question, a dataset's conversation, or itself.

    A question that is asked at several checkpoints is one question, whose answers resemble each other.
    """
    if trial.reason == PROFILE:
        return f"{trial.scenario}/{trial.case_id.partition('/')[2]}"
    if trial.reason != DATASET:
        return trial.case_id
    from pytest_recall.datasets.membench import cluster_of

    return cluster_of(trial, {})


# What is beside the verdicts


def _scores(pairs: Iterable[Pair], confidence: float) -> dict[str, PairedMeans]:
    """Return the scores by judge, where it gave as many of them to a case in both runs."""
    found: dict[str, list[tuple[str, float, float]]] = {}
    for pair in pairs:
        base, head = _scored(pair.base), _scored(pair.head)
        for judge in base.keys() & head.keys():
            if len(base[judge]) == len(head[judge]):
                found.setdefault(judge, []).append((unit_of(pair.head), fmean(base[judge]), fmean(head[judge])))
    return {judge: _means(judge, found[judge], confidence, (-1, 1)) for judge in sorted(found)}


def _measured(
    pairs: Iterable[Pair], tries: tuple[Mapping[str, list[Trial]], Mapping[str, list[Trial]]], confidence: float
) -> dict[str, PairedMeans]:
    """Return the measures of extensions, of the cases that have one in both runs."""
    kept = [pair for pair in pairs if pair.base.custom_measures or pair.head.custom_measures]
    if not kept:
        return {}
    base, head = (case_values(series(trial for pair in kept for trial in some.get(pair.case_id, ()))) for some in tries)
    found: dict[str, PairedMeans] = {}
    for name in base.keys() & head.keys():
        both = sorted(base[name].keys() & head[name].keys())
        if both:
            values = [(unit_of(head[name][id].trial), base[name][id].value, head[name][id].value) for id in both]
            found[name] = _means(name, values, confidence, (-inf, inf))
    return dict(sorted(found.items()))


def _scored(trial: Trial) -> dict[str, list[float]]:
    scores: dict[str, list[float]] = {}
    for verdict in trial.verdicts:
        if verdict.score is not None and isfinite(verdict.score):
            scores.setdefault(verdict.judge, []).append(verdict.score)
    return scores


def _means(
    name: str, scores: list[tuple[str, float, float]], confidence: float, within: tuple[float, float]
) -> PairedMeans:
    differences = [(unit, head - base) for unit, base, head in scores]
    clusters = len({unit for unit, _ in differences})
    interval = None
    if clusters < len(scores):
        robust = clustered_mean(differences, within=within, confidence=confidence)
        if robust.low is not None and robust.high is not None and clusters >= _FEWEST_SCORES:
            interval = robust.low, robust.high
    elif len(scores) >= _FEWEST_SCORES:
        interval = mean_interval([one for _, one in differences], confidence, seed=name)
    return PairedMeans(
        pairs=len(scores),
        base=fmean(base for _, base, _ in scores),
        head=fmean(head for _, _, head in scores),
        interval=interval,
        clusters=clusters if clusters < len(scores) else None,
    )


def _seconds(pairs: Iterable[Pair]) -> Seconds | None:
    """Return the times of live answers; how long a replay took is no one's latency."""
    known = [
        (base.seconds, head.seconds)
        for base, head, _ in pairs
        if base.source == head.source == "live" and base.seconds is not None and head.seconds is not None
    ]
    if not known:
        return None
    return Seconds(len(known), median(base for base, _ in known), median(head for _, head in known))


def _spent(pairs: Iterable[Pair], tries: dict[str, list[Trial]]) -> Spend:
    return spend_of(call for pair in pairs for trial in tries[pair.case_id] for call in trial.calls)
