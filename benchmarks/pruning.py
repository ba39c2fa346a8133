"""Pruning: a slice of a large set, beside runs that have next to nothing to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from measure import Sample, alternate, best, noise, run, tell
from report import Line
from suites import TODAY, expect, forget, plain_suite, pytest_command, recall_suite, write_state

NAME = "pruning"
ABOUT = "25 due and 5 new cases out of 10,000, YAML and JSON Lines; a run of one case and pytest alone beside"

CASES, DUE, NEW = 10_000, 25, 5
RATIO = 1.75
"""What “little more than an empty run” is taken to be; reading and running every row makes it more than ten."""


def lines(folder: Path, quick: bool) -> Iterator[Line]:
    """Measure both formats; what they take more than 30 cases alone is the price of the other 9,970."""
    rounds = 3 if quick else 9
    tell(f"pruning: {DUE + NEW} of {CASES:,} cases, {rounds} rounds after a first ", end="")
    state = folder / "state.yaml"
    write_state(state, CASES - NEW, due=DUE)
    plain = plain_suite(folder / "plain")
    found = alternate(
        {
            "YAML": _slice(recall_suite(folder / "yaml", CASES), state, DUE + NEW),
            "JSON Lines": _slice(recall_suite(folder / "jsonl", CASES, ".jsonl"), state, DUE + NEW),
            "alone": _slice(recall_suite(folder / "alone", DUE + NEW), None, DUE + NEW),
            "one": _slice(recall_suite(folder / "one", 1), None, 1),
            "plain": lambda: run(pytest_command(), plain),
        },
        rounds,
    )
    walls = {name: [sample.wall * 1_000 for sample in samples] for name, samples in found.items()}
    for name in ("YAML", "JSON Lines"):
        for reference, against in (("one", "1 case of 1"), ("alone", f"{DUE + NEW} of {DUE + NEW}")):
            yield Line(
                theme=NAME,
                what=f"{DUE + NEW} of {CASES:,} cases, {name}",
                unit="ms",
                value=best(walls[name]),
                reference=best(walls[reference]),
                against=against,
                limit=RATIO if reference == "one" else None,
                limit_on="ratio",
                noise=noise(walls[name], walls[reference]),
            )
    yield Line(
        theme=NAME,
        what="1 case of 1",
        unit="ms",
        value=best(walls["one"]),
        reference=best(walls["plain"]),
        against="pytest alone, one test",
        noise=noise(walls["one"], walls["plain"]),
    )


def _slice(suite: Path, state: Path | None, count: int) -> Callable[[], Sample]:
    mode = "pr" if state else "all"

    def measured() -> Sample:
        forget(suite, state)
        sample = run(pytest_command("eval", "--recall-mode", mode, "--recall-date", TODAY, plugins=("recall",)), suite)
        expect(sample.output, f"{count} passed")
        return sample

    return measured
