"""Define a history of changes, a line for each merged change, and say what it knows of them.

A line says which cases' requests the change changed and, in a counted history, how many trials of each passed before
and after it. `docs/reference/change-history.md` describes the format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from statistics import median
from typing import Any, NamedTuple

from pytest_recall.files.errors import nearest
from pytest_recall.files.wording import shown
from pytest_recall.metrics.hypergeometric import fall_by_chance
from pytest_recall.schedule.bank import LOCAL, AffectedCase

PassCounts = tuple[int, int]
"""Trials of a case that passed, and that failed."""

SOUND = 0.9
"""A case is sound if at least this share of its trials passed."""
LEVEL = 0.005
"""A sound case is broken if chance makes its pass rate fall as far less often than this: Fisher's exact test."""


class KnownCase(NamedTuple):
    """A case of the set: its index in the history, its name, its requests, and how its trials came out, if known."""

    number: int
    name: str
    requests: tuple[str, ...]
    counts: PassCounts | None


class CaseChange(NamedTuple):
    """What a change did to one case: its requests and counts before and after. `name` is empty in a counted history.

    `difference` is the same for cases whose requests differ in the same way; empty where that is not on record.
    """

    number: int
    name: str
    requests: tuple[tuple[str, ...], tuple[str, ...]]
    counts: tuple[PassCounts | None, PassCounts | None] = (None, None)
    difference: str = ""

    @property
    def is_affected(self) -> bool:
        """Whether the case's requests differ."""
        return self.requests[0] != self.requests[1]

    @property
    def fell(self) -> bool:
        """Whether a smaller share of its trials passed after the change than before."""
        before, after = self.counts
        return before is not None and after is not None and rate(after) < rate(before)

    @property
    def is_broken(self) -> bool:
        """Whether it was sound, and fell further than chance makes it."""
        before, after = self.counts
        return before is not None and after is not None and broke(before, after)


class MergedChange(NamedTuple):
    """A line: a merged change, whether it touches the product's `source`, and what it did to the cases.

    `cases` are those of the set where the line lists them, their number where it only counts them, or None.
    """

    commit: str
    day: date
    source: bool = True
    cases: tuple[KnownCase, ...] | int | None = None
    changed: tuple[CaseChange, ...] = ()
    added: tuple[KnownCase, ...] = ()
    removed: tuple[int, ...] = ()

    @property
    def listed(self) -> tuple[KnownCase, ...]:
        """The cases of the set, if the line lists them."""
        return self.cases if isinstance(self.cases, tuple) else ()

    @property
    def affected(self) -> tuple[CaseChange, ...]:
        """The cases whose requests it changed."""
        return tuple(one for one in self.changed if one.is_affected)

    @property
    def is_played(self) -> bool:
        """Whether a pull request of it would have had evals: it touches source, or changed a request."""
        return self.source or any(one.is_affected for one in self.changed)


class ChangeHistory(NamedTuple):
    """Merged changes, the oldest first; `counted` if it has the counts of trials."""

    changes: tuple[MergedChange, ...]
    counted: bool


def rate(counts: PassCounts) -> float:
    """Return the share of trials that passed, 0..1; 0 without any."""
    return counts[0] / sum(counts) if sum(counts) else 0.0


def is_sound(counts: PassCounts) -> bool:
    """Return whether nearly all trials passed."""
    return sum(counts) > 0 and rate(counts) >= SOUND


def broke(before: PassCounts, after: PassCounts) -> bool:
    """Return whether a sound case fell further than chance makes it."""
    return is_sound(before) and fall_by_chance(before, after) < LEVEL


# Reading

MOST_TRIALS = 1_000_000
YEARS = range(1970, 3000)
FIELDS = ("commit", "date", "source", "tests_edited", "paths", "cases", "changed", "added", "removed", "differences")


def parse_change(value: Mapping[str, Any]) -> MergedChange:
    """Return the change in a line's object. Raises ValueError, whose text says what is wrong and what to write."""
    for name in value:
        if name not in FIELDS:
            raise ValueError(f"{name}: unknown field{nearest(name, FIELDS)}")
    for name in ("commit", "date"):
        if name not in value:
            raise ValueError(f"{name}: is missing; add it")
    for name in ("source", "tests_edited"):
        if not isinstance(value.get(name, True), bool):
            raise ValueError(f"{name}: must be true or false, not {shown(value[name])}")
    if not _texts(value.get("paths", [])):
        raise ValueError("paths: must be a list of texts")
    cases = value.get("cases")
    if isinstance(cases, bool) or not isinstance(cases, int | list | None) or (isinstance(cases, int) and cases < 0):
        raise ValueError(f"cases: must be a list of cases or their number, not {shown(cases)}")
    changed = [_changed(one, f"changed.{at}") for at, one in enumerate(_list(value, "changed"))]
    if "differences" in value:
        told = value["differences"]
        if not _texts(told) or len(told) != len(changed):
            raise ValueError("differences: must be a list of texts, one for each of `changed`")
        changed = [one._replace(difference=key) for one, key in zip(changed, told, strict=True)]
    removed = _list(value, "removed")
    return MergedChange(
        commit=_text(value["commit"], "commit"),
        day=_day(value["date"]),
        source=value.get("source", True),
        cases=tuple(_case(one, f"cases.{at}") for at, one in enumerate(cases)) if isinstance(cases, list) else cases,
        changed=tuple(changed),
        added=tuple(_case(one, f"added.{at}") for at, one in enumerate(_list(value, "added"))),
        removed=tuple(_index(one, f"removed.{at}") for at, one in enumerate(removed)),
    )


