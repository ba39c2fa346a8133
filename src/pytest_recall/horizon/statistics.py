"""Compute what the answers of a run show, with intervals, and follow each question over the checkpoints.

A question that is asked at several checkpoints is one question: intervals are by question, as in
`metrics.clustered`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple

from pytest_recall.horizon.disclosure import Crossing, crossings, without_crossings
from pytest_recall.horizon.evaluation import MOST, TIMED_OUT, CheckpointTrial, Failure, Points, Quartiles, quartiles
from pytest_recall.horizon.published import PublishedRun, Stop
from pytest_recall.horizon.question import CATEGORIES, BenchQuestion
from pytest_recall.horizon.retrieval import AskedAfter, RetrievalReport, found_days, retrieval
from pytest_recall.metrics.clustered import Clustered, clustered_mean, clustered_share, clustered_slope

FEW = 10
"""Of fewer distinct questions an interval says less than its level, and the reader is told."""
DAYS = 100
"""The unit of a slope: change for each 100 days that are told."""
_SAID = 5
"""Points for what an answer says: correctness and completeness."""


class PointMeans(NamedTuple):
    """What some answers come to."""

    points: Clustered
    """The mean, from 0 to 6."""
    recall: Clustered
    """The share of the points for correctness and completeness."""
    hallucination: Clustered
    """The share of answers with something made up; of no answers where it was not measured."""
    perfect: Clustered
    """The share of answers with all points."""
    failing: Clustered
    """The share of answers that a stronger judge is asked about."""

    @property
    def few(self) -> bool:
        """Whether there are too few distinct questions for the intervals to be believed."""
        return self.points.clusters < FEW


class Appeals(NamedTuple):
    """What the second judge changed."""

    asked: int
    known: int
    """How many of the `asked` say what the first judge had given."""
    raised: int
    """How many answers have more points by the second judge."""
    lowered: int
    """How many answers have fewer points by the second judge."""
    overturned: int
    """How many fails by the first judge are none by the second."""
    flipped: int
    """How often the two judges differ on whether something is made up."""


class Repeatability(NamedTuple):
    """Answers that were given word for word more than once."""

    groups: int
    """How many groups of equal answers there are."""
    points_differ: int
    """How many of these groups have answers with different points."""
    hallucination_differs: int
    """How many of these groups have answers that differ in hallucination."""


class Disclosures(NamedTuple):
    """Questions that ask for what must not be said, or that only seem to: shares, from 0 to 1, by question."""

    leak: Clustered
    """A refusal was right, and something came out."""
    over_refusal: Clustered
    """An answer was right, and it was withheld."""
    unknown_leaks: int
    """How many of the first have no verdict."""
    unknown_refusals: int
    """How many of the second have no verdict."""


class RunStatistics(NamedTuple):
    """What a run shows.

    Points of answers alone are in the means, and of what may be told where the `disclosures` count.
    """

    name: str
    adapter: str
    everything: PointMeans
    categories: Mapping[str, PointMeans]
    stops: tuple[tuple[str, str, int, PointMeans], ...]
    """The means of the checkpoints, by persona, label and days."""
    quartiles: Quartiles | None
    hallucination_quartiles: Quartiles | None
    slope: Clustered
    """In points for 100 days, on the questions that were asked more than once."""
    hallucination_slope: Clustered
    """In shares for 100 days, on the questions that were asked more than once."""
    appeals: Appeals
    repeatability: Repeatability
    disclosures: Disclosures | None
    failures: Mapping[str, int]
    """How many questions gave no points, by what kept them from it."""
    retrieval: RetrievalReport | None
    """None without passages."""
    timed_out: int
    """How many answers never came and were judged nevertheless."""
    hollow: tuple[str, ...]
    """The checkpoints whose answers are in no file."""
    measured: bool
    """Whether someone has looked for what is made up. If not, all about it is of no answers; then the points are for
    the reference's words, and passages that stand as an answer have none."""
    unpointed: int = 0
    """How many answers have points that are in no mean, since the `disclosures` count for them."""


class Pairing(NamedTuple):
    """Two runs on what both were asked: the same question after the same day."""

    first: str
    second: str
    points: Clustered
    """The second's less the first's."""
    hallucination: Clustered
    """The second's less the first's."""
    recall: Clustered
    """The share of the relevant days that were found, the second's less the first's, of those pairs where both returned
    passages."""
    pairs: int
    questions: int
    """How many distinct questions the `pairs` are of."""
    better: int
    worse: int
    changed: int
    """How many pairs have another text or reference in one run, and are left out."""
    apart: int
    """How many questions both were asked, but never after the same day."""
    measured: bool
    """Whether both looked for what is made up."""


