"""Define questions about a persona's days, and the checkpoints and order they are asked in.

The generator is mulberry32, and starts again from the seed at every shuffle, as in Recall
Bench. Equal sizes are therefore shuffled alike; what is drawn at two checkpoints is related.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args

from pydantic import Field

from pytest_recall.files.errors import RecallError
from pytest_recall.horizon.persona import PRINCIPAL, Day, Text, WrittenModel

FULL = 2**53 - 1
"""The days of a range that is as long as the corpus."""
ALIASES = {"30d": 30, "90d": 90, "6mo": 180, "1y": 365, "full": FULL}
"""The named ranges, in days, which are also the ones that no one has to ask for."""
_UNITS = {"": 1, "d": 1, "m": 30, "mo": 30, "y": 365}
_MOST = 10_000
_LISTED = 6
"""Ranges that are written one by one where a step would say the same."""


class Range(NamedTuple):
    """A checkpoint: how it is called, and after how many days it is."""

    label: str
    days: int

    def cutoff(self, last_day: int) -> int:
        """Return the last day that is told, of a corpus that ends with `last_day`."""
        return min(self.days, last_day)


DEFAULT = tuple(Range(label, days) for label, days in ALIASES.items())


def parse_range(written: Any) -> Range:
    """Return the range that is written: a number of days, `30d`, `6mo`, `1y`, or `full`. Raises RecallError."""
    if isinstance(written, dict) and set(written) == {"label", "days"}:
        label, days = written["label"], written["days"]
        if isinstance(label, str) and label and _is_count(days):
            return Range(label, days)
    if _is_count(written):
        return Range(f"{written}d", written)
    if isinstance(written, str):
        text = written.strip()
        if text in ALIASES:
            return Range(text, ALIASES[text])
        match = re.fullmatch(r"([1-9][0-9]{0,5})(d|mo?|y)?", text)
        if match:
            days = int(match[1]) * _UNITS[match[2] or ""]
            return Range(text if match[2] else f"{days}d", days)
    raise RecallError(f"{written!r} is not a range; write days like 30, 30d, 6mo or 1y, or `full`")


def parse_ranges(written: Any) -> tuple[Range, ...]:
    """Return ranges from the shortest to the longest, of a list, `{start, end, step}`, or `{series: [...]}`.

    A label that comes twice is taken once. Raises RecallError.
    """
    if isinstance(written, str):
        written = [part for part in re.split(r"[,\s]+", written) if part]
    if isinstance(written, dict) and set(written) == {"series"}:
        written = written["series"]
    if isinstance(written, dict) and set(written) == {"start", "end", "step"}:
        start, end, step = written["start"], written["end"], written["step"]
        if not (_is_count(start) and _is_count(end) and _is_count(step) and start <= end):
            raise RecallError(f"ranges: {written!r} is not a range; give whole numbers of days with start <= end")
        if (end - start) // step >= _MOST:
            raise RecallError(f"ranges: are more than {_MOST:,}; take a larger step")
        found: Iterable[Range] = (Range(f"{days}d", days) for days in range(start, end + 1, step))
    elif isinstance(written, list) and written:
        found = (one for part in written for one in _one_or_more(part))
    else:
        raise RecallError(
            f"ranges: {written!r} is not a list of ranges; write one like [30d, 90d, full], or start, end and step"
        )
    unique: dict[str, Range] = {}
    for one in found:
        unique.setdefault(one.label, one)
    return tuple(sorted(unique.values(), key=lambda one: one.days))


def shorter(ranges: Sequence[Range], last_day: int) -> tuple[str, str]:
    """Return ranges without those that end a corpus of so many days again, as an option and as a profile have them."""
    days = [*dict.fromkeys(one.cutoff(last_day) for one in ranges)]
    names = {one.cutoff(last_day): one.label for one in reversed(ranges) if one.days < last_day}
    labels = [names.get(day, f"{day}d") for day in days]
    option, written = " ".join(labels), f"[{', '.join(labels)}]"
    steps = {after - before for before, after in pairwise(days)}
    if len(days) > _LISTED and len(steps) == 1:
        written = f"{{start: {days[0]}, end: {days[-1]}, step: {steps.pop()}}}"
    return f"--ranges {option}", f"ranges: {written}"


def _one_or_more(part: Any) -> tuple[Range, ...]:
    return parse_ranges(part) if isinstance(part, dict) and "step" in part else (parse_range(part),)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= FULL


Category = Literal[
    "factual-recall",
    "temporal-reasoning",
    "decision-tracking",
    "contradiction-resolution",
    "cross-reference",
    "recency-bias-resistance",
    "synthesis",
    "negative-recall",
    "group-session-attribution",
    "information-boundary",
]
CATEGORIES: tuple[Category, ...] = get_args(Category)
GROUP_CATEGORIES = ("group-session-attribution", "information-boundary")
"""Categories that are asked only where the memory is told of sessions."""
Difficulty = Literal["easy", "medium", "hard"]
DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)
Disclosure = Literal["refuse", "partial", "answer"]


class BenchQuestion(WrittenModel):
    """One graded question.

    It can be asked once all of its days are over.
    """

    id: Annotated[str, Field(min_length=1, max_length=200)]
    question: Text
    answer: Text
    category: Category
    difficulty: Difficulty
    relevant_days: Annotated[tuple[Day, ...], Field(min_length=1)]
    requires_synthesis: bool = False
    query_session: Text | None = None
    """The session in which it is asked."""
    forbidden_sessions: tuple[Text, ...] = ()
    """Those in which something was said that must not come out in the `query_session`."""
    expected_disclosure: Disclosure | None = None
    """What is right in place of that."""
    irrelevant_after: Day | None = None
    """The last day on which it can be asked."""

    @property
    def asked_in(self) -> str:
        """The session in which it is asked."""
        return self.query_session or PRINCIPAL

    def is_eligible(self, day: int) -> bool:
        """Whether it can be asked at the end of a day."""
        return max(self.relevant_days) <= day and (self.irrelevant_after is None or day <= self.irrelevant_after)


def eligible(questions: Sequence[BenchQuestion], day: int) -> list[BenchQuestion]:
    """Return the questions that can be asked at the end of a day."""
    return [one for one in questions if one.is_eligible(day)]


Item = TypeVar("Item")
Sampler = Literal["stratified", "plain"]
"""How older questions are drawn: by their category's share, or, as in early published runs, from all of them."""
_MASK = 0xFFFFFFFF


