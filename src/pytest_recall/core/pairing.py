"""Pairing: the cases that two runs share, and those that they do not."""

from __future__ import annotations

from collections.abc import Iterator, Set
from fractions import Fraction
from typing import NamedTuple

from pytest_recall.core.record import Record
from pytest_recall.core.series import Rule, graded, series
from pytest_recall.core.trial import Outcome, Trial


class Pair(NamedTuple):
    """A case with a verdict in both runs: its grading trials.

    Of a case that was tried several times, `tried` has how often it passed in the first run, in
    the second, and of how many trials, which are as many of both runs; else it is None.
    """

    base: Trial
    head: Trial
    tried: tuple[int, int, int] | None = None

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


class Left(NamedTuple):
    """The cases that are not compared, by why: their ids, sorted.

    `no_verdict` were asked in both runs and came to no verdict in one of them; the text of
    `changed` ones is another one by now, so that they are not the same question. `unproven` ones
    would have a verdict if a fail counted by a judge that falls short of the kappa asked for.
    """

    only_base: tuple[str, ...] = ()
    only_head: tuple[str, ...] = ()
    no_verdict: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unproven: tuple[str, ...] = ()


def tries_of(record: Record) -> dict[str, list[Trial]]:
    """Return all trials of each case by the agent under test, in their order."""
    tries: dict[str, list[Trial]] = {}
    for trial in record.trials:
        if not trial.arm:
            tries.setdefault(trial.case_id, []).append(trial)
    return tries


def pair_up(base: Record, head: Record, wanted: Set[str], include_changed: bool) -> tuple[tuple[Pair, ...], Left]:
    """Return the pairs of the `wanted` cases by id, from their grading trials, and what is left."""
    pairs: list[Pair] = []
    left: dict[str, list[str]] = {"no_verdict": [], "changed": [], "unproven": []}
    told = graded(base.trials), graded(head.trials)
    believed = tuple([_believed(trial) for trial in record.trials] for record in (base, head))
    first, second = map(graded, believed)
    every = tuple(map(series, believed))
    for case_id in sorted(first.keys() & second.keys() & wanted):
        pair = Pair(first[case_id], second[case_id], _tried(*(trials[case_id] for trials in every)))
        if not (pair.base.outcome.is_verdict and pair.head.outcome.is_verdict):
            would = all(trials[case_id].outcome.is_verdict for trials in told)
            left["unproven" if would else "no_verdict"].append(case_id)
        elif not include_changed and _is_changed(pair):
            left["changed"].append(case_id)
        else:
            pairs.append(pair)
    return tuple(pairs), Left(
        only_base=tuple(sorted((first.keys() - second.keys()) & wanted)),
        only_head=tuple(sorted((second.keys() - first.keys()) & wanted)),
        **{name: tuple(ids) for name, ids in left.items()},
    )


def _believed(trial: Trial) -> Trial:
    """Return the trial without a fail that blocks nobody, which is no verdict here either."""
    if trial.outcome is Outcome.FAILED and trial.unproven:
        return trial._replace(outcome=Outcome.ERROR, error=trial.unproven)
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
    return bool(trials[-1].rule) and Rule.parse(trials[-1].rule).ends == "pass"


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