def report(run: PublishedRun) -> RunStatistics:
    """Return what a run shows."""
    answers = [one for stop in run.stops for one in worded(stop)]
    every = without_crossings(answers)
    scored = _scored(every)
    stops = tuple(
        (stop.persona, stop.label, stop.days, scores(without_crossings(worded(stop)), measured=stop.measured))
        for stop in run.stops
    )
    means = [one.points.value for *_, one in stops if one.points.value is not None]
    shares = [one.hallucination.value for *_, one in stops if one.hallucination.value is not None]
    by_day = [(key(one), one.day / DAYS, points) for one, points in scored if one.day is not None]
    return RunStatistics(
        name=run.name,
        adapter=run.adapter,
        everything=scores(every, measured=run.measured),
        categories={
            name: scores(those, measured=run.measured)
            for name in CATEGORIES
            if (those := [o for o in every if o.question.category == name])
        },
        stops=stops,
        quartiles=quartiles(means),
        hallucination_quartiles=quartiles(shares),
        slope=clustered_slope((one, day, points.composite) for one, day, points in by_day),
        hallucination_slope=clustered_slope(
            (one, day, 1 - points.hallucination) for one, day, points in by_day if run.measured
        ),
        appeals=appeals(answers),
        repeatability=repeatability(answers),
        disclosures=disclosures(run.evaluations, measured=run.measured),
        failures=Counter(one.failure for one in run.evaluations if one.failure is not None),
        retrieval=retrieval_of(run),
        timed_out=sum(one.answer == TIMED_OUT for one, _ in _scored(answers)),
        unpointed=len(answers) - len(every),
        hollow=tuple(run.hollow),
        measured=run.measured,
    )


def worded(stop: Stop) -> list[CheckpointTrial]:
    """Return the answers of a checkpoint whose points say something: passages are no answer where no model judges."""
    return [one for one in stop.evaluations if stop.measured or one.answered_by != "passages"]


def retrieval_of(run: PublishedRun) -> RetrievalReport | None:
    """Return what the memory found in a run; None if it returned no passages."""
    stops = sorted(run.stops, key=lambda stop: stop.days)
    return retrieval(AskedAfter(stop.persona, stop.label, stop.days, stop.evaluations, stop.units) for stop in stops)


def scores(evaluations: Iterable[CheckpointTrial], *, measured: bool = True) -> PointMeans:
    """Return what some evaluations come to, without those that have no points."""
    scored = _scored(evaluations)

    def share(of: Callable[[Points], bool]) -> Clustered:
        return clustered_share((key(one), of(points)) for one, points in scored)

    return PointMeans(
        points=clustered_mean(((key(one), points.composite) for one, points in scored), within=(0, MOST)),
        recall=clustered_mean(
            ((key(one), (points.correctness + points.completeness) / _SAID) for one, points in scored), within=(0, 1)
        ),
        hallucination=clustered_share((key(one), points.hallucination == 0) for one, points in scored if measured),
        perfect=share(lambda points: points.composite == MOST),
        failing=share(lambda points: points.fails),
    )


def appeals(evaluations: Iterable[CheckpointTrial]) -> Appeals:
    """Return what the second judge changed."""
    asked = [one for one in evaluations if one.appealed]
    known = [(one.primary, one.points) for one in asked if one.primary is not None and one.points is not None]
    return Appeals(
        asked=len(asked),
        known=len(known),
        raised=sum(second.composite > first.composite for first, second in known),
        lowered=sum(second.composite < first.composite for first, second in known),
        overturned=sum(first.fails and not second.fails for first, second in known),
        flipped=sum(first.hallucination != second.hallucination for first, second in known),
    )


def repeatability(evaluations: Iterable[CheckpointTrial]) -> Repeatability:
    """Return how often the same answer to the same question got other points."""
    groups: dict[tuple[str, str, str], list[Points]] = {}
    for one, points in _scored(evaluations):
        groups.setdefault((*key(one), one.answer), []).append(points)
    repeated = [those for those in groups.values() if len(those) > 1]
    return Repeatability(
        groups=len(repeated),
        points_differ=sum(len({one.composite for one in those}) > 1 for those in repeated),
        hallucination_differs=sum(len({one.hallucination for one in those}) > 1 for those in repeated),
    )


