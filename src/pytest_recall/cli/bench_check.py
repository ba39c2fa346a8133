"""`recall bench check`: whether a persona, its story and its days fit together."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pytest_recall.cli.common import Commands, placeless

DETAILS = """\
Reads DIR/persona.yaml, the story and all days, and asks no model. It looks for fields that are wrong or
unknown, arcs outside of their limits, sessions that no one declared, days and sessions that are missing or
too many, what is confidential in one session and told in another, beliefs that are corrected before their
day, and dates that contradict the calendar. Each finding has its file and its line.

  recall bench check eval/personas/ferry-office
  recall bench check DIR --arcs arcs-180d.yaml --dates legacy-dst    # a published corpus

Exits with 1 if there are errors; warnings are no reason.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands, "check", "look for what is inconsistent in a persona, its story and days", run, DETAILS
    )
    parser.add_argument("dir", type=Path, metavar="DIR", help="the persona's folder")
    parser.add_argument("--arcs", metavar="FILE", help="the story (default: the only one, or arcs-1000d.yaml)")
    parser.add_argument("--memories-dir", metavar="DIR", help="the days (default: memories-… by the story's name)")
    parser.add_argument(
        "--dates",
        choices=("calendar", "legacy-dst"),
        default="calendar",
        help="how days become dates; legacy-dst for the published corpora (default: calendar)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.files.errors import RecallError
    from pytest_recall.files.wording import plural
    from pytest_recall.horizon.check import check
    from pytest_recall.horizon.corpus import Corpus, story_name

    if not args.dir.is_dir():
        raise RecallError(f"{args.dir}: is not there; name a persona's folder")
    corpus = Corpus(args.dir, story_name(args.dir, args.arcs), memories=args.memories_dir, dates=args.dates)
    found = check(corpus)
    errors = sum(one.severity == "error" for one in found)
    if args.json:
        plain = {"version": 1, "errors": errors, "warnings": len(found) - errors}
        print(json.dumps({**plain, "findings": [one._asdict() for one in found]}, indent=2, ensure_ascii=False))
    else:
        for one in found:
            print(f"{one.file}:{one.line}: {one.severity}: {one.message}")
        print(f"{plural(errors, 'error')}, {plural(len(found) - errors, 'warning')}")
    return int(errors > 0)
