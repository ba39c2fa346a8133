"""Play the year of a team: pull requests, a merge queue, nights, outages, forks and two services, in a real repository.

The steps are those of the shipped workflow, run with bash; tests/helpers/year.py says what has to hold at every step.

    python scripts/play-year.py                    # 365 days, some two hours
    python scripts/play-year.py --days 30 --pulls 5 --seed 7
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.helpers.github import GitHub
from tests.helpers.year import Year


def main() -> int:
    """Play, and say what has happened."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=365, help="how many (default: 365)")
    parser.add_argument("--pulls", type=int, default=3, help="pull requests a day (default: 3)")
    parser.add_argument("--cases", type=int, default=40, help="cases of each service (default: 40)")
    parser.add_argument("--outages", type=float, default=0.03, help="share of days on which the provider is down")
    parser.add_argument("--seed", type=int, default=1, help="what draws all of it (default: 1)")
    args = parser.parse_args()
    first = datetime.now(UTC).date() - timedelta(days=args.days)
    draw = random.Random(args.seed)
    outages = tuple(day for day in range(1, args.days) if draw.random() < args.outages)
    host = GitHub()
    try:
        with tempfile.TemporaryDirectory() as folder:
            year = Year(Path(folder), host, first, seed=args.seed, cases=args.cases, pulls=args.pulls)
            for line in year.play(args.days, outages=outages, skips=3):
                print(line, flush=True)
    finally:
        host.close()
    print(f"{year.count}\nno fault in {args.days} days")
    return 0


if __name__ == "__main__":
    sys.exit(main())
