"""Simulated months with the changes of real histories, and the policy that runs what a change affects."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_recall.cases.settings import DEFAULT_SETTINGS
from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.schedule.bank import Bank
from pytest_recall.schedule.change_history_file import read_history
from pytest_recall.schedule.change_mix import ALWAYS_PASSED, ChangeMix, Reach, mix_of, taken
from pytest_recall.schedule.policies import affected, lottery, usual_sizes
from pytest_recall.schedule.simulate import Simulation, World, simulate
from pytest_recall.schedule.simulated import SimulationSummary, summed_up
from tests.schedule.history_samples import history_of, small, uncounted

TAGS = {f"part-{part}": [f"case-{part}-{number:02}" for number in range(20)] for part in range(5)}
QUIET = World(tags=TAGS, days=30, warm_up=5, drift=0, bad=0, flaky=0)
FOLDER = os.environ.get("RECALL_EVAL_HISTORY")


def mix(*reaches: Reach, counted: bool = True) -> ChangeMix:
    return ChangeMix((reaches,), counted, ())


# What a history says


def test_a_mix_has_the_reach_of_each_change_that_plays_a_part() -> None:
    found = mix_of([history_of(small())])
    assert found.counted
    assert found.histories == (
        (Reach(0, 0), Reach(3 / 80, 1), Reach(1 / 80, 0), Reach(0, 0), Reach(70 / 81, 1), Reach(0, 0)),
    )
    assert found.touching == pytest.approx(3 / 6)
    assert found.bad == pytest.approx(2 / 6)
    assert found.breaks == 1
    assert min(found.flakes) == ALWAYS_PASSED
    assert found.reaching(3, 80) == pytest.approx(2 / 6)


def test_of_several_histories_each_counts_as_much() -> None:
    found = mix_of([history_of(small()), history_of(uncounted())])
    assert not found.counted
    assert found.touching == pytest.approx((3 / 6 + 2 / 3) / 2)


def test_only_what_is_known_is_taken() -> None:
    both = taken(mix_of([history_of(small()), history_of(uncounted())]))
    assert set(both) == {"flaky"}
    assert both["flaky"].source == "measured"
    assert set(taken(mix_of([history_of(small())]))) == {"bad", "breaks", "flaky"}
    assert taken(mix_of([history_of(uncounted())])) == {}


# What becomes of it


def test_a_change_that_touches_nothing_runs_nothing() -> None:
    found = simulate(affected(QUIET.cases, Bank(1.0, 1), 5, None, None), replace(QUIET, mix=mix(Reach(0, 0))))
    assert found.slice == (0, 0, 0)
    assert found.longest_night == 10  # The bank stays full, so that nights are long.


def test_every_bad_change_is_caught_while_there_is_money() -> None:
    world = replace(QUIET, mix=mix(Reach(0.3, 2), Reach(0, 0)))
    found = simulate(affected(world.cases, Bank(100.0, 7), 1, None, None), world)
    assert found.bad > 30
    assert found.caught == 1.0
    assert found.slice[2] == 30


def test_what_there_is_no_money_for_is_not_asked() -> None:
    world = replace(QUIET, mix=mix(Reach(1.0, 1)), pulls=5)
    found = simulate(affected(world.cases, Bank(0.4, 1), 1, None, None), world)
    assert found.caught is not None
    assert 0 < found.caught < 0.2  # Ten of a hundred cases a day, for five changes.
    assert found.usd is not None
    assert found.usd <= 0.4 + 0.04 + 1e-9


def test_the_money_that_is_spent_is_never_more_than_the_bank_had() -> None:
    world = replace(QUIET, mix=mix(Reach(0.5, 1), Reach(0, 0)), pulls=3, flaky=0.1)
    bank = Bank(0.6, 3)
    simulation = Simulation(affected(world.cases, bank, 4, None), world, 1)
    simulation.run()
    days = sorted(simulation.spent)
    total = 0.0
    for day in days:
        total += simulation.spent[day]
        # Trials that confirm a fail are not foreseen; what they cost beyond the bank is owed.
        assert total <= bank.most + bank.per_day * (day - days[0]).days + 0.04 * 100


def test_bad_changes_are_of_those_that_affect_enough_cases() -> None:
    """Two of a hundred cases cannot be affected by a change that breaks three."""
    world = replace(QUIET, mix=mix(Reach(0.02, 0), Reach(0.2, 0), counted=False), bad=1.0, breaks=3)
    found = simulate(affected(world.cases, Bank(100.0, 7), 1, None, None), world)
    assert found.caught == 1.0
    assert 40 < found.bad < 85  # Half of five a day for 25 days.
    none = replace(world, mix=mix(Reach(0.02, 0), counted=False))
    assert simulate(affected(world.cases, Bank(100.0, 7), 1, None, None), none).bad == 0


def test_cases_are_as_flaky_as_those_of_the_mix() -> None:
    world = replace(QUIET, mix=ChangeMix(((Reach(0.5, 0),),), True, (0.0, 0.4)))
    simulation = Simulation(affected(world.cases, Bank(100.0, 7), 5, None, None), world, 0)
    assert set(simulation.flakes.values()) == {0.0, 0.4}
    assert simulation.run().demotions > 0
    sound = replace(world, mix=ChangeMix(((Reach(0.5, 0),),), True, (0.0,)))
    assert simulate(affected(world.cases, Bank(100.0, 7), 5, None, None), sound).demotions == 0


def test_the_same_seed_is_the_same_world_for_every_policy() -> None:
    world = replace(QUIET, mix=mix(Reach(0.3, 2), Reach(0.1, 0)))
    one = simulate(affected(world.cases, Bank(100.0, 7), 5, None), world, 3)
    other = simulate(lottery(world.cases, 10, 5), world, 3)
    assert one.bad == other.bad
    assert one == simulate(affected(world.cases, Bank(100.0, 7), 5, None), world, 3)


# The histories of two public projects, at 800 cases and five changes a day

LARGE = World(
    tags={f"part-{part:02}": [f"case-{part:02}-{number:03}" for number in range(40)] for part in range(20)},
    pulls=5,
    usd=0.04,
    bad=0.2,
    breaks=3,
    quarantine=Quarantine(4, "unknown"),
)


def found_in(*names: str) -> SimulationSummary:
    told = mix_of([read_history(Path(FOLDER or "") / name, name) for name in names])
    world = replace(LARGE, mix=told._replace(counted=False))  # What breaks, breaks three cases.
    sizes = usual_sizes(DEFAULT_SETTINGS, len(world.cases))
    bank = affected(world.cases, Bank(5.0, 7), sizes.nightly, sizes.stalest)
    return summed_up([simulate(bank, world, seed) for seed in range(3)])


@pytest.mark.skipif(FOLDER is None, reason="RECALL_EVAL_HISTORY does not name the folder of the two histories")
@pytest.mark.parametrize("names", [("copilot-chat.jsonl.gz",), ("openhands.jsonl.gz",)])
def test_either_mix_costs_at_most_eight_dollars_a_day(names: tuple[str, ...]) -> None:
    found = found_in(*names)
    assert (found.usd.value or 9) <= 8
    assert (found.delay.value or 9) <= 3.8


@pytest.mark.skipif(FOLDER is None, reason="RECALL_EVAL_HISTORY does not name the folder of the two histories")
def test_nine_of_ten_changes_that_break_three_cases_are_caught_on_the_even_mixture() -> None:
    found = found_in("copilot-chat.jsonl.gz", "openhands.jsonl.gz")
    assert (found.usd.value or 9) <= 8
    assert (found.caught.value or 0) >= 0.9
    assert (found.demotions.value or 1) <= 0.25
    assert (found.p95.value or 9) <= 8
