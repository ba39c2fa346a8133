"""Audit: a run's verdicts with what was asked, for a second look, and as labels when they were looked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from pytest_recall.core.audit import GRADES, Grading, Pick, attributed, truth
from pytest_recall.core.case import Case
from pytest_recall.core.criteria import JudgeKind
from pytest_recall.core.trial import Trial
from pytest_recall.judges import fence

READS = 24_000
"""Characters of passages that an item of an audit holds at most."""


def export(run: str, picked: Iterable[Pick], cases: Mapping[str, Case], known: Mapping[str, Grading]) -> list[Any]:
    """Return the lines of an audit: first what it is and how to grade, then an item for each pick.

    `cases` are those of the case files by id. Of one that is gone or has changed since, the
    question is null. What is graded already comes with its grade.
    """
    items = [_item(pick, _asked(pick.trial, cases), known.get(pick.trial.case_id)) for pick in picked]
    how = "write one of the grades and, in your words, why; leave the grade empty where you cannot say"
    return [{"audit": run, "version": 1, "items": len(items), "how": how, "grades": dict(GRADES)}, *items]


def _asked(trial: Trial, cases: Mapping[str, Case]) -> Case | None:
    """Return the case that was asked, if it still is the same one."""
    case = cases.get(trial.case_id)
    return case if case is not None and case.fingerprint == trial.fingerprint else None


def _item(pick: Pick, case: Case | None, known: Grading | None) -> dict[str, Any]:
    trial = pick.trial
    answer = trial.answer
    assert answer is not None
    shown = fence.excerpts("PASSAGE", [passage.text for passage in answer.passages], READS)
    return {
        "id": trial.case_id,
        "chosen": list(pick.chosen),
        "outcome": trial.outcome.value,
        "question": None if case is None else fence.question(case),
        "expected": None if case is None else case.expected,
        "answer": answer.text,
        "passages": [{"text": part.text, **({"cut": part.note} if part.note else {})} for part in shown],
        "verdicts": [verdict.to_json() for verdict in trial.verdicts],
        "grade": known.grade if known else "",
        "why": known.why if known else "",
    }


def labels(
    run: str, trials: Mapping[str, Trial], gradings: Mapping[str, Grading], cases: Mapping[str, Case]
) -> tuple[list[dict[str, Any]], int]:
    """Return what was graded as labels for a calibration, and how many graded cases give none.

    Those are defects, cases that are gone or have changed, and grades from which nobody can tell
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
