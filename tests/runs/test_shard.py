"""Shards: parts that are all of a slice, in no two of them, and of one size."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.runs.resume import Shard, fingerprint, of_environment, parse
from tests.helpers.samples import case_ids, unhurried

ids = st.lists(case_ids, unique=True, max_size=60)
counts = st.integers(1, 12)


@unhurried
@given(ids, counts)
def test_every_case_is_in_one_part_and_parts_are_of_one_size(cases: list[str], count: int) -> None:
    parts = [Shard(number, count).part(cases) for number in range(1, count + 1)]
    assert sorted(case for part in parts for case in part) == sorted(cases)
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    assert sizes == sorted(sizes, reverse=True)


@unhurried
@given(ids, counts, st.randoms())
def test_the_order_of_the_cases_does_not_matter(cases: list[str], count: int, random: Random) -> None:
    shuffled = random.sample(cases, len(cases))
    shard = Shard(random.randint(1, count), count)
    assert shard.part(cases) == shard.part(shuffled)


def test_neighbours_in_a_file_go_different_ways() -> None:
    cases = [f"refund-{number:03}" for number in range(400)]
    parts = [Shard(number, 4).part(cases) for number in range(1, 5)]
    # Dealt out by place in the file, one part would have a run of 100, or every fourth.
    for part in parts:
        assert len(part) == 100
        assert 15 <= sum(case in part for case in cases[:100]) <= 35
        assert len({int(case[-3:]) % 4 for case in part}) == 4


def test_the_parts_are_always_the_same() -> None:
    assert sorted(Shard(1, 3).part("abcdefgh")) == ["b", "e", "g"]


@pytest.mark.parametrize(("text", "shard"), [("2/4", (2, 4)), (" 1/1 ", (1, 1)), ("1000/1000", (1000, 1000))])
def test_a_shard_is_written_as_which_of_how_many(text: str, shard: tuple[int, int]) -> None:
    assert parse(text) == shard
    assert str(parse(text)) == text.strip()


@pytest.mark.parametrize("text", ["", "2", "0/4", "5/4", "1/0", "-1/4", "1/1001", "1/2/3", "a/b", "02/4", "1 / 2"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(RecallError, match="is not a shard; write which of how many, as 2/4"):
        parse(text)


@pytest.mark.parametrize(
    ("env", "shard"),
    [
        ({"CI_NODE_INDEX": "2", "CI_NODE_TOTAL": "4"}, "2/4"),
        ({"CI_NODE_TOTAL": "1"}, "1/1"),
        ({"CIRCLE_NODE_INDEX": "0", "CIRCLE_NODE_TOTAL": "4"}, "1/4"),
        ({"CIRCLE_NODE_INDEX": "3", "CIRCLE_NODE_TOTAL": "4"}, "4/4"),
        ({"BUILDKITE_PARALLEL_JOB": "1", "BUILDKITE_PARALLEL_JOB_COUNT": "2"}, "2/2"),
    ],
)
def test_ci_says_which_shard_it_is(env: dict[str, str], shard: str) -> None:
    assert str(of_environment(env)) == shard


@pytest.mark.parametrize(
    "env", [{}, {"CI_NODE_INDEX": "2"}, {"CI_NODE_TOTAL": "x"}, {"CI_NODE_INDEX": "5", "CI_NODE_TOTAL": "4"}]
)
def test_where_ci_does_not_say_it_auto_is_refused(env: dict[str, str]) -> None:
    with pytest.raises(RecallError, match=r"^shard: "):
        of_environment(env)


def test_the_fingerprint_is_over_cases_and_reasons_in_any_order() -> None:
    picks = [("a", "due"), ("b", "new")]
    assert fingerprint(picks) == fingerprint(picks[::-1])
    assert len({fingerprint(one) for one in (picks, picks[:1], [("a", "due"), ("b", "due")], [])}) == 4
