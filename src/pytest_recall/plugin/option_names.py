"""Add a short name beside each `--recall-NAME`, and suggest the nearest name for an unknown option."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from difflib import get_close_matches
from importlib.util import find_spec

import pytest

from pytest_recall.files.errors import nearest
from pytest_recall.plugin import options, recording, switch
from pytest_recall.plugin.pytest_internals import setting

SETTING = "recall_short_options"


@contextmanager
def added(config: pytest.Config, parser: pytest.Parser, args: list[str]) -> Iterator[None]:
    """Add all options, and load the conftest files within. Raises pytest.UsageError for a name that two have.

    The options are added after those of all plugins, so that a name which one of them has is known to be taken.
    A conftest file that adds one of the names comes later, and fails.
    """
    free = _free(parser) if setting(config, SETTING) else frozenset()
    given = {argument.partition("=")[0] for argument in args if isinstance(argument, str)}
    if setting(config, SETTING) and (taken := sorted(switch.SHORT & given - free)):
        raise pytest.UsageError(_clash(taken[0], "another plugin", f"write {_long(taken[0])}"))
    add(parser, free)
    _parse_again(config, parser, args)
    try:
        yield
        parser.parse_known_args(args)  # pytest before 9 finds a name that is there twice when it parses.
    except argparse.ArgumentError as error:
        raise pytest.UsageError(clash_with_conftest(error) or str(error)) from None


def add(parser: pytest.Parser, free: frozenset[str]) -> None:
    """Add the options under their long names, and under those short ones that are free."""
    group = options.OptionGroup(parser.getgroup("recall", options.TITLE), free)
    options.add(group)
    recording.add(group)


def clash_with_conftest(error: BaseException | None) -> str:
    """Return what to do about a conftest file that adds one of the short names; empty for any other error."""
    name = (getattr(error, "argument_name", None) or "").split("/")[-1]
    if not isinstance(error, argparse.ArgumentError) or name not in switch.SHORT:
        return ""
    return _clash(name, "a conftest.py", "rename it there")


def _clash(name: str, other: str, remedy: str) -> str:
    return (
        f"{name}: an option of pytest-recall and of {other}; {remedy}, or set `{SETTING} = false`, so that only"
        f" {_long(name)} is pytest-recall's"
    )


def _long(name: str) -> str:
    return f"--recall-{name.removeprefix('--')}"


def _free(parser: pytest.Parser) -> frozenset[str]:
    """Return the short names that no plugin has added so far."""
    if len(_unknown(parser, sorted(switch.SHORT))) == len(switch.SHORT):
        return switch.SHORT
    return frozenset(name for name in switch.SHORT if _unknown(parser, [name]))


def _unknown(parser: pytest.Parser, names: list[str]) -> list[str]:
    """Return those of `names` that are not options, as far as can be told from parsing them all at once."""
    try:
        # With a value, none of them takes the next one for its own.
        return parser.parse_known_and_unknown_args([f"{name}=x" for name in names])[1]
    except pytest.UsageError:
        return []  # An option that takes no value, or another one.


def _parse_again(config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Let what is known of the arguments have our options; pytest took their values for paths."""
    fresh = parser.parse_known_args(args, namespace=copy(config.option))
    known = config.known_args_namespace
    for name, value in vars(fresh).items():
        if name.startswith("recall_") or name == "file_or_dir":
            setattr(known, name, value)


XDIST = ("-n", "--numprocesses", "--maxprocesses", "--dist", "--tx")
LIKE = 0.8
"""How near an option has to be to one of ours, by difflib's ratio, that it is taken for that one."""


def refuse(parser: pytest.Parser, args: list[str]) -> None:
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
        ours = [known for option in parser.getgroup("recall", options.TITLE).options for known in option.names()]
        if name.startswith("--recall-"):
            raise pytest.UsageError(f"{name}: no option of pytest-recall{nearest(name, ours)}")
        if near := get_close_matches(name, ours, n=1, cutoff=LIKE):
            raise pytest.UsageError(f"{name}: no option; did you mean `{near[0]}`?")
