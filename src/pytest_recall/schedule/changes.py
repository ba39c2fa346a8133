"""Tell which cases a change affects, from what a replay of each of them with its judges came to."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from enum import StrEnum
from math import inf
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pytest_recall.files.coerce import typed
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import one_line
from pytest_recall.replay.differences import RequestDifference
from pytest_recall.replay.tape import Mismatch
from pytest_recall.schedule.boxes import AFFECTED, LIVE, REJUDGED
from pytest_recall.schedule.selection import shuffle_key
from pytest_recall.trials.conditions import RecordedAnswer, digest_of, kept_answer
from pytest_recall.trials.execution import Result
from pytest_recall.trials.record import NOTHING_LET_THROUGH, FrequentChange, LetThrough, ReplaySummary, RequestChange
from pytest_recall.trials.trial import EARLIER, Answer, Outcome, Row, Trial

if TYPE_CHECKING:
    from pytest_recall.schedule.events import Event

NAME = "changed.json"
"""The file of the newest run that says what a replay of all cases found."""
VERSION = 4
SERIES = "series"
"""The key of what is asked again since its recorded trials do not come to a verdict together."""
BROKEN = "broken"
"""The key of what is asked again since it fails on its recorded answer, and passed at its last verdict."""
OF_FIXTURE = "fixture"
"""The key of what is asked since a fixture asks something else than is recorded."""
KEY = 12
"""Hex digits of the digest by which equal differences are known."""
MOST_KEPT = 8
"""Differences of a request that are kept."""


class ReplayState(StrEnum):
    """What the replay of a case came to.

    A case is *unaffected* if row, recording and replay agree: its last verdict before the change is a pass, so is that
    of the recording, agent and judges ask what is recorded, and answer and verdict are those of the recording. It is
    *recorded* if it asks what is recorded, and something else differs: the verdict on the recorded answer is that of
    the change. All others have to be asked.
    """

    UNAFFECTED = "unaffected"
    RECORDED = "recorded"
    UNJUDGED = "other judging"
    CHANGED = "changed"
    NOT_RECORDED = "not recorded"
    UNKNOWN = "unknown"


TO_ASK = (ReplayState.CHANGED, ReplayState.NOT_RECORDED, ReplayState.UNKNOWN)
"""The states of which a replay says nothing about the agent as it is now."""
_ORDER = (
    ReplayState.UNKNOWN,
    ReplayState.CHANGED,
    ReplayState.NOT_RECORDED,
    ReplayState.UNJUDGED,
    ReplayState.RECORDED,
    ReplayState.UNAFFECTED,
)


class ReplayFinding(NamedTuple):
    """What the replay of one case came to."""

    state: ReplayState
    why: str = ""
    """The error that left it unknown; empty where the case was not replayed."""
    call: int = 0
    """The recorded call, counted from 1, from which a request has the `differences`."""
    differences: tuple[RequestDifference, ...] = ()
    key: str = ""
    """The same for equal differences of several cases."""
    outcome: str = ""
    """That of the replay; empty where there is none."""
    before: str = ""
    """That of the last verdict before the change; empty where there is none."""
    note: str = ""
    """Why it failed."""
    trials: tuple[Mapping[str, Any], ...] = ()
    """Those of the replay, as plain JSON, where they decide."""
    altered: bool = False
    """Whether requests, answer or verdict are not those of the base's recording."""
    usd: float | None = None
    """What the recorded calls of one trial of an affected case cost at list price, at the price of the model that will
    be asked; None where that is not known."""
    own: bool = False
    """Whether the recording is not that of the base: it came with the change."""
    of_ci: bool = False
    """Whether CI has made the recording for this pull request."""
    lacks_headers: bool = False
    """Whether it was recorded before all headers were, so that a change of some is not seen."""
    request: str = ""
    """The key of what was asked in place of a recorded call."""
    asked: tuple[str, ...] = ()
    """The keys of all that the agent asked up to that, sorted."""
    of_judge: bool = False
    """Whether a judge asked it, after the agent had answered."""
    varies: bool = False
    """Whether a second replay of the same asked something else again."""
    estimated: bool = False
    """Whether tokens were counted from texts."""
    swapped: str = ""
    """The recorded models in place of which that price is."""
    unpriced: tuple[str, ...] = ()
    """The models without a price."""
    answer_tokens: int = 0
    """How many tokens the longest recorded answer has."""
    headroom: float = 0.0
    """How many dollars a call of the case reserves, at most, above what it costs."""

    @property
    def breaks(self) -> bool:
        """Whether the case fails on a recorded answer, and passed before the change."""
        return (
            self.state is ReplayState.RECORDED
            and self.outcome == Outcome.FAILED.value
            and self.before == Outcome.PASSED.value
        )

    @property
    def change(self) -> RequestChange:
        """What it asks in place of what is recorded."""
        first, *others = self.differences or (None,)
        cause = self.key if self.key in (SERIES, BROKEN, OF_FIXTURE) else "request"
        return RequestChange(self.call, first, len(others), self.of_judge, cause)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; empty fields are left out."""
        free = {} if self.usd is None else {"usd": self.usd}  # What costs nothing has a price.
        plain = {name: value for name, value in self._asdict().items() if value not in ("", 0, (), None, False)}
        return plain | ({"differences": [one.to_json() for one in self.differences]} if self.differences else {}) | free

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> ReplayFinding:
        """Return the finding that `to_json` gave. Raises KeyError, TypeError or ValueError for anything else."""
        trials = tuple(plain.get("trials", ()))
        for trial in trials:
            Trial.from_json(trial)
        for name in ("usd", "headroom"):
            if not 0 <= (plain.get(name) or 0) < inf:
                raise ValueError(f"{name}: {plain[name]!r} is not an amount")
        differences = tuple(map(RequestDifference.from_json, plain.get("differences", ())))
        return cls(state=ReplayState(plain["state"]), trials=trials, differences=differences, **typed(cls, plain))


def finding(
    result: Result | None,
    outcome: Outcome,
    difference: Mismatch | None,
    recorded: RecordedAnswer | None,
    *,
    answer: Answer | None = None,
    row: Row | None = None,
    error: str = "",
    words: Iterable[str] = (),
) -> ReplayFinding:
    """Return what a replay came to that ended with `outcome`.

    `difference` is where it left its recording, of which `recorded` is None if there is none; `answer` is what the
    agent answered, as far as it came. `row` is that of the last verdict before the change. `words` are the case's own,
    by which equal differences of two cases may differ.
    """
    if recorded is None:
        return ReplayFinding(ReplayState.NOT_RECORDED)
    if difference is not None:
        judging = difference.kind == "judge" and answer is not None
        return ReplayFinding(
            ReplayState.UNJUDGED if judging else ReplayState.CHANGED,
            call=difference.call,
            differences=tuple(one.clean(_shortened) for one in difference.differences[:MOST_KEPT]),
            key=_key(difference.differences, words),
            request=difference.request,
            of_judge=judging,
        )
    if not outcome.is_verdict:
        return ReplayFinding(ReplayState.UNKNOWN, why=error)
    note = "" if result is None or outcome is Outcome.PASSED else one_line(result.note, 300)
    before = "" if row is None else (Outcome.FAILED if row.failing else Outcome.PASSED).value
    altered = False
    # A test gives no answer: it is its own judge. Of an answer that looks like a secret only the digest is on record.
    if (recorded.answer is not None or recorded.digest) and answer is not None:
        same = recorded.digest == digest_of(answer) if recorded.digest else recorded.answer == kept_answer(answer.text)
        altered = not same or recorded.passed is not (outcome is Outcome.PASSED)
    agree = not altered and outcome is Outcome.PASSED and before == Outcome.PASSED.value
    state = ReplayState.UNAFFECTED if agree else ReplayState.RECORDED
    return ReplayFinding(state, outcome=outcome.value, before=before, note=note, altered=altered)


def _shortened(text: str) -> str:
    return one_line(text, 300)


def worst(findings: Iterable[ReplayFinding]) -> ReplayFinding:
    """Return the one of several findings about one case that leaves most open."""
    every = list(findings)
    lacks_headers = any(one.lacks_headers for one in every)
    return min(every, key=lambda one: _ORDER.index(one.state))._replace(lacks_headers=lacks_headers)


def of_series(findings: Sequence[ReplayFinding], outcome: Outcome | None) -> ReplayFinding:
    """Return what the replays of a case came to of which several trials are recorded.

    `outcome` is the verdict of all of them together, None where they are too few for one. A case of which one trial
    leaves something open is asked again, from its first.
    """
    first = worst(findings)
    if first.state not in (ReplayState.UNAFFECTED, ReplayState.RECORDED):
        if first.state is not ReplayState.UNJUDGED:
            return first
        return _open_series(first)
    if outcome is None or not outcome.is_verdict:
        return _open_series(first)
    altered = any(one.altered for one in findings)
    agree = outcome is Outcome.PASSED and first.before == Outcome.PASSED.value and not altered
    note = next((one.note for one in findings if one.note), "") if outcome is Outcome.FAILED else ""
    return first._replace(
        state=ReplayState.UNAFFECTED if agree else ReplayState.RECORDED,
        outcome=outcome.value,
        note=note,
        altered=altered,
    )


def _open_series(first: ReplayFinding) -> ReplayFinding:
    return ReplayFinding(
        ReplayState.CHANGED,
        key=SERIES,
        usd=first.usd,
        estimated=first.estimated,
        swapped=first.swapped,
        unpriced=first.unpriced,
        answer_tokens=first.answer_tokens,
        headroom=first.headroom,
    )


def wanted_text(case_ids: Iterable[str]) -> str:
    """Return the text of the file that names the cases of a replay, for `wanted_in`."""
    return json.dumps(sorted(case_ids), ensure_ascii=False)


def wanted_in(text: str, name: str) -> frozenset[str]:
    """Return which cases are to be replayed by the file that messages call `name`. Raises RecallError."""
    try:
        plain = json.loads(text)
        if not isinstance(plain, list) or not all(isinstance(one, str) for one in plain):
            raise TypeError
    except (ValueError, TypeError, RecursionError):
        raise RecallError(f"{name}: does not say which cases to replay; write a JSON list of their ids") from None
    return frozenset(plain)


Origin = Literal["base", "ci", "branch"]
"""Whose recordings are: those of the base, of CI's runs of this pull request, or of the branch of the change."""


