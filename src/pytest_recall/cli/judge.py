"""`recall judge`: judging models, and how far they agree with people."""

from __future__ import annotations

import argparse

from pytest_recall.cli import judge_calibrate
from pytest_recall.cli.common import Commands


def add(commands: Commands) -> None:
    """Add the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "judge",
        help="look after judging models: calibrate",
        description="Look after the models that judge.",
    )
    inner = parser.add_subparsers(dest="judge_command", metavar="COMMAND", title="commands", required=True)
    judge_calibrate.add(inner)
