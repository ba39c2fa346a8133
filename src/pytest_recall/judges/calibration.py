"""Measure how far judging models agree with people, and find what depends on those that do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    model_validator,
)

from pytest_recall.cases.case import ID_PATTERN, Case, JudgeCall
from pytest_recall.cases.settings_fields import JudgeKind
from pytest_recall.metrics.agreement import Confusion, Kappa, kappa, percent_agreement
from pytest_recall.metrics.intervals import Interval, wilson
from pytest_recall.trials.execution import Result
from pytest_recall.trials.trial import Answer, Outcome, Passage, Preflight, Trial, Vote, WeakJudge


class JudgeKey(NamedTuple):
    """A judge as it is calibrated: its name, the model's selector, and the version of the prompt."""

    judge: str
    model: str
    version: str


class Calibration(NamedTuple):
    """A judge's agreement with people."""

    kappa: float
    """Cohen's kappa: 1 for all, 0 for as much as by chance."""
    n: int
    """How many answers it is over."""
    low: float | None = None
    """The lower bound of the 95 % interval; None if it is unknown."""
    labels: Confusion | None = None
    """Who said what; None in a row of a version that did not count this."""
    threshold: float | None = None
    """What the rubric held the judge's scores to; None for the judge's own."""


class Reviews(NamedTuple):
    """How often the appellate judge was asked for one reason, decided otherwise, and came to nothing."""

    asked: int = 0
    overturned: int = 0
    unheard: int = 0


class Panels(NamedTuple):
    """What models judged in a run."""

    verdicts: Mapping[JudgeKey, int] = {}
    """How many there are by judge."""
    calibrations: Mapping[JudgeKey, Calibration] = {}
    """That of each judge, if there is one."""
    appeals: Reviews = Reviews()
    """Those about fails."""
    audits: Reviews = Reviews()
    """The checks of passes; the overturned ones are false passes."""
    retried: int = 0
    """How many replies could not be used before one could."""
    split: int = 0
    """How many verdicts are on votes that differed."""
    compared: int = 0
    """How many comparisons there were."""
    flips: int = 0
    """How many of these comparisons followed the position."""
    preflights: Mapping[tuple[str, str], Preflight] = {}

    @property
    def total(self) -> int:
        """How many verdicts models gave."""
        return sum(self.verdicts.values())

    @property
    def uncalibrated(self) -> int:
        """How many of them are of judges that are not calibrated."""
        return sum(count for key, count in self.verdicts.items() if key not in self.calibrations)


def weak_judges(
    trial: Trial | Result, known: Mapping[JudgeKey, Calibration], min_kappa: float | None
) -> tuple[WeakJudge, ...]:
    """Return the judges for which the outcome of `trial` counts for nothing; empty if it counts.

    `min_kappa` is what the rubric asks of judging models, None if nothing.

    A fail counts as soon as one judge fails the answer that has to be believed; a pass rests on
    every verdict. Judges that ask no model are believed.
    """
    if min_kappa is None or not trial.outcome.is_verdict:
        return ()
    failed = trial.outcome is Outcome.FAILED
    weak: dict[WeakJudge, None] = {}
    for verdict in trial.verdicts:
        if failed and verdict.passed:
            continue
        found = known.get(JudgeKey(verdict.judge, verdict.model, verdict.version))
        if verdict.judgement is not None and (found is None or found.kappa < min_kappa):
            kappa = None if found is None else found.kappa
            weak[WeakJudge(verdict.judge, verdict.model, verdict.version, min_kappa, kappa)] = None
        elif failed:
            return ()
    return tuple(weak)


def panels(trials: Iterable[Trial], known: Mapping[JudgeKey, Calibration], earlier: Iterable[Trial] = ()) -> Panels:
    """Return what models judged in `trials`; `known` are the calibrations that there are.

    Of `earlier` attempts, whose verdicts do not count, only the preflights do.
    """
    verdicts: Counter[JudgeKey] = Counter()
    asked: dict[str, Counter[str]] = {"appeal": Counter(), "audit": Counter()}
    votes: list[tuple[str, Vote]] = []
    split = 0
    trials = list(trials)
    for trial in trials:
        for verdict in trial.verdicts:
            judgement = verdict.judgement
            if judgement is None:
                continue
            verdicts[JudgeKey(verdict.judge, verdict.model, verdict.version)] += 1
            votes += [(verdict.judge, vote) for vote in judgement.every]
            split += judgement.split
            if judgement.appeal is not None:
                told = asked["audit" if judgement.cause == "audit" else "appeal"]
                told["asked"] += 1
                told["overturned"] += judgement.overturned
                told["unheard"] += judgement.appeal.passed is None
    return Panels(
        verdicts=dict(sorted(verdicts.items())),
        calibrations={key: known[key] for key in sorted(verdicts) if key in known},
        appeals=Reviews(**asked["appeal"]),
        audits=Reviews(**asked["audit"]),
        retried=sum(vote.retried for _, vote in votes),
        split=split,
        compared=sum(judge == "pairwise" and vote.passed is not None for judge, vote in votes),
        flips=sum(vote.flips for _, vote in votes),
        preflights=_preflights([*trials, *earlier]),
    )


def _preflights(trials: Iterable[Trial]) -> dict[tuple[str, str], Preflight]:
    """Return the preflights by judge and model; those of several workers are added up."""
    flown: dict[tuple[str, str], Preflight] = {}
    for verdict in (verdict for trial in trials for verdict in trial.verdicts):
        results = {} if verdict.judgement is None else verdict.judgement.preflights
        for model, result in results.items():
            before = flown.get((verdict.judge, model), Preflight(0, 0, 0))
            flown[verdict.judge, model] = Preflight(*(sum(both) for both in zip(before, result, strict=True)))
    return dict(sorted(flown.items()))


