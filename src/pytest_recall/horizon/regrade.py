"""Re-grade answers of a run, and compute every aggregate again from the answers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isclose
from typing import Any, Literal, NamedTuple

from pytest_recall.files.errors import nearest
from pytest_recall.horizon.aggregates import aggregates, cells, counts
from pytest_recall.horizon.evaluation import MOST, CheckpointTrial, Points
from pytest_recall.horizon.published import PublishedRun, Stop, disclosure_fields, summary_fields
from pytest_recall.horizon.question import plain
from pytest_recall.judges.audit import Grade
from pytest_recall.metrics.clustered import Clustered, Stratum, stratified_share

GRADES: Mapping[Grade, str] = {
    "agree": "the points are right, and the memory system is not at fault",
    "judge_false_negative": "the judge gave too few points",
    "judge_false_positive": "the judge gave too many points",
    "system_failure": "the points are right, and the memory system is at fault; `cause` says where, as file:line",
    "case_defect": "the question, its reference or its days are wrong",
}
"""What each grade of `recall judges audit` says of an answer that has points."""
FORMER: Mapping[str, str] = {"agree": "judge-right", "case_defect": "qa-defect"}
"""Grades by the names that they had in earlier files; the others had hyphens."""
Chosen = Literal["failure", "below 6", "perfect, drawn"]
SHARE = 10
"""Of answers with all points, one of so many is drawn at each checkpoint."""
ESCALATE = 0.05
"""A judge that is wrong more often is to be replaced, or told better."""
_CAUSE = re.compile(r"\S.*:[1-9]\d*")
Key = tuple[str, str, str]
"""Which evaluation it is: the persona, the label of the checkpoint, the question."""


class AuditItem(NamedTuple):
    """An evaluation to look at again, and why it was chosen."""

    evaluation: CheckpointTrial
    chosen: Chosen


class Regrade(NamedTuple):
    """The grade of an evaluation; `corrected` are the points that it should have got, None if they are not given."""

    evaluation: CheckpointTrial
    grade: Grade
    cause: str = ""
    corrected: Points | None = None
    why: str = ""


class Level(NamedTuple):
    """`mean` points, 0 to 6, and `hallucination`, 0 to 1, of `n` answers; None of no answers, or if not measured."""

    mean: float | None
    hallucination: float | None
    n: int


class Logged(NamedTuple):
    """What a checkpoint comes to, as judged and as re-graded, and what was found at it."""

    persona: str
    label: str
    days: int
    judged: Level
    audited: Level
    perfect: int
    below: int
    looked_at: int
    grades: Mapping[str, int]
    defects: tuple[str, ...]
    causes: Mapping[str, int]


class SpoilingPlace(NamedTuple):
    """A place in the memory system: how many answers it spoiled, to how many distinct questions."""

    cause: str
    answers: int
    questions: int


class Audited(NamedTuple):
    """A run as judged and as re-graded.

    `estimated` are the mean points if those that no one looked at are as wrong as those that someone did, among the
    perfect answers and among the others; None without any of a kind. In the audited numbers corrected points stand in
    for the judge's. `left_out` answers are not in them: those to defective questions, and those of which someone said
    that the points are wrong, and not what is right. `asked` counts the distinct questions of a grade.
    `judge_error` is the share of answers whose points are wrong.
    """

    judged: Level
    audited: Level
    estimated: float | None
    left_out: int
    looked_at: int
    grades: Mapping[str, int]
    asked: Mapping[str, int]
    judge_error: Clustered
    causes: tuple[SpoilingPlace, ...]
    checkpoints: tuple[Logged, ...]


def key(one: CheckpointTrial) -> Key:
    """Return which evaluation it is."""
    return one.persona, one.checkpoint or "", one.question.id


def items(stop: Stop, seed: int) -> list[AuditItem]:
    """Return what to look at again at a checkpoint: failures, then what has less than all points, then a drawn tenth.

    The tenth of the perfect answers is rounded up; the seed and the day decide.
    """
    scored = [(one, one.points) for one in stop.evaluations if one.points is not None]
    perfect = [one for one, points in scored if points.composite == MOST]
    drawn = {one.question.id for one in plain(perfect, -(-len(perfect) // SHARE), seed + stop.days)}
    return [
        *(AuditItem(one, "failure") for one, points in scored if points.fails),
        *(AuditItem(one, "below 6") for one, points in scored if points.composite < MOST and not points.fails),
        *(AuditItem(one, "perfect, drawn") for one in perfect if one.question.id in drawn),
    ]


def problem(one: CheckpointTrial, grade: str, cause: str, corrected: Points | None) -> str:
    """Return what is wrong with a grade of an evaluation, empty if nothing is."""
    if grade not in GRADES:
        return f"grade: `{grade}` is unknown{nearest(grade, GRADES)}"
    if one.points is None:
        return f"grade: the answer got no points ({one.failure}), so that there is nothing to say of its judge"
    points = one.points.composite
    if grade == "system_failure" and not _CAUSE.fullmatch(cause):
        return f"cause: {cause!r} names no place; write file:line, like `src/memory/rank.py:88`"
    if grade != "system_failure" and cause:
        return f"cause: is for `system_failure`, and the grade is `{grade}`; empty one of them"
    if grade == "system_failure" and points == MOST:
        return "grade: the answer has all points; if they are too many, it is a `judge_false_positive`"
    if grade == "agree" and one.points.fails:
        return "grade: the answer fails; if its points are right, give `system_failure` and its cause, or `case_defect`"
    if grade == "judge_false_negative" and points == MOST:
        return "grade: the answer has all points, which cannot be too few; give `agree`"
    if grade == "judge_false_positive" and points == 0:
        return "grade: the answer has no points, which cannot be too many; write another grade"
    if corrected is None:
        return ""
    if grade == "judge_false_negative":
        fits = corrected.composite > points
    elif grade == "judge_false_positive":
        fits = corrected.composite < points
    else:
        return f"corrected: is for points that are wrong, and the grade is `{grade}`; write null, or another grade"
    return "" if fits else f"corrected: {corrected.composite} of {MOST} does not fit `{grade}` of {points}; correct one"


def audited(run: PublishedRun, regrades: Iterable[Regrade]) -> Audited:
    """Return what a run comes to with what was found."""
    known = {key(one.evaluation): one for one in regrades}
    every = [one for one in run.evaluations if one.points is not None]
    below = [one for one in every if one.points is not None and one.points.composite < MOST]
    perfect = [one for one in every if one.points is not None and one.points.composite == MOST]
    left_out = sum(key(one) in known and _points(one, known) is None for one in every)
    return Audited(
        judged=_level([one.points for one in every], run.measured),
        audited=_level([_points(one, known) for one in every], run.measured),
        estimated=_estimated((below, perfect), known),
        left_out=left_out,
        looked_at=len(known),
        grades=_grades(known.values()),
        asked={name: len({key(one.evaluation)[::2] for one in known.values() if one.grade == name}) for name in GRADES},
        judge_error=stratified_share((_stratum(below, known), _stratum(perfect, known))),
        causes=_causes(known.values()),
        checkpoints=tuple(_logged(stop, known) for stop in run.stops),
    )


def _logged(stop: Stop, known: Mapping[Key, Regrade]) -> Logged:
    scored = [one for one in stop.evaluations if one.points is not None]
    found = [known[key(one)] for one in scored if key(one) in known]
    points = [one.points for one in scored if one.points is not None]
    return Logged(
        persona=stop.persona,
        label=stop.label,
        days=stop.days,
        judged=_level(points, stop.measured),
        audited=_level([_points(one, known) for one in scored], stop.measured),
        perfect=sum(one.composite == MOST for one in points),
        below=sum(one.composite < MOST for one in points),
        looked_at=len(found),
        grades=_grades(found),
        defects=tuple(one.evaluation.question.id for one in found if one.grade == "case_defect"),
        causes={one.cause: one.answers for one in _causes(found)},
    )


def _points(one: CheckpointTrial, known: Mapping[Key, Regrade]) -> Points | None:
    """Return the points that an answer has after the audit; None if it is left out."""
    found = known.get(key(one))
    if found is None or found.grade in ("system_failure", "agree"):
        return one.points
    return None if found.grade == "case_defect" else found.corrected


def _level(points: Sequence[Points | None], measured: bool) -> Level:
    counted = [one for one in points if one is not None]
    if not counted:
        return Level(None, None, 0)
    n = len(counted)
    hallucination = sum(1 - one.hallucination for one in counted) / n if measured else None
    return Level(sum(one.composite for one in counted) / n, hallucination, n)


def _grades(found: Iterable[Regrade]) -> dict[str, int]:
    counts = Counter(one.grade for one in found)
    return {name: counts[name] for name in GRADES}


def _estimated(strata: Iterable[Sequence[CheckpointTrial]], known: Mapping[Key, Regrade]) -> float | None:
    """Return the mean of all answers, by what those that were looked at got in each stratum."""
    total = size = 0.0
    for those in strata:
        looked_at = [one for one in those if key(one) in known]
        counted = [points.composite for one in looked_at if (points := _points(one, known)) is not None]
        if those and not counted:
            return None
        if those:
            sound = len(those) * len(counted) / len(looked_at)
            total, size = total + sound * sum(counted) / len(counted), size + sound
    return total / size if size else None


def _stratum(those: Sequence[CheckpointTrial], known: Mapping[Key, Regrade]) -> Stratum:
    """Return how many answers there are, without those to questions that are known to be defective."""
    found = [known[key(one)] for one in those if key(one) in known]
    sound = [one for one in found if one.grade != "case_defect"]
    wrong = sum(one.grade in ("judge_false_negative", "judge_false_positive") for one in sound)
    return Stratum(len(those) - (len(found) - len(sound)), len(sound), wrong)


def _causes(found: Iterable[Regrade]) -> tuple[SpoilingPlace, ...]:
    groups: dict[str, list[Regrade]] = {}
    for one in found:
        if one.grade == "system_failure":
            groups.setdefault(one.cause, []).append(one)
    causes = [
        SpoilingPlace(name, len(those), len({(one.evaluation.persona, one.evaluation.question.id) for one in those}))
        for name, those in groups.items()
    ]
    return tuple(sorted(causes, key=lambda one: (-one.answers, one.cause)))


TOLERANCE = 1e-12


class Difference(NamedTuple):
    """A number that is `written` in a file, at a place in it, and what the answers come to."""

    place: str
    written: Any
    computed: Any


class Rescored(NamedTuple):
    """`compared` numbers, of which `differences` are not what the answers come to.

    Of the `hollow` checkpoints no file holds the answers: neither they nor totals over them can be computed.
    """

    compared: int
    differences: tuple[Difference, ...]
    hollow: tuple[str, ...] = ()


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
