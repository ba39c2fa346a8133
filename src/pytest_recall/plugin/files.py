"""Find the files below pytest's arguments that hold cases, and refuse those whose names are nearly right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from pytest_recall.files import eval_directory
from pytest_recall.files.eval_directory import (
    DATASET_FILES,
    PROFILE_FILES,
    find_case_files,
    find_files,
    meant_for,
    own_case_file,
    relative,
)
from pytest_recall.plugin import options
from pytest_recall.plugin.pytest_internals import setting
from pytest_recall.plugin.stash import FOREIGN
from pytest_recall.plugin.switch import RUBRIC


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
    foreign = config.stash[FOREIGN] = []
    for argument in config.args:
        root = options.argument_path(config, argument)
        for path in find_case_files(root, patterns, config.getini("norecursedirs")):
            if path in seen or _ignored(config, path, root) or _is_met_twice(config, path):
                continue
            seen.add(path)
            if is_own(config, path):
                yield path
            else:
                foreign.append(path)


def refuse_several(config: pytest.Config, paths: Iterable[Path]) -> None:
    """Refuse case files of more than one eval directory: each has a rubric, a state and a journal of its own.

    That of a case file is the nearest folder with a rubric or a state; one without belongs to that of the run. Raises
    pytest.UsageError.
    """
    if options.given_dir(config) is not None:
        return
    owners = (eval_directory.settled(config.rootpath, [path.parent]) for path in paths)
    folders = [folder for folder in dict.fromkeys(owners) if folder is not None]
    if len(folders) < 2:
        return
    names, commands = [], []
    for folder in folders[:2]:
        name = relative(folder, config.invocation_params.dir)
        names.append(name)
        # One may lie within another, whose cases pytest meets with its own.
        only = f" --recall-dir={name}" if any(folder in other.parents for other in folders) else ""
        commands.append(f"`pytest -p recall {name}{only}`")
    raise pytest.UsageError(
        f"{' and '.join(names)} are two eval directories, and a run is of one; run {' and '.join(commands)}"
    )


def is_case_file(config: pytest.Config, path: Path) -> bool:
    """Whether the file at `path` is called like a case file, is one of this project's, and is met here first."""
    named = eval_directory.is_case_file(path, options.patterns(config))
    return named and is_own(config, path) and not _is_met_twice(config, path)


def is_own(config: pytest.Config, path: Path) -> bool:
    """Whether a file that is called like a case file is one of this project's, and not another tool's.

    It is if a rubric.yaml is in its folder or above, up to the root of the project, or if the command line or the ini
    file names it, the folder that it is in or the eval directory. A worker goes by what the controller found.
    """
    if options.is_worker(config):
        return str(path) not in config.workerinput["recall_foreign"]  # type: ignore[attr-defined]
    folders = path.parents
    given = options.given_dir(config)
    if _is_of_another(config, path):
        return False
    if given is not None and given in folders:
        return True
    if any(path.match(pattern) for pattern in setting(config, "recall_files")):
        return True
    if config.args_source is not pytest.Config.ArgsSource.INVOCATION_DIR:
        named = {options.argument_path(config, argument) for argument in config.args}
        if path in named or path.parent in named:
            return True
    if config.rootpath in folders:
        folders = folders[: folders.index(config.rootpath) + 1]
    return any((folder / RUBRIC).is_file() for folder in folders)


def _is_of_another(config: pytest.Config, path: Path) -> bool:
    """Whether a file is in another eval directory than `--recall-dir` names, with a schedule of its own."""
    given = options.given_dir(config)
    if given is None:
        return False
    own = eval_directory.settled(config.rootpath, [path.parent])
    if own is None or own == given or own in given.parents:
        return False
    named = (options.argument_path(config, argument) for argument in config.args)
    return not any(own == one or own in one.parents for one in named)  # What is named itself is run.


