#!/usr/bin/env python3
"""Measure the speed of pytest-recall against its targets, side by side in one run.

The two sides of a comparison are run in turns, several times, each as a fresh process,
and the least of each counts: noise only ever adds. `noise` is how far the median lies
above that; where it is above 20 % the machine was busy, and a verdict near the target is a
guess. Processor times say more then, and so does another run.
Needs Linux or macOS, and an environment with `pip install -e .[dev]`. Exit code 0 if every
target is met, 1 if one is missed, 2 if something could not be measured.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import collect
import judged
import membench
import overlap
import pruning
import startup
import state
import yaml_load
from measure import MeasureError, tell
from report import Line, machine, markdown

import horizon
import metrics
import replay

Measure = Callable[[Path, bool], Iterator[Line]]
THEMES: dict[str, tuple[str, Measure]] = {
    theme.NAME: (theme.ABOUT, theme.lines)
    for theme in (collect, state, pruning, yaml_load, startup, replay, judged, overlap, metrics, membench, horizon)
}
NOTES = (
    "Every pytest runs with `-q -p no:cacheprovider`, and all other installed plugins are blocked by name on both"
    " sides; the state is a fresh one each time.",
    "`extra` is what the measured side takes more than the reference. Memory is the peak of the largest process.",
    "The state is synced to the disk when it is saved, which the line “of which the disk” shows on its own.",
)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks/run.py",
        description=__doc__,
        epilog="themes:\n" + "\n".join(f"  {name:<9} {about}" for name, (about, _) in THEMES.items()) + "\n\n"
        "examples:\n"
        "  python benchmarks/run.py                       everything, some minutes\n"
        "  python benchmarks/run.py --quick               fewer rounds, for a first look\n"
        "  python benchmarks/run.py state startup         two themes\n"
        "  python benchmarks/run.py --json > speed.json   for a script that compares two commits\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("themes", nargs="*", metavar="theme", help="what to measure (default: everything)")
    parser.add_argument(
        "--quick", action="store_true", help="fewer rounds, and no PyYAML on 100,000 rows; noise weighs more"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a Markdown table")
    args = parser.parse_args()
    unknown = [name for name in args.themes if name not in THEMES]
    if unknown:
        parser.error(f"unknown theme {', '.join(unknown)}; known: {', '.join(THEMES)}")

    facts = machine()
    found: list[Line] = []
    for name in args.themes or THEMES:
        about, measure = THEMES[name]
        tell(f"{name}: {about}")
        with tempfile.TemporaryDirectory(prefix="recall-benchmark-") as folder:
            found.extend(measure(Path(folder).resolve(), args.quick))
    if args.json:
        told = {"machine": facts, "quick": args.quick, "lines": [line.to_json() for line in found], "notes": NOTES}
        print(json.dumps(told, indent=2, ensure_ascii=False))
    else:
        print("\n".join(markdown(found, facts, NOTES)))
    missed = [line.what for line in found if line.met is False]
    if missed:
        tell(f"{len(missed)} targets missed: {'; '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except MeasureError as error:
        tell(f"\nbenchmarks/run.py: {error}")
        sys.exit(2)
