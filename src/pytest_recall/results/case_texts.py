"""Read what failed cases ask and expect, from their case files."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from pytest_recall.cases.case_file import CaseFile
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import SUFFIXES, Place
from pytest_recall.results.report import written
from pytest_recall.results.scorecard import CaseText
from pytest_recall.trials.trial import Trial


def case_texts(place: Place, trials: Iterable[Trial]) -> dict[str, CaseText]:
    """Return the questions of the cases of `trials`, by case id.

    A case that was edited since, or that no file has where the trial says it stands, is left out.
    """
    by_file: dict[str, list[Trial]] = {}
    for trial in trials:
        by_file.setdefault(trial.where.rpartition(":")[0], []).append(trial)
    texts: dict[str, CaseText] = {}
    for name, failed in by_file.items():
        path = place.root / name
        if path.suffix not in SUFFIXES or not path.is_file():
            continue
        with suppress(RecallError):
            file = CaseFile(path, name)
            fingerprints = {trial.case_id: trial.fingerprint for trial in failed if trial.case_id in file.lines}
            for case in file.cases(fingerprints):
                text = written(case, fingerprints[case.id])
                if not text.edited:
                    texts[case.id] = CaseText(text.asked, text.reference)
    return texts
