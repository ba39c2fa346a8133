"""Find out, before a run is planned, what it is a change of: its base, what it affects, and what earlier runs left."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recall.files.disk import read_text
from pytest_recall.plugin import options
from pytest_recall.plugin.extensions import job_of
from pytest_recall.plugin.known_change import KnownChange
from pytest_recall.results import sentences
from pytest_recall.runs.base import NO_BASE, base_of, held_to, targets
from pytest_recall.runs.evidence import BASE_RECORDINGS, RECORDINGS, runs_of

if TYPE_CHECKING:
    import pytest

    from pytest_recall.cases.settings import Settings
    from pytest_recall.files.eval_directory import Place
    from pytest_recall.plugin.recording import Recording
    from pytest_recall.runs.context import Context
    from pytest_recall.runs.plan import Plan

MODES = ("pr", "main", "nightly")
"""Modes in which what was recorded decides which cases are asked."""


def change_of(
    config: pytest.Config,
    place: Place,
    rubric: Settings,
    context: Context,
    recording: Recording,
    paths: list[Path],
    *,
    is_resumed: bool,
) -> KnownChange:
    """Return what the checkout is a change of; nothing is known where cases are only listed. Raises RecallError.

    A run that is resumed has chosen its cases, so that nothing is replayed for it.
    """
    job = job_of(config).intact
    if config.option.collectonly:
        return KnownChange(NO_BASE, rubric, recording, job)
    refs = targets(config.option.recall_base, job)
    base = base_of(place, refs, job)
    if not recording.requests:  # What varies is compared by the rubric of the working tree.
        rubric, base = held_to(rubric, base)
    if (more := config.option.recall_dry_run_ignoring) is not None:
        from pytest_recall.replay.varying import volatile_in

        rubric = rubric.ignoring(volatile_in(read_text(config.invocation_params.dir / more, more), more))
    notes = [f"{base.unreadable}; the settings of this change apply"] if base.unreadable else []
    if base.lacks_default:
        notes.append(sentences.no_default_branch(place.name(place.state)))
    found = KnownChange(base, rubric, recording, job, notes=tuple(notes))
    if options.filters(config).explicit or context.mode not in MODES or recording.mode == "replay" or recording.dry:
        return found
    with tempfile.TemporaryDirectory() as scratch:
        if base.is_change and context.mode == "pr" and not job.fork and not is_resumed and paths:
            found = found._replace(earlier=runs_of(place, job.number, Path(scratch)))
        if rubric.recording == "off":
            return found
        of_main = context.mode == "main" or (context.mode == "nightly" and place.cassettes.is_dir())
        if refs or of_main:
            folder, of_base = (place.artifacts.folder / name for name in (RECORDINGS, BASE_RECORDINGS))
            if not is_resumed:
                shutil.rmtree(folder, ignore_errors=True)
                shutil.rmtree(of_base, ignore_errors=True)
            found = found._replace(recording=recording.keeping(folder, of_base))
        if is_resumed or not paths:
            return found
        from pytest_recall.plugin import replay_first

        affects = replay_first.changes_of(config, place, context, found, paths)
    if affects is not None and found.recording.mode in ("record", "missing"):
        # A recording of the judges' calls alone would take the place of one that is whole.
        affects = affects.asking_all()
    return found._replace(affects=affects)


def planned(config: pytest.Config, plan: Plan, change: KnownChange) -> Plan:
    """Return the plan of a change with what became of the base's own cases, and what its job may do.

    Raises RecallError.
    """
    from pytest_recall.cases.changes import case_changes, with_judge_code
    from pytest_recall.runs.base import cases_of, judges_altered
    from pytest_recall.runs.plan import read_cases

    if not plan.base.is_change:
        return plan
    before, judges = cases_of(plan.place, plan.base, options.patterns(config)), judges_altered(plan.place, plan.base)
    if before or judges:
        now = {case.id: case for case in read_cases(file for file in plan.files.values() if not file.reason)}
        changes = case_changes(before, now)
        known = {case_id: case for case_id, case in now.items() if not plan.base.rows or case_id in plan.base.rows}
        plan = replace(plan, case_changes=tuple(with_judge_code(changes, known, judges)))
    job = change.job
    is_check = bool(job.run) and job.number is not None
    publishes = not job.public or plan.rubric.publish_answers
    keeps = change.recording.of_change and is_check and not job.fork and job.keeps_recordings and publishes
    return replace(plan, is_fork=job.fork, is_check=is_check, keeps_recordings=keeps).choosing()
