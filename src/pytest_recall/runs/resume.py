"""Resume a stopped run, cut a slice into shards, and join their journals."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from types import MappingProxyType
from typing import Any, NamedTuple

from pytest_recall.files.coerce import typed
from pytest_recall.files.errors import RecallError
from pytest_recall.results.scorecard import has_failed
from pytest_recall.schedule.boxes import UNSCHEDULED
from pytest_recall.trials.record import Header, LetThrough, LostShard, Record
from pytest_recall.trials.series import parse_rule, series
from pytest_recall.trials.trial import Outcome, Trial

CaseAndArm = tuple[str, str]
"""A case, and the baseline that is asked it; empty for the agent under test."""

FREE = frozenset(
    f"rubric.{name}"
    for name in (
        "owner",
        "blocks",
        "no_verdict_allowed",
        "prices",
        "rate_limits",
    )
)
"""Settings that decide no verdict, so that they may change while a run is put off."""


class Rest(NamedTuple):
    """What a run has left to do: all that is in none of these is asked as if for the first time."""

    header: Header
    done: Mapping[CaseAndArm, str]
    """Those with a verdict, with the fingerprint of the case that it is on."""
    begun: Mapping[CaseAndArm, tuple[tuple[Outcome, ...], str]]
    """The outcomes of a series that was cut off before it was decided."""
    early: Mapping[CaseAndArm, Trial] = MappingProxyType({})
    """Trials that had come to their end before their turn, and are not asked again."""

    @property
    def cases(self) -> list[str]:
        """The ids of the cases that someone has yet to be asked, in the order of the slice."""
        arms = ("", *self.header.baselines)
        return [case_id for case_id, _ in self.header.picks if any((case_id, arm) not in self.done for arm in arms)]

    def with_cases(self, fingerprints: Mapping[str, str]) -> Rest:
        """Return what is left if the cases now have these fingerprints: a verdict on another question is none."""

        def same(asked: CaseAndArm, before: str) -> bool:
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

    def outcomes(self, asked: CaseAndArm) -> list[Outcome]:
        """Return what the trials of a series came to that has to go on."""
        outcomes, _ = self.begun.get(asked, ((), ""))
        return list(outcomes)


def rest_of(record: Record) -> Rest:
    """Return what the run of `record` has left to do. A crash, an error and a skip are no verdicts.

    A question of a dataset is skipped once it was answered and it cannot be judged, and is done.
    """
    done: dict[CaseAndArm, str] = {}
    begun: dict[CaseAndArm, tuple[tuple[Outcome, ...], str]] = {}
    for arm in ("", *record.header.baselines):
        for case_id, trials in series(record.trials, arm).items():
            last = trials[-1]
            outcomes = [trial.outcome for trial in trials]
            verdict = parse_rule(last.rule).decided(outcomes) if last.rule else last.outcome
            if verdict is None:
                begun[case_id, arm] = tuple(outcomes), last.fingerprint
            elif verdict.is_verdict or (verdict is Outcome.SKIPPED and last.reason in UNSCHEDULED):
                done[case_id, arm] = last.fingerprint
    return Rest(record.header, done, begun)


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the names of the settings that are others now, without those that decide no verdict."""
    earlier, later = _each(before), _each(now)
    names = sorted(earlier.keys() | later.keys())
    return [name for name in names if earlier.get(name) != later.get(name) and name not in FREE]


