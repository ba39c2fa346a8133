"""The commands `recall score`, `compare` and `ci ratchet`: a run's scorecard, two runs side by side, and gates."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pytest_recall.cases.case_file import CaseFile, check_unique
from pytest_recall.cases.gate import Gate
from pytest_recall.cases.settings_file import read_settings
from pytest_recall.cli.common import (
    Commands,
    add_files,
    add_filters,
    case_paths,
    command,
    counted,
    job_here,
    journals,
    place_of,
    print_report,
    say,
)
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import BENCHES, Place, find_place
from pytest_recall.metrics.measures import JUDGED
from pytest_recall.results.comparison import ALPHA, Comparison, compare, named_apart
from pytest_recall.results.gates import RUNS
from pytest_recall.trials.journal import read_journal

SCORE_DETAILS = """\
--fail-on says what ends it with 1, in place of `blocks` in the rubric:
  regression   a case failed whose last verdict was a pass
  failure      a case failed that is not in quarantine
  incomplete   such a case failed, or any case has no verdict, or a gate has too few verdicts
So does, under each of them, what leaves that unknown: more chosen cases without a verdict
than `no_verdict_allowed` in the rubric, a test beside the cases that failed, a pytest that did not come to
its end. With `never` nothing does. The reason is said on standard error.
A gate of the rubric that is missed makes it 1 as well, unless the gate only informs, or with `never`.
A fail by a judging model that falls short of `min_kappa` in the rubric counts as none.

Where a run of a pull request blocks for nothing but affected cases that were not evaluated, a step of
GitHub has the output `waivable`: `recall ci waive` lets a reviewer decide.
"""


def add_score(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "score", "print the scorecard of a run", run_score, SCORE_DETAILS)
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
        "-v", "--verbose", action="count", default=0, help="list the failures that are otherwise summed up in a line"
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


def run_score(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.results import scorecard_text
    from pytest_recall.results.scorecard import blocking, waivable
    from pytest_recall.runs import finish

    place = place_of(args, args.run_name)
    if args.observed:
        return _observed(place, args)
    folder = place.artifacts.find(args.run_name)
    record, job = read_journal(folder), job_here()
    rubric = read_settings(place.rubric, place.name(place.rubric))
    card = finish.scorecard(record, place, folder)
    gates = finish.gates_of_run(place, case_paths(place, args), record, rubric)
    card = finish.with_gates(card, place, gates, rubric, record)
    if args.json:
        print(json.dumps(scorecard_text.as_json(record, card), indent=2, ensure_ascii=False))
    else:
        print(
            scorecard_text.markdown(record, card, finish.links(job, place.root))
            if args.markdown
            else "\n".join(scorecard_text.terminal(record, card, args.verbose))
        )
    # What a pull request says in its own rubric does not decide it: the run is held to that of its base.
    blocks = finish.blocks_of(record, rubric) if args.fail_on in (None, "rubric") else args.fail_on
    why = blocking(record, card, blocks, record.header.allowed)
    if why:
        say(f"this run blocks: {'; '.join(why)}")
    if waivable(record, card, blocks, record.header.allowed) and (outputs := job.outputs) is not None:
        with outputs.open("a", encoding="utf-8") as file:
            file.write("waivable=true\n")
    return int(bool(why))


def _observed(place: Place, args: argparse.Namespace) -> int:
    """Print what the slices would have missed and saved."""
    from pytest_recall.results.observed import observed, observed_report
    from pytest_recall.runs import finish

    if args.fail_on is not None or args.run_name != "latest" or args.markdown:
        raise RecallError("--observed is about all runs, as text or JSON; leave out RUN, --fail-on and --markdown")
    runs = []
    for folder in place.artifacts.runs():
        try:
            record = read_journal(folder)
        except RecallError as error:
            say(f"left out: {error}")
            continue
        if record.header.mode == "observe" and record.exit_code is not None:
            runs.append(observed(record, finish.scorecard(record)))
    if not runs:
        raise RecallError(
            f"{place.name(place.artifacts.folder)}: no whole run with `--recall-mode observe`; make one first"
        )
    print_report(observed_report(runs), args)
    return 0


COMPARE_DETAILS = """\
RUN is a run's name or folder, `latest`, `previous`, or a path to a trials.jsonl, so that a
baseline may be committed or come from another checkout. Cases are paired by id; a case whose
text or judges changed is another question, and is left out.

