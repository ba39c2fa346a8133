"""Simulations: repeatable by seed, never beyond the sizes, and right where the outcome can be told without one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.settings import DEFAULT_SETTINGS, Settings
from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.schedule.policies import Policy, SliceSizes, confirmation, literal, lottery, usual_sizes
from pytest_recall.schedule.simulate import FIRST, Pull, SimulatedVerdict, Simulation, World, simulate
from pytest_recall.trials.detector import RatioRule
from pytest_recall.trials.series import Rule
from tests.helpers.samples import costly

TAGS = {f"part-{part}": [f"{part}-{number}" for number in range(8)] for part in range(4)}
QUIET = World(tags=TAGS, days=20, warm_up=5, drift=0, bad=0, flaky=0)


def _lottery(world: World, size: int = 6, nightly: int = 3) -> Policy:
    return lottery(world.cases, size, nightly, 7)


WORLDS = st.builds(
    World,
    tags=st.dictionaries(
        st.sampled_from("abcdef"),
        st.lists(st.integers(0, 20).map(str), min_size=1, max_size=6, unique=True),
        min_size=1,
    ),
    untold=st.dictionaries(st.sampled_from("xyz"), st.lists(st.integers(20, 30).map(str), min_size=1, max_size=3)),
    days=st.integers(2, 12),
    warm_up=st.integers(0, 1),
    pulls=st.sampled_from([0.5, 1, 2.5, 4]),
    open_days=st.sampled_from([0.1, 1.0, 9.0]),
    abandoned=st.sampled_from([0.0, 0.3, 1.0]),
    drift=st.sampled_from([0.0, 0.05, 1.0]),
    bad=st.sampled_from([0.0, 0.5, 1.0]),
    breaks=st.integers(1, 4),
    recall=st.sampled_from([0.0, 0.8, 1.0]),
    flaky=st.sampled_from([0.0, 0.2, 1.0]),
    late=st.booleans(),
    quarantine=st.sampled_from([None, Quarantine(1, "unknown")]),
)


@costly
@given(WORLDS, st.integers(0, 9), st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_it_is_the_same_by_seed_and_never_beyond_the_sizes(
    world: World, seed: int, size: int, nightly: int, is_literal: bool
) -> None:
    policy = literal(DEFAULT_SETTINGS, world.cases) if is_literal else _lottery(world, size, nightly)
    found = simulate(policy, world, seed)
    other = replace(world, tags=dict(reversed(list(world.tags.items()))))

    assert simulate(policy, other, seed) == found
    if not is_literal:
        # A pull request may not be opened on any of so few days.
        assert found.slice in {(min(size, len(world.cases)),) * 3, (0, 0, 0)}
        assert found.longest_night == min(nightly, len(world.cases))
    for share in (found.in_a_week, found.caught, found.again):
        assert share is None or 0 <= share <= 1
    assert len(found.delays) + len(found.waits) == found.broke
    assert all(delay >= 0 for delay in (*found.delays, *found.waits))


def test_where_nothing_breaks_the_figures_are_those_of_the_sizes() -> None:
    found = simulate(_lottery(QUIET), QUIET)

    assert (found.a_day, found.slice, found.longest_night) == (5 * 6 + 3, (6, 6, 6), 3)
    assert found.usd == pytest.approx(33 * 0.04)
    assert (found.broke, found.delay, found.p95, found.longest, found.in_a_week) == (0, None, None, None, None)
    assert (found.bad, found.caught, found.demotions) == (0, None, 0)
    assert found.again is not None
    assert found.again > 0


def test_money_that_nobody_knows_is_unknown() -> None:
    assert simulate(_lottery(QUIET), replace(QUIET, usd=None)).usd is None


def test_what_runs_everything_catches_everything() -> None:
    world = replace(QUIET, bad=1.0, breaks=2)
    found = simulate(_lottery(world, len(world.cases)), world)

    assert found.caught == 1
    assert found.bad == 15 * 5


def test_a_case_that_breaks_is_found_when_its_turn_comes() -> None:
    world = replace(QUIET, drift=0.02, pulls=0.001)
    found = simulate(_lottery(world, 1, len(world.cases)), world)

    # Each night runs everything, before the day, so that none waits longer than to the next one.
    assert found.broke > 3
    assert found.longest is not None
    assert found.longest <= 1
    assert found.in_a_week == 1


def test_what_no_tag_tells_is_caught_by_chance_alone() -> None:
    told = replace(
        QUIET, tags={f"{part}": [f"{part}-{n}" for n in range(6)] for part in range(20)}, bad=1.0, recall=1.0
    )
    untold = replace(told, tags={"other": ["other"]}, untold=told.tags)
    near, far = (simulate(_lottery(world), world).caught for world in (told, untold))

    assert near is not None
    assert far is not None
    assert near > 2 * far


def test_a_pull_request_that_is_never_merged_is_forgotten() -> None:
    # Without nights nothing else runs a case; each is due on each day, since no verdict arrives.
    world = replace(QUIET, abandoned=1.0)
    rubric = Settings(owner="unknown", nightly_max_cases=0)
    found = simulate(literal(rubric, world.cases), world)

    assert found.slice == (25, 25, 25)  # Of the 32 in box 1 as many as its cap.


def test_a_fail_that_is_confirmed_throws_fewer_sound_cases_back_and_is_asked_again() -> None:
    world = replace(QUIET, flaky=0.1, days=60)
    once, again = (simulate(_lottery(world)._replace(confirm=rule), world) for rule in (None, Rule("fail", 2, 3)))

    assert again.demotions < once.demotions / 2
    assert once.a_day == 33
    assert 33 < again.a_day < 33 * 1.3


def test_a_case_in_quarantine_blocks_nobody() -> None:
    world = replace(QUIET, flaky=1.0, bad=1.0, quarantine=Quarantine(1, "us", days=999), open_days=0.01, abandoned=0)
    policy = _lottery(world, len(world.cases))._replace(confirm=None)
    found = simulate(policy, replace(world, days=80, warm_up=40))

    # Every verdict is wrong, and a case that lapses once is set apart for good.
    assert found.caught == 0


def test_what_blocks_nobody_is_not_put_right_and_its_row_hears_the_fail() -> None:
    world = replace(QUIET, bad=1.0, quarantine=Quarantine(1, "us", days=999), abandoned=0)
    heard: list[bool] = []

    class SetApart(Simulation):
        def begin(self) -> None:
            super().begin()
            self.rows = {name: row._replace(quarantined=FIRST, until=date.max) for name, row in self.rows.items()}

        def keep(self, told: Sequence[SimulatedVerdict], pull: Pull | None = None) -> None:
            heard.extend(one.passed for one in told if pull is not None and one.case_id in pull.breaks and one.sound)
            super().keep(told, pull)

    SetApart(_lottery(world, len(world.cases))._replace(confirm=None), world, 0).run()
    assert heard
    assert not any(heard)


def test_nights_are_before_the_day_or_after_it() -> None:
    world = replace(QUIET, drift=0.02, pulls=0.001)
    policy = _lottery(world, 1, 8)

    assert simulate(policy, world) != simulate(policy, replace(world, late=True))


def test_a_rate_of_pull_requests_need_not_be_a_whole_number() -> None:
    world = replace(QUIET, pulls=2.5, days=205)

    assert simulate(_lottery(world), world).a_day == pytest.approx(2.5 * 6 + 3, rel=0.1)


def test_the_usual_sizes_and_the_confirmation_are_the_rubric_s() -> None:
    assert usual_sizes(DEFAULT_SETTINGS, 800) == SliceSizes(25, 58, 7)
    assert usual_sizes(Settings(owner="x", max_due_cases=9, nightly_max_cases=4), 800) == SliceSizes(9, 4, 7)
    assert usual_sizes(Settings(owner="x", policy="lottery"), 800) == SliceSizes(25, None, None)
    drawn = Settings(owner="x", policy="lottery", slice_cases=9, nightly_cases=4, max_verdict_age=30)
    assert usual_sizes(drawn, 800) == SliceSizes(9, 4, 30)
    assert confirmation(DEFAULT_SETTINGS) is None
    assert confirmation(Settings(owner="x", confirm="2of3")) == Rule("fail", 2, 3)
    assert confirmation(Settings(owner="x", confirm="evidence")) == RatioRule(70)


def test_evidence_is_kept_from_run_to_run_and_finds_what_passes_half_as_often() -> None:
    world = replace(QUIET, days=120, drift=1 / 400, flaky=0.01, half=1.0)
    simulation = Simulation(_lottery(world, nightly=16)._replace(confirm=RatioRule(70)), world, 0)
    found = simulation.run()
    assert found.delays
    assert sum(row.failed for row in simulation.rows.values()) > 0
    assert sum(row.tried for row in simulation.rows.values()) > 120 * 16
    always = simulate(_lottery(world, nightly=16)._replace(confirm=RatioRule(70)), replace(world, half=0.0))
    assert found.delay is not None
    assert always.delay is not None
    assert found.delay > always.delay
