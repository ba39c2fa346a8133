"""Horizon: 1,000 days told to a memory on disk, and 1,000 questions about them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from measure import MeasureError, Sample, best, noise, run, tell
from report import Line
from suites import INSIDE

NAME = "horizon"
ABOUT = "1,000 questions after 1,000 made-up days of 10 million tokens, told to sqlite-fts on disk; 100 beside them"

DAYS, FEW, QUESTIONS = 1_000, 100, 1_000
SECONDS = 60.0
GROWTH = 1.25
PEAK = 250.0
"""MB that a run may take."""


def lines(folder: Path, quick: bool) -> Iterator[Line]:
    """Measure the command from its start to its end, after many days and after a few."""
    rounds = 1 if quick else 3
    tell(f"horizon: {QUESTIONS:,} questions after {DAYS:,} and after {FEW} days, {rounds} rounds")
    samples: dict[int, list[Sample]] = {}
    ingests = []
    for days in (DAYS, FEW):
        place = folder / str(days)
        place.mkdir()
        run([sys.executable, str(INSIDE / "horizon_data.py"), str(place), str(days), str(QUESTIONS)], folder)
        command = [sys.executable, "-m", "pytest_recall", "bench", "run", "--profile", "made-up.profile.yaml", "--out"]
        for number in range(rounds):
            samples.setdefault(days, []).append(run([*command, str(number)], place))
            found = json.loads((place / str(number) / "result.json").read_text())
            if found["metadata"]["totalEvalsRun"] != QUESTIONS:
                raise MeasureError(f"not all questions were asked: {found['metadata']}")
            if days == DAYS:
                ingests.append(found["personas"][0]["totalIngestionMs"] / 1000)
    walls = [one.wall for one in samples[DAYS]]
    yield Line(
        theme=NAME, what="1,000 questions, 1,000 days", unit="s", value=best(walls), limit=SECONDS, noise=noise(walls)
    )
    yield Line(theme=NAME, what="of which the ingest", unit="s", value=best(ingests), noise=noise(ingests))
    many, few = (max(one.peak for one in samples[days]) for days in (DAYS, FEW))
    yield Line(theme=NAME, what="peak memory", unit="MB", value=many, limit=PEAK)
    yield Line(
        theme=NAME,
        what="peak memory after 1,000 days",
        unit="MB",
        value=many,
        reference=few,
        against="after 100 days",
        limit=GROWTH,
        limit_on="ratio",
    )
