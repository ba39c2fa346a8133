"""Describe which judging models, under which settings, gave a run's verdicts, so that two runs can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeGuard

from pytest_recall.judges.calibration import JudgeKey
from pytest_recall.trials.conditions import Conditions
from pytest_recall.trials.execution import number_of
from pytest_recall.trials.trial import Trial, Verdict, Vote


class JudgingRules(NamedTuple):
    """What a run holds its judges to."""

    thresholds: Mapping[str, float] = {}
    """Those of the rubric, by judge."""
    appellate: str = ""
    """Who is asked after the judges; empty where no one is."""


def with_appeals(panel: str, appellate: str) -> str:
    """Return how judges are called together with the one that is appealed to."""
    return f"{panel}, appeals to {appellate}"


def rules_of(settings: Mapping[str, Any], trials: Iterable[Trial]) -> JudgingRules:
    """Return the rules of a run from the settings in its header.

    A header without settings says nothing of an appellate judge; then the appeals in `trials` do.
    """
    rubric = settings.get("rubric")
    rubric = rubric if _is_map(rubric) else {}
    seen = next((appeal.model for appeal in _appeals(trials) if appeal.model), "")
    table = rubric.get("judge")
    named = settings.get("appellate_judge") or (table.get("appellate") if _is_map(table) else None) or ""
    bars = rubric.get("thresholds")
    held = {name: bar for name, one in bars.items() if (bar := number_of(one)) is not None} if _is_map(bars) else {}
    return JudgingRules(held, seen or str(named))


def _is_map(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _appeals(trials: Iterable[Trial]) -> Iterable[Vote]:
    judgements = (verdict.judgement for trial in trials for verdict in trial.verdicts)
    return (one.appeal for one in judgements if one is not None and one.appeal is not None)


def identity(verdict: Verdict, rules: JudgingRules) -> JudgeKey:
    """Return who judges where this verdict was given: of several that might be asked, all of them.

    A verdict names the one whose word stands, which depends on the verdict: of a judge with appeals the one for all
    passes, and the other for all fails. Both are a verdict of the two together, under the version of the first.
    """
    judgement = verdict.judgement
    if judgement is None or not rules.appellate:
        return JudgeKey(verdict.judge, verdict.model, verdict.version)
    panel = " + ".join(vote.model or verdict.model for vote in judgement.votes)
    return JudgeKey(verdict.judge, with_appeals(panel, rules.appellate), verdict.version)


class OtherJudges(NamedTuple):
    """Who judged the same cases in two runs, where that differs."""

    base: tuple[str, ...]
    """Names in the first run, each with what tells the two apart: model, version, threshold, and the model as its
    provider calls it."""
    head: tuple[str, ...]
    """Names in the second run, as above."""
    cases: int
    """How many cases these are."""


class _Seat(NamedTuple):
    """Who judged an answer, held to what."""

    key: JudgeKey
    threshold: float | None
    replied: frozenset[str]
    """The models as their providers call them; none if unknown."""

    def alike(self, other: _Seat, *, held: bool) -> bool:
        """Whether this is the other one; thresholds count if answers are `held` to the rubric's."""
        known = self.replied and other.replied
        return (
            self.key == other.key
            and (not held or self.threshold == other.threshold)
            and (not known or self.replied == other.replied)
        )

    def told(self, other: _Seat | None) -> str:
        """Return the name, with what is not that of the `other` beside model and version."""
        key = self.key
        parts = [f"{key.judge}, {key.model}, version {key.version}" if key.model else key.judge]
        if other is None or self.threshold != other.threshold:
            parts += [] if self.threshold is None else [f"threshold {self.threshold:g}"]
        if other is not None and self.replied != other.replied and self.replied and other.replied:
            parts.append(f"which replied as {' and '.join(sorted(self.replied))}")
        return ", ".join(parts)


def other_judges(pairs: Iterable[tuple[Trial, Trial]], base: JudgingRules, head: JudgingRules) -> OtherJudges | None:
    """Return who judged in two runs where the same cases had different judges; None if none had.

    `pairs` are trials of a case in both runs, under the rules of each. Only judges are compared that a case has in
    both: another list of judges is another case.
    """
    names: tuple[dict[str, None], dict[str, None]] = {}, {}
    cases = 0
    for first, second in pairs:
        seats, others = _seats(first, base), _seats(second, head)
        held = not _held_alike(first, second)
        differing = [
            both
            for judge in seats.keys() & others.keys()
            for both in zip(seats[judge], others[judge], strict=False)
            if not both[0].alike(both[1], held=held)
        ]
        cases += bool(differing)
        for one, other in differing:
            names[0][one.told(other)] = names[1][other.told(one)] = None
    return OtherJudges(tuple(sorted(names[0])), tuple(sorted(names[1])), cases) if cases else None


def _seats(trial: Trial, rules: JudgingRules) -> dict[str, list[_Seat]]:
    """Return who judged an answer, by the name of the judge, in the order of the case."""
    found: dict[str, list[_Seat]] = {}
    for verdict in trial.verdicts:
        votes = () if verdict.judgement is None else verdict.judgement.votes
        seat = _Seat(
            identity(verdict, rules),
            rules.thresholds.get(verdict.judge),
            frozenset(vote.replied for vote in votes if vote.replied),
        )
        found.setdefault(verdict.judge, []).append(seat)
    return found


def _held_alike(first: Trial, second: Trial) -> bool:
    """Whether both answers were held to the same thresholds of the rubric, or to those of the case alone."""
    if not (first.under and second.under):
        return False
    one, other = (Conditions.parse(trial.under).threshold for trial in (first, second))
    return one == other
