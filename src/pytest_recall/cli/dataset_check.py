"""`recall memory dataset`: read all of a dataset's file, and say what is in it and what is odd."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pytest_recall.cli.common import Commands, placeless
from pytest_recall.datasets.dataset import Inventory
from pytest_recall.datasets.datasets_text import Checked, dataset_json, dataset_lines
from pytest_recall.datasets.file import LAYOUTS, PUBLISHED, digest, open_dataset

DETAILS = """\
Reads the file row by row, whatever its size. Exits with 0 if nothing in it is odd, or if it is, byte
for byte, one that was published; with 1 if it can be read and something in it is odd; with 2 if it
cannot be read, and the sentence says at which row.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands,
        "dataset",
        "count what a file of LoCoMo, LongMemEval or DMR holds, and find what is odd in it",
        run,
        DETAILS,
    )
    parser.add_argument("path", type=Path, metavar="PATH", help="the file")
    parser.add_argument(
        "--dataset", choices=("auto", *LAYOUTS), default="auto", help="what it is (default: auto, by its first row)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    dataset = open_dataset(args.path, format=None if args.dataset == "auto" else args.dataset)
    inventory = Inventory()
    for sample in dataset.samples():
        inventory.add(sample)
    layout = LAYOUTS[dataset.format]
    how = layout.shape if args.dataset == "auto" else "as --dataset says"
    found = digest(dataset)
    published = PUBLISHED.get(found.sha256)
    checked = Checked(dataset.name, dataset.format, how, found.size, found.sha256, published, inventory)
    if args.json:
        print(json.dumps(dataset_json(checked), indent=2, ensure_ascii=False))
    else:
        print("\n".join(dataset_lines(checked)))
    return int(bool(inventory.oddities) and published is None)
