"""Personas and stories without a model: fit for any number of days."""

from __future__ import annotations

from datetime import date

import pytest
from offline_story.company import offline_persona, offline_story
from offline_story.dice import Dice

from pytest_recall.horizon.consistency import SHORTEST, persona_problems, story_problems
from pytest_recall.horizon.persona import Persona, Story


@pytest.mark.parametrize("days", [SHORTEST, 60, 180, 299, 300, 1000])
@pytest.mark.parametrize("seed", ["0", "1", "a b"])
def test_what_is_written_can_be_taken_for_any_number_of_days(days: int, seed: str) -> None:
    who = Persona.model_validate(offline_persona(Dice(seed)))
    assert persona_problems(who) == []
    told = Story.model_validate(offline_story(Dice(seed), days, date(2024, 1, 1)))
    assert story_problems(who, told, days) == []
    assert max(one.end_day for one in told.arcs) == days