_CASE = "must be [index, name, [request, …], [passes, fails] or null]"
_COUNTED = "[index, [request before, …], [request after, …], [passes, fails] before, [passes, fails] after]"
_NAMED = "[index, name, [request before, …], [request after, …], true if an answer changed]"


def _case(value: Any, where: str) -> KnownCase:
    if not isinstance(value, list) or len(value) != 4 or not _texts(value[2]):
        raise ValueError(f"{where}: {_CASE}")
    index, name, requests, counts = value
    return KnownCase(
        _index(index, f"{where}.0"), _text(name, f"{where}.1"), tuple(requests), _counts(counts, f"{where}.3")
    )


def _changed(value: Any, where: str) -> CaseChange:
    if isinstance(value, list) and len(value) == 5:
        if _texts(value[1]) and _texts(value[2]):
            index, before, after, *counts = value
            first, second = (_counts(one, f"{where}.{at}") for at, one in enumerate(counts, start=3))
            return CaseChange(_index(index, f"{where}.0"), "", (tuple(before), tuple(after)), (first, second))
        if isinstance(value[1], str) and _texts(value[2]) and _texts(value[3]) and isinstance(value[4], bool):
            index, name, before, after, _ = value
            named = _text(name, f"{where}.1")
            return CaseChange(_index(index, f"{where}.0"), named, (tuple(before), tuple(after)))
    raise ValueError(f"{where}: must be {_COUNTED}, or without counts {_NAMED}")


def _list(value: Mapping[str, Any], name: str) -> list[Any]:
    found = value.get(name, [])
    if not isinstance(found, list):
        raise ValueError(f"{name}: must be a list in brackets, not {shown(found)}")
    return found


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{where}: must be text that is not empty, not {shown(value)}")
    return value


