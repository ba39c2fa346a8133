"""Measure: a command's wall time, processor time and peak memory, and two sides taken in turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

T = TypeVar("T")
# What a shell sets for its own runs must not decide what is measured: PYTHONDONTWRITEBYTECODE
# alone would compile the plugin again in each of them.
_FOREIGN = ("PYTEST_", "GITHUB_", "COVERAGE_", "PYTHON")


class MeasureError(Exception):
    """A run that failed, or did not do what was to be measured."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of a command: seconds on the clock and on the processor, and megabytes at the peak.

    The peak is that of the largest process of the tree, as `wait4` reports it.
    """

    wall: float
    cpu: float
    peak: float
    output: str


def run(command: Sequence[str], folder: Path, codes: Iterable[int] = (0,)) -> Sample:
    """Run `command` in `folder` and return what it took. Raises MeasureError for another exit code.

    A child starts with the memory peak of its parent, so that this process has to stay
    small: whatever loads much runs in a process of its own.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    environment["PYTHONHASHSEED"] = "0"
    with tempfile.TemporaryFile() as output:
        begin = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    if process.returncode not in codes:
        raise MeasureError(f"{' '.join(command)}: exit code {process.returncode}\n{text[-4000:]}")
    # Linux counts in kilobytes, macOS in bytes.
    peak = usage.ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024)
    return Sample(wall, usage.ru_utime + usage.ru_stime, peak, text)


@contextmanager
def environment_with(**more: str) -> Iterator[None]:
    """Run commands with more variables."""
    os.environ.update(more)
    try:
        yield
    finally:
        for name in more:
            del os.environ[name]


def probe(script: Path, *arguments: object) -> dict[str, Any]:
    """Run a script of `inside/` in a fresh process and return the JSON that it prints."""
    command = [sys.executable, str(script), *(str(argument) for argument in arguments)]
    found: dict[str, Any] = json.loads(run(command, script.parent).output)
    return found


def alternate(sides: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """Return `rounds` results of each side, taken in turns so that noise meets them all.

    Every other round goes backwards; a first one, which only warms caches, is not counted.
    """
    found: dict[str, list[T]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        for name in list(sides)[:: 1 if number % 2 else -1]:
            result = sides[name]()
            if number:
                found[name].append(result)
        tell(".", end="")
    tell("")
    return found


def best(values: Iterable[float]) -> float:
    """Return the least of `values`: noise only ever adds."""
    return min(values)


def noise(*sides: Sequence[float]) -> float:
    """Return how far the median lies above the least, as a share of it, on the noisier side."""
    return max(median(values) / min(values) - 1 for values in sides)


def tell(text: str, end: str = "\n") -> None:
    """Show progress, where it does not mix with the result."""
    print(text, end=end, file=sys.stderr, flush=True)
