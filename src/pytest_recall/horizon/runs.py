"""Read the folder of a run, whichever program wrote it, and put its result together from its lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from pytest_recall.files.errors import RecallError
from pytest_recall.files.json_lines import objects
from pytest_recall.files.strict_json import strict_json
from pytest_recall.files.validation import MAX_PROBLEMS
from pytest_recall.files.wording import plural
from pytest_recall.horizon.evaluation import CheckpointTrial
from pytest_recall.horizon.published import BESIDE, PublishedRun, Stop, evaluation_of, is_measured
from pytest_recall.horizon.run_file import (
    FAILURES,
    PERSONA,
    PROGRESS,
    RESULT,
    Lines,
    count_of,
    is_count,
    places_of,
    read_lines,
    text_of,
    wrong_number,
)
from pytest_recall.trials.journal import read_header

_HEADER = frozenset({"type", "timestamp"})


class UnreachedError(RecallError):
    """A run that goes on, or was stopped, before all questions of its first checkpoint are answered."""


class Rebuilt(NamedTuple):
    """A run put together from its lines."""

    run: PublishedRun
    orphans: int
    """How many answers after its last checkpoint are left out."""


def read_run(folder: Path) -> PublishedRun:
    """Return the run in `folder`: its `result.json`, or where there is none, its lines. Raises RecallError.

    What `questions.jsonl` and `failures.jsonl` say of an answer beside it is added: what was found, and what failed.
    """
    if not folder.is_dir():
        raise RecallError(f"{folder}: no such directory; name the folder of a run")
    lines = read_lines(folder)
    path = folder / RESULT
    if path.is_file():
        run = _run_of(_object(path), lines, str(path), folder.resolve().name)
        with suppress(RecallError):  # What a run has come to can be read without its journal.
            planned = read_header(folder).questions
            run = replace(run, about={**run.about, "planned": planned})
        return _enriched(run, lines, _appeals(folder / FAILURES))
    if not lines.checkpoints and (planned := _planned(folder)):
        raise UnreachedError(_answered(folder, lines, planned))
    if not lines.checkpoints:
        raise RecallError(f"{folder}: holds neither {RESULT} nor a checkpoint in {PROGRESS}; name the folder of a run")
    return rebuild(lines, folder.resolve().name).run


def _planned(folder: Path) -> int:
    """Return how many questions the run in a folder has; 0 where no journal says so."""
    try:
        header = read_header(folder)
    except RecallError:
        return 0
    return header.questions if header.source_kind == PERSONA else 0


def _answered(folder: Path, lines: Lines, planned: int) -> str:
    """Return in words how far a run has come that has reached no checkpoint."""
    asked = lines.questions or ()
    answers = len({(one.checkpoint, one.question.id) for one in asked})
    first = next((f", {one.checkpoint}," for one in asked), "")
    told = f"{answers:,} of {plural(planned, 'question')} answered, and the first checkpoint{first} is not whole yet"
    return f"{folder}: {told}; its figures come with that"


def read_answered(folder: Path, name: str) -> PublishedRun:
    """Return the run in `folder`, called `name`. Raises RecallError, also where its files hold no answers."""
    run = replace(read_run(folder), name=name)
    if not run.evaluations:
        raise RecallError(f"{name}: holds no answers, but only what they came to; `recall bench heatmap` shows that")
    return run


def rebuild(lines: Lines, name: str) -> Rebuilt:
    """Return the run that lines come to. Raises RecallError.

    Each answer goes to the checkpoint that it names, or else to the first one that ended at its time or later.
    """
    places = [(str(one.get("personaId")), str(one["range"]["label"])) for one in lines.checkpoints]
    parts: dict[tuple[str, str], list[CheckpointTrial]] = {place: [] for place in places}
    orphans = 0
    for one, found in zip(lines.questions or (), places_of(lines), strict=True):
        if found is None:
            orphans += 1
        else:
            parts[found].append(one)
    stops = []
    for plain, place in zip(lines.checkpoints, places, strict=True):
        # A question that was asked again after it failed is there twice.
        last = {one.question.id: one for one in parts[place]}
        label, days = place[1], int(plain["daysIngested"])
        stops.append(
            Stop(
                persona=place[0],
                label=label,
                days=days,
                evaluations=tuple(one.with_facts(checkpoint=label, day=days) for one in last.values()),
                eligible=_eligible(plain),
                finished=str(plain.get("timestamp") or ""),
                written=plain,
                measured=is_measured(lines.header),
            )
        )
    about = {key: value for key, value in lines.header.items() if key not in ("type", "timestamp", "adapterName")}
    about |= {key: lines.summary[key] for key in ("durationMs",) if key in lines.summary}
    return Rebuilt(
        PublishedRun(
            name=name,
            adapter=str(lines.header.get("adapterName") or ""),
            timestamp=str(lines.header.get("timestamp") or ""),
            stops=tuple(stops),
            about=about,
            config=config_of(lines.header),
            pairs=count_of(lines.summary.get("uniqueQAPairCount")),
        ),
        orphans,
    )


def config_of(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return what parts of one run have in common: all that a header says but times and ranges."""
    return {name: _common(value) for name, value in header.items() if name not in (*_HEADER, "ranges")}


def _common(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _common(inner) for name, inner in value.items() if name not in ("ranges", "timestamp")}
    return value


