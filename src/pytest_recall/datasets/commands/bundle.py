"""The command `recall memory verify`: compute the figures of a bundle again."""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from pytest_recall.cli.common import Commands, placeless, say

if TYPE_CHECKING:
    from pytest_recall.datasets.bundle_file import Verified

VERIFY = """\
A bundle is what `recall memory run --bundle FILE` writes: the journals of the runs of a table, its figures, and a
manifest of hashes. Each file is hashed again, each value of each question is computed again from what came back,
and the figures are put together again. No memory and no model is asked; verdicts of models are read as they are.

  recall memory verify table.zip
  recall memory verify table.zip --data locomo10.json

A bundle of LoCoMo has ids and digests in place of texts, since these may not be passed on. All values by evidence
can be computed from those; with --data, your own copy of the dataset, those over the texts of passages as well.

Exits with 1 if something does not hold, and says what.
"""


def add_bundle_check(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "verify", "compute the figures of a bundle of runs again", run_verify, VERIFY)
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="the file")
    parser.add_argument("--data", type=Path, metavar="FILE", help="your copy of the dataset")


def run_verify(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.datasets.bundle_file import verify

    if args.data is None:
        found = verify(args.bundle, None)
    else:
        found = _with_data(args.bundle, args.data)
    print("\n".join(found.runs))
    for sentence in (*found.left, *found.problems):
        say(sentence)
    print("does not hold" if found.problems else "holds")
    return int(bool(found.problems))


def _with_data(bundle: Path, data: Path) -> Verified:
    from pytest_recall.datasets.bundle_file import texts_by_digest, verify
    from pytest_recall.datasets.file import digest, open_dataset
    from pytest_recall.datasets.telling import Granularity, Telling, units

    dataset = open_dataset(data)
    found: dict[str, str] = {}
    for sample in dataset.samples():
        for unit, captions in product(get_args(Granularity), (True, False)):
            told = units(sample.conversation, Telling(unit, captions))
            found |= texts_by_digest(one.text for one in told)
        for question in sample.questions:
            found |= texts_by_digest([question.text, *([] if question.answer is None else [question.answer])])
    return verify(bundle, found, digest(dataset).sha256)
