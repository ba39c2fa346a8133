"""Merge the parts of a run, and rebuild `result.json` from a run's lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from pytest_recall.files.disk import read_text, write_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.json_lines import as_lines, objects
from pytest_recall.files.wording import listed
from pytest_recall.horizon.aggregates import metadata, result_json
from pytest_recall.horizon.published import BESIDE, PublishedRun, Stop, checkpoint_line, summary_line
from pytest_recall.horizon.run_file import FAILURES, PROGRESS, QUESTIONS, RESULT, places_of, read_lines, write_result
from pytest_recall.horizon.runs import Rebuilt, read_run, rebuild


class MergedRun(NamedTuple):
    """One run of several."""

    run: PublishedRun
    sources: tuple[int, ...]
    """The place in `runs` of each of its checkpoints."""
    replaced: tuple[str, ...]
    """The checkpoints that are in more than one run."""


def rebuild_result(folder: Path) -> tuple[Rebuilt, dict[str, Any]]:
    """Return the run that the lines in `folder` come to, and its `result.json`. Raises RecallError."""
    if not folder.is_dir():
        raise RecallError(f"{folder}: no such directory; name the folder of a run")
    lines = read_lines(folder)
    if not lines.checkpoints:
        raise RecallError(f"{folder / PROGRESS}: holds no checkpoint, so that there is nothing to rebuild")
    if lines.questions is None:
        raise RecallError(
            f"{folder / QUESTIONS}: is not there, and {PROGRESS} holds no answers; `recall bench heatmap` shows it"
        )
    found = rebuild(lines, folder.resolve().name)
    total = max(_int(one.get("totalCheckpoints")) for one in lines.checkpoints)
    about = {
        **found.run.about,
        "reconstructed": True,
        "reconstructedCheckpoints": len(found.run.stops),
        "reconstructedComplete": len(found.run.stops) >= total * len(found.run.personas),
    }
    return found, result_json(replace(found.run, about=about))


def merge_folders(folders: Sequence[Path], out: Path) -> MergedRun:
    """Write the union of runs to the folder `out`, which must be new or empty. Raises RecallError and OSError.

    `questions.jsonl` is written where all of them have one; each of its lines then says its checkpoint.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RecallError(f"{out}: is there already; name a folder that is new")
    runs = [replace(read_run(folder), name=str(folder)) for folder in folders]
    for folder, run in zip(folders, runs, strict=True):
        if not run.stops:
            raise RecallError(f"{folder}: has reached no checkpoint, so that there is nothing to merge")
        if run.hollow:
            raise RecallError(f"{folder}: no file holds the answers of {listed(run.hollow)}; it cannot be merged")
    merged = merge(runs, out.resolve().name)
    lines = [_questions(folder, merged, place) for place, folder in enumerate(folders)]
    _write(out / PROGRESS, progress(merged.run))
    if all(one is not None for one in lines):
        _write(out / QUESTIONS, [plain for one in lines for plain in one or ()])
    appealed = {(one.persona, one.question.id, one.answer) for one in merged.run.evaluations if one.appealed}
    if failures := [plain for folder in folders for plain in _failures(folder / FAILURES) if _key(plain) in appealed]:
        _write(out / FAILURES, failures)
    write_result(out / RESULT, result_json(merged.run))
    return merged


def _questions(folder: Path, merged: MergedRun, source: int) -> list[Mapping[str, Any]] | None:
    """Return the lines of questions that count, with their checkpoint; None without a file."""
    lines = read_lines(folder)
    if lines.written is None:
        return None
    days = {
        (stop.persona, stop.label): stop.days
        for stop, place in zip(merged.run.stops, merged.sources, strict=True)
        if place == source
    }
    return [
        {**plain, "checkpoint": place[1], "day": days[place]}
        for plain, place in zip(lines.written, places_of(lines), strict=True)
        if place in days
    ]


def _failures(path: Path) -> list[Mapping[str, Any]]:
    return [plain for _, plain, problem in objects(read_text(path, str(path))) if not problem] if path.is_file() else []


def _key(plain: Mapping[str, Any]) -> tuple[str, str, str]:
    asked = plain.get("qa") if isinstance(plain.get("qa"), dict) else {}
    return str(plain.get("personaId")), str((asked or {}).get("id")), str(plain.get("systemAnswer") or "")


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    write_text(path, as_lines(rows))


def _int(value: Any) -> int:
    return value if isinstance(value, int) else 0


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
    for name in ("durationMs", "unasked", "stop", "memoryModels"):
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
            told += [f"different {name}" for name in sorted({*one, *another}) if one.get(name) != another.get(name)]
        else:
            told.append(f"`{key}` is {one!r} and {another!r}")
    if first.pairs != other.pairs and None not in (first.pairs, other.pairs):
        told.append(f"there are {first.pairs} questions and {other.pairs}")
    return told
