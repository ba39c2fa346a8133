"""The commands `recall memory dataset` and `sample`: look into the file of a dataset, and print a small one."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_recall.cli.common import Commands, placeless, print_report
from pytest_recall.datasets.dataset import Inventory
from pytest_recall.datasets.file import (
    AUTO,
    LAYOUTS,
    PUBLISHED,
    Dataset,
    Layouts,
    check_selected,
    digest,
    open_dataset,
    selected_layout,
)
from pytest_recall.datasets.inventory_text import Checked, dataset_report
from pytest_recall.datasets.questions import SAMPLE
from pytest_recall.files.disk import read_text
from pytest_recall.files.errors import RecallError
from pytest_recall.registry import registry

DATASET_CHECK_DETAILS = """\
Reads the file row by row, whatever its size. Exits with 0 if nothing in it is odd, or if it is, byte
for byte, one that was published; with 1 if it can be read and something in it is odd; with 2 if it
cannot be read, and the sentence says at which row.
"""


def add_dataset_check(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands,
        "dataset",
        "count what a file of a dataset, such as LoCoMo, LongMemEval or DMR, holds, and find what is odd in it",
        run_dataset_check,
        DATASET_CHECK_DETAILS,
    )
    parser.add_argument("path", type=Path, metavar="PATH", help="the file, or `sample` for the shipped one")
    parser.add_argument(
        "--dataset",
        metavar="NAME",
        default="auto",
        help=f"what it is: {', '.join(LAYOUTS)}, or one of an extension (default: auto, by its first row)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run_dataset_check(args: argparse.Namespace) -> int:
    """Run the command."""
    layouts = registry().datasets()
    check_selected(args.dataset, "--dataset", layouts)
    dataset = _opened(args.path, None if args.dataset == AUTO else args.dataset, layouts)
    inventory = Inventory()
    for sample in dataset.samples():
        inventory.add(sample)
    layout = dataset.layout
    how = layout.shape if args.dataset == AUTO else "as --dataset says"
    found = digest(dataset)
    published = PUBLISHED.get(found.sha256)
    checked = Checked(dataset.name, dataset.format, how, found.size, found.sha256, published, inventory)
    print_report(dataset_report(checked), args)
    return int(bool(inventory.oddities) and published is None)


def _opened(path: Path, format: str | None, layouts: Layouts) -> Dataset:
    if str(path) != SAMPLE or path.exists():
        return open_dataset(path, None, format, layouts)
    if format is None:
        raise RecallError(f"{SAMPLE}: the dataset is not named; add --dataset with one of {', '.join(layouts)}")
    return open_dataset(layouts[format].sample, f"the sample of {format}", format, layouts)


DATASET_SAMPLE_DETAILS = """\
The file was written for tests and demonstrations and has nothing of the real one:
  recall memory sample locomo > locomo.json
"""


def add_dataset_sample(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands, "sample", "print a small file in the format of a dataset", run_dataset_sample, DATASET_SAMPLE_DETAILS
    )
    parser.add_argument("dataset", metavar="NAME", help=f"which dataset: {', '.join(LAYOUTS)}, or one of an extension")


def run_dataset_sample(args: argparse.Namespace) -> int:
    """Run the command."""
    layout = selected_layout(args.dataset, "NAME", registry().datasets())
    print(read_text(layout.sample, str(layout.sample)), end="")
    return 0