class Opinion(NamedTuple):
    """What a judge said about one labelled answer."""

    id: str
    label: bool
    """The person's verdict."""
    passed: bool | None
    """None where the judge came to nothing."""
    reason: str = ""
    """Why the judge came to nothing, or what it said."""
    score: float | None = None
    """The judge's, from 0 to 1."""
    given: float | None = None
    """The person's score, from 0 to 1."""


class Share(NamedTuple):
    """A count of so many, with the 95 % Wilson interval of the share, 0..1; None where there were none."""

    times: int
    of: int

    @property
    def interval(self) -> Interval | None:
        """The interval."""
        return wilson(self.times, self.of)


Role = Literal["stands", "votes", "whole"]
"""Whose verdict a run takes; who only votes on it; and all of them with the appeal, by which no verdict is named."""


class Agreement(NamedTuple):
    """A judge compared with people."""

    key: JudgeKey
    n: int
    """How many answers came to a verdict."""
    percent: float | None
    kappa: Kappa | None
    """None where it is undefined: both always said the same one thing."""
    false_passes: Share
    """Of those that people failed."""
    false_fails: Share
    """Of those that people passed."""
    wrong: tuple[Opinion, ...]
    unjudged: tuple[Opinion, ...]
    """Those that came to no verdict, and count for nothing."""
    distance: float | None = None
    """The mean distance of the scores, from 0 to 1, where both gave some."""
    role: Role = "stands"

    @property
    def name(self) -> str:
        """Whom the figures are of."""
        return f"{self.key.judge}, {self.key.model}, version {self.key.version}"

    def shortfall(self, min_kappa: float | None) -> str:
        """Return what a judge whose verdict stands falls short by, as a sentence; empty if it does not."""
        if min_kappa is None or self.role != "stands":
            return ""
        if self.kappa is None:
            return f"{self.name}: its kappa is undefined, and {min_kappa:g} is asked for; label more answers"
        kappa = self.kappa.value
        return f"{self.name} {shortfall(kappa, min_kappa)}" if kappa < min_kappa else ""


def agreement(key: JudgeKey, opinions: Iterable[Opinion], role: Role = "stands") -> Agreement:
    """Return how far the judge `key` agrees with the labels."""
    every = list(opinions)
    heard = [one for one in every if one.passed is not None]
    pairs = [(one.label, bool(one.passed)) for one in heard]
    distances = [abs(one.score - one.given) for one in heard if one.score is not None and one.given is not None]
    return Agreement(
        key=key,
        n=len(heard),
        percent=percent_agreement(pairs),
        kappa=kappa(pairs, (False, True)),
        false_passes=Share(pairs.count((False, True)), sum(not label for label, _ in pairs)),
        false_fails=Share(pairs.count((True, False)), sum(label for label, _ in pairs)),
        wrong=tuple(one for one in heard if one.passed is not one.label),
        unjudged=tuple(one for one in every if one.passed is None),
        distance=sum(distances) / len(distances) if distances else None,
        role=role,
    )


_WORDS = {"pass": True, "fail": False}


def _verdict(given: Any) -> Any:
    if isinstance(given, str) and given in _WORDS:
        return _WORDS[given]
    if isinstance(given, bool):
        return given
    raise ValueError(f'{given!r} is no verdict; write "pass" or "fail"')


class Label(BaseModel):
    """An answer that someone has judged. `passages` are what the agent had looked up, in rank order."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=ID_PATTERN, max_length=200, description="Unique in the file.")]
    question: Annotated[str, Field(min_length=1, description="What the agent was asked.")]
    answer: Annotated[str, Field(description="What it answered.")]
    label: Annotated[bool, BeforeValidator(_verdict), Field(description='The person\'s verdict: "pass" or "fail".')]
    expected: JsonValue = Field(default=None, description="The reference, as a case has it.")
    passages: tuple[str, ...] = Field(default=(), description="What the agent had looked up, in rank order.")
    score: Annotated[float, Field(strict=True, ge=0, le=1)] | None = Field(
        default=None, description="The person's score, 0 to 1; the report has the mean distance of the judge's to it."
    )
    judge: JudgeKind | None = Field(default=None, description="Which judge it is for; without one, for each.")
    criteria: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="The criteria that the judge `rubric` scores; without them, all."
    )
    arguments: dict[str, JsonValue] = Field(default={}, description="Arguments of the judge, as a case gives them.")
    labelled_by: str | None = Field(default=None, description="Who gave the verdict.")
    note: str | None = Field(default=None, description="For the reader; nothing else looks at it.")

    @model_validator(mode="after")
    def _says_criteria_once(self) -> Label:
        if self.criteria is not None and "criteria" in self.arguments:
            raise ValueError("give `criteria` once, by itself or among the `arguments`")
        return self

    def given(self) -> Answer:
        """Return the answer as an agent would have given it."""
        return Answer(text=self.answer, passages=tuple(Passage(text=text) for text in self.passages))

    def case(self, kind: JudgeKind) -> Case:
        """Return the case that was asked, with a judge of this kind."""
        criteria: dict[str, JsonValue] = {} if self.criteria is None else {"criteria": list(self.criteria)}
        return Case(
            id=self.id,
            scenario="calibration",
            dimension="calibration",
            input=self.question,
            expected=self.expected,
            judges=(JudgeCall(name=kind, arguments={**criteria, **self.arguments}),),
        )


def shortfall(kappa: float, needed: float) -> str:
    """Return by how much the kappa of a judge falls short of what is asked for."""
    return f"has a kappa of {kappa:.3f}, below {needed:g}"
