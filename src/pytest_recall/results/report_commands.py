"""The command `recall report`: the page of a run, or of two side by side, as a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pytest_recall.cli.common import Commands, add_files, case_paths, command, context_of, job_here, place_of
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import plural
from pytest_recall.replay.commands.listing import add_folder, library_of
from pytest_recall.runs.context import CommandLine
from pytest_recall.trials.journal import NAME as JOURNAL

REPORT_DETAILS = """\
RUN is a run's name or folder, `latest`, `previous`, or a path to a trials.jsonl. Of two the second one is
the run in question, and the first is what it is compared with, as in `recall compare`.

The page opens from disk and needs no network: all of it is in one file, and its policy lets nothing leave it. A
link to a case, such as report.html#case=late-fee, and one to what is filtered work wherever the file is.

  recall report                     the newest run, into its folder
  recall report previous latest -o both.html

Runs of `recall memory run` have the table of the memories on their page, with the tests of each further one against
the first. Of more than two, or of a folder that has several in it, the page has this table alone.

  recall memory run locomo10.json --memory sqlite-fts,hybrid,python:mine.py:Memory --out three
  recall report three -o three.html

RUN may also be the folder of a long-horizon run that `recall bench run` wrote, or two of them. Its page has the
scores of `recall bench report`, the heatmap, and every question at each checkpoint.

  recall report results/ea-180d-recall
