"""Metrics: pairs of an answer and a reference, scored in one thread."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from measure import best, noise, probe, tell
from report import Line
from suites import INSIDE

NAME = "metrics"
ABOUT = "microseconds for a pair of short texts, by metric; LoCoMo's F1 with all stems remembered; lines of the command"

MICROSECONDS = {"contains and token F1": 10.0}
"""100,000 pairs in a second."""


def lines(folder: Path, quick: bool) -> Iterator[Line]:
    """Measure each metric over the same pairs."""
    rounds = 5 if quick else 20
    tell(f"metrics: 20,000 pairs, {rounds} rounds after a first")
    found = probe(INSIDE / "metrics_probe.py", rounds)
    for what, seconds in found["seconds"].items():
        microseconds = [second / found["pairs"] * 1e6 for second in seconds]
        yield Line(
            theme=NAME,
            what=f"{what}, a pair",
            unit="µs",
            value=best(microseconds),
            limit=MICROSECONDS.get(what),
            noise=noise(microseconds),
        )
