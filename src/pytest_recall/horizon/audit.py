"""Export answers of a run for a second look, and read the grades that people wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pytest_recall.files.disk import read_text, write_text
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.json_lines import Appended, as_lines, objects
from pytest_recall.files.validation import MAX_PROBLEMS
from pytest_recall.horizon.corpus import Corpus
from pytest_recall.horizon.evaluation import CheckpointTrial, Points
from pytest_recall.horizon.published import PublishedRun, Stop, points_of
from pytest_recall.horizon.questioning import evidence
from pytest_recall.horizon.regrade import FORMER, AuditItem, Key, Regrade, items, key, problem

FOLDER = "audit"
DEFECTS, STALE, AUDITED, NOTES = "defects.jsonl", "stale.jsonl", "audited.json", "notes.md"
EVIDENCE = 6_000
"""Characters of the days' texts that an item has at most."""
_PASSAGES, _SNIPPET = 10, 700
_WRITTEN = ("grade", "cause", "corrected", "why")
"""What someone writes into an item."""
_NOW = {former: name for name, former in FORMER.items()}


class Exported(NamedTuple):
    """The file of a checkpoint: how many items it has, how many of them with a grade, and how many became stale."""

    path: Path
    items: int
    grades: int
    stale: int


class AuditRead(NamedTuple):
    """What the `files` of an audit say: `waiting` items are without a grade yet."""

    files: int
    regrades: tuple[Regrade, ...]
    waiting: int


def export(
    folder: Path,
    run: PublishedRun,
    stops: Sequence[Stop],
    seed: int,
    corpus: Corpus | None,
    page: Callable[[str, Sequence[Mapping[str, Any]]], str],
) -> list[Exported]:
    """Write what to look at again at some checkpoints, below the run's `folder`; `page` makes a readable text of it.

    What someone has written stays, also into items that would not be drawn now. What was written of another
    answer than the run has now goes to `stale.jsonl`. Raises RecallError and OSError.
    """
    # Read all before anything is written, so that a mistake in one file leaves every file as it is.
    known = {stop_key(stop): _read(folder / FOLDER / file_of(run, stop)) for stop in stops}
    done = []
    for stop in stops:
        path = folder / FOLDER / file_of(run, stop)
        answers = {one.question.id: one for one in stop.evaluations}
        wanted = {item.evaluation.question.id: _plain(item, corpus) for item in items(stop, seed)}
        stale = []
        for line, written in known[stop_key(stop)]:
            id = written.get("questionId")
            one = answers.get(id) if isinstance(id, str) else None
            if not any(written.get(name) for name in _WRITTEN):
                if corpus is None and id in wanted and "evidence" in written:
                    wanted[str(id)]["evidence"] = written["evidence"]
                continue
            if one is None:
                raise RecallError(f"{path}:{line}: questionId: {id!r} was not asked at {stop.label}; restore the line")
            if not _same(one, written):
                stale.append(written)
            else:
                # An item that is not drawn any more is as it was.
                kept = {name: written.get(name) for name in _WRITTEN}
                if corpus is None and "evidence" in written:
                    kept["evidence"] = written["evidence"]
                wanted[one.question.id] = {**wanted.get(one.question.id, written), **kept}
        if stale:
            with Appended(folder / FOLDER / STALE) as file:
                for written in stale:
                    file.append(written)
        rows = list(wanted.values())
        write_text(path, as_lines(rows))
        write_text(path.with_suffix(".md"), page(stop.label, rows))
        done.append(Exported(path, len(rows), sum(bool(row["grade"]) for row in rows), len(stale)))
    return done


def read_regrades(folder: Path, run: PublishedRun) -> AuditRead:
    """Return the grades that are written below the run's `folder`. Raises RecallError, a sentence a mistake."""
    known = {key(one): one for one in run.evaluations}
    regrades: dict[Key, Regrade] = {}
    problems, files, waiting = list[str](), 0, 0
    for stop in run.stops:
        path = folder / FOLDER / file_of(run, stop)
        files += path.is_file()
        for line, plain in _read(path):
            id = plain.get("questionId")
            one = known.get((stop.persona, stop.label, str(id)))
            try:
                found = _regrade(plain, one, stop.label)
                if found is not None and key(found.evaluation) in regrades:
                    raise ValueError(f"questionId: {id!r} is there twice; leave one")
            except ValueError as error:
                problems.append(f"{path}:{line}: {error}")
                continue
            if found is None:
                waiting += 1
            else:
                regrades[key(found.evaluation)] = found
    if problems:
        raise RecallError(*problems[:MAX_PROBLEMS])
    return AuditRead(files, tuple(regrades.values()), waiting)


