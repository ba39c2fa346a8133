"""Measure what a memory found of the relevant days, beside floors and a ceiling that return as many tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from itertools import zip_longest
from math import inf
from typing import NamedTuple

from pytest_recall.datasets.rescoring import PASSAGES
from pytest_recall.files.wording import listed, plural
from pytest_recall.horizon.day import session_of
from pytest_recall.horizon.evaluation import JUDGE, CheckpointTrial, HandedOut
from pytest_recall.horizon.question import CATEGORIES, BenchQuestion
from pytest_recall.metrics.clustered import Clustered, clustered_mean, clustered_share
from pytest_recall.metrics.coverage import coverage
from pytest_recall.metrics.floors import (
    FLOORS,
    FULL,
    LAST,
    NOTHING,
    ORACLE,
    RANDOM,
    SizedUnit,
    discriminates,
    handed_out,
)
from pytest_recall.metrics.retrieval import ndcg_longmemeval
from pytest_recall.trials.trial import Verdict

SYSTEM = "memory"
"""What the rows of the memory itself are called, beside those of floors and ceiling."""
ROWS = (SYSTEM, NOTHING, RANDOM, LAST, FULL, ORACLE)
BY_DAYS = "days-1"
"""The version of verdicts on passages by the days that they are from."""
IDEAL = 10
"""Ranks that the best order fills, at least: what is returned may be less, and is no better for that."""
TEXTS = 10
"""Texts, of the average size, that floors and ceiling return where it is decided what questions can tell."""
_DAY = re.compile(r"day-(\d+)(?:/.*)?")


class AskedAfter(NamedTuple):
    """What was asked at a checkpoint, and what was told since the one before."""

    persona: str
    label: str
    days: int
    evaluations: Sequence[CheckpointTrial]
    units: Sequence[SizedUnit] | None
    """None where these are unknown."""


class FoundDays(NamedTuple):
    """What was found for a question."""

    key: Hashable
    recall: float
    """The share of the relevant days."""
    mrr: float
    """Where these days stand among what was returned; the two fields below measure this as well."""
    ndcg: float
    ndcg_longmemeval: float
    session: float | None
    """The share of the days' parts in the session that the question names; None if it names none, or an id does not."""
    passages: float
    tokens: float | None


class RetrievalMeans(NamedTuple):
    """Means over questions; shares are from 0 to 1."""

    recall: Clustered
    mrr: Clustered
    ndcg: Clustered
    ndcg_longmemeval: Clustered
    session: Clustered
    passages: Clustered
    """How many were returned for a question."""
    tokens: Clustered
    """How many were returned for a question."""


class WithFloors(NamedTuple):
    """The memory beside what does not search, by the names of `ROWS`; of the memory alone where that is unknown."""

    rows: Mapping[str, RetrievalMeans]

    @property
    def system(self) -> RetrievalMeans:
        """What the memory found."""
        return self.rows[SYSTEM]

    @property
    def discriminates(self) -> bool | None:
        """Whether each floor finds less than the interval of the memory's recall begins with; None if not known."""
        floors = [self.rows[name].recall.value or 0.0 for name in FLOORS if name in self.rows]
        recall = self.system.recall
        low = recall.value if recall.low is None else recall.low
        return discriminates(low, recall.clusters, floors)

    @property
    def floors(self) -> dict[str, float]:
        """The recall of the floors that return something."""
        shares = {name: self.rows[name].recall.value for name in (RANDOM, LAST) if name in self.rows}
        return {name: share for name, share in shares.items() if share is not None}


