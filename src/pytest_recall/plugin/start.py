"""Start: find the case files, and make the plan if there are any."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_recall.core.errors import RecallError
from pytest_recall.plugin import options
from pytest_recall.plugin.recording import Recording, deck_of, recording
from pytest_recall.plugin.stash import DECK, RUN
from pytest_recall.store.find import DATASET_FILES, PROFILE_FILES, find_case_files, find_files

if TYPE_CHECKING:
    from pytest_recall.plugin.session import Run
    from pytest_recall.run.place import Place


def start(config: pytest.Config) -> None:
    """Make the run of this session, if there are case files. Raises pytest.UsageError."""
    if options.is_worker(config):
        from pytest_recall.plugin import xdist

        xdist.follow(config)
        return
    options.concurrency(config)
    options.progress(config)
    paths = list(case_files(config))
    datasets = list(dataset_files(config))
    asked = recording(config)
    if config.option.recall_baselines is not None and not (paths or datasets):
        raise pytest.UsageError("--baselines: there is no case file here, and only cases of one have baselines")
    if paths or datasets or asked.mode != "off" or config.option.recall_resume is not None:
        from pytest_recall.plugin import garbage

        garbage.pause(config)
        wake(config, paths, asked, datasets)


def _check_selectors(config: pytest.Config) -> None:
    """Refuse a model that nobody can find, also where no case of this run asks for it. Raises RecallError."""
    option = config.option
    given = [*(option.recall_judge or ()), *([option.recall_appellate_judge] if option.recall_appellate_judge else [])]
    if given:
        from pytest_recall.core.selector import parse

        for selector in given:
            parse(selector)
    if option.recall_memory or option.recall_memory_reset:
        from pytest_recall.plugin.memories import check_options

        check_options(config)


def wake(
    config: pytest.Config, paths: list[Path], asked: Recording | None = None, datasets: Iterable[Path] = ()
) -> Run:
    """Make the run over the case files `paths`: none, if marked tests are all there is."""
    from pytest_recall.core.rest import rest_of
    from pytest_recall.plugin import baselines, portion
    from pytest_recall.plugin.profiles import read_source
    from pytest_recall.plugin.session import Run
    from pytest_recall.run.context import resolve
    from pytest_recall.run.near import sources
    from pytest_recall.run.plan import check_names, make_plan
    from pytest_recall.store.rubric import read_rubric

    base = config.option.recall_base_state
    with usage_errors():
        _check_selectors(config)
        place = place_of(config)
        rubric = read_rubric(place.rubric, place.name(place.rubric))
        names = baselines.checked_names(config, rubric, f"{place.name(place.rubric)}: baselines")
        kept = portion.resumed(config, place)
        context = resolve(options.asked(config), os.environ, rubric, today(config))
        plan = make_plan(
            place,
            paths,
            context if kept is None else kept.context(context),
            rubric,
            options.wanted(config) if kept is None else kept.wanted(),
            datasets=datasets,
            read=partial(read_source, config),
            complete=bool(paths) and set(find_case_files(place.eval_dir, options.patterns(config))) <= set(paths),
            base_state=config.invocation_params.dir / base if base else None,
            reset_on_swap=config.option.recall_reset_on_model_swap if kept is None else kept.record.header.reset,
            shard=portion.shard_of(config) if kept is None else None,
            rest=None if kept is None else rest_of(kept.record),
            near=None
            if kept is not None
            else sources(config.option.recall_near or (), os.environ, config.invocation_params.dir),
        )
        plan.baselines = () if config.option.recall_dry_run else names
        plan.batch = config.option.recall_batch
        portion.settle(config, plan, rubric, kept)
        if plan.wanted.narrows and not may_hold_marks(config):
            check_names(plan, {})
        run = Run(config, plan)
        if kept is not None:
            run.go_on(kept)
    config.stash[RUN] = run
    run.begin_recording(portion.carried(asked or recording(config), kept, plan))
    assert run.recording is not None
    plan.budget, plan.ledger, plan.early = run.recording.budget, run.recording.ledger, run.recording.early
    config.stash[DECK] = deck_of(run, run.recording)
    return run


def run_of(config: pytest.Config) -> Run:
    """Return the run of this session, waking it up if need be."""
    run = config.stash.get(RUN, None)
    if run is None:
        run = wake(config, [])
    return run


def place_of(config: pytest.Config) -> Place:
    """Return where the eval directory of this session is. Raises RecallError if a given one is not there."""
    from pytest_recall.run.place import find_place

    cwd = config.invocation_params.dir
    given = options.given_dir(config)
    named = [options.argument_path(config, argument) for argument in config.args]
    place = find_place(config.rootpath, cwd, named, given)
    if given is not None and not given.is_dir():
        option = "--recall-dir" if config.option.recall_dir else "recall_dir"
        raise RecallError(f"{option}: {place.name(given)}: no such directory; correct it, or make it first")
    return place


def has_state(config: pytest.Config) -> bool:
    """Whether a schedule exists that marked tests may be on."""
    with usage_errors():
        place = place_of(config)
    return place.state.exists() or place.rubric.exists()


def today(config: pytest.Config) -> date:
    """Return the day in UTC; a worker takes the controller's, though midnight may be between them."""
    sent = getattr(config, "workerinput", {}).get("recall_today")
    return date.fromisoformat(sent) if sent else datetime.now(UTC).date()