def _index(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{where}: must be the index of a case, a whole number from 0, not {shown(value)}")
    return value


def _counts(value: Any, where: str) -> PassCounts | None:
    if value is None:
        return None
    if (
        not isinstance(value, list)
        or len(value) != 2
        or not all(isinstance(one, int) and not isinstance(one, bool) and 0 <= one <= MOST_TRIALS for one in value)
        or not sum(value)
    ):
        raise ValueError(f"{where}: must be counts of trials, [passes, fails], or null, not {shown(value)}")
    return value[0], value[1]


def _day(value: Any) -> date:
    try:
        day = date.fromisoformat(value)
        if day.year not in YEARS:
            raise ValueError
        return day
    except (TypeError, ValueError):
        raise ValueError(f"date: {shown(value)} is not a date; write one like 2026-01-31") from None


def mistakes(changes: Iterable[tuple[int, MergedChange]]) -> Iterator[tuple[int, str]]:
    """Yield what does not fit together in changes, each given with its line: the line, and a sentence."""
    known: set[int] | None = None
    for line, change in changes:
        if known is None:
            known = set() if isinstance(change.cases, tuple) else None
            if known is None:
                yield from _named_only(line, change)
                continue
        elif isinstance(change.cases, int):
            yield line, "cases: the first line lists the cases, so that no later one has their number; remove it"
        if isinstance(change.cases, tuple):
            known = set()
        for where, cases in (("cases", change.listed), ("added", change.added)):
            for one in cases:
                if one.number in known:
                    yield line, f"{where}: case {one.number} is there already; give the new one an index of its own"
                known.add(one.number)
        for changed in change.changed:
            if changed.name:
                yield line, f"changed: case {changed.number} has no counts, as others of this history do; write null"
            elif changed.number not in known:
                yield (
                    line,
                    f"changed: case {changed.number} is not one of the set; list it in `cases` or `added` before",
                )
        for index in change.removed:
            if index not in known:
                yield line, f"removed: case {index} is not one of the set"
            known.discard(index)


def _named_only(line: int, change: MergedChange) -> Iterator[tuple[int, str]]:
    if any(not one.name for one in change.changed) or change.added or change.removed:
        yield line, "there are counts or cases, and the first line of the history lists none; give it `cases`"


# What it knows


class BrokenCases(NamedTuple):
    """A change that broke sound cases: how many cases it affected, and the indexes of the broken ones."""

    commit: str
    affected: int
    broken: tuple[int, ...]

    @property
    def is_local(self) -> bool:
        """Whether it affected few cases."""
        return self.affected <= LOCAL


class HistoryFacts(NamedTuple):
    """What a history says, whatever would have been run.

    `played` changes touch source or changed a request, `touching` of them the latter; `affected` is the sum of the
    cases over these, and `breadth` the median share of all cases, 0..1, that one of them affected, None without any.
    Of `falls` of a case's pass rate `outside` were in cases whose requests had not changed. `flaky` of `measured`
    cases neither always passed nor always failed under the same requests. The last five are None without counts.
    """

    first: date
    last: date
    played: int
    touching: int
    affected: int
    breadth: float | None
    cases: int
    falls: int | None
    outside: int | None
    bad: tuple[BrokenCases, ...] | None
    measured: int | None
    flaky: int | None

    @property
    def days(self) -> int:
        """Calendar days from the first change to the last, both included."""
        return (self.last - self.first).days + 1


def facts_of(history: ChangeHistory) -> HistoryFacts:
    """Return what `history`, which has one change at least, says."""
    changes = [change for change in history.changes if change.is_played]
    touching = [(change.affected, size) for change, size in sized(history) if change.affected]
    breadths = [min(len(affected) / size, 1.0) for affected, size in touching if size]
    counts = _every_count(history)
    days = [change.day for change in history.changes]
    falls = [one for change in history.changes for one in change.changed if one.fell]
    last, size = list(sized(history))[-1]
    return HistoryFacts(
        first=min(days),
        last=max(days),
        played=len(changes),
        touching=len(touching),
        affected=sum(len(affected) for affected, _ in touching),
        breadth=median(breadths) if breadths else None,
        cases=size + len(last.added) - len(last.removed),
        falls=len(falls) if history.counted else None,
        outside=sum(not one.is_affected for one in falls) if history.counted else None,
        bad=tuple(bad_changes(history)) if history.counted else None,
        measured=len(counts) if history.counted else None,
        flaky=sum(any(passes and fails for passes, fails in told) for told in counts.values())
        if history.counted
        else None,
    )


def bad_changes(history: ChangeHistory) -> Iterator[BrokenCases]:
    """Yield the changes that broke sound cases."""
    for change in history.changes:
        if broken := tuple(one.number for one in change.changed if one.is_broken):
            yield BrokenCases(change.commit, len(change.affected), broken)


def sized(history: ChangeHistory) -> Iterator[tuple[MergedChange, int]]:
    """Yield each change with the number of cases that there were when it was merged; 0 where that is not on record."""
    known: set[int] = set()
    size = 0
    for change in history.changes:
        if isinstance(change.cases, int):
            size = change.cases
        elif change.cases is not None:
            known = {one.number for one in change.cases}
        yield change, len(known) if history.counted else size
        known = (known | {one.number for one in change.added}) - set(change.removed)


def _every_count(history: ChangeHistory) -> dict[int, list[PassCounts]]:
    found: dict[int, list[PassCounts]] = {}
    for change in history.changes:
        told = [(one.number, one.counts) for one in (*change.listed, *change.added)]
        told += [(one.number, one.counts[1]) for one in change.changed]
        for index, counts in told:
            if counts is not None:
                found.setdefault(index, []).append(counts)
    return found


def flake_of(history: ChangeHistory, least: float = SOUND) -> Mapping[int, float]:
    """Return how often each case fails that passed in `least` of its trials, 0..1, by the last counts of the history.

    Without a `least` these are the sound ones.
    """
    last: dict[int, PassCounts] = {}
    for change in history.changes:
        told = [*change.listed, *change.added]
        last |= {one.number: one.counts for one in told if one.counts is not None}
        last |= {one.number: one.counts[1] for one in change.changed if one.counts[1] is not None}
    return {index: 1 - rate(counts) for index, counts in last.items() if sum(counts) and rate(counts) >= least}


def suite_of(name: str) -> str:
    """Return the group that a case's name begins with: what stands before ` - `, or before the last `/`."""
    head, dash, _ = name.partition(" - ")
    return head if dash else name.rpartition("/")[0] or name


def as_affected(
    changes: Sequence[CaseChange], names: Mapping[int, str], falls: Mapping[int, int]
) -> list[AffectedCase]:
    """Return affected cases as a bank chooses from them: ids are indexes.

    Where no difference is on record, the cases of one suite stand for one.
    """
    return [
        AffectedCase(
            str(one.number), one.difference or suite_of(one.name or names.get(one.number, "")), falls.get(one.number, 0)
        )
        for one in changes
    ]
