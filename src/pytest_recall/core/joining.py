"""Joining: the journals of a run's shards as the one journal that the run would have had without them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pytest_recall.core.errors import RecallError
from pytest_recall.core.record import Header, Record
from pytest_recall.core.rest import changes
from pytest_recall.core.scorecard import has_failed
from pytest_recall.core.shard import Shard, parse

INTERRUPTED = 2
"""The exit code of a run that has not run all that it chose."""
_COMMON = (
    *("date", "seed", "mode", "state", "pr", "model", "scheduled", "writes", "reset", "scenarios", "dimensions"),
    *("baselines", "total", "fingerprint"),
)
_NAMES = {"fingerprint": "slice"}


class Joined(NamedTuple):
    """A run that was joined from its shards: `parts` are the journals that count, by what `source` calls them."""

    record: Record
    parts: Mapping[str, Record]
    notes: tuple[str, ...] = ()


def source(header: Header) -> str:
    """Return what a merged run calls one of its shards."""
    return f"{header.shard} {header.run} {header.started}"


def join(records: Iterable[Record]) -> Joined:
    """Return the run that these shards are of, in whatever order they come, each counted once.

    Of a shard that was run again the later journal counts. What is missing or was cut off is not run, and
    named. Raises RecallError for what is no shard, for shards of different runs, and for none.
    """
    every = sorted(records, key=_order)
    if not every:
        raise RecallError("no shard; give the folders of runs with --recall-shard, or folders that hold some")
    for record in every:
        if not record.header.shard:
            raise RecallError(f"{record.header.run}: is no shard of a run; leave it out")
        check_same(every[0].header, record.header)
    shards: dict[Shard, list[Record]] = defaultdict(list)
    for record in every:
        shards[parse(record.header.shard)].append(record)
    first = every[0].header
    count = next(iter(shards)).of
    notes: list[str] = []
    lost: list[str] = []
    kept: list[Record] = []
    for shard in (Shard(number, count) for number in range(1, count + 1)):
        found = shards.get(shard, [])
        if found:
            kept.append(found[-1])
            notes += _doubles(shard, found)
        lost += _lost(shard, first, found[-1] if found else None)
    trials = tuple(trial for record in kept for trial in record.trials)
    codes = [
        int(has_failed(record.header, record.trials)) if record.exit_code is None else record.exit_code
        for record in kept
    ]
    header = first._replace(
        started=min(record.header.started for record in kept),
        picks=first.slice,
        shard="",
        slice=(),
        ledger="",
        early="",
        merged=tuple(source(record.header) for record in kept),
        lost=tuple(lost),
    )
    calls = tuple(call for record in kept for call in record.calls)
    record = Record(header, trials, INTERRUPTED if lost else max(codes), calls)
    return Joined(record, {source(one.header): one for one in kept}, tuple(notes))


def extended(before: Record, joined: Joined) -> Record:
    """Return the joined run with the trials of `before` first, which a state may have taken in already.

    `before` is an earlier join of shards of the same run. Raises RecallError if one of them is missing now.
    """
    had = {text.partition(" ")[0] for text in before.header.merged}
    if gone := sorted(had - {text.partition(" ")[0] for text in joined.parts}):
        raise RecallError(
            f"{before.header.run}: is already joined from shard {', '.join(gone)} as well; give that too, or another -o"
        )
    news = [part for name, part in joined.parts.items() if name not in before.header.merged]
    trials = (*before.trials, *(trial for part in news for trial in part.trials))
    calls = (*before.calls, *(call for part in news for call in part.calls))
    return joined.record._replace(trials=trials, calls=calls)


def check_same(one: Header, other: Header) -> None:
    """Raise RecallError, naming both, if they are not of shards of one run, or of joins of such."""
    both = f"{_named(one)} and {_named(other)}"
    counts = [header.shard.partition("/")[2] for header in (one, other)]
    if all(counts) and counts[0] != counts[1]:
        raise RecallError(f"{both} are of different runs; merge the shards of one")
    for name in _COMMON:
        values = [getattr(header, name) for header in (one, other)]
        if values[0] != values[1]:
            told = " and ".join(_short(value) for value in values)
            raise RecallError(f"{both} are of different runs: {_NAMES.get(name, name)} {told}; merge the shards of one")
    if changed := changes(one.settings, other.settings):
        raise RecallError(f"{both} differ in {', '.join(changed)}; merge shards that were judged alike")


def _named(header: Header) -> str:
    return f"{header.run} (shard {header.shard})" if header.shard else header.run


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:12]}…"


def _order(record: Record) -> tuple[int, str, str, bool, int]:
    """Return the place of a journal among those of its shard: the later run last, and of copies the longest."""
    header = record.header
    number = parse(header.shard).number if header.shard else 0
    return number, header.started, header.run, record.exit_code is not None, len(record.trials)


def _doubles(shard: Shard, found: list[Record]) -> Iterable[str]:
    last = found[-1].header
    runs = {record.header.run for record in found if source(record.header) != source(last)}
    if runs:
        yield f"{shard.name} was run again: {last.run} counts as the later one, and {', '.join(sorted(runs))} does not"
    elif len(found) > 1:
        yield f"{shard.name} was given {len(found)} times, and counts once"


def _lost(shard: Shard, header: Header, record: Record | None) -> Iterable[str]:
    """Yield the sentence on what is not run of a shard, if anything is not."""
    own = shard.part(case_id for case_id, _ in header.slice)
    left = len(own if record is None else own - {trial.case_id for trial in record.trials if not trial.arm})
    if not left:
        return
    if record is None:
        how = "is missing"
    elif record.exit_code is None:
        how = "was cut off"
    else:
        how = f"ended early ({record.why})" if record.why else "ended early"
    yield f"{shard.name} {how}: {left:,} {'case' if left == 1 else 'cases'} not run"
