"""Compare: two runs over the same cases, what flipped between them, and what that shows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence, Set
from dataclasses import dataclass
from math import isfinite
from statistics import fmean, median
from typing import NamedTuple

from pytest_recall.core.change import Change, Counts, Shown, change, changes
from pytest_recall.core.errors import RecallError, nearest
from pytest_recall.core.pairing import Left, Pair, chosen_after, pair_up, tries_of
from pytest_recall.core.record import Header, Record
from pytest_recall.core.series import graded
from pytest_recall.core.spend import Spend, spend_of
from pytest_recall.core.trial import Trial
from pytest_recall.metrics.binomial import Interval
from pytest_recall.metrics.bootstrap import mean_interval

ALPHA = 0.01
_FEWEST_SCORES = 10


class Scores(NamedTuple):
    """The mean scores of a judge, 0..1, over the `pairs` with a score in both runs.

    `interval` is that of the difference of the means, by a paired bootstrap; None for fewer
    than 10 pairs, for which it would be too narrow, and if no pair differs from another.
    """

    pairs: int
    base: float
    head: float
    interval: Interval | None


class Seconds(NamedTuple):
    """The median time of the agent, over the `pairs` that are live and timed in both runs."""

    pairs: int
    base: float
    head: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs over the same cases.

    `by_scenario` and `by_dimension` are there if there are several; their p-values are
    adjusted together. `spent` is what the compared cases cost in each run, every attempt
    counted. `replays` pairs have replayed answers in both runs, `half` ones in one of them.

    `chosen_after` are cases with a verdict in the earlier run that the schedule left out of
    the later one, knowing that verdict. If there are any, what was chosen depends on chance:
    a case that failed by chance comes back sooner and then looks better.
    """

    base: Header
    head: Header
    alpha: float
    pairs: tuple[Pair, ...]
    left: Left
    overall: Change
    by_scenario: dict[str, Change]
    by_dimension: dict[str, Change]
    scores: dict[str, Scores]
    seconds: Seconds | None
    spent: tuple[Spend, Spend]
    replays: int
    half: int
    chosen_after: tuple[str, ...]
    cut_off: tuple[bool, bool]

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
    def shown(self) -> Shown:
        """What is shown over all cases."""
        return self.shown_by(self.overall)

    def shown_by(self, one: Change) -> Shown:
        """Return what `one` of the changes shows: nothing if the choice of the cases depends on chance."""
        return Shown.NOTHING if self.chosen_after else one.shown

    @property
    def drops(self) -> list[str]:
        """Where a drop is shown: `all cases`, `scenario x`, `dimension y`.

        Over all cases a drop is shown by chance in at most `alpha` / 2 of the comparisons, and
        over the groups together in as many, since the tests look at both directions.
        """
        tests = {"all cases": self.overall}
        tests |= {f"scenario {name}": one for name, one in self.by_scenario.items()}
        tests |= {f"dimension {name}": one for name, one in self.by_dimension.items()}
        return [name for name, one in tests.items() if self.shown_by(one) is Shown.DROP]


def compare(
    base: Record,
    head: Record,
    *,
    alpha: float = ALPHA,
    scenarios: Collection[str] = (),
    dimensions: Collection[str] = (),
    include_changed: bool = False,
) -> Comparison:
    """Return the comparison of two runs, of the cases in `scenarios` and `dimensions` if these are given.

    Cases are paired by id, on the trial that grades them; those with `trials` in either run on how
    often they passed. Cases whose text changed between the runs are left out unless `include_changed`.

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
        seconds=_seconds(pairs),
        spent=(_spent(pairs, tries[0]), _spent(pairs, tries[1])),
        replays=replayed.count(2),
        half=replayed.count(1),
        chosen_after=tuple(sorted(case_id for case_id in chosen_after(base, head) if case_id in wanted)),
        cut_off=(base.exit_code is None, head.exit_code is None),
    )


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


def _nothing_in_common(left: Left) -> str:
    counts = (
        f"{len(left.only_base)} are only in BASE, {len(left.only_head)} only in HEAD,"
        f" {len(left.no_verdict)} have no verdict, {len(left.changed)} have another text"
        + (f", {len(left.unproven)} fail by judges that nobody has to believe" if left.unproven else "")
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
    if not any(pair.tried for pair in pairs):
        kinds = [pair.passed for pair in pairs]
        return Counts(len(pairs), kinds.count((True, True)), kinds.count((True, False)), kinds.count((False, True)))
    differences = tuple(head - base for base, head in (pair.shares for pair in pairs))
    return Counts(
        pairs=len(pairs),
        both=float(sum(min(pair.shares) for pair in pairs)),
        lost=float(-sum(one for one in differences if one < 0)),
        gained=float(sum(one for one in differences if one > 0)),
        differences=differences,
    )


# What is beside the verdicts


def _scores(pairs: Iterable[Pair], confidence: float) -> dict[str, Scores]:
    """Return the scores by judge, where it gave as many of them to a case in both runs."""
    found: dict[str, list[tuple[float, float]]] = {}
    for pair in pairs:
        base, head = _scored(pair.base), _scored(pair.head)
        for judge in base.keys() & head.keys():
            if len(base[judge]) == len(head[judge]):
                found.setdefault(judge, []).append((fmean(base[judge]), fmean(head[judge])))
    return {judge: _means(judge, found[judge], confidence) for judge in sorted(found)}


def _scored(trial: Trial) -> dict[str, list[float]]:
    scores: dict[str, list[float]] = {}
    for verdict in trial.verdicts:
        if verdict.score is not None and isfinite(verdict.score):
            scores.setdefault(verdict.judge, []).append(verdict.score)
    return scores


def _means(judge: str, scores: list[tuple[float, float]], confidence: float) -> Scores:
    differences = [head - base for base, head in scores]
    return Scores(
        pairs=len(scores),
        base=fmean(base for base, _ in scores),
        head=fmean(head for _, head in scores),
        interval=mean_interval(differences, confidence, seed=judge) if len(scores) >= _FEWEST_SCORES else None,
    )


def _seconds(pairs: Iterable[Pair]) -> Seconds | None:
    """Return the times of live answers; how long a replay took is nobody's latency."""
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