def _each(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings one by one, those of a mapping by their names in it."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found |= {f"{name}.{key}": one for key, one in value.items()} if isinstance(value, dict) else {name: value}
    return found


MOST = 1000
_WRITTEN = re.compile(r"([1-9][0-9]{0,3})/([1-9][0-9]{0,3})")
_NAMED = (
    ("CI_NODE_INDEX", "CI_NODE_TOTAL", 1),
    ("CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", 0),
    ("BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0),
)
"""How CI systems say which job of how many this is, and from where they count."""


class Shard(NamedTuple):
    """The job `number`, counted from 1, of so many."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def name(self) -> str:
        """The words for it."""
        return f"shard {self.number} of {self.of}"

    def part(self, ids: Iterable[str]) -> set[str]:
        """Return this shard's part of `ids`.

        All parts together are all of `ids`, no id is in two, and none is larger than another by more
        than one. Dealt out by each id's own hash, so that neighbours in a file go different ways.
        """
        return set(sorted(set(ids), key=_place)[self.number - 1 :: self.of])


def parse(text: str) -> Shard:
    """Return the shard that a person wrote as `2/4`. Raises RecallError."""
    found = _WRITTEN.fullmatch(text.strip())
    shard = Shard(int(found[1]), int(found[2])) if found else Shard(0, 0)
    if not 1 <= shard.number <= shard.of <= MOST:
        raise RecallError(
            f"shard: {text!r} is not a shard; write which of how many, as 2/4, or auto where CI says it"
            f" (at most {MOST})"
        )
    return shard


def of_environment(env: Mapping[str, str]) -> Shard:
    """Return the shard that CI names: GitLab, CircleCI or Buildkite. Raises RecallError if none does.

    A job that is not parallel is the only one.
    """
    for index, total, first in _NAMED:
        if total not in env:
            continue
        number, count = env.get(index, str(first)), env[total]
        if not (number.isdigit() and count.isdigit()):
            raise RecallError(f"shard: {index} {number!r} and {total} {count!r} are not numbers; give K/N")
        return parse(f"{int(number) + 1 - first}/{count}")
    told = ", ".join(total for _, total, _ in _NAMED)
    raise RecallError(f"shard: auto needs one of {told}, and none is set; give --recall-shard K/N")


def fingerprint(picks: Iterable[tuple[str, str]]) -> str:
    """Return twelve hex digits over the cases of a slice and their reasons, in whatever order they come."""
    return hashlib.sha256(json.dumps(sorted(map(list, picks))).encode()).hexdigest()[:12]


def _place(case_id: str) -> tuple[bytes, str]:
    return hashlib.sha256(f"shard:{case_id}".encode("utf-8", "surrogatepass")).digest(), case_id


INTERRUPTED = 2
"""The exit code of a run that has not run all that it chose."""
_COMMON = (
    *("date", "seed", "mode", "state", "pr", "model", "scheduled", "writes", "reset", "scenarios", "dimensions"),
    *("baselines", "total", "fingerprint"),
)
_NAMES = {"fingerprint": "slice"}


class Joined(NamedTuple):
    """A run that was joined from its shards."""

    record: Record
    parts: Mapping[str, Record]
    """The journals that count, by what `source` calls them."""
    notes: tuple[str, ...] = ()


def source(header: Header) -> str:
    """Return what a merged run calls one of its shards."""
    return f"{header.shard} {header.run} {header.started}"


def join(records: Iterable[Record]) -> Joined:
    """Return the run that these shards are of, in whatever order they come, each counted once.

    Of a shard that was run again the later journal counts. What is missing or was cut off is not run, and
    named. Raises RecallError for what is not a shard, for shards of different runs, and for none.
    """
    every = sorted(records, key=_order)
    if not every:
        raise RecallError("no shard; give the folders of runs with --recall-shard, or folders that hold some")
    for record in every:
        if not record.header.shard:
            raise RecallError(f"{record.header.run}: is not a shard of a run; leave it out")
        check_same(every[0].header, record.header)
    shards: dict[Shard, list[Record]] = defaultdict(list)
    for record in every:
        shards[parse(record.header.shard)].append(record)
    first = every[0].header
    count = next(iter(shards)).of
    notes: list[str] = []
    lost: list[LostShard] = []
    kept: list[Record] = []
    for shard in (Shard(number, count) for number in range(1, count + 1)):
        found = shards.get(shard, [])
        if found:
            kept.append(found[-1])
            notes += _doubles(shard, found)
        lost += _lost(shard, first, found[-1] if found else None)
    trials = tuple(trial for record in kept for trial in record.trials)
    codes = [
        int(has_failed(record.header, record.trials)) if record.exit_code is None else record.exit_code
        for record in kept
    ]
    header = first._replace(
        started=min(record.header.started for record in kept),
        picks=first.slice,
        shard="",
        slice=(),
        ledger="",
        early="",
        merged=tuple(source(record.header) for record in kept),
        lost=tuple(lost),
        affected=tuple(dict.fromkeys(case_id for record in kept for case_id in record.header.affected)),
    )
    calls = tuple(call for record in kept for call in record.calls)
    let_through = reduce(LetThrough.joined, (record.let_through for record in kept))
    asked = {id: one for record in kept for id, one in record.asked.items()}
    exit_code = INTERRUPTED if lost else max(codes)
    measures = {name: about for record in kept for name, about in record.measures.items()}
    record = Record(header, trials, exit_code, calls, asked=asked, let_through=let_through, measures=measures)
    return Joined(record, {source(one.header): one for one in kept}, tuple(notes))


def extended(before: Record, joined: Joined) -> Record:
    """Return the joined run with the trials of `before` first, which a state may have taken in already.

    `before` is an earlier join of shards of the same run. Raises RecallError if one of them is missing now.
    """
    had = {text.partition(" ")[0] for text in before.header.merged}
    if gone := sorted(had - {text.partition(" ")[0] for text in joined.parts}):
        raise RecallError(
            f"{before.header.run}: is already joined from shard {', '.join(gone)} as well; give that too, or another -o"
        )
    news = [part for name, part in joined.parts.items() if name not in before.header.merged]
    trials = (*before.trials, *(trial for part in news for trial in part.trials))
    calls = (*before.calls, *(call for part in news for call in part.calls))
    asked = {**before.asked, **joined.record.asked}
    let_through = reduce(LetThrough.joined, (part.let_through for part in news), before.let_through)
    return joined.record._replace(trials=trials, calls=calls, asked=asked, let_through=let_through)


def check_same(one: Header, other: Header) -> None:
    """Raise RecallError, naming both, if they are not of shards of one run, or of joins of such."""
    both = f"{_named(one)} and {_named(other)}"
    counts = [header.shard.partition("/")[2] for header in (one, other)]
    if all(counts) and counts[0] != counts[1]:
        raise RecallError(f"{both} are of different runs; merge the shards of one")
    for name in _COMMON:
        values = [getattr(header, name) for header in (one, other)]
        if values[0] != values[1]:
            told = " and ".join(_short(value) for value in values)
            raise RecallError(f"{both} are of different runs: {_NAMES.get(name, name)} {told}; merge the shards of one")
    if changed := changes(one.settings, other.settings):
        raise RecallError(f"{both} differ in {', '.join(changed)}; merge shards that were judged alike")


def _named(header: Header) -> str:
    return f"{header.run} (shard {header.shard})" if header.shard else header.run


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:12]}…"


def _order(record: Record) -> tuple[int, str, str, bool, int]:
    """Return the place of a journal among those of its shard: the later run last, and of copies the longest."""
    header = record.header
    number = parse(header.shard).number if header.shard else 0
    return number, header.started, header.run, record.exit_code is not None, len(record.trials)


def _doubles(shard: Shard, found: list[Record]) -> Iterable[str]:
    last = found[-1].header
    runs = {record.header.run for record in found if source(record.header) != source(last)}
    if runs:
        yield f"{shard.name} was run again: {last.run} counts as the later one, and {', '.join(sorted(runs))} does not"
    elif len(found) > 1:
        yield f"{shard.name} was given {len(found)} times, and counts once"


def _lost(shard: Shard, header: Header, record: Record | None) -> Iterable[LostShard]:
    """Yield what is not run of a shard, if anything is not."""
    own = shard.part(case_id for case_id, _ in header.slice)
    left = len(own if record is None else own - {trial.case_id for trial in record.trials if not trial.arm})
    if not left:
        return
    ended = "missing" if record is None else "cut off" if record.exit_code is None else "early"
    yield LostShard(str(shard), ended, left, record.stop if record is not None and ended == "early" else None)
