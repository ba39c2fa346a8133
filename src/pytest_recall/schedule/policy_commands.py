"""The commands `recall schedule select`, `simulate` and `backtest`: choose a slice, and compare schedules."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from pytest_recall.cases.case_file import CaseFile, check_unique
from pytest_recall.cases.settings import Settings
from pytest_recall.cases.settings_file import read_settings
from pytest_recall.cli.common import (
    Commands,
    add_files,
    case_paths,
    command,
    context_of,
    dollars,
    marked_in,
    names,
    note_affected,
    place_of,
    say,
)
from pytest_recall.files.disk import write_bytes
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import percent, plural
from pytest_recall.results.sentences import slice_line
from pytest_recall.runs.context import CommandLine, Filters
from pytest_recall.runs.plan import make_plan, with_marked
from pytest_recall.schedule import schedule_text as render
from pytest_recall.schedule.backtest import as_it_was, backtest, check_enough, read_verdicts, rows_before
from pytest_recall.schedule.change_mix import taken
from pytest_recall.schedule.history import PastRun, habits, in_order, past_of, past_of_lines, settled
from pytest_recall.schedule.history_commands import (
    ASSUMED_USD,
    add_history,
    add_mix,
    bank_of,
    check_options,
    journals,
    mix_facts,
    mix_given,
    mix_notes,
    play_history,
    rubric_of,
)
from pytest_recall.schedule.policies import TWO_OF_THREE, Policy, SliceSizes, affected, literal, lottery
from pytest_recall.schedule.policy_options import add_confirm, add_sizes, confirm_of, count, counting, sizes_of
from pytest_recall.schedule.simulate import World, simulate
from pytest_recall.schedule.simulated import Figures, parts, summed_up
from pytest_recall.schedule.sizing import Proposal, proposal, proposed_confirm
from pytest_recall.trials.series import AnyRule


def add_select(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "select",
        "choose today's slice, print it and write it to eval/_artifacts/today.yaml, without running it",
        run_select,
        "If a file has the mark, pytest collects the marked tests first, which takes a moment.",
    )
    parser.add_argument("--mode", help="pr, nightly, all or observe (default: as `pytest -p recall` would have it)")
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="the day (default: today in UTC)")
    parser.add_argument("--seed", help="what draws the new cases (default: the pull request, else the date)")
    parser.add_argument("--scenarios", default="", metavar="A,B", help="choose from these scenarios only")
    parser.add_argument("--dimensions", default="", metavar="A,B", help="choose from these dimensions only")
    parser.add_argument("--ids", action="store_true", help="print the ids only, one a line")
    add_files(parser)


def run_select(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    context, rubric = context_of(place, CommandLine(date=args.date, seed=args.seed, mode=args.mode))
    wanted = Filters(scenarios=names(args.scenarios), dimensions=names(args.dimensions))
    note_affected(place, context, rubric)
    plan = make_plan(place, case_paths(place, args), context, rubric, wanted, complete=True)
    plan = with_marked(plan, marked_in(place))
    text = plan.today()
    place.artifacts.write("today.yaml", text)
    print("".join(f"{pick.case_id}\n" for pick in plan.picks) if args.ids else text, end="")
    say(slice_line(plan.header("", "")))
    return 0


ASSUMED: dict[str, float | None] = {
    "pulls": World.pulls,
    "open_days": World.open_days,
    "abandoned": World.abandoned,
    "bad": World.bad,
    "breaks": World.breaks,
    "recall": World.recall,
    "drift": World.drift,
    "flaky": World.flaky,
    "usd": None,
}
SIMULATE_DETAILS = """\
The cases are those of the case files, a tag for each part of the code. What is chosen and how
rows move is decided as in a run. Breaks are simulated: cases break by themselves at a constant
rate, some pull requests break cases of the tag that they touch, and verdicts are wrong now and
then. Both schedules, the boxes alone (literal) and slices of a fixed size (lottery), go
through the same events, begin with one run of all cases, and use the rubric's sizes,
confirmation and quarantine.

A figure that no option gives is estimated from the runs in eval/_artifacts if they have enough
data, else assumed; the output shows which, and from how much. Without prices, costs are unknown.

