"""How long a new set takes to be known, by policy and size."""

from __future__ import annotations

from pytest_recall.cases.settings import DEFAULT_SETTINGS, Settings
from pytest_recall.schedule.forecast import WarmUp, warm_up
from tests.helpers.samples import TODAY, days

LOTTERY = Settings(owner="x", policy="lottery", slice_cases=25, nightly_cases=58)


def test_the_boxes_take_five_new_cases_a_run() -> None:
    assert warm_up(800, 800, DEFAULT_SETTINGS, TODAY) == WarmUp(800, 800, 160, 160, TODAY + days(160))
    never = DEFAULT_SETTINGS.model_copy(update={"new_traffic_sample": 0})
    assert warm_up(800, 800, never, TODAY) == WarmUp(800, 800, None, None, None)


def test_slices_of_a_size_take_as_many() -> None:
    assert warm_up(800, 800, LOTTERY, TODAY) == WarmUp(800, 800, 32, 14, TODAY + days(14))


def test_a_set_that_is_known_or_soon_will_be_needs_none() -> None:
    assert warm_up(400, 800, LOTTERY, TODAY) is None
    assert warm_up(250, 250, LOTTERY, TODAY) is None
    assert warm_up(0, 0, LOTTERY, TODAY) is None
