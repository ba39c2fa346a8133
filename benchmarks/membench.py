"""Membench: data in the shape and size of LoCoMo, and a memory of a million passages."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from measure import MeasureError, best, noise, probe, run, tell
from report import Line
from suites import INSIDE

NAME = "membench"
ABOUT = "1,986 questions on 10 made-up conversations of 5,882 turns with sqlite-fts; a million passages, in full only"

SECONDS = 20.0
MILLION = 1_000_000
MILLISECONDS = 50.0


def lines(folder: Path, quick: bool) -> Iterator[Line]:
    """Measure the command from its start to its end, and the memory in a process of its own."""
    rounds = 1 if quick else 3
    tell(f"membench: 1,986 questions, {rounds} rounds")
    data = folder / "locomo.json"
    run([sys.executable, str(INSIDE / "membench_data.py"), str(data)], folder)
    walls, ingests = [], []
    for number in range(rounds):
        out = ["--out", str(folder / str(number)), "--json"]
        sample = run([sys.executable, "-m", "pytest_recall", "memory", "run", str(data), *out], folder)
        found = json.loads(sample.output)
        if found["all"]["n"] != 1_986 or found["ingest"]["conversations"] != 10 or found["ingest"]["units"] != 5_882:
            raise MeasureError(f"not each conversation was stored once: {found['all']['n']}, {found['ingest']}")
        walls.append(sample.wall)
        ingests.append(found["ingest"]["seconds"])
    for what, values, limit in (("questions of LoCoMo's size", walls, SECONDS), ("of which the ingest", ingests, None)):
        yield Line(theme=NAME, what=what, unit="s", value=best(values), limit=limit, noise=noise(values))
    if quick:
        return
    tell(f"membench: {MILLION:,} passages, stored at once and one by one")
    made = probe(INSIDE / "large_memory_probe.py", MILLION, 200)
    milliseconds = [1_000 * second for second in made["seconds"]]
    yield Line(
        theme=NAME,
        what="a question to a million passages, the median of 200",
        unit="ms",
        value=median(milliseconds),
        limit=MILLISECONDS,
    )
    slow = sorted(milliseconds)[len(milliseconds) * 95 // 100]
    yield Line(theme=NAME, what="the same, 95 of 100 are faster", unit="ms", value=slow)
    yield Line(
        theme=NAME,
        what="a million passages, stored one by one",
        unit="s",
        value=made["each"],
        reference=made["at_once"],
        against="in one statement",
    )
