"""Add the commands of extensions to the command line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection
from functools import partial
from typing import Any, NoReturn

from pytest_recall.cli.arguments import Parser
from pytest_recall.files.errors import RecallError, fault_text
from pytest_recall.files.subcommand import Subcommand
from pytest_recall.files.wording import one_line
from pytest_recall.registry import attempt, registry

_NAME = re.compile(r"[a-z][a-z0-9-]*")
HOOK = "pytest_recall_commands"
RUN = "_recall_run"
"""Where a parsed command line has the command of an extension, apart from what its arguments may be called."""


def add_extension_commands(commands: Any, names: Collection[str]) -> list[str]:
    """Add the commands of extensions, and return what is wrong with any, a sentence each; `names` are ours."""
    loaded = registry()
    faults = list(map(str, loaded.left_out))
    homes = dict.fromkeys(names, "pytest-recall")
    for package, listed, fault in loaded.listed(HOOK, Subcommand):
        if fault:
            faults.append(f"the extension of {package} is left out: `{HOOK}` has a fault ({fault})")
        for command in () if fault else listed:
            if why := _fault_of(command, homes) or _add(commands, package, command):
                name = one_line(str(command.name), 60)
                faults.append(f"the command `{name}` of {package} is left out: {why}")
            else:
                homes[command.name] = package
    return list(dict.fromkeys(faults))


def _fault_of(command: Subcommand, homes: dict[str, str]) -> str:
    if not isinstance(command.name, str) or not _NAME.fullmatch(command.name):
        return "its name is not of small letters, digits and `-`"
    return f"{homes[command.name]} has one of this name" if command.name in homes else ""


def _add(commands: Any, package: str, command: Subcommand) -> str:
    """Add a command, and return why that cannot be done; empty where it was."""
    arguments = Parser(add_help=False)
    arguments.error = _refuse  # type: ignore[method-assign]
    # Its help is formatted once here, since a text of it may have a fault.
    _, fault = attempt(lambda: (command.add_arguments(arguments), arguments.format_help()))
    if fault or not callable(command.run):
        return fault or f"its `run` is {type(command.run).__name__}"
    about = one_line(str(command.help))
    # What has a fault is not added: a parser cannot be taken back.
    parser = commands.add_parser(
        command.name, help=about.replace("%", "%%"), description=about, parents=[arguments], conflict_handler="resolve"
    )
    parser.set_defaults(**{RUN: partial(_run, package, command)})
    return ""


def _refuse(message: str) -> NoReturn:
    raise ValueError(message)


def _run(package: str, command: Subcommand, args: argparse.Namespace) -> int:
    """Run a command. Raises RecallError for one with a fault."""
    try:
        code: Any = command.run(args)
        shown = code if type(code) is int else type(code).__name__
        fault = "" if type(code) is int and 0 <= code < 256 else f"it returns {shown}, and no exit code"
    except (KeyboardInterrupt, RecallError, BrokenPipeError):
        raise
    except BaseException as error:
        code, fault = 2, fault_text(error, command.run.__code__.co_filename if hasattr(command.run, "__code__") else "")
    if fault:
        raise RecallError(f"the command `{command.name}` of {package} has a fault ({fault}); correct or uninstall it")
    return int(code)
