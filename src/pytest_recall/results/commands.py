"""`recall compare`: two runs over the same cases, and whether their difference could be chance."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pytest_recall.cli.common import Commands, command, names, place_of
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import BENCHES, find_place
from pytest_recall.metrics.measures import JUDGED
from pytest_recall.results.comparison import ALPHA, Comparison, compare
from pytest_recall.results.comparison_text import as_json, markdown, terminal
from pytest_recall.trials.journal import read_journal

DETAILS = """\
RUN is a run's name or folder, `latest`, `previous`, or a path to a trials.jsonl, so that a
baseline may be committed or come from another checkout. Cases are paired by id; a case whose
text or judges changed is another question, and is left out.

A case with `trials` in either run is compared by how often it passed, on as many trials of both.
A fail by a judge that falls short of `judge_min_kappa` is no verdict, and left out.

A drop is `shown` if the exact McNemar test finds it at level --alpha, over all cases or in a
scenario or dimension (Holm's adjustment); where cases have `trials`, the sign-flip test. Two runs
of one unchanged system raise an alarm in at most --alpha of the comparisons. Otherwise it could be
chance, and what is printed says how large a drop so many cases can show.

Journals of `recall memory run`, named by their folder, are compared as well, question by question: each
metric of the table by McNemar's exact test or by sign flips, with Holm's adjustment over the metrics.
--dimensions takes categories then, any-flip goes by a judge's verdicts, and DIFF by the mean of any metric.

--fail-on decides on exit code 1:
  drop       a drop is shown
  any-flip   a case passed in BASE and fails in HEAD, be it by chance
  DIFF       the pass rate of all cases fell by DIFF percentage points or more, be it by chance
  never      in no case

  recall compare previous latest
  recall compare eval/_artifacts/membench/locomo-0a1b2c3d4e5f second
  recall compare baseline/trials.jsonl latest --fail-on 5 --scenarios refunds
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "compare", "compare two runs, and say if the difference could be chance", run, DETAILS)
    parser.add_argument("base", metavar="BASE", help="the run to compare with")
    parser.add_argument("head", metavar="HEAD", help="the run in question, such as `latest`")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print JSON")
    shape.add_argument("--markdown", action="store_true", help="print Markdown, as for a pull request")
    parser.add_argument("--scenarios", default="", metavar="A,B", help="compare cases of these scenarios only")
    parser.add_argument("--dimensions", default="", metavar="A,B", help="compare cases of these dimensions only")
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


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    if (code := _benches(args)) is not None:
        return code
    artifacts = place_of(args, args.base, args.head).artifacts
    base, head = (read_journal(artifacts.find(name)) for name in (args.base, args.head))
    if base == head:  # be it from two folders, as a copy of the newest run is
        raise RecallError(f"{args.base} and {args.head} are both the run {base.header.run}; name two runs")
    found = compare(
        base,
        head,
        alpha=args.alpha,
        scenarios=names(args.scenarios),
        dimensions=names(args.dimensions),
        include_changed=args.include_changed,
    )
    if args.json:
        print(json.dumps(as_json(found), indent=2, ensure_ascii=False))
    else:
        print(markdown(found) if args.markdown else "\n".join(terminal(found)))
    return int(_alarms(found, args.fail_on))


def _benches(args: argparse.Namespace) -> int | None:
    """Compare two journals of `recall memory run`, and return the exit code; None if they are none."""
    from pytest_recall.datasets.membench_run import folder_of, read_asked

    place = find_place(Path.cwd(), Path.cwd(), [Path.cwd()], args.dir and Path.cwd() / args.dir)
    beside = place.artifacts.folder / BENCHES
    folders = [folder_of(name, beside) for name in (args.base, args.head)]
    if folders == [None, None]:
        return None
    from pytest_recall.datasets import datasets_text as render
    from pytest_recall.datasets.comparison import compare_benches
    from pytest_recall.metrics.change import ChangeSummary

    given = [name for name in ("scenarios", "include_changed") if getattr(args, name)]
    if given:
        option = given[0].replace("_", "-")
        raise RecallError(f"--{option} is about cases, and has no effect on journals of a membench; remove it")
    asked = []
    for name, folder in zip((args.base, args.head), folders, strict=True):
        if folder is None:
            raise RecallError(f"{name!r} is not a journal of a membench, and the other one is; name two of a kind")
        asked.append(read_asked(folder, name))
    if asked[0] == asked[1]._replace(name=args.base):
        raise RecallError(f"{args.base} and {args.head} are the same journal; name two")
    found = compare_benches(asked[0], asked[1], alpha=args.alpha, categories=names(args.dimensions))
    judged = [one for name, one in found.metrics.items() if name in JUDGED]
    if args.fail_on == "any-flip" and not judged:
        raise RecallError("--fail-on any-flip goes by verdicts of a judge, and these share none; give drop or DIFF")
    if args.json:
        print(json.dumps(render.comparison_json(found), indent=2, ensure_ascii=False))
    else:
        print(render.comparison_markdown(found) if args.markdown else "\n".join(render.terminal(found)))
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
