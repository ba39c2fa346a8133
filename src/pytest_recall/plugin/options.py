"""Define the options, each with the one name that it has in a project, refuse unknown ones, and read their values."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from datetime import date
from difflib import get_close_matches
from functools import partial
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recall.files import clock
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.plugin import switch
from pytest_recall.plugin.option_rules import is_given
from pytest_recall.plugin.pytest_internals import number_setting, setting
from pytest_recall.replay.record_option import MISSING

if TYPE_CHECKING:
    from pytest_recall.files.eval_directory import Place
    from pytest_recall.runs.context import CommandLine, Filters

TITLE = "eval cases on a schedule (pytest-recall)"
BATCHED = 200
"""Cases that run at once with `--recall-batch`: a process bears so many threads, and their calls make few batches."""
NO_FOLDER = ""
"""The value of an option that is given without a directory."""
XDIST = ("-n", "--numprocesses", "--maxprocesses", "--dist", "--tx")
LIKE = 0.8
"""How near an option has to be to one of ours, by difflib's ratio, that it is taken for that one."""


def spelled(config: Any, name: str) -> str:
    """Return how the option `name` is spelled in this project, such as `--record` or `--recall-mode`."""
    return f"--{name}" if name in switch.SHORT and setting(config, switch.SETTING) else f"--recall-{name}"


@contextmanager
def added(config: pytest.Config, parser: pytest.Parser, args: list[str]) -> Iterator[None]:
    """Add all options, and load the conftest files within. Raises pytest.UsageError for a name that two have.

    The options are added after those of all plugins, and before those of conftest files.
    """
    with _clash_refused(config, "another plugin"):
        add(config, parser)
        _parse_again(config, parser, args)
    with _clash_refused(config, "a conftest.py"):
        yield
        parser.parse_known_args(args)  # pytest before 9 finds a name that is there twice when it parses.


def add(config: pytest.Config, parser: pytest.Parser) -> None:
    """Add the options as they are spelled in this project."""
    define(parser.getgroup("recall", TITLE).addoption, partial(spelled, config))


def clash(config: pytest.Config, error: BaseException | None, other: str = "a conftest.py") -> str:
    """Return what to do about an `other` that has an option of ours as well; empty for any other error."""
    if not isinstance(error, argparse.ArgumentError):
        return ""
    names = (error.argument_name or "").split("/")
    ours = next((name for name in switch.SHORT if f"--{name}" in names and f"--{name}" == spelled(config, name)), "")
    if not ours:
        return ""
    return (
        f"--{ours}: an option of pytest-recall and of {other}; set `{switch.SETTING} = false`, and that of"
        f" pytest-recall is --recall-{ours}"
    )


@contextmanager
def _clash_refused(config: pytest.Config, other: str) -> Iterator[None]:
    try:
        yield
    except argparse.ArgumentError as error:
        raise pytest.UsageError(clash(config, error, other) or str(error)) from None


