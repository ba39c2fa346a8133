"""Define the record of a run as plain data: its header and its trials."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from pytest_recall.files.coerce import typed
from pytest_recall.files.sections import Section
from pytest_recall.replay.differences import RequestDifference
from pytest_recall.replay.exchange import Call
from pytest_recall.trials.run_stop import RunStop
from pytest_recall.trials.trial import Trial


class RecordingFacts(NamedTuple):
    """How a run records; the header has the same fields."""

    recording: str = ""
    """`record`, or `missing` to record only what is missing; empty for a run that does not record."""
    cassettes: str = ""
    """The folder that the run names; empty for the usual one."""
    live: tuple[str, ...] = ()
    """The kinds of calls that are not recorded."""
    trusts_replays: bool = False
    """Whether a verdict on a replayed answer moves boxes."""


RECORDS_NOTHING = RecordingFacts()
WHOLE = (0, 1)
"""The exit codes of a run that has left nothing open: all is well, or a gate or a floor is missed."""


class SetApart(NamedTuple):
    """A case in quarantine."""

    id: str
    since: str
    """The first day, in ISO 8601."""
    until: str | None = None
    """The last day, in ISO 8601; None where it is not known."""
    owner: str | None = None
    """Who is to look at it; None where that is not known."""
    lapses: int = 0


class LostShard(NamedTuple):
    """A shard of a joined run of which `cases` were not run."""

    shard: str
    """Its number and that of all, as in `2/4`."""
    ended: str
    """`missing` without a journal, `cut off` where that has no end, else `early`."""
    cases: int
    stop: RunStop | None = None
    """Why it ended early; None where its journal does not say."""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON types."""
        return {**self._asdict(), "stop": None if self.stop is None else self.stop.to_json()}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """Read what `to_json` gave. Raises TypeError or ValueError."""
        stop = plain.get("stop")
        return cls(
            **typed(cls, {name: value for name, value in plain.items() if name != "stop"}),
            stop=None if stop is None else RunStop.from_json(stop),
        )


class RequestChange(NamedTuple):
    """That a case asks something else than its recording has."""

    call: int = 0
    """The recorded call that is nearest, counted from 1; 0 where none is."""
    first: RequestDifference | None = None
    """The first difference from that; None where none is known."""
    more: int = 0
    """How many others there are."""
    of_judge: bool = False
    """Whether a judge asks it, of an answer that its agent gave."""
    cause: str = "request"
    """`request`; `fixture` where one that it shares with others asks it; `series` where its recorded trials come to no
    verdict together; `broken` where it fails on its recorded answer, and passed at its last verdict."""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON types."""
        return {**self._asdict(), "first": None if self.first is None else self.first.to_json()}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> RequestChange:
        """Return what `to_json` gave. Raises KeyError, TypeError or ValueError for anything else."""
        first = plain["first"]
        return cls(**typed(cls, plain), first=None if first is None else RequestDifference.from_json(first))


class FrequentChange(NamedTuple):
    """A change of requests, and how many cases have it."""

    case: str
    """One of them."""
    cases: int
    change: RequestChange

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON types."""
        return {**self._asdict(), "change": self.change.to_json()}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> FrequentChange:
        """Return what `to_json` gave. Raises KeyError, TypeError or ValueError for anything else."""
        return cls(**typed(cls, plain), change=RequestChange.from_json(plain["change"]))


