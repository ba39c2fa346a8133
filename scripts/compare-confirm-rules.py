#!/usr/bin/env python3
"""Compare rules that confirm a fail, in two simulated worlds: one with the same flake everywhere, one with real rates.

    scripts/compare-confirm-rules.py --history copilot-chat.jsonl.gz

The first world is that of docs/schedule.md: 800 cases, of whose verdicts 3 % are wrong fails. In the second one each
case fails as often as one of the history did, of those that passed in half of their trials at least; 0.5 % is assumed
for those that always passed. Both are played under the lottery with slices of 25 and nights of 58 cases, twice: with
cases that never pass once they are broken, and with cases that pass half as often.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_recall.metrics.intervals import Mean
from pytest_recall.schedule.change_history import flake_of
from pytest_recall.schedule.change_history_file import read_history
from pytest_recall.schedule.change_mix import ALWAYS_PASSED
from pytest_recall.schedule.policies import lottery
from pytest_recall.schedule.simulate import World, simulate
from pytest_recall.schedule.simulated import SimulationSummary, summed_up
from pytest_recall.trials.series import confirming

TAGS = {f"part-{part:02}": [f"case-{part:02}-{number:03}" for number in range(40)] for part in range(20)}
RULES = ("2of3", "3of3", "evidence:20", "evidence:70", "evidence:200")
SOUND = 0.5
"""A case of the history takes part if it passed in this share of its trials."""
COLUMNS = ("rule", "demoted a day", "trials a day", "found after days", "95th percentile", "caught", "half after days")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--history", type=Path, help="a history of changes with counts, a .jsonl or a .jsonl.gz")
    parser.add_argument("--least", type=float, default=SOUND, help=f"share of passes of a case (default: {SOUND})")
    parser.add_argument("--rules", nargs="+", default=RULES, metavar="RULE", help="rules to compare")
    parser.add_argument("--seeds", type=int, default=5, help="how many worlds of each kind (default: 5)")
    parser.add_argument("--days", type=int, default=240, help="days of each (default: 240)")
    args = parser.parse_args()
    for name, world in worlds(args.history, args.least, args.days).items():
        print(f"{name}\n")
        print(f"| {' | '.join(COLUMNS)} |\n| --- |{' ---: |' * (len(COLUMNS) - 1)}")
        for rule in args.rules:
            dead = played(world, rule, args.seeds)
            half = played(replace(world, half=1.0), rule, args.seeds)
            cells = (dead.demotions, dead.a_day, dead.delay, dead.p95, dead.caught, half.delay)
            print(f"| `{rule}` | {' | '.join(map(_told, cells))} |", flush=True)
        print()
    return 0


def worlds(history: Path | None, least: float, days: int) -> Mapping[str, World]:
    """Return the worlds by name."""
    world = World(tags=TAGS, days=days, warm_up=days // 4)
    found = {f"{world.flaky:.0%} of the verdicts on each case are wrong": world}
    if history is not None:
        flakes = rates(history, least)
        flaky = sum(rate > ALWAYS_PASSED for rate in flakes) / len(flakes)
        mean = sum(flakes) / len(flakes)
        told = f"real rates: {mean:.1%} in the mean, {flaky:.1%} of {len(flakes):,} cases failed at least once"
        found[told] = replace(world, flakes=flakes)
    return found


def rates(history: Path, least: float) -> Sequence[float]:
    """Return how often cases of the history fail."""
    found = flake_of(read_history(history, str(history)), least).values()
    return tuple(sorted(max(rate, ALWAYS_PASSED) for rate in found))


def played(world: World, rule: str, seeds: int) -> SimulationSummary:
    """Return what a rule comes to."""
    policy = lottery(world.cases, 25, 58, 7, confirming(rule))
    return summed_up([simulate(policy, world, seed) for seed in range(seeds)])


def _told(mean: Mean) -> str:
    if mean.value is None:
        return "—"
    digits = 2 if mean.value < 3 else 1 if mean.value < 100 else 0
    return f"{mean.value:.{digits}f}" + ("" if mean.low is None else f" ({mean.low:.{digits}f}–{mean.high:.{digits}f})")


if __name__ == "__main__":
    raise SystemExit(main())
