"""Sources: files with cases, whatever their kind, and which of their cases a run wants."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from pytest_recall.cases.case import Case
from pytest_recall.cases.filters import Filters
from pytest_recall.files.errors import RecallError


class Source(Protocol):
    """A file with cases: where each is, and the cases themselves.

    Those of a dataset or a profile are on no schedule, and run for a `reason` of their own; it is empty for others.

    `memory` is the selector that the file itself names, empty where it names none; its relative paths are those
    from `root`, or from the project's where that is None.
    """

    @property
    def name(self) -> str: ...
    @property
    def lines(self) -> dict[str, int]: ...
    @property
    def reason(self) -> str: ...
    @property
    def memory(self) -> str: ...
    @property
    def root(self) -> Path | None: ...

    def cases(self, ids: Iterable[str] | None = None) -> list[Case]:
        """Return the cases with these ids, or all. Raises RecallError."""
        ...


def check_others(source: Source, others: Iterable[Source]) -> None:
    """Raise RecallError if a case of `source` is one of the `others` as well."""
    for other in others:
        if both := source.lines.keys() & other.lines.keys():
            raise RecallError(
                f"{source.name}: asks `{min(both)}`, as {other.name} does; run one of the files at a time"
            )


def kept_ids(files: Iterable[Source], wanted: Filters) -> set[str]:
    """Return the ids of the cases in `files` that are wanted; cases are read only if they must be."""
    if not wanted.narrows:
        return {case_id for file in files for case_id in file.lines}
    return {case.id for case in read_cases(files) if wanted.keeps(case.scenario, case.dimension)}


def read_cases(files: Iterable[Source]) -> list[Case]:
    """Return every case of `files`. Raises RecallError."""
    return [case for file in files for case in file.cases()]
