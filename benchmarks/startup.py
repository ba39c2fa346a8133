"""Startup: what the plugin costs a project that does not switch it on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from measure import MeasureError, alternate, best, noise, probe, run, tell
from report import Line
from suites import INSIDE, plain_suite, pytest_command

NAME = "startup"
ABOUT = "the plugin on an unrelated suite of one test, against the same without it; the plugin's import alone"

MILLISECONDS = 3


def lines(folder: Path, quick: bool) -> Iterator[Line]:
    """Measure whole runs in turns, and the import inside one process."""
    rounds = 10 if quick else 40
    tell(f"startup: one unrelated test, {rounds} rounds after a first ", end="")
    suite = plain_suite(folder / "unrelated")
    found = alternate(
        {
            "with": lambda: run(pytest_command(plugins=("recall",), on=False), suite),
            "without": lambda: run(pytest_command(), suite),
        },
        rounds,
    )
    said = {_timeless(sample.output) for samples in found.values() for sample in samples}
    if len(said) != 1:
        raise MeasureError(f"the plugin is not silent: {said}")
    for what, limit, values in (
        ("one unrelated test", MILLISECONDS, {n: [s.wall * 1_000 for s in found[n]] for n in found}),
        ("one unrelated test, processor time", None, {n: [s.cpu * 1_000 for s in found[n]] for n in found}),
    ):
        yield Line(
            theme=NAME,
            what=what,
            unit="ms",
            value=best(values["with"]),
            reference=best(values["without"]),
            against="without the plugin",
            limit=limit,
            limit_on="extra",
            noise=noise(*values.values()),
        )
    tell("startup: import ", end="")
    imports = alternate({"import": lambda: probe(INSIDE / "import_probe.py")}, rounds)["import"]
    seconds = [one["import"] * 1_000 for one in imports]
    yield Line(
        theme=NAME,
        what=f"import of the plugin after pytest, {len(imports[0]['modules'])} modules",
        unit="ms",
        value=best(seconds),
        noise=noise(seconds),
    )


def _timeless(output: str) -> str:
    return re.sub(r"[0-9.]+s", "", output)