def write_defects(folder: Path, regrades: Iterable[Regrade]) -> int:
    """Write the questions that are at fault, each with where it was asked and what was said; return how many."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for one in regrades:
        asked = one.evaluation.question
        if one.grade == "case_defect":
            plain = found.setdefault(
                (one.evaluation.persona, asked.id),
                {
                    "personaId": one.evaluation.persona,
                    "questionId": asked.id,
                    "question": asked.question,
                    "referenceAnswer": asked.answer,
                    "relevantDays": list(asked.relevant_days),
                    "checkpoints": [],
                    "notes": [],
                },
            )
            plain["checkpoints"].append(one.evaluation.checkpoint)
            if one.why and one.why not in plain["notes"]:
                plain["notes"].append(one.why)
    path = folder / FOLDER / DEFECTS
    if found or path.exists():
        write_text(path, as_lines(found.values()))
    return len(found)


def stops_of(run: PublishedRun, label: str | None) -> list[Stop]:
    """Return the checkpoints with a label, or all. Raises RecallError if there is none."""
    found = [stop for stop in run.stops if label in (None, stop.label)]
    if not found:
        raise RecallError(
            f"--checkpoint: `{label}` is unknown{nearest(str(label), [stop.label for stop in run.stops])}"
        )
    return found


def stop_key(stop: Stop) -> tuple[str, str]:
    """Return which checkpoint it is."""
    return stop.persona, stop.label


def file_of(run: PublishedRun, stop: Stop) -> str:
    """Return the name of a checkpoint's file; of several personas each has its own."""
    name = stop.label if len(run.personas) == 1 else f"{stop.persona}-{stop.label}"
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    return f"_{safe}.jsonl" if f"{safe}.jsonl" in (DEFECTS, STALE) or safe.startswith(".") else f"{safe}.jsonl"


def _plain(item: AuditItem, corpus: Corpus | None) -> dict[str, Any]:
    one, asked = item.evaluation, item.evaluation.question
    assert one.points is not None
    plain: dict[str, Any] = {
        "personaId": one.persona,
        "checkpoint": one.checkpoint,
        "questionId": asked.id,
        "chosen": [item.chosen],
        "category": asked.category,
        "difficulty": asked.difficulty,
        "relevantDays": list(asked.relevant_days),
        "question": asked.question,
        "referenceAnswer": asked.answer,
        "systemAnswer": one.answer,
        "score": one.points.to_json(),
        "composite": one.points.composite,
    }
    if one.primary is not None:
        plain["primaryScore"] = one.primary.to_json()
    if corpus is not None:
        texts = {day: corpus.text(day) for day in asked.relevant_days if day in corpus.days}
        shown = evidence(asked, texts, EVIDENCE)
        plain["evidence"] = [{"day": day, "text": text} for day, text in shown.items()]
    plain["retrieval"] = [
        {name: value[:_SNIPPET] if isinstance(value, str) else value for name, value in found.items()}
        for found in one.retrieval[:_PASSAGES]
    ]
    return {**plain, "grade": "", "cause": "", "corrected": None, "why": ""}


def _read(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """Return the items of a file, which are none if it is not there. Raises RecallError."""
    if not path.is_file():
        return []
    rows = list(objects(read_text(path, str(path))))
    if problems := [f"{path}:{line}: {problem}" for line, _, problem in rows if problem]:
        raise RecallError(*problems[:MAX_PROBLEMS])
    return [(line, _current(plain)) for line, plain, _ in rows]


def _current(plain: dict[str, Any]) -> dict[str, Any]:
    """Return an item by the names of today: earlier files have `why` for `chosen`, `verdict` and `note`."""
    item = {name: value for name, value in plain.items() if name not in ("verdict", "note")}
    if "chosen" not in item and "why" in item and "grade" not in item:
        item["chosen"] = [item.pop("why")]
    verdict = plain.get("verdict")
    if isinstance(verdict, str):
        verdict = _NOW.get(verdict.strip(), verdict.replace("-", "_"))
    for name, value in (("grade", verdict), ("why", plain.get("note"))):
        if value and not item.get(name):
            item[name] = value
    return item


def _regrade(plain: Mapping[str, Any], one: CheckpointTrial | None, label: str) -> Regrade | None:
    """Return what an item says; None if it has no grade. Raises ValueError."""
    if one is None:
        raise ValueError(f"questionId: {plain.get('questionId')!r} was not asked at {label}; restore the line")
    for name in ("grade", "cause", "why"):
        if not isinstance(plain.get(name, ""), str):
            raise ValueError(f"{name}: {plain[name]!r} is not text; write it in quotes, or leave it empty")
    grade, cause = str(plain.get("grade", "")).strip(), str(plain.get("cause", "")).strip()
    corrected = None if plain.get("corrected") is None else _corrected(plain["corrected"])
    if not grade:
        if cause or corrected is not None:
            raise ValueError("grade: is empty, but there is a cause, or corrected points; write one")
        return None
    if not _same(one, plain):
        raise ValueError("systemAnswer: the run has another answer or other points now; export again, and look again")
    if told := problem(one, grade, cause, corrected):
        raise ValueError(told)
    return Regrade(one, grade, cause, corrected, str(plain.get("why", "")).strip())  # type: ignore[arg-type]


def _corrected(value: Any) -> Points:
    try:
        return points_of({"corrected": value}, "corrected")
    except ValueError as error:
        shape = '{"correctness": 0 to 3, "completeness": 0 to 2, "hallucination": 0 or 1}'
        raise ValueError(f"{error}; write {shape}, or null") from None


def _same(one: CheckpointTrial, plain: Mapping[str, Any]) -> bool:
    """Whether an item is of the answer and the points that the run has."""
    points = None if one.points is None else one.points.composite
    return plain.get("systemAnswer") == one.answer and plain.get("composite") == points
