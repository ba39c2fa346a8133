"""Define the published options of `recall bench run`: those supported, and what replaces the others."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_recall.cli.common import TIME_HELP, duration
from pytest_recall.files.errors import RecallError

PICTURE = "heatmap.svg"
_BESIDE = {"failure_log": "failures.jsonl", "question_log": "questions.jsonl", "progress_jsonl": "progress.jsonl"}
"""Files that a run writes beside its result, by the options that may name no other place."""
_ELSEWHERE = {
    "adapter": "--memory names the memory system",
    "parallelism": "--concurrency says how many questions are asked at once",
    "heatmap_script": f"no script draws {PICTURE}; `recall bench heatmap` draws it with other colours",
}
"""What to write in place of options that are known by another name."""


def add_published(parser: argparse.ArgumentParser) -> None:
    """Add the options; those that are an error here are in no help."""
    parser.add_argument(
        "--json-out", type=Path, metavar="FILE", help="write the result into FILE, and the run into its folder"
    )
    parser.add_argument(
        "--skip-catchup-ingest",
        action="store_true",
        help="when resuming, do not empty the memory and do not tell it again what it holds",
    )
    parser.add_argument(
        "--grpc-timeout",
        type=duration,
        metavar="TIME",
        help=f"how long one call of a gRPC memory may take, {TIME_HELP} (default: 120s)",
    )
    parser.add_argument("--heatmap", action="store_true", help="print the figures of categories by checkpoint, as JSON")
    parser.add_argument("--no-heatmap-png", action="store_true", help=f"draw no {PICTURE}")
    for name in (*_BESIDE, *_ELSEWHERE):
        parser.add_argument(f"--{name.replace('_', '-')}", metavar="VALUE", help=argparse.SUPPRESS)
    parser.add_argument("--no-question-log", action="store_true", help=argparse.SUPPRESS)


def settle_published(args: argparse.Namespace) -> None:
    """Take the options for what they are here. Raises RecallError for one that has no place."""
    if args.heatmap and args.json:
        raise RecallError("--heatmap and --json both say what is printed; give one of them")
    for name, told in _ELSEWHERE.items():
        if getattr(args, name) is not None:
            raise RecallError(f"--{name.replace('_', '-')}: {told}")
    if args.no_question_log:
        raise RecallError("--no-question-log: a run resumes from its answers; remove its file once it is over")
    if args.json_out is not None:
        if args.out is not None or args.resume is not None:
            other = "--out" if args.out is not None else "--resume"
            raise RecallError(f"--json-out and {other} both name the folder of the run; give one of them")
        args.out = args.json_out.parent
        if args.json_out.suffix != ".json":
            raise RecallError(f"--json-out {args.json_out}: call the file *.json; a run writes others beside it")
    for name, usual in _BESIDE.items():
        given = getattr(args, name)
        folder = args.out or (args.resume if args.resume is None or args.resume.is_dir() else args.resume.parent)
        if given is not None and (folder is None or Path(given).absolute() != (folder / usual).absolute()):
            option = f"--{name.replace('_', '-')}"
            raise RecallError(f"{option}: a run writes {usual} into its folder, which --out names; remove {option}")


def with_timeout(selector: str, milliseconds: int | None) -> str:
    """Return the selector of a gRPC memory with the time limit. Raises RecallError for another memory."""
    if milliseconds is None:
        return selector
    if not selector.startswith("grpc:"):
        raise RecallError(f"--grpc-timeout: {selector} is not a gRPC service; remove it")
    return f"{selector};timeout={milliseconds / 1000:g}"


def grid(folder: Path) -> dict[str, Any]:
    """Return what the heatmap of the run in a folder has, by category and checkpoint; null where nothing was asked.

    `scores` are points, as published; of passages that no model judged they say nothing, and `recall` has the share of
    the relevant days. What may be told where has leaks and over-refusals as shares, and no points.
    """
    from pytest_recall.horizon.picture_data import SquareRow, heatmap
    from pytest_recall.horizon.runs import read_run

    found = heatmap(read_run(folder))

    def values(lines: Sequence[SquareRow]) -> list[list[float | None]]:
        return [[one.value if one.n else None for one in line.cells] for line in lines]

    pointed = found.most > 1
    nothing = [[None for _ in line.cells] for line in found.categories]
    return {
        "unit": f"{found.points} of {found.most}" if pointed else "share of the relevant days found",
        "categories": [line.name.rstrip(" *†") for line in found.categories],
        "ranges": [label for label, _ in found.columns],
        "scores": values(found.categories) if pointed else nothing,
        **({} if pointed else {"recall": values(found.categories)}),
        "counts": [[one.n for one in line.cells] for line in found.categories],
        "boundaries": {
            line.name: [{"value": one.value, "n": one.n} for one in line.cells] for line in found.boundaries
        },
    }


def draw(folder: Path) -> None:
    """Draw the heatmap of the run in a folder, unless it is newer than its answers."""
    from pytest_recall.files.disk import write_text
    from pytest_recall.horizon.heatmap_svg import heatmap_svg
    from pytest_recall.horizon.picture_data import heatmap
    from pytest_recall.horizon.run_file import answered_at
    from pytest_recall.horizon.runs import read_run

    picture = folder / PICTURE
    if not picture.exists() or picture.stat().st_mtime_ns <= answered_at(folder):
        write_text(picture, heatmap_svg(heatmap(read_run(folder))))
