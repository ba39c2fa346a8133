"""`recall bench report`: what a long-horizon run shows, and what two have in common."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pytest_recall.cli.common import Commands, placeless

DETAILS = """\
Prints the mean points of a run with its interval, by category, hallucination beside it; how both change as
the days add up, on the same questions; what the second judge changed, and how often the first one judged the
same answer in two ways. Of several runs each is compared with the first, on what both were asked.

A question is asked at many checkpoints. Its answers resemble each other, so that intervals are by question.

  recall bench report results/ea-180d-mempalace
  recall bench report results/ea-180d-mempalace results/ea-180d-recall --markdown > report.md
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "report", "say what a run shows, with what chance may have done", run, DETAILS)
    parser.add_argument(
        "run_dirs",
        type=Path,
        nargs="+",
        metavar="RUN_DIR",
        help="the folder of a run; the first is what others are compared with",
    )
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print JSON")
    forms.add_argument("--markdown", action="store_true", help="print Markdown")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.horizon import report_text as render
    from pytest_recall.horizon.runs import read_answered
    from pytest_recall.horizon.statistics import pairing, report

    # Two folders of one name, such as a/run and b/run, must not look alike.
    runs = [read_answered(path, str(path)) for path in args.run_dirs]
    reports, pairings = [report(one) for one in runs], [pairing(runs[0], other) for other in runs[1:]]
    if args.json:
        print(json.dumps(render.as_json(reports, pairings, runs), indent=2, ensure_ascii=False))
    else:
        print("\n".join(render.lines(reports, pairings, runs, markdown=args.markdown)))
    return 0
