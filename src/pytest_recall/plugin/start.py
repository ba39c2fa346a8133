"""Find the case files at session start, and make the plan and the run if there are any."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.eval_directory import find_case_files
from pytest_recall.plugin import files, garbage, option_rules, options
from pytest_recall.plugin.options import place_of, today, usage_errors
from pytest_recall.plugin.recording import (
    Recording,
    calls_before_the_session,
    check_writable,
    dry_run_ids,
    ports_of_controller,
    recording_options,
    refuse_strays,
)
from pytest_recall.plugin.stash import CASSETTES, RUN, WATCH

if TYPE_CHECKING:
    from pytest_recall.files.eval_directory import Place
    from pytest_recall.plugin.cassettes import CassetteManager
    from pytest_recall.plugin.session import Ends, Run
    from pytest_recall.runs.plan import Plan


def start(config: pytest.Config) -> None:
    """Make the run of this session, if there are case files. Raises pytest.UsageError."""
    if why := option_rules.refused(config.option, partial(options.spelled, config)):
        raise pytest.UsageError(why)
    options.concurrency(config)
    options.progress(config)
    files.refuse(config)
    paths = list(files.case_files(config))
    files.refuse_several(config, paths)
    datasets = list(files.dataset_files(config))
    recording = recording_options(config)
    repeats = any(map(config.pluginmanager.hasplugin, ("repeat", "pytest_repeat")))  # by its entry point, or by `-p`
    if (paths or datasets) and repeats and config.getoption("count", 1) > 1:
        raise pytest.UsageError(
            "--count: pytest-repeat does not repeat cases; leave it out, and write `trials` into a case to ask it"
            " several times, or `confirm: 2of3` into the rubric to have a fail asked again"
        )
    if config.option.recall_baselines is not None and not (paths or datasets):
        name = options.spelled(config, "baselines")
        raise pytest.UsageError(f"{name}: there is no case file here, and only cases of one have baselines")
    if paths or datasets or recording.mode != "off" or config.option.recall_resume is not None:
        garbage.pause(config)  # A conftest file may have named us.
        begin_run(config, paths, recording, datasets)
    else:
        garbage.resume(config)


def _check_selectors(config: pytest.Config) -> None:
    """Refuse a model that cannot be found, also where no case of this run asks for it. Raises RecallError."""
    option = config.option
    given = [*(option.recall_judge or ()), *([option.recall_appellate_judge] if option.recall_appellate_judge else [])]
    if given:
        from pytest_recall.models.model import parse

        for selector in given:
            parse(selector)
    if option.recall_memory or option.recall_memory_reset:
        from pytest_recall.plugin.memories import check_options

        check_options(config)


def begin_run(
    config: pytest.Config, paths: list[Path], recording: Recording | None = None, datasets: Iterable[Path] = ()
) -> Run:
    """Make the run over the case files `paths`: none, if marked tests are all there is."""
    from pytest_recall.cases.settings_file import read_settings
    from pytest_recall.plugin import portion
    from pytest_recall.plugin.change import change_of, planned
    from pytest_recall.plugin.extensions import job_of, registry_of
    from pytest_recall.plugin.memories import read_source
    from pytest_recall.runs.affordable import within_budget
    from pytest_recall.runs.checkout import check_state, head_of
    from pytest_recall.runs.context import resolve, today_in
    from pytest_recall.runs.evidence import RECORDINGS
    from pytest_recall.runs.plan import check_names, make_plan
    from pytest_recall.runs.resume import rest_of

    with usage_errors():
        _check_selectors(config)
        place = place_of(config)
        job = job_of(config)
        rubric = read_settings(place.rubric, place.name(place.rubric))
        names: tuple[str, ...] = ()
        if rubric.baselines or config.option.recall_baselines is not None:
            from pytest_recall.plugin import baselines

            names = baselines.checked_names(config, rubric, f"{place.name(place.rubric)}: baselines")
        kept = portion.resumed(config, place)
        recording = recording or recording_options(config)
        if kept is not None:
            recording = recording.as_begun(kept.record.header.recording_facts, place)
        context = resolve(options.command_line(config), job, rubric, today_in(os.environ, today(config)))
        check_state(place)
        change = change_of(config, place, rubric, context, recording, paths, is_resumed=kept is not None)
        recorded = change.recording
        if change.job.fork and not config.option.collectonly:  # It has no keys, whatever it was asked for.
            recorded = recorded.sending_nothing(place.artifacts.folder / RECORDINGS)
        change = change._replace(recording=_on_branch(config, place, recorded))
        rubric = change.rubric
        plan = make_plan(
            place,
            paths,
            context if kept is None else kept.context(context),
            rubric,
            options.filters(config) if kept is None else kept.wanted(),
            datasets=datasets,
            read=partial(read_source, config),
            complete=bool(paths) and set(find_case_files(place.eval_dir, options.patterns(config))) <= set(paths),
            reset_on_swap=config.option.recall_reset_on_model_swap if kept is None else kept.record.header.reset,
            shard=portion.shard_of(config) if kept is None else None,
            rest=None if kept is None else rest_of(kept.record),
            base=change.base,
            changes=change.affects,
            earlier=change.earlier.events,
            commit=head_of(place.root, job)[0],
            today=today(config),
        )
        if config.option.recall_dry_run_of:
            wanted = dry_run_ids(config)
            # The replays before a slice is chosen name the file as well; a part of one, or another tree, lacks some.
            whole = not (config.option.recall_dry_run_file or files.may_hold_marks(config))
            if whole and (unknown := sorted(wanted - plan.cases)):
                raise RecallError(f"--recall-dry-run-of: no case `{unknown[0]}`{nearest(unknown[0], plan.cases)}")
            plan = replace(plan, cases=plan.cases & wanted).choosing()
        plan = replace(plan, baselines=() if config.option.recall_dry_run else names, batch=config.option.recall_batch)
        plan = replace(plan, recording=recording.facts(place))
        plan = planned(config, plan, change)
        plan = replace(plan, settings=portion.settled(config, plan, rubric, kept))
        if plan.filters.narrows and not files.may_hold_marks(config):
            check_names(plan, {})
        run = make_run(config, plan)
        if kept is not None:
            run.resume(kept.folder, kept.record)
    # What is carried over is written beside the journal, so that the lock on that comes first.
    limited = change.recording.within(rubric.budget) if kept is None else change.recording
    taken, rest = portion.carried(limited, kept, plan)
    with usage_errors():
        plan = replace(plan, rest=rest, budget=taken.budget)
        run.plan = within_budget(replace(plan, ledger=taken.ledger, early=taken.early))
    run.log.note(*change.notes, *map(str, registry_of(config).left_out))
    begin_recording(run, taken)
    return run


def _on_branch(config: pytest.Config, place: Place, recording: Recording) -> Recording:
    """Return how to record in this checkout: on a branch into a folder that becomes a file of the run's own."""
    records = recording.mode in ("record", "missing") and not recording.folder and not config.option.collectonly
    from pytest_recall.plugin.extensions import job_of
    from pytest_recall.runs.checkout import folds_here, head_of

    job = job_of(config)
    if not records or folds_here(place, job):
        return recording
    from pytest_recall.replay import run_recordings

    check_writable(config, place.artifacts.folder, place.name(place.artifacts.folder))
    return recording.on_branch(run_recordings.recording_folder(place, head_of(place.root, job)[1], recording.run))


