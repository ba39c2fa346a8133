#!/usr/bin/env python3
"""Make eval/recall.yaml again, by really running our eval set on successive dates.

    scripts/replay-eval-history.py --first 2026-09-21 --last 2026-11-20

Each day has two pull requests and then a night, as a small team would have them. Every
run is a `pytest -p recall eval --replay` of its own; nothing about the state is made up. They
are played in a copy that is in no repository: on a branch each would leave a run file.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
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
    with tempfile.TemporaryDirectory(prefix="history-") as name:
        folder = Path(name)
        left = shutil.ignore_patterns("_artifacts", "runs", "recall.yaml", "__pycache__")
        shutil.copytree(ROOT / "eval", folder / "eval", ignore=left)
        shutil.copy(ROOT / "pyproject.toml", folder)
        number = FIRST_PULL_REQUEST
        for offset in range((args.last - args.first).days + 1):
            day = args.first + timedelta(days=offset)
            for _ in range(PULL_REQUESTS_A_DAY):
                number += 1
                run(folder, day, "--recall-mode", "pr", "--recall-pr", str(number))
            run(folder, day, "--recall-mode", "nightly")
        shutil.copy(folder / "eval" / "recall.yaml", ROOT / "eval" / "recall.yaml")
    return 0


def run(folder: Path, day: date, *options: str) -> None:
    """Run the eval set in `folder` as on `day`; a failing case is a result, anything else ends the script."""
    command = [sys.executable, "-m", "pytest", "-p", "recall", "eval", "--replay", "-q"]
    command += ["--recall-date", day.isoformat(), *options]
    # The day is played, so that the environment of a real workflow must not speak.
    env = {key: value for key, value in os.environ.items() if not key.startswith(("GITHUB_", "GIT_"))}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    print(day, *options, "·", done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr.strip())
    if done.returncode not in (0, 1):
        raise SystemExit(done.stdout + done.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
