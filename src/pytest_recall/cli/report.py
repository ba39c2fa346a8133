"""`recall report`: a run, or two side by side, as one self-contained HTML page."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_recall.cli.common import Commands, add_files, case_paths, command, context_of, place_of
from pytest_recall.cli.horizon_page import horizon_page
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import plural
from pytest_recall.replay.commands.shelf import add_folder, library_of
from pytest_recall.runs.context import CommandLine

DETAILS = """\
RUN is a run's name or folder, `latest`, `previous`, or a path to a trials.jsonl. Of two the second one is
the run in question, and the first is what it is compared with, as in `recall compare`.

The page opens from disk and needs no network: all of it is in one file, and its policy lets nothing leave it. A
link to a case, such as report.html#case=late-fee, and one to what is filtered work wherever the file is.

  recall report                     the newest run, into its folder
  recall report previous latest -o both.html

RUN may also be the folder of a long-horizon run that `recall bench run` wrote, or two of them. Its page has the
scores of `recall bench report`, the heatmap, and every question at each checkpoint.

  recall report results/ea-180d-recall
"""
NAME = "report.html"


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "report", "write a run, or two side by side, as a page to look at", run, DETAILS)
    add_runs(parser)
    parser.add_argument(
        "-o",
        "--out",
        metavar="FILE",
        help="the page; `-` for standard output (default: report.html beside the journal)",
    )
    parser.add_argument("--open", action="store_true", help="open the page in the browser")


def add_runs(parser: argparse.ArgumentParser) -> None:
    """Add what names the runs of a page, and what lies around them."""
    parser.add_argument("runs", nargs="*", metavar="RUN", help="one run, or two (default: latest)")
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="the day to count due dates from (default: today in UTC)")
    add_folder(parser)
    add_files(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    check_runs(args.runs)
    if args.open and args.out == "-":
        raise RecallError("--open needs a file; give `-o FILE`, or leave out `-o -`")
    from pytest_recall.files.disk import write_text
    from pytest_recall.files.eval_directory import relative

    text, folder, held = made(args)
    if args.out == "-":
        sys.stdout.write(text)
        return 0
    target = folder / NAME if args.out is None else Path.cwd() / args.out
    write_text(target, text)
    print(f"{relative(target, Path.cwd())}: {held}, {len(text.encode()) / 1000:,.0f} kB")
    if args.open:
        import webbrowser

        webbrowser.open(target.resolve().as_uri())
    return 0


def check_runs(names: Sequence[str]) -> None:
    """Raise RecallError if a page cannot show so many runs."""
    if len(names) > 2:
        raise RecallError(f"{len(names)} runs are too many for one page; name one, or two to compare them")


def made(args: argparse.Namespace, stamp: str = "") -> tuple[str, Path, str]:
    """Return the page, the folder of the run in question, and how much is in it. Raises RecallError."""
    if (horizon := horizon_page(args, stamp)) is not None:
        return horizon.text, horizon.folder, plural(horizon.questions, "question")
    from pytest_recall.results.report_page.run_page import page
    from pytest_recall.runs.links import links
    from pytest_recall.runs.report_files import ReportSources, report
    from pytest_recall.trials.journal import NAME as JOURNAL

    place = place_of(args, *args.runs)
    context, _ = context_of(place, CommandLine(date=args.date))
    names = args.runs or ["latest"]
    *bases, folder = [place.artifacts.find(name) for name in names]
    if bases == [folder]:
        raise RecallError(f"{names[0]} and {names[1]} are both the run {folder.name}; name two runs")
    sources = ReportSources(
        place=place, case_files=tuple(case_paths(place, args)), library=library_of(place, args), today=context.date
    )
    found = report(folder, sources, bases[0] if bases else None)
    text = page(found, place.name(folder / JOURNAL), links(os.environ, place.root), stamp, place.root.name)
    return text, folder, plural(len(found.entries), "case")