def _run_of(plain: Mapping[str, Any], lines: Lines, name: str, run: str) -> PublishedRun:
    stops: list[Stop] = []
    problems: list[str] = []
    about = plain["metadata"] if isinstance(plain.get("metadata"), dict) else {}
    measured = is_measured(about)
    finished = {(str(one.get("personaId")), str(one["range"]["label"])): one for one in lines.checkpoints}
    for persona_at, persona in enumerate(_list(plain.get("personas"), f"{name}: personas")):
        id = str(persona.get("personaId"))
        where = f"{name}: personas[{persona_at}].rangeResults"
        for at, row in enumerate(_list(persona.get("rangeResults"), where)):
            label = row["range"].get("label") if isinstance(row.get("range"), dict) else None
            days = row.get("daysIngested")
            if not isinstance(label, str) or not is_count(days):
                raise RecallError(f"{where}[{at}]: says no `range.label` or no `daysIngested`; rebuild the file")
            if wrong := wrong_number(row):
                raise RecallError(f"{where}[{at}].{wrong} is not a number; rebuild the file")
            found = []
            for part in ("questionResults", "questionFailures"):
                for place, one in enumerate(_list(row.get(part, []), f"{where}[{at}].{part}")):
                    try:
                        found.append(evaluation_of(one, id, label, days))
                    except ValueError as error:
                        problems.append(f"{where}[{at}].{part}[{place}]: {error}; restore the file, or rebuild it")
            line = finished.get((id, label), {})
            # Times of a checkpoint are in its line alone.
            times = {key: line[key] for key in BESIDE if key in line}
            stops.append(
                Stop(
                    persona=id,
                    label=label,
                    days=days,
                    evaluations=tuple(found),
                    eligible=_eligible(row),
                    finished=str(line.get("timestamp") or ""),
                    written={**row, **times},
                    measured=measured,
                )
            )
    if problems:
        raise RecallError(*problems[:MAX_PROBLEMS])
    header = lines.header or {**about, "adapterName": plain.get("adapterName")}
    counts = ("durationMs", "totalEvalsRun", "uniqueQAPairCount", "appellateInvocations", "unasked", "stop")
    return PublishedRun(
        name=run,
        adapter=str(plain.get("adapterName") or ""),
        timestamp=str(plain.get("timestamp") or ""),
        stops=tuple(stops),
        about={"ranges": plain.get("ranges"), **about},
        config={key: value for key, value in config_of(header).items() if key not in counts},
        pairs=count_of(about.get("uniqueQAPairCount")),
        written=plain,
    )


def _enriched(
    run: PublishedRun, lines: Lines, appeals: Mapping[tuple[str, str, str], Mapping[str, Any]]
) -> PublishedRun:
    """Return the run with what its lines say beside the result: retrieval, failures, appeals."""
    places = [(one.persona, one.checkpoint) for one in lines.questions or ()] if lines.labelled else places_of(lines)
    known = {(*place, one.question.id): one for one, place in zip(lines.questions or (), places, strict=True) if place}
    stops = []
    for stop in run.stops:
        found = []
        for one in stop.evaluations:
            line = known.pop((stop.persona, stop.label, one.question.id), None)
            appeal = appeals.get((stop.persona, one.question.id, one.answer), {})
            if line is not None and line.answer == one.answer:
                one = one.with_facts(
                    timestamp=line.timestamp,
                    retrieval=line.retrieval,
                    tool_calls=line.tool_calls,
                    handed_out=line.handed_out,
                    primary=one.primary or line.primary,
                    appealed=one.appealed or line.appealed,
                    context=line.context,
                    error=one.error or line.error,
                    usd=line.usd,
                    answered_by=line.answered_by,
                )
            elif one.appealed and isinstance(appeal.get("retrieval"), list):
                one = one.with_facts(retrieval=tuple(got for got in appeal["retrieval"] if isinstance(got, dict)))
            found.append(one)
        missing = [key for key, one in known.items() if key[:2] == (stop.persona, stop.label) and one.points is None]
        found += [known.pop(key).with_facts(checkpoint=stop.label, day=stop.days) for key in missing]
        stops.append(replace(stop, evaluations=tuple(found)))
    return replace(run, stops=tuple(stops))


def _appeals(path: Path) -> dict[tuple[str, str, str], Mapping[str, Any]]:
    """Return the lines of `failures.jsonl` by persona, question and answer."""
    rows = [plain for _, plain, problem in objects(text_of(path)) if not problem] if path.is_file() else []
    return {
        (str(one.get("personaId")), str(one["qa"].get("id")), str(one.get("systemAnswer") or "")): one
        for one in rows
        if isinstance(one.get("qa"), dict)
    }


def _eligible(plain: Mapping[str, Any]) -> dict[str, int] | None:
    rows = plain.get("categoryScores")
    if not isinstance(rows, list):
        return None
    counts = {str(row.get("category")): count_of(row.get("eligibleCount")) for row in rows if isinstance(row, dict)}
    known = {name: count for name, count in counts.items() if count is not None}
    return known if known and len(known) == len(counts) else None


def _object(path: Path) -> Mapping[str, Any]:
    try:
        found = strict_json(text_of(path))
    except json.JSONDecodeError as error:
        raise RecallError(f"{path}:{error.lineno}: not JSON ({error.msg}); `recall bench rebuild` writes it") from None
    except (ValueError, RecursionError) as error:
        raise RecallError(f"{path}: not JSON ({error}); `recall bench rebuild` writes it") from None
    if not isinstance(found, dict):
        raise RecallError(f"{path}: is not an object; `recall bench rebuild` writes it")
    return found


def _list(value: Any, place: str) -> Sequence[Any]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise RecallError(f"{place}: is not a list of objects; restore the file, or rebuild it")
    return value
