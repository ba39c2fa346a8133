"""Names: `--NAME` stands for `--recall-NAME`, where nobody else has that name.

Short names are never options of ours: a conftest of some folder may add the same one at any time, even while tests
are collected, and pytest refuses an option that is there already. The arguments are written out instead, as soon as
the first conftest files are loaded and before pytest parses for good. Only then is it known whose a name is.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Generator, Iterable
from typing import Any, cast

import pytest

from pytest_recall.plugin import options, recording

END = "--"
"""What comes behind it is a path, whatever it looks like."""
HOOK = "pytest_load_initial_conftests"


def settled(config: pytest.Config, parser: pytest.Parser, args: list[str]) -> Generator[None, object, object]:
    """Load the conftest files, then write out the short names in `args` that nobody has by now."""
    helps = config.known_args_namespace.help
    try:
        result = yield
        _load_more(config, parser, args)
    finally:
        # Also after a conftest that fails, which does not keep pytest from `--help`.
        free = _unclaimed(parser, args)
        given = {os.fspath(argument).partition("=")[0] for argument in args}
        typed = {name for argument in free if _long(name := argument.partition("=")[0]) not in given}
        args[:] = _written_out(args, free)
        if helps:
            add(parser, args)
    if not helps:
        _check(parser, args, typed)
    return result


def _check(parser: pytest.Parser, args: list[str], typed: set[str]) -> None:
    """Raise the pytest.UsageError that pytest would raise for `args`, with the short names that were `typed`."""
    try:
        parser.parse_known_args(args)
    except pytest.UsageError as error:
        told = str(error)
        for name in typed:
            told = re.sub(rf"{_long(name)}(?![\w-])", name, told)
        raise pytest.UsageError(told) from None


def reading(config: pytest.Config, parser: pytest.Parser, args: list[str]) -> argparse.Namespace:
    """Return what is known of the arguments if every short name that nobody has so far is ours."""
    try:
        return parser.parse_known_args(_written_out(args, _unclaimed(parser, args)))
    except pytest.UsageError:
        # Somebody's who has yet to come, or a mistake that pytest is going to tell.
        return config.known_args_namespace


def add(parser: pytest.Parser, args: list[str]) -> None:
    """Add the short names that nobody has as options, where nobody comes any more who may want them."""
    short = cast(pytest.Parser, _Shortened(parser, args))
    options.add(short)
    recording.add(short)


class _Shortened:
    """Stands in for the parser, and adds of each option the short name alone."""

    def __init__(self, parser: pytest.Parser, args: list[str]) -> None:
        self._parser = parser
        self._args = args

    def getgroup(self, name: str, description: str) -> _Shortened:
        self._group = self._parser.getgroup(name, description)
        return self

    def addoption(self, name: str, **about: Any) -> None:
        short = name.replace("--recall-", "--", 1)
        if short in options.SHORT and short in _unclaimed(self._parser, [short, *self._args]):
            about.update(dest=name.removeprefix("--").replace("-", "_"), help=f"the same as {name}")
            self._group.addoption(short, **about)

    def addini(self, *about: Any, **more: Any) -> None:
        """Settings have one name."""


def _load_more(config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Load the conftest files that pytest has missed because it took values of ours for paths.

    It has loaded those of such "paths" then, as it would without us: one of them may be whose name it is.
    """
    known = config.known_args_namespace
    if not known.file_or_dir or reading(config, parser, args).file_or_dir:
        return
    known.file_or_dir = []  # As if nothing was named, which `testpaths` is for.
    manager = config.pluginmanager
    # The hook of pytest itself alone: the configuration is the plugin that loads them.
    again = manager.subset_hook_caller(HOOK, [plugin for plugin in manager.get_plugins() if plugin is not config])
    again(early_config=config, parser=parser, args=args)


def _written_out(args: list[str], free: set[str]) -> list[str]:
    if not free <= set(args):
        args = with_files(args)
    end = _end(args)
    return [_long(argument) if argument in free else argument for argument in args[:end]] + args[end:]


def _long(argument: str) -> str:
    return f"--recall-{argument.removeprefix('--')}"


def _unclaimed(parser: pytest.Parser, args: list[str]) -> set[str]:
    """Return the arguments that are a short name, with or without a value, and no option of anybody."""
    try:
        known, unknown = parser.parse_known_and_unknown_args(args[: _end(args)])
    except pytest.UsageError:
        return set()
    # `--judge=a b` is a path to argparse, which knows no option by that name.
    return _short((*unknown, *known.file_or_dir))


def _short(args: Iterable[str]) -> set[str]:
    return {argument for argument in args if options.is_short(argument)}


def with_files(args: list[str]) -> list[str]:
    """Return `args` with the lines of the files that are named by `@`, as a pytest reads them that knows of it."""
    # A parser that knows no option leaves everything as it is, but for the files.
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, fromfile_prefix_chars="@")
    return parser.parse_known_args([os.fspath(argument) for argument in args])[1]


def _end(args: list[str]) -> int:
    return args.index(END) if END in args else len(args)
