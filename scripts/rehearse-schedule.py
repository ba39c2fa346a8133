#!/usr/bin/env python3
"""Rehearse the schedule: pull requests and nights of simulated days in a real repository, beside their simulation.

    scripts/rehearse-schedule.py               60 days, 800 cases: some five minutes
    scripts/rehearse-schedule.py --days 4 --warm-up 1 --cases 60 --tags 6 --slice 8

Real are git with its branches and merges, every `pytest -p recall eval`, the state and the way to it, and the model,
an HTTP server on loopback. Made up are the calendar, what breaks and when, and which verdicts are wrong, as
`recall schedule simulate` has it; both live through the same events. A case that breaks by itself gets a wrong answer
from the server; a bad pull request adds to a prompt what spoils the answers to some cases of what it touches.

Exit code 1: a merge conflicted, the state is not what all merged runs come to, or a night ran more than it may.
With the state in rows a merged row may differ in rare orders of verdicts; that is counted, and what is wrong is a row
without its newest verdict. Exit code 2: a step did not do what it has to.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from pytest_recall.schedule.bank import Bank
from pytest_recall.schedule.policies import Policy, affected, confirmation, literal, lottery, usual_sizes
from pytest_recall.schedule.simulate import World, simulate
from pytest_recall.schedule.simulated import Figures, summed_up
from rehearsal.days import Rehearsal
from rehearsal.repository import Repository, StepFailedError
from rehearsal.upstream import Upstream

from pytest_recall.cases.settings import Settings
from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import plural
from pytest_recall.schedule.schedule_text import table
from pytest_recall.schedule.state import KEEP_DAYS

LAPSES = 4
WORLDS = 5
"""How many other worlds are simulated, to show how far figures are apart by chance."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=_count, default=60, help="days after those of --warm-up (default: 60)")
    parser.add_argument("--warm-up", type=int, default=14, help="first days, which are in no figure (default: 14)")
    parser.add_argument("--cases", type=_count, default=800, help="default: 800")
    parser.add_argument("--tags", type=_count, default=20, help="parts of the app, of as many cases each (default: 20)")
    parser.add_argument("--pulls", type=_count, default=5, help="pull requests a day (default: 5)")
    parser.add_argument(
        "--drift", type=float, default=World.drift, help="a case breaks by itself, a day (default: 1/1600)"
    )
    parser.add_argument("--policy", choices=("lottery", "affected", "literal"), default="lottery")
    parser.add_argument("--slice", type=_count, help="the lottery's cases in a pull request (default: 25)")
    parser.add_argument("--layout", choices=("rows", "events"), default="rows", help="where runs write the state")
    parser.add_argument(
        "--keep-days",
        type=int,
        default=KEEP_DAYS,
        metavar="N",
        help=f"days of events that `recall state fold` leaves (default: {KEEP_DAYS}); in few days it folds no others",
    )
    parser.add_argument("--seed", type=int, default=0, help="another seed is another world (default: 0)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="make the repository here, and leave it")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    if args.cases < args.tags:
        parser.error(f"--tags: {args.tags} are more than {plural(args.cases, 'case')}")
    if args.warm_up < 0 or not 0 <= args.drift <= 1:
        parser.error("--warm-up: below 0" if args.warm_up < 0 else f"--drift: {args.drift} is not between 0 and 1")
    if args.keep_days != KEEP_DAYS and (args.layout == "rows" or args.keep_days < 0):
        parser.error("--keep-days: " + ("no effect without --layout events" if args.layout == "rows" else "below 0"))
    if args.policy == "literal" and args.slice is not None:
        parser.error("--slice: no effect with --policy literal")
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
    tags: dict[str, list[str]] = {f"part-{number:02}": [] for number in range(args.tags)}
    for number in range(args.cases):
        tag = f"part-{number % args.tags:02}"
        tags[tag].append(f"{tag}-case-{number:04}")
    rubric = _rubric(args)
    world = World(
        tags=tags,
        days=args.days + args.warm_up,
        warm_up=args.warm_up,
        pulls=args.pulls,
        drift=args.drift,
        usd=None,
        quarantine=Quarantine(LAPSES, rubric.owner),
    )
    policy = _policy(rubric, world)
    with Upstream(args.seed) as upstream:
        repository = Repository(folder, upstream.port)
        played = Rehearsal(policy, world, args.seed, rubric, repository, upstream, keep_days=args.keep_days)
        found = played.run()
        calls = upstream.calls
    same = simulate(policy, world, args.seed)
    others = [simulate(policy, world, args.seed + number) for number in range(1, WORLDS + 1)]
    faults, differing = played.faults(), played.late()
    if args.json:
        told = {
            "version": 1,
            "rehearsed": _plain(found),
            "simulated": _plain(same),
            "others": [_plain(one) for one in others],
            "runs": played.processes,
            "calls": calls,
            "merges": played.merges,
            "pushed_a_day": played.pushed,
            "recorded_twice": repository.recordings,
            "differing": differing,
            "faults": faults,
        }
        print(json.dumps(told, indent=2))
        return 1 if faults else 0
    columns = {"rehearsed": [found], "simulated": [same], f"{WORLDS} other worlds": others}
    sums = [summed_up(one)._replace(policy=name) for name, one in columns.items()]
    print("\n".join(table(sums)))
    print(
        f"\n{plural(args.cases, 'case')} under {plural(args.tags, 'tag')}, {args.policy}, state in {args.layout};"
        f" {plural(args.days, 'day')} after {args.warm_up} in no figure; seed {args.seed}"
    )
    print(
        f"{played.processes:,} runs of pytest, {calls:,} calls, {plural(played.merges, 'merge')},"
        f" {played.conflicts:,} of them with a conflict"
    )
    if args.policy == "affected":
        print(f"{plural(repository.recordings, 'merge')} of cases that both sides had recorded")
    print(f"{played.pushed:.1f} trials a day more on second pushes, which no column has")
    print(f"{differing:,} of {len(played.rows):,} rows are not as all verdicts would leave them in the order of days")
    print("\n".join(f"fault: {one}" for one in faults) or "no faults")
    return 1 if faults else 0


def _rubric(args: argparse.Namespace) -> Settings:
    knobs: dict[str, Any] = {
        "owner": "eval bot",
        "policy": args.policy,
        "confirm": "2of3",
        "quarantine_lapses": LAPSES,
        "state": args.layout,
    }
    if args.policy != "literal":
        knobs |= {
            "slice_cases": args.slice or 25,
            "nightly_cases": math.ceil(args.cases / 14),
            "max_verdict_age": 7,
        }
    if args.policy == "affected":
        knobs["confirm"] = "evidence"
    if args.policy == "lottery":
        knobs |= {
            "near": {f"part-{number:02}": f"app/part-{number:02}/" for number in range(args.tags)},
        }
    return Settings.model_validate(knobs)


def _policy(rubric: Settings, world: World) -> Policy:
    if rubric.policy == "literal":
        return literal(rubric, world.cases)
    if rubric.policy == "affected":
        sizes = usual_sizes(rubric, len(world.cases))
        # Without a price nothing is held to a budget, and a real night is no longer for what is in the bank.
        policy = affected(world.cases, Bank(1, 1), sizes.nightly, sizes.stalest, confirmation(rubric))
        return policy._replace(long_night=None)
    return lottery(world.cases, *usual_sizes(rubric, len(world.cases)), confirm=confirmation(rubric))


def _plain(found: Figures) -> dict[str, Any]:
    return {name: value for name, value in found._asdict().items() if name != "policy"}


if __name__ == "__main__":
    raise SystemExit(main())
