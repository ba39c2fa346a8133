"""Gates: how those of the rubric stand after a run, and which of them this change has loosened."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from pytest_recall.core.gate import Gate, Standing, loosened, standings
from pytest_recall.core.record import Record
from pytest_recall.core.row import Row
from pytest_recall.core.rubric import Rubric
from pytest_recall.core.series import graded
from pytest_recall.run.place import Place
from pytest_recall.store.rubric import gates_in

PATIENCE = 20
"""Seconds that git may take."""


def gates_of(
    record: Record, rubric: Rubric, cases: Mapping[str, tuple[str, str]], rows: Mapping[str, Row]
) -> tuple[Standing, ...]:
    """Return how the rubric's gates stand after a run over a schedule; none after one whose cases somebody chose.

    `cases` are all cases by id, with scenario and dimension; those that the run has found beside them count as well.
    """
    if not rubric.gates or not record.header.scheduled:
        return ()
    trials = graded(record.trials)
    own = {case_id: (trial.scenario, trial.dimension) for case_id, trial in trials.items() if trial.scenario}
    return standings(rubric.gates, {**cases, **own}, rows, trials)


def loosened_gates(place: Place, gates: tuple[Gate, ...], env: Mapping[str, str]) -> tuple[str, ...]:
    """Return which gates ask for less than where this branch left the main one; none where git does not know."""
    if not gates and "GITHUB_BASE_REF" not in env:
        return ()
    before = _before(place.rubric, env.get("GITHUB_BASE_REF", ""))
    return () if before is None else tuple(loosened(gates_in(before), gates))


def _before(path: Path, base: str) -> str | None:
    """Return the text of the file where this branch left `base`, or else the main branch."""
    for name in [f"origin/{base}", base] if base else ["origin/HEAD", "origin/main", "main", "origin/master", "master"]:
        commit = _git(path.parent, "merge-base", "HEAD", name)
        if commit:
            return _git(path.parent, "show", f"{commit.strip()}:./{path.name}")
    return None


def _git(folder: Path, *args: str) -> str | None:
    quiet = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ("git", "-C", os.fspath(folder), *args), capture_output=True, timeout=PATIENCE, check=False, env=quiet
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
