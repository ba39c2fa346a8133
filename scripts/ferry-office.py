#!/usr/bin/env python3
"""Write the persona `ferry-office` that the package ships: who it is, its story, its sixty days, and the questions.

python scripts/ferry-office.py             write it into src/pytest_recall/horizon/personas/ again
python scripts/ferry-office.py --check     only say whether it is what would be written; exit code 1 if not
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from offline_story.days import OfflineAuthor
from offline_story.order_questions import OrderQuestions

from pytest_recall.horizon.corpus import FERRY_OFFICE, Corpus, shipped
from pytest_recall.horizon.passes.days import WantedDays, create_persona, create_story, write_persona, write_story
from pytest_recall.horizon.passes.questions import QuestionPlan, write_questions
from pytest_recall.horizon.passes.work import StoryRequest
from pytest_recall.horizon.persona import DEFAULT_EPOCH, KEPT

DAYS, ARCS = 60, "arcs-60d.yaml"


def write(folder: Path, seed: str = "0") -> None:
    """Write the persona into a folder."""
    author, wish = OfflineAuthor(seed), StoryRequest("", DEFAULT_EPOCH, DAYS)
    who = create_persona(author, wish)
    write_persona(folder / "persona.yaml", who)
    write_story(folder / ARCS, create_story(author, wish, who))
    WantedDays(Corpus(folder, ARCS), 1, DAYS).write(author, lambda: None)
    corpus = Corpus(folder, ARCS)
    for plan in (QuestionPlan(False, 7, 12), QuestionPlan(True, 30, 2)):
        write_questions(corpus, plan, OrderQuestions(corpus, seed), lambda said: None)
    shutil.rmtree(folder / KEPT, ignore_errors=True)


def files(folder: Path) -> dict[str, bytes]:
    """Return the files in a folder by their paths in it."""
    return {one.relative_to(folder).as_posix(): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def main() -> int:
    """Write the persona, or compare it, and return the exit code."""
    parser = argparse.ArgumentParser(description="Write the persona that the package ships.")
    parser.add_argument("--check", action="store_true", help="compare only")
    args = parser.parse_args()
    ours = shipped(FERRY_OFFICE)
    assert ours is not None
    with tempfile.TemporaryDirectory(prefix="recall-") as scratch:
        made = Path(scratch) / FERRY_OFFICE
        made.mkdir()
        write(made)
        here, there = files(made), files(ours)
        if not args.check:
            shutil.rmtree(ours)
            shutil.copytree(made, ours)
            return 0
    other = sorted(name for name in here.keys() | there.keys() if here.get(name) != there.get(name))
    for name in other:
        print(f"{ours / name}: is not what this script writes; run scripts/ferry-office.py", file=sys.stderr)
    return int(bool(other))


if __name__ == "__main__":
    raise SystemExit(main())
