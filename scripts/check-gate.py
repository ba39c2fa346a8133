#!/usr/bin/env python3
"""Check that no pull request is green though it breaks a case: all changes that try to, and weeks of a team.

    scripts/check-gate.py                          all of it, with two weeks of a team of three
    scripts/check-gate.py --weeks 4 --seed 7       so many weeks, drawn by this seed
    scripts/check-gate.py --only header            what has this in its name
    scripts/check-gate.py --fresh                  each process is a new one of the installation, as users have it

The steps are those of the workflow that `recall init --github` writes, run with bash in real repositories, against a
model and GitHub's API on the loopback device. tests/gate says what has to hold; what is marked as known there is green
for now. The exit code is pytest's.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the long tests of tests/gate, and return pytest's exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weeks", type=_count, default=2, help="weeks of the team (default: 2)")
    parser.add_argument("--cases", type=_count, default=60, help="cases of the team (default: 60)")
    parser.add_argument("--seed", type=int, help="what draws its days (default: drawn, and printed)")
    parser.add_argument("--only", metavar="NAME", help="tests with this in their name")
    parser.add_argument("--jobs", type=_count, default=os.cpu_count() or 1, help="tests at once (default: the cores)")
    parser.add_argument("--fresh", action="store_true", help="start each process anew, which takes much longer")
    args = parser.parse_args(arguments)
    seed = random.randrange(10**6) if args.seed is None else args.seed
    print(f"{args.weeks} weeks of {args.cases} cases, seed {seed}", flush=True)
    env = {**os.environ, "RECALL_GATE_DAYS": str(7 * args.weeks), "RECALL_GATE_SEED": str(seed)}
    env |= {"RECALL_GATE_CASES": str(args.cases), **({"RECALL_GATE_FRESH": "1"} if args.fresh else {})}
    command = [sys.executable, "-m", "pytest", "tests/gate", "-m", "all", "-v", "-n", str(args.jobs)]
    command += ["-k", args.only] if args.only else []
    return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number; give 1 or more")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
