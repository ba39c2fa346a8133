"""Define a command that an extension adds to the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple


class Subcommand(NamedTuple):
    """A command of an extension."""

    name: str
    """What follows `recall`: small letters, digits and `-`."""
    help: str
    """What it does, in a line for `recall --help`."""
    add_arguments: Callable[[argparse.ArgumentParser], None]
    """Adds its arguments to the parser."""
    run: Callable[[argparse.Namespace], int]
    """Runs it and returns the exit code. A RecallError ends it in its sentences, with exit code 2."""
