"""Tests of core.horizon.checkpoint."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.horizon.corpus import read_questions
from pytest_recall.horizon.question import CATEGORIES, FULL, GROUP_CATEGORIES, Range, checkpoints, parse_ranges, plain
from tests.horizon.stories import question

RUNS = {
    "ea-180d-mempalace-baseline": "stratified",
    "ea-180d-recall-baseline": "stratified",
    "ea-180d-openclaw": "plain",
}
BANK = st.lists(
    st.tuples(st.integers(1, 30), st.sampled_from(CATEGORIES), st.none() | st.integers(1, 40)), min_size=1, max_size=40
)


@given(BANK, st.none() | st.integers(0, 20), st.integers(0, 9), st.booleans())
def test_every_possible_question_is_asked_when_it_is_new_and_older_ones_as_sampled(
    bank: list[tuple[int, str, int | None]], sample: int | None, seed: int, groups: bool
) -> None:
    questions = [
        question(f"q{n:03}", day, category=category, irrelevant_after=after)
        for n, (day, category, after) in enumerate(bank)
    ]
    seen: set[str] = set()

    found = checkpoints(
        questions, parse_ranges([7, 14, 30]), 30, sample=sample, seed=seed, left_out=() if groups else GROUP_CATEGORIES
    )

    for one in found:
        ids = [asked.id for asked in one.asked]
        assert len(set(ids)) == len(ids) == one.fresh + one.sampled
        assert all(asked.is_eligible(one.days) for asked in one.asked)
        assert groups or not any(asked.category in GROUP_CATEGORIES for asked in one.asked)
        possible = {
            q.id for q in questions if q.is_eligible(one.days) and (groups or q.category not in GROUP_CATEGORIES)
        }
        assert possible - seen <= set(ids)
        assert len(set(ids) & seen) == one.sampled == (one.available if sample is None else min(sample, one.available))
        assert sum(one.eligible.values()) == sum(q.is_eligible(one.days) for q in questions)
        seen |= possible


def test_the_whole_corpus_ends_with_its_last_day_for_questions_that_outlive_it() -> None:
    (one,) = checkpoints(
        [question("q001", 3, irrelevant_after=70)],
        [Range("full", FULL)],
        60,
        sample=None,
        seed=1,
        left_out=GROUP_CATEGORIES,
    )

    assert [asked.id for asked in one.asked] == ["q001"]
    assert one.days == 60


def test_a_sample_of_none_asks_new_questions_only() -> None:
    found = checkpoints(
        [question("q1", 1), question("q2", 9)], parse_ranges([5, 10]), 10, sample=0, seed=1, left_out=()
    )

    assert [[asked.id for asked in one.asked] for one in found] == [["q1"], ["q2"]]


def test_a_plain_sample_of_older_questions_heeds_no_category() -> None:
    asked = [question(f"q{n}", 1) for n in range(9)]
    (first, second) = checkpoints(asked, parse_ranges([5, 10]), 10, sample=4, seed=7, left_out=(), sampler="plain")
    assert {one.id for one in first.asked} == {one.id for one in asked}
    assert {one.id for one in second.asked} == {one.id for one in plain(asked, 4, 7)}


@pytest.mark.skipif("RECALL_BENCH_180D" not in os.environ, reason="RECALL_BENCH_180D names no folder with the data")
@pytest.mark.parametrize("run", RUNS)
def test_the_published_runs_asked_in_this_order(run: str) -> None:
    data = Path(os.environ["RECALL_BENCH_180D"])
    bank = data / "persona" / "qa-180d" / "questions.asked-in-180d-runs.yaml"
    result = json.loads((data / "results" / run / "result.json").read_text(encoding="utf-8"))
    ranges = [Range(one["label"], one["days"]) for one in result["ranges"]]
    found = checkpoints(
        read_questions(bank, bank.name),
        ranges,
        180,
        sample=50,
        seed=42,
        left_out=GROUP_CATEGORIES,
        sampler="plain" if RUNS[run] == "plain" else "stratified",
    )

    asked = [[question.id for question in one.asked] for one in found]

    published = [[one["qa"]["id"] for one in of["questionResults"]] for of in result["personas"][0]["rangeResults"]]
    assert asked == published