class RetrievalReport(NamedTuple):
    """What a memory found in a run; days and sessions are known by the ids of the passages."""

    everything: WithFloors
    """First in each output."""
    untelling: tuple[str, ...]
    """The categories in which these questions cannot tell the evidence itself from a floor, for whichever memory."""
    categories: Mapping[str, WithFloors]
    stops: tuple[tuple[str, int, WithFloors], ...]
    cells: Mapping[tuple[str, str], WithFloors]
    unmeasurable: int
    """How many answers are in no mean since a passage does not say where it is from."""
    closed: int
    """How many answers are in no mean since they are to questions about what must not be told, for which returning the
    evidence is no merit."""
    unknown: int
    """How many answers are in no mean since their files do not say all of it."""
    answers: tuple[tuple[str, Mapping[str, Sequence[FoundDays]]], ...] = ()

    @property
    def n(self) -> int:
        """The answers that are measured."""
        return self.everything.system.recall.n

    def without(self, categories: Collection[str]) -> WithFloors | None:
        """Return the means without some categories; None if none of these has an answer, or no other one."""
        kept = [rows for category, rows in self.answers if category not in categories]
        return _beside(kept) if 0 < len(kept) < len(self.answers) else None


class _Told(NamedTuple):
    """What was told by a checkpoint, in that order, the tokens by id, and the units of each day."""

    units: Sequence[SizedUnit]
    sizes: Mapping[str, int]
    days: Mapping[int | None, Sequence[SizedUnit]]

    @classmethod
    def of(cls, units: Sequence[SizedUnit]) -> _Told:
        days: dict[int | None, list[SizedUnit]] = {}
        for unit, day in zip(units, days_of(unit.id for unit in units), strict=True):
            days.setdefault(day, []).append(unit)
        return cls(units, {unit.id: unit.tokens for unit in units}, days)


def retrieval(stops: Iterable[AskedAfter]) -> RetrievalReport | None:
    """Return what a memory found at checkpoints, in their order; None if it returned no passages to any question."""
    every: dict[str, dict[str, SizedUnit] | None] = {}
    found: list[tuple[AskedAfter, str, Mapping[str, Sequence[FoundDays]]]] = []
    unmeasurable = closed = unknown = 0
    asked: list[AskedAfter] = []
    gaps: dict[str, list[tuple[Hashable, Mapping[str, float]]]] = {}
    for stop in stops:
        asked.append(stop)
        # The parts of a merged run may each have been told the days from the first one.
        before = every.get(stop.persona, {})
        known = None if before is None or stop.units is None else before | {unit.id: unit for unit in stop.units}
        every[stop.persona] = known
        told = None if known is None else _Told.of(list(known.values()))
        for one in stop.evaluations:
            handed = handed_of(one)
            if told is not None and not one.question.forbidden_sessions:
                gaps.setdefault(one.question.category, []).append(_gaps(one, told, stop.label))
            if handed is None:
                unknown += one.answered_by in ("passages", "model")
            elif one.question.forbidden_sessions:
                closed += 1
            elif None in days_of(handed.ids):
                unmeasurable += 1
            else:
                found.append((stop, one.question.category, _rows(one, handed, told, stop.label)))
    if not found and not unmeasurable + closed + unknown:
        return None
    categories: dict[str, WithFloors] = {}
    for name in CATEGORIES:
        if those := [rows for _, category, rows in found if category == name]:
            categories[name] = _beside(those)
    cells: dict[tuple[str, str], list[Mapping[str, Sequence[FoundDays]]]] = {}
    for stop, category, rows in found:
        cells.setdefault((stop.label, category), []).append(rows)
    return RetrievalReport(
        everything=_beside([rows for _, _, rows in found]),
        untelling=tuple(name for name in categories if name in gaps and not _can_tell(gaps[name])),
        categories=categories,
        stops=tuple(
            (one.label, one.days, _beside(those))
            for one in asked
            if (those := [rows for stop, _, rows in found if stop is one])
        ),
        cells={place: _beside(those) for place, those in cells.items()},
        unmeasurable=unmeasurable,
        closed=closed,
        unknown=unknown,
        answers=tuple((category, rows) for _, category, rows in found),
    )


def handed_of(one: CheckpointTrial) -> HandedOut | None:
    """Return what the memory returned; None if it answers by itself, or no file says all of it."""
    found = one.retrieval
    if one.handed_out is not None or not one.answered_by or not 0 < len(found) < PASSAGES:
        return one.handed_out
    # Of a run by a version that wrote no more down than where each passage is from.
    return HandedOut(tuple(passage.get("path") for passage in found), None)


