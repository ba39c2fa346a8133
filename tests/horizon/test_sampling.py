"""Tests of core.horizon.sampling."""

from __future__ import annotations

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.horizon.question import mulberry32, plain, shuffled, stratified

STRATA = st.lists(st.tuples(st.sampled_from("abcd"), st.integers()), max_size=60)


def test_the_generator_gives_the_published_numbers() -> None:
    assert list(islice(mulberry32(42), 3)) == [0.6011037519201636, 0.44829055899754167, 0.8524657934904099]


def test_a_negative_seed_is_the_same_as_its_thirty_two_bits() -> None:
    assert list(islice(mulberry32(-1), 5)) == list(islice(mulberry32(2**32 - 1), 5))


def test_seed_0_leaves_the_order() -> None:
    assert shuffled([3, 1, 2], 0) == [3, 1, 2]


@given(st.lists(st.integers()), st.integers(-(2**40), 2**40))
def test_a_shuffle_loses_nothing_and_depends_on_the_seed_alone(items: list[int], seed: int) -> None:
    assert sorted(shuffled(items, seed)) == sorted(items)
    assert shuffled(items, seed) == shuffled(list(items), seed)


@given(STRATA, st.integers(0, 80), st.integers(0, 99))
def test_a_sample_is_as_large_as_asked_and_takes_strata_by_their_share(
    items: list[tuple[str, int]], count: int, seed: int
) -> None:
    members = list(enumerate(items))
    drawn = stratified(members, count, seed, lambda member: member[1][0])

    assert len(drawn) == len(set(drawn)) == min(count, len(items))
    assert set(drawn) <= set(members)
    for name in "abcd" if len(items) > count else "":
        share = sum(one[0] == name for one in items) / len(items) * count
        assert abs(sum(member[1][0] == name for member in drawn) - share) < 1


def test_of_equal_remainders_the_larger_stratum_gets_the_place() -> None:
    items = [("small", n) for n in range(2)] + [("large", n) for n in range(6)]

    drawn = stratified(items, 6, 1, lambda item: item[0])

    assert [name for name, _ in drawn].count("small") == 1


def test_the_plain_sampler_is_the_head_of_a_shuffle() -> None:
    assert plain(list(range(9)), 4, 7) == shuffled(list(range(9)), 7)[:4]
    assert plain([1, 2], 4, 7) == [1, 2]
