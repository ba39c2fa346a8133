"""Two days of a team; scripts/check-gate.py plays weeks."""

from __future__ import annotations

import os

import pytest

from tests.gate.conftest import Worlds
from tests.gate.team import SETUP, Team
from tests.gate.world import Verdict

DAYS, SEED, CASES = "RECALL_GATE_DAYS", "RECALL_GATE_SEED", "RECALL_GATE_CASES"
"""Variables with the number of days to play, the seed that draws them, and the number of cases."""


def play(worlds: Worlds, days: int, seed: int, cases: int, *chosen: str) -> Team:
    """Play some days, drawn or with a `chosen` kind of change on each; nothing may be wrong after any step."""
    print(f"seed {seed}")
    team = Team(worlds(*SETUP, cases=cases), seed)
    for line in team.play(days, chosen):
        print(line, flush=True)
    print(dict(team.counts))
    assert team.faults == [], "\n".join([f"seed {seed}", *team.faults])
    return team


def test_two_days_of_a_team(worlds: Worlds) -> None:
    team = play(worlds, 2, 3, 12, "breaking", "wording")
    assert team.counts[Verdict.GREEN]
    assert team.counts[Verdict.RED]


@pytest.mark.all
def test_weeks_of_a_team(worlds: Worlds) -> None:
    days, seed = int(os.environ.get(DAYS, "14")), int(os.environ.get(SEED, "1"))
    play(worlds, days, seed, int(os.environ.get(CASES, "60")))
