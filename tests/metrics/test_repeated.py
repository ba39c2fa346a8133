"""Means over several ingests: the variance between ingests in the interval, and how often that contains the truth."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import inf, sqrt
from statistics import fmean, variance

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.metrics.clustered import share_interval, widened
from pytest_recall.metrics.intervals import Mean, critical_t, mean_of, share_of
from pytest_recall.metrics.repeated import Answers, Variance, repeated_mean, together
from tests.helpers.samples import unhurried

UNBOUND = (-inf, inf)
UNIT = (0.0, 1.0)


@st.composite
def answered(draw: st.DrawFn, *, share: bool = False, complete: bool = False, ingests: int = 0) -> list[Answers]:
    """Draw questions in clusters, with a value after each of the ingests, or none after some."""
    count = ingests or draw(st.integers(2, 4))
    value = st.sampled_from([0.0, 1.0]) if share else st.floats(0, 1).map(lambda one: round(one, 6))
    each = value if complete else st.one_of(value, value, st.none())
    rows = st.lists(each, min_size=count, max_size=count)
    return draw(st.lists(st.tuples(st.integers(0, 3), rows), min_size=1, max_size=12))


def averaged(answers: Sequence[Answers]) -> list[tuple[object, float]]:
    known = [(key, [one for one in row if one is not None]) for key, row in answers]
    return [(key, fmean(row)) for key, row in known if row]


def test_an_example_by_hand() -> None:
    # Question averages 0.8, 0.6, 0.4, 0.2; the ingests are 0.2 above, at, and 0.2 below their mean of 0.5.
    rows = [[mean + 0.2, mean, mean - 0.2] for mean in (0.8, 0.6, 0.4, 0.2)]
    mean, spread = repeated_mean(list(enumerate(rows)), share=False, within=UNBOUND)
    assert spread is not None
    assert spread.means == pytest.approx((0.7, 0.5, 0.3))
    assert spread.deviation == pytest.approx(0.2)
    # V1 = (0.09 + 0.01 + 0.01 + 0.09) / 3 / 4 = 1/60 with 3 degrees; V2 = (0.04 + 0 + 0.04) / 2 / 3 = 1/75 with 2.
    # (3/100)^2 / ((1/60)^2 / 3 + (1/75)^2 / 2) = 4.96 degrees, so 4, of which t is 2.776445.
    assert mean.high == pytest.approx(0.5 + 2.776445 * sqrt(0.03))
    assert mean.low == pytest.approx(0.5 - 2.776445 * sqrt(0.03))
    # The same in two conversations: CR1 is 2 * (0.4^2 + 0.4^2) / 16 = 1/25 with 1 degree, and wider; 1.68 degrees.
    mean, _ = repeated_mean(list(zip("aabb", rows, strict=True)), share=False, within=UNBOUND)
    assert mean.high == pytest.approx(0.5 + 12.7062 * sqrt(1 / 25 + 1 / 75), rel=1e-5)


def test_a_question_without_a_value_is_in_no_mean_and_one_with_some_has_the_mean_of_these() -> None:
    rows: list[Answers] = [(1, [0.2, None, 0.4]), (2, [None, None, None]), (3, [1.0, 0.8, None])]
    mean, spread = repeated_mean(rows, share=False, within=UNIT)
    assert mean.value == pytest.approx((0.3 + 0.9) / 2)
    assert (mean.n, mean.failures) == (2, 1)
    assert spread is not None
    assert spread.means == pytest.approx((0.6, 0.8, 0.4))
    # What both of two ingests have: 0.2 - 0.4 of question 1, and 1.0 - 0.8 of question 3, each halved and squared.
    assert spread.deviation == pytest.approx(sqrt((0.02 + 0.02) / 2))


def test_ingests_that_share_no_question_show_no_interval() -> None:
    rows: list[Answers] = [(1, [0.2, None]), (2, [0.4, None]), (3, [None, 0.9])]
    mean, spread = repeated_mean(rows, share=False, within=UNIT)
    assert (mean.value, mean.low, mean.high) == (0.5, None, None)
    assert spread is not None
    assert spread.deviation is None
    assert repeated_mean([(1, [None, None])], share=True, within=UNIT).mean == Mean(None, 0, None, None, 1)


@unhurried
@given(answered(complete=True))
def test_complete_answers_have_the_textbook_variances(answers: list[Answers]) -> None:
    apart = [(place, row) for place, (_, row) in enumerate(answers)]
    mean, spread = repeated_mean(apart, share=False, within=UNBOUND)
    columns = zip(*(row for _, row in answers), strict=True)
    ingests = [fmean(one for one in column if one is not None) for column in columns]
    assert spread is not None
    assert spread.means == pytest.approx(tuple(ingests))
    assert spread.deviation == pytest.approx(sqrt(variance(ingests)), abs=1e-9)
    assert mean.value is not None
    assert mean.value == pytest.approx(fmean(ingests))
    if mean.high is None:
        return
    values = [value for _, value in averaged(answers)]
    v1, v2 = variance(values) / len(values), variance(ingests) / len(ingests)
    f1, f2 = len(values) - 1, len(ingests) - 1
    degrees = (v1 + v2) ** 2 / (v1 * v1 / f1 + v2 * v2 / f2)
    wide, narrow = (critical_t(max(int(degrees + slack), 1)) * sqrt(v1 + v2) for slack in (-1e-6, 1e-6))
    alone = critical_t(f1) * sqrt(v1)
    assert max(narrow, alone) - 1e-7 <= mean.high - mean.value <= max(wide, alone) + 1e-7


@unhurried
@given(st.booleans().flatmap(lambda share: st.tuples(st.just(share), answered(share=share))))
def test_it_is_never_narrower_than_without_the_ingests(given_: tuple[bool, list[Answers]]) -> None:
    share, answers = given_
    mean = repeated_mean(answers, share=share, within=UNIT).mean
    values = [value for _, value in averaged(answers)]
    if mean.low is None or mean.high is None or mean.value is None or len(values) < 2:
        return
    assert 0 <= mean.low <= mean.value + 1e-12
    assert mean.value - 1e-12 <= mean.high <= 1
    whole = share and all(value in (0, 1) for value in values)
    if share and not whole:
        most = sum(one is not None for _, row in answers for one in row)
        alone = share_interval(mean.value, variance(values) / len(values), len(values) - 1, most, 0.95)
    else:
        once = share_of(map(bool, values)) if whole else mean_of(values, within=UNIT)
        plain = widened(once, averaged(answers), share=share, within=UNIT)
        alone = (mean.value if plain.low is None else plain.low, mean.value if plain.high is None else plain.high)
    assert mean.low <= alone[0] + 1e-12
    assert mean.high >= alone[1] - 1e-12


@unhurried
@given(st.booleans().flatmap(lambda share: st.tuples(st.just(share), answered(share=share, complete=True, ingests=1))))
def test_ingests_that_do_not_differ_are_as_one(given_: tuple[bool, list[Answers]]) -> None:
    share, answers = given_
    once = repeated_mean(answers, share=share, within=UNIT)
    often = repeated_mean([(key, [*row, *row, *row]) for key, row in answers], share=share, within=UNIT)
    assert once.spread is None
    assert often.spread is not None
    assert often.spread.deviation == 0
    assert often.mean.value == pytest.approx(once.mean.value)
    assert (often.mean.low is None) == (once.mean.low is None)
    if once.mean.low is not None:
        assert often.mean.low == pytest.approx(once.mean.low, abs=1e-9)
        assert often.mean.high == pytest.approx(once.mean.high, abs=1e-9)
    # One ingest has the interval that it had before there were several.
    values = averaged(answers)
    plain = share_of([value == 1 for _, value in values]) if share else mean_of([v for _, v in values], within=UNIT)
    assert once.mean == widened(plain, values, share=share, within=UNIT)


@unhurried
@given(answered(), st.randoms(use_true_random=False))
def test_neither_the_order_of_ingests_nor_of_questions_matters(answers: list[Answers], order: random.Random) -> None:
    places = list(range(len(answers[0][1])))
    order.shuffle(places)
    other: list[Answers] = [(key, [row[place] for place in places]) for key, row in answers]
    order.shuffle(other)
    first, second = (repeated_mean(one, share=False, within=UNIT) for one in (answers, other))
    for one, another in zip(first.mean, second.mean, strict=True):
        assert one == pytest.approx(another, abs=1e-9)
    assert first.spread is not None
    assert second.spread is not None
    assert first.spread.deviation == pytest.approx(second.spread.deviation, abs=1e-9)


@given(st.floats(1e-12, 1e6), st.integers(1, 500), st.floats(1e-12, 1e6), st.integers(1, 20))
def test_degrees_of_freedom_lie_between_the_least_and_the_sum(v1: float, f1: int, v2: float, f2: int) -> None:
    found = together(Variance(v1, f1), Variance(v2, f2))
    assert found.value == v1 + v2
    assert min(f1, f2) * (1 - 1e-9) <= found.degrees <= (f1 + f2) * (1 + 1e-9)


def _covered(seed: int, *, share: bool) -> tuple[bool, bool]:
    """Return whether the interval over five ingests, and that of the first one alone, contain the truth."""
    draw = random.Random(seed)
    rows: list[list[float | None]] = []
    luck = [draw.gauss(0, 0.06) for _ in range(5)]
    for _ in range(100 if share else 40):
        easy = draw.gauss(0.5, 0.12)
        chances = [easy + one + draw.gauss(0, 0.03) for one in luck]
        rows.append([float(draw.random() < one) for one in chances] if share else list(chances))
    many = repeated_mean(list(enumerate(rows)), share=share, within=UNBOUND).mean
    once = repeated_mean([(n, row[:1]) for n, row in enumerate(rows)], share=share, within=UNBOUND).mean
    found = [one.low <= 0.5 <= one.high for one in (many, once) if one.low is not None and one.high is not None]
    return found[0], found[1]


@pytest.mark.parametrize("share", [False, True])
def test_the_interval_over_ingests_contains_the_truth_as_often_as_it_says(share: bool) -> None:
    """What an ingest shifts for all questions is in the interval over five, and not in that of one."""
    found = [_covered(seed, share=share) for seed in range(300)]
    many, once = (fmean(column) for column in zip(*found, strict=True))
    assert 0.935 <= many <= 0.985
    assert once < (0.85 if share else 0.6)
