"""The schedules at 800 cases in 20 parts, five pull requests a day and 3 % wrong verdicts: what they have to reach.

Five seeds of four policies take twenty seconds, so that their figures are in `simulate_targets.json`. Simulated again
here are one seed of the cheapest and two months of each, whose figures are in the file as well: most changes to how
cases are chosen show in these. After such a change, write the file again, and look at what changed:
`python -m tests.schedule.test_simulate_targets`
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cases.case import k_of_n
from pytest_recall.cases.settings import DEFAULT_SETTINGS
from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.schedule.policies import TWO_OF_THREE, Policy, literal, lottery, usual_sizes
from pytest_recall.schedule.schedule_text import table
from pytest_recall.schedule.simulate import World, simulate
from pytest_recall.schedule.simulated import Figures, SimulationSummary, summed_up
from pytest_recall.schedule.sizing import proposal, proposed_confirm
from pytest_recall.trials.series import Rule

WORLD = World(
    tags={f"part-{part:02}": [f"case-{part:02}-{number:03}" for number in range(40)] for part in range(20)},
    pulls=5,
    flaky=0.03,
    usd=0.04,
    breaks=3,
    recall=0.8,
    quarantine=Quarantine(4, "unknown"),
)
SIZES = usual_sizes(DEFAULT_SETTINGS, len(WORLD.cases))
SEEDS = range(5)
PAGE = Path(__file__).resolve().parents[2] / "docs" / "schedule.md"


KEPT = Path(__file__).with_name("simulate_targets.json")


def _recommended(flaky: float) -> tuple[Policy, World]:
    """What `recall init --github` proposes, with the state written at night only, by how often verdicts are wrong."""
    sizes = proposal(WORLD.tags, len(WORLD.cases), WORLD.breaks, WORLD.recall, DEFAULT_SETTINGS.near_share)
    rule = Rule("fail", *k_of_n(proposed_confirm(flaky)))
    policy = lottery(WORLD.cases, sizes.slice, sizes.nightly, sizes.stalest, rule)
    name = f"{flaky:.0%} wrong, {proposed_confirm(flaky)}".replace("%", " %")
    return policy._replace(name=name), replace(WORLD, flaky=flaky, nights_only=True)


POLICIES = {
    "boxes": (literal(DEFAULT_SETTINGS, WORLD.cases)._replace(confirm=TWO_OF_THREE), WORLD),
    "drawn": (lottery(WORLD.cases, *SIZES), WORLD),
    "recommended at 3 %": _recommended(0.03),
    "recommended at 10 %": _recommended(0.1),
}


def _figures(policy: Policy, world: World, seed: int) -> dict[str, Any]:
    """Return what one seed comes to, but for each single delay: their mean, percentile and maximum are there."""
    figures = simulate(policy, world, seed)._asdict()
    return {key: value for key, value in figures.items() if key not in ("delays", "waits")}


def _two_months(name: str) -> dict[str, Any]:
    policy, world = POLICIES[name]
    return _figures(policy, replace(world, days=60, warm_up=15), 0)


def _kept() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return kept


def _found(name: str) -> SimulationSummary:
    return summed_up([Figures(**{**one, "slice": tuple(one["slice"])}) for one in _kept()["seeds"][name]])


def _same(found: dict[str, Any], kept: dict[str, Any]) -> bool:
    """Whether the figures are the same; the sum of delays depends on the version of Python."""
    exact = {"policy": found.pop("policy"), "slice": list(found.pop("slice"))}
    same: bool = exact == {name: kept.pop(name) for name in exact} and found == pytest.approx(kept, rel=1e-9)
    return same


def test_a_seed_comes_to_the_figures_in_the_file() -> None:
    kept = _kept()["seeds"]
    assert {name: len(figures) for name, figures in kept.items()} == dict.fromkeys(POLICIES, len(SEEDS))
    assert _same(_figures(*POLICIES["boxes"], 0), kept["boxes"][0])


@pytest.mark.parametrize("name", POLICIES)
def test_two_months_come_to_the_figures_in_the_file(name: str) -> None:
    assert _same(_two_months(name), _kept()["two months"][name])


@pytest.fixture(scope="module")
def drawn() -> SimulationSummary:
    return _found("drawn")


@pytest.fixture(scope="module")
def boxes() -> SimulationSummary:
    return _found("boxes")


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
    return [_found("recommended at 3 %"), _found("recommended at 10 %")]


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


if __name__ == "__main__":
    every = {
        "seeds": {name: [_figures(*POLICIES[name], seed) for seed in SEEDS] for name in POLICIES},
        "two months": {name: _two_months(name) for name in POLICIES},
    }
    KEPT.write_text(json.dumps(every, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