--history takes the changes from a history of real ones: how many cases each affects, how
many it breaks and how flaky cases are, if the history has it; several histories have equal
shares of the changes. A third schedule runs all affected cases, once, for what is in the bank.
No model is called, and only the picture is written.
"""


def add_simulate(commands: Commands) -> None:
    """Add the command."""
    summary = "compare schedules for these cases in simulated months"
    parser = command(commands, "simulate", summary, run_simulate, SIMULATE_DETAILS)
    parser.add_argument("--pulls", type=_amount, metavar="N", help="pull requests a day")
    parser.add_argument("--open-days", type=_time, metavar="DAYS", help="median days that a pull request stays open")
    parser.add_argument(
        "--abandoned", type=_share, metavar="SHARE", help="share of pull requests that are never merged"
    )
    parser.add_argument("--bad", type=_share, metavar="SHARE", help="share of pull requests that break something")
    parser.add_argument("--breaks", type=count, metavar="N", help="how many cases such a pull request breaks")
    parser.add_argument(
        "--recall",
        type=_share,
        metavar="SHARE",
        help="how often the tags name the cases that a pull request affects, 0 to 1",
    )
    parser.add_argument(
        "--drift", type=_share, metavar="RATE", help="rate at which a case breaks by itself in a day, such as 1/1600"
    )
    parser.add_argument("--flaky", type=_share, metavar="SHARE", help="share of verdicts on sound cases that are wrong")
    parser.add_argument(
        "--half",
        type=_share,
        default=0.0,
        metavar="SHARE",
        help="share of regressions in which a case passes half as often, not never (default: 0)",
    )
    add_mix(parser)
    parser.add_argument("--usd", type=dollars, metavar="USD", help="what a trial costs")
    parser.add_argument("--late", action="store_true", help="nights run after the day's pull requests, not before")
    parser.add_argument(
        "--nights-only", action="store_true", help="only nights write the state, as with `state: nightly` at GitHub"
    )
    parser.add_argument("--days", type=count, default=240, metavar="N", help="days to simulate (default: 240)")
    parser.add_argument(
        "--warm-up",
        type=count,
        metavar="N",
        help="days at the start that are left out of the figures (default: a quarter)",
    )
    parser.add_argument("--seeds", type=count, default=5, metavar="N", help="how many simulated worlds (default: 5)")
    add_sizes(parser)
    add_confirm(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="also write a picture, a PNG")
    add_files(parser)


def _fraction(text: str) -> float:
    above, slash, below = text.partition("/")
    try:
        return float(above) / float(below) if slash else float(above)
    except (ValueError, ZeroDivisionError):
        return float("nan")


def _share(text: str) -> float:
    if not 0 <= (value := _fraction(text)) <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0 and 1; write 0.05 or 1/20")
    return value


def _amount(text: str) -> float:
    if not 0 < (value := _fraction(text)) <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not above 0 and up to 1000")
    return value


def _time(text: str) -> float:
    if not 0 < (value := _fraction(text)) <= 365:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time in days, above 0 and up to 365")
    return value


def run_simulate(args: argparse.Namespace) -> int:
    """Run the command."""
    warm_up = args.days // 4 if args.warm_up is None else args.warm_up
    if warm_up >= args.days:
        raise RecallError(f"--warm-up: of {plural(args.days, 'day')} none would be left; give more --days")
    if args.plot is not None and args.plot.suffix != ".png":
        raise RecallError(f"{args.plot}: the picture is a PNG; call it *.png")
    place = place_of(args)
    mix = mix_given(args)
    rubric = read_settings(place.rubric, place.name(place.rubric))
    files = [CaseFile(path, place.name(path)) for path in case_paths(place, args)]
    check_unique(files)
    tags, untold = parts(case for file in files for case in file.cases())
    for case_id, (scenario, _) in marked_in(place).items():
        untold.setdefault(scenario or "marked tests", []).append(case_id)
    seen = habits(journals([place.artifacts.folder]))
    assumed = ASSUMED if mix is None else {**ASSUMED, "usd": ASSUMED_USD}
    settings = settled({name: getattr(args, name) for name in ASSUMED}, seen, assumed)
    settings |= {} if mix is None else taken(mix)
    figures = {name: one.value for name, one in settings.items()}
    world = World(
        tags=tags,
        untold=untold,
        days=args.days,
        warm_up=warm_up,
        half=args.half,
        late=args.late,
        nights_only=args.nights_only,
        quarantine=rubric.quarantine,
        mix=mix,
        **{**figures, "breaks": int(figures["breaks"] or 1)},  # type: ignore[arg-type]
    )
    if not world.cases:
        raise RecallError(f"{place.name(place.eval_dir)}: no cases; write some, or name their files with --files")
    sizes = sizes_of(args, rubric, len(world.cases))
    confirm = confirm_of(args, rubric)
    known = [literal(rubric, world.cases), lottery(world.cases, *sizes, near_share=rubric.near_share)]
    bank = bank_of(args, rubric)
    if mix is not None:
        known.append(affected(world.cases, bank, sizes.nightly, sizes.stalest))
    policies = [policy._replace(confirm=confirm) for policy in known]
    found = _simulated(policies, world, args.seeds)
    sums = [summed_up(found[policy.name]) for policy in policies]
    drawn = b""
    if args.plot is not None:
        from pytest_recall.horizon.pictures import draw_schedules

        title = f"Two schedules for {plural(len(world.cases), 'case')} and {world.pulls:.3g} pull requests a day"
        span = f"{args.days - warm_up:,} days × {plural(args.seeds, 'seed')}"
        note = (
            f"literal: five boxes, asked again after 1 to 30 days. lottery: {sizes.slice:,} drawn for a pull request,"
            f" {_night(sizes, 'what is due')} a night. Simulated: {span}."
            " Error bars: 95 %."
        )
        drawn = draw_schedules(sums, title, note)
    if args.json:
        facts = {
            "cases": len(world.cases),
            "untold": sum(map(len, untold.values())),
            "days": args.days,
            "warm_up": warm_up,
            "seeds": args.seeds,
            "half": args.half,
            "late": args.late,
            "nights_only": args.nights_only,
            "sizes": sizes._asdict(),
            "proposed": proposed(world, rubric, world.recall)._asdict(),
            "confirm": None if confirm is None else f"fail {confirm.written}",
            **({} if mix is None else mix_facts(mix, bank)),
        }
        print(json.dumps(render.simulation_json(found, sums, settings, facts), indent=2))
    else:
        notes = _notes(world, rubric, confirm, sizes, args.seeds) + mix_notes(world, bank)
        print("\n".join(render.simulation_lines(sums, settings, notes)))
    if args.plot is not None:
        write_bytes(args.plot, drawn)
        say(f"drew {args.plot}")
    return 0


def _simulated(policies: list[Policy], world: World, seeds: int) -> dict[str, list[Figures]]:
    found: dict[str, list[Figures]] = {policy.name: [] for policy in policies}
    for seed in range(seeds):
        for policy in policies:
            found[policy.name].append(simulate(policy, world, seed))
        say(f"seed {seed}: {seed + 1} of {seeds} done")
    return found


def _night(sizes: SliceSizes, everything: str) -> str:
    return everything if sizes.nightly is None else f"{sizes.nightly:,}"


LESS, MORE = 0.3, 0.95
"""How much a poor and a good map of tags tells, to show how much hangs on it."""


def proposed(world: World, rubric: Settings, recall: float) -> Proposal:
    """Return the sizes that are proposed for these cases."""
    return proposal(world.tags, len(world.cases), world.breaks, recall, rubric.near_share)


def _proposed(world: World, rubric: Settings) -> Iterator[str]:
    """Yield the sizes that are proposed, and how much hangs on what the tags tell."""
    found = proposed(world, rubric, world.recall)
    a_day = (
        ""
        if world.usd is None
        else f", for about ${(found.slice * world.pulls + found.nightly) * world.usd:,.2f} a day"
    )
    yield (
        f"proposed: slice_cases: {found.slice:,}, nightly_cases: {found.nightly:,}, max_verdict_age: {found.stalest},"
        f" confirm: {proposed_confirm(world.flaky)}{a_day}."
    )
    if not world.tags:
        yield "No case has a tag: what a change touches is unknown, and a slice is drawn from all cases."
        return
    (low, caught), *more = [
        (share, proposed(world, rubric, share).caught) for share in sorted({LESS, world.recall, MORE})
    ]
    told = [f"{caught:.0%} if the tags tell {low:.0%} of what one touches", *(f"{c:.0%} if {s:.0%}" for s, c in more)]
    yield f"Bad pull requests that fail by themselves then: {', '.join(told)}.".replace("%", " %")


def _box_1(rubric: Settings) -> str:
    return "all of box 1" if rubric.box_1_cases is None else f"{rubric.box_1_cases:,} of box 1"


def _notes(world: World, rubric: Settings, rule: AnyRule | None, sizes: SliceSizes, seeds: int) -> list[str]:
    nightly = "all that is due" if rubric.nightly_max_cases is None else f"{rubric.nightly_max_cases:,} due"
    stale = "" if sizes.stalest is None else f", first those that did not run for {plural(sizes.stalest, 'day')}"
    when = "after" if world.late else "before"
    notes = [
        f"{plural(len(world.cases), 'case')} under {plural(len(world.tags), 'tag')};"
        f" {plural(world.days, 'day')}, the first {world.warm_up} in no figure; {plural(seeds, 'seed')};"
        f" nights {when} the day's pull requests; a fail {counting(rule)}.",
        f"literal: {_box_1(rubric)}, {rubric.max_due_cases:,} due and {rubric.new_traffic_sample:,} new ones in a pull"
        f" request; {nightly} in a night.",
        f"lottery: {sizes.slice:,} in a pull request; {_night(sizes, 'all of box 1, due and new')} in a night{stale}.",
    ]
    notes += _proposed(world, rubric)
    if world.half:
        notes.append(f"In {percent(world.half)} of regressions a case passes half as often, in the others never.")
    if world.untold:
        alone = sum(map(len, world.untold.values()))
        notes.append(f"{plural(alone, 'case')} without a tag: no change is known to touch them.")
    return notes


BACKTEST_DETAILS = """\
The runs are those in eval/_artifacts, and in each DIR of --runs; in the place of each the
schedules choose a slice of their own, from what they have seen by then. The first run is where
they all begin. A run with a pull request's number is a pull request, any other one a night; runs
of one pull request on one day are one, and cases that a person chose are left out.

