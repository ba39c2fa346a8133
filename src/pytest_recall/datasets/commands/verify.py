"""The command `recall memory verify`: compute the figures of a bundle again."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_recall.cli.common import Commands, placeless, say
from pytest_recall.registry import registry

if TYPE_CHECKING:
    from pytest_recall.datasets.verifying import Verified
    from pytest_recall.files.sections import Section

VERIFY = """\
A bundle is one file with the journals of the runs of a table, its figures and a manifest of hashes; the script
`benchmarks/write_bundle.py` of pytest-recall's repository writes it. Each file is hashed again, each value of each
question is computed again from what came back, and the figures and tests are put together again, and printed. No memory
and no model is asked; verdicts of models are read as they are.

  recall memory verify table.zip
  recall memory verify table.zip --data locomo10.json

A bundle of LoCoMo has ids and digests in place of texts, since these may not be passed on. All values by evidence
can be computed from those; with --data, your own copy of the dataset, those over the texts of passages as well. With it
the floors are computed again, of any dataset, and each question is compared with the one in your copy.

Exits with 1 if something does not hold, and says what.
"""


def add_verify(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "verify", "compute the figures of a bundle of runs again", run_verify, VERIFY)
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="the file")
    parser.add_argument("--data", type=Path, metavar="FILE", help="your copy of the dataset")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run_verify(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.datasets.verifying import DatasetCopy, verify
    from pytest_recall.files.sections import report_lines

    found = verify(args.bundle, None if args.data is None else DatasetCopy.read(args.data, registry().datasets()))
    if args.json:
        print(json.dumps(_to_json(found), indent=2, ensure_ascii=False))
        return int(bool(found.problems))
    for sentence in found.runs:
        print(sentence)
    for sentence in found.left:
        say(sentence)
    if found.computed:
        print("", *report_lines(_tables(found)), "", sep="\n")
    for sentence in found.problems:
        say(sentence)
    print("does not hold" if found.problems else "holds")
    return int(bool(found.problems))


def _to_json(found: Verified) -> dict[str, Any]:
    """Return what was found as plain JSON types; of each run the figures that were computed again."""
    from pytest_recall.datasets.datasets_text import membench_json
    from pytest_recall.datasets.several import groups_of_runs

    return {
        "version": 1,
        "holds": not found.problems,
        "problems": list(found.problems),
        "left": list(found.left),
        "runs": [membench_json(run.arguments, run.summary) for runs in groups_of_runs(found.computed) for run in runs],
    }


def _tables(found: Verified) -> Iterator[Section]:
    """Yield the figures that were computed again, as `recall memory run` prints them."""
    from pytest_recall.datasets.datasets_text import membench_sections
    from pytest_recall.datasets.several import against_first, groups_of_runs, several_section

    for runs, filled in zip(groups_of_runs(found.computed), groups_of_runs(found.filled), strict=True):
        if len(runs) == 1:
            yield from membench_sections(runs[0].arguments, runs[0].summary)
        else:
            yield several_section(runs, against_first(filled))
