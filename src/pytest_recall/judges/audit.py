"""Pick the verdicts that deserve a second look, and recompute a run after people have graded them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, get_args

from pytest_recall.files.errors import nearest
from pytest_recall.judges.calibration import JudgeKey
from pytest_recall.metrics.agreement import Confusion
from pytest_recall.trials.series import graded
from pytest_recall.trials.trial import Outcome, Trial, Verdict

Only = Literal["disagreements", "fails", "passes", "all"]
Grade = Literal["agree", "judge_false_negative", "judge_false_positive", "system_failure", "case_defect"]
GRADES: Mapping[Grade, str] = {
    "agree": "the judges were right",
    "judge_false_negative": "the answer was right, and a judge failed it",
    "judge_false_positive": "the answer was wrong, and the judges passed it",
    "system_failure": "the answer was wrong, and the judges were right to fail it",
    "case_defect": "the case is at fault: no answer to it could be judged",
}
_CAUSE = re.compile(r"\S.*:[1-9]\d*")
_OF_FAILS = ("judge_false_negative", "system_failure")
_OF_PASSES = ("judge_false_positive",)


class Grading(NamedTuple):
    """What someone who looked again says about a case, and why."""

    grade: str
    why: str = ""
    cause: str = ""
    """The place in the system that is at fault for a `system_failure`, as `file:line`; empty if not given."""


class FailureCause(NamedTuple):
    """A place in the system: how many answers it spoiled, to how many distinct questions."""

    cause: str
    answers: int
    questions: int


class AuditPick(NamedTuple):
    """A trial that deserves a second look, and for which reasons."""

    trial: Trial
    chosen: tuple[str, ...]


class Regraded(NamedTuple):
    """A run as judged, and as re-graded, with what was not looked at left as it was judged."""

    verdicts: int
    judged: int
    """How many of the `verdicts` were passes as judged."""
    passed: int
    """How many of `verdicts - defects` are passes as re-graded."""
    defects: int
    grades: Mapping[str, int]
    """How often each grade was given."""
    confusions: Mapping[JudgeKey, Confusion]
    """By judge."""
    causes: tuple[FailureCause, ...]
    """Those of the most answers first."""


def grading(trials: Iterable[Trial]) -> dict[str, Trial]:
    """Return the trial that grades each case and came to a verdict, by id: the last attempt, or that of a series."""
    return _judged(graded(trials).values())


def _judged(trials: Iterable[Trial]) -> dict[str, Trial]:
    return {trial.case_id: trial for trial in trials if trial.outcome.is_verdict and trial.answer is not None}


def picks(trials: Iterable[Trial], only: Only | None, sample: int, seed: str) -> list[AuditPick]:
    """Return what deserves a second look, by id; `sample` passes by models are drawn by `seed`.

    Without `only` these are disagreements, fails by models and drawn passes; `all` are all verdicts.
    """
    by_id = grading(trials)
    passes = {case_id for case_id, trial in by_id.items() if trial.outcome is Outcome.PASSED and _modelled(trial)}
    drawn = set(sorted(passes, key=lambda case_id: _lot(case_id, seed))[:sample])
    found: list[AuditPick] = []
    for case_id in sorted(by_id):
        trial = by_id[case_id]
        reasons = {
            "disagreements": _disagreements(trial),
            "fails": _failed(trial),
            "passes": ["a drawn pass"] if case_id in drawn else [],
        }
        if only == "all":
            chosen = [reason for some in reasons.values() for reason in some] or ["all were asked for"]
        else:
            chosen = [reason for kind, some in reasons.items() if only in (None, kind) for reason in some]
        if chosen:
            found.append(AuditPick(trial, tuple(chosen)))
    return found


def _modelled(trial: Trial) -> bool:
    return any(verdict.judgement is not None for verdict in trial.verdicts)


def _disagreements(trial: Trial) -> list[str]:
    told = []
    for verdict in trial.verdicts:
        if verdict.judgement is not None and verdict.judgement.overturned:
            told.append(f"{verdict.judge}: the appellate judge does not agree")
        if verdict.judgement is not None and verdict.judgement.split:
            told.append(f"{verdict.judge}: the votes differ")
    return told


def _failed(trial: Trial) -> list[str]:
    return [f"{v.judge}: a fail by a model" for v in trial.verdicts if v.judgement is not None and not v.passed]


def _lot(case_id: str, seed: str) -> str:
    return hashlib.sha256(f"{seed}\0{case_id}".encode("utf-8", "surrogatepass")).hexdigest()


def misfit(case_id: str, grade: str, trials: Mapping[str, Trial], cause: str = "") -> str:
    """Return what is wrong with a grade of a case, as the end of a sentence; empty if nothing is."""
    trial = trials.get(case_id)
    if trial is None:
        return f"id: `{case_id}` came to no verdict in this run{nearest(case_id, trials)}"
    if grade not in get_args(Grade):
        return f"grade: {grade!r} is unknown{nearest(grade, get_args(Grade))}"
    failed = trial.outcome is Outcome.FAILED
    if grade in (_OF_PASSES if failed else _OF_FAILS):
        fitting = ", ".join(name for name in GRADES if name not in (_OF_PASSES if failed else _OF_FAILS))
        return f"grade: `{grade}` does not fit, as the case {trial.outcome.value}; give one of {fitting}"
    if cause and grade != "system_failure":
        return f"cause: is for `system_failure`, and the grade is `{grade}`; empty one of them"
    if cause and not _CAUSE.fullmatch(cause):
        return f"cause: {cause!r} names no place; write file:line, like `src/memory/rank.py:88`"
    return ""


def truth(trial: Trial, grade: str) -> bool | None:
    """Return whether the answer was right, as the person who graded it says; None for a defect of the case."""
    if grade == "case_defect":
        return None
    passed = trial.outcome is Outcome.PASSED
    return passed if grade in ("agree", "system_failure") else not passed


def attributed(trial: Trial, right: bool) -> list[Verdict]:
    """Return the verdicts of a trial that can be called right or wrong, knowing whether the answer was.

    The grade is of the whole answer. A fail is the doing of those who failed it; that a wrong
    answer passed is the doing of a judge only if there is no other.
    """
    if trial.outcome is Outcome.FAILED:
        return [verdict for verdict in trial.verdicts if not verdict.passed]
    return list(trial.verdicts) if right or len(trial.verdicts) == 1 else []


def regrade(trials: Iterable[Trial], gradings: Mapping[str, Grading]) -> Regraded | None:
    """Return what a run comes to with these gradings, by case id; None without any.

    `trials` are those that grade their cases.
    """
    by_id = _judged(trials)
    known = {case_id: given for case_id, given in gradings.items() if case_id in by_id}
    if not known:
        return None
    grades = {grade: sum(given.grade == grade for given in known.values()) for grade in GRADES}
    judged = sum(trial.outcome is Outcome.PASSED for trial in by_id.values())
    passed = 0
    confusions: dict[JudgeKey, Confusion] = {}
    for case_id, trial in by_id.items():
        right = truth(trial, known[case_id].grade if case_id in known else "agree")
        passed += right is True
        if case_id not in known or right is None:
            continue
        for verdict in attributed(trial, right):
            key = JudgeKey(verdict.judge, verdict.model, verdict.version)
            cell = ("right_" if bool(verdict.passed) is right else "false_") + ("passes" if verdict.passed else "fails")
            counts = confusions.get(key, Confusion())
            confusions[key] = counts._replace(**{cell: getattr(counts, cell) + 1})
    return Regraded(
        verdicts=len(by_id),
        judged=judged,
        passed=passed,
        defects=grades["case_defect"],
        grades={grade: count for grade, count in grades.items() if count},
        confusions=dict(sorted(confusions.items())),
        causes=_causes(by_id, known),
    )


def _causes(by_id: Mapping[str, Trial], known: Mapping[str, Grading]) -> tuple[FailureCause, ...]:
    """Return the causes that are named; a question that was asked at several checkpoints is one question."""
    ids: dict[str, list[str]] = {}
    for case_id, given in known.items():
        if given.cause:
            ids.setdefault(given.cause, []).append(case_id)
    found = [
        FailureCause(cause, len(some), len({by_id[case_id].fingerprint or case_id for case_id in some}))
        for cause, some in ids.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.answers, one.cause)))