A table of runs that ran everything says more, and may be from anywhere: a line of JSON for each
verdict, {"date": "2026-11-21", "case_id": "hours", "outcome": "passed", "pr": 7}, without "pr"
on the main branch.

A regression is a case that passed and then failed in two runs in a row, or in one that asked
again. Repeats that confirm a fail are in no count.

With --history other policies are played over a history of changes, of any project: which cases
each merged change affected, and how their trials came out before and after it. Verdicts are drawn
from that. `recall schedule export-history` prints one.
"""


def add_backtest(commands: Commands) -> None:
    """Add the command."""
    summary = "say what each schedule would have run, seen and missed in the place of the runs on record"
    parser = command(commands, "backtest", summary, run_backtest, BACKTEST_DETAILS)
    parser.add_argument(
        "--runs", type=Path, action="append", default=[], metavar="DIR", help="a folder with further runs; repeatable"
    )
    parser.add_argument(
        "--verdicts", type=Path, action="append", default=[], metavar="FILE", help="a table of verdicts; repeatable"
    )
    add_history(parser)
    parser.add_argument("--usd", type=dollars, metavar="USD", help="what a trial costs (default: by the runs)")
    add_sizes(parser)
    add_confirm(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_files(parser)


def run_backtest(args: argparse.Namespace) -> int:
    """Run the command."""
    check_options(args)
    if args.history is not None:
        rubric = rubric_of(args)
        confirmed = args.confirm is not None or rubric.confirm is not None
        return play_history(args, confirm_of(args, rubric) if confirmed else TWO_OF_THREE, rubric)
    place = place_of(args)
    rubric = read_settings(place.rubric, place.name(place.rubric))
    files = [CaseFile(path, place.name(path)) for path in case_paths(place, args)]
    check_unique(files)
    if absent := [folder for folder in args.runs if not folder.is_dir()]:
        raise RecallError(f"--runs: {absent[0]}: no such directory; give a folder of runs, such as eval/_artifacts")
    table = [line for path in args.verdicts for line in read_verdicts(path, place.name(path))]
    records = list(journals([place.artifacts.folder, *args.runs]))
    told = [past for record in records if (past := past_of(record)) is not None]
    every = in_order([*told, *past_of_lines(table)])
    known = {case_id for file in files for case_id in file.lines}
    runs = _of_cases(every, known)
    check_enough(runs)
    gone = {case_id for past in every for case_id in past.verdicts} - known
    cases = {case_id for past in runs for case_id in past.verdicts}
    usd = settled({"usd": args.usd}, habits(records), {"usd": None})["usd"]
    rows = {case_id: row for case_id, row in rows_before(records, runs[0].day).items() if case_id in known}
    sizes = sizes_of(args, rubric, len(known))
    found = [as_it_was(runs)]
    for make in (lambda some: literal(rubric, some), lambda some: lottery(some, *sizes)):
        found.append(backtest(make, runs, rows, rubric.quarantine))
        say(f"{found[-1].policy} done")
    if args.json:
        facts = {
            "first": runs[0].day.isoformat(),
            "last": runs[-1].day.isoformat(),
            "cases": len(cases),
            "never_run": len(known - cases),
            "gone": len(gone),
            "sizes": sizes._asdict(),
        }
        print(json.dumps(render.backtest_json(found, usd, facts), indent=2))
        return 0
    pulls = sum(past.pr is not None for past in runs[1:])
    notes = [
        f"{plural(len(runs) - 1, 'run')} on record from {runs[0].day} to {runs[-1].day}, of which {pulls:,} of pull"
        f" requests, after a first one that all begin with; {plural(len(cases), 'case')}."
    ]
    if all(past.pr is not None for past in runs[1:]):
        notes.append("No run on the main branch is on record, so no schedule has a night.")
    if never := len(known - cases):
        notes.append(f"{plural(never, 'case')} of the case files: in no run, left out.")
    if gone:
        notes.append(f"{plural(len(gone), 'case')} on record: no longer in any case file, left out.")
    print("\n".join(render.backtest_lines(found, usd, notes)))
    return 0


def _of_cases(runs: list[PastRun], known: set[str]) -> list[PastRun]:
    """Return the runs with the verdicts on cases that there still are, without those that have none."""
    kept = [
        past._replace(verdicts={case_id: passed for case_id, passed in past.verdicts.items() if case_id in known})
        for past in runs
    ]
    return [past for past in kept if past.verdicts]
