"""Read what a case that fails now answered when it last passed."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.replay.cassette_file import read_header
from pytest_recall.replay.cassette_library import Library
from pytest_recall.results.scorecard import LastPass
from pytest_recall.schedule.suspects import suspects
from pytest_recall.trials.conditions import kept_answer, taped_of
from pytest_recall.trials.journal import NAME
from pytest_recall.trials.record import Record
from pytest_recall.trials.trial import Outcome, Trial

_LASTPASS_BYTES = 64 * 2**20


def last_passes(place: Place, run: str, failed: Iterable[Trial]) -> dict[str, LastPass]:
    """Return the answers at the last pass before the run of this name, by case id, where they are known.

    They are in the journals of earlier runs on this machine, else in the cassettes, which are in git.
    """
    left = {trial.case_id: trial for trial in failed}
    found: dict[str, LastPass] = {}
    names = [folder.name for folder in place.artifacts.runs()]
    earlier = place.artifacts.runs()[: names.index(run)] if run in names else []
    for folder in earlier[: -RUNS - 1 : -1]:
        if not left:
            break
        for case_id, answer in _passes(folder / NAME, left).items():
            found[case_id] = LastPass(kept_answer(answer), f"in the run {folder.name}")
            del left[case_id]
    library = Library(place.cassettes)
    for case_id, trial in left.items():
        path = library.of_case(case_id, trial.scenario)
        with suppress(RecallError):
            taped = taped_of(read_header(path, path.name)) if path.exists() else None
            if taped is not None and taped.passed and taped.answer is not None:
                found[case_id] = LastPass(taped.answer, f"when it was recorded on {taped.day}")
    return found


def suspected(
    place: Place, record: Record, failed: Iterable[Trial], changed: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Return which changes have touched each case since its last pass on the main branch, by case id.

    That none has is said only where it is known: of a case with a recording, in a project whose changes are replayed,
    as a row or this run shows that names what a change touched; and of none that is known to be `changed`. Others are
    left out.
    """
    traced = bool(record.header.affected) or any(trial.row is not None and trial.row.touched for trial in record.trials)
    library = Library(place.cassettes)
    found: dict[str, tuple[str, ...]] = {}
    for trial in failed:
        touched = suspects(trial, record.header)
        recorded = traced and trial.case_id not in changed and library.of_case(trial.case_id, trial.scenario).exists()
        if touched or recorded:
            found[trial.case_id] = touched
    return found


def _passes(journal: Path, wanted: Iterable[str]) -> dict[str, str]:
    """Return the last passing answer of each of the `wanted` cases in a journal; a broken line is passed over."""
    marks = {json.dumps(case_id, ensure_ascii=False).encode("utf-8", "surrogatepass"): case_id for case_id in wanted}
    found: dict[str, str] = {}
    with suppress(OSError):
        if journal.stat().st_size > _LASTPASS_BYTES:
            return {}
        for line in journal.read_bytes().split(b"\n"):
            if b'"passed"' not in line or not any(mark in line for mark in marks):
                continue
            with suppress(ValueError, KeyError, TypeError, AttributeError):
                plain = json.loads(line)
                if plain["kind"] != "trial" or plain["case_id"] not in marks.values() or plain.get("arm"):
                    continue
                if plain["outcome"] == Outcome.PASSED.value:
                    found[plain["case_id"]] = str(plain["answer"]["text"])
    return found


RUNS = 40
"""How many earlier runs a case's way is taken from."""
