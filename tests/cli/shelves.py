"""Cassettes of the sample project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_recall.replay.cassette_library import Library
from pytest_recall.replay.exchange import Exchange
from tests.replay.recordings import call, write


def library(project: Path) -> Library:
    """Return the cassettes of a project."""
    return Library(project / "eval" / "cassettes")


def cassette(project: Path, case_id: str = "right", *calls: Exchange, scenario: str = "loans", **header: Any) -> Path:
    """Write the cassette of a case, with one call unless some are given."""
    path = library(project).of_case(case_id, scenario)
    return write(path, *(calls or (call(),)), case=case_id, scenario=scenario, **header)
