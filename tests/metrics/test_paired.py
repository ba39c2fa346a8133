"""Paired verdicts: the test, the interval of the difference, the power, and Holm's adjustment."""

from __future__ import annotations

from math import comb, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.metrics.intervals import at_least, probability, wilson
from pytest_recall.metrics.paired import difference_interval, holm, mcnemar, power_of_drop, smallest_drop
from tests.helpers.samples import unhurried

flips = st.integers(0, 60)


@pytest.mark.parametrize(
    ("lost", "gained", "p"),
    [
        # statsmodels 0.15.0, mcnemar(exact=True)
        (7, 1, 0.0703125),
        (10, 2, 0.03857421875),
        (40, 20, 0.01348929373119186),
        (121, 59, 4.4344492637551645e-06),
        (8, 0, 0.0078125),
        (5, 5, 1.0),
        (300, 210, 7.8005002825186e-05),
        (0, 0, 1.0),
    ],
)
def test_exact_mcnemar(lost: int, gained: int, p: float) -> None:
    assert mcnemar(lost, gained) == pytest.approx(p, rel=1e-12)


@given(flips, flips)
@unhurried
def test_mcnemar_is_a_p_value_without_a_direction(lost: int, gained: int) -> None:
    n = lost + gained
    by_hand = 2 * sum(comb(n, k) for k in range(max(lost, gained), n + 1)) / 2**n
    assert mcnemar(lost, gained) == pytest.approx(min(1.0, by_hand))
    assert mcnemar(lost, gained) == mcnemar(gained, lost)
    assert 0 < mcnemar(lost, gained) <= 1


@pytest.mark.parametrize("discordance", [0.01, 0.05, 0.1, 0.18, 0.32, 0.5, 1.0])
@pytest.mark.parametrize("pairs", [10, 37, 200])
def test_mcnemar_keeps_its_level_however_many_pairs_differ(pairs: int, discordance: float) -> None:
    """The probability of a false alarm in one direction, summed over everything that can happen."""
    for alpha in (0.05, 0.01):
        assert power_of_drop(pairs, discordance, 0.0, alpha) <= alpha / 2


def test_interval_of_the_difference_is_as_published() -> None:
    # Fagerland, Lydersen and Laake 2014, Statistics in Medicine 33:2850: airway data, 1 and 7 of 21 pairs differ.
    assert difference_interval(7, 1, 21) == pytest.approx((-0.517, -0.026), abs=5e-4)


def likelihood_score(difference: float, lost: int, gained: int, pairs: int) -> float:
    """Return the score statistic with the restricted estimate found by search, not by the closed form."""

    def log_likelihood(share: float) -> float:
        cells = ((lost, share), (gained, share + difference), (pairs - lost - gained, 1 - 2 * share - difference))
        return sum(count * log(cell) for count, cell in cells if count)

    low, high = max(0.0, -difference) + 1e-9, (1 - difference) / 2 - 1e-9
    for _ in range(200):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        low, high = (first, high) if log_likelihood(first) < log_likelihood(second) else (low, second)
    variance = pairs * (2 * low + difference - difference * difference)
    return float((gained - lost - pairs * difference) / variance**0.5)


@pytest.mark.parametrize(("lost", "gained", "pairs"), [(7, 1, 21), (12, 30, 200), (3, 3, 40), (15, 2, 60)])
def test_interval_solves_the_score_equation(lost: int, gained: int, pairs: int) -> None:
    found = difference_interval(lost, gained, pairs, 0.95)
    assert found is not None
    assert likelihood_score(found[0], lost, gained, pairs) == pytest.approx(1.959964, abs=1e-3)
    assert likelihood_score(found[1], lost, gained, pairs) == pytest.approx(-1.959964, abs=1e-3)


@given(flips, flips, st.integers(0, 100), st.sampled_from([0.9, 0.95, 0.99]))
@unhurried
def test_interval_holds_the_difference_and_mirrors(lost: int, gained: int, same: int, confidence: float) -> None:
    pairs = lost + gained + same
    if not pairs:
        assert difference_interval(lost, gained, pairs) is None
        return
    found, mirrored = (difference_interval(*ways, pairs, confidence) for ways in ((lost, gained), (gained, lost)))
    assert found is not None
    assert mirrored is not None
    assert -1 <= found[0] <= (gained - lost) / pairs <= found[1] <= 1
    assert found == pytest.approx((-mirrored[1], -mirrored[0]), abs=1e-9)


