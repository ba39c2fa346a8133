"""State: loading the state file and saving it with 25 changed rows, beside PyYAML's C parser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from measure import best, noise, probe, tell
from report import Line
from suites import INSIDE, write_state

NAME = "state"
ABOUT = "load and save of the state with 25 changed rows at 800, 10,000 and 100,000 rows; PyYAML's C loader beside"

MILLISECONDS = {800: 2, 10_000: 25, 100_000: 300}


def lines(folder: Path, quick: bool) -> Iterator[Line]:
    """Measure at each size; PyYAML takes minutes on the largest, which `--quick` leaves out."""
    for count, limit in MILLISECONDS.items():
        rounds = (40 if count < 100_000 else 8) // (4 if quick else 1)
        with_yaml = not (quick and count == 100_000)
        tell(f"state: {count:,} rows, {rounds} rounds after a first")
        path = folder / f"state-{count}" / "recall.yaml"
        write_state(path, count, due=25)
        found = probe(INSIDE / "state_probe.py", path, rounds, "yaml" if with_yaml else "no")
        milliseconds = {name: [second * 1_000 for second in seconds] for name, seconds in found.items()}
        yield Line(
            theme=NAME,
            what=f"state of {count:,} rows, load and save",
            unit="ms",
            value=best(milliseconds["recall"]),
            reference=best(milliseconds["yaml"]) if with_yaml else None,
            against="PyYAML, load only",
            limit=limit,
            noise=noise(milliseconds["recall"]),
        )
        yield Line(
            theme=NAME,
            what=f"state of {count:,} rows, of which the disk",
            unit="ms",
            value=best(milliseconds["disk"]),
            noise=noise(milliseconds["disk"]),
        )