def may_hold_marks(config: pytest.Config) -> bool:
    """Whether collection may still find cases: there are test files beside the case files."""
    patterns = config.getini("python_files")
    roots = {options.argument_path(config, argument) for argument in config.args}
    skipped = config.getini("norecursedirs")
    return any(any(find_files(root, lambda path: _fits(path, patterns), skipped)) for root in roots)


def _fits(path: Path, patterns: Iterable[str]) -> bool:
    return path.suffix == ".py" and any(path.match(pattern) for pattern in patterns)


def case_files(config: pytest.Config) -> Iterator[Path]:
    """Yield the case files that pytest is going to meet below its arguments."""
    patterns = options.patterns(config)
    seen: set[Path] = set()
    for argument in config.args:
        root = options.argument_path(config, argument)
        for path in find_case_files(root, patterns, config.getini("norecursedirs")):
            if path not in seen and not _ignored(config, path, root):
                seen.add(path)
                yield path


def dataset_files(config: pytest.Config) -> Iterator[Path]:
    """Yield the files that name datasets and that this run is about: those given by name, or by the ini file."""
    patterns = tuple(config.getini("recall_datasets"))
    seen: set[Path] = set()
    for argument in config.args:
        root = options.argument_path(config, argument)
        if not patterns and not root.is_file():
            continue  # Nothing below a folder is meant, and walking through it twice would take time.
        for path in find_files(root, lambda path: names_dataset(config, path), config.getini("norecursedirs")):
            if path not in seen and not _ignored(config, path, root):
                seen.add(path)
                yield path


def names_dataset(config: pytest.Config, path: Path) -> bool:
    """Whether the file at `path` names a dataset that this run is about, or is a profile that was given by name."""
    if path.suffix not in (".yaml", ".yml"):
        return False
    if any(path.match(pattern) for pattern in config.getini("recall_datasets")):
        return True
    given = (options.argument_path(config, argument) for argument in config.args)
    return any(path.match(pattern) for pattern in (*DATASET_FILES, *PROFILE_FILES)) and path in given


def _ignored(config: pytest.Config, path: Path, root: Path) -> bool:
    """Whether pytest passes over `path` or a folder between it and `root`."""
    between = [path, *path.parents]
    between = between[: between.index(root)] if root in between else [path]
    return any(config.hook.pytest_ignore_collect(collection_path=part, config=config) for part in between)


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn a RecallError into pytest's own: the sentences and exit code 4, without a traceback."""
    try:
        yield
    except RecallError as error:
        raise pytest.UsageError(*error.messages) from None