def foreign_line(config: pytest.Config) -> str:
    """Return which files are passed over though they are called like case files; empty if there are none."""
    paths = config.stash.get(FOREIGN, [])
    if not paths:
        return ""
    from pytest_recall.files.wording import listed

    others = [path for path in paths if _is_of_another(config, path)]
    names, strangers = (
        listed([relative(path, config.rootpath) for path in some])
        for some in (others, [path for path in paths if path not in others])
    )
    lines = []
    if names:
        lines.append(f"recall: not run, as --recall-dir names another eval directory: {names}")
    if strangers:
        lines.append(
            f"recall: not run, as no {RUBRIC} is in a folder above: {strangers}; name the file to run it, or write a"
            f" {RUBRIC} as `recall init` does"
        )
    return "\n".join(lines)


def nothing_line(config: pytest.Config) -> str:
    """Return that no case file was found, and what one is called; empty if some were passed over and are named."""
    if config.stash.get(FOREIGN, []):
        return ""
    for argument in config.args:
        folder = options.argument_path(config, argument)
        if path := own_case_file(folder):
            name, where = relative(path, config.rootpath), relative(folder, config.rootpath)
            return f"recall: not run: {name}; name the file, write {where}/{RUBRIC}, or give --recall-dir {where}"
    names = ", ".join(dict.fromkeys(one for one in options.patterns(config) if not one.endswith(".jsonl")))
    return f"recall: no case file was found ({names}); name its file, or let `recall init` write one"


def dataset_files(config: pytest.Config) -> Iterator[Path]:
    """Yield the files that name datasets and that this run is about: those given by name, or by the ini file."""
    patterns = tuple(setting(config, "recall_datasets"))
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
    if any(path.match(pattern) for pattern in setting(config, "recall_datasets")):
        return True
    given = (options.argument_path(config, argument) for argument in config.args)
    return any(path.match(pattern) for pattern in (*DATASET_FILES, *PROFILE_FILES)) and path in given


def _is_met_twice(config: pytest.Config, path: Path) -> bool:
    """Whether a link to a folder leads to `path`, and pytest meets the folder itself as well: its cases are one set."""
    real = path.parent.resolve() / path.name
    if real == path:
        return False
    skipped = config.getini("norecursedirs")
    return any(
        root in real.parents and real in find_files(root, lambda one: one.name == path.name, skipped)
        for root in (options.argument_path(config, argument) for argument in config.args)
    )


def _ignored(config: pytest.Config, path: Path, root: Path) -> bool:
    """Whether pytest passes over `path` or a folder between it and `root`."""
    between = [path, *path.parents]
    between = between[: between.index(root)] if root in between else [path]
    return any(config.hook.pytest_ignore_collect(collection_path=part, config=config) for part in between)


OTHERS = ("cassettes", "events", "_artifacts")
"""Folders of the eval directory that hold no case files of people."""


def refuse(config: pytest.Config) -> None:
    """Refuse such files where pytest is about to look for cases. Raises pytest.UsageError with a sentence for each."""
    if found := list(_sentences(config)):
        raise pytest.UsageError(*found)


def _sentences(config: pytest.Config) -> Iterator[str]:
    from pytest_recall.plugin.options import place_of, usage_errors

    with usage_errors():
        place = place_of(config)
    folder = place.eval_dir
    named = [options.argument_path(config, argument) for argument in config.args]
    if not any(root == folder or root in folder.parents or folder in root.parents for root in named):
        return
    # A folder of that name may be another tool's, unless a setting says that it is ours.
    given = config.args_source is not pytest.Config.ArgsSource.INVOCATION_DIR and folder in named
    if not (given or (folder / RUBRIC).is_file() or options.given_dir(config) == folder):
        return
    patterns = options.patterns(config)
    skipped = (*config.getini("norecursedirs"), *OTHERS)
    for path in find_files(folder, lambda path: bool(meant_for(path, folder, patterns)), skipped):
        meant = meant_for(path, folder, patterns)
        both = (path.parent / meant).exists()
        what = f"move what is in it into {meant}, and delete it" if both else f"rename it to {meant}"
        yield f"{place.name(path)}: no run reads a file of this name; {what}, or give it a clearly different name"
