"""Define the record of a run as plain data: its header and its trials."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from pytest_recall.files.coerce import typed
from pytest_recall.replay.differences import RequestDifference
from pytest_recall.replay.exchange import Call
from pytest_recall.trials.run_stop import RunStop
from pytest_recall.trials.trial import Trial


class RecordingFacts(NamedTuple):
    """How a run records: `record`, or `missing` for what is missing; empty if it does not. The fields are the header's.

    `cassettes` is the folder that it names, empty for the usual one. Calls of the kinds `live` are not recorded, and
    with `trusts_replays` a verdict on a replayed answer moves boxes.
    """

    recording: str = ""
    cassettes: str = ""
    live: tuple[str, ...] = ()
    trusts_replays: bool = False


RECORDS_NOTHING = RecordingFacts()


class SetApart(NamedTuple):
    """A case in quarantine. Days are ISO 8601; what is not known is None."""

    id: str
    since: str
    until: str | None = None
    owner: str | None = None
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
    """`budget`, `not-run`, `call` where the last one came to no answer, else the outcome of its trial."""
    detail: str = ""
    """How that call ended, as `Call.trouble` has it, or the error of the trial."""


class Header(NamedTuple):
    """What a run was asked to do: all that is needed to score it or to apply it later.

    `date` is ISO 8601; `state` the SHA-256 of the state that the slice was chosen from;
    `picks` the chosen cases as (id, reason); `scheduled` whether the schedule chose them;
    `writes` whether the run's trials belong in the state; `total` the cases it chose from, `whole` whether these are
    all of the set, and `files` the case files that have them, where these are not all;
    `quarantined` are those of all cases that are set apart;
    `lapses` is the number of them that sets a case apart, for `quarantine_days`; `baselines` are asked beside the agent
    under test; `batch` says that calls go through batch APIs where these take them. `observed` is what the
    schedule would have run, in a run of everything that is to show what this would have missed.

    Of a shard, `picks` is its part of `slice`, which all shards of the run have in common, and
    `fingerprint` is over that. `settings` is what decides a verdict beside the case, a line each;
    `budget` is in US dollars, and `ledger` the file in which it is kept; `early` that of trials which came
    to their end before their turn. `merged` are the shards that
    this run was joined from, and `lost` those of which not all was run.

    `blocks`, `due_blocks` and `allowed` are those of the rubric that the run is held to. Of the `total` cases
    `questions` are on no schedule, `verdicts` had a verdict before the run, and of these `passing` passed at the
    last one; None is a run of a version that did not count them. Of the cases that were not chosen `oldest` is the
    day of the oldest verdict, of `oldest_case`, and `overdue` of how many the calendar has asked before;
    `unanswered` are those that came to no verdict when they were last asked, each with that day, on how many days,
    and who has waived it. `moved` are rows whose case has another id now, as (old, new). `commit` and `branch` are
    git's; empty where there is no repository, or none of a name. `uncommitted` is a digest of the edits that no commit
    has, empty for none, and None where that is not known; `commits` is how many the checkout has that its base has
    not, and `in_history` are the changes named by rows that are in the history of `commit`. `source_kind` says what was
    asked: the `cases` of an eval set, or the questions of a `dataset` or about a `persona`.

    `base` is the commit with whose state regressions are told, and `not_compared` says why one that has to be there
    cannot be found; `without_base` is how many cases were not chosen for that. `knows_change` says that a replay of all
    cases told which of them the change affects:
    `affected` are those whose requests, judging or replayed answer it has altered, `replayed` is what the replay
    found, None without one, `unaffected` how many cases the change leaves as they were, and `own_recordings` how many
    verdicts rest on recordings that came with the change. `unaffordable` are affected cases that the budget does
    not reach. `fork` says that the change comes from another repository, and `altered` are the cases
    of the base that the change takes away, renames or lets pass by another measure, each with its id after it, empty
    where it is gone, and with what is altered, as `cases.changes.Alteration` names it; `judge_code` has each case and
    each of its judges whose code is altered, with the file. `held_settings` are those of the rubric that the change
    alters, and that apply as the base has them until it is merged. `ci_recordings` are the cases whose verdict rests on
    a recording that CI has made for the pull request, and `keeps_recordings` says that CI keeps what this run records.
    `varying` is how many cases send something new each time, of the `varying_of` that were replayed twice; that is 0 if
    they were all that ask something else than recorded.
    `behind` are the cases of the base of which that has no recording, or none of what they ask. `as_base` are those of
    them that ask what the base asks, of a change that alters no code and no measure of theirs, each with the keys of
    these requests: what they fail on is not of the change. `missing` are, on the default branch, the cases that asked
    something else than recorded before the run, or when the replay began, each with the key of the first missing
    request by the state and by the replay; empty for none.

    `recording`, `cassettes`, `live` and `trusts_replays` are as in `RecordingFacts`.
    """

    run: str
    date: str
    mode: str
    seed: str
    started: str
    scheduled: bool
    writes: bool
    total: int
    picks: tuple[tuple[str, str], ...]
    state: str = ""
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
    next_due: str | None = None
    orphans: tuple[str, ...] = ()
    swapped: int = 0
    quarantined: tuple[SetApart, ...] = ()
    lapses: int | None = None
    quarantine_days: int = 30
    baselines: tuple[str, ...] = ()
    batch: bool = False
    observed: tuple[tuple[str, str], ...] = ()
    shard: str = ""
    slice: tuple[tuple[str, str], ...] = ()
    fingerprint: str = ""
    settings: tuple[str, ...] = ()
    budget: float | None = None
    ledger: str = ""
    early: str = ""
    merged: tuple[str, ...] = ()
    lost: tuple[LostShard, ...] = ()
    blocks: str = ""
    due_blocks: bool = False
    allowed: float = 0
    questions: int = 0
    verdicts: int | None = None
    passing: int = 0
    oldest: str = ""
    oldest_case: str = ""
    overdue: int | None = None
    unanswered: tuple[tuple[str, str, int, str], ...] = ()
    moved: tuple[tuple[str, str], ...] = ()
    commit: str = ""
    branch: str = ""
    uncommitted: str | None = None
    commits: int = 0
    in_history: tuple[str, ...] = ()
    whole: bool = False
    files: tuple[str, ...] = ()
    source_kind: str = "cases"
    base: str = ""
    not_compared: NotCompared | None = None
    knows_change: bool = False
    affected: tuple[str, ...] = ()
    replayed: ReplaySummary | None = None
    unaffected: int = 0
    own_recordings: int = 0
    behind: tuple[str, ...] = ()
    as_base: tuple[tuple[str, tuple[str, ...]], ...] = ()
    missing: tuple[tuple[str, str, str], ...] = ()
    varying: int = 0
    varying_of: int = 0
    unaffordable: tuple[str, ...] = ()
    fork: bool = False
    altered: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    judge_code: tuple[tuple[str, str, str], ...] = ()
    held_settings: tuple[str, ...] = ()
    request_changes: tuple[tuple[str, RequestChange], ...] = ()
    """The cases whose agent asks something else than recorded."""
    ci_recordings: tuple[str, ...] = ()
    keeps_recordings: bool = False
    recording: str = ""
    cassettes: str = ""
    live: tuple[str, ...] = ()
    trusts_replays: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON types."""
        return {
            **self._asdict(),
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

    @property
    def by_change(self) -> bool:
        """Whether the check is decided by the cases that the change affects, and by no other."""
        return self.knows_change and not self.due_blocks


class Told(NamedTuple):
    """What a memory was told just before the questions of a checkpoint: so many `units`, in `seconds`, `at` a time.

    The models of the memory itself took so many `calls` and tokens for it, and `usd` at list price; what is not known
    of these is None.
    """

    label: str
    units: int
    seconds: float
    at: str
    calls: float | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    usd: float | None = None


class QuestionRecord(NamedTuple):
    """A question as it was asked: what there is to measure its answer by, without the file that it is from.

    `evidence` are the ids that have to come back. Questions of one `cluster` resemble each other, such as those about
    one conversation.
    """

    id: str
    question: str
    category: str = ""
    reference: str | None = None
    evidence: tuple[str, ...] = ()
    unanswerable: bool = False
    cluster: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; empty fields are left out."""
        return {name: value for name, value in self._asdict().items() if value not in ("", None, (), False)}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> QuestionRecord:
        """Return the question that `to_json` gave. Raises TypeError or ValueError."""
        return cls(**typed(cls, plain))


class Waiver(NamedTuple):
    """That a person lets a change pass without the verdicts of some cases, which were not evaluated.

    `by` is their name at the code host, `reason` what they wrote there, and `at` the time in ISO 8601.
    """

    by: str
    at: str
    cases: tuple[str, ...]
    reason: str = ""


class LetThrough(NamedTuple):
    """What the rubric lets through a recording or a replay: nothing of it is recorded, or counted in the cost.

    `calls` counts by host those to hosts under `ignore_hosts`, `places` are where other clients have connected to such,
    each as `host:port`, and `programs` those that a replay has started.
    """

    calls: Mapping[str, int] = MappingProxyType({})
    places: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()

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
    """A run: its header, its trials in order, and how it ended.

    `exit_code` is pytest's, or None for a run that was cut off. `calls` are those that belong
    to no trial: of fixtures that several tests share, and of teardowns. `stop` is why chosen cases
    were not run, where the run knew it. `seconds` is how long it took; None where it was cut off in between, or joined.
    `also` is what failed beside the cases. `told` is what a long-horizon run has told its
    memory, the last time of each checkpoint last, and `resumed` are the times at which the run was resumed. `asked` are
    the questions of a dataset, by id. A `waiver` was given after the end of the run, and `pushed` is the commit with
    which `recall ci push` has brought its state and recordings to a branch; empty where that did not. `let_through` is
    what was called beside that, and is in no cost.
    """

    header: Header
    trials: tuple[Trial, ...] = ()
    exit_code: int | None = None
    calls: tuple[Call, ...] = ()
    stop: RunStop | None = None
    seconds: float | None = None
    also: tuple[FailedItem, ...] = ()
    told: tuple[Told, ...] = ()
    resumed: tuple[str, ...] = ()
    asked: Mapping[str, QuestionRecord] = {}
    waiver: Waiver | None = None
    pushed: str = ""
    let_through: LetThrough = NOTHING_LET_THROUGH


def setting_lines(**given: Any) -> tuple[str, ...]:
    """Return what decides a verdict beside the case as lines `name: JSON`; those of a mapping one by one."""
    lines = []
    for name, value in given.items():
        parts = {f"{name}.{key}": one for key, one in value.items()} if isinstance(value, dict) else {name: value}
        lines += [f"{key}: {json.dumps(one, sort_keys=True)}" for key, one in parts.items() if one not in (None, ())]
    return tuple(sorted(lines))