class ReplaySummary(NamedTuple):
    """What a replay of all recordings found of a change."""

    of: int
    """The cases that were to be replayed."""
    cases: int
    """Those that were."""
    affected: int
    states: Mapping[str, int]
    """The others and the affected by what their replay came to, as `schedule.changes.ReplayState` names it."""
    live: bool = False
    """Whether a case that is as recorded is asked live all the same, to check that."""
    behind: int = 0
    """Cases that ask what the target branch asks, of which it has no recording."""
    twice: int = 0
    """Cases that were replayed twice."""
    varying: tuple[str, ...] = ()
    """Those of them that send something new each time."""
    changes: tuple[FrequentChange, ...] = ()
    """The most frequent ones."""
    more_changes: int = 0
    """How many others there are."""
    lacking_headers: int = 0
    """Cases that are compared without headers that their recordings lack."""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON types."""
        return {**self._asdict(), "changes": [one.to_json() for one in self.changes]}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> ReplaySummary:
        """Return what `to_json` gave. Raises TypeError or AttributeError for anything else."""
        changes = tuple(map(FrequentChange.from_json, plain.get("changes", ())))
        states = {str(name): int(count) for name, count in plain["states"].items()}
        return cls(**typed(cls, plain), states=states, changes=changes)


class FailedItem(NamedTuple):
    """A test that is no case, or a file, that failed beside the cases."""

    id: str
    """Its node id; empty for the session as a whole."""
    phase: str
    """`collect`, `setup`, `call` or `teardown`; `crash` where its process ended."""


class NotCompared(NamedTuple):
    """Why a check cannot say what a change breaks, whatever its cases come to."""

    cause: str
    """`no-repository`, `no-commit`, `no-common-commit`, `git` where that failed, or `chosen` by a person."""
    detail: str = ""
    """The ref that is not there, what git said, or the option that chose the cases."""


class NotEvaluated(NamedTuple):
    """An affected case without a verdict."""

    id: str
    cause: str
    """`budget`, `not-run`, `call` where the last one came to no answer, else what ended its trial, as `Trial.ended_by`
    names it."""
    detail: str = ""
    """How that call ended, as `Call.trouble` has it, or the error of the trial."""


class Header(NamedTuple):
    """What a run was asked to do: all that is needed to score it or to apply it later."""

    run: str
    date: str
    """In ISO 8601."""
    mode: str
    seed: str
    started: str
    scheduled: bool
    """Whether the schedule chose the cases."""
    writes: bool
    """Whether the run's trials belong in the state."""
    total: int
    """How many cases the slice was chosen from."""
    picks: tuple[tuple[str, str], ...]
    """The chosen cases, as (id, reason). Of a shard they are its part of `slice`."""
    state: str = ""
    """The SHA-256 of the state that the slice was chosen from."""
    pr: str | None = None
    model: str | None = None
    reset: bool = False
    owner: str | None = None
    scenarios: tuple[str, ...] = ()
    dimensions: tuple[str, ...] = ()
    not_due: int = 0
    over_cap: int = 0
    unseen: int = 0
    without_base: int = 0
    """How many cases were not chosen since the base cannot be found."""
    next_due: str | None = None
    orphans: tuple[str, ...] = ()
    swapped: int = 0
    quarantined: tuple[SetApart, ...] = ()
    """Those of all cases that are set apart."""
    lapses: int | None = None
    """After how many lapses a case is set apart; None for never."""
    baselines: tuple[str, ...] = ()
    """The agents that are asked beside the one under test."""
    batch: bool = False
    """Whether calls go through batch APIs where these take them."""
    observed: tuple[tuple[str, str], ...] = ()
    """What the schedule would have run, in a run of everything that is to show what this would have missed."""
    shard: str = ""
    slice: tuple[tuple[str, str], ...] = ()
    """The slice that all shards of the run have in common; empty where the run is no shard."""
    fingerprint: str = ""
    """The fingerprint of `slice`."""
    settings: Mapping[str, Any] = {}
    """What decides a verdict beside the case, by name, as `settings_of` has it."""
    budget: float | None = None
    """In US dollars."""
    ledger: str = ""
    """The file in which the spending of the budget is added up."""
    early: str = ""
    """The file of the trials that came to their end before their turn."""
    merged: tuple[str, ...] = ()
    """The shards that this run was joined from."""
    lost: tuple[LostShard, ...] = ()
    """Those of these shards of which not all was run."""
    blocks: str = ""
    """The rubric's setting of this name, which the run is held to."""
    allowed: float = 0
    """The rubric's `no_verdict_allowed`, which the run is held to."""
    questions: int = 0
    """How many of the `total` cases are on no schedule."""
    verdicts: int | None = None
    """How many of the `total` cases had a verdict before the run; None in a run of a version that did not count."""
    passing: int = 0
    """How many of these passed at the last one."""
    oldest: str = ""
    """The day of the oldest verdict on a case that was not chosen."""
    oldest_case: str = ""
    """The case with that verdict."""
    overdue: int | None = None
    """How many cases that were not chosen the calendar has asked for before; None in a run of a version that did not
    count."""
    unanswered: tuple[tuple[str, str, int, str], ...] = ()
    """The cases that came to no verdict when they were last asked, each with that day, on how many days this was, and
    who has waived it."""
    moved: tuple[tuple[str, str], ...] = ()
    """The rows whose case has another id now, as (old, new)."""
    commit: str = ""
    """That of git; empty where there is no repository."""
    branch: str = ""
    """That of git; empty where there is no repository, or no branch with a name."""
    uncommitted: str | None = None
    """A digest of the edits that no commit has; empty for none, and None where that is not known."""
    checkout_changed: bool = False
    """Whether the commit, or the edits, were others as the run was resumed, as far as git knows."""
    commits: int = 0
    """How many commits the checkout has that its base has not."""
    in_history: tuple[str, ...] = ()
    """Those changes named by rows that are in the history of `commit`."""
    whole: bool = False
    """Whether the `total` cases are all of the set."""
    files: tuple[str, ...] = ()
    """The case files that have the `total` cases, where these are not all of the set."""
    source_kind: str = "cases"
    """What was asked: the `cases` of an eval set, or the questions of a `dataset` or about a `persona`."""
    base: str = ""
    """The commit whose state a fail is compared with to tell whether it is a regression."""
    not_compared: NotCompared | None = None
    """Why a base that has to be there cannot be found."""
    knows_change: bool = False
    """Whether a replay of all cases told which of them the change affects."""
    affected: tuple[str, ...] = ()
    """The cases whose requests, judging or replayed answer the change has altered."""
    replayed: ReplaySummary | None = None
    """What the replay found; None without one."""
    unaffected: int = 0
    """How many cases the change leaves as they were."""
    own_recordings: int = 0
    """How many verdicts rest on recordings that came with the change."""
    behind: tuple[str, ...] = ()
    """The cases of the base of which the base has no recording, or none of what they ask."""
    as_base: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Those of `behind` that ask what the base asks, of a change that alters no code and no measure of theirs, each
    with the keys of these requests. What they fail on is not of the change."""
    missing: tuple[tuple[str, str, str], ...] = ()
    """On the default branch, the cases that asked something else than recorded before the run, or when the replay
    began. Each has the key of its first missing request by the state, and that by the replay; empty for none."""
    varying: int = 0
    """How many cases send something new each time, of the `varying_of`."""
    varying_of: int = 0
    """How many cases were replayed twice; 0 if they were all that ask something else than recorded."""
    unaffordable: tuple[str, ...] = ()
    """The affected cases that the budget does not reach."""
    fork: bool = False
    """Whether the change comes from another repository."""
    altered: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """The cases of the base that the change takes away, renames or lets pass by another measure. Each has its id after
    the change, empty where it is gone, and what is altered, as `cases.changes.Alteration` names it."""
    judge_code: tuple[tuple[str, str, str], ...] = ()
    """Each case and each of its judges whose code is altered, with the file."""
    held_settings: tuple[str, ...] = ()
    """Those settings of the rubric that the change alters, and that apply as the base has them until it is merged."""
    request_changes: tuple[tuple[str, RequestChange], ...] = ()
    """The cases whose agent asks something else than recorded."""
    ci_recordings: tuple[str, ...] = ()
    """The cases whose verdict rests on a recording that CI has made for the pull request."""
    keeps_recordings: bool = False
    """Whether CI keeps what this run records."""
    recording: str = ""
    """As in `RecordingFacts`, like the three fields after it."""
    cassettes: str = ""
    live: tuple[str, ...] = ()
    trusts_replays: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON types."""
        return {
            **self._asdict(),
            "settings": dict(self.settings),
            "quarantined": [one._asdict() for one in self.quarantined],
            "lost": [one.to_json() for one in self.lost],
            "not_compared": None if self.not_compared is None else self.not_compared._asdict(),
            "replayed": None if self.replayed is None else self.replayed.to_json(),
            "request_changes": [[case_id, one.to_json()] for case_id, one in self.request_changes],
        }

    @property
    def recording_facts(self) -> RecordingFacts:
        """How the run records."""
        return RecordingFacts(self.recording, self.cassettes, self.live, self.trusts_replays)

    @property
    def of_cases(self) -> bool:
        """Whether it asked the cases of an eval set; the questions of a dataset or a persona are on no schedule."""
        return self.source_kind == "cases"


