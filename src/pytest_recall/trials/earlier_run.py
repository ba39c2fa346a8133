"""Decide whether the earlier run in a folder is resumed, all is asked again, or the folder is that of another run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from pytest_recall.files.errors import RecallError
from pytest_recall.models.inputs import NAME as NOTE
from pytest_recall.models.inputs import Observability, rerun_reason
from pytest_recall.models.model_notes import NAME as MODEL_NOTES
from pytest_recall.models.model_notes import ModelNotes
from pytest_recall.trials.journal import is_begun, read_journal
from pytest_recall.trials.question_run import QuestionRun
from pytest_recall.trials.record import Header, Record


class RunDifference(NamedTuple):
    """What differs between the earlier run in a folder and the one that begins."""

    text: str
    asks_again: bool = False
    """Whether all is asked again in the same folder, as after an edit of the memory; else this is another run."""


def earlier_run(
    run: QuestionRun,
    memory: str,
    differences: Callable[[Header], Iterable[RunDifference]],
    client: Observability | None,
    notes: ModelNotes | None,
    *,
    fresh: bool,
    set_aside: Callable[[tuple[str, ...]], Path],
    resumes: bool = False,
) -> Record | None:
    """Return the earlier run in the folder of the `run`; None if there is none, or it is set aside, which is told.

    It is set aside, with the files of some names beside it, where all is asked again: with `fresh`, for a difference of
    that kind, or for `reason_to_rerun`. A run without a trial is resumed or set aside, whatever differs. Raises
    RecallError for another run, or a journal that is damaged.
    """
    if not is_begun(run.folder):
        return None
    record = read_journal(run.folder)
    found = list(differences(record.header))
    if record.trials and (others := [one.text for one in found if not one.asks_again]):
        told = f"{run.folder}: holds another run: {'; '.join(others)}"
        raise RecallError(f"{told}; name another --out, or give the same options as before")
    why = "--fresh" if fresh else " and ".join(one.text for one in found)
    why = why or reason_to_rerun(run.folder, record, client, notes, resumes=resumes)
    if not (why if record.trials else found):
        return record
    there = set_aside((NOTE, MODEL_NOTES))
    if notes is not None:
        notes.reload()
    if record.trials:
        run.tell(f"{memory}: {why}; all questions are asked again; the earlier ones are in {there}")
    return None


def reason_to_rerun(
    folder: Path, record: Record, client: Observability | None, notes: ModelNotes | None, *, resumes: bool = False
) -> str:
    """Return in words why a run is asked again of which nothing is seen to differ; empty if it is not.

    That is so where the memory, or a model that the `notes` are on, is made of something else by now, or that cannot be
    known of a run that came to its end, unless it is one that the command `resumes` by its name. `client` is the
    memory, None for what another folder decides.
    """
    why = "" if client is None else rerun_reason(folder, client, ended=record.is_whole and not resumes)
    return why or ("" if notes is None else notes.reason)
