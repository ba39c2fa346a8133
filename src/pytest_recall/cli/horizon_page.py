"""The page of long-horizon runs, for `recall report` and `recall view`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_recall.files.errors import RecallError
from pytest_recall.horizon.run_file import FILES, QUESTIONS, run_folder


class Page(NamedTuple):
    """The text of a page, the folder of its run, and how many questions it has."""

    text: str
    folder: Path
    questions: int


def horizon_files(names: Sequence[str]) -> list[Path]:
    """Return the files behind the page of the long-horizon runs among `names`, as far as they are there."""
    folders = [found for name in names if (found := run_folder(name)) is not None]
    return [folder / name for folder in folders for name in FILES if (folder / name).is_file()]


def horizon_page(args: argparse.Namespace, stamp: str = "") -> Page | None:
    """Return the page of the long-horizon runs that are named; None if none of them is one. Raises RecallError."""
    names: Sequence[str] = args.runs
    folders = [found for name in names if (found := run_folder(name)) is not None]
    if not folders:
        return None
    from pytest_recall.files.eval_directory import relative
    from pytest_recall.horizon.page import page
    from pytest_recall.horizon.runs import read_answered
    from pytest_recall.horizon.statistics import key

    called = [relative(folder, Path.cwd()) for folder in folders]
    if len(folders) < len(names):
        raise RecallError(f"{called[0]} is a long-horizon run, and the other one is not; name two of one kind")
    if len(set(called)) < len(called):
        raise RecallError(f"{names[0]} and {names[1]} are both the run {called[0]}; name two runs")
    given = {"--date": args.date, "--cassettes": args.cassettes, "--files": args.files}
    for option, value in given.items():
        if value:
            raise RecallError(f"{option} has no effect on a long-horizon run; remove it")
    *bases, run = [read_answered(folder, name) for folder, name in zip(folders, called, strict=True)]
    text = page(run, f"{run.name}/{QUESTIONS}", bases[0] if bases else None, stamp)
    return Page(text, folders[-1], len({key(one) for one in run.evaluations}))
