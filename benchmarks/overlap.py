"""Overlap: cases that wait for an upstream, at once and beside plain pytest, which waits for one after the other."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from measure import Sample, alternate, best, environment_with, noise, run, tell
from report import Line
from suites import INSIDE, TODAY, expect, forget, pytest_command, recall_suite

NAME = "overlap"
ABOUT = "200 cases of 100 ms of waiting each with --recall-concurrency 32, sync and async; plain pytest beside"

CASES = 200
AT_ONCE = 32
SECONDS = 1.0
MEGABYTES = 60
_PLAIN = """\
import pathlib

import pytest

TEXT = pathlib.Path("eval/cases.yaml").read_text()
ROWS = [line.split(": ", 1)[1] for line in TEXT.splitlines() if "input: " in line]


@pytest.mark.parametrize("question", ROWS)
def test_question(question, agent):
    assert agent(question) == question
"""


def lines(folder: Path, quick: bool) -> Iterator[Line]:
    """Measure whole processes, from the start of Python to its end."""
    rounds = 1 if quick else 3
    tell(f"overlap: {CASES} cases, {rounds} rounds after a first ", end="")
    suite = recall_suite(folder / "waiting", CASES)
    shutil.copy(INSIDE / "waiting_agent.py", suite / "eval" / "conftest.py")
    shutil.copy(INSIDE / "waiting_agent.py", suite / "conftest.py")
    (suite / "test_plain.py").write_text(_PLAIN, encoding="utf-8")

    def at_once(**environment: str) -> Sample:
        forget(suite)
        options = (f"--recall-concurrency={AT_ONCE}", "--recall-mode=all", f"--recall-date={TODAY}")
        with environment_with(**environment):
            sample = run(pytest_command("eval", *options, plugins=("recall",)), suite)
        expect(sample.output, f"{CASES} passed")
        return sample

    found = alternate(
        {
            "sync": at_once,
            "async": lambda: at_once(RECALL_BENCHMARK_ASYNC="1"),
            "tail": lambda: at_once(RECALL_BENCHMARK_TAIL="1"),
            "plain": lambda: run(pytest_command("test_plain.py"), suite),
        },
        rounds,
    )
    walls = {name: [sample.wall for sample in samples] for name, samples in found.items()}
    for what, name, limit in (
        ("sync agent", "sync", SECONDS),
        ("async agent", "async", SECONDS),
        ("sync agent, latencies with a long tail", "tail", None),
    ):
        yield Line(
            theme=NAME,
            what=f"{CASES} cases of 100 ms, {AT_ONCE} at once, {what}",
            unit="s",
            value=best(walls[name]),
            reference=best(walls["plain"]),
            against="plain pytest",
            limit=limit,
            noise=noise(walls[name], walls["plain"]),
        )
    yield Line(
        theme=NAME,
        what="of which peak memory",
        unit="MB",
        value=max(sample.peak for name in ("sync", "async") for sample in found[name]),
        reference=max(sample.peak for sample in found["plain"]),
        against="plain pytest",
        limit=MEGABYTES,
    )
