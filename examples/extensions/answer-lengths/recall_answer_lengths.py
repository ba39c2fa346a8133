"""Measure how long answers are, and leave the lengths of a run as a CSV file in its folder."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path

from pytest_recall.ext import Case, FinishedRun, Measure, Trial, hookimpl


def words(case: Case | None, trial: Trial) -> float | None:
    """Return how many words an answer has."""
    return None if trial.answer is None else len(trial.answer.text.split())


@hookimpl
def pytest_recall_measures() -> list[Measure]:
    """Return the measure."""
    return [Measure("answer_words", "words of an answer", words)]


@hookimpl
def pytest_recall_trial(trial: Trial) -> None:
    """Log a trial, as one would to a system of one's own."""
    print(f"{trial.case_id} {trial.outcome} {trial.custom_measures.get('answer_words')}", file=sys.stderr)


@hookimpl
def pytest_recall_run_end(run: FinishedRun, make_folder: Callable[[], Path]) -> None:
    """Write the lengths of all answers."""
    with (make_folder() / "lengths.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["case", "outcome", "words"])
        for trial in run.trials:
            table.writerow([trial.case_id, trial.outcome, trial.custom_measures.get("answer_words")])
