"""What `recall schedule backtest --history` does, and the command `recall schedule export-history`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pytest_recall.cases.settings import DEFAULT_SETTINGS, Settings
from pytest_recall.cases.settings_file import read_settings
from pytest_recall.cli.common import Commands, command, dollars, place_of, say, whole
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import find_place, runs_in
from pytest_recall.files.json_lines import as_lines
from pytest_recall.files.wording import percent, plural
from pytest_recall.schedule.bank import Bank, bank_from
from pytest_recall.schedule.change_backtest import known_of, play, summary_of, usual_policies
from pytest_recall.schedule.change_export import exported, judged_run
from pytest_recall.schedule.change_history import facts_of
from pytest_recall.schedule.change_history_file import read_history
from pytest_recall.schedule.change_history_text import change_lines, change_notes, changes_json, full_names
from pytest_recall.schedule.change_mix import TAKEN, ChangeMix, mix_of, taken
from pytest_recall.schedule.policy_options import counting
from pytest_recall.schedule.simulate import World
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.record import Record
from pytest_recall.trials.series import AnyRule

EXPORT_DETAILS = """\
Each pull request, and each commit on the main branch, whose run says which cases its change
affected is a line, in the order of the runs; the verdicts of all runs are counted from one change
of a case's requests to the next. What is printed is what `recall schedule backtest --history` and
`recall schedule simulate --history` read. Pull requests that were never merged are in it, too:
take out their lines.

  recall schedule export-history > history.jsonl
