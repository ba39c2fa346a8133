"""Grades: `grades.jsonl` of a run, in which what somebody said about a verdict is appended and never changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_recall.core.audit import Grading, misfit
from pytest_recall.core.errors import RecallError
from pytest_recall.core.trial import Trial
from pytest_recall.store.files import read_text
from pytest_recall.store.lines import Appended, objects, read_appended
from pytest_recall.store.written import MAX_PROBLEMS

NAME = "grades.jsonl"


def read_grades(run: Path) -> dict[str, Grading]:
    """Return the gradings of the run in this folder by case id, the newest of each. Raises RecallError."""
    return {
        line["id"]: Grading(line["grade"], line["why"])
        for line in read_appended(run / NAME)
        if all(isinstance(line.get(field), str) for field in ("id", "grade", "why"))
    }


def append_grades(run: Path, gradings: Mapping[str, Grading], at: str) -> int:
    """Append what is new among `gradings`, given at the time `at`, ISO 8601; return how many. Raises OSError."""
    known = read_grades(run)
    news = {case_id: given for case_id, given in gradings.items() if known.get(case_id) != given}
    if news:
        with Appended(run / NAME) as file:
            for case_id, given in news.items():
                file.append({"id": case_id, **given._asdict(), "at": at})
    return len(news)


def read_import(path: Path, name: str, run: str, trials: Mapping[str, Trial]) -> dict[str, Grading]:
    """Return the gradings in an export of the run called `run` that somebody has filled in, by case id.

    Items whose `grade` is empty are passed over. Raises RecallError with one sentence for each line
    with a mistake; nothing of the file counts then.
    """
    gradings: dict[str, Grading] = {}
    problems: list[str] = []
    for line, value, problem in objects(read_text(path, name)):
        if not problem and "audit" in value:
            if value["audit"] != run:
                problem = f"audit: is of the run {value['audit']!r}, and not of {run}; import it there"
        elif not problem:
            problem = _take(value, gradings, trials)
        if problem:
            problems.append(f"{name}:{line}: {problem}")
    if problems:
        raise RecallError(*problems[:MAX_PROBLEMS])
    return gradings


def _take(value: Mapping[str, object], gradings: dict[str, Grading], trials: Mapping[str, Trial]) -> str:
    """Add the grading of one item; return what is wrong with it."""
    for field in ("id", "grade", "why"):
        if not isinstance(value.get(field), str):
            return f"{field}: is missing, or no text; write it in quotes" + (", or leave it empty" * (field != "id"))
    case_id, grade, why = str(value["id"]), str(value["grade"]).strip(), str(value["why"])
    if case_id in gradings:
        return f"id: `{case_id}` is there twice; leave one"
    if not grade:
        return "" if case_id in trials else misfit(case_id, "agree", trials)
    problem = misfit(case_id, grade, trials)
    if not problem:
        gradings[case_id] = Grading(grade, why)
    return problem
