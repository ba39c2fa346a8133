"""The Trial: one run of one case, with its answer, its verdicts, and the row of the state that it started from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date
from enum import StrEnum
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pytest_recall.files.coerce import typed, values_of
from pytest_recall.replay.exchange import Call

if TYPE_CHECKING:
    from pytest_recall.models.outage import Outage


class Row(NamedTuple):
    """What the schedule remembers of one case."""

    box: int
    pass_streak: int
    last_tested: date
    next_due: date
    last_pr: str | None = None
    last_model: str | None = None
    failure_note: str | None = None
    failure_pr: str | None = None
    lapses: int = 0
    """How many fails threw the case back from a higher box, less those that passes have made up for."""
    quarantined: date | None = None
    """The day since which its fails block no merge."""
    until: date | None = None
    """The last day on which they block no merge."""
    owner: str | None = None
    """Who is to look at it while it is in quarantine."""
    extra: str = ""
    """The YAML text of keys that this version does not know; it is kept as it is."""
    passed_under: str | None = None
    """What the last pass was given under, as `trials.conditions` writes it."""
    touched: tuple[str, ...] = ()
    """The changes that touched the case since its last pass on the main branch, as `schedule.suspects` names them, the
    newest last."""
    accepted: str | None = None
    """Who has last accepted an answer as the expected one, and when."""
    evidence: float = 1.0
    """The likelihood ratio that the case has regressed, as `trials.detector` has it."""
    failed: int = 0
    """How many of its trials on record failed, as `trials.detector` counts them."""
    tried: int = 0
    """How many trials are on record, as `trials.detector` counts them."""

    @property
    def failing(self) -> bool:
        """Whether the last verdict was a fail; a reset of the boxes does not make it one."""
        return self.failure_note is not None

    def is_due(self, today: date) -> bool:
        """Whether the calendar asks for the case on `today`."""
        return self.next_due <= today

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; dates as ISO 8601 text, unset fields left out."""
        named = {key: value for key, value in self._asdict().items() if value not in (None, "", ())}
        plain = {key: value for key, value in named.items() if key not in _USUAL or value != _USUAL[key]}
        return {key: value.isoformat() if isinstance(value, date) else value for key, value in plain.items()}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Row:
        """Return the row that `to_json` gave; raises KeyError, TypeError or ValueError."""
        if not isinstance(plain, Mapping):
            raise TypeError(f"{plain!r} is not a row")
        tested, due = (date.fromisoformat(plain[key]) for key in ("last_tested", "next_due"))
        since, until = (
            None if plain.get(key) is None else date.fromisoformat(plain[key]) for key in ("quarantined", "until")
        )
        row = cls(**typed(cls, plain), last_tested=tested, next_due=due, quarantined=since, until=until)
        if row.box not in BOXES:
            raise ValueError(f"box: there is no box {row.box}")
        for name in ("pass_streak", "lapses", "failed", "tried"):
            if (count := getattr(row, name)) < 0:
                raise ValueError(f"{name}: {count} is not a count")
        if not 1 <= row.evidence < inf:
            raise ValueError(f"evidence: {row.evidence} is not a number from 1 up")
        return row


_USUAL = {"lapses": 0, "evidence": 1, "failed": 0, "tried": 0}
BOXES = range(1, 6)


AppealCause = Literal["failed", "audit"]
"""Why the appellate judge was asked: the primary failed the answer, or it is a check of a pass."""