"""
PAGE = "report.html"


def add_report(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "report", "write a run, or two side by side, as a page to look at", run_report, REPORT_DETAILS
    )
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
    parser.add_argument("runs", nargs="*", metavar="RUN", help="one run, or two; of memories several (default: latest)")
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="the day to count due dates from (default: today in UTC)")
    add_folder(parser)
    add_files(parser)


def run_report(args: argparse.Namespace) -> int:
    """Run the command."""
    check_runs(args)
    if args.open and args.out == "-":
        raise RecallError("--open needs a file; give `-o FILE`, or leave out `-o -`")
    view = view_of(args)
    out = Path(view.folder / PAGE if args.out is None else args.out)
    put(view.page(""), out, view.held)
    if args.open:
        import webbrowser

        webbrowser.open(out.resolve().as_uri())
    return 0


def put(text: str, out: Path, held: str) -> None:
    """Write a page into the file `out`, and say how much it holds; `-` is standard output, where that is not said."""
    from pytest_recall.files.disk import check_replaced, write_text
    from pytest_recall.files.eval_directory import relative

    if out == Path("-"):
        sys.stdout.write(text)
        return
    target = Path.cwd() / out
    check_replaced(target, str(out), b"<!doctype", "page")
    write_text(target, text)
    print(f"{relative(target, Path.cwd())}: {held}, {len(text.encode()) / 1000:,.0f} kB")


def check_runs(args: argparse.Namespace) -> None:
    """Raise RecallError if a page cannot show so many runs."""
    if len(args.runs) > 2 and not bench_folders(args):
        raise RecallError(
            f"{len(args.runs)} runs are too many for one page, unless all of them are of `recall memory run`; name one,"
            " or two to compare them"
        )


class View(NamedTuple):
    """What is shown of runs."""

    page: Callable[[str], str]
    """Returns the page, given its stamp."""
    lines: Callable[[], Iterable[str]]
    """Returns lines for a terminal."""
    folder: Path
    """That of the run in question."""
    held: str
    """How much is in that folder."""


def view_of(args: argparse.Namespace) -> View:
    """Return what is shown of the runs that are named, as they are now. Raises RecallError."""
    if (horizon := _horizon_view(args)) is not None:
        return horizon
    from pytest_recall.datasets.repeats import read_repeats
    from pytest_recall.files.eval_directory import relative
    from pytest_recall.files.git import subject_of
    from pytest_recall.files.sections import report_lines
    from pytest_recall.results.report_page import memories_page, run_page
    from pytest_recall.runs.finish import commit_page, links
    from pytest_recall.runs.report_files import ReportSources, report

    benches = bench_folders(args)
    memories = [read_repeats(folder, relative(folder, Path.cwd())) for folder in benches]
    tables = memories_page.tables(memories)
    if len(benches) > min(len(args.runs), 2):
        _without_effect(args, "on a table of memories")
        return View(
            partial(memories_page.page, memories),
            partial(report_lines, tables),
            benches[-1] if len(args.runs) > 1 else Path(args.runs[0]),
            plural(len(benches), "memory system"),
        )
    place = place_of(args, *args.runs)
    context, _ = context_of(place, CommandLine(date=args.date))
    names = args.runs or ["latest"]
    *bases, folder = benches or [place.artifacts.find(name) for name in names]
    if bases == [folder]:
        raise RecallError(f"{names[0]} and {names[1]} are both the run {folder.name}; name two runs")
    sources = ReportSources(
        place=place, case_files=tuple(case_paths(place, args)), library=library_of(place, args), today=context.date
    )
    found = report(folder, sources, bases[0] if bases else None)
    job = job_here()
    where, on_web = place.name(folder / JOURNAL), links(job, place.root)
    commit = found.record.header.commit
    origin = run_page.RunOrigin(place.root.name, subject_of(place.root, commit), commit_page(job, commit))
    return View(
        lambda stamp: run_page.page(found, where, on_web, stamp, origin, tables),
        partial(run_page.lines, found, tables),
        folder,
        plural(len(found.entries), "case"),
    )


def bench_folders(args: argparse.Namespace) -> list[Path]:
    """Return the folders of runs over a dataset, if such are named alone, or are in the one folder that is named."""
    from pytest_recall.datasets.membench_run import folder_of
    from pytest_recall.files.eval_directory import BENCHES

    beside = _artifacts(args) / BENCHES
    found = [folder_of(name, beside) for name in args.runs]
    if len(found) == 1 and found[0] is None:
        within = (folder_of(str(path.parent)) for path in Path(args.runs[0]).glob(f"*/{JOURNAL}"))
        return sorted(filter(None, within), key=_order)
    return [folder for folder in found if folder is not None] if None not in found else []


def _order(folder: Path) -> tuple[str, int]:
    """Return what puts runs into the order in which they began, of which a journal has the second."""
    from pytest_recall.trials.journal import read_header

    return read_header(folder).started, (folder / JOURNAL).stat().st_mtime_ns


def _without_effect(args: argparse.Namespace, where: str) -> None:
    """Raise RecallError if something is given that a page of another kind than that of cases does not have."""
    for option, value in {"--date": args.date, "--cassettes": args.cassettes, "--files": args.files}.items():
        if value:
            raise RecallError(f"{option} has no effect {where}; remove it")


def horizon_files(args: argparse.Namespace) -> list[Path]:
    """Return the files behind the page of the long-horizon runs that are named, as far as they are there."""
    from pytest_recall.horizon.run_file import FILES

    return [folder / name for folder in _horizon_folders(args) for name in FILES if (folder / name).is_file()]


def _horizon_folders(args: argparse.Namespace) -> list[Path]:
    from pytest_recall.files.eval_directory import PERSONAS
    from pytest_recall.horizon.run_file import run_folder

    beside = _artifacts(args) / PERSONAS
    return [found for name in args.runs if (found := run_folder(name, beside)) is not None]


def _artifacts(args: argparse.Namespace) -> Path:
    from pytest_recall.files.eval_directory import find_place

    root = Path.cwd()
    return find_place(root, root, [root], args.dir and root / args.dir).artifacts.folder


def _horizon_view(args: argparse.Namespace) -> View | None:
    """Return what is shown of the long-horizon runs that are named; None if none of them is one. Raises RecallError."""
    from pytest_recall.horizon.run_file import QUESTIONS

    names: Sequence[str] = args.runs
    folders = _horizon_folders(args)
    if not folders:
        return None
    from pytest_recall.files.eval_directory import relative
    from pytest_recall.horizon.page import lines, page
    from pytest_recall.horizon.runs import read_answered
    from pytest_recall.horizon.statistics import key

    called = [relative(folder, Path.cwd()) for folder in folders]
    if len(folders) < len(names):
        raise RecallError(f"{called[0]} is a long-horizon run, and the other one is not; name two of one kind")
    if len(set(called)) < len(called):
        raise RecallError(f"{names[0]} and {names[1]} are both the run {called[0]}; name two runs")
    _without_effect(args, "on a long-horizon run")
    *bases, run = [read_answered(folder, name) for folder, name in zip(folders, called, strict=True)]
    base = bases[0] if bases else None
    return View(
        partial(page, run, f"{run.name}/{QUESTIONS}", base),
        partial(lines, run, base),
        folders[-1],
        plural(len({key(one) for one in run.evaluations}), "question"),
    )
