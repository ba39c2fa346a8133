#!/usr/bin/env python3
"""Write the tables of the shipped memories on the shipped samples into docs/reference/memory-baselines.md.

    scripts/baselines-on-samples.py            write them anew
    scripts/baselines-on-samples.py --check    only say whether they still hold; exit code 1 if not

Needs the extras `datasets` and `similarity`.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pytest_recall.core.bench import SAMPLE, BenchFile
from pytest_recall.memory.resolve import resolve
from pytest_recall.render.membench import table
from pytest_recall.run.bench import Bench, dataset_of
from pytest_recall.run.membench import arguments_of, go_on

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "memory-baselines.md"
PART = re.compile(r"(<!-- samples -->\n).*?(<!-- end -->)", re.DOTALL)
DATASETS = ("locomo", "longmemeval", "dmr")
MEMORIES = ("sqlite-fts", "embedding", "hybrid", "last-20", "full", "null")


def tables(folder: Path) -> Iterator[str]:
    """Yield the lines of all tables."""
    for dataset in DATASETS:
        asked = BenchFile.model_validate({"dataset": dataset, "path": SAMPLE})
        for memory in MEMORIES:
            client = resolve(memory)
            bench = Bench(folder, SAMPLE, asked, dataset_of(asked, folder, SAMPLE))
            out = folder / dataset / memory
            found = go_on(bench, client, out, arguments_of(bench, client), allowed=False, tell=lambda said: None)
            yield from (f"## {memory} on {dataset}", "", *table(found.summary, markdown=True), "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a table does not hold")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = "\n".join(tables(Path(folder)))
    page = PAGE.read_text(encoding="utf-8")
    news = PART.sub(lambda match: f"{match[1]}\n{text}\n{match[2]}", page)
    if args.check:
        if news != page:
            print(f"{PAGE.name}: the tables are of another time; run scripts/baselines-on-samples.py")
        return int(news != page)
    PAGE.write_text(news, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
