"""Compute every aggregate of a run again from its answers, and compare it with what the files say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isclose
from typing import Any, NamedTuple

from pytest_recall.horizon.aggregates import aggregates, cells, counts
from pytest_recall.horizon.evaluation import CheckpointTrial
from pytest_recall.horizon.published import PublishedRun, Stop, disclosure_fields, summary_fields

TOLERANCE = 1e-12


class Difference(NamedTuple):
    """A number that is `written` in a file, at a place in it, and what the answers come to."""

    place: str
    written: Any
    computed: Any


class Rescored(NamedTuple):
    """What computing a run's numbers again has shown."""

    compared: int
    """How many numbers were compared."""
    differences: tuple[Difference, ...]
    """Those numbers that are not what the answers come to."""
    hollow: tuple[str, ...] = ()
    """The checkpoints whose answers are in no file: neither they nor totals over them can be computed."""


def rescore(
    run: PublishedRun, progress: Sequence[Mapping[str, Any]] = (), lines: Sequence[CheckpointTrial] | None = None
) -> Rescored:
    """Return what is written in `result.json`, and in the lines of `progress`, beside what the answers come to.

    `lines` are those of `questions.jsonl`, where they say their checkpoint: their points must be those of the
    result. Numbers may differ by 1e-12 of their size.
    """
    found = list(_result(run))
    by_stop = {(stop.persona, stop.label): stop for stop in run.stops}
    for line in progress:
        stop = by_stop.get((str(line.get("personaId")), str(line.get("range", {}).get("label"))))
        if line.get("type") == "checkpoint" and stop is not None and not stop.hollow:
            found += _compare(f"progress.jsonl: {_place(run, stop)}", line, _progress(stop))
        elif line.get("type") == "summary" and not run.hollow:
            found += _compare("progress.jsonl: summary", line, _counts(run))
    found += [] if lines is None else _answers(run, lines)
    different = tuple(one for one in found if not _same(one.written, one.computed))
    return Rescored(len(found), different, tuple(run.hollow))


def _result(run: PublishedRun) -> Iterator[Difference]:
    written = run.written
    if written is None:
        return
    for entry in written.get("personas", ()):
        persona = str(entry.get("personaId"))
        stops = [stop for stop in run.stops if stop.persona == persona]
        for stop in stops:
            if stop.written is not None and not stop.hollow:
                yield from _compare(f"result.json: {_place(run, stop)}", stop.written, aggregates(stop))
        if any(stop.hollow for stop in stops):
            continue
        yield from _compare(
            f"result.json: {persona}",
            entry,
            {"totalEvalsRun": sum(stop.summary().scored for stop in stops), "heatmap": cells(stops)},
        )
    if run.hollow:
        return
    yield from _compare("result.json", written, {"heatmap": cells(run.stops)})
    yield from _compare("result.json: metadata", written.get("metadata") or {}, _counts(run))
    yield from _compare("result.json", written, disclosure_fields(run.evaluations, measured=run.measured))


def _counts(run: PublishedRun) -> dict[str, int | None]:
    found = counts(run)
    if run.written is not None and (run.written.get("metadata") or {}).get("reconstructed"):
        del found["appellateInvocations"]  # Published files that were rebuilt do not say who was asked.
    return found


def _progress(stop: Stop) -> dict[str, Any]:
    return {**summary_fields(stop.summary(), scores=False), "daysIngested": stop.days}


def _place(run: PublishedRun, stop: Stop) -> str:
    return stop.label if len(run.personas) == 1 else f"{stop.persona}, {stop.label}"


def _compare(place: str, written: Any, computed: Any) -> Iterator[Difference]:
    """Yield each number of `computed` with what is written in its place; a key that is not written is passed over."""
    if isinstance(computed, Mapping) and isinstance(written, Mapping):
        for name, value in computed.items():
            if name == "thirdOutcomes" and name in written:
                yield Difference(f"{place}, {name}", written[name], value)
            elif name in written:
                yield from _compare(f"{place}, {name}", written[name], value)
    elif isinstance(computed, list) and isinstance(written, list) and _named(computed) and _named(written):
        by_name = {_name(one): one for one in written}
        for one in computed:
            name = _name(one)
            if name in by_name:
                yield from _compare(f"{place} {name}", by_name[name], one)
            else:
                yield Difference(f"{place} {name}", None, one.get("questionCount"))
    else:
        yield Difference(place, written, computed)


def _named(rows: Sequence[Any]) -> bool:
    return bool(rows) and all(isinstance(row, Mapping) and "category" in row for row in rows)


def _name(row: Mapping[str, Any]) -> str:
    return " ".join(str(row[key]) for key in ("range", "category") if key in row)


def _same(written: Any, computed: Any) -> bool:
    if isinstance(written, list) and isinstance(computed, list):
        return len(written) == len(computed) and all(map(_same, written, computed))
    if isinstance(written, int | float) and isinstance(computed, int | float):
        return isclose(written, computed, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(written == computed)


def _answers(run: PublishedRun, lines: Iterable[CheckpointTrial]) -> Iterator[Difference]:
    """Yield the points of each line, beside those in the result. Of several lines of a question the last counts."""
    last = {(one.persona, one.checkpoint, one.question.id): one for one in lines}
    for stop in run.stops:
        for one in stop.evaluations:
            line = last.pop((stop.persona, stop.label, one.question.id), None)
            place = f"questions.jsonl: {_place(run, stop)} {one.question.id}"
            yield Difference(f"{place}, score", None if line is None else _told(line), _told(one))
    known = {(stop.persona, stop.label) for stop in run.stops}
    for (persona, label, id), line in last.items():
        if (persona, label) in known and line.points is not None:
            yield Difference(f"questions.jsonl: {label} {id}, score", _told(line), None)


def _told(one: CheckpointTrial) -> list[int] | str | None:
    return list(one.points[:3]) if one.points is not None else one.failure
