"""Merge the parts of one run, such as those of two machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pytest_recall.files.errors import RecallError
from pytest_recall.horizon.aggregates import metadata
from pytest_recall.horizon.published import PublishedRun, Stop, checkpoint_line, summary_line

BESIDE = (
    *("appealed", "ingestMs", "queryMs", "newDaysIngested", "newUnits"),
    *("newQuestionCount", "historicalEvaluated", "historicalAvailable"),
)
"""What a checkpoint's line says beside what its answers come to."""


def merge(runs: Sequence[PublishedRun], name: str) -> MergedRun:
    """Return the union of the checkpoints; of one that several have, the last of them counts.

    Raises RecallError for runs of different configurations.
    """
    first = runs[0]
    for other in runs[1:]:
        if told := [*_differences(first, other)]:
            raise RecallError(
                f"{first.name} and {other.name} are not parts of one run: {'; '.join(told)};"
                " merge runs of one configuration, and compare others with `recall bench report`"
            )
    found: dict[tuple[str, str], tuple[int, Stop]] = {}
    replaced = []
    for place, run in enumerate(runs):
        for stop in run.stops:
            if (stop.persona, stop.label) in found:
                replaced.append(stop.label)
            found[stop.persona, stop.label] = (place, stop)
    personas = list(dict.fromkeys(persona for persona, _ in found))
    ordered = sorted(found.values(), key=lambda one: (personas.index(one[1].persona), one[1].days))
    stops = tuple(stop for _, stop in ordered)
    about: dict[str, Any] = {key: value for run in runs for key, value in run.about.items()}
    durations = [run.about.get("durationMs") for run in runs]
    known = [one for one in durations if isinstance(one, int | float)]
    # What one part did not ask, another one may have.
    for name in ("durationMs", "unasked", "stopped", "memoryModels"):
        about.pop(name, None)
    if len(known) == len(runs):
        about["durationMs"] = sum(known)
    about["ranges"] = list({stop.label: stop.range for stop in sorted(stops, key=lambda stop: stop.days)}.values())
    run = replace(
        first, name=name, stops=stops, about=about, written=None, timestamp=min(run.timestamp for run in runs)
    )
    return MergedRun(run, tuple(place for place, _ in ordered), tuple(dict.fromkeys(replaced)))


def progress(run: PublishedRun) -> list[dict[str, Any]]:
    """Return the lines of `progress.jsonl` of a run."""
    header = {"type": "header", "timestamp": run.timestamp, **run.config, "ranges": run.about.get("ranges")}
    lines = [header]
    for persona in run.personas:
        stops = [stop for stop in run.stops if stop.persona == persona]
        for place, stop in enumerate(stops, start=1):
            known = {name: (stop.written or {})[name] for name in BESIDE if name in (stop.written or {})}
            told = (stop.finished, persona, place, len(stops), stop.range, stop.days, stop.summary(), known)
            lines.append(checkpoint_line(*told))
    return [*lines, summary_line(run.stops[-1].finished, metadata(run))]


def _differences(first: PublishedRun, other: PublishedRun) -> list[str]:
    told = []
    for key in sorted({*first.config, *other.config}):
        one, another = first.config.get(key), other.config.get(key)
        if one == another:
            continue
        if isinstance(one, Mapping) and isinstance(another, Mapping):
            # Such as hashes, which say nothing to anybody.
            told += [f"the {name} differ" for name in sorted({*one, *another}) if one.get(name) != another.get(name)]
        else:
            told.append(f"`{key}` is {one!r} and {another!r}")
    if first.pairs != other.pairs and None not in (first.pairs, other.pairs):
        told.append(f"there are {first.pairs} questions and {other.pairs}")
    return told


class MergedRun(NamedTuple):
    """One run of several, and the place in `runs` of each of its checkpoints; `replaced` are in more than one."""

    run: PublishedRun
    sources: tuple[int, ...]
    replaced: tuple[str, ...]
