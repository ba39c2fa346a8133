"""The commands `recall schedule estimate` and `recall cassettes cost`: what a run will cost, and what one has cost."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence

from pytest_recall.cli.common import (
    Commands,
    add_files,
    add_filters,
    case_paths,
    command,
    context_of,
    dollars,
    marked_in,
    note_affected,
    place_of,
    print_report,
)
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.sections import Report
from pytest_recall.metrics.floors import READ_FROM, floor_folder
from pytest_recall.models.model import KINDS
from pytest_recall.models.prices import at_model
from pytest_recall.replay.exchange import Call
from pytest_recall.results.sentences import slice_line
from pytest_recall.runs.affordable import trial_counts
from pytest_recall.runs.context import CommandLine, Filters
from pytest_recall.runs.plan import make_plan, with_marked
from pytest_recall.trials import cost_text as render
from pytest_recall.trials.baselines import SHIPPED, named
from pytest_recall.trials.baselines import check_names as check_baselines
from pytest_recall.trials.cost import estimate, of_run, seen, total
from pytest_recall.trials.journal import is_begun, read_journal
from pytest_recall.trials.record import Record
from pytest_recall.trials.repeat_folders import begun_repeats

RUNS = 20
ESTIMATE_DETAILS = f"""\
A case is estimated by its cost in the last runs in eval/_artifacts, with the calls of
agent and judges; a case that never ran, by the mean of its scenario. Cases of unknown cost
are counted and are in no sum. A replayed call counts at the price of a live call.

A case takes one trial, or as many as its `trials` or its last verdict and `confirm` say;
"at most" counts every trial that these may ask for. If the model of the agent is another
one than in these runs, its price stands for theirs, and the output says so.

Baselines are asked the same cases, and each is estimated by its own earlier cost; they are
those of the rubric, or of --baselines.

--batch estimates a batch run: a case that ran by batch before is estimated by what it
cost there, any other one with calls to OpenAI and Anthropic at half price. The output says
so, since it is unknown which of these calls a batch accepts. Without --batch all calls are
at full price.

