"""The hooks that extensions implement.

A package names the module with its implementations in the entry-point group `pytest_recall`, by which the command
`recall` finds it. pytest knows the hooks as well, so that a `conftest.py` and any of its plugins may implement them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from pytest_recall.ext import (
        Case,
        DatasetLayout,
        FinishedRun,
        Host,
        Importer,
        Measure,
        MemoryKind,
        Section,
        Subcommand,
        Trial,
    )

GROUP = "pytest_recall"
"""The group of entry points."""
hookspec = pluggy.HookspecMarker("pytest")


@hookspec
def pytest_recall_importers() -> Iterable[Importer]:  # type: ignore[empty-body]
    """Return importers, each of which reads the eval sets of a tool for `recall import`.

    The command alone asks for them, so that an importer in a conftest.py is not found.
    """


@hookspec(firstresult=True)
def pytest_recall_host(environ: Mapping[str, str], repo: str | None) -> Host | None:
    """Return the code host whose job runs in `environ`, or which has the repository `repo`; None if it is another one.

    `repo` is what a command names with `--repo`, else None. The first host that an extension returns counts.
    """


@hookspec
def pytest_recall_check_case(case: Case) -> Iterable[str] | str | None:
    """Return what is wrong with a case, in sentences; None or an empty list if nothing is.

    Each case is checked that is collected, by a run before it asks anything and by `recall check`. A sentence is shown
    with the file and the line of the case, and nothing is asked then.
    """


@hookspec
def pytest_recall_datasets() -> Iterable[DatasetLayout]:  # type: ignore[empty-body]
    """Return layouts of datasets of conversations and questions, for `recall memory` and files `*.dataset.yaml`.

    The commands find those of packages alone; a session of pytest those of conftest files as well.
    """


@hookspec
def pytest_recall_memories() -> Iterable[MemoryKind]:  # type: ignore[empty-body]
    """Return kinds of memories, each of which a selector names, as in `--memory NAME`.

    A command finds those of packages, and pytest those of its conftest files and plugins as well. A name that two
    packages have selects neither.
    """


# What is called in a run of pytest: on its controller alone, also with pytest-xdist. A conftest.py takes part there if
# pytest loads it before collection, as it does with those of the folders that its command line names.


@hookspec
def pytest_recall_measures() -> Iterable[Measure]:  # type: ignore[empty-body]
    """Return measures, each of which computes a number of every answer.

    A run asks for them once, before its first trial. They are computed when a trial with an answer comes to the
    journal, which has their numbers in `custom_measures`; the scorecard has the mean of each. They decide nothing: a
    measure with a fault has no number, and the notes of the run name it.
    """


@hookspec
def pytest_recall_trial(case: Case | None, trial: Trial) -> None:
    """Take note of a trial, as soon as it stands in the journal.

    It is called for every trial, in the order of the journal; what a run that is resumed had before is not repeated.
    A marked test has no case. A fault fails nothing, and the notes of the run name it.
    """


@hookspec
def pytest_recall_run_end(run: FinishedRun, make_folder: Callable[[], Path]) -> None:
    """Take note of a run that has ended, once its state, its journal and its scorecard are written.

    `make_folder` makes a folder for files of the extension, in that of the run, and returns it. A fault fails nothing,
    and the notes of the run name it.
    """


@hookspec
def pytest_recall_sections(trials: Sequence[Trial]) -> Iterable[Section]:  # type: ignore[empty-body]
    """Return sections for the scorecard of a run, made of all its trials.

    It is called once, before the run ends. The journal has what it returns, so that the terminal, both pages and
    `recall score` show the sections; the facts of each are in scorecard.json, in `extensions`, under its `key`. A run
    that is joined from shards has none.
    """


@hookspec
def pytest_recall_commands() -> Iterable[Subcommand]:  # type: ignore[empty-body]
    """Return commands for the command line `recall`.

    The command line alone asks for them, so that a command in a conftest.py is not found. One with a fault, or with the
    name of another one, is left out.
    """