class Vote(NamedTuple):
    """What one judge said once."""

    model: str = ""
    """The selector of the model."""
    passed: bool | None = None
    """None where the vote came to nothing; `error` then says why."""
    score: float | None = None
    """From 0 to 1."""
    reason: str = ""
    scores: Mapping[str, int] = {}
    """By criterion, each on its own scale."""
    replied: str | None = None
    """The model's name as the provider says it."""
    retried: int = 0
    """How many replies could not be used."""
    flips: int = 0
    """1 if a comparison followed the position."""
    ignored: tuple[str, ...] = ()
    """The names of settings without effect."""
    error: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; empty and unknown fields are left out."""
        plain = {name: value for name, value in self._asdict().items() if value not in (None, "", 0, {}, ())}
        return plain | {name: value for name in ("passed", "score") if (value := getattr(self, name)) is not None}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Vote:
        """Return the vote that `to_json` gave; raises TypeError for what no version has written."""
        scores = plain.get("scores", {})
        if not isinstance(scores, Mapping) or not all(type(score) is int for score in scores.values()):
            raise TypeError(f"scores: {scores!r} are not scores")
        return cls(**typed(cls, plain), scores=dict(scores))


class Preflight(NamedTuple):
    """How a judge did on answers whose verdict is known."""

    asked: int
    wrong: int
    """How many were judged wrongly, with those that came to no judgement."""
    allowed: int


class Judgement(NamedTuple):
    """The votes of the primary judges, and that of the appellate judge if it was asked."""

    votes: tuple[Vote, ...] = ()
    appeal: Vote | None = None
    """The vote of the appellate judge; one with an `error` if the appeal came to nothing."""
    cause: str = ""
    """Why the appellate judge was asked."""
    preflights: Mapping[str, Preflight] = {}
    """Those made just before, by model."""
    context: bool = False
    """Whether the judges were shown excerpts of what a memory was told."""

    @property
    def overturned(self) -> bool:
        """Whether the appellate judge decided otherwise than the primary ones."""
        return self.appeal is not None and self.appeal.passed is (not majority(self.votes))

    @property
    def split(self) -> bool:
        """Whether the primary votes differed."""
        return len({vote.passed for vote in self.votes if vote.passed is not None}) > 1

    @property
    def every(self) -> tuple[Vote, ...]:
        """All votes, the appellate's last."""
        return self.votes if self.appeal is None else (*self.votes, self.appeal)

    def clean(self, text: Callable[[str], str]) -> Judgement:
        """Return the judgement with what judges wrote put through `text`."""

        def cleaned(vote: Vote) -> Vote:
            return vote._replace(reason=text(vote.reason), error=text(vote.error))

        return self._replace(
            votes=tuple(map(cleaned, self.votes)), appeal=None if self.appeal is None else cleaned(self.appeal)
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types."""
        plain: dict[str, Any] = {"votes": [vote.to_json() for vote in self.votes]}
        if self.appeal is not None:
            plain |= {"appeal": self.appeal.to_json(), "cause": self.cause}
        if self.preflights:
            plain["preflights"] = {model: list(preflight) for model, preflight in self.preflights.items()}
        if self.context:
            plain["context"] = True
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Judgement:
        """Return the judgement that `to_json` gave; raises TypeError or ValueError."""
        appeal = plain.get("appeal")
        return cls(
            **typed(cls, plain),
            votes=tuple(map(Vote.from_json, plain.get("votes", ()))),
            appeal=None if appeal is None else Vote.from_json(appeal),
            preflights={
                str(model): Preflight(*(int(count) for count in counts[:3]))
                for model, counts in plain.get("preflights", {}).items()
            },
        )


def majority(votes: Iterable[Vote]) -> bool | None:
    """Return whether more than half of the seats passed it, or None if the missing votes could still decide.

    A tie is a fail: a pass has to be earned.
    """
    seats = list(votes)
    passes = sum(vote.passed is True for vote in seats)
    missing = sum(vote.passed is None for vote in seats)
    if 2 * passes > len(seats):
        return True
    return None if 2 * (passes + missing) > len(seats) else False


def middle(votes: Iterable[Vote]) -> float | None:
    """Return the median of the scores; None if there are none."""
    from statistics import median  # most runs have no votes, and it brings decimal and fractions

    scores = [vote.score for vote in votes if vote.score is not None]
    return float(median(scores)) if scores else None


EARLIER = "earlier"
"""The source of a verdict of an earlier run of the same pull request that holds."""


class EarlierRun(NamedTuple):
    """An earlier run of a pull request that gave a verdict which holds, and what is known of its trial there."""

    run: str
    answer: str | None = None
    """As much of the answer as its recording keeps; None where there is no recording of it."""
    weighed: str = ""
    """A letter for each trial, p or f, where the verdict rests on several by the likelihood ratio."""


class Outcome(StrEnum):
    """How a trial ended. Only the first two are verdicts; the others move no box."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"

    is_verdict: bool
    """Whether a judge decided, so that the schedule may learn from it."""

    def __init__(self, value: str) -> None:
        self.is_verdict = value in ("passed", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A piece of text that the agent retrieved, with the retriever's own score."""

    text: str
    source: str | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the agent answered: text, retrieved passages in rank order, usage by kind."""

    text: str
    passages: tuple[Passage, ...] = ()
    usage: Mapping[str, float] = field(default_factory=dict)
    """Counts by kind, as the agent reports them (`input_tokens`, …); one that is absent is unknown."""
    by: str = ""
    """Whose words the text is, where that is known: the `memory`'s own, a `model`'s from what a memory found, or those
    `passages`."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; empty fields are left out."""
        plain: dict[str, Any] = {"text": self.text}
        if self.passages:
            plain["passages"] = [{"text": p.text} | _present(_PASSAGE, _passage_of(p)) for p in self.passages]
        if self.usage:
            plain["usage"] = dict(self.usage)
        if self.by:
            plain["by"] = self.by
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Answer:
        """Return the answer that `to_json` gave; fields of a later version are passed over. Raises TypeError."""
        passages = tuple(Passage(**typed(Passage, p)) for p in plain.get("passages", ()))
        return cls(**typed(cls, plain), passages=passages, usage=dict(plain.get("usage", {})))

    def clean(self, text: Callable[[str], str]) -> Answer:
        """Return the answer with its texts put through `text`."""
        passages = tuple(replace(passage, text=text(passage.text)) for passage in self.passages)
        return replace(self, text=text(self.text), passages=passages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one judge decided, with a score from 0 to 1 where it gives one."""

    passed: bool | None
    """None for a judge that only scores; the threshold then decides."""
    score: float | None = None
    """From 0 to 1; None for a judge that gives none."""
    reason: str = ""
    judge: str = ""
    model: str = ""
    """Of a judge that asks a model, the selector of the one whose word stands."""
    version: str = ""
    """Of a judge that asks a model, what tells its prompts apart."""
    judgement: Judgement | None = None
    """The votes, of a judge that asks a model."""
    panel: str = ""
    """The names of all models that could decide; empty where the judge does not say so."""
    asked: str = ""
    """A digest of what was put to these models; empty where the judge does not say so."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; empty and unknown fields are left out."""
        plain = _present(_VERDICT, _verdict_of(self))
        return plain if self.judgement is None else plain | {"judgement": self.judgement.to_json()}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Verdict:
        """Return the verdict that `to_json` gave; fields of a later version are passed over."""
        judgement = plain.get("judgement")
        return cls(
            **{"passed": None, **typed(cls, plain)},
            judgement=None if judgement is None else Judgement.from_json(judgement),
        )


class AtCheckpoint(NamedTuple):
    """The checkpoint of a long-horizon run at which a question was asked."""

    label: str
    day: int | None = None
    """The last day that was told."""


class WeighedTrials(NamedTuple):
    """The trials of a run that came to a verdict."""

    passes: tuple[bool, ...]
    """True for each pass, in the order of the trials."""
    needed: int
    """The likelihood ratio that a fail needs."""
    unconfirmed: bool = False
    """Whether they began with a fail, and do not come to one."""


class SeriesTally(NamedTuple):
    """What the trials of a series came to that has no verdict."""

    counts: tuple[tuple[str, int], ...]
    """How many trials had each outcome, of those that one had."""
    cut_off: bool
    """Whether it ended before its rule was decided."""


class WeakJudge(NamedTuple):
    """A judging model that has not been shown to agree enough with people."""

    judge: str
    model: str
    version: str
    needed: float
    """The kappa that the rubric asks for."""
    kappa: float | None = None
    """The kappa of its calibration; None without one."""


class TrialStep(NamedTuple):
    """Something that was done for an answer, such as a `retrieval` or a `tool_call`, and what is known of it."""

    kind: str
    data: Mapping[str, Any]


class Trial(NamedTuple):
    """One run of one case."""

    case_id: str
    outcome: Outcome
    reason: str = ""
    """Why the case was run ("due", "new", …)."""
    scenario: str = ""
    dimension: str = ""
    verdicts: tuple[Verdict, ...] = ()
    answer: Answer | None = None
    error: str = ""
    """What the exception says that ended a trial without a verdict, whoever skips it, or the failure of a test."""
    ended_by: str = ""
    """What ended a trial without a verdict; empty with one, and where it is not known.

    It is an `exception`, the `outage` of a provider, a `miss` of what is not recorded, the `budget` between two of its
    calls, the `crash` of its process, a `skip`, an `xfail` where it was expected to fail, or the `series` of its case
    that decides nothing. A verdict that is none on a change is ended by an `error-reply`, on which it rests and which
    `error` names, or by `no-calls`, where its recording has some and it made none.
    """
    outage: Outage | None = None
    """The outage of a provider that ended it, or that the exception came from which did."""
    seconds: float | None = None
    """The agent's own time."""
    attempt: int = 1
    source: str = "live"
    """Where the answer came from: `live`, `replayed`, `mixed`, or `earlier` for a verdict of an earlier run that
    holds."""
    fingerprint: str = ""
    where: str = ""
    pr: str | None = None
    model: str | None = None
    row: Row | None = None
    """The state of the case that the run started from."""
    calls: tuple[Call, ...] = ()
    """The upstream calls that the answer took."""
    counts_for_schedule: bool = True
    """False for a verdict on a replayed answer: it is no news of the model, and moves no box."""
    repeat: int = 1
    """The number of the trial in its series, counted from 1."""
    rule: str = ""
    """How the trials of the series come to one verdict; empty without a series."""
    unproven: tuple[WeakJudge, ...] = ()
    """The judges that fall short of the kappa that the rubric asks for, where the outcome rests on them and counts for
    nothing; a fail of the trial does not fail the run."""
    arm: str = ""
    """The baseline that was asked, whose trial grades no case; empty for the agent under test."""
    measures: Mapping[str, float | None] | None = None
    """Numbers by name, such as the metrics of a dataset's question. One that is None is a failure, and None for all of
    them says that nothing was measured."""
    custom_measures: Mapping[str, float] = {}
    """What the measures of extensions came to, by their names; one that gave nothing is absent."""
    under: str = ""
    """What a verdict was given under, as `trials.conditions` writes it."""
    stage: str = ""
    """Where an error came from, such as `memory recall`, or pytest's phase, `setup` or `teardown`, as far as that is
    known."""
    ended: str = ""
    """When the trial of a long-horizon run ended, in ISO 8601; else empty."""
    checkpoint: AtCheckpoint | None = None
    """Where in a long-horizon run it was; else None."""
    steps: tuple[TrialStep, ...] = ()
    """What the answer took, in order."""
    unrecorded: str = ""
    """The cause for which a call of it may not be written down, as `files.errors` names it, so that the case has no
    recording."""
    asked: tuple[str, ...] = ()
    """Of a fail, the keys of what the agent asked, as far as calls are recorded, sorted."""
    programs: tuple[str, ...] = ()
    """Those that were started in a replay that starts any. What they ask is not recorded, so the verdict is no
    evidence."""
    earlier: EarlierRun | None = None
    """What is known of the trial of an earlier run whose verdict holds."""
    weighed: WeighedTrials | None = None
    """What grades a case by evidence; it is in no journal, and only the trial that grades the case has it."""
    tally: SeriesTally | None = None
    """What a series without a verdict came to; it is in no journal, and only the trial that grades the case has it."""

    @property
    def is_doubted(self) -> bool:
        """Whether it is a fail that is not confirmed."""
        return self.weighed is not None and self.weighed.unconfirmed

    @property
    def is_unproven(self) -> bool:
        """Whether the outcome counts for nothing, since it rests on weak judges, or is a fail that is not confirmed."""
        return bool(self.unproven) or self.is_doubted

    @property
    def note(self) -> str:
        """What went wrong: the failing judges' reasons, or the error."""
        return note_of(self.verdicts, self.error)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; empty and unknown fields are left out."""
        plain = _present(_PLAIN, _plain_of(self))
        if self.repeat != 1:
            plain["repeat"] = self.repeat
        plain["outcome"] = self.outcome.value
        if self.verdicts:
            plain["verdicts"] = [verdict.to_json() for verdict in self.verdicts]
        if self.answer is not None:
            plain["answer"] = self.answer.to_json()
        if self.row is not None:
            plain["row"] = self.row.to_json()
        if self.outage is not None:
            plain["outage"] = self.outage._asdict()
        if self.asked:
            plain["asked"] = list(self.asked)
        if self.programs:
            plain["programs"] = list(self.programs)
        if self.unproven:
            plain["unproven"] = [judge._asdict() for judge in self.unproven]
        if self.earlier is not None:
            plain["earlier"] = self.earlier._asdict()
        if self.calls:
            plain["calls"] = [call.to_json() for call in self.calls]
        if not self.counts_for_schedule:
            plain["evidence"] = False
        if self.measures is not None:
            plain["measures"] = dict(self.measures)
        if self.custom_measures:
            plain["custom_measures"] = dict(self.custom_measures)
        if self.checkpoint is not None:
            plain["checkpoint"] = self.checkpoint._asdict()
        if self.steps:
            plain["steps"] = [step._asdict() for step in self.steps]
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Trial:
        """Return the trial that `to_json` gave; fields of a later version are passed over.

        Raises KeyError, TypeError or ValueError for what no version has written.
        """
        answer = plain.get("answer")
        return cls(
            **typed(cls, plain),
            outcome=Outcome(plain["outcome"]),
            verdicts=tuple(map(Verdict.from_json, plain.get("verdicts", ()))),
            answer=None if answer is None else Answer.from_json(answer),
            row=Row.from_json(plain["row"]) if "row" in plain else None,
            counts_for_schedule=_flag(plain.get("evidence", True)),
            calls=tuple(Call.from_json(call) for call in plain.get("calls", ())),
            measures=None if "measures" not in plain else _measures(plain["measures"]),
            custom_measures=_numbers(plain["custom_measures"]) if "custom_measures" in plain else {},
            outage=_outage(plain["outage"]) if "outage" in plain else None,
            earlier=EarlierRun(**typed(EarlierRun, plain["earlier"])) if "earlier" in plain else None,
            checkpoint=AtCheckpoint(**typed(AtCheckpoint, plain["checkpoint"])) if "checkpoint" in plain else None,
            unproven=tuple(WeakJudge(**typed(WeakJudge, one)) for one in plain.get("unproven", ())),
            steps=tuple(TrialStep(str(one["kind"]), dict(one["data"])) for one in plain.get("steps", ())),
        )


def _outage(plain: Mapping[str, Any]) -> Outage | None:
    from pytest_recall.models.outage import Outage  # most runs have none

    return Outage.from_json(plain)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"evidence: {value!r} is not a bool")
    return value


def asks_only(asked: Collection[str], known: Collection[str]) -> bool:
    """Whether it is known what an agent has `asked`, and all of that is among the `known` requests."""
    return bool(asked) and set(asked) <= set(known)


def judged_by_models(verdicts: Iterable[Verdict]) -> bool:
    """Whether a model gave one of the verdicts."""
    return any(verdict.judgement is not None for verdict in verdicts)


def note_of(verdicts: Iterable[Verdict], error: str) -> str:
    """Return what went wrong: the reasons of the judges that failed an answer, or the error."""
    failing = [f"{v.judge}: {v.reason}" if v.judge else v.reason for v in verdicts if not v.passed]
    return "; ".join(failing) or error


_STRUCTURED = frozenset(
    {
        "outcome",
        "verdicts",
        "answer",
        "row",
        "calls",
        "counts_for_schedule",
        "repeat",
        "measures",
        "custom_measures",
        "checkpoint",
        "steps",
        "earlier",
        "outage",
        "asked",
        "programs",
        "unproven",
        "weighed",
        "tally",
    }
)
_PLAIN = tuple(name for name in Trial._fields if name not in _STRUCTURED)
_VERDICT = tuple(f.name for f in fields(Verdict) if f.name != "judgement")
_PASSAGE = tuple(f.name for f in fields(Passage))
_plain_of, _verdict_of, _passage_of = attrgetter(*_PLAIN), attrgetter(*_VERDICT), attrgetter(*_PASSAGE)


def _present(names: Iterable[str], values: Iterable[Any]) -> dict[str, Any]:
    return {name: value for name, value in zip(names, values, strict=True) if value is not None and value != ""}


def _measures(plain: Mapping[str, Any]) -> dict[str, float | None]:
    from pytest_recall.metrics.measures import measures_of  # most runs have none, and it brings the metrics

    return measures_of(plain)


def _numbers(plain: Mapping[str, Any]) -> dict[str, float]:
    return {name: value for name, value in values_of(plain).items() if value is not None}


ANSWERED = "memory_answered"
"""The kind of usage that says whether a memory answered, 1, or returned passages alone, 0."""

UNJUDGED = "asks for what was never said, and passages alone neither abstain nor answer"
