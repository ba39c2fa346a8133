"""The commands `recall bench heatmap`, `report` and `misses`: what a run came to, and its answers."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_recall.cli.common import Commands, counted, names, placeless, print_report, say
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.horizon.commands.published import PICTURE

HEATMAP_DETAILS = """\
Draws heatmap.svg into the run's folder: categories by checkpoint, all answers, and hallucination. A square of
fewer than five answers has a dot; one that was not asked shows the value before, paler and striped. Beside it
recall-vs-size.svg, means with bands against days. With `-o NAME.svg` that is called NAME-recall-vs-size.svg, so
that several runs can share a folder.
Where no model judged, hallucination is left out: it was not measured. Of passages that no model judged the squares
are the share of the relevant days found, with floors and ceiling below. The colours can be told apart by
colour-blind people; `published` are those of Recall Bench, which cannot.

  recall bench heatmap runs/mine
  recall bench heatmap runs/mine -o pictures/mine.svg

exit codes: 0 drawn, 2 nothing was drawn
"""


def add_heatmap(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "heatmap", "draw the scores of a run as pictures", run_heatmap, HEATMAP_DETAILS)
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR", help="the folder of the run")
    parser.add_argument(
        "-o", "--out", type=Path, metavar="FILE", help="the heatmap's file; others go beside it (default: in RUN_DIR)"
    )
    parser.add_argument(
        "--colors", choices=("safe", "published"), default="safe", help="the palette of the heatmap (default: safe)"
    )


def run_heatmap(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.files.disk import write_text
    from pytest_recall.horizon.curve_svg import sizes_svg
    from pytest_recall.horizon.heatmap_svg import heatmap_svg
    from pytest_recall.horizon.picture_data import heatmap, sizes
    from pytest_recall.horizon.runs import read_run

    path: Path = args.out or args.run_dir / PICTURE
    if path.suffix != ".svg":
        raise RecallError(f"{path}: is to be SVG; call it *.svg")
    found = read_run(args.run_dir)
    drawn = {path: heatmap_svg(heatmap(found), args.colors)}
    if found.evaluations:
        drawn[beside(path, "recall-vs-size")] = sizes_svg(sizes(found))
    else:
        say("the run's files hold no answers, so that there are no bands to draw")
    for file, text in drawn.items():
        write_text(file, text)
        print(file)
    return 0


def beside(heatmap: Path, name: str) -> Path:
    """Return the file of another picture: two runs drawn into one folder must not overwrite each other's."""
    return heatmap.with_name(f"{name if heatmap.stem == 'heatmap' else f'{heatmap.stem}-{name}'}{heatmap.suffix}")


REPORT_DETAILS = """\
Prints the mean points of a run with its interval, by category, hallucination beside it; how both change as
the days add up, on the same questions; how much of the relevant days a memory found that returns passages,
beside what returns as many tokens without searching; what the second judge changed, and how often the first
one judged the same answer in two ways. Of several runs each is compared with the first, on what both were asked.

A question is asked at many checkpoints. Its answers resemble each other, so that intervals are by question.

  recall bench report results/ea-180d-mempalace
  recall bench report results/ea-180d-mempalace results/ea-180d-recall --markdown > report.md
"""


def add_report(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands, "report", "report the scores of runs, with confidence intervals", run_report, REPORT_DETAILS
    )
    parser.add_argument(
        "run_dirs",
        type=Path,
        nargs="+",
        metavar="RUN_DIR",
        help="the folder of a run; the first is what others are compared with",
    )
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print JSON")
    forms.add_argument("--markdown", action="store_true", help="print Markdown")


def run_report(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.horizon.report_text import horizon_report
    from pytest_recall.horizon.runs import read_answered

    # Two folders of one name, such as a/run and b/run, must not look alike.
    print_report(horizon_report([read_answered(path, str(path)) for path in args.run_dirs]), args)
    return 0


MISSES_DETAILS = """\
Shows the answers to which not all relevant days came back: which days are absent, and what came instead, by rank,
with the memory's own scores; `+` marks a relevant day. A count by category comes first.

  recall bench misses runs/mine
  recall bench misses runs/mine --checkpoint 60d --categories synthesis --limit 20

Left out are questions about what must not be told, and answers of which it is not known what they are from.
"""
MISSES_SHOWN = 5


def add_misses(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands,
        "misses",
        "show which relevant days a run did not find, and what came instead",
        run_misses,
        MISSES_DETAILS,
    )
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR", help="the folder of a run")
    parser.add_argument("--checkpoint", metavar="LABEL", help="answers after this checkpoint only, such as 60d")
    parser.add_argument("--categories", type=names, metavar="A,B", help="questions of these categories only")
    parser.add_argument(
        "--limit",
        type=counted(1, 10_000),
        default=MISSES_SHOWN,
        metavar="N",
        help=f"show so many in full (default: {MISSES_SHOWN})",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with all of them")


def run_misses(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.horizon.misses import missed_days, missed_days_report
    from pytest_recall.horizon.runs import read_answered

    run = read_answered(args.run_dir, str(args.run_dir))
    every = [(stop.label, one) for stop in run.stops for one in stop.evaluations]
    labels = dict.fromkeys(label for label, _ in every)
    if args.checkpoint not in (None, *labels):
        raise RecallError(f"--checkpoint: {args.checkpoint!r} is not in this run{nearest(args.checkpoint, labels)}")
    known = {one.question.category for _, one in every}
    if unknown := [name for name in args.categories or () if name not in known]:
        raise RecallError(*(f"--categories: {name!r} is not in this run{nearest(name, known)}" for name in unknown))
    found, measured = missed_days(
        (label, one)
        for label, one in every
        if args.checkpoint in (None, label) and (not args.categories or one.question.category in args.categories)
    )
    if not measured:
        raise RecallError(
            f"{args.run_dir}: for no answer is it known what the memory returned: it answers by itself, or its passages"
            " do not name their source; there is nothing to show"
        )
    print_report(missed_days_report(found, args.limit, measured), args)
    return 0
