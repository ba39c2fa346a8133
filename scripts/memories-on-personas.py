#!/usr/bin/env python3
"""Ask the shipped memories about personas, and print one table of what they found.

    scripts/memories-on-personas.py src/pytest_recall/horizon/personas/ferry-office
    scripts/memories-on-personas.py src/pytest_recall/horizon/personas/ferry-office executive-assistant --write

Each memory is run by `recall bench run` in a process of its own: at three checkpoints, each question at each of them.
With --write the table goes into docs/reference/memory-baselines.md. Needs the extras of the memories that are asked.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pytest_recall.files.wording import markdown_grid

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "memory-baselines.md"
MEMORIES = ("sqlite-fts", "sessions", "embedding", "hybrid", "bm25s", "tantivy", "chromadb", "mem0", "last-20")
FLOORS = ("random", "last", "oracle")
HEAD = (
    *("persona", "memory", "answers", "recall %", "MRR", "nDCG", "tokens"),
    *(f"{name} %" for name in FLOORS),
    *("leaks %", "over-refusals %", "ingest s", "question ms"),
)


def recall(*arguments: str) -> str:
    """Return what a command prints. Ends the program with what it said if it fails."""
    done = subprocess.run([sys.executable, "-m", "pytest_recall", "bench", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"recall bench {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def rows(persona: Path, memories: Sequence[str], ranges: Sequence[str], folder: Path) -> Iterator[tuple[str, ...]]:
    """Yield a row for each memory."""
    for memory in memories:
        print(f"{persona.name}: {memory}", file=sys.stderr)
        out = str(folder / persona.name / memory.replace("/", "-").replace(":", "-"))
        of = ("--persona", str(persona), "--memory", memory, "--ranges", *ranges)
        recall("run", *of, "--groups-enabled", "--no-heatmap-png", "--out", out)
        result = json.loads((Path(out) / "result.json").read_text(encoding="utf-8"))
        (found,) = json.loads(recall("report", out, "--json"))["runs"]
        yield row(result, found)


def row(result: dict[str, Any], found: dict[str, Any]) -> tuple[str, ...]:
    """Return the row of a run."""
    (persona,) = result["personas"]
    measured = found["retrieval"]["all"]["rows"]
    one = measured["memory"]

    def mean(name: str, form: str, unit: float = 1.0) -> str:
        value, low, high = (one[name][key] for key in ("value", "low", "high"))
        if value is None:
            return "–"
        told = format(unit * value, form)
        return told if low is None else f"{told} ({unit * low:{form}}–{unit * high:{form}})"

    def rate(name: str) -> str:
        value = found["disclosures"][name]["value"]
        return "–" if value is None else f"{100 * value:.0f} (n {found['disclosures'][name]['n']})"

    return (
        persona["personaId"],
        result["adapterName"],
        f"{one['recall']['n']:,}",
        mean("recall", ".1f", 100),
        mean("mrr", ".2f"),
        mean("ndcg", ".2f"),
        f"{one['tokens']['value']:,.0f}",
        *(f"{100 * measured[name]['recall']['value']:.1f}" for name in FLOORS),
        rate("leak"),
        rate("overRefusal"),
        f"{persona['totalIngestionMs'] / 1000:.1f}",
        f"{persona['totalQueryMs'] / persona['totalEvalsRun']:.0f}",
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("personas", nargs="+", type=Path, metavar="DIR", help="the folder of a persona")
    parser.add_argument("--memories", nargs="+", default=MEMORIES, metavar="SELECTOR", help="default: all shipped ones")
    parser.add_argument("--ranges", nargs="+", metavar="DAYS", help="default: a third, two thirds and all of the days")
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE.name}")
    args = parser.parse_args()
    found: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        for persona in args.personas:
            days = len(list(persona.glob("memories*/day-*.md")))
            ranges = args.ranges or [str(days * part // 3) for part in (1, 2, 3)]
            found += rows(persona.resolve(), args.memories, ranges, Path(folder))
    table = "\n".join(markdown_grid(HEAD, found))
    print(table)
    if args.write:
        before, begin, rest = PAGE.read_text(encoding="utf-8").partition("<!-- personas -->\n")
        news = f"{before}{begin}\n{table}\n\n<!-- end -->{rest.partition('<!-- end -->')[2]}"
        PAGE.write_text(news, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
