#!/usr/bin/env python3
"""Make eval/recall.yaml again, by really running our eval set on successive dates.

    scripts/replay-eval-history.py --first 2026-09-21 --last 2026-11-20

Each day has two pull requests and then a night, as a small team would have them. Every
run is a `pytest -p recall eval --replay` of its own; nothing about the state is made up.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PULL_REQUESTS_A_DAY = 2
FIRST_PULL_REQUEST = 100


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=date.fromisoformat, required=True, help="the first day")
    parser.add_argument("--last", type=date.fromisoformat, required=True, help="the last day")
    args = parser.parse_args()
    if args.last < args.first:
        parser.error("--last is before --first")
    (ROOT / "eval" / "recall.yaml").unlink(missing_ok=True)
    number = FIRST_PULL_REQUEST
    for offset in range((args.last - args.first).days + 1):
        day = args.first + timedelta(days=offset)
        for _ in range(PULL_REQUESTS_A_DAY):
            number += 1
            run(day, "--recall-mode", "pr", "--recall-pr", str(number))
        run(day, "--recall-mode", "nightly")
    return 0


def run(day: date, *options: str) -> None:
    """Run the eval set as on `day`; a failing case is a result, anything else ends the script."""
    command = [sys.executable, "-m", "pytest", "-p", "recall", "eval", "--replay", "-q"]
    command += ["--recall-date", day.isoformat(), *options]
    # The day is played, so that the environment of a real workflow must not speak.
    env = {key: value for key, value in os.environ.items() if not key.startswith("GITHUB_")}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    print(day, *options, "·", done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr.strip())
    if done.returncode not in (0, 1):
        raise SystemExit(done.stdout + done.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