class Changes(NamedTuple):
    """What a replay of all cases found of a change."""

    findings: Mapping[str, ReplayFinding] = {}
    """By case id."""
    of: int = 0
    """How many cases the replay had."""
    sources: frozenset[str] = frozenset()
    """The files of the project that the replay imported or read, as paths from its root."""
    live: str = ""
    """A case that is asked live, though its replay is as recorded, since the change alters one of `sources`; empty if
    that is not so."""
    twice: int = 0
    """How many cases were replayed again."""
    behind: tuple[str, ...] = ()
    """The cases of the base that it has not recorded, so that what they asked there is not known; sorted."""
    as_base: Mapping[str, tuple[str, ...]] = {}
    """The cases that ask something else than recorded, and what the base itself asks, each with the keys of that."""
    alters_more: bool = False
    """Whether the change has other files that the replay imported or read, or another rubric, so that the rest of a
    case in `as_base` may not be as at the base."""
    let_through: LetThrough = NOTHING_LET_THROUGH
    """What went past the recordings."""

    def ids(self, *states: ReplayState) -> list[str]:
        """Return the cases in these states, sorted."""
        return sorted(case_id for case_id, one in self.findings.items() if one.state in states)

    @property
    def reasons(self) -> dict[str, str]:
        """Why a case is asked on behalf of the change, by id: as it is affected, or only has to be judged again."""
        reasons = dict.fromkeys(self.ids(ReplayState.UNJUDGED), REJUDGED) | dict.fromkeys(self.ids(*TO_ASK), AFFECTED)
        return {self.live: LIVE, **reasons} if self.live else reasons

    @property
    def affected(self) -> frozenset[str]:
        """The cases of which the verdict of the change is wanted: those that it does not leave as they were.

        So is the case that is asked live: the change alters code that it runs. What asks what the base asks is not.
        """
        as_recorded = frozenset(self.ids(ReplayState.UNAFFECTED)) - {self.live}
        return frozenset(self.findings) - as_recorded - self.as_base.keys()

    def checked_live(self, paths: Iterable[str], seed: str) -> Changes:
        """Return the same with one case to ask live, if a change of `paths` alters what the replay imported or read.

        A replay does not see what lies behind an equal request, such as timeouts, proxies and clients. Where the change
        has a case asked anyway, that one shows it.
        """
        unaffected = self.ids(ReplayState.UNAFFECTED)
        if self.ids(*TO_ASK) or not unaffected or self.sources.isdisjoint(paths):
            return self
        return self._replace(live=min(unaffected, key=lambda case_id: shuffle_key(seed, case_id)))

    def asks(self, case_id: str) -> bool:
        """Whether a case asks something else than its recording, which has calls."""
        found = self.findings.get(case_id)
        return found is not None and found.state is ReplayState.CHANGED

    @property
    def beginning_as_recorded(self) -> list[str]:
        """The cases that ask something else than recorded, of which what they ask before that may be on record; sorted.

        Not those whose trials only do not come to a verdict together: they are asked as a whole.
        """
        return [case_id for case_id in self.ids(ReplayState.CHANGED) if self.findings[case_id].key != SERIES]

    @property
    def touched(self) -> tuple[str, ...]:
        """The cases of which the change altered a request, the judging or the answer; sorted."""
        asked = {*self.ids(ReplayState.CHANGED, ReplayState.UNJUDGED)}
        altered = {case_id for case_id, one in self.findings.items() if one.altered}
        return tuple(sorted((asked | altered) - self.as_base.keys()))

    @property
    def missing(self) -> dict[str, str]:
        """The first request of each case of which the agent asks something else than recorded, as far as it has one."""
        changed = ((case_id, self.findings[case_id]) for case_id in self.ids(ReplayState.CHANGED))
        return {case_id: one.request for case_id, one in changed if one.request and one.request in one.asked}

    def beside_base(self, requests: Mapping[str, str]) -> Changes:
        """Return the same with which cases ask what the base asks, by the `requests` that are not recorded there."""
        same = (case_id for case_id, request in self.missing.items() if request == requests.get(case_id))
        return self._replace(as_base={case_id: self.findings[case_id].asked for case_id in same})

    def beside_files(self, paths: Collection[str], rubric: str) -> Changes:
        """Return the same with whether the change, of these `paths`, alters more than what cases ask."""
        return self._replace(alters_more=rubric in paths or not self.sources.isdisjoint(paths))

    @property
    def failing(self) -> list[str]:
        """The cases that fail on a recorded answer, whatever they did before; sorted."""
        return [
            case_id
            for case_id in self.ids(ReplayState.RECORDED)
            if self.findings[case_id].outcome == Outcome.FAILED.value
        ]

    @property
    def broken(self) -> list[str]:
        """The cases that passed before the change, and fail on a recorded answer; sorted."""
        return sorted(case_id for case_id, one in self.findings.items() if one.breaks)

    @property
    def decided(self) -> list[str]:
        """The cases whose verdict on the change stands, so that a live answer must not take its place; sorted.

        They fail on a recorded answer, and are not known to have failed before the change; or what they ask now was
        recorded for the change.
        """
        failed = Outcome.FAILED.value
        return [
            case_id
            for case_id in self.ids(ReplayState.RECORDED)
            if (one := self.findings[case_id]).own or one.of_ci or (one.outcome == failed and one.before != failed)
        ]

    @property
    def answered(self) -> list[str]:
        """The cases of which the replay has trials on recorded answers, which are the run's own; sorted."""
        return [case_id for case_id in self.ids(ReplayState.RECORDED) if self.findings[case_id].trials]

    def complete(self, case_ids: Iterable[str]) -> Changes:
        """Return the same with each of these cases: of one that was not replayed, nothing is known."""
        missing = ReplayFinding(ReplayState.UNKNOWN)
        return self._replace(
            findings={**{case_id: self.findings.get(case_id, missing) for case_id in case_ids}, **self.findings}
        )

    def completed(self, replayed: Changes, origin: Origin) -> Changes:
        """Return the same with what a replay of other recordings decides of the cases that had to be asked.

        `origin` says whose these are. What they leave open stays as it was.
        """
        known = (ReplayState.UNAFFECTED, ReplayState.RECORDED)
        news = {
            # The row may agree with what was recorded here, and not with what the base asked.
            case_id: one
            if origin == "base"
            else one._replace(
                state=ReplayState.RECORDED,
                own=origin == "branch",
                of_ci=origin == "ci",
                altered=True,
                # In what the requests differ from those of the base is what the change has done, whoever answered.
                call=self.findings[case_id].call if self.asks(case_id) else 0,
                differences=self.findings[case_id].differences if self.asks(case_id) else (),
                of_judge=self.findings[case_id].of_judge,
            )
            for case_id, one in replayed.findings.items()
            if one.state in known and self.findings[case_id].state in (*TO_ASK, ReplayState.UNJUDGED)
        }
        as_base = self.as_base
        if origin == "base":
            as_base = {case_id: asked for case_id, asked in as_base.items() if case_id not in news}
        let_through = self.let_through.joined(replayed.let_through)
        return self._replace(findings={**self.findings, **news}, as_base=as_base, let_through=let_through)

    def compared(self, again: Changes) -> Changes:
        """Return the same with what a second replay of some cases says of them: which vary by themselves.

        Where the second one left the recording at another call, that may be for the order of calls at once.
        """
        news = {}
        for case_id, second in again.findings.items():
            first = self.findings[case_id]
            at_once = second.state is ReplayState.CHANGED and second.call != first.call
            same = (second.state, second.request) == (first.state, first.request)
            news[case_id] = first._replace(varies=not same and not at_once and second.state is not ReplayState.UNKNOWN)
        let_through = self.let_through.joined(again.let_through)
        return self._replace(findings={**self.findings, **news}, twice=len(news), let_through=let_through)

    @property
    def varying(self) -> list[str]:
        """The cases that send something new each time, as far as they were replayed twice; sorted."""
        return sorted(case_id for case_id, one in self.findings.items() if one.varies)

    @property
    def varying_of(self) -> int:
        """How many cases were replayed twice; 0 if those are all that ask something else."""
        return self.twice if self.twice < len(self.ids(ReplayState.CHANGED)) else 0

    def asking_all(self) -> Changes:
        """Return the same with what had only to be judged again to be asked again, so that all of it is recorded."""
        found = {
            case_id: one._replace(state=ReplayState.CHANGED) if one.state is ReplayState.UNJUDGED else one
            for case_id, one in self.findings.items()
        }
        return self._replace(findings=found)

    def holding(self, verdicts: Mapping[str, Event]) -> Changes:
        """Return the same with cases that had to be asked decided by the `verdicts` of earlier runs that hold."""
        news = {
            case_id: self.findings[case_id]._replace(
                state=ReplayState.RECORDED,
                outcome=event.outcome.value,
                note=event.note,
                trials=(event.trial(EARLIER).to_json(),),
                of_ci=True,
                altered=True,
            )
            for case_id, event in verdicts.items()
            if case_id in self.findings and self.findings[case_id].state in (*TO_ASK, ReplayState.UNJUDGED)
        }
        return self._replace(findings={**self.findings, **news})

    def asking_broken(self) -> Changes:
        """Return the same with what fails on a recorded answer, and passed at its last verdict, to be asked again.

        On the default branch: a recorded answer moves no box, so that the state would say for long that it passes.
        """
        found = {
            case_id: one._replace(state=ReplayState.CHANGED, differences=(), key=BROKEN) if one.breaks else one
            for case_id, one in self.findings.items()
        }
        return self._replace(findings=found)

    def only(self, case_ids: Container[str]) -> Changes:
        """Return what was found of some cases."""
        return self._replace(findings={case_id: one for case_id, one in self.findings.items() if case_id in case_ids})

    def joined(self, other: Changes) -> Changes:
        """Return both together, such as of two processes that replayed a part each."""
        return Changes(
            {**self.findings, **other.findings},
            self.of + other.of,
            self.sources | other.sources,
            twice=self.twice + other.twice,
            let_through=self.let_through.joined(other.let_through),
        )

    @property
    def summary(self) -> ReplaySummary:
        """What was found, in counts, with the most frequent differences."""
        apart = {self.live, *self.as_base}
        groups: dict[str, list[str]] = {}
        for case_id in self.ids(ReplayState.CHANGED, ReplayState.UNJUDGED):
            if case_id not in self.as_base:
                groups.setdefault(self.findings[case_id].key or case_id, []).append(case_id)
        frequent = sorted(groups.values(), key=lambda ids: (-len(ids), ids))[:MOST_DIFFERENCES]
        return ReplaySummary(
            of=self.of,
            cases=len(self.findings),
            affected=len(self.affected),
            states=Counter(one.state.value for case_id, one in self.findings.items() if case_id not in apart),
            live=bool(self.live),
            behind=len(self.as_base),
            twice=self.twice,
            varying=tuple(self.varying),
            changes=tuple(FrequentChange(ids[0], len(ids), self.findings[ids[0]].change) for ids in frequent),
            more_changes=len(groups) - len(frequent),
            lacking_headers=sum(one.lacks_headers for one in self.findings.values()),
        )

    @property
    def request_changes(self) -> dict[str, RequestChange]:
        """The first request that an agent does not send as recorded, by case id.

        A judge's request quotes the answer, which may be another one for any reason.
        """
        return {
            case_id: one.change
            for case_id, one in sorted(self.findings.items())
            if one.state in (ReplayState.CHANGED, ReplayState.RECORDED)
            and one.call
            and one.differences
            and not one.of_judge
        }

    @property
    def own(self) -> int:
        """How many verdicts rest on recordings that came with the change."""
        return sum(one.own for one in self.findings.values())

    @property
    def of_ci(self) -> tuple[str, ...]:
        """The cases whose verdict rests on a recording that CI has made for this pull request; sorted."""
        return tuple(sorted(case_id for case_id, one in self.findings.items() if one.of_ci))


