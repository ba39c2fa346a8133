"""Define the options and ini settings, and read them into plain values."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recall.files import clock
from pytest_recall.files.errors import RecallError
from pytest_recall.plugin.pytest_internals import number_setting, setting

if TYPE_CHECKING:
    from pytest_recall.files.eval_directory import Place
    from pytest_recall.runs.context import CommandLine, Filters

TITLE = "eval cases on a schedule (pytest-recall)"
BATCHED = 200
"""Cases that run at once with `--batch`: a process bears so many threads, and their calls make few batches."""
EXPLICIT_OPTIONS = (("keyword", "-k"), ("lf", "--lf"), ("stepwise", "--sw"))


def add(group: OptionGroup) -> None:
    """Add the options but for those of recordings."""
    group.addoption(
        "--recall-scenarios",
        metavar="A,B",
        help="run the cases of these scenarios only; without --recall-mode, all of them",
    )
    group.addoption(
        "--recall-dimensions",
        metavar="A,B",
        help="run the cases of these dimensions only; without --recall-mode, all of them",
    )
    group.addoption(
        "--recall-mode",
        metavar="MODE",
        help="pr: box 1, due cases up to a cap and a few new ones; nightly: all that is overdue and a few new ones;"
        " all: everything; observe: everything, and what the slice of a pull request would have missed and saved"
        " (default: nightly in a scheduled GitHub workflow, else `mode` in rubric.yaml, which is pr)",
    )
    group.addoption("--recall-date", metavar="YYYY-MM-DD", help="the day to run as (default: today in UTC)")
    group.addoption(
        "--recall-seed", metavar="SEED", help="what draws the new cases (default: the pull request, else the date)"
    )
    group.addoption("--recall-pr", metavar="N", help="the pull request to note in the state (default: from GITHUB_REF)")
    group.addoption(
        "--recall-model",
        metavar="SELECTOR",
        help="the model under test (default: `model_primary` in rubric.yaml): the fixture `recall_model` asks it, and"
        " where there is no `agent` it is the agent",
    )
    group.addoption(
        "--recall-baselines",
        metavar="A,B",
        help="ask the same cases of these as well, side by side, in place of `baselines` in rubric.yaml: `raw`,"
        " `tail-window`, `compaction`, `no-memory`, fixtures `agent_<name>`, or models by selector; `none` for none",
    )
    group.addoption(
        "--recall-base-state",
        metavar="FILE",
        help="choose from this state file instead of eval/recall.yaml, so that a second push to a pull request runs"
        " what the first one ran",
    )
    group.addoption(
        "--recall-near",
        action="append",
        metavar="WHAT",
        help="what the change touches, with `policy: lottery`, whose slice prefers it: git:REF, the files that differ"
        " from where this branch left REF; tags, with commas; file:PATH, a list of ids; or off. May be repeated"
        " (default: the base of the pull request, from GITHUB_BASE_REF or CI_MERGE_REQUEST_DIFF_BASE_SHA)",
    )
    group.addoption(
        "--recall-update",
        action="store_true",
        help="write the state after a run of cases that you chose yourself (node ids, -k, --lf, --scenarios)",
    )
    group.addoption(
        "--recall-reset-on-model-swap",
        action="store_true",
        help="return every case last tested with another model than `model_primary` to box 1",
    )
    group.addoption(
        "--recall-dir", metavar="DIR", help="the eval directory (default: found from the paths given, else eval)"
    )
    group.addoption(
        "--recall-judge",
        action="append",
        metavar="SELECTOR",
        help="the model that judges, in place of `judge` in rubric.yaml; given several times, a panel that votes",
    )
    group.addoption(
        "--recall-appellate-judge",
        metavar="SELECTOR",
        help="the model whose verdict takes the place of one that fails an answer, in place of `appellate_judge` in"
        " rubric.yaml",
    )
    group.addoption(
        "--recall-memory",
        metavar="SELECTOR",
        help="the memory system that cases with `memory` and the fixture `memory` ask, in place of `memory` in"
        " rubric.yaml (default: sqlite-fts)",
    )
    group.addoption(
        "--recall-memory-reset",
        action="store_true",
        help="allow to reset a memory system that is not empty, or does not say so: all that it holds is deleted",
    )
    group.addoption(
        "--recall-budget",
        metavar="USD",
        help="begin no further model call once this run has spent this much, with its judges; cases that are left"
        " are listed as not run",
    )
    group.addoption(
        "--recall-batch",
        action="store_true",
        help="send the calls of cases that run at once through the batch APIs of OpenAI and Anthropic, at half price;"
        f" up to {BATCHED} cases then run at once, unless --recall-concurrency says otherwise",
    )
    group.addoption(
        "--recall-concurrency",
        metavar="N",
        help="let up to N cases of a case file wait for their answers at once, in each process (default: 1); reports"
        " come in order, one by one",
    )
    group.addoption(
        "--recall-shard",
        metavar="K/N",
        help="run the K-th of N parts of the slice, which all N jobs choose alike; `recall ci merge` joins them; auto:"
        " as the environment of GitLab, CircleCI or Buildkite has it",
    )
    group.addoption(
        "--recall-resume",
        nargs="?",
        const="latest",
        metavar="RUN",
        help="resume a run that was killed or cut short (default: the latest): ask what it has no verdict for, and"
        " nothing twice",
    )
    # What several eval directories are run with, each by a pytest of its own.
    group.addoption("--recall-one-of-several", metavar="NAMES", help=argparse.SUPPRESS)


def asked(config: pytest.Config) -> CommandLine:
    """Return what the command line says about the context."""
    from pytest_recall.runs.context import CommandLine

    option = config.option
    return CommandLine(
        date=option.recall_date,
        seed=option.recall_seed,
        # A dry run looks at every case, unless someone says which.
        mode="all" if option.recall_dry_run and option.recall_mode is None else option.recall_mode,
        pr=option.recall_pr,
        model=option.recall_model,
    )


def wanted(config: pytest.Config) -> Filters:
    """Return what the command line narrows the run to. Explicit beats scheduled."""
    from pytest_recall.runs.context import Filters

    option = config.option
    reason = ""
    for name, shown in (("recall_scenarios", "--scenarios"), ("recall_dimensions", "--dimensions")):
        if getattr(option, name) is not None and option.recall_mode is None:
            reason = shown
    for name, shown in EXPLICIT_OPTIONS:
        if getattr(option, name, None):
            reason = shown
    if any("::" in argument for argument in config.args):
        reason = "node ids"
    return Filters(
        scenarios=_names("--scenarios", option.recall_scenarios),
        dimensions=_names("--dimensions", option.recall_dimensions),
        explicit=reason,
        update=option.recall_update,
        elsewhere=_elsewhere(config.option.recall_one_of_several or "[]"),
    )


def _elsewhere(given: str) -> tuple[tuple[str, str], ...]:
    """Return what `--recall-one-of-several` says that cases of other eval directories have."""
    try:
        return tuple((option, name) for option, name in json.loads(given))
    except (TypeError, ValueError):
        raise pytest.UsageError(
            "--recall-one-of-several: is for the runs of several eval directories alone; leave it out"
        ) from None


def concurrency(config: pytest.Config) -> int:
    """Return how many cases may run at once. Raises pytest.UsageError."""
    given, name = config.option.recall_concurrency, "--recall-concurrency"
    if given is None:
        default = str(BATCHED if config.option.recall_batch else 1)
        given, name = number_setting(config, "recall_concurrency") or default, "recall_concurrency"
    if not (given.isascii() and given.isdigit() and int(given) > 0):
        raise pytest.UsageError(f"{name}: {given!r} is not a number of cases; give 1 or more")
    if config.option.recall_batch and int(given) == 1:
        raise pytest.UsageError(f"--batch would wait for a batch of one call at a time with {name} 1; give more")
    return int(given)


def progress(config: pytest.Config) -> float:
    """Return the seconds between two lines of progress; 0 is none at all. Raises pytest.UsageError."""
    given = number_setting(config, "recall_progress") or "60"
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not (isfinite(seconds) and seconds >= 0):
        raise pytest.UsageError(f"recall_progress: {given!r} is not a number of seconds; give 60, or 0 for no lines")
    return seconds


def patterns(config: pytest.Config) -> tuple[str, ...]:
    """Return the glob patterns of case files."""
    from pytest_recall.files.eval_directory import DEFAULT_PATTERNS, settled

    folder = given_dir(config) or settled(config.rootpath, [argument_path(config, arg) for arg in config.args])
    # The eval directory may have any name, and its own cases.yaml is always a case file.
    own = (f"{folder.name}/cases.yaml", f"{folder.name}/cases.jsonl") if folder is not None and folder.name else ()
    return (*DEFAULT_PATTERNS, *own, *setting(config, "recall_files"))


def given_dir(config: pytest.Config) -> Path | None:
    """Return the eval directory that the command line or the ini file names, if one does."""
    base, given = config.invocation_params.dir, config.option.recall_dir
    if not given:
        base, given = config.rootpath, setting(config, "recall_dir")
    return base / given if given else None


def argument_path(config: pytest.Config, argument: str) -> Path:
    """Return the path of a command-line argument, without its node id."""
    # Not `resolve`: pytest keeps links as they were written, and so must the paths compared with its own.
    return Path(os.path.abspath(config.invocation_params.dir / argument.partition("::")[0]))  # noqa: PTH100


def _names(option: str, given: str | None) -> tuple[str, ...]:
    if given is None:
        return ()
    names = tuple(name.strip() for name in given.split(",") if name.strip())
    if not names:
        raise pytest.UsageError(f"{option}: names nothing; give one or more, separated by commas")
    return names


def is_worker(config: pytest.Config) -> bool:
    """Whether this process is a worker of xdist, which follows and reports."""
    return hasattr(config, "workerinput")


def place_of(config: pytest.Config) -> Place:
    """Return where the eval directory of this session is. Raises RecallError if a given one is not there."""
    from pytest_recall.files.eval_directory import find_place

    cwd = config.invocation_params.dir
    given = given_dir(config)
    named = [argument_path(config, argument) for argument in config.args]
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
    return date.fromisoformat(sent) if sent else clock.now().date()


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn a RecallError into pytest's own: the sentences and exit code 4, without a traceback."""
    try:
        yield
    except RecallError as error:
        raise pytest.UsageError(*error.messages) from None


class OptionGroup:
    """A group of pytest's options that gives each of ours its short name."""

    def __init__(self, group: Any, free: frozenset[str]) -> None:
        self._group = group
        self._free = free

    def addoption(self, name: str, **about: Any) -> None:
        """Add the option `--recall-NAME`, and `--NAME` if that is free; the rest is for pytest."""
        short = name.replace("--recall-", "--", 1)
        self._group.addoption(name, *({short} & self._free), **about)