def _parse_again(config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Let what is known of the arguments have our options; pytest took their values for paths."""
    fresh = parser.parse_known_args(args, namespace=copy(config.option))
    known = config.known_args_namespace
    for name, value in vars(fresh).items():
        if name.startswith("recall_") or name == "file_or_dir":
            setattr(known, name, value)


def refuse(config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Refuse the first unknown option, if it is near one of ours or of pytest-xdist's.

    All others are for pytest to refuse. Raises pytest.UsageError.
    """
    try:
        _, unknown = parser.parse_known_and_unknown_args(args)
    except pytest.UsageError:
        return  # pytest says it itself.
    for argument in unknown:
        name = argument.partition("=")[0]
        if name.startswith("-n") and not name.startswith("--"):
            name = "-n"
        if name in XDIST:
            if find_spec("xdist") is None:
                how = "is not installed; run `pip install pytest-xdist`"
            else:
                how = "is not loaded; leave out what keeps it from that, such as `-p no:xdist`, or give `-p xdist`"
            raise pytest.UsageError(f"{name}: an option of pytest-xdist, which {how}")
        if not name.startswith("--"):
            continue
        listed = (
            one for one in parser.getgroup("recall", TITLE).options if one.attrs()["help"] is not argparse.SUPPRESS
        )
        ours = [known for option in listed for known in option.names()]
        if (other := spelled(config, name.removeprefix("--").removeprefix("recall-"))) in ours:
            raise pytest.UsageError(f"{name}: no option; did you mean `{other}`?")
        if name.startswith("--recall-"):
            raise pytest.UsageError(f"{name}: no option of pytest-recall{nearest(name, ours)}")
        if near := get_close_matches(name, ours, n=1, cutoff=LIKE):
            raise pytest.UsageError(f"{name}: no option; did you mean `{near[0]}`?")


def define(addoption: Callable[..., object], spelled: Callable[[str], str]) -> None:
    """Add each option by the `addoption` of a parser, or of a group, as it is `spelled` there."""

    def add(name: str, **about: Any) -> None:
        addoption(spelled(name), **{"dest": f"recall_{name.replace('-', '_')}", **about})

    add(
        "scenarios",
        metavar="A,B",
        help="run the cases of these scenarios only; without --recall-mode, all of them",
    )
    add(
        "dimensions",
        metavar="A,B",
        help="run the cases of these dimensions only; without --recall-mode, all of them",
    )
    add(
        "mode",
        metavar="MODE",
        help="pr: what the change affects, box 1, due cases up to a cap and a few new ones; main, after a merge: what"
        " has no recording of its requests as they are now, within the budget; nightly: all that is due, then the"
        " oldest verdicts; all: everything; observe: everything, and what the slice of a pull request would"
        " have missed and saved (default: nightly in a job that a clock has begun, else pr)",
    )
    add("date", metavar="YYYY-MM-DD", help="the day to run as (default: today in UTC)")
    add("seed", metavar="SEED", help="what draws the new cases (default: the pull request, else the date)")
    add("pr", metavar="N", help="the pull request to note in the state (default: that of the job)")
    add(
        "model",
        metavar="SELECTOR",
        help="the model under test (default: `model_primary` in rubric.yaml): the fixture `recall_model` asks it, and"
        " where there is no `agent` it is the agent",
    )
    add(
        "baselines",
        metavar="A,B",
        help="ask the same cases of these as well, side by side, in place of `baselines` in rubric.yaml: `raw`,"
        " `tail-window`, `compaction`, `no-memory`, fixtures `agent_<name>`, or models by selector; `none` for none",
    )
    add(
        "base",
        metavar="REF",
        help="the branch or commit that this change is to be merged into: regressions are told against the state where"
        " the checkout left it (default: the base of the pull request, from GITHUB_BASE_REF or"
        " CI_MERGE_REQUEST_DIFF_BASE_SHA; else the default branch)",
    )
    add(
        "update",
        action="store_true",
        help="write the state after a run of cases that you chose yourself (node ids, -k, --lf,"
        f" {spelled('scenarios')})",
    )
    add(
        "reset-on-model-swap",
        action="store_true",
        help="return every case last tested with another model than `model_primary` to box 1",
    )
    add("dir", metavar="DIR", help="the eval directory (default: found from the paths given, else eval)")
    add(
        "artifacts",
        metavar="DIR",
        help="the folder for what the run leaves, such as journal and scorecard (default: _artifacts in the eval"
        " directory, which may be one that cannot be written)",
    )
    add(
        "judge",
        action="append",
        metavar="SELECTOR",
        help="the model that judges, in place of `judge.model` in rubric.yaml; given several times, a panel that votes",
    )
    add(
        "appellate-judge",
        metavar="SELECTOR",
        help="the model whose verdict replaces one that fails an answer, instead of `judge.appellate` in rubric.yaml",
    )
    add(
        "memory",
        metavar="SELECTOR",
        help="the memory system that cases with `memory` and the fixture `memory` ask, in place of `memory` in"
        " rubric.yaml (default: sqlite-fts)",
    )
    add(
        "memory-reset",
        action="store_true",
        help="allow to reset a memory system that is not empty, or does not say so: all that it holds is deleted",
    )
    add(
        "budget",
        metavar="USD",
        help="begin no model call that may bring what this run spends above this, with its judges; cases that are left"
        " are listed as not run",
    )
    add(
        "batch",
        action="store_true",
        help="send the calls of cases that run at once through the batch APIs of OpenAI and Anthropic, at half price;"
        f" up to {BATCHED} cases then run at once, unless --recall-concurrency says otherwise",
    )
    add(
        "concurrency",
        metavar="N",
        help="let up to N cases of a case file wait for their answers at once, in each process (default: 1); reports"
        " come in order, one by one",
    )
    add(
        "shard",
        metavar="K/N",
        help="run the K-th of N parts of the slice, which all N jobs choose alike; `recall ci merge` joins them; auto:"
        " as the environment of GitLab, CircleCI or Buildkite has it",
    )
    add(
        "resume",
        nargs="?",
        const="latest",
        metavar="RUN",
        help="resume a run that was killed or cut short (default: the latest): ask what it has no verdict for, and"
        " nothing twice",
    )
    add(
        "record",
        nargs="?",
        const=NO_FOLDER,
        metavar="DIR",
        help="record the upstream calls of each case into cassettes in DIR, in place of earlier recordings (default:"
        f" eval/cassettes, and on a branch a file of the run in eval/runs); {spelled('record')}=missing replays what is"
        " there and records the rest",
    )
    add(
        "replay",
        nargs="?",
        const=NO_FOLDER,
        metavar="DIR",
        help="answer the upstream calls of each case from the cassettes in DIR (default: those in eval/cassettes and"
        " eval/runs): no network, no key, no cost, but for hosts and programs that the rubric lets through; verdicts"
        " on replayed answers move no box",
    )
    add(
        "replay-max-age",
        type=int,
        metavar="DAYS",
        help="in a replay, refuse cassettes that were recorded more than DAYS ago",
    )
    add(
        "trust-replays",
        action="store_true",
        help=f"with {spelled('replay')} or {spelled('record')}=missing: let verdicts on replayed answers move boxes, as"
        " if the model had answered today",
    )
    add(
        "live",
        metavar="KINDS",
        help=f"with {spelled('record')} or {spelled('replay')}: make the calls of these kinds (agent, judge, worker)"
        " over the network, and record none of them; --recall-live judge judges replayed answers today, which costs"
        " money",
    )
    add(
        "dry-run",
        action="store_true",
        help=f"with {spelled('record')}=missing: replay every case with its judges, send nothing, and list the cases"
        " that the change affects, also in eval/_artifacts/changed.json; exit 1 if one that passed before the change"
        " fails on a recorded answer",
    )
    add(
        "dry-run-of",
        metavar="FILE",
        help="with --recall-dry-run: replay these cases alone, a JSON list of ids",
    )
    add(
        "dry-run-file",
        metavar="FILE",
        help="with --recall-dry-run: write what was found into FILE in place of eval/_artifacts/changed.json",
    )
    # For processes that are begun by us, in which `--record=missing:DIR` may have another spelling.
    add(
        "dry-run-cassettes",
        metavar="DIR",
        type=lambda folder: f"{MISSING}:{folder}",
        help=argparse.SUPPRESS,
        dest="recall_record",
    )
    # How two replays of one commit are compared: what they ask, at another date, and with more that may differ.
    add("dry-run-requests", metavar="DIR", help=argparse.SUPPRESS)
    add("dry-run-later", metavar="SECONDS", type=float, help=argparse.SUPPRESS)
    add("dry-run-ignoring", metavar="FILE", help=argparse.SUPPRESS)


def command_line(config: pytest.Config) -> CommandLine:
    """Return what the command line says about the context."""
    from pytest_recall.runs.context import CommandLine

    option = config.option
    return CommandLine(
        date=option.recall_date,
        seed=option.recall_seed,
        # A dry run looks at every case, and an editor lists every case, unless someone says which.
        mode="all"
        if option.recall_mode is None and (option.recall_dry_run or option.collectonly)
        else option.recall_mode,
        pr=option.recall_pr,
        model=option.recall_model,
    )


def filters(config: pytest.Config) -> Filters:
    """Return what the command line narrows the run to. Explicit beats scheduled."""
    from pytest_recall.runs.context import Filters

    option = config.option
    reason = ""
    for name in ("scenarios", "dimensions"):
        if getattr(option, f"recall_{name}") is not None and option.recall_mode is None:
            reason = spelled(config, name)
    for name in ("-k", "--lf", "--sw"):
        if is_given(option, name):
            reason = name
    if any("::" in argument for argument in config.args):
        reason = "node ids"
    return Filters(
        scenarios=_names(spelled(config, "scenarios"), option.recall_scenarios),
        dimensions=_names(spelled(config, "dimensions"), option.recall_dimensions),
        explicit=reason,
        update=option.recall_update,
    )


def concurrency(config: pytest.Config) -> int:
    """Return how many cases may run at once. Raises pytest.UsageError."""
    given, name = config.option.recall_concurrency, "--recall-concurrency"
    if given is None:
        default = str(BATCHED if config.option.recall_batch else 1)
        given, name = number_setting(config, "recall_concurrency") or default, "recall_concurrency"
    if not (given.isascii() and given.isdigit() and int(given) > 0):
        raise pytest.UsageError(f"{name}: {given!r} is not a number of cases; give 1 or more")
    if config.option.recall_batch and int(given) == 1:
        raise pytest.UsageError(f"--recall-batch would wait for a batch of one call at a time with {name} 1; give more")
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
    from pytest_recall.files.eval_directory import DEFAULT_PATTERNS, OWN_FILES, SUFFIXES, patterns_in, settled

    named = [argument_path(config, argument) for argument in config.args]
    folder = given_dir(config) or settled(config.rootpath, named)
    if folder is None:  # One that has neither rubric nor state yet, whose file is named.
        folder = next((path.parent for path in named if path.name in OWN_FILES), None)
    given = setting(config, "recall_files")
    for pattern in given:
        suffix = Path(pattern).suffix
        if suffix and suffix not in SUFFIXES and not set("*?[") & set(suffix):
            ends = ", ".join(SUFFIXES)
            raise pytest.UsageError(f"recall_files: `{pattern}` fits no case file: their names end in one of {ends}")
    return (*(DEFAULT_PATTERNS if folder is None else patterns_in(folder)), *given)


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
    artifacts = config.option.recall_artifacts
    return place if artifacts is None else replace(place, artifacts_folder=Path(os.path.normpath(cwd / artifacts)))


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