MOST_DIFFERENCES = 5
"""Differences that a summary has."""


def to_text(changes: Changes, day: str, commit: str = "") -> str:
    """Return the text of the file that says what a replay found, on a `day` in ISO 8601."""
    plain = {
        "version": VERSION,
        "date": day,
        **({"commit": commit} if commit else {}),
        "cases": len(changes.findings),
        "of": changes.of,
        **{state.name.lower(): changes.ids(state) for state in ReplayState},
        "sources": sorted(changes.sources),
        "let_through": changes.let_through.to_json(),
        "unknown": {case_id: changes.findings[case_id].why for case_id in changes.ids(ReplayState.UNKNOWN)},
        "found": {case_id: one.to_json() for case_id, one in sorted(changes.findings.items()) if _says_more(one)},
    }
    return json.dumps(plain, indent=2, ensure_ascii=False) + "\n"


def _says_more(one: ReplayFinding) -> bool:
    return one.state is not ReplayState.NOT_RECORDED


def from_text(text: str, name: str) -> Changes:
    """Return what `to_text` wrote into the file that messages call `name`. Raises RecallError for anything else."""
    try:
        plain = json.loads(text)
        if plain["version"] != VERSION:
            raise RecallError(f"{name}: version {plain['version']!r} is not that of this pytest-recall")
        found = {str(case_id): ReplayFinding.from_json(one) for case_id, one in plain["found"].items()}
        found |= {str(case_id): ReplayFinding(ReplayState.NOT_RECORDED) for case_id in plain["not_recorded"]}
        let_through = LetThrough.from_json(plain["let_through"])
        return Changes(found, int(plain["of"]), frozenset(map(str, plain["sources"])), let_through=let_through)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise RecallError(f"{name}: does not say what a replay found") from None


def _key(differences: Iterable[RequestDifference], words: Iterable[str]) -> str:
    """Return a digest of what differs: of each value the changed words alone, wherever in a list it stands."""
    text = "\n".join(map(_changed_words, differences))
    for word in sorted({word for word in words if word.strip()}, key=lambda word: (-len(word), word)):
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", "\0", text)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:KEY]


def _changed_words(one: RequestDifference) -> str:
    path, before, after = re.sub(r"\[\d+\]", "[]", one.path), (one.recorded or "").split(), (one.sent or "").split()
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    return f"{one.kind} {path}: {' '.join(before)} → {' '.join(after)}"
