#!/usr/bin/env python3
"""Rehearse the schedule: pull requests and nights of some days of a team, in a real repository.

    scripts/rehearse-schedule.py               60 days, 800 cases: some minutes
    scripts/rehearse-schedule.py --days 4 --cases 60 --tags 6

Real are git with its branches and merges, every `pytest -p recall eval`, the state and the way to it, and the model,
an HTTP server on loopback. Made up are the calendar, what breaks and when, and which verdicts are wrong. A case that
breaks by itself gets a wrong answer from the server; a pull request adds to a prompt of one part of the app, and a bad
one what spoils the answers to some cases of the part.

The run of a pull request leaves a run file on its branch, and a night folds those that merges have brought. Some
branches are squashed, go on, and bring a run file back that was folded by then.

Exit code 1: a merge conflicted, the state is not what all merged runs come to, a night left a run file, or one that
came back changed a row. A verdict that is merged after a newer one was folded is no news; how many rows differ by that
is counted. Exit code 2: a step did not do what it has to.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from pathlib import Path
from statistics import fmean
from typing import Any, NoReturn

from rehearsal.days import Rehearsal, Team
from rehearsal.repository import Repository, StepFailedError
from rehearsal.upstream import Upstream

from pytest_recall.cases.settings import Settings
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import plural
from pytest_recall.schedule.sizing import nightly_cases

DRIFT = 1 / 1600
"""The rate a day at which a case breaks by itself."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=_count, default=60, help="default: 60")
    parser.add_argument("--cases", type=_count, default=800, help="default: 800")
    parser.add_argument("--tags", type=_count, default=20, help="parts of the app, of as many cases each (default: 20)")
    parser.add_argument("--pulls", type=_count, default=5, help="pull requests a day (default: 5)")
    parser.add_argument("--drift", type=float, default=DRIFT, help="a case breaks by itself, a day (default: 1/1600)")
    parser.add_argument("--seed", type=int, default=0, help="another seed is another team (default: 0)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="make the repository here, and leave it")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    if args.cases < args.tags:
        parser.error(f"--tags: {args.tags} are more than {plural(args.cases, 'case')}")
    if not 0 <= args.drift <= 1:
        parser.error(f"--drift: {args.drift} is not between 0 and 1")
    if args.keep is not None and args.keep.exists():
        parser.error(f"--keep: {args.keep} is there already")
    signal.signal(signal.SIGTERM, _end)
    try:
        if args.keep is not None:
            return rehearse(args, args.keep.resolve())
        with tempfile.TemporaryDirectory(prefix="rehearsal-") as folder:
            return rehearse(args, Path(folder).resolve())
    except (StepFailedError, RecallError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 up")
    return int(text)


def _end(number: int, _: object) -> NoReturn:
    sys.exit(128 + number)  # Not at once: what was started has to be ended.


def rehearse(args: argparse.Namespace, folder: Path) -> int:
    """Play it, and print what it comes to."""
    parts: dict[str, list[str]] = {f"part-{number:02}": [] for number in range(args.tags)}
    for number in range(args.cases):
        part = f"part-{number % args.tags:02}"
        parts[part].append(f"{part}-case-{number:04}")
    rubric = Settings(owner="eval bot", confirm="evidence", nightly_cases=nightly_cases(args.cases))
    team = Team(parts=parts, days=args.days, pulls=args.pulls, drift=args.drift)
    with Upstream(args.seed) as upstream:
        repository = Repository(folder, upstream.port)
        played = Rehearsal(team, args.seed, rubric, repository, upstream)
        played.run()
        calls = upstream.calls
    faults = played.faults()
    told: dict[str, Any] = {
        "version": 3,
        "runs": played.processes,
        "calls": calls,
        "merges": played.merges,
        "brought_back": played.brought_back,
        "bad": played.bad,
        "caught": played.caught,
        "second_pushes": played.again,
        "longest_night": max(played.nights),
        "largest_pull_request": max(played.slices),
        "found_after_days": fmean(played.delays) if played.delays else None,
        "recorded_twice": repository.recordings,
        "differing": played.late(),
        "faults": faults,
    }
    if args.json:
        print(json.dumps(told, indent=2))
        return 1 if faults else 0
    print(
        f"{plural(args.cases, 'case')} of {plural(args.tags, 'part')}; {plural(args.days, 'day')} of seed {args.seed}"
    )
    for name, value in told.items():
        if name not in ("version", "faults"):
            shown = f"{value:.2f}" if isinstance(value, float) else "none" if value is None else f"{value:,}"
            print(f"  {name.replace('_', ' '):22}{shown:>10}")
    print("\n".join(f"fault: {one}" for one in faults) or "no faults")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
