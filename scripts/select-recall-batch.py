#!/usr/bin/env python3
"""Print today's slice of the eval cases, and write it to eval/_artifacts/today.yaml, without running it.

    scripts/select-recall-batch.py --mode pr --date 2026-11-21 --seed 42

A case sits in one of five boxes. A pass moves it up, a fail moves it back to box 1, and
the box says after how many days it is due again: 1, 3, 7, 14 or 30. What a run takes:

    pr       up to 25 cases of box 1, up to 25 due ones (longest overdue first), 5 never-seen ones
    nightly  every due case, 5 never-seen ones; rubric.yaml may have it filled with the oldest verdicts
    all      everything

rubric.yaml sets other numbers. A pull request asks what its change affects as well, which only a run finds out: it
replays what is recorded.

`pytest -p recall eval` takes the same slice and runs it; a test holds the two together.
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, date, datetime
from pathlib import Path

from pytest_recall.cases.case_file import CaseFile, check_unique
from pytest_recall.cases.settings_file import read_settings
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Artifacts, Place, find_case_files, today_yaml
from pytest_recall.schedule.boxes import INTERVALS
from pytest_recall.schedule.selection import choose, remainder
from pytest_recall.schedule.state import current


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", choices=("pr", "nightly", "all"), default="pr", help="default: pr")
    parser.add_argument(
        "--date", type=date.fromisoformat, default=datetime.now(UTC).date(), help="default: today in UTC"
    )
    parser.add_argument("--seed", help="draws the never-seen cases (default: the date)")
    parser.add_argument("--eval", type=Path, default=Path("eval"), help="the eval directory (default: eval)")
    args = parser.parse_args()
    seed = args.seed or args.date.isoformat()

    # What there is: the cases people wrote, the knobs they set, and what earlier runs found out.
    files = [CaseFile(path, path.as_posix()) for path in find_case_files(args.eval)]
    check_unique(files)
    cases = {case_id for file in files for case_id in file.lines}
    rubric = read_settings(args.eval / "rubric.yaml", "rubric.yaml")
    state = current(Place(args.eval.absolute().parent, args.eval.absolute()))

    # Which of it runs today, and why.
    picks = choose(cases, state.rows, rubric, args.mode, args.date, seed, unanswered=state.unanswered)

    # Say it, and write it down.
    chosen = []
    for case_id, reason in picks:
        entry: dict[str, object] = {"id": case_id, "reason": reason}
        if row := state.rows.get(case_id):
            entry |= {"box": row.box, "next_due": row.next_due.isoformat()}
        chosen.append(entry)
    asked = {"mode": args.mode, "date": args.date.isoformat(), "seed": seed}
    found = {"state": f"sha256:{state.digest}", "chosen": len(picks), "of": len(cases)}
    text = today_yaml(asked | found, chosen)
    Artifacts(args.eval).write("today.yaml", text)
    print(text, end="")

    left = remainder(cases, picks, state.rows, args.date)
    print(
        f"{len(picks)} of {len(cases)} cases; not run: {left.not_due} not due, {left.over_cap} over the cap,"
        f" {left.unseen} new and not drawn. Boxes come back after {', '.join(map(str, INTERVALS.values()))} days.",
        file=sys.stderr,
    )
    return 0


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except RecallError as error:
        raise SystemExit(f"select-recall-batch: {error}") from None
