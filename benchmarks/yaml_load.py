"""Loading: case files into checked cases, beside the parser as it comes with the same models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from measure import best, noise, probe, tell
from report import Line
from suites import INSIDE, write_cases

NAME = "load"
ABOUT = "1,000 and 10,000 rows of YAML and JSON Lines into checked cases; CSafeLoader or json with pydantic beside"


def lines(folder: Path, quick: bool) -> Iterator[Line]:
    """Measure whole files, and 25 rows of each."""
    for count in (1_000, 10_000):
        for suffix, name, parser in ((".yaml", "YAML", "CSafeLoader"), (".jsonl", "JSON Lines", "json")):
            rounds = (10 if count == 1_000 else 4) // (2 if quick else 1)
            tell(f"load: {count:,} rows of {name}, {rounds} rounds after a first")
            path = folder / f"load-{count}" / f"cases{suffix}"
            write_cases(path, count)
            found = probe(INSIDE / "load_probe.py", path, rounds, count)
            milliseconds = {side: [second * 1_000 for second in seconds] for side, seconds in found.items()}
            for side, what in (("recall", "load all"), ("slice", "load 25")):
                yield Line(
                    theme=NAME,
                    what=f"{what} of {count:,} rows, {name}",
                    unit="ms",
                    value=best(milliseconds[side]),
                    reference=best(milliseconds["obvious"]),
                    against=f"all with {parser} and pydantic",
                    noise=noise(milliseconds[side], milliseconds["obvious"]),
                )
