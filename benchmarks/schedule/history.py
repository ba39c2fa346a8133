"""Read a history of merged changes: which requests of eval cases each changed, and how their trials came out.

A history is JSON lines, one for each merged change, the oldest first; a name that ends in `.gz` is decompressed. Its
first line has the `cases`: `[index, name, [request, …], [passes, fails] or null]`. A line has `commit`, `date`, whether
it touches `source`, and the cases that it `changed`, `added` and `removed`. What it changed is
`[index, [request before, …], [request after, …], [passes, fails] before, [passes, fails] after]`. A history without
counts has a number of `cases` in place of the list, and `[index, name, [request, …], [request, …], …]`.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from fisher import fall_by_chance

SOUND = 0.9
"""A case is sound if it passed in this share of its trials at least."""
LEVEL = 0.005
"""A sound case is broken if its pass rate falls so far by chance less often than this (Fisher's exact test)."""
ALWAYS_PASSED = 0.005
"""How often a case is taken to fail that always passed: ten passes do not say never."""


class HistoryError(Exception):
    """A history that cannot be played; its text says why, and what to do."""


class Counts(NamedTuple):
    """How the trials of a case came out."""

    passes: int
    fails: int

    @property
    def rate(self) -> float:
        """The share that passed, 0..1; 0 without trials."""
        return self.passes / max(self.passes + self.fails, 1)


class KnownCase(NamedTuple):
    """A case by its index, and its counts where they are on record."""

    number: int
    counts: Counts | None


class CaseChange(NamedTuple):
    """What a change did to one case: whether it is `affected`, because its requests differ, and its counts."""

    number: int
    affected: bool
    before: Counts | None = None
    after: Counts | None = None

    @property
    def is_broken(self) -> bool:
        """Whether the case was sound, and fell further than chance makes it."""
        if self.before is None or self.after is None or self.before.rate < SOUND:
            return False
        return fall_by_chance(self.before, self.after) < LEVEL


class MergedChange(NamedTuple):
    """A merged change; `source` if it touches the product. `cases` is a new list of all, None where it has none."""

    commit: str
    day: date
    source: bool
    cases: tuple[KnownCase, ...] | None
    changed: tuple[CaseChange, ...]
    added: tuple[KnownCase, ...]
    removed: tuple[int, ...]

    @property
    def affected(self) -> list[int]:
        """The cases whose requests it changed."""
        return [one.number for one in self.changed if one.affected]

    @property
    def broken(self) -> set[int]:
        """The sound cases that it broke."""
        return {one.number for one in self.changed if one.is_broken}


class History(NamedTuple):
    """Merged changes, the oldest first; `counted` if it says how trials came out."""

    changes: tuple[MergedChange, ...]
    counted: bool

    @property
    def days(self) -> int:
        """Calendar days from the first change to the last, both included."""
        days = [change.day for change in self.changes]
        return (max(days) - min(days)).days + 1


def read_history(path: Path) -> History:
    """Return the history in a file. Raises HistoryError."""
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        lines = data.decode().splitlines()
    except OSError as error:
        raise HistoryError(f"{path}: cannot be read ({error.strerror or error}); name a .jsonl or .jsonl.gz") from None
    except (EOFError, zlib.error, UnicodeDecodeError) as error:
        raise HistoryError(f"{path}: cannot be read ({error}); write the file again") from None
    changes = []
    for number, line in enumerate(lines, start=1):
        try:
            changes.append(_change(json.loads(line)))
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise HistoryError(
                f"{path}:{number}: is no change ({error!r}); benchmarks/schedule/history.py describes the format"
            ) from None
    if not changes:
        raise HistoryError(f"{path}: has no changes; write a line for each")
    return History(tuple(changes), changes[0].cases is not None)


def flakes(history: History, least: float = SOUND) -> tuple[float, ...]:
    """Return how often each case that passed in the share `least` of its trials fails, by its last counts; ascending.

    Empty for a history without counts.
    """
    last: dict[int, Counts] = {}
    for index, counts in _counts(history):
        last[index] = counts
    return tuple(sorted(max(1 - counts.rate, ALWAYS_PASSED) for counts in last.values() if counts.rate >= least))


def _counts(history: History) -> Iterator[tuple[int, Counts]]:
    for change in history.changes:
        for case in (*(change.cases or ()), *change.added):
            if case.counts is not None:
                yield case.number, case.counts
        for one in change.changed:
            if one.after is not None:
                yield one.number, one.after


def _change(line: Mapping[str, Any]) -> MergedChange:
    cases = line.get("cases")
    return MergedChange(
        commit=line["commit"],
        day=date.fromisoformat(line["date"]),
        source=line.get("source", True),
        cases=tuple(map(_case, cases)) if isinstance(cases, list) else None,
        changed=tuple(map(_case_change, line.get("changed", ()))),
        added=tuple(map(_case, line.get("added", ()))),
        removed=tuple(map(int, line.get("removed", ()))),
    )


def _case(value: list[Any]) -> KnownCase:
    index, _, _, counts = value
    return KnownCase(int(index), _read_counts(counts))


def _case_change(value: list[Any]) -> CaseChange:
    index, first, second, third, last = value
    if isinstance(first, str):  # The name of a case without counts.
        return CaseChange(int(index), second != third)
    return CaseChange(int(index), first != second, _read_counts(third), _read_counts(last))


def _read_counts(value: list[int] | None) -> Counts | None:
    return None if value is None else Counts(*map(int, value))
