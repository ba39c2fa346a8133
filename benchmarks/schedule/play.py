#!/usr/bin/env python3
"""Play the schedule: what it costs, how soon it notices what broke, and how often it is wrong.

    python benchmarks/schedule/play.py drift                             800 cases that break by themselves
    python benchmarks/schedule/play.py drift --nightly-cases 100 134     two sizes of a night side by side
    python benchmarks/schedule/play.py changes --history FILE            real changes, each with all that it affects
    python benchmarks/schedule/play.py confirm --history FILE            the rules that confirm a fail

Without --confirm, fails are confirmed as under the rubric of `recall init`. What is chosen, what trials come to and how
rows move is the code of the package. Calendars, breaks and verdicts are drawn at random; a seed always draws the same.
Figures are means over the seeds, with the 95 % interval in brackets.

Exit code 0: all targets are met, or there are none. 1: one is missed. 2: it could not be played.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from changes import play_changes
from drift import Sizes, Team, play_drift
from figures import Column, as_json, mean_figures, table
from history import History, HistoryError, flakes, read_history

from pytest_recall.metrics.intervals import Mean
from pytest_recall.schedule.sizing import (
    BOX_1_CASES,
    CONFIRM,
    LEAST_NIGHT,
    MAX_DUE_CASES,
    NEW_TRAFFIC_SAMPLE,
    SWEEP_NIGHTS,
    nightly_cases,
)
from pytest_recall.trials.series import OF_CHANGE, AnyRule, confirming, confirming_change

MOST_USD, MOST_MEAN, MOST_P95 = 8.0, 3.5, 8.0
"""The targets of `drift`: US dollars a day, and days until a break is found, in the mean and at the 95th percentile."""
MOST_DEMOTIONS = 0.25
"""The target of `drift` and `confirm`: sound cases a day that lose their box."""
FLAKES = {0.005: 1407, 0.1: 21, 0.2: 20, 0.3: 13, 0.4: 13, 0.5: 8}
"""So many cases of copilot-chat fail by chance in this share of their trials, as `confirm` counts them."""
LEAST_RATE = 0.5
"""A case of a history has its rate of flake in `confirm` if it passed in this share of its trials."""

Rows = Mapping[str, Mapping[str, Mean]]


def main() -> int:
    parser = _parser()
    args = parser.parse_args()
    if args.command != "changes" and args.warm_up >= args.days:
        parser.error(f"--warm-up: of {args.days} days none would be left; give more --days")
    try:
        code: int = args.run(args)
    except HistoryError as error:
        print(f"play: {error}", file=sys.stderr)
        return 2
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="play.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    drift = commands.add_parser("drift", help="cases that break by themselves, with no change that affects any")
    _add_team(drift)
    drift.add_argument(
        "--nightly-cases",
        type=_some,
        nargs="+",
        metavar="N",
        help=f"cases in a night; several are compared (default: one in {SWEEP_NIGHTS} cases)",
    )
    drift.add_argument(
        "--confirm", type=_rule, default=CONFIRM, metavar="RULE", help=f"how a fail is confirmed (default: {CONFIRM})"
    )
    drift.add_argument(
        "--flaky",
        type=_share,
        help="share of trials of a sound case that fail (default: the shares of copilot-chat, 1.8 %% in the mean)",
    )
    drift.add_argument(
        "--night-last", action="store_true", help="nights come after the day's pull requests, not before"
    )
    drift.add_argument(
        "--at-once", action="store_true", help="begin with one run of all cases, all due on the same days"
    )
    drift.set_defaults(run=run_drift)

    changes = commands.add_parser("changes", help="a history of real changes, each with all cases that it affects")
    _add_history(changes)
    changes.add_argument(
        "--confirm", type=_rule, nargs="+", default=(OF_CHANGE.written,), metavar="RULE", help="rules to compare"
    )
    changes.add_argument("--seeds", type=_some, default=40, metavar="N", help="draws of the verdicts (40)")
    changes.set_defaults(run=run_changes)

    confirm = commands.add_parser("confirm", help="rules that confirm a fail, at the rates of flake of a real history")
    _add_history(confirm)
    _add_team(confirm, has_usd=False)
    confirm.add_argument(
        "--confirm", type=_rule, nargs="+", default=(CONFIRM,), metavar="RULE", help="rules to compare"
    )
    confirm.add_argument("--nightly-cases", type=_some, metavar="N", help="cases in a night")
    confirm.set_defaults(run=run_confirm)
    for command in (drift, changes, confirm):
        command.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _add_team(parser: argparse.ArgumentParser, *, has_usd: bool = True) -> None:
    parser.add_argument("--cases", type=_some, default=Team.cases, metavar="N", help="cases of the set (800)")
    parser.add_argument("--pulls", type=_count, default=Team.pulls, metavar="N", help="pull requests a day (5)")
    if has_usd:
        parser.add_argument("--usd", type=float, default=Team.usd, help="US dollars a trial (0.04)")
    parser.add_argument("--drift", type=_share, default=Team.drift, help="rate a day at which a case breaks (1/1600)")
    parser.add_argument("--days", type=_some, default=Team.days, metavar="N", help="days to play (240)")
    parser.add_argument("--warm-up", type=_count, default=Team.warm_up, metavar="N", help="days in no figure (60)")
    parser.add_argument("--seeds", type=_some, default=10, metavar="N", help="how many draws (10)")
    parser.add_argument(
        "--max-due-cases", type=_count, default=MAX_DUE_CASES, metavar="N", help="due cases in a pull request (25)"
    )
    parser.add_argument(
        "--new", type=_count, default=NEW_TRAFFIC_SAMPLE, metavar="N", help="never-seen cases in a run (5)"
    )
    parser.add_argument(
        "--box-1-cases", type=_count, default=BOX_1_CASES, metavar="N", help="cases of box 1 in a pull request (25)"
    )


def _add_history(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--history", type=Path, required=True, metavar="FILE", help="merged changes, a .jsonl or .jsonl.gz"
    )
    parser.add_argument("--usd", type=float, default=Team.usd, help="US dollars a trial (0.04)")


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _some(text: str) -> int:
    if not (count := _count(text)):
        raise argparse.ArgumentTypeError("0 is too few; give 1 or more")
    return count


def _share(text: str) -> float:
    above, _, below = text.partition("/")
    try:
        value = float(above) / float(below or 1)
    except (ValueError, ZeroDivisionError):
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0 and 1; write 0.05 or 1/20")
    return value


def _rule(text: str) -> str:
    try:
        confirming(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None
    return text


def _team(args: argparse.Namespace) -> Team:
    return Team(
        cases=args.cases, pulls=args.pulls, drift=args.drift, usd=args.usd, days=args.days, warm_up=args.warm_up
    )


def _sizes(args: argparse.Namespace, nightly: int) -> Sizes:
    return Sizes(nightly, args.max_due_cases, args.new, args.box_1_cases)


def _drift(team: Team, sizes: Sizes, rule: AnyRule, seeds: int) -> dict[str, Mean]:
    return mean_figures([play_drift(team, sizes, rule, seed) for seed in range(seeds)])


def _changes(history: History, rule: AnyRule, usd: float, seeds: int) -> dict[str, Mean]:
    rule = confirming_change(rule)
    return mean_figures([play_changes(history, rule, usd, seed) for seed in range(seeds)])


def _progress(rows: Sequence[str], row: str) -> None:
    print(f"{row}: {rows.index(row) + 1} of {len(rows)}", file=sys.stderr)


# drift

DRIFT_COLUMNS = (
    Column("usd", "US dollars a day"),
    Column("pull_request", "cases in a pull request", "{:.1f}"),
    Column("longest_night", "longest night", "{:.0f}"),
    Column("delay_mean", "found after days, mean"),
    Column("delay_p95", "p95", "{:.1f}"),
    Column("demotions", "false demotions a day"),
)


def run_drift(args: argparse.Namespace) -> int:
    """Play the schedule over cases that break by themselves, for each size of a night."""
    rates = tuple(rate for rate, cases in FLAKES.items() for _ in range(cases))
    flaky = rates if args.flaky is None else (args.flaky,)
    team = replace(_team(args), flakes=flaky, night_last=args.night_last, at_once=args.at_once)
    rule = confirming(args.confirm)
    rows = {}
    nights = [str(size) for size in args.nightly_cases or [nightly_cases(args.cases)]]
    for night in nights:
        rows[night] = _drift(team, _sizes(args, int(night)), rule, args.seeds)
        _progress(nights, night)
    size = nightly_cases(args.cases)
    formula = f"nightly_cases = cases / {SWEEP_NIGHTS}, {LEAST_NIGHT} at least: {size:,} for {args.cases:,} cases"
    missed = {night: list(_missed(row)) for night, row in rows.items()}
    if args.json:
        print(json.dumps({"formula": formula, "sizes": as_json(rows), "missed": missed}, indent=2))
    else:
        print(table("cases a night", rows, DRIFT_COLUMNS))
        print(f"\n{formula}")
        for night, targets in missed.items():
            demotions = rows[night]["demotions"].value or 0.0
            met = f"meets all targets, with {demotions:.2f} false demotions a day of at most {MOST_DEMOTIONS:g}"
            print(f"{night}: {'; '.join(targets) or met}")
    return int(all(missed.values()))


def _missed(row: Mapping[str, Mean]) -> Iterator[str]:
    for field, most, unit in (
        ("usd", MOST_USD, "US dollars a day"),
        ("delay_mean", MOST_MEAN, "days in the mean"),
        ("delay_p95", MOST_P95, "days at the 95th percentile"),
        ("demotions", MOST_DEMOTIONS, "false demotions a day"),
    ):
        value = row[field].value
        if value is not None and value > most:
            yield f"{value:.2f} {unit} are more than {most:g}"


# changes

CHANGE_COLUMNS = (
    Column("usd", "US dollars a day"),
    Column("cases", "cases a day", "{:.1f}"),
    Column("caught", "bad changes caught", "{:.1%}"),
    Column("false_alarms", "false alarms a day"),
)


def run_changes(args: argparse.Namespace) -> int:
    """Play a history of changes under each rule that confirms a fail."""
    history = read_history(args.history)
    if not history.counted:
        # It has no verdicts to draw, so that a rule changes nothing.
        rows = {"all affected, once": _changes(history, OF_CHANGE, args.usd, 1)}
    else:
        rows = {}
        for rule in args.confirm:
            rows[rule] = _changes(history, confirming(rule), args.usd, args.seeds)
            _progress(args.confirm, rule)
    bad = sum(bool(change.broken) for change in history.changes)
    if args.json:
        print(json.dumps({"days": history.days, "bad": bad, "rules": as_json(rows)}, indent=2))
        return 0
    print(table("confirm", rows, CHANGE_COLUMNS if history.counted else CHANGE_COLUMNS[:2]))
    print(f"\n{len(history.changes):,} changes on {history.days:,} days", end="")
    print(f"; {bad:,} broke sound cases" if history.counted else "; no verdicts on record")
    return 0


# confirm

CONFIRM_COLUMNS = (
    Column("demotions", "due: false demotions a day"),
    Column("dead_mean", "dead: found after days, mean"),
    Column("dead_p95", "p95", "{:.1f}"),
    Column("half_dead_mean", "half-dead: mean", "{:.1f}"),
    Column("half_dead_p95", "p95", "{:.0f}"),
    Column("trials", "trials a day", "{:.0f}"),
    Column("caught", "affected: bad changes caught", "{:.1%}"),
    Column("false_alarms", "affected: false alarms a day"),
)


def run_confirm(args: argparse.Namespace) -> int:
    """Compare rules on due cases, which are as flaky as those of a history, and on those that its changes affect."""
    history = read_history(args.history)
    rates = flakes(history, LEAST_RATE)
    if not rates:
        raise HistoryError(f"{args.history}: has no counts of trials; `confirm` needs a history with some")
    sizes = _sizes(args, args.nightly_cases or nightly_cases(args.cases))
    dead = replace(_team(args), flakes=rates)
    rows = {}
    for name in args.confirm:
        rule = confirming(name)
        due = _drift(dead, sizes, rule, args.seeds)
        half = _drift(replace(dead, half_dead=True), sizes, rule, args.seeds)
        affected = _changes(history, rule, args.usd, 4 * args.seeds)
        rows[name] = {
            "demotions": due["demotions"],
            "dead_mean": due["delay_mean"],
            "dead_p95": due["delay_p95"],
            "half_dead_mean": half["delay_mean"],
            "half_dead_p95": half["delay_p95"],
            "trials": due["trials"],
            "caught": affected["caught"],
            "false_alarms": affected["false_alarms"],
        }
        _progress(args.confirm, name)
    flaky = sum(rate > rates[0] for rate in rates)
    quiet = {name: (row["demotions"].value or 0.0) <= MOST_DEMOTIONS for name, row in rows.items()}
    if args.json:
        facts = {"nightly_cases": sizes.nightly_cases, "flake": sum(rates) / len(rates), "flaky": flaky}
        print(json.dumps({**facts, "rules": as_json(rows), "within_target": quiet}, indent=2))
    else:
        print(table("confirm", rows, CONFIRM_COLUMNS))
        print(f"\nflake: {sum(rates) / len(rates):.1%} of trials in the mean; {flaky:,} of {len(rates):,} cases")
        within = ", ".join(name for name, is_quiet in quiet.items() if is_quiet) or "none"
        print(f"at most {MOST_DEMOTIONS:g} false demotions a day: {within}")
    return int(not any(quiet.values()))


if __name__ == "__main__":
    raise SystemExit(main())
