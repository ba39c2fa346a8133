"""Join the journals of shards, wherever they were put, into one run with a journal and a scorecard."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.results.scorecard import Scorecard
from pytest_recall.runs import finish
from pytest_recall.runs.job import Job
from pytest_recall.runs.resume import check_same, extended, join
from pytest_recall.trials.journal import NAME, read_journal, write_journal
from pytest_recall.trials.record import Header, Record


class JoinedRun(NamedTuple):
    """A run that was joined from its shards, where it is, and what should be said of it."""

    folder: Path
    record: Record
    card: Scorecard
    notes: tuple[str, ...]


def merge(place: Place, given: Iterable[str], out: Path | None, now: datetime, job: Job) -> JoinedRun:
    """Join the shards in the folders `given` into the run folder `out`, by default one among the artifacts.

    A run that was joined from shards of the same slice before is brought up to date in its place, and what
    the state has taken in of it stays first. Raises RecallError or OSError, and then has changed nothing.
    """
    records, notes = _found(place, given)
    joined = join(records)
    folder = out or _earlier(place, joined.record.header)
    before = read_journal(folder) if folder is not None and (folder / NAME).is_file() else None
    record = joined.record
    if before is not None and folder is not None:
        if not before.header.merged:
            raise RecallError(f"{folder}: holds a run that is not joined from shards; name another folder")
        check_same(before.header, record.header)
        record = extended(before, joined) if finish.is_applied(place, before) else record
    elif folder is not None and folder.is_dir() and any(folder.iterdir()):
        raise RecallError(f"{folder}: is not empty, and holds no run; name another folder")
    if folder is None:
        folder = place.artifacts.new_run(now)
    folder.mkdir(parents=True, exist_ok=True)
    record = record._replace(header=record.header._replace(run=folder.resolve().name))
    write_journal(folder, record)
    card = finish.scorecard(record, place, folder)
    finish.write_scorecard(place, folder, record, card, job, newest=out is None)
    return JoinedRun(folder, record, card, (*notes, *joined.notes))


def _found(place: Place, given: Iterable[str]) -> tuple[list[Record], list[str]]:
    """Return the journals in `given`, of folders the shards below them, and what was passed over."""
    folders: dict[Path, Record] = {}
    others = 0
    for name in given:
        path = Path(name)
        tree = path.is_dir() and not (path / NAME).is_file()
        below = sorted(one.parent for one in path.rglob(NAME)) if tree else [place.artifacts.find(name)]
        if not below:
            raise RecallError(f"{name}: holds no run; give the folders that the shards wrote, or where they were put")
        for folder in below:
            record = read_journal(folder)
            if tree and not record.header.shard:
                others += not record.header.merged
            else:
                folders[folder.resolve()] = record
    told = f"{others:,} {'run that is not a shard was' if others == 1 else 'runs that are not shards were'} passed over"
    return list(folders.values()), [told] if others else []


def _earlier(place: Place, header: Header) -> Path | None:
    """Return the folder of the newest run among the artifacts that was joined from shards of the same slice."""
    for folder in reversed(place.artifacts.runs()):
        try:
            known = read_journal(folder).header
            if known.merged:
                check_same(known, header)
                return folder
        except RecallError:
            continue
    return None