def found_days(one: CheckpointTrial) -> FoundDays | None:
    """Return what the memory found for a question; None where it cannot be known, or is not to be found."""
    handed = handed_of(one)
    if handed is None or one.question.forbidden_sessions or None in days_of(handed.ids):
        return None
    return _measured(one, [id for id in handed.ids if id is not None], handed.tokens)


def days_verdict(question: BenchQuestion, ids: Sequence[str | None]) -> Verdict | None:
    """Return the verdict on passages, by their ids: they pass if all relevant days are among them.

    None where it cannot be known what a passage is from, and where to return the evidence is no merit.
    """
    days = days_of(ids)
    if question.forbidden_sessions or None in days:
        return None
    relevant = sorted(set(question.relevant_days))
    missed = [day for day in relevant if day not in days]
    count = len(relevant) - len(missed)
    told = f"{count} of {plural(len(relevant), 'relevant day')} found"
    return Verdict(
        passed=not missed,
        score=count / len(relevant),
        reason=f"{told}, not {listed(map(str, missed))}" if missed else told,
        judge=JUDGE,
        version=BY_DAYS,
    )


def has_evidence(one: CheckpointTrial) -> bool | None:
    """Whether a passage is from a relevant day, and from the session in which the question is asked if it names that.

    None where it cannot be known: it is an answer, or a passage does not say what it is from.
    """
    handed = handed_of(one) if one.answered_by == "passages" else None
    return None if handed is None else is_evidence(one.question, handed.ids)


def is_evidence(question: BenchQuestion, ids: Sequence[str | None]) -> bool | None:
    """Whether one of these passages is from the evidence, as in `has_evidence`."""
    days = days_of(ids)
    if None in days:
        return None
    asked_in = question.query_session
    return any(
        day in question.relevant_days and (asked_in is None or session_of(id or "") in ("", asked_in))
        for id, day in zip(ids, days, strict=True)
    )


def _rows(one: CheckpointTrial, handed: HandedOut, told: _Told | None, label: str) -> dict[str, list[FoundDays]]:
    """Return what the memory, the floors and the ceiling found for a question, for each draw."""
    found = {SYSTEM: [_measured(one, [id for id in handed.ids if id is not None], handed.tokens)]}
    if told is None or handed.tokens is None:
        return found
    gold, sizes = _evidence(told, one.question), told.sizes
    for name, draws in handed_out(told.units, gold, handed.tokens, f"{label}/{one.question.id}").items():
        found[name] = [_measured(one, ids, min(handed.tokens, sum(sizes[id] for id in ids))) for ids in draws]
    return found


def _gaps(one: CheckpointTrial, told: _Told, label: str) -> tuple[Hashable, dict[str, float]]:
    """Return by how much the evidence finds more than each floor, at as many tokens as some texts take on average.

    Nothing of it is the memory's: all that are told and asked the same have the same.
    """
    budget = TEXTS * sum(told.sizes.values()) / max(len(told.units), 1)
    relevant = set(one.question.relevant_days)

    def share(draws: Sequence[Sequence[str]]) -> float:
        return sum(len(relevant & set(days_of(ids))) for ids in draws) / len(draws) / len(relevant)

    every = handed_out(told.units, _evidence(told, one.question), budget, f"{label}/{one.question.id}")
    return (one.persona, one.question.id), {name: share(every[ORACLE]) - share(every[name]) for name in FLOORS}


def _can_tell(gaps: Sequence[tuple[Hashable, Mapping[str, float]]]) -> bool:
    """Whether the evidence finds more than each floor by more than the questions may differ by chance."""
    for name in FLOORS:
        found = clustered_mean((key, gap[name]) for key, gap in gaps)
        if found.low is None:
            # All alike is no certainty: of one question nothing is known, and of more as if each were a yes or no.
            found = clustered_share((key, max(gap[name], 0.0)) for key, gap in gaps)
        if found.clusters < 2 or found.value is None or found.value <= 0 or found.low is None or found.low <= 0:
            return False
    return True


