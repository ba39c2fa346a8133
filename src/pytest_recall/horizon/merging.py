"""Merge the parts of a run, and rebuild `result.json` from a run's lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_recall.files.disk import read_text, write_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.json_lines import as_lines, objects
from pytest_recall.files.wording import listed
from pytest_recall.horizon.aggregates import result_json
from pytest_recall.horizon.merge import MergedRun, merge, progress
from pytest_recall.horizon.run_file import FAILURES, PROGRESS, QUESTIONS, RESULT, places_of, read_lines, write_result
from pytest_recall.horizon.runs import Rebuilt, read_run, rebuild


def rebuild_result(folder: Path) -> tuple[Rebuilt, dict[str, Any]]:
    """Return the run that the lines in `folder` come to, and its `result.json`. Raises RecallError."""
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
