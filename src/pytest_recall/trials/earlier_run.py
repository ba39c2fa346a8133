"""Decide whether the earlier run in a folder is resumed, all is asked again, or the folder is that of another run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from pytest_recall.files.errors import RecallError
from pytest_recall.trials.record import Record

if TYPE_CHECKING:
    from pathlib import Path


class RunDifference(NamedTuple):
    """What differs between the earlier run in a folder and the one that begins."""

    text: str
    asks_again: bool = False
    """Whether all is asked again in the same folder, as after an edit of the memory; else this is another run."""


def earlier_run(
    folder: Path,
    record: Record,
    differences: Iterable[RunDifference],
    *,
    fresh: bool,
    rerun_reason: Callable[[], str],
    set_aside: Callable[[], Path],
    tell: Callable[[str], None],
    memory: str,
) -> Record | None:
    """Return the earlier run if it is resumed; None if it was set aside, which `tell` is told.

    It is set aside where all is asked again: with `fresh`, for a difference of that kind, or for `rerun_reason`, which
    returns in words why that is so for another reason. A run without a trial is resumed or set aside, whatever differs.
    Raises RecallError for another run.
    """
    found = list(differences)
    if record.trials and (others := [one.text for one in found if not one.asks_again]):
        raise RecallError(
            f"{folder}: holds another run: {'; '.join(others)}; name another --out, or give the same options as before"
        )
    why = "--fresh" if fresh else " and ".join(one.text for one in found) or rerun_reason()
    if not (why if record.trials else found):
        return record
    there = set_aside()
    if record.trials:
        tell(f"{memory}: {why}; all questions are asked again; the earlier ones are in {there}")
    return None
