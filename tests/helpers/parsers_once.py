"""The parser of each command of `recall`, made once in a process: it keeps nothing of what it has parsed."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterator, Sequence

import pytest

from pytest_recall import cli

_parser = cli._parser


@functools.cache
def _parser_of(command: str) -> argparse.ArgumentParser:
    return _parser([command])


def _once(given: Sequence[str]) -> argparse.ArgumentParser:
    command = cli._command_of(given)
    return _parser(given) if command not in cli.COMMANDS else _parser_of(command)


@pytest.fixture(scope="package", autouse=True)
def parsers_once() -> Iterator[None]:
    """Let commands in this process take them; each call would make another. A conftest file imports it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "_parser", _once)
        yield
