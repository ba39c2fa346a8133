"""Pairing: the cases that two runs share, and those that they do not."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import NamedTuple

from pytest_recall.core.record import Record
from pytest_recall.core.series import graded
from pytest_recall.core.trial import Outcome, Trial


class Pair(NamedTuple):
    """A case with a verdict in both runs: its grading trials."""

    base: Trial
    head: Trial

    @property
    def case_id(self) -> str:
        """The case."""
        return self.head.case_id

    @property
    def passed(self) -> tuple[bool, bool]:
        """Whether it passed in the first run, and in the second."""
        return self.base.outcome is Outcome.PASSED, self.head.outcome is Outcome.PASSED


class Left(NamedTuple):
    """The cases that are not compared, by why: their ids, sorted.

    `no_verdict` were asked in both runs and came to no verdict in one of them; the text of
    `changed` ones is another one by now, so that they are not the same question.
    """

    only_base: tuple[str, ...] = ()
    only_head: tuple[str, ...] = ()
    no_verdict: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


def tries_of(record: Record) -> dict[str, list[Trial]]:
    """Return all trials of each case by the agent under test, in their order."""
    tries: dict[str, list[Trial]] = {}
    for trial in record.trials:
        if not trial.arm:
            tries.setdefault(trial.case_id, []).append(trial)
    return tries


def pair_up(
    base: dict[str, Trial], head: dict[str, Trial], wanted: Set[str], include_changed: bool
) -> tuple[tuple[Pair, ...], Left]:
    """Return the pairs of the `wanted` cases by id, from their grading trials, and what is left."""
    pairs: list[Pair] = []
    no_verdict: list[str] = []
    changed: list[str] = []
    for case_id in sorted(base.keys() & head.keys() & wanted):
        pair = Pair(base[case_id], head[case_id])
        if not (pair.base.outcome.is_verdict and pair.head.outcome.is_verdict):
            no_verdict.append(case_id)
        elif not include_changed and _is_changed(pair):
            changed.append(case_id)
        else:
            pairs.append(pair)
    return tuple(pairs), Left(
        only_base=tuple(sorted((base.keys() - head.keys()) & wanted)),
        only_head=tuple(sorted((head.keys() - base.keys()) & wanted)),
        no_verdict=tuple(no_verdict),
        changed=tuple(changed),
    )


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
