"""Compare over many simulated runs: how often it alarms without a reason, and how often with one.

A run of an unchanged system is a new draw for each case with the case's own pass probability.
Nothing here is left to the machine: the draws are seeded.

Thousands of runs are compared by their counts alone; of the first pairs of runs `compare` has to say the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

import pytest

from pytest_recall.metrics.change import ChangeSummary, Counts, change, changes
from pytest_recall.metrics.paired import power_of_drop
from pytest_recall.results.comparison import ALPHA, compare
from pytest_recall.trials.record import Record
from pytest_recall.trials.trial import Trial
from tests.helpers.samples import FAILED, PASSED, header, trial

CASES = 200
RUNS = 100
COMPARED = 2
"""So many pairs of runs of each kind are compared as runs, too."""
SCENARIOS, DIMENSIONS = ("fees", "loans", "visits", "tours"), ("facts", "tone", "safety")
HEADER = header(mode="all")

Ends = list[tuple[Trial, Trial]]


def ends(count: int = CASES) -> Ends:
    """Return the failed and the passed trial of each case."""
    about = [
        {"scenario": SCENARIOS[i % len(SCENARIOS)], "dimension": DIMENSIONS[i * i % len(DIMENSIONS)]}
        for i in range(count)
    ]
    return [
        (trial(f"case-{i:03}", FAILED, verdicts=(), **tags), trial(f"case-{i:03}", PASSED, **tags))
        for i, tags in enumerate(about)
    ]


Passes = list[list[bool]]
"""A run: for each case, which of its trials passed."""


def draw(chance: random.Random, probabilities: list[float], counts: list[int]) -> Passes:
    """Return a run in which the cases are tried as often as `counts` says."""
    return [[chance.random() < p for _ in range(count)] for p, count in zip(probabilities, counts, strict=True)]


def record(run: Passes, both: Ends) -> Record:
    """Return a run as it is written down."""
    trials = [
        end[passed]._replace(repeat=n, rule=f"pass {len(tries) // 2}of{len(tries)}") if len(tries) > 1 else end[passed]
        for tries, end in zip(run, both, strict=True)
        for n, passed in enumerate(tries, 1)
    ]
    return Record(header=HEADER, trials=tuple(trials), exit_code=0)


def counted(base: Passes, head: Passes, members: list[int]) -> Counts:
    """Return what the cases at the places `members` come to; as many trials are taken of both runs."""
    if all(len(run[i]) == 1 for run in (base, head) for i in members):
        pairs = [(base[i][0], head[i][0]) for i in members]
        return Counts(len(pairs), pairs.count((True, True)), pairs.count((True, False)), pairs.count((False, True)))
    differences = []
    for i in members:
        of = min(len(base[i]), len(head[i]))
        differences.append(Fraction(sum(head[i][:of]) - sum(base[i][:of]), of))
    lost = -sum(one for one in differences if one < 0)
    gained = sum(one for one in differences if one > 0)
    return Counts(len(members), 0, float(lost), float(gained), tuple(differences))


def drops(base: Passes, head: Passes, groups: dict[str, list[int]]) -> list[str]:
    """Return where a drop is shown."""
    counts = {name: counted(base, head, members) for name, members in groups.items()}
    every = counts.pop("all cases")
    found = {"all cases": change(every, ALPHA), **changes(counts, ALPHA)}
    return [name for name, one in found.items() if one.shown is ChangeSummary.DROP]


def alarms(
    seed: int,
    base: list[float],
    head: list[float],
    runs: int,
    counts: tuple[list[int], list[int]] | None = None,
) -> Iterator[list[str]]:
    """Yield where a drop is shown, for each of so many pairs of runs; `counts` says how often cases are tried."""
    chance, both, (first, second) = random.Random(seed), ends(len(base)), counts or ([1] * len(base),) * 2
    groups: dict[str, list[int]] = {"all cases": list(range(len(base)))}
    for kind, names in (("scenario", SCENARIOS), ("dimension", DIMENSIONS)):
        for name in sorted(names):
            groups[f"{kind} {name}"] = [i for i, (end, _) in enumerate(both) if getattr(end, kind) == name]
    for number in range(runs):
        earlier, later = draw(chance, base, first), draw(chance, head, second)
        found = drops(earlier, later, groups)
        if number < COMPARED:
            assert compare(record(earlier, both), record(later, both)).drops == found
        yield found


RATES = {
    # The share of cases that flip between two runs is the mean of 2p(1-p).
    "every case a coin flip": [0.5] * CASES,
    "80 % each, 32 % flip": [0.8] * CASES,
    "95 % each, 9.5 % flip": [0.95] * CASES,
    "most are sure, a fifth flips half the time": [0.5] * 40 + [1.0] * 130 + [0.0] * 30,
    "of every kind": [i / (CASES - 1) for i in range(CASES)],
}


@pytest.mark.parametrize("name", RATES)
def test_an_unchanged_system_alarms_in_at_most_one_comparison_of_a_hundred(name: str) -> None:
    rates = RATES[name]
    found = list(alarms(7, rates, rates, RUNS))
    assert sum(map(bool, found)) <= 0.01 * RUNS


@pytest.mark.parametrize(
    ("flipping", "power"),
    [
        # Cases that are sure to pass break; besides, some of the others flip by chance.
        (0.0, 0.99),
        (0.05, 0.86),
        (0.10, 0.70),
    ],
)
def test_a_drop_of_ten_points_on_200_cases_is_shown(flipping: float, power: float) -> None:
    """20 of 200 cases break for good. `flipping` of all pairs flip for another reason, half of them each way."""
    restless = round(2 * flipping * CASES)  # at even odds, half of them flip
    base = [1.0] * 20 + [0.5] * restless + [1.0] * (CASES - 20 - restless)
    head = [0.0] * 20 + base[20:]
    runs = 200
    shown = sum("all cases" in found for found in alarms(11, base, head, runs)) / runs
    assert shown >= power
    # What is forecast is for losses that are chance themselves; a drop that is certain is shown more often.
    assert shown >= power_of_drop(CASES, 0.1 + flipping, 0.1, 0.01) - 0.03


def test_power_is_as_forecast() -> None:
    """Every case drops from 80 % to 70 %: 0.8 · 0.3 are lost, 0.2 · 0.7 gained."""
    shown = list(alarms(13, [0.8] * CASES, [0.7] * CASES, 500))
    forecast = power_of_drop(CASES, 0.38, 0.10, 0.01)
    assert sum("all cases" in found for found in shown) / 500 == pytest.approx(forecast, abs=0.04)


def test_a_scenario_that_breaks_is_found_among_noise() -> None:
    base = [0.9] * CASES
    head = [0.1 if i % len(SCENARIOS) == 0 else 0.9 for i in range(CASES)]
    found = list(alarms(17, base, head, 100))
    assert sum("scenario fees" in drops for drops in found) >= 99
    assert sum("scenario loans" in drops for drops in found) <= 1


# Cases that are tried several times

TRIED_RUNS = 50
TRIED_CASES = 60


COUNTS = {
    "five times": ([5] * TRIED_CASES, [5] * TRIED_CASES),
    "a half of them five times": ([5, 1] * (TRIED_CASES // 2), [5, 1] * (TRIED_CASES // 2)),
    "once and then five times": ([1] * TRIED_CASES, [5] * TRIED_CASES),
    "as it comes": ([1 + i % 5 for i in range(TRIED_CASES)], [1 + i * i % 5 for i in range(TRIED_CASES)]),
}


@pytest.mark.parametrize("counts", COUNTS)
def test_an_unchanged_system_that_is_tried_several_times_alarms_as_seldom(counts: str) -> None:
    rates = [0.8] * TRIED_CASES
    found = list(alarms(19, rates, rates, TRIED_RUNS, COUNTS[counts]))
    assert sum(map(bool, found)) <= 0.01 * TRIED_RUNS


def test_trying_five_times_shows_a_drop_that_single_trials_do_not() -> None:
    """Every case drops from 80 % to 70 %."""
    base, head = [0.8] * CASES, [0.7] * CASES
    shown = {
        k: sum("all cases" in found for found in alarms(23, base, head, 50, ([k] * CASES, [k] * CASES))) for k in (1, 5)
    }
    assert shown[1] <= 30
    assert shown[5] >= 49
