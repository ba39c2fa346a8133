"""Build the command of another pytest process from this one's arguments, those of `addopts` and files too."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_recall.plugin.pytest_internals import parser_of

VARIABLE = "PYTEST_ADDOPTS"
REPORT_FILES = {
    "htmlpath": "--html",
    "json_report_file": "--json-report-file",
    "report_log": "--report-log",
    "mdpath": "--md",
}
"""Options of plugins for a report in one file, which a second command would overwrite."""


class _Argument(str):
    """An argument at its place: equal texts, of which one is the value of an option, are told apart by identity."""

    __slots__ = ()


def options_of(config: pytest.Config) -> list[str]:
    """Return all arguments but the paths, in pytest's order: those of the ini file, of the environment, and given.

    They end with the ini file and the root folder of this pytest, and with what keeps a command from taking `addopts` a
    second time. Such a command needs the environment of `environ`, which is without `PYTEST_ADDOPTS`.
    """
    texts = [
        *config.getini("addopts"),
        *shlex.split(os.environ.get(VARIABLE, "")),
        *map(os.fspath, config.invocation_params.args),
    ]
    arguments = [_Argument(one) for one in _expanded(config.invocation_params.dir, texts)]
    known, others = parser_of(config).parse_known_and_unknown_args(arguments)
    # Before pytest 9, paths behind the first option are among the others.
    paths = {id(one) for one in (*known.file_or_dir, *(one for one in others if not one.startswith("-")))}
    # What follows a `--` is a path, and nothing else is to be one.
    options = [str(one) for one in arguments if id(one) not in paths and one != "--"]
    ini = [] if config.inipath is None else ["-c", str(config.inipath)]
    return [*options, "-o", "addopts=", f"--rootdir={config.rootpath}", *ini]


def environ() -> dict[str, str]:
    """Return the environment of such a command."""
    return {name: value for name, value in os.environ.items() if name != VARIABLE}


def _expanded(folder: Path, texts: list[str]) -> Iterator[str]:
    """Yield the arguments, with the lines of a file in the place of `@FILE`, as argparse reads it."""
    for text in texts:
        if text.startswith("@"):
            yield from _expanded(folder, (folder / text[1:]).read_text(encoding="utf-8").splitlines())
        else:
            yield text
