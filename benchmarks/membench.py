"""Membench: data in the shape and size of LoCoMo, and a memory of a million passages."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from measure import MeasureError, Sample, best, noise, probe, run, tell
from report import Line
from suites import INSIDE

NAME = "membench"
ABOUT = (
    "1,986 questions on 10 made-up conversations of 5,882 turns with sqlite-fts; a tenth of them with a service of"
    " 50 ms a call, 16 at once beside one by one; a million passages, in full only"
)

SECONDS = 20.0
MILLION = 1_000_000
MILLISECONDS = 50.0
DIVISOR, CALL, PLACES = 10, 0.05, 16
RATIO = 0.3
"""Of the time of one by one: 16 places can come to 0.06, but turns are told in their order, and the command starts."""


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
        found = _found(sample)
        if found["all"]["n"] != 1_986 or found["ingest"]["conversations"] != 10 or found["ingest"]["units"] != 5_882:
            raise MeasureError(f"not each conversation was stored once: {found['all']['n']}, {found['ingest']}")
        walls.append(sample.wall)
        ingests.append(found["ingest"]["seconds"])
    for what, values, limit in (("questions of LoCoMo's size", walls, SECONDS), ("of which the ingest", ingests, None)):
        yield Line(theme=NAME, what=what, unit="s", value=best(values), limit=limit, noise=noise(values))
    yield from _at_once(folder)
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


def _found(sample: Sample) -> dict[str, Any]:
    """Return the JSON that a run has printed, after the lines on how far it is."""
    found: dict[str, Any] = json.loads(sample.output[sample.output.index("{") :])
    return found


@contextmanager
def _service(batches: int) -> Iterator[str]:
    """Run a slow memory, and hand out its address."""
    command = [sys.executable, str(INSIDE / "slow_service.py"), str(CALL), str(batches)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


def _at_once(folder: Path) -> Iterator[Line]:
    """Measure the same questions of a slow service one by one and at once, with and without batches of texts."""
    data = folder / "tenth.json"
    run([sys.executable, str(INSIDE / "membench_data.py"), str(data), str(DIVISOR)], folder)
    for batches, how in ((100, "which takes 100 texts a call"), (0, "one text a call")):
        walls, means = [], []
        for places in (1, PLACES):
            tell(f"membench: {CALL:g} s a call, {how}, {places} at once")
            with _service(batches) as url:
                out = ["--out", str(folder / f"{batches}-{places}"), "--json", "--concurrency", str(places)]
                more = ["memory", "run", str(data), "--memory", url, *out]
                sample = run([sys.executable, "-m", "pytest_recall", *more], folder)
            walls.append(sample.wall)
            means.append(_found(sample)["all"])
        if means[0] != means[1] or means[0]["failures"]:
            raise MeasureError(f"at once it does not come to the same: {means}")
        yield Line(
            theme=NAME,
            what=f"{means[0]['n']} questions of a service of {1_000 * CALL:g} ms a call, {how}, {PLACES} at once",
            unit="s",
            value=walls[1],
            reference=walls[0],
            against="one by one",
            limit=RATIO,
            limit_on="ratio",
        )