class Told(NamedTuple):
    """What a memory was told just before the questions of a checkpoint."""

    label: str
    units: int
    """How many units it was told."""
    seconds: float
    """How long that took."""
    at: str
    """The time at which it was told."""
    calls: float | None = None
    """How many calls the models of the memory itself took for it; None where that is not known."""
    input_tokens: float | None = None
    """None where that is not known, as is `output_tokens`."""
    output_tokens: float | None = None
    usd: float | None = None
    """What these calls cost at list price; None where that is not known."""


class QuestionRecord(NamedTuple):
    """A question as it was asked: what there is to measure its answer by, without the file that it is from."""

    id: str
    question: str
    category: str = ""
    reference: str | None = None
    evidence: tuple[str, ...] = ()
    """The ids that have to come back."""
    unanswerable: bool = False
    cluster: str = ""
    """The group of questions that resemble each other, such as those about one conversation."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; empty fields are left out."""
        return {name: value for name, value in self._asdict().items() if value not in ("", None, (), False)}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> QuestionRecord:
        """Return the question that `to_json` gave. Raises TypeError or ValueError."""
        return cls(**typed(cls, plain))


class Waiver(NamedTuple):
    """That a person lets a change pass without the verdicts of some cases, which were not evaluated."""

    by: str
    """The person's name at the code host."""
    at: str
    """In ISO 8601."""
    cases: tuple[str, ...]
    reason: str = ""
    """What the person wrote at the code host."""