"""
ASSUMED_USD = 0.04
ASSUMED_BANK = Bank(1.0, 7)
OF_HISTORY = {"confirm": "--confirm", "seeds": "--seeds", "per_day": "--per-day", "carry_days": "--carry-days"}
"""The options of `recall schedule backtest` that need `--history`."""
OF_RUNS = {
    "runs": "--runs",
    "verdicts": "--verdicts",
    "files": "--files",
    "slice": "--slice",
    "nightly": "--nightly",
    "stalest": "--stalest",
}
"""Those that go without it."""


def add_history(parser: argparse.ArgumentParser) -> None:
    """Add the options that play a history of changes."""
    parser.add_argument(
        "--history", type=Path, metavar="FILE", help="play a history of changes instead, a .jsonl or a .jsonl.gz"
    )
    parser.add_argument(
        "--seeds",
        type=whole("a number from 1 to 10,000", 1, 10_000),
        metavar="N",
        help="with --history: draws of the verdicts (default: 20)",
    )
    _add_bank(parser)


def add_mix(parser: argparse.ArgumentParser) -> None:
    """Add the options that take the changes of a simulation from histories."""
    parser.add_argument(
        "--history",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="take what changes affect and break, and the flake, from a history of changes; repeatable",
    )
    _add_bank(parser)


def _add_bank(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--per-day",
        type=dollars,
        metavar="USD",
        help="with --history: what the bank gets a day (default: the rubric's)",
    )
    parser.add_argument(
        "--carry-days",
        type=whole("a number of days from 1 to 366", 1, 366),
        metavar="N",
        help="with --history: days' worth that it holds (default: the rubric's)",
    )


def add_export(commands: Commands) -> None:
    """Add the command."""
    summary = "print the history of changes in the runs on record"
    parser = command(commands, "export-history", summary, run_export, EXPORT_DETAILS)
    parser.add_argument(
        "--runs", type=Path, action="append", default=[], metavar="DIR", help="a folder with further runs; repeatable"
    )


def run_export(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    if absent := [folder for folder in args.runs if not folder.is_dir()]:
        raise RecallError(f"--runs: {absent[0]}: no such directory; give a folder of runs, such as eval/_artifacts")
    runs = [judged_run(record) for record in journals([place.artifacts.folder, *args.runs])]
    lines = list(exported(runs))
    if not lines:
        raise RecallError(
            f"no history: of {plural(len(runs), 'run')} on record none says which cases its change affected; runs of"
            " pull requests with recordings do"
        )
    sys.stdout.write(as_lines(lines))
    silent = sum(run.affected is None for run in runs)
    say(f"{plural(len(lines), 'change')} of {plural(len(runs), 'run')}; {silent:,} say nothing of a change")
    return 0


def check_options(args: argparse.Namespace) -> None:
    """Raise RecallError if options of runs and of a history of changes stand together."""
    idle = OF_HISTORY if args.history is None else OF_RUNS
    if given := [option for name, option in idle.items() if getattr(args, name)]:
        told = "needs --history" if args.history is None else "is of runs, and has no effect with --history"
        raise RecallError(f"{given[0]}: {told}; give one of them")


def play_history(args: argparse.Namespace, rule: AnyRule | None, rubric: Settings) -> int:
    """Play the policies over the history that `args` name, and print what they come to."""
    history = read_history(args.history, str(args.history))
    facts = facts_of(history)
    bank = bank_of(args, rubric)
    usd = ASSUMED_USD if args.usd is None else args.usd
    if usd < 1e-6:
        raise RecallError(f"--usd: {usd} is less than a millionth of a dollar; give what a trial costs, such as 0.04")
    seeds = args.seeds or 20
    found = []
    policies = known_of(history, usual_policies(bank, rule))
    for policy, name in zip(policies, full_names([policy.name for policy in policies]), strict=True):
        # Without counts nothing is drawn but cases, and every draw has as many.
        draws = [play(history, policy, usd, seed, rubric) for seed in range(seeds if history.counted else 1)]
        found.append(summary_of(draws, facts.days))
        say(f"{name} done")
    confirm = f"a fail {counting(rule)}"
    if args.json:
        settings = {
            "usd_a_trial": {"value": usd, "source": "assumed" if args.usd is None else "given"},
            "bank": bank._asdict(),
            "confirm": None if rule is None else rule.written,
            "seeds": seeds,
        }
        print(json.dumps(changes_json(history, facts, found, settings), indent=2))
        return 0
    notes = list(change_notes(usd, args.usd is not None, _told(bank), confirm, seeds))
    print("\n".join(change_lines(history, facts, found, notes)))
    return 0


def rubric_of(args: argparse.Namespace) -> Settings:
    """Return the rubric of the eval directory, or the default where there is none: a history needs no eval set."""
    root = Path.cwd()
    place = find_place(root, root, [root], args.dir and root / args.dir)
    if place.eval_dir.is_dir():
        return read_settings(place.rubric, place.name(place.rubric))
    if args.dir is not None:
        raise RecallError(f"{place.name(place.eval_dir)}: no such directory; run `recall init`, or give another --dir")
    return DEFAULT_SETTINGS


def mix_given(args: argparse.Namespace) -> ChangeMix | None:
    """Return the mix of the histories that `args` of a simulation name, or None without any. Raises RecallError."""
    if not args.history:
        for name in ("per_day", "carry_days"):
            if getattr(args, name):
                raise RecallError(f"{OF_HISTORY[name]}: needs --history; give both, or neither")
        return None
    if args.plot is not None:
        raise RecallError("--plot: draws the two schedules without --history; give one of them")
    mix = mix_of([read_history(path, str(path)) for path in args.history])
    for path, changes in zip(args.history, mix.histories, strict=True):
        if not changes:
            raise RecallError(f"{path}: no change touches source or a request; there is nothing to draw from")
    for name, option in TAKEN.items():
        if getattr(args, name) is not None and name in taken(mix):
            raise RecallError(f"{option}: the history says it; leave out the option or --history")
    return mix


def mix_facts(mix: ChangeMix, bank: Bank) -> dict[str, Any]:
    """Return what a simulation took from histories as plain JSON types."""
    changes = [len(history) for history in mix.histories]
    return {"bank": bank._asdict(), "mix": {"changes": changes, "touching": mix.touching, "counted": mix.counted}}


def mix_notes(world: World, bank: Bank) -> list[str]:
    """Return what is to be said of a simulation with the changes of histories; nothing of one without."""
    if (mix := world.mix) is None:
        return []
    each = ", each as often" if len(mix.histories) > 1 else ""
    notes = [
        f"affected: all cases that a change affects, for what is in the bank ({_told(bank)}); what there is no money"
        " for is not asked. Nights as in the lottery, and twice as long while the bank is full.",
        f"Changes as in {'1 history' if len(mix.histories) == 1 else f'{len(mix.histories)} histories'}{each}:"
        f" {percent(mix.touching)} touch a request. Which cases one affects is drawn.",
    ]
    most = mix.reaching(world.breaks, len(world.cases))
    if not mix.counted:
        notes.append(
            f"{percent(most)} of the changes affect {plural(world.breaks, 'case')} or more; bad ones are of these, so"
            f" that {percent(min(most, world.bad))} are bad."
        )
    return notes


def _told(bank: Bank) -> str:
    return f"${bank.per_day:,.2f} a day, kept for {plural(bank.carry_days, 'day')}"


def bank_of(args: argparse.Namespace, rubric: Settings) -> Bank:
    """Return the bank: the options' where they are given, else the rubric's, else the one that is assumed."""
    usual = bank_from(rubric.budget) or ASSUMED_BANK
    return Bank(args.per_day or usual.per_day, args.carry_days or usual.carry_days)


def journals(folders: Iterable[Path]) -> Iterator[Record]:
    """Yield the journals of the runs in `folders`, the oldest first; one that cannot be read is told, and left out."""
    for folder in runs_in(folders):
        try:
            yield read_journal(folder)
        except RecallError as error:
            say(f"left out: {error}")
