"""`recall dataset`: files of the public memory benchmarks."""

from __future__ import annotations

import argparse

from pytest_recall.cli import dataset_check, dataset_sample
from pytest_recall.cli.common import Commands


def add(commands: Commands) -> None:
    """Add the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "dataset",
        help="look into the files of memory benchmarks: check, sample",
        description="Look into the files in which the public memory benchmarks are published.",
    )
    inner = parser.add_subparsers(dest="dataset_command", metavar="COMMAND", title="commands", required=True)
    dataset_check.add(inner)
    dataset_sample.add(inner)
