"""Make the items of an audit, and read and append a person's grades."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pytest_recall.cases.case import Case
from pytest_recall.cases.settings_fields import JudgeKind
from pytest_recall.files.disk import read_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.json_lines import Appended, objects, read_appended
from pytest_recall.files.validation import MAX_PROBLEMS
from pytest_recall.judges import fence
from pytest_recall.judges.audit import GRADES, AuditPick, Grading, attributed, misfit, truth
from pytest_recall.trials.journal import GRADED
from pytest_recall.trials.record import QuestionRecord
from pytest_recall.trials.trial import Trial

READS = 24_000
"""Characters of passages that an item of an audit holds at most."""


def export(
    run: str,
    picked: Iterable[AuditPick],
    cases: Mapping[str, Case],
    questions: Mapping[str, QuestionRecord],
    known: Mapping[str, Grading],
) -> list[Any]:
    """Return the lines of an audit: first what it is and how to grade, then an item for each pick.

    `cases` are those of the case files by id, and `questions` those that the journal has, as they were asked. Of a case
    that is gone or has changed since, the question is null. What is graded already comes with its grade.
    """
    items = [_item(pick, _shown(pick.trial, cases, questions), known.get(pick.trial.case_id)) for pick in picked]
    how = (
        "write one of the grades, in your words why and, of a system_failure, its cause as file:line if it is known;"
        " leave the grade empty where you cannot say"
    )
    return [{"audit": run, "version": 1, "items": len(items), "how": how, "grades": dict(GRADES)}, *items]


def _asked(trial: Trial, cases: Mapping[str, Case]) -> Case | None:
    """Return the case that was asked, if it still is the same one."""
    case = cases.get(trial.case_id)
    return case if case is not None and case.fingerprint == trial.fingerprint else None


class _Shown(NamedTuple):
    """What was asked, what is expected, and the ids of the evidence that has to come back; as far as it is known."""

    question: str | None = None
    expected: Any = None
    evidence: tuple[str, ...] = ()


def _shown(trial: Trial, cases: Mapping[str, Case], questions: Mapping[str, QuestionRecord]) -> _Shown:
    if (record := questions.get(trial.case_id)) is not None:
        return _Shown(record.question, record.reference, record.evidence)
    case = _asked(trial, cases)
    return _Shown() if case is None else _Shown(fence.question(case), case.expected)


def _item(pick: AuditPick, about: _Shown, known: Grading | None) -> dict[str, Any]:
    trial = pick.trial
    answer = trial.answer
    assert answer is not None
    shown = fence.excerpts("PASSAGE", [passage.text for passage in answer.passages], READS)
    return {
        "id": trial.case_id,
        "chosen": list(pick.chosen),
        "outcome": trial.outcome.value,
        "question": about.question,
        "expected": about.expected,
        **({"evidence": list(about.evidence)} if about.evidence else {}),
        "answer": answer.text,
        "passages": [{"text": part.text, **({"cut": part.note} if part.note else {})} for part in shown],
        "verdicts": [verdict.to_json() for verdict in trial.verdicts],
        **(known or Grading(""))._asdict(),
    }


def labels(
    run: str, trials: Mapping[str, Trial], gradings: Mapping[str, Grading], cases: Mapping[str, Case]
) -> tuple[list[dict[str, Any]], int]:
    """Return what was graded as labels for a calibration, and how many graded cases give none.

    Those are defects, cases that are gone or have changed, and grades from which no one can tell
    which judge they are about.
    """
    found: list[dict[str, Any]] = []
    without = 0
    for case_id, given in sorted(gradings.items()):
        trial = trials.get(case_id)
        some = [] if trial is None else list(_labels(run, trial, given, _asked(trial, cases)))
        found += some
        without += not some
    return found, without


def _labels(run: str, trial: Trial, given: Grading, case: Case | None) -> Iterable[dict[str, Any]]:
    right = truth(trial, given.grade)
    if right is None or case is None or trial.answer is None:
        return
    counted = set(map(id, attributed(trial, right)))
    # Verdicts stand in the order of the case's judges.
    for place, (call, verdict) in enumerate(zip(case.judges, trial.verdicts, strict=False), start=1):
        if call.name not in get_args(JudgeKind) or id(verdict) not in counted:
            continue
        own = f"/{place}" if len(case.judges) > 1 else ""
        # Cut at its front: the end of an id is what tells cases apart.
        yield {
            "id": f"{run}/{trial.case_id[-180 + len(run) :].lstrip(':./-')}{own}",
            "question": fence.question(case),
            "expected": case.expected,
            "answer": trial.answer.text,
            "passages": [passage.text for passage in trial.answer.passages],
            "label": "pass" if right else "fail",
            "judge": call.name,
            "arguments": dict(call.arguments),
            "note": given.why,
        }


FIELDS = ("id", "grade", "why", "cause")
"""The texts of a grading, of which the cause may be absent."""


def read_grades(run: Path) -> dict[str, Grading]:
    """Return the gradings of the run in this folder by case id, the newest of each. Raises RecallError."""
    return {
        line["id"]: Grading(line["grade"], line["why"], line.get("cause", ""))
        for line in read_appended(run / GRADED)
        if all(isinstance(line.get(field, ""), str) for field in FIELDS) and line.keys() >= {"id", "grade", "why"}
    }


def append_grades(run: Path, gradings: Mapping[str, Grading], at: str) -> int:
    """Append what is new among `gradings`, given at the time `at`, ISO 8601; return how many. Raises OSError."""
    known = read_grades(run)
    news = {case_id: given for case_id, given in gradings.items() if known.get(case_id) != given}
    if news:
        with Appended(run / GRADED) as file:
            for case_id, given in news.items():
                file.append({"id": case_id, **given._asdict(), "at": at})
    return len(news)


def read_import(path: Path, name: str, run: str, trials: Mapping[str, Trial]) -> dict[str, Grading]:
    """Return the gradings in an export of the run called `run` that someone has filled in, by case id.

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
    value = {"cause": "", **value}
    for field in FIELDS:
        if not isinstance(value.get(field), str):
            return f"{field}: is missing, or no text; write it in quotes" + (", or leave it empty" * (field != "id"))
    case_id, why = str(value["id"]), str(value["why"])
    grade, cause = str(value["grade"]).strip(), str(value["cause"]).strip()
    if case_id in gradings:
        return f"id: `{case_id}` is there twice; leave one"
    if not grade and case_id in trials:
        return "grade: is empty, but there is a cause; write `system_failure`, or empty the cause" if cause else ""
    problem = misfit(case_id, grade or "agree", trials, cause)
    if not problem:
        gradings[case_id] = Grading(grade, why, cause)
    return problem