def begin_recording(run: Run, recording: Recording) -> None:
    """Let the run record or replay, and register what that takes. Raises pytest.UsageError where it cannot."""
    from pytest_recall.plugin.limits import Breaker

    plugins = run.config.pluginmanager
    run.recording = recording
    # A replay asks no provider that could be down.
    if recording.mode != "replay":
        run.breaker = Breaker(run.plan.place, recording.run, follows=run.follows)
        plugins.register(run.breaker, "recall-breaker")
    if recording.dry:
        from pytest_recall.plugin.dry import DryRun

        run.dry = DryRun(run.config, recording.dry_run_file)
        plugins.register(run.dry, "recall-dry-run")
    run.config.stash[CASSETTES] = _manager_of(run, recording)


def _manager_of(run: Run, recording: Recording) -> CassetteManager:
    """Return the cassettes of this session. Raises pytest.UsageError where nothing can be replayed or recorded."""
    from pytest_recall.plugin.cassettes import CassetteManager
    from pytest_recall.replay.cassette_library import Layer
    from pytest_recall.replay.run_recordings import layers_from

    watch = run.config.stash.get(WATCH, None)
    if watch is not None and watch.player.mode != recording.mode:  # A job without keys replays where it would record.
        watch.call_off()
        watch = None
    if watch is not None and recording.mode == "replay":
        refuse_strays(watch.player)
    plan = run.plan
    folder = Path(recording.folder) if recording.folder else plan.place.cassettes
    layers: tuple[Layer, ...] = ()
    if recording.mode != "off" and (recording.of_branch or not recording.folder):
        with usage_errors():
            layers = layers_from(plan.place, folder)
    if recording.mode in ("record", "missing"):
        check_writable(run.config, folder, plan.place.name(folder))
    if recording.batch:
        from pytest_recall.plugin import batching, overlap

        if plan.files and not run.config.option.collectonly:
            overlap.refuse_batch(run.config, overlap.obstacle_in_options(run.config))
        watch = batching.watch(run, watch or recording.mode, recording.run)
    with usage_errors():
        manager = CassetteManager(
            plan.place,
            plan.rubric,
            recording.mode,
            folder,
            run=recording.run,
            today=plan.context.date,
            max_age=recording.max_age,
            header_check=recording.header_check,
            follows=run.follows,
            workers=getattr(run.config, "workerinput", {}).get("workercount", 1),
            watch=watch,
            live=recording.live,
            requests=Path(recording.requests) if recording.requests else None,
            base=Path(recording.base) if recording.base else None,
            layers=layers,
            of_change=recording.of_change,
            spelled=partial(options.spelled, run.config),
        )
    if recording.mode in ("record", "missing"):
        manager.problems += calls_before_the_session(manager.player)
    manager.player.hand(partial(ports_of_controller, run.config))
    if recording.dry or recording.sends_nothing:
        manager.let_nothing_out()
    if recording.budget is not None:
        from pytest_recall.plugin.limits import BudgetGate

        manager.limit(recording.budget, recording.ledger)
        run.config.pluginmanager.register(BudgetGate(manager), "recall-budget")
    return manager


def make_run(config: pytest.Config, plan: Plan) -> Run:
    """Return the run of a plan, and let it be found by the session."""
    from pytest_recall.plugin.session import Run

    def ending(run: Run) -> Ends:
        if run.follows:
            from pytest_recall.plugin.worker_ending import WorkerEnding

            return WorkerEnding(run)
        from pytest_recall.plugin.ending import Ending

        return Ending(run)

    run: Run = Run(config, plan, ending)
    config.stash[RUN] = run
    return run


def idle_choice(config: pytest.Config) -> str:
    """Return what is wrong with an option that chooses cases where there are none at all; empty if nothing is."""
    names = ("scenarios", "dimensions", "shard")
    given = [name for name in names if getattr(config.option, f"recall_{name}") is not None]
    if not given or config.stash.get(RUN, None) is not None or options.is_worker(config):
        return ""
    return (
        f"{options.spelled(config, given[0])}: there is no case here, neither in a case file nor a marked test; name"
        " the folder of the evals, or leave the option out"
    )


def ensure_run(config: pytest.Config) -> Run:
    """Return the run of this session; make it if a marked test, or a fixture for one, is the first sign of a case."""
    run: Run | None = config.stash.get(RUN, None)
    return begin_run(config, []) if run is None else run