def mulberry32(seed: int) -> Iterator[float]:
    """Yield numbers from 0 to below 1, the same for the same seed: Tommy Ettinger's 32-bit generator."""
    state = seed & _MASK
    while True:
        state = (state + 0x6D2B79F5) & _MASK
        mixed = ((state ^ (state >> 15)) * (1 | state)) & _MASK
        mixed = ((mixed + ((mixed ^ (mixed >> 7)) * (61 | mixed))) & _MASK) ^ mixed
        yield ((mixed ^ (mixed >> 14)) & _MASK) / 2**32


def shuffled(items: Sequence[Item], seed: int) -> list[Item]:
    """Return the items in an order that the seed decides (Fisher and Yates); 0 leaves them as they are."""
    found = list(items)
    if seed == 0:
        return found
    draws = mulberry32(seed)
    for last in range(len(found) - 1, 0, -1):
        other = int(next(draws) * (last + 1))
        found[last], found[other] = found[other], found[last]
    return found


def stratified(items: Sequence[Item], count: int, seed: int, stratum: Callable[[Item], str]) -> list[Item]:
    """Return `count` of the items, or all if there are no more, from each stratum by its share.

    What rounding down leaves goes to the largest remainders, of equal ones to the larger stratum,
    then to the one that comes first. The drawn come stratum by stratum.
    """
    if len(items) <= count:
        return list(items)
    strata: dict[str, list[Item]] = {}
    for item in items:
        strata.setdefault(stratum(item), []).append(item)
    shares = {name: len(members) / len(items) * count for name, members in strata.items()}
    places = {name: int(share) for name, share in shares.items()}
    # There are fewer places left than strata, and of none all members are in already.
    largest = sorted(strata, key=lambda one: (-(shares[one] - places[one]), -len(strata[one])))
    for name in largest[: count - sum(places.values())]:
        places[name] += 1
    return [item for name, members in strata.items() for item in shuffled(members, seed)[: places[name]]]


def plain(items: Sequence[Item], count: int, seed: int) -> list[Item]:
    """Return `count` of the items, or all if there are no more, from all of them alike."""
    return list(items) if len(items) <= count else shuffled(items, seed)[:count]


class Checkpoint(NamedTuple):
    """A stop in the story."""

    place: int
    """Counted from 1."""
    range: Range
    days: int
    """The last day that is told by then."""
    asked: tuple[BenchQuestion, ...]
    """Its questions, in their order."""
    fresh: int
    """How many of these were never possible before."""
    sampled: int
    """How many older questions are asked."""
    available: int
    """How many older questions there are."""
    eligible: Mapping[str, int]
    """How many questions are possible, by category, with those that are left out since the memory is not told of
    sessions."""


def checkpoints(
    questions: Sequence[BenchQuestion],
    ranges: Iterable[Range],
    last_day: int,
    *,
    sample: int | None,
    seed: int,
    left_out: Collection[str] = (),
    sampler: Sampler = "stratified",
) -> list[Checkpoint]:
    """Return the checkpoints of a run, from the first to the last, without questions of categories `left_out`.

    New questions are always asked. Of older ones `sample` are, by their category's share, or all without it.
    """
    seen: set[str] = set()
    found = []
    for place, one in enumerate(ranges, start=1):
        days = one.cutoff(last_day)
        possible = eligible(questions, days)
        allowed = [question for question in possible if question.category not in left_out]
        fresh = [question for question in allowed if question.id not in seen]
        older = [question for question in allowed if question.id in seen]
        drawn = older
        if sample is not None and sampler == "stratified":
            drawn = stratified(older, sample, seed, lambda question: question.category)
        elif sample is not None:
            drawn = plain(older, sample, seed)
        seen.update(question.id for question in allowed)
        found.append(
            Checkpoint(
                place=place,
                range=one,
                days=days,
                asked=tuple(shuffled([*fresh, *drawn], seed)),
                fresh=len(fresh),
                sampled=len(drawn),
                available=len(older),
                eligible=Counter(question.category for question in possible),
            )
        )
    return found