def test_no_flip_still_has_an_interval() -> None:
    one_sided = wilson(0, 20)
    assert one_sided is not None
    assert difference_interval(0, 0, 20) == pytest.approx((-one_sided[1], one_sided[1]))


@pytest.mark.parametrize(
    ("pairs", "discordance", "drop", "alpha", "power"),
    [
        # scipy 1.17.1: summed over every number of discordant pairs
        (200, 0.2, 0.1, 0.01, 0.702198440301838),
        (200, 0.1, 0.1, 0.01, 0.9995150032835463),
        (200, 0.3, 0.1, 0.01, 0.4626669820926509),
        (50, 0.3, 0.2, 0.05, 0.6993052866824302),
        (1000, 0.2, 0.05, 0.01, 0.8197960498323538),
    ],
)
def test_power(pairs: int, discordance: float, drop: float, alpha: float, power: float) -> None:
    assert power_of_drop(pairs, discordance, drop, alpha) == pytest.approx(power, abs=1e-6)


def test_power_of_many_pairs_is_that_of_the_formula() -> None:
    # Connor 1987: n = (z_a sqrt(d) + z_b sqrt(d - drop^2))^2 / drop^2, for 80 % power at 5 %
    discordance, drop = 0.2, 0.02
    pairs = round((1.959964 * discordance**0.5 + 0.841621 * (discordance - drop**2) ** 0.5) ** 2 / drop**2)
    assert power_of_drop(pairs, discordance, drop, 0.05) == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(("discordance", "drop"), [(0.1, 0.2), (1.1, 0.2), (0.1, -0.1)])
def test_power_of_an_impossible_drop(discordance: float, drop: float) -> None:
    with pytest.raises(ValueError, match="discordant"):
        power_of_drop(100, discordance, drop, 0.01)


@given(st.integers(8, 400), st.floats(0, 1), st.sampled_from([0.05, 0.01]))
@unhurried
def test_smallest_drop_has_the_power_and_less_does_not(pairs: int, discordance: float, alpha: float) -> None:
    found = smallest_drop(pairs, discordance, alpha)
    assert found is not None
    assert power_of_drop(pairs, max(discordance, found), found, alpha) >= 0.8
    less = found - 0.002
    assert less < 0 or power_of_drop(pairs, max(discordance, less), less, alpha) < 0.8


def test_verdicts_that_never_differ_show_nothing() -> None:
    assert power_of_drop(200, 0.0, 0.0, 0.01) == 0.0


def test_without_flips_eight_losses_have_to_come() -> None:
    """Eight losses and no gain are the first result with p below 0.01; they come with probability 0.8."""
    found = smallest_drop(200, 0.0, 0.01)
    assert found is not None
    assert at_least(8, 200, found) == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize("pairs", [0, 1, 7])
def test_too_few_pairs_show_nothing(pairs: int) -> None:
    assert smallest_drop(pairs, 0.2, 0.01) is None


def test_more_cases_show_less() -> None:
    found = [smallest_drop(pairs, 0.2, 0.01) for pairs in (20, 50, 200, 1000, 10_000)]
    assert found == sorted(found, key=lambda drop: -(drop or 0))
    assert found[2] == pytest.approx(0.109, abs=0.001)


@pytest.mark.parametrize(
    ("values", "adjusted"),
    [
        # statsmodels 0.15.0, multipletests(method="holm")
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([0.5, 0.6], [1.0, 1.0]),
        ([0.2], [0.2]),
        ([], []),
    ],
)
def test_holm(values: list[float], adjusted: list[float]) -> None:
    assert holm(values) == pytest.approx(adjusted)


@given(st.lists(st.floats(0, 1), max_size=12))
@unhurried
def test_holm_keeps_the_order_and_only_raises(values: list[float]) -> None:
    adjusted = holm(values)
    assert all(value <= more <= 1 for value, more in zip(values, adjusted, strict=True))
    assert all(
        more <= min(1, len(values) * value)
        for value, more in zip(values, adjusted, strict=True)
        if value == min(values)
    )
    order = sorted(range(len(values)), key=lambda i: (values[i], adjusted[i]))
    assert [adjusted[i] for i in order] == sorted(adjusted)


def test_probability_of_all_discordant_pairs_is_one() -> None:
    assert sum(probability(n, 200, 0.2) for n in range(201)) == pytest.approx(1)
