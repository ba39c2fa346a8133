"""The commands `recall memory rescore` and `misses`: look into a run over a dataset again, without asking anything."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recall.cli.common import Commands, counted, names, placeless, print_report, say

if TYPE_CHECKING:
    from pytest_recall.datasets.comparison import JournalContents

RESCORE = """\
Computes the values of each question again from what its journal has: the passages by rank with their ids, the
answer, the reference and the evidence. Nothing is asked, and the dataset is not read.

  recall memory rescore RUN                 whether they come to what the journal says; exit code 1 if not
  recall memory rescore RUN --k 1,5,10      the same questions over the first 1, 5 and 10 passages

RUN is the folder of a run, or its name in eval/_artifacts/membench. What models have judged is taken as it is.
"""
MISSES = """\
Shows the questions whose evidence is not all among the first k passages: what is absent, and what came instead,
by rank, with the memory's own scores; `+` marks evidence. In a run of an earlier version the text of what is absent
is shown only where another question has brought it up.

  recall memory misses RUN
  recall memory misses RUN --k 5 --categories multi-hop --limit 20

RUN is the folder of a run, or its name in eval/_artifacts/membench.
"""
SHOWN = 5
count = counted(1, 10_000)


def add_rescore(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "rescore", "compute a run's numbers again, also at other k", run_rescore, RESCORE)
    parser.add_argument("run_folder", metavar="RUN", help="the run")
    parser.add_argument("--k", type=_counts, metavar="K,K", help="how many passages count (default: as many as then)")
    parser.add_argument("--json", action="store_true", help="print JSON, with all metrics and categories")


def run_rescore(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.datasets.cases import metrics_of
    from pytest_recall.datasets.membench import fold, has_failed
    from pytest_recall.datasets.rescoring import altered, at_k, limit_of
    from pytest_recall.datasets.rescoring_text import rescored_report
    from pytest_recall.files.wording import listed, plural

    run = _run(args.run_folder)
    chosen, missing = metrics_of(str(run.arguments["dataset"]), bool(run.arguments["whole"]))
    if missing:
        say(missing)
    ks = args.k or (limit_of(run),)
    found = {k: at_k(run, k, chosen) for k in ks}
    by_k = {k: fold(one.trials.values(), len(one.asked), one.asked) for k, one in found.items()}
    changed = [] if args.k else altered(run, found[ks[0]])
    print_report(rescored_report(by_k, changed), args)
    if changed:
        told = f"{plural(len(changed), 'question')} came to other values in the journal: {listed(changed)}"
        say(f"{told}; it was written by another version, or changed since")
    elif not args.k:
        failed = sum(map(has_failed, run.trials.values()))
        but = f"; {plural(failed, 'question')} failed, and came to nothing" if failed else ""
        say(f"all {len(run.trials) - failed:,} questions come to what the journal says{but}")
    return int(bool(changed))


def add_misses(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "misses", "show what a run did not find, and what came instead", run_misses, MISSES)
    parser.add_argument("run_folder", metavar="RUN", help="the run")
    parser.add_argument("--k", type=_counts, metavar="K", help="how many passages count (default: as many as then)")
    parser.add_argument("--categories", type=names, metavar="A,B", help="questions of these categories only")
    parser.add_argument(
        "--limit", type=count, default=SHOWN, metavar="N", help=f"show so many in full (default: {SHOWN})"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with all of them and whole texts")


def run_misses(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.datasets.categories import category_name
    from pytest_recall.datasets.rescoring import at_k, ids_of, limit_of, missed
    from pytest_recall.datasets.rescoring_text import missed_report
    from pytest_recall.files.errors import RecallError, nearest

    run = _run(args.run_folder)
    if args.k is not None and len(args.k) > 1:
        raise RecallError("--k: names several, and misses are those of one; give one")
    known = {one.category for one in run.asked.values()}
    categories = frozenset(map(category_name, args.categories or ()))
    if unknown := sorted(categories - known):
        raise RecallError(*(f"--categories: {name!r} is not in this run{nearest(name, known)}" for name in unknown))
    (k,) = args.k or (limit_of(run),)
    at_k(run, k, ())
    asked = {id: one for id, one in run.asked.items() if not categories or one.category in categories}
    measured = sum(ids_of(run.trials[id]) is not None for id in asked if id in run.trials)
    if not measured:
        raise RecallError(
            f"{args.run_folder}: for no question is it known what the memory returned: it returns no passages, or has"
            " rewritten what it was told and names no ids; there is nothing to show"
        )
    found = list(missed(run._replace(asked=asked), k))
    print_report(missed_report(found, args.limit, k, measured), args)
    return 0


def _run(named: str) -> JournalContents:
    """Return the run that is named. Raises RecallError."""
    from pytest_recall.datasets.membench import has_failed
    from pytest_recall.datasets.membench_run import folder_of, read_asked, several_in
    from pytest_recall.files.errors import RecallError
    from pytest_recall.files.eval_directory import BENCHES, check_bundle, find_place
    from pytest_recall.files.wording import one_line
    from pytest_recall.trials.journal import is_begun, read_header
    from pytest_recall.trials.repeat_folders import begun_repeats

    root = Path.cwd()
    folder = folder_of(named, find_place(root, root, [root]).artifacts.folder / BENCHES)
    if folder is None:
        check_bundle(named)
        if is_begun(Path(named)) and read_header(Path(named)).source_kind == "persona":
            told = f"`recall bench misses {named}` shows what it did not find"
            raise RecallError(f"{named!r} is a long-horizon run; {told}")
        told = f"{named!r} is not a run over a dataset; name the folder of a `recall memory run`"
        raise RecallError(several_in(named) or told)
    if (many := len(begun_repeats(folder))) > 1:
        say(f"{named}: is the first of {many} ingests; {named}/repeat-2 names the second")
    found = read_asked(folder, named)
    if any(not one.question for one in found.asked.values()):
        raise RecallError(
            f"{named}: is of a bundle without texts, from which not all values can be computed; `recall memory verify`"
            " of the bundle computes those that can, and with --data, your copy of the dataset, more of them"
        )
    if found.trials and all(map(has_failed, found.trials.values())):
        first = next(iter(found.trials.values()))
        told = f"{named}: every question failed, so that nothing came back; the first, {first.case_id}, with"
        raise RecallError(f"{told} {one_line(first.error)!r}; correct the memory, and run it again")
    return found


def _counts(text: str) -> tuple[int, ...]:
    return tuple(count(part.strip()) for part in text.split(","))
