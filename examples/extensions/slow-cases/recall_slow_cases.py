"""Show the slowest cases of a run in its scorecard, and again by `recall slow-cases`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from pytest_recall.ext import RecallError, Section, Subcommand, TextTable, Trial, hookimpl, read_text


@hookimpl
def pytest_recall_sections(trials: Sequence[Trial]) -> list[Section]:
    """Return the slowest cases as a section."""
    seconds = {trial.case_id: trial.seconds for trial in trials if trial.seconds is not None and not trial.arm}
    slowest = sorted(seconds, key=lambda case: (-seconds[case], case))[:3]
    table = TextTable("slowest cases", ("case", "seconds"), [(case, f"{seconds[case]:.3f}") for case in slowest])
    facts = {case: seconds[case] for case in slowest}
    return [Section("Slowest cases", [table], key="slow_cases", facts=facts)] if slowest else []


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the option for the eval directory."""
    parser.add_argument("--dir", type=Path, default=Path("eval"), help="the eval directory (default: eval)")


def run(args: argparse.Namespace) -> int:
    """Print the slowest cases of the newest run. Raises RecallError where there is none."""
    path = args.dir / "_artifacts" / "scorecard.json"
    if not path.is_file():
        raise RecallError(f"{path}: no run has left a scorecard; run `pytest -p recall` first")
    found = (json.loads(read_text(path))["extensions"] or {}).get("slow_cases", {})
    for case, seconds in found.items():
        print(f"{case}  {seconds:.3f} s")
    return 0


@hookimpl
def pytest_recall_commands() -> list[Subcommand]:
    """Return the command."""
    return [Subcommand("slow-cases", "the slowest cases of the newest run", add_arguments, run)]
