"""The command `recall bench leaderboard`: runs beside one another, ranked where they can be."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from pytest_recall.cli.common import Commands, placeless, say
from pytest_recall.files.errors import RecallError

LEADERBOARD_DETAILS = """\
Each table is of runs that were asked the same questions about the same persona at the same checkpoints, the best one
first: by the share of the relevant days that the memory found, or, where it answers or a model judges, by the points
of the same judge. Others stand in tables of their own. A folder that is no run stands for the runs in it, without
those that `recall bench run` has set aside.

  recall bench leaderboard runs
  recall bench leaderboard runs/mine results/ea-180d-mempalace --markdown > leaderboard.md
  recall bench leaderboard runs --out board.html

With --out the same tables are a page, which opens from disk and needs no network, as that of `recall report` does.

exit codes: 0 printed or written, 2 a folder holds no run, or a run is left out, as no checkpoint of it is whole yet
"""


def add_leaderboard(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands, "leaderboard", "rank runs that were asked the same questions", run_leaderboard, LEADERBOARD_DETAILS
    )
    parser.add_argument(
        "run_dirs", type=Path, nargs="+", metavar="DIR", help="the folder of a run, or one that has several in it"
    )
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print JSON")
    forms.add_argument("--markdown", action="store_true", help="print Markdown")
    forms.add_argument("-o", "--out", type=Path, metavar="FILE", help="write a page into FILE; `-` for standard output")


def run_leaderboard(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.horizon.leaderboard import as_json, boards, lines
    from pytest_recall.horizon.runs import UnreachedError, read_answered

    runs, unreached = [], []
    for folder in dict.fromkeys(folder for path in args.run_dirs for folder in _runs(path)):
        try:
            runs.append(read_answered(folder, str(folder)))
        except UnreachedError as error:  # It is going on, or was stopped early.
            unreached.append(str(error))
    if not runs:
        raise RecallError(*unreached)
    tables = boards(runs)
    if args.out is not None:
        from pytest_recall.files.wording import plural
        from pytest_recall.horizon.leaderboard import charts, closing, sections
        from pytest_recall.results.report_commands import put
        from pytest_recall.results.report_page.tables_page import page

        count = plural(len(runs), "run")
        about = f"{count} of the long-horizon benchmark"
        put(page("Leaderboard", about, sections(tables), closing(tables), charts(tables)), args.out, count)
    elif args.json:
        print(json.dumps(as_json(tables), indent=2, ensure_ascii=False))
    else:
        print("\n".join(lines(tables, markdown=args.markdown)))
    for told in unreached:
        say(f"left out: {told}")
    return 2 if unreached else 0


def _runs(path: Path) -> Iterator[Path]:
    """Yield the folders of runs that a person has named. Raises RecallError if there are none."""
    from pytest_recall.horizon.run_file import FILES

    def is_run(folder: Path) -> bool:
        return any((folder / name).is_file() for name in FILES)

    if is_run(path) or not path.is_dir():
        yield path
        return
    found = sorted(
        {one.parent for name in FILES for one in path.rglob(name) if not one.parent.name.startswith("earlier-")}
    )
    if not found:
        raise RecallError(f"{path}: holds no run, and neither does a folder in it; name the folder of a run")
    yield from found