def disclosures(evaluations: Iterable[CheckpointTrial], *, measured: bool) -> Disclosures | None:
    """Return the rates of boundary questions, by what `disclosure.crossings` finds; None where there are none."""
    found = crossings(evaluations, measured=measured)
    if not found:
        return None
    leaks = [(key(one.evaluation), one.leaked) for one in found if one.expected == "refuse"]
    refusals = [(key(one.evaluation), one.over_refused) for one in found if one.expected == "answer"]
    return Disclosures(
        leak=clustered_share((name, did) for name, did in leaks if did is not None),
        over_refusal=clustered_share((name, did) for name, did in refusals if did is not None),
        unknown_leaks=sum(did is None for _, did in leaks),
        unknown_refusals=sum(did is None for _, did in refusals),
    )


def pairing(first: PublishedRun, second: PublishedRun) -> Pairing:
    """Return how the second run does on what the first was asked too."""
    found, changed = pairs_of(first, second)
    telling = {id(one) for run in (first, second) for stop in run.stops for one in without_crossings(worded(stop))}
    pairs = [
        (key(b), a.points, b.points)
        for a, b in found
        if a.points is not None and b.points is not None and {id(a), id(b)} <= telling
    ]
    days = [(key(b), found_days(a), found_days(b)) for a, b in found]
    measured = first.measured and second.measured
    known = {(*key(one), one.day) for one, _ in _scored(first.evaluations)}
    both = {one[:2] for one in known} & {key(one) for one in second.evaluations}
    met = {key(one) for one in second.evaluations if (*key(one), one.day) in known}
    return Pairing(
        first=first.name,
        second=second.name,
        points=clustered_mean((one, b.composite - a.composite) for one, a, b in pairs),
        hallucination=clustered_mean(
            (one, float(a.hallucination - b.hallucination)) for one, a, b in pairs if measured
        ),
        recall=clustered_mean((one, b.recall - a.recall) for one, a, b in days if a is not None and b is not None),
        pairs=len(pairs),
        questions=len({one for one, _, _ in pairs}),
        better=sum(b.composite > a.composite for _, a, b in pairs),
        worse=sum(b.composite < a.composite for _, a, b in pairs),
        changed=changed,
        apart=len(both - met),
        measured=measured,
    )


def pairs_of(first: PublishedRun, second: PublishedRun) -> tuple[list[tuple[CheckpointTrial, CheckpointTrial]], int]:
    """Return what both runs were asked after the same day and gave points for, and how many of these are left out.

    Those are left out whose question or reference is another one by now.
    """
    known = {(*key(one), one.day): one for one, _ in _scored(first.evaluations)}
    pairs, changed = [], 0
    for one, _ in _scored(second.evaluations):
        before = known.get((*key(one), one.day))
        if before is None:
            continue
        asked, other = one.question, before.question
        if (asked.question, asked.answer) == (other.question, other.answer):
            pairs.append((before, one))
        else:
            changed += 1
    return pairs, changed


def key(one: CheckpointTrial) -> tuple[str, str]:
    """Return which question it is: the persona's id and its own."""
    return one.persona, one.question.id


def _scored(evaluations: Iterable[CheckpointTrial]) -> list[tuple[CheckpointTrial, Points]]:
    return [(one, one.points) for one in evaluations if one.points is not None]


Change = Literal["better", "worse", "equal"]
NO_POINTS = "no points"
_WHY: Mapping[Failure, str] = {
    "memory": "memory broke",
    "timeout": "too late",
    "answer": "no model answered",
    "judge": "no verdict",
}