def _evidence(told: _Told, question: BenchQuestion) -> list[str]:
    """Return the ids of the evidence: first the smallest part of each relevant day, so that all days come soon."""
    asked_in = question.query_session
    days = [
        [unit for unit in told.days.get(day, ()) if asked_in is None or session_of(unit.id) in ("", asked_in)]
        for day in sorted(set(question.relevant_days))
    ]
    parts = [sorted(units, key=lambda unit: unit.tokens) for units in days]
    return [unit.id for row in zip_longest(*parts) for unit in row if unit is not None]


def _measured(one: CheckpointTrial, ids: Sequence[str], tokens: int | None) -> FoundDays:
    asked = one.question
    days = days_of(ids)
    ideal = max(IDEAL, len(days))
    found = coverage([[day] for day in days], asked.relevant_days, ideal)
    by_longmemeval = ndcg_longmemeval(days, asked.relevant_days, ideal)
    assert found is not None, "a question has a relevant day"
    assert by_longmemeval is not None
    session = None
    if asked.query_session is not None and all(map(session_of, ids)):
        parts = [[(day, session_of(id))] for day, id in zip(days, ids, strict=True)]
        gold = [(day, asked.query_session) for day in asked.relevant_days]
        by_session = coverage(parts, gold, ideal)
        session = None if by_session is None else by_session.fraction
    key = (one.persona, asked.id)
    return FoundDays(key, found.fraction, found.reciprocal_rank, found.ndcg, by_longmemeval, session, len(days), tokens)


def days_of(ids: Iterable[str | None]) -> list[int | None]:
    """Return the day that each id names, None for one that names none."""
    found = (None if id is None else _DAY.fullmatch(id) for id in ids)
    return [None if one is None else int(one[1]) for one in found]


def _beside(questions: Sequence[Mapping[str, Sequence[FoundDays]]]) -> WithFloors:
    names = [name for name in ROWS if name == FULL or all(name in rows for rows in questions)]
    rows = {name: _means([rows[name] for rows in questions if name in rows]) for name in names}
    system = rows[SYSTEM]
    if system.recall.low is None and system.recall.value in (0.0, 1.0) and system.recall.clusters > 1:
        # All alike is no certainty: of as many shares as there are questions Wilson's interval has a width.
        alike = clustered_share((found.key, bool(system.recall.value)) for each in questions for found in each[SYSTEM])
        rows[SYSTEM] = system._replace(recall=alike)
    return WithFloors({name: one for name, one in rows.items() if one.recall.n or name == SYSTEM})


def _means(questions: Sequence[Sequence[FoundDays]]) -> RetrievalMeans:
    """Return the means over questions, of each the mean over its draws."""

    def mean(of: Callable[[FoundDays], float | None]) -> Clustered:
        values = [(draws[0].key, [value for one in draws if (value := of(one)) is not None]) for draws in questions]
        return clustered_mean(((key, sum(draw) / len(draw)) for key, draw in values if draw), within=(0, inf))

    known = all(one.tokens is not None for draws in questions for one in draws)
    return RetrievalMeans(
        recall=_share(mean(lambda one: one.recall)),
        mrr=_share(mean(lambda one: one.mrr)),
        ndcg=_share(mean(lambda one: one.ndcg)),
        ndcg_longmemeval=_share(mean(lambda one: one.ndcg_longmemeval)),
        session=_share(mean(lambda one: one.session)),
        passages=mean(lambda one: one.passages),
        # What is not known of one question is not known of the mean.
        tokens=mean(lambda one: one.tokens if known else None),
    )


def _share(one: Clustered) -> Clustered:
    """Return the mean of shares; its interval does not reach beyond 1."""
    return one if one.high is None else one._replace(high=min(one.high, 1.0))
