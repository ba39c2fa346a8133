"""History: each question of a run, with what it came to at every checkpoint at which it was asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from pytest_recall.core.horizon.disclosure import crossings
from pytest_recall.core.horizon.evaluation import MOST, Evaluation, Failure, Points
from pytest_recall.core.horizon.published import TIMED_OUT, Run
from pytest_recall.core.horizon.question import BenchQuestion
from pytest_recall.core.horizon.statistics import pairs_of

Change = Literal["better", "worse", "equal"]
NO_POINTS = "no points"
_WHY: Mapping[Failure, str] = {
    "memory": "memory broke",
    "timeout": "too late",
    "answer": "no model answered",
    "judge": "no verdict",
}


class Asked(NamedTuple):
    """A question at a checkpoint; `kinds` are what it counts as, the outcome first.

    The outcome is `failing` where a stronger judge would be asked, `no points` for a third outcome, else `passing`.
    `judge` is whose points count, empty if no file says it. `before` is what an earlier run gave for the same
    question after the same day.
    """

    evaluation: Evaluation
    label: str
    kinds: tuple[str, ...]
    judge: str
    before: Points | None = None

    @property
    def outcome(self) -> str:
        """What it counts as first."""
        return self.kinds[0]

    @property
    def change(self) -> Change | None:
        """Whether the points are more than before; None where one of both has none."""
        now = self.evaluation.points
        if self.before is None or now is None:
            return None
        difference = now.composite - self.before.composite
        return "equal" if not difference else "better" if difference > 0 else "worse"


class History(NamedTuple):
    """A question, and what it came to, checkpoint by checkpoint. Its `id` is unique in the run."""

    id: str
    persona: str
    question: BenchQuestion
    asked: tuple[Asked, ...]

    @property
    def last(self) -> Asked:
        """What it came to at the last of these checkpoints."""
        return self.asked[-1]


def histories(run: Run, base: Run | None = None) -> list[History]:
    """Return all questions of a run, beside an earlier one if that is given; first those that have to be looked at.

    These are the ones without points, then those that got worse since `base`, then those with the fewest points.
    """
    several = len(run.personas) > 1
    before = {id(one): old.points for old, one in pairs_of(base, run)[0]} if base is not None else {}
    found: dict[tuple[str, str], list[Asked]] = {}
    for stop in sorted(run.stops, key=lambda stop: stop.days):
        for one in stop.evaluations:
            asked = Asked(one, stop.label, tuple(_kinds(one, stop.measured)), _judge(run, one), before.get(id(one)))
            found.setdefault((one.persona, one.question.id), []).append(asked)
    every = [
        History(f"{persona}/{name}" if several else name, persona, asked[-1].evaluation.question, tuple(asked))
        for (persona, name), asked in found.items()
    ]
    return sorted(every, key=_urgency)


def _kinds(one: Evaluation, measured: bool) -> Iterable[str]:
    points = one.points
    if points is None:
        yield NO_POINTS
        if one.failure is not None:
            yield _WHY[one.failure]
        return
    yield "failing" if points.fails else "passing"
    if points.composite == MOST:
        yield "all points"
    if measured and points.hallucination == 0:
        yield "something made up"
    for crossing in crossings([one]):
        if crossing.leaked:
            yield "leaked"
        if crossing.over_refused:
            yield "refused"
    if one.appealed:
        yield "appealed"
    if one.answer == TIMED_OUT:
        yield "never answered"


def _judge(run: Run, one: Evaluation) -> str:
    name = "appellateJudgeModel" if one.appealed else "judgeModel"
    return "" if one.points is None else str(run.about.get(name) or "")


def _urgency(one: History) -> tuple[bool, bool, int, str]:
    points = one.last.evaluation.points
    lost = any(asked.evaluation.points is None for asked in one.asked)
    worse = any(asked.change == "worse" for asked in one.asked)
    return not lost, not worse, -1 if points is None else points.composite, one.id