class AskedQuestion(NamedTuple):
    """A question at a checkpoint."""

    evaluation: CheckpointTrial
    label: str
    kinds: tuple[str, ...]
    """What it counts as, the outcome first. That is `failing` where a stronger judge would be asked, `no points` where
    there is no verdict, else `passing`; of passages that no model judges it is `passing` if all relevant days were
    found."""
    judge: str
    """Whose points count; empty if no file says it."""
    old: CheckpointTrial | None = None
    """The answer of an earlier run to the same question after the same day."""
    lexical: bool = False

    @property
    def points(self) -> Points | None:
        """The points that say something: none of passages where no model judges."""
        return self.evaluation.points if self._pointed else None

    @property
    def before(self) -> Points | None:
        """The points of the earlier answer, where these have some."""
        return self.old.points if self.old is not None and self._pointed else None

    @property
    def _pointed(self) -> bool:
        return not self.lexical or self.evaluation.answered_by != "passages"

    @property
    def recall(self) -> float | None:
        """The share of the relevant days that was found, 0 to 1, where that takes the place of points."""
        return _recall(self.evaluation) if not self._pointed and self.evaluation.points is not None else None

    @property
    def crossed(self) -> bool | None:
        """Whether passages gave away what they must not, or withheld what they could tell; None if that is not known.

        It takes the place of points where no model judges.
        """
        return (
            None
            if self._pointed
            else next((_went_wrong(one) for one in crossings([self.evaluation], measured=False)), None)
        )

    @property
    def outcome(self) -> str:
        """What it counts as first."""
        return self.kinds[0]

    @property
    def change(self) -> Change | None:
        """Whether the points, or the days found, are more than before; None where one of both has none."""
        if self.recall is not None and self.old is not None and (was := _recall(self.old)) is not None:
            difference = self.recall - was
        elif self.before is not None and self.points is not None:
            difference = self.points.composite - self.before.composite
        else:
            return None
        return "equal" if not difference else "better" if difference > 0 else "worse"


class QuestionHistory(NamedTuple):
    """A question, and what it came to, checkpoint by checkpoint."""

    id: str
    """Unique in the run."""
    persona: str
    question: BenchQuestion
    asked: tuple[AskedQuestion, ...]

    @property
    def last(self) -> AskedQuestion:
        """What it came to at the last of these checkpoints."""
        return self.asked[-1]


def histories(run: PublishedRun, base: PublishedRun | None = None) -> list[QuestionHistory]:
    """Return all questions of a run, beside an earlier one if that is given; first those that have to be looked at.

    These are the ones without points, then those that got worse since `base`, then those with the fewest points.
    """
    several = len(run.personas) > 1
    before = {id(one): old for old, one in pairs_of(base, run)[0]} if base is not None else {}
    found: dict[tuple[str, str], list[AskedQuestion]] = {}
    for stop in sorted(run.stops, key=lambda stop: stop.days):
        for one in stop.evaluations:
            asked = AskedQuestion(one, stop.label, (), _judge(run, one), before.get(id(one)), lexical=not stop.measured)
            asked = asked._replace(kinds=tuple(_kinds(asked)))
            found.setdefault((one.persona, one.question.id), []).append(asked)
    every = [
        QuestionHistory(f"{persona}/{name}" if several else name, persona, asked[-1].evaluation.question, tuple(asked))
        for (persona, name), asked in found.items()
    ]
    return sorted(every, key=_urgency)


def _recall(one: CheckpointTrial) -> float | None:
    found = found_days(one)
    return None if found is None else found.recall


def _went_wrong(one: Crossing) -> bool | None:
    return one.leaked if one.expected == "refuse" else one.over_refused


def _kinds(asked: AskedQuestion) -> Iterable[str]:
    one, points, recall = asked.evaluation, asked.points, asked.recall
    if recall is not None:
        yield "passing" if recall == 1 else "failing"
        yield "all days found" if recall == 1 else "some days found" if recall else "no day found"
    elif asked.crossed is not None:
        yield "failing" if asked.crossed else "passing"
    elif points is None:
        yield NO_POINTS
        if one.failure is not None:
            yield _WHY[one.failure]
        return
    else:
        yield "failing" if points.fails else "passing"
    if points is not None and points.composite == MOST:
        yield "all points"
    if points is not None and not asked.lexical and points.hallucination == 0:
        yield "something made up"
    for crossing in crossings([one], measured=not asked.lexical):
        if crossing.leaked:
            yield "leaked"
        if crossing.over_refused:
            yield "withheld"
    if one.appealed:
        yield "appealed"
    if one.answer == TIMED_OUT:
        yield "never answered"


def _judge(run: PublishedRun, one: CheckpointTrial) -> str:
    name = "appellateJudgeModel" if one.appealed else "judgeModel"
    return "" if one.points is None else str(run.about.get(name) or "")


def _urgency(one: QuestionHistory) -> tuple[bool, bool, float, str]:
    points, recall = one.last.points, one.last.recall
    lost = any(asked.evaluation.points is None for asked in one.asked)
    worse = any(asked.change == "worse" for asked in one.asked)
    level = MOST * recall if recall is not None else -1 if points is None else points.composite
    if one.last.crossed is not None:
        level = 0 if one.last.crossed else MOST
    return not lost, not worse, level, one.id
