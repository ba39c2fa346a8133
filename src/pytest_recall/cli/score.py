"""`recall score`: the scorecard of a run, again, from its journal."""

from __future__ import annotations

import argparse
import json
import os
import sys

from pytest_recall.cases.case_file import CaseFile
from pytest_recall.cases.settings import Rubric
from pytest_recall.cases.settings_file import read_rubric
from pytest_recall.cli.common import Commands, add_files, case_paths, command, place_of
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.results import scorecard_text as render
from pytest_recall.results.gates import gates_of
from pytest_recall.results.scorecard import blocking
from pytest_recall.results.standing import Standing
from pytest_recall.runs import finish
from pytest_recall.runs.links import links
from pytest_recall.runs.sources import read_cases
from pytest_recall.schedule.state import current
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.record import Record

DETAILS = """\
--fail-on says what ends it with 1, in place of `blocks` in the rubric:
  regression   a case failed whose last verdict was a pass
  failure      a case failed that is not in quarantine
  incomplete   such a case failed, or any case has no verdict, or a gate has too few verdicts
So does, under each of them, what keeps the run from showing that: more chosen cases without a verdict
than `no_verdict_allowed` in the rubric, a test beside the cases that failed, a pytest that did not come to
its end. With `never` nothing does. The reason is said on standard error.
A gate of the rubric that is missed makes it 1 as well, unless the gate only informs, or with `never`.
A fail by a judging model that falls short of `judge_min_kappa` in the rubric counts as none.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "score", "print the scorecard of a run", run, DETAILS)
    parser.add_argument(
        "run_name",
        nargs="?",
        default="latest",
        metavar="RUN",
        help="a run's name or folder, or `previous` (default: latest)",
    )
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print JSON")
    shape.add_argument("--markdown", action="store_true", help="print Markdown, as for a pull request")
    parser.add_argument(
        "-v", "--verbose", action="count", default=0, help="list the failures that are otherwise folded to a line"
    )
    parser.add_argument(
        "--fail-on",
        choices=("never", "regression", "failure", "incomplete", "rubric"),
        help="when to exit with 1; rubric: as `blocks` there says, which is `regression` by default (default: rubric)",
    )
    parser.add_argument(
        "--observed",
        action="store_true",
        help="print what the slices would have missed and saved, over all runs with `--recall-mode observe`",
    )
    add_files(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args, args.run_name)
    if args.observed:
        return _observed(place, args)
    folder = place.artifacts.find(args.run_name)
    record = read_journal(folder)
    rubric = read_rubric(place.rubric, place.name(place.rubric))
    card = finish.scorecard(record, place, folder)
    card = finish.with_gates(card, place, _gates(place, args, record, rubric), rubric)
    if args.json:
        print(json.dumps(render.as_json(record, card), indent=2, ensure_ascii=False))
    else:
        print(
            render.markdown(record, card, links(os.environ, place.root))
            if args.markdown
            else "\n".join(render.terminal(record, card, args.verbose))
        )
    blocks = rubric.blocks if args.fail_on in (None, "rubric") else args.fail_on
    why = blocking(record, card, blocks, rubric.no_verdict_allowed)
    if why:
        print(f"recall: this run blocks: {'; '.join(why)}", file=sys.stderr)
    return int(bool(why))


def _gates(place: Place, args: argparse.Namespace, record: Record, rubric: Rubric) -> tuple[Standing, ...]:
    """Return how the rubric's gates stand, over all case files and the state as they are now."""
    if not rubric.gates or not record.header.scheduled:
        return ()
    files = [CaseFile(path, place.name(path)) for path in case_paths(place, args)]
    cases = {case.id: (case.scenario, case.dimension) for case in read_cases(files)}
    return gates_of(record, rubric, cases, current(place).rows)


def _observed(place: Place, args: argparse.Namespace) -> int:
    """Print what the slices would have missed and saved."""
    from pytest_recall.results import observed as told
    from pytest_recall.results.observed import observed, together

    if args.fail_on is not None or args.run_name != "latest" or args.markdown:
        raise RecallError("--observed is about all runs, as text or JSON; leave out RUN, --fail-on and --markdown")
    runs = []
    for folder in place.artifacts.runs():
        try:
            record = read_journal(folder)
        except RecallError as error:
            print(f"recall: left out: {error}", file=sys.stderr)
            continue
        if record.header.mode == "observe" and record.exit_code is not None:
            runs.append(observed(record, finish.scorecard(record)))
    if not runs:
        raise RecallError(
            f"{place.name(place.artifacts.folder)}: no whole run with `--recall-mode observe`; make one first"
        )
    if args.json:
        found = {
            "version": 1,
            "runs": [told.observed_json(one) for one in runs],
            "together": told.observed_json(together(runs)),
        }
        print(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        print("\n".join(told.observed_lines(runs)))
    return 0