A case with `trials` in either run is compared by how often it passed, on as many trials of both.
A fail by a judge that falls short of `min_kappa` is no verdict, and left out.

A drop is `shown` if the exact McNemar test finds it at level --alpha, over all cases or in a
scenario or dimension (Holm's adjustment); where cases have `trials`, the sign-flip test. Two runs
of one unchanged system raise an alarm in at most --alpha of the comparisons. Otherwise it could be
chance, and what is printed says how large a drop so many cases can show.

Journals of `recall memory run`, named by their folder, are compared as well, question by question: each
metric of the table by McNemar's exact test or by sign flips, with Holm's adjustment over the metrics.
--dimensions takes categories then, any-flip goes by a judge's verdicts, and DIFF by the mean of any metric.

--fail-on decides on exit code 1:
  drop       a drop is shown
  any-flip   a case passed in BASE and fails in HEAD, even if it could be chance
  DIFF       the pass rate of all cases fell by DIFF percentage points or more, even if it could be chance
  never      always exit with 0

  recall compare previous latest
  recall compare eval/_artifacts/membench/locomo-0a1b2c3d4e5f second
  recall compare baseline/trials.jsonl latest --fail-on 5 --scenarios refunds
"""


def add_compare(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "compare", "compare two runs, and say if the difference could be chance", run_compare, COMPARE_DETAILS
    )
    parser.add_argument("base", metavar="BASE", help="the run to compare with")
    parser.add_argument("head", metavar="HEAD", help="the run in question, such as `latest`")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print JSON")
    shape.add_argument("--markdown", action="store_true", help="print Markdown, as for a pull request")
    add_filters(parser, "compare cases")
    parser.add_argument(
        "--include-changed", action="store_true", help="also compare cases whose text or judges changed"
    )
    parser.add_argument(
        "--alpha",
        type=_level,
        default=ALPHA,
        metavar="LEVEL",
        help=f"the share of comparisons of equal systems that may raise an alarm (default: {ALPHA})",
    )
    parser.add_argument(
        "--fail-on",
        type=_condition,
        default="drop",
        metavar="drop|any-flip|DIFF|never",
        help="when to exit with 1 (default: drop)",
    )


def run_compare(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.results.comparison_text import comparison_report
    from pytest_recall.runs import finish

    if (code := _benches(args)) is not None:
        return code
    place = place_of(args, args.base, args.head)
    folders = [place.artifacts.find(name) for name in (args.base, args.head)]
    base, head = map(read_journal, folders)
    if base == head:  # be it from two folders, as a copy of the newest run is
        raise RecallError(f"{args.base} and {args.head} are both the run {base.header.run}; name two runs")
    found = compare(
        *named_apart(base, head, [folder.resolve().as_posix() for folder in folders]),
        alpha=args.alpha,
        scenarios=args.scenarios,
        dimensions=args.dimensions,
        include_changed=args.include_changed,
        calibrations=finish.calibrations(place, base, head),
    )
    print_report(comparison_report(found), args)
    return int(_alarms(found, args.fail_on))


def _benches(args: argparse.Namespace) -> int | None:
    """Compare two journals of `recall memory run`, and return the exit code; None if they are none."""
    from pytest_recall.datasets.membench_run import folder_of, several_in
    from pytest_recall.datasets.repeats import read_repeats

    place = find_place(Path.cwd(), Path.cwd(), [Path.cwd()], args.dir and Path.cwd() / args.dir)
    beside = place.artifacts.folder / BENCHES
    folders = [folder_of(name, beside) for name in (args.base, args.head)]
    for name, folder in zip((args.base, args.head), folders, strict=True):
        if folder is None and (told := several_in(name)):
            raise RecallError(told)
    if folders == [None, None]:
        return None
    from pytest_recall.datasets import datasets_text as render
    from pytest_recall.datasets.categories import category_name
    from pytest_recall.datasets.comparison import compare_benches
    from pytest_recall.metrics.change import ChangeSummary

    given = [name for name in ("scenarios", "include_changed") if getattr(args, name)]
    if given:
        option = given[0].replace("_", "-")
        raise RecallError(f"--{option} is about cases, and has no effect on runs of `recall memory run`; remove it")
    asked = []
    for name, folder in zip((args.base, args.head), folders, strict=True):
        if folder is None:
            raise RecallError(
                f"{name!r} is not a run of `recall memory run`, and the other one is; name two runs of the same command"
            )
        asked.append(read_repeats(folder, name))
    if asked[0] == asked[1]._replace(name=args.base):
        raise RecallError(f"{args.base} and {args.head} are the same journal; name two")
    categories = list(map(category_name, args.dimensions))
    found = compare_benches(asked[0], asked[1], alpha=args.alpha, categories=categories)
    judged = [one for name, one in found.metrics.items() if name in JUDGED]
    if args.fail_on == "any-flip" and not judged:
        raise RecallError("--fail-on any-flip goes by verdicts of a judge, and these share none; give drop or DIFF")
    print_report(render.comparison_report_of(found), args)
    if isinstance(args.fail_on, float):
        return int(any(100 * (one.base - one.head) >= args.fail_on - 1e-9 for one in found.metrics.values()))
    alarms = {
        "drop": bool(found.shown(ChangeSummary.DROP)),
        "any-flip": any(one.fell for one in judged),
        "never": False,
    }
    return int(alarms[args.fail_on])


def _alarms(found: Comparison, condition: str | float) -> bool:
    if isinstance(condition, float):
        # With a hair of room, so that a fall by exactly so much is one in spite of rounding.
        return -100 * found.overall.difference >= condition - 1e-9
    return {"drop": bool(found.drops), "any-flip": bool(found.lost), "never": False}[condition]


def _level(text: str) -> float:
    level = _number(text)
    if level is None or not 0 < level < 0.5:
        raise argparse.ArgumentTypeError(f"{text!r} is not a level; write a share between 0 and 0.5, such as 0.01")
    return level


def _condition(text: str) -> str | float:
    if text in ("drop", "any-flip", "never"):
        return text
    points = _number(text)
    if points is None or not 0 < points <= 100:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither drop, any-flip or never, nor a number of percentage points such as 5"
        )
    return points


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


RATCHET_DETAILS = f"""\
A gate may be raised to the lowest rate at which it stood after each of the last {RUNS} runs of the
schedule that asked its cases again, and stands now, rounded down to whole percent. It stays as it
is with fewer such runs in eval/_artifacts, where these asked fewer cases than it needs verdicts,
or where it was missed. No gate is ever lowered.

It prints the lines to write into rubric.yaml, and changes nothing.

  recall ci ratchet                        what may be raised, and why the others stay
  recall ci ratchet --pr 123               the lines with pull request 123
  recall ci ratchet --add scenario:hours   a gate that there is not yet, at what has held
"""


def add_ratchet(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "ratchet",
        "print how far gates of rubric.yaml may be raised, by what recent runs have reached",
        run_ratchet,
        RATCHET_DETAILS,
    )
    parser.add_argument(
        "--runs",
        type=counted(1, 10**6),
        default=RUNS,
        metavar="N",
        help=f"how many runs it has to have held in (default: {RUNS})",
    )
    parser.add_argument(
        "--add",
        action="append",
        default=[],
        metavar="PART",
        help="a gate that there is not yet: scenario:NAME, dimension:NAME or all; may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_files(parser)


def run_ratchet(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.results import gates_text
    from pytest_recall.results.gates import gate_to_add, steps
    from pytest_recall.runs.plan import read_cases
    from pytest_recall.schedule.state import current

    place = place_of(args)
    name = place.name(place.rubric)
    rubric = read_settings(place.rubric, name)
    files = [CaseFile(path, place.name(path)) for path in case_paths(place, args)]
    check_unique(files)
    cases = {case.id: (case.scenario, case.dimension) for case in read_cases(files)}
    added: list[Gate] = []
    for given in args.add:
        added.append(gate_to_add(given, cases, (*rubric.gates, *added)))
    records = journals([place.artifacts.folder]) if (*rubric.gates, *added) else ()
    found = steps(rubric, added, records, cases, current(place).rows, args.runs)
    if lacking := [step for step in found if step.to is None and step.gate in added]:
        raise RecallError(*(f"--add: no gate for {one.gate.name} yet: {one.why}" for one in lacking))
    print_report(gates_text.ratchet_report(name, found, added, gates_text.raised(found), runs=args.runs), args)
    return 0
