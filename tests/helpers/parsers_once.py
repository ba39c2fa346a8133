"""The parser of each command of `recall`, made once in a process: it keeps nothing of what it has parsed."""

from __future__ import annotations

import argparse
import contextlib
import functools
from collections.abc import Iterator, Sequence
from unittest import mock

from pytest_recall import cli

_parser = cli._parser


@functools.cache
def _parser_of(command: str) -> argparse.ArgumentParser:
    return _parser([command])


def _once(given: Sequence[str]) -> argparse.ArgumentParser:
    command = next((argument for argument in given if not argument.startswith("-")), "")
    return _parser_of(command) if command in cli.COMMANDS else _parser(given)


@contextlib.contextmanager
def parsers_once() -> Iterator[None]:
    """Let commands in this process take them; each call would make another."""
    with mock.patch.object(cli, "_parser", _once):
        yield
