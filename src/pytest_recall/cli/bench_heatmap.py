"""`recall bench heatmap`: the pictures of a long-horizon run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_recall.cli.common import Commands, placeless

DETAILS = """\
Draws heatmap.png into the run's folder: categories by checkpoint, all answers, and hallucination. A square of
fewer than five answers has a dot; one that was not asked shows the value before, paler and hatched. Beside it
recall-vs-size.png, means with bands against days, and failures-by-cause.png once verdicts of an audit are there.
With `-o NAME.png` they are called NAME-recall-vs-size.png and so on, so that several runs can share a folder.
Where no model judged, hallucination is hatched: it was not measured. The colours can be told apart by
colour-blind people; `published` are those of Recall Bench, which cannot.

  recall bench heatmap runs/mine
  recall bench heatmap runs/mine -o pictures/mine.svg --svg

Needs matplotlib: pip install 'pytest-recall[pictures]'
exit codes: 0 drawn, 2 nothing was drawn
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "heatmap", "draw a run as pictures", run, DETAILS)
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR", help="the folder of the run")
    parser.add_argument(
        "-o", "--out", type=Path, metavar="FILE", help="the heatmap's file; others go beside it (default: in RUN_DIR)"
    )
    parser.add_argument("--colors", choices=("safe", "published"), default="safe", help="the heatmap's (default: safe)")
    parser.add_argument("--svg", action="store_true", help="draw SVG in place of PNG")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.files.disk import write_bytes
    from pytest_recall.files.errors import RecallError
    from pytest_recall.horizon import pictures
    from pytest_recall.horizon.audit import read_regrades
    from pytest_recall.horizon.picture_data import causes, heatmap, sizes
    from pytest_recall.horizon.regrade import audited
    from pytest_recall.horizon.runs import read_run

    format: pictures.Format = "svg" if args.svg else "png"
    path = args.out or args.run_dir / f"heatmap.{format}"
    if path.suffix != f".{format}":
        other = "leave --svg out" if args.svg else "give --svg"
        raise RecallError(f"{path}: is to be {format.upper()}; call it *.{format}, or {other}")
    found = read_run(args.run_dir)
    drawn = {path: pictures.draw_heatmap(heatmap(found), args.colors, format)}
    if found.evaluations:
        drawn[beside(path, "recall-vs-size")] = pictures.draw_sizes(sizes(found), format)
    else:
        print("recall: the run's files hold no answers, so that there are no bands to draw", file=sys.stderr)
    if groups := causes(audited(found, read_regrades(args.run_dir, found).regrades)):
        title = f"What was found: {found.adapter or found.name}"
        drawn[beside(path, "failures-by-cause")] = pictures.draw_causes(title, groups, format)
    for file, data in drawn.items():
        write_bytes(file, data)
        print(file)
    return 0


def beside(heatmap: Path, name: str) -> Path:
    """Return the file of another picture: two runs drawn into one folder must not overwrite each other's."""
    return heatmap.with_name(f"{name if heatmap.stem == 'heatmap' else f'{heatmap.stem}-{name}'}{heatmap.suffix}")
