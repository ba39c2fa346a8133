"""`recall score`: the scorecard of a run, again, from its journal."""

from __future__ import annotations

import argparse
import json

from pytest_recall.cli.common import Commands, command, place_of
from pytest_recall.core.trial import Outcome
from pytest_recall.render import scorecard as render
from pytest_recall.run import finish
from pytest_recall.store.journal import read_journal

DETAILS = """\
--fail-on is for CI, where cases that are known to fail should not turn every run red:
  regression   a case failed whose last verdict was a pass
  failure      a case failed that is not in quarantine
  incomplete   such a case failed, or a case came to no verdict, or was not run
A fail by a judging model that falls short of `judge_min_kappa` in the rubric counts as none.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "score", "print the scorecard of a run", run, DETAILS)
    parser.add_argument(
        "run_name",
        nargs="?",
        default="latest",
        metavar="RUN",
        help="a run's name or folder, or `previous` (default: latest)",
    )
    parser.add_argument(
        "--format", choices=("text", "md", "json"), default="text", help="how to print it (default: text)"
    )
    parser.add_argument(
        "--fail-on",
        choices=("never", "regression", "failure", "incomplete"),
        default="never",
        help="when to exit with 1",
    )


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    folder = place.artifacts.find(args.run_name)
    record = read_journal(folder)
    card = finish.scorecard(record, place, folder)
    if args.format == "json":
        print(json.dumps(render.as_json(record, card), indent=2, ensure_ascii=False))
    else:
        print(render.markdown(record, card) if args.format == "md" else "\n".join(render.terminal(record, card)))
    failed = [result for result in card.with_outcome(Outcome.FAILED) if result.blocks]
    found = {
        "never": False,
        "regression": any(result.regression for result in failed),
        "failure": bool(failed),
        "incomplete": bool(failed or card.not_run or card.with_outcome(Outcome.ERROR, Outcome.SKIPPED)),
    }
    return int(found[args.fail_on])