With --fail-above the exit code is 1 if the estimate is higher, or if it leaves a case out.
The newest {RUNS} runs are read; --runs changes that.
"""


def add_estimate(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "estimate", "estimate what today's slice will cost, from earlier runs", run_estimate, ESTIMATE_DETAILS
    )
    parser.add_argument("--mode", help="pr, nightly, all or observe (default: as `pytest -p recall` would have it)")
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="the day (default: today in UTC)")
    parser.add_argument("--seed", help="what draws the new cases (default: the pull request, else the date)")
    parser.add_argument("--model", metavar="NAME", help="the model of the agent (default: `model_primary`)")
    add_filters(parser, "choose cases")
    parser.add_argument("--baselines", metavar="A,B", help="baselines to estimate in place of the rubric's, or `none`")
    parser.add_argument("--batch", action="store_true", help="show the cost with and without batches")
    parser.add_argument("--runs", type=_count, default=RUNS, metavar="N", help="how many earlier runs to read")
    parser.add_argument("--fail-above", type=dollars, metavar="USD", help="exit with 1 if the estimate is above this")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_files(parser)


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of runs from 1 up")
    return int(text)


def run_estimate(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    context, rubric = context_of(place, CommandLine(date=args.date, seed=args.seed, mode=args.mode, model=args.model))
    wanted = Filters(scenarios=args.scenarios, dimensions=args.dimensions)
    note_affected(place, context, rubric)
    plan = make_plan(place, case_paths(place, args), context, rubric, wanted, complete=True)
    marked = marked_in(place)
    plan = with_marked(plan, marked)
    chosen = {case.id: case.scenario for file in plan.files.values() for case in file.cases(plan.reasons)}
    chosen |= {case_id: scenario for case_id, (scenario, _) in marked.items() if case_id in plan.reasons}
    baselines = rubric.baselines if args.baselines is None else named(args.baselines, "--baselines")
    check_baselines(
        baselines, "--baselines" if args.baselines is not None else f"{place.name(place.rubric)}: baselines"
    )
    records = list(_history(place, args.runs))
    _tell_of_strangers(baselines, records)

    def at_price(calls: Sequence[Call], before: str | None) -> tuple[Sequence[Call], str]:
        return at_model(calls, context.model, before, rubric.prices)

    counts = {name: trial_counts(plan, chosen.keys(), baseline=bool(name)) for name in ("", *baselines)}
    history = {"": seen(records, at_price=at_price)} | {name: seen(records, name) for name in baselines}
    directly = {name: estimate(chosen, costs, counts[name]) for name, costs in history.items()}
    found = directly
    if args.batch:
        by_batch = {"": seen(records, batch=True, at_price=at_price)}
        by_batch |= {name: seen(records, name, batch=True) for name in baselines}
        found = {name: estimate(chosen, costs, counts[name]) for name, costs in by_batch.items()}
    without = directly if args.batch else None
    section = render.estimate_section(found, len(records), without)
    section = section._replace(snippet=list(render.history_lines(history[""], chosen.keys(), context.model)))
    print_report(Report("Recall estimate", [section], section.facts), args)
    print(f"recall: {slice_line(plan.header('', ''))}", file=sys.stderr)
    if args.fail_above is None:
        return 0
    problem = render.beyond(found, args.fail_above, without)
    if problem:
        print(f"recall: {problem}", file=sys.stderr)
    return int(bool(problem))


def _tell_of_strangers(baselines: Iterable[str], records: Iterable[Record]) -> None:
    """Say which names may be mistyped: no run has asked them yet, and a fixture is known to pytest alone."""
    known = {trial.arm for record in records for trial in record.trials if trial.arm}
    for name in baselines:
        if ":" not in name and name not in {*known, *SHIPPED, *KINDS}:
            close = nearest(name, {*known, *SHIPPED})
            print(f"recall: `{name}` was asked in no earlier run{close}", file=sys.stderr)


def _history(place: Place, count: int) -> list[Record]:
    """Return the newest runs that can be read, newest first: one that cannot is no reason not to estimate."""
    records: list[Record] = []
    for folder in reversed(place.artifacts.runs()):
        if len(records) == count:
            break
        try:
            records.append(read_journal(folder))
        except RecallError as error:
            print(f"recall: left out: {error}", file=sys.stderr)
    return records


COST_DETAILS = """\
Every attempt at a case counts, since each was paid for. Prices are list prices as they were
when the run was made; a call whose model or tokens are not known has no price, which is not zero.

A run of `recall memory run` has a row for each further ingest of `--repeat`, such as `repeat-2`, and for the calls
about each floor of `--floors`, such as `floor-last`.
"""


def add_cost(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "cost", "print what recording a run costs, and what replaying it costs", run_cost, COST_DETAILS
    )
    parser.add_argument(
        "run_name",
        nargs="?",
        default="latest",
        metavar="RUN",
        help="a run's name or folder, or `previous` (default: latest)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run_cost(args: argparse.Namespace) -> int:
    """Run the command."""
    folder = place_of(args, args.run_name).artifacts.find(args.run_name)
    record = read_journal(folder)
    spends = of_run(record)
    floors = [one for one in (folder / floor_folder(name) for name in READ_FROM) if is_begun(one)]
    beside = [*begun_repeats(folder)[1:], *floors]
    spends |= {one.name: total(of_run(read_journal(one))) for one in beside}
    section = render.cost_section(spends, record.let_through)._replace(title="")
    if not section.is_shown:
        words = filter(None, [render.let_through_words(record.let_through)])
        told = f"{folder.name}: no calls to an upstream were seen in this run."
        section = section._replace(lines=[told, *words])
    facts = {**section.facts, "let_through": record.let_through.to_json()}
    print_report(Report(f"Recall cost of {folder.name}", [section], facts), args)
    return 0
