"""`recall ci ratchet`: raise gates of the rubric to what has held."""

from __future__ import annotations

import argparse
import json

from pytest_recall.cases.case_file import CaseFile, check_unique
from pytest_recall.cases.gate import Gate
from pytest_recall.cli.common import Commands, add_files, case_paths, command, context_of, place_of
from pytest_recall.cli.policies import count, journals
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.results import gates_text as render
from pytest_recall.results.gates import RUNS, GateStep, gate_to_add, steps, write_gates
from pytest_recall.runs.context import CommandLine, Context
from pytest_recall.runs.sources import read_cases
from pytest_recall.schedule.state import current

DETAILS = f"""\
A gate is raised to the lowest rate at which it stood after each of the last {RUNS} runs of the
schedule that asked its cases again, and stands now, rounded down to whole percent. It stays as it
is with fewer such runs in eval/_artifacts, where these asked fewer cases than it needs verdicts,
or where it was missed. No gate is ever lowered.

  recall ci ratchet --dry-run              what would be raised, and why the others stay
  recall ci ratchet --pr 123               raise, by pull request 123
  recall ci ratchet --add scenario:hours   a gate that there is not yet, at what has held
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "ratchet", "raise gates of rubric.yaml to what has held, and lower none", run, DETAILS)
    parser.add_argument(
        "--runs", type=count, default=RUNS, metavar="N", help=f"how many runs it has to have held in (default: {RUNS})"
    )
    parser.add_argument(
        "--add",
        action="append",
        default=[],
        metavar="PART",
        help="add a gate as well: scenario:NAME, dimension:NAME or all; may be repeated",
    )
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="the day to note in `since` (default: today in UTC)")
    parser.add_argument(
        "--pr",
        metavar="NUMBER",
        help="the pull request to note in `pr` (default: that of a GitHub workflow, else none)",
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be raised")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_files(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    context, rubric = context_of(place, CommandLine(date=args.date, pr=args.pr))
    name = place.name(place.rubric)
    files = [CaseFile(path, place.name(path)) for path in case_paths(place, args)]
    check_unique(files)
    cases = {case.id: (case.scenario, case.dimension) for case in read_cases(files)}
    if args.add and not place.rubric.exists():
        raise RecallError(f"{name}: no such file; write one with `owner: <who answers for it>`")
    added: list[Gate] = []
    for given in args.add:
        added.append(gate_to_add(given, cases, (*rubric.gates, *added)))
    records = journals([place.artifacts.folder]) if (*rubric.gates, *added) else ()
    found = steps(rubric, added, records, cases, current(place).rows, args.runs)
    if lacking := [step for step in found if step.to is None and step.gate in added]:
        raise RecallError(*(f"--add: no gate for {one.gate.name} yet: {one.why}" for one in lacking))
    _write(place, context, found, dry=args.dry_run)
    if args.json:
        told = render.ratchet_json(found, added, dry=args.dry_run, runs=args.runs)
        print(json.dumps(told, indent=2, ensure_ascii=False))
        return 0
    print("\n".join(render.ratchet_lines(found, added, dry=args.dry_run)) or f"{name}: no gates; --add writes one")
    return 0


def _write(place: Place, context: Context, found: list[GateStep], *, dry: bool) -> None:
    """Write the gates that are raised, with the day and the pull request of this. Raises RecallError or OSError."""
    since = context.date.isoformat()
    gates = [
        step.gate.model_copy(update={"at_least": step.to, "since": since, "pr": context.pr})
        for step in found
        if step.to is not None
    ]
    if gates:
        write_gates(place.rubric, place.name(place.rubric), gates, write=not dry)
