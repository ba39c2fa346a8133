"""`recall cassettes cost`: what recording a run costs, and what replaying it costs."""

from __future__ import annotations

import argparse
import json

from pytest_recall.cli.common import Commands, command, place_of
from pytest_recall.trials import cost_text as render
from pytest_recall.trials.cost import of_run
from pytest_recall.trials.journal import read_journal

DETAILS = """\
Every attempt at a case counts, since each was paid for. Prices are list prices as they were
when the run was made; a call whose model or tokens are not known has no price, which is not zero.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "cost", "print what recording a run costs, and what replaying it costs", run, DETAILS)
    parser.add_argument(
        "run_name",
        nargs="?",
        default="latest",
        metavar="RUN",
        help="a run's name or folder, or `previous` (default: latest)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    folder = place_of(args, args.run_name).artifacts.find(args.run_name)
    record = read_journal(folder)
    spends = of_run(record)
    if args.json:
        print(json.dumps(render.cost_json(spends), indent=2, ensure_ascii=False))
        return 0
    print("\n".join(render.table(spends)) or f"{folder.name}: no calls to an upstream were seen in this run.")
    return 0