class LetThrough(NamedTuple):
    """What the rubric lets through a recording or a replay: nothing of it is recorded, or counted in the cost."""

    calls: Mapping[str, int] = MappingProxyType({})
    """How many calls went to ignored hosts, by host."""
    places: tuple[str, ...] = ()
    """Where other clients have connected to such hosts, each as `host:port`."""
    programs: tuple[str, ...] = ()
    """The programs that a replay has started."""

    def joined(self, other: LetThrough) -> LetThrough:
        """Return both together."""
        return LetThrough(
            Counter(self.calls) + Counter(other.calls),
            tuple(dict.fromkeys((*self.places, *other.places))),
            tuple(dict.fromkeys((*self.programs, *other.programs))),
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {"calls": dict(self.calls), "places": list(self.places), "programs": list(self.programs)}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> LetThrough:
        """Return what `to_json` gave. Raises TypeError or ValueError."""
        calls = {str(host): int(count) for host, count in plain["calls"].items()}
        return cls(calls, tuple(map(str, plain["places"])), tuple(map(str, plain["programs"])))


NOTHING_LET_THROUGH = LetThrough()


class Record(NamedTuple):
    """A run: its header, its trials in order, and how it ended."""

    header: Header
    trials: tuple[Trial, ...] = ()
    exit_code: int | None = None
    """That of pytest; None for a run that was cut off."""
    calls: tuple[Call, ...] = ()
    """The calls that belong to no trial: of fixtures that several tests share, and of teardowns."""
    stop: RunStop | None = None
    """Why chosen cases were not run, where the run knew it."""
    seconds: float | None = None
    """How long it took; None where it was cut off in between, or joined."""
    also: tuple[FailedItem, ...] = ()
    """What failed beside the cases."""
    told: tuple[Told, ...] = ()
    """What a long-horizon run has told its memory, the last time of each checkpoint last."""
    resumed: tuple[str, ...] = ()
    """The times at which the run was resumed."""
    asked: Mapping[str, QuestionRecord] = {}
    """The questions of a dataset, by id."""
    waiver: Waiver | None = None
    """One that was given after the end of the run."""
    pushed: str = ""
    """The commit with which `recall ci push` has brought the run's state and recordings to a branch; empty where it did
    not."""
    let_through: LetThrough = NOTHING_LET_THROUGH
    """What was called beside all that, and is in no cost."""
    measures: Mapping[str, str] = {}
    """What the measures of extensions are, in a line each, by name."""
    sections: tuple[Section, ...] = ()
    """What extensions add to its scorecard; a run that is joined from shards has none."""

    @property
    def is_whole(self) -> bool:
        """Whether it came to its end, and the same command would ask nothing more."""
        return self.exit_code in WHOLE and self.stop is None


def settings_of(**given: Any) -> dict[str, Any]:
    """Return what decides a verdict beside the case as plain JSON types, by name, without what is not set."""
    found: dict[str, Any] = {}
    for name, value in sorted(given.items()):
        if isinstance(value, dict):
            value = {key: one for key, one in sorted(value.items()) if one not in (None, ())}
        if value not in (None, (), {}):
            found[name] = json.loads(json.dumps(value, sort_keys=True))
    return found
