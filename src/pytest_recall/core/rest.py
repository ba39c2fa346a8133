"""Rest: what a run that was cut off has left to do, and whether it may go on under today's settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from pytest_recall.core.plain import typed
from pytest_recall.core.record import Header, Record
from pytest_recall.core.schedule import UNSCHEDULED
from pytest_recall.core.series import Rule, series
from pytest_recall.core.trial import Outcome, Trial

Asked = tuple[str, str]
"""A case, and the baseline that is asked it; empty for the agent under test."""

FREE = frozenset(
    f"rubric.{name}"
    for name in (
        "owner",
        "blocks",
        "no_verdict_allowed",
        "prices",
        "rate_limits",
        "batch",
        "max_cassette_age",
        "outage_limit",
    )
)
"""Settings that decide no verdict, so that they may change while a run is put off."""


class Rest(NamedTuple):
    """What a run has left to do.

    `done` are those with a verdict, by the fingerprint of the case that it is on; `begun` are the
    outcomes of a series that was cut off before it was decided; `early` are trials that had come to their end
    before their turn, and are not asked again. All else is asked as if for the first time.
    """

    header: Header
    done: Mapping[Asked, str]
    begun: Mapping[Asked, tuple[tuple[Outcome, ...], str]]
    early: Mapping[Asked, Trial] = MappingProxyType({})

    @property
    def cases(self) -> list[str]:
        """The ids of the cases that somebody has yet to be asked, in the order of the slice."""
        arms = ("", *self.header.baselines)
        return [case_id for case_id, _ in self.header.picks if any((case_id, arm) not in self.done for arm in arms)]

    def with_cases(self, fingerprints: Mapping[str, str]) -> Rest:
        """Return what is left if the cases now have these fingerprints: a verdict on another question is none."""

        def same(asked: Asked, before: str) -> bool:
            return fingerprints.get(asked[0], before) == before

        return self._replace(
            done={asked: before for asked, before in self.done.items() if same(asked, before)},
            begun={asked: kept for asked, kept in self.begun.items() if same(asked, kept[1])},
        )

    def with_early(self, trials: Iterable[Trial], fingerprint: Callable[[str], str]) -> Rest:
        """Return what is left if there are these `trials` already, of those cases that still have their fingerprint."""
        early = {
            (trial.case_id, trial.arm): trial
            for trial in trials
            if trial.outcome.is_verdict and trial.fingerprint == fingerprint(trial.case_id)
        }
        return self._replace(early={asked: trial for asked, trial in early.items() if asked not in self.done})

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {
            "header": self.header._asdict(),
            "done": [[*asked, before] for asked, before in self.done.items()],
            "begun": [[*asked, outcomes, before] for asked, (outcomes, before) in self.begun.items()],
            "early": [trial.to_json() for trial in self.early.values()],
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Rest:
        """Return what `to_json` gave."""
        given = plain["header"]
        header = Header(**typed(Header, given), picks=tuple((case_id, reason) for case_id, reason in given["picks"]))
        done = {(case_id, arm): before for case_id, arm, before in plain["done"]}
        begun = {
            (case_id, arm): (tuple(map(Outcome, outcomes)), before) for case_id, arm, outcomes, before in plain["begun"]
        }
        early = map(Trial.from_json, plain["early"])
        return cls(header, done, begun, {(trial.case_id, trial.arm): trial for trial in early})

    def outcomes(self, asked: Asked) -> list[Outcome]:
        """Return what the trials of a series came to that has to go on."""
        outcomes, _ = self.begun.get(asked, ((), ""))
        return list(outcomes)


def rest_of(record: Record) -> Rest:
    """Return what the run of `record` has left to do. A crash, an error and a skip are no verdicts.

    A question of a dataset is skipped once it was answered and nobody can judge it, and is done.
    """
    done: dict[Asked, str] = {}
    begun: dict[Asked, tuple[tuple[Outcome, ...], str]] = {}
    for arm in ("", *record.header.baselines):
        for case_id, trials in series(record.trials, arm).items():
            last = trials[-1]
            outcomes = [trial.outcome for trial in trials]
            verdict = Rule.parse(last.rule).decided(outcomes) if last.rule else last.outcome
            if verdict is None:
                begun[case_id, arm] = tuple(outcomes), last.fingerprint
            elif verdict.is_verdict or (verdict is Outcome.SKIPPED and last.reason in UNSCHEDULED):
                done[case_id, arm] = last.fingerprint
    return Rest(record.header, done, begun)


def settings(**given: Any) -> tuple[str, ...]:
    """Return what decides a verdict beside the case as lines `name: JSON`; those of a mapping one by one."""
    lines = []
    for name, value in given.items():
        parts = {f"{name}.{key}": one for key, one in value.items()} if isinstance(value, dict) else {name: value}
        lines += [f"{key}: {json.dumps(one, sort_keys=True)}" for key, one in parts.items() if one not in (None, ())]
    return tuple(sorted(lines))


def changes(before: Iterable[str], now: Iterable[str]) -> list[str]:
    """Return the names of the settings that are others now, without those that decide no verdict."""
    earlier, later = (dict(line.partition(": ")[::2] for line in lines) for lines in (before, now))
    names = sorted(earlier.keys() | later.keys())
    return [name for name in names if earlier.get(name) != later.get(name) and name not in FREE]
