"""`recall memory sample`: a small file in the format of a dataset, to try things out with."""

from __future__ import annotations

import argparse

from pytest_recall.cli.common import Commands, placeless
from pytest_recall.datasets.file import LAYOUTS, sample_text

DETAILS = """\
The file was written for tests and demonstrations and has nothing of the real one:
  recall memory sample locomo > locomo.json
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "sample", "print a small file in the format of a dataset", run, DETAILS)
    parser.add_argument("format", choices=tuple(LAYOUTS), help="which dataset")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    print(sample_text(args.format), end="")
    return 0
