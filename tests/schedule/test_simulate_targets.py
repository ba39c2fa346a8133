"""The schedules at 800 cases in 20 parts, five pull requests a day and 3 % wrong verdicts: what they have to reach."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_recall.cases.case import k_of_n
from pytest_recall.cases.settings import DEFAULT_SETTINGS
from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.schedule.schedule_text import table
from pytest_recall.schedule.simulate import TWO_OF_THREE, Policy, World, literal, lottery, simulate, usual_sizes
from pytest_recall.schedule.simulated import SimulationSummary, summed_up
from pytest_recall.schedule.sizing import proposal, proposed_confirm
from pytest_recall.trials.series import Rule

WORLD = World(
    tags={f"part-{part:02}": [f"case-{part:02}-{number:03}" for number in range(40)] for part in range(20)},
    pulls=5,
    flaky=0.03,
    usd=0.04,
    breaks=3,
    recall=0.8,
    quarantine=Quarantine(4, "nobody"),
)
SIZES = usual_sizes(DEFAULT_SETTINGS, len(WORLD.cases))
SEEDS = range(5)
PAGE = Path(__file__).resolve().parents[2] / "docs" / "schedule.md"


def _found(policy: Policy) -> SimulationSummary:
    return summed_up([simulate(policy, WORLD, seed) for seed in SEEDS])


@pytest.fixture(scope="module")
def drawn() -> SimulationSummary:
    return _found(lottery(WORLD.cases, *SIZES))


@pytest.fixture(scope="module")
def boxes() -> SimulationSummary:
    return _found(literal(DEFAULT_SETTINGS, WORLD.cases)._replace(confirm=TWO_OF_THREE))


def test_the_lottery_keeps_to_its_sizes_and_its_money(drawn: SimulationSummary) -> None:
    assert drawn.slice == (25, 25, 25)
    assert drawn.longest_night == 58
    assert _value(drawn, "usd") <= 8


def test_the_lottery_finds_what_breaks_by_itself_within_days(drawn: SimulationSummary) -> None:
    assert drawn.broke > 300
    assert _value(drawn, "delay") <= 3.5
    assert _value(drawn, "p95") <= 8
    assert _value(drawn, "in_a_week") >= 0.85


def test_the_lottery_catches_bad_pull_requests_by_themselves(drawn: SimulationSummary) -> None:
    assert drawn.bad > 800
    assert _value(drawn, "caught") >= 0.75


def test_open_pull_requests_repeat_one_another_seldom(drawn: SimulationSummary) -> None:
    assert _value(drawn, "again") <= 0.27


def test_sound_cases_are_seldom_demoted(drawn: SimulationSummary) -> None:
    assert _value(drawn, "demotions") <= 0.35


def test_the_boxes_alone_cost_less_and_find_it_later(boxes: SimulationSummary, drawn: SimulationSummary) -> None:
    assert _value(boxes, "usd") < _value(drawn, "usd") / 2
    assert _value(boxes, "delay") > 10
    assert _value(boxes, "p95") > 20
    assert _value(boxes, "in_a_week") < 0.5
    assert _value(boxes, "caught") < 0.1
    assert _value(boxes, "again") > 0.6
    assert boxes.longest_night > 400


def test_the_page_about_the_schedule_has_these_figures(boxes: SimulationSummary, drawn: SimulationSummary) -> None:
    assert "\n".join(table([boxes, drawn])) in PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def recommended() -> list[SimulationSummary]:
    """What `recall init --github` proposes, with the state written at night only, by how often verdicts are wrong."""
    sizes = proposal(WORLD.tags, len(WORLD.cases), WORLD.breaks, WORLD.recall, DEFAULT_SETTINGS.near_share)
    found = []
    for flaky in (0.03, 0.1):
        world = replace(WORLD, flaky=flaky, nights_only=True)
        rule = Rule("fail", *k_of_n(proposed_confirm(flaky)))
        policy = lottery(WORLD.cases, sizes.slice, sizes.nightly, sizes.stalest, rule)
        name = f"{flaky:.0%} wrong, {proposed_confirm(flaky)}".replace("%", " %")
        found.append(summed_up([simulate(policy._replace(name=name), world, seed) for seed in SEEDS]))
    return found


def test_what_is_recommended_demotes_few_sound_cases_and_sets_few_apart(recommended: list[SimulationSummary]) -> None:
    for found in recommended:
        assert found.slice == (25, 25, 25)
        assert _value(found, "demotions") <= 0.35
        assert _value(found, "set_apart") <= 3
        assert found.longest is not None
        assert found.longest <= 15
        assert _value(found, "caught") >= 0.72


def test_the_page_has_the_figures_of_what_is_recommended(recommended: list[SimulationSummary]) -> None:
    assert "\n".join(table(recommended)) in PAGE.read_text(encoding="utf-8")


def _value(found: SimulationSummary, name: str) -> float:
    value: float | None = getattr(found, name).value
    assert value is not None
    return value
